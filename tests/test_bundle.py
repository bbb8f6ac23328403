"""Bundles: a case goes through one file and comes out the same; what is hostile or damaged is refused in one sentence."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "casefile"))
from sample_cases import FULL

from gpudx import casefile
from gpudx.cases import bundle
from gpudx.errors import UserError


@pytest.fixture
def case(tmp_path: Path) -> Path:
    place = tmp_path / "case"
    (place / "traces").mkdir(parents=True)
    casefile.write(replace(FULL, command=("/home/anna/app", "--token=hunter22")), place)
    (place / "traces/100.gdx").write_bytes(os.urandom(3 << 20))
    (place / "hang.txt").write_text("thread 1\n")
    return place


def test_there_and_back(case: Path, tmp_path: Path) -> None:
    (case / "link").symlink_to("/etc/passwd")
    (case / "folder").symlink_to("/etc")
    os.mkfifo(case / "pipe")
    left_out = bundle.pack(case, tmp_path / "b.zip")
    assert [one.split(":")[0] for one in left_out] == ["folder", "link", "pipe"]
    out = tmp_path / "out"
    out.mkdir()
    assert bundle.unpack(tmp_path / "b.zip", out) == casefile.read(case)
    names = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert names == {"case.json", "traces/100.gdx", "hang.txt"}
    assert (out / "traces/100.gdx").read_bytes() == (case / "traces/100.gdx").read_bytes()
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    digest = hashlib.sha256((case / "hang.txt").read_bytes()).hexdigest()
    assert {"path": "hang.txt", "size": 9, "sha256": digest} in manifest["files"]
    with pytest.raises(UserError, match="already exists"):
        bundle.pack(case, tmp_path / "b.zip")
    with pytest.raises(UserError, match="cannot be written"):
        bundle.pack(case, tmp_path / "no/such/folder/b.zip")


def test_redacted_has_no_trace_and_no_secret(case: Path, tmp_path: Path) -> None:
    assert len(bundle.pack(case, tmp_path / "b.zip", redacted=True)) == 1
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.namelist() == ["case.json", "manifest.json"]
        whole = archive.read("case.json") + archive.read("manifest.json")
    assert not any(word in whole for word in (b"anna", b"hunter22", b"libgpudx.so"))
    out = tmp_path / "out"
    out.mkdir()
    assert bundle.unpack(tmp_path / "b.zip", out).diagnosis == FULL.diagnosis


# ---- hostile archives ----

Write = Callable[[zipfile.ZipFile], None]


def made(path: Path, content: dict[str, bytes], more: Write = lambda archive: None, **wrong: object) -> Path:
    """An archive with a good manifest of `content`, and more."""
    listed = [{"path": n, "size": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in content.items()]
    manifest = {"schema": bundle.SCHEMA, "files": listed, **wrong}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))
        more(archive)
    return path


GOOD = {"case.json": casefile.to_text(FULL).encode()}


def special(name: str, kind: int) -> Write:
    def add(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo(name)
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, b"/etc/passwd")

    return add


NAMES = [
    "../x",
    "/etc/x",
    "a/../../x",
    "a//b",
    "./x",
    "a\\..\\x",
    "C:x",
    "x\x1b[2J",
    "a/" * 600 + "x",
    "..",
    "\u202ex",
    " x",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere(name: str, tmp_path: Path) -> None:
    refused(made(tmp_path / "b.zip", {**GOOD, name: b"x"}), tmp_path, "which is not allowed")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR])
def test_links_and_devices(kind: int, tmp_path: Path) -> None:
    refused(made(tmp_path / "b.zip", GOOD, special("x", kind)), tmp_path, "not a regular file")


def test_what_the_manifest_does_not_say(tmp_path: Path) -> None:
    refused(made(tmp_path / "1.zip", GOOD, lambda a: a.writestr("x", b"y")), tmp_path, "not in the manifest")
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = made(tmp_path / "2.zip", GOOD, lambda a: a.writestr("case.json", b"y"))
    refused(twice, tmp_path, "twice")
    entry = {"path": "case.json", "size": len(GOOD["case.json"]), "sha256": "0" * 64}
    refused(made(tmp_path / "3.zip", GOOD, files=[entry]), tmp_path, "damaged or changed")
    refused(made(tmp_path / "4.zip", GOOD, files=[{**entry, "size": 3}]), tmp_path, "does not have the size")
    refused(made(tmp_path / "5.zip", GOOD, files=[{**entry, "path": "../../x"}]), tmp_path, "is missing")
    refused(made(tmp_path / "6.zip", GOOD, files="x"), tmp_path, "manifest is damaged")
    refused(made(tmp_path / "7.zip", GOOD, schema="other/1"), tmp_path, "not written by this")
    refused(made(tmp_path / "8.zip", {"case.json": b"{}"}), tmp_path, "cannot be read")
    refused(made(tmp_path / "9.zip", {**GOOD, "a": b"1", "a/b": b"2"}), tmp_path, "cannot be unpacked")


def test_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big = made(tmp_path / "1.zip", {**GOOD, "zeros": b"\0" * (1 << 20)})
    refused(big, tmp_path, "--most SIZE", most=1 << 20)
    monkeypatch.setattr(bundle, "MOST_FILES", 5)
    refused(made(tmp_path / "2.zip", {**GOOD, **{f"f{i}": b"" for i in range(9)}}), tmp_path, "5 is the most")


def test_a_size_that_lies(tmp_path: Path) -> None:
    """The directory of the archive says 100 bytes, the data unpack to a megabyte."""
    path = tmp_path / "1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("case.json", b"\0" * (1 << 20))
        entry = {"path": "case.json", "size": 100, "sha256": hashlib.sha256(b"\0" * 100).hexdigest()}
        archive.writestr("manifest.json", json.dumps({"schema": bundle.SCHEMA, "files": [entry]}))
    data = path.read_bytes().replace((1 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    path.write_bytes(data)
    refused(path, tmp_path, "refused")


def test_cut_and_changed_anywhere(case: Path, tmp_path: Path) -> None:
    (case / "traces/100.gdx").write_bytes(os.urandom(2000))
    bundle.pack(case, tmp_path / "b.zip")
    data = (tmp_path / "b.zip").read_bytes()
    for at in range(0, len(data), len(data) // 40):
        (tmp_path / "cut.zip").write_bytes(data[:at])
        refused(tmp_path / "cut.zip", tmp_path, "refused")
    middle = bytearray(data)
    middle[data.index(b"100.gdx") + 500] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(middle)
    refused(tmp_path / "x.zip", tmp_path, "refused")


def test_no_archive(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello")
    refused(tmp_path / "x", tmp_path, "not a readable archive")
    with pytest.raises(UserError, match="no bundle at"):
        bundle.unpack(tmp_path / "nothing", tmp_path / "x")


def refused(path: Path, folder: Path, why: str, most: int = bundle.MOST_BYTES) -> None:
    """One sentence, and nothing left behind."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    before = {p for p in folder.rglob("*") if p != path}
    with pytest.raises(UserError) as error:
        bundle.unpack(path, out, most)
    text = str(error.value)
    assert why in text and "\n" not in text and "\x1b" not in text
    assert {p for p in folder.rglob("*") if p != path} == before
