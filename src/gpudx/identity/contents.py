"""What a file says of itself, read once for as long as it is the same file, also by later runs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpudx import backends
from gpudx.elf.image import Image
from gpudx.identity import embedded, kept
from gpudx.identity.built import Made, made_of
from gpudx.identity.hashes import Key
from gpudx.lab import source_tree

MOST_KEPT = 4096


@dataclass(frozen=True)
class Content:
    """`made` and what stands before it are of the user's own objects only."""

    build_id: str
    compilers: tuple[str, ...]
    architectures: tuple[str, ...]
    revision: str = ""
    dated: str = ""
    made: Made | None = None


@lru_cache(maxsize=MOST_KEPT)
def content(path: str, key: Key, own: bool, tree: str, settled: bool = False) -> Content | None:
    """None where it is no object. `key` is that of its state (hashes.key), `tree` the repository around an own one; what is
    `settled` changes no more without another key."""
    words = (path, key, str(own), tree)
    if settled and (earlier := kept.load(words)) is not None:
        with contextlib.suppress(TypeError, KeyError, AttributeError):  # another shape: read again
            return _restored(earlier)
    found = _read(path, own, tree)
    if settled:
        kept.keep(words, found)
    return found


def _restored(data: Any) -> Content | None:
    if data is False:
        return None
    made = data["made"]
    return Content(
        data["build_id"],
        tuple(data["compilers"]),
        tuple(data["architectures"]),
        data["revision"],
        data["dated"],
        Made(tuple(made["folders"]), tuple(made["compilers"]), made["sources"]) if made else None,
    )


def _read(path: str, own: bool, tree: str) -> Content | None:
    image = Image.open(path)
    if image is None:
        return None
    told = image.build_id, embedded.compilers(image), backends.architectures(lambda name: section(image, name))
    if not own:
        return Content(*told)
    revision = embedded.revision(image, (lambda text: source_tree.has_commit(tree, text)) if tree else None)
    return Content(*told, revision, embedded.dated(image), made_of(image))


def section(image: Image, name: str) -> backends.Read | None:
    """Reads a section of an object, None where there is none."""
    header = image.sections.get(name)
    if header is None:
        return None
    begin, size = int(header["offset"]), int(header["size"])
    return lambda at, count: image.read(begin + at, min(count, size - at)) if 0 <= at < size else b""
