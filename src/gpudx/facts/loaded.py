"""The files whose code a process had loaded, and what tells one build of them from another.

They are looked at as they are on disk now: ask right after the run.
"""

from __future__ import annotations

from gpudx.backends import is_compiled
from gpudx.facts.symbols import Image, parse_maps
from gpudx.model import LoadedObject


def loaded_objects(maps: str) -> tuple[LoadedObject, ...]:
    """Each file that is mapped as code, once, in order of address. Files that are gone are left out, and kernels."""
    found = dict.fromkeys(m.path for m in parse_maps(maps) if m.executable and m.is_file and not m.deleted)
    return tuple(
        LoadedObject(path, identity) for path in found if not is_compiled(path) and (identity := _identity(path))
    )


def _identity(path: str) -> str:
    """ "" where there is no such object."""
    image = Image.open(path)
    if image is None:
        return ""
    return f"build id {image.build_id}" if image.build_id else image.checksum()
