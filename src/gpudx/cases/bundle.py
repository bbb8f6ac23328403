"""A case in one file, for a colleague or a vendor: a zip archive with the case's files and a manifest with their hashes.

Zip, because each file can be read by itself, its size is known before, and nothing but plain files need be made of it. What
is opened is believed in nothing: names, kinds, sizes, the number of files and their content are checked against limits and
against the manifest, and the first thing that is wrong ends it. Directories, links and devices are never made.

The hashes say that nothing changed on the way by accident. They are no signature: whoever changes a file can change its hash.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import shutil
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from gpudx import __version__, casefile
from gpudx.errors import UserError
from gpudx.model import Case
from gpudx.model.fingerprint import fingerprint
from gpudx.report.redact import redact
from gpudx.report.safe import clean

MANIFEST = "manifest.json"
SCHEMA = "gpudx.bundle/1"
MOST_FILES = 10_000
MOST_BYTES = 64 << 30
MOST_MANIFEST = 16 << 20
LONGEST_PATH = 1000
PART = re.compile(r"[\w.+=@,~#-][\w .+=@,~#-]{0,200}", re.ASCII)  # of a path; "." and ".." are refused besides
SPECIAL = {".", ".."}
PIECE = 1 << 20
FAST = 1  # zlib's level: traces are large, and compress well even so


@dataclass(frozen=True)
class Listed:
    """A file in the manifest."""

    path: str
    size: int
    sha256: str


def pack(place: Path, target: Path, redacted: bool = False) -> list[str]:
    """Write the case in `place` to the file `target`; gives what was left out, with the reason.

    Redacted, the case itself is all that goes in: traces and tools' output hold the program's memory and arguments.
    """
    case = casefile.read(place)
    try:
        with target.open("xb") as file:
            return _whole(case, place, file, redacted)
    except FileExistsError:
        raise UserError(f"{target} already exists: choose another file with -o FILE.") from None
    except OSError as error:
        raise UserError(f"{target} cannot be written ({error.strerror}): choose another file with -o FILE.") from None


def _whole(case: Case, place: Path, file: IO[bytes], redacted: bool) -> list[str]:
    """A bundle that could not be finished is taken away again."""
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=FAST) as archive:
            return _pack(case, place, archive, redacted, Path(file.name).absolute())
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def _pack(case: Case, place: Path, archive: zipfile.ZipFile, redacted: bool, ours: Path) -> list[str]:
    left_out: list[str] = []
    if redacted:
        case = replace(redact(case), environment={}, directory=".")
        left_out.append("traces and tools' output, which hold the program's memory and arguments")
        listed = [_add_text(archive, casefile.NAME, casefile.to_text(case))]
    else:
        listed = [_add(archive, place, path) for path in _files(place, left_out, ours)]
    head = {"schema": SCHEMA, "version": __version__, "fingerprint": fingerprint(case), "redacted": redacted}
    made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    files = [asdict(one) for one in listed]
    manifest = {**head, "created": made, "left_out": left_out, "files": files}
    archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return left_out


def _files(place: Path, left_out: list[str], ours: Path) -> Iterator[Path]:
    """The plain files of a case. Links are not followed: they may lead anywhere."""
    for folder, below, names in os.walk(place):
        below.sort()
        for name in sorted([*names, *(one for one in below if (Path(folder) / one).is_symlink())]):
            path = Path(folder) / name
            if path.absolute() == ours:
                continue
            why = _unfit(path, path.relative_to(place).as_posix())
            if why:
                left_out.append(f"{clean(path.relative_to(place).as_posix())}: {why}")
            else:
                yield path


def _unfit(path: Path, name: str) -> str:
    if path.is_symlink() or not path.is_file():
        return "not a regular file"
    return "" if _good_name(name) and name != MANIFEST else "its name is not allowed"


def _add(archive: zipfile.ZipFile, place: Path, path: Path) -> Listed:
    name, size, digest = path.relative_to(place).as_posix(), 0, hashlib.sha256()
    info = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
    info.external_attr, info.compress_type = (stat.S_IFREG | 0o644) << 16, zipfile.ZIP_DEFLATED
    with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as out:
        while piece := source.read(PIECE):
            digest.update(piece)
            size += out.write(piece)
    return Listed(name, size, digest.hexdigest())


def _add_text(archive: zipfile.ZipFile, name: str, text: str) -> Listed:
    data = text.encode()
    archive.writestr(name, data)
    return Listed(name, len(data), hashlib.sha256(data).hexdigest())


# ---- opening ----


class Refused(UserError):
    """What makes a file no bundle; the text is the reason."""


def unpack(bundle: Path, place: Path, most_bytes: int = MOST_BYTES) -> Case:
    """Make a case of a bundle in the empty directory `place`. UserError, and nothing left there, if anything is wrong."""
    try:
        with zipfile.ZipFile(bundle) as archive:
            _extract(archive, place, most_bytes)
        return casefile.read(place)
    except Refused as error:
        reason = str(error)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        reason = f"it is not a readable archive ({clean(str(error)) or type(error).__name__})"
    except FileNotFoundError:
        raise UserError(f"There is no bundle at {bundle}: give the file that `gpudx bundle` wrote.") from None
    except OSError as error:
        reason = f"it cannot be unpacked ({error.strerror or error})"
    except UserError as error:
        reason = f"the case in it cannot be read ({clean(str(error))})"
    _empty(place)
    raise UserError(f"{bundle} was refused: {reason}; ask for a bundle made by `gpudx bundle`.")


def _empty(place: Path) -> None:
    for one in place.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)


def _extract(archive: zipfile.ZipFile, place: Path, most_bytes: int) -> None:
    entries = _checked(archive.infolist(), most_bytes)
    listed = _manifest(archive, entries.pop(MANIFEST, None))
    missing, unknown = set(listed) - set(entries), set(entries) - set(listed)
    if missing or unknown:
        name = clean(min(missing or unknown))
        raise Refused(f"{name} is {'missing' if missing else 'not in the manifest'}")
    for name, one in listed.items():
        if entries[name].file_size != one.size:
            raise Refused(f"{name} does not have the size in the manifest")
        _one(archive, entries[name], one, place / name)


def _checked(infos: list[zipfile.ZipInfo], most_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """The entries by name, all of them plain files with good names, few and small enough."""
    if len(infos) > MOST_FILES:
        raise Refused(f"it has {len(infos):,} files; {MOST_FILES:,} is the most")
    total = sum(info.file_size for info in infos)
    if total > most_bytes:
        raise Refused(f"unpacked it would be {total:,} bytes; {most_bytes:,} is the most (--most SIZE allows more)")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.orig_filename  # as it stands in the archive: `filename` is cut at a zero byte
        kind = stat.S_IFMT(info.external_attr >> 16)
        if not _good_name(name):
            raise Refused(f"it has a file with the name {clean(name)!r}, which is not allowed")
        if kind not in (0, stat.S_IFREG) or info.is_dir():
            raise Refused(f"{clean(name)} is not a regular file")
        if name in found:
            raise Refused(f"{clean(name)} is in it twice")
        found[name] = info
    return found


def _good_name(name: str) -> bool:
    parts = name.split("/")
    plain = all(PART.fullmatch(part) and part not in SPECIAL for part in parts)
    return plain and len(name) <= LONGEST_PATH and not PurePosixPath(name).is_absolute()


def _manifest(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None) -> dict[str, Listed]:
    if info is None or info.file_size > MOST_MANIFEST:
        raise Refused("it has no manifest")
    with archive.open(info) as file:
        data = _json(file.read(MOST_MANIFEST + 1))
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise Refused("its manifest was not written by this or an older gpudx")
    try:
        files = casefile.decode(tuple[Listed, ...], data.get("files"), "files")
    except casefile.DamagedCase as error:
        raise Refused(f"its manifest is damaged ({clean(str(error))})") from None
    return {one.path: one for one in files}


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Refused("its manifest is not valid JSON") from None


def _one(archive: zipfile.ZipFile, info: zipfile.ZipInfo, listed: Listed, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(info) as source, target.open("xb") as out:
        digest = _copy(source, out, listed)
    if digest != listed.sha256:
        raise Refused(f"{listed.path} is not what the manifest says: it was damaged or changed")


def _copy(source: IO[bytes], out: IO[bytes], listed: Listed) -> str:
    """Never more than the size that was promised, whatever the archive unpacks to."""
    digest, left = hashlib.sha256(), listed.size
    while piece := source.read(min(PIECE, left + 1)):
        left -= len(piece)
        if left < 0:
            raise Refused(f"{listed.path} is larger than it says")
        digest.update(piece)
        out.write(piece)
    if left:
        raise Refused(f"{listed.path} ends too early")
    return digest.hexdigest()
