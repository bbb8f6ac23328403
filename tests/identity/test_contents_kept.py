"""What was read out of an object is remembered by later runs, and read again when the file changes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gpudx.identity import contents, hashes, kept
from gpudx.identity.built import Made
from gpudx.identity.contents import Content

TOLD = Content(
    "ab12", ("GCC 12",), ("sm_90",), "v1-2-gabcdef1", "Jan  1 2026", Made(("/src",), ("clang",), {"/src/a.c": "00"})
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    contents.content.cache_clear()
    return tmp_path / "cache/gpudx/contents"


def reads(monkeypatch: pytest.MonkeyPatch, found: Content | None) -> list[str]:
    """Every read of a file from now on, which finds this."""
    seen: list[str] = []

    def read(path: str, own: bool, tree: str) -> Content | None:
        seen.append(path)
        return found

    monkeypatch.setattr(contents, "_read", read)
    return seen


def ask(path: str, key: str, settled: bool = True) -> Content | None:
    contents.content.cache_clear()  # another process
    return contents.content(path, key, True, "", settled)


@pytest.mark.parametrize("found", [TOLD, replace(TOLD, made=None), None])
def test_it_is_read_once(monkeypatch: pytest.MonkeyPatch, found: Content | None) -> None:
    seen = reads(monkeypatch, found)
    assert [ask("/lib.so", "k") for _ in range(3)] == [found] * 3
    assert seen == ["/lib.so"]


def test_another_state_or_a_fresh_file_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = reads(monkeypatch, TOLD)
    ask("/lib.so", "k")
    ask("/lib.so", "later")
    ask("/lib.so", "k", settled=False)
    assert len(seen) == 3


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"made": 1}', b"\xff", b'{"other": 2, "made": null}'])
def test_a_damaged_memory_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch, cache: Path, damage: bytes) -> None:
    seen = reads(monkeypatch, TOLD)
    ask("/lib.so", "k")
    for file in cache.iterdir():
        file.write_bytes(damage)
    assert ask("/lib.so", "k") == TOLD and len(seen) == 2


def test_a_memory_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    reads(monkeypatch, TOLD)
    assert ask("/lib.so", "k") == TOLD


def test_it_stays_small(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr(kept, "MOST_FILES", 10)
    for number in range(12):
        kept.keep((str(number),), None)
        os.utime(next(f for f in cache.iterdir() if kept.load((str(number),)) is False), None)
    assert len(list(cache.iterdir())) <= 11
    kept.keep(("large",), replace(TOLD, revision="x" * kept.MOST_BYTES))
    assert kept.load(("large",)) is None
    assert hashes.folder() == cache.parent
