"""What device code says of kernels' parameters and of variables, where the program's files are at hand and have PTX of it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx.facts import Facts
from gpudx.facts.maps import parse_maps
from gpudx.facts.once import once
from gpudx.text.places import is_installed

if TYPE_CHECKING:  # readers of device code take a tenth of the time of all imports, and few runs need them
    from gpudx.ptx_checks.parameters import Loads, Roles
    from gpudx.ptx_checks.values import Values

MOST_BYTES = 256 << 20  # of all files
Files = tuple[Path, ...]


def roles_of(facts: Facts, kernel_row: int) -> Roles | None:
    """Of the kernel that an object is; None where nothing is known of its code."""
    symbol = _symbol(facts, kernel_row)
    return _roles(_files(facts), symbol) if symbol else None


def loads_of(facts: Facts, kernel_row: int) -> Loads | None:
    """What the kernel loads of its parameters; None where that is not known."""
    symbol = _symbol(facts, kernel_row)
    return _loads(_files(facts), symbol) if symbol else None


def values_of(facts: Facts, kernel_row: int) -> Values | None:
    """What its registers hold; None where that is not known."""
    symbol = _symbol(facts, kernel_row)
    found = _values(_files(facts), symbol) if symbol else None
    return found if found is not None and found.is_known else None


def alignment_of(facts: Facts, variable: str) -> int | None:
    """Of a variable of the device, in bytes: of an array of numbers the size of one. None where the program's PTX does not say it."""
    return _alignment(_files(facts), variable) if variable else None


def _symbol(facts: Facts, kernel_row: int) -> str:
    info = facts.kernels.info(kernel_row)
    return info.symbol or info.name if info else ""


@once
def _files(facts: Facts) -> Files:
    """The program and its own libraries, the smallest first, as far as that takes little time."""
    mapped = {one.path for one in parse_maps(facts.trace.maps) if one.is_file and not is_installed(one.path)}
    libraries = sorted((_size(path), path) for path in map(Path, mapped - {facts.trace.exe}))
    found, total = [], 0
    for size, path in ((_size(Path(facts.trace.exe)), Path(facts.trace.exe)), *libraries):
        total += size
        if size and total <= MOST_BYTES:
            found.append(path)
    return tuple(found)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _text(files: Files, symbol: str) -> str:
    from gpudx.evidence.device_functions import ptx_of

    return next(filter(None, (ptx_of(path, symbol) for path in files)), "")


@lru_cache(maxsize=256)
def _roles(files: Files, symbol: str) -> Roles | None:
    from gpudx.ptx_checks.parameters import roles

    return roles(_text(files, symbol), symbol)


@lru_cache(maxsize=256)
def _loads(files: Files, symbol: str) -> Loads | None:
    from gpudx.ptx_checks.parameters import loads

    return loads(_text(files, symbol), symbol)


@lru_cache(maxsize=256)
def _values(files: Files, symbol: str) -> Values | None:
    from gpudx.ptx_checks.values import Values

    return Values(_text(files, symbol), symbol)


@lru_cache(maxsize=256)
def _alignment(files: Files, variable: str) -> int | None:
    from gpudx.evidence.device_functions import alignments

    found = {one for path in files for one in alignments(path, variable)}
    return found.pop() if len(found) == 1 else None
