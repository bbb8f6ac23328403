"""Hashes are right, remembered, and never believed too long."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from gpudx.identity import hashes


def of(*paths: Path) -> list[str]:
    return list(hashes.sha256_of({str(path): path.stat() for path in paths}).values())


def aged(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    os.utime(path, (time.time() - 1000, time.time() - 1000))
    return path


def test_many_files(tmp_path: Path) -> None:
    files = [aged(tmp_path / str(n), bytes([n]) * n) for n in range(20)]
    assert of(*files) == [hashlib.sha256(bytes([n]) * n).hexdigest() for n in range(20)]


def test_they_are_remembered(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = aged(tmp_path / "a", b"one")
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)
    first = of(file)
    monkeypatch.setattr(hashes, "_digest", lambda path: pytest.fail("hashed again"))
    assert of(file) == first
    assert len(json.loads((cache / "gpudx" / hashes.NAME).read_text())) == 1


def test_new_content_with_the_old_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)
    file = aged(tmp_path / "a", b"one")
    before, state = of(file), file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert of(file) != before


def test_what_was_just_written_is_not_remembered(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    of(tmp_path / "a")
    assert not (cache / "gpudx" / hashes.NAME).exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', '{"a": "short"}', "\x00"])
def test_a_damaged_memory(tmp_path: Path, cache: Path, content: str) -> None:
    (cache / "gpudx").mkdir(parents=True)
    (cache / "gpudx" / hashes.NAME).write_text(content)
    assert of(aged(tmp_path / "a", b"one")) == [hashlib.sha256(b"one").hexdigest()]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    file = aged(tmp_path / "a", b"one")
    state = {str(file): file.stat()}
    file.unlink()
    assert hashes.sha256_of(state) == {str(file): ""}
