"""Plain and recorded calls in one process: a switch that takes the recorder out of a running program, and puts it back.

CUDA libraries keep the addresses of the driver's functions that they asked for; under the recorder these are our wrappers. The
switch finds them in the writable memory of all loaded libraries and writes the driver's own in their place: what is then
measured is the program as it is without us, with the same memory, processor and clock as a moment before.

    inside.py LIBRARY      prints where the recorder's library has its setting of breadcrumbs (crumbs_turns.cu)
"""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

CRUMBS = {"off": 1, "default": 2, "all": 3}  # enum gdx_crumbs of native/core/crumbs.h
LARGEST = 1 << 28  # bytes of a mapping: what follows a library by chance may be a buffer of the program's


class _Name(ctypes.Structure):
    """struct gdx_name of native/driver/driver.h."""

    _fields_ = [("name", ctypes.c_char_p), ("wrapper", ctypes.c_void_p)]


class _Driver(ctypes.Structure):
    """The beginning of struct gdx_driver there."""

    _fields_ = [
        ("library", ctypes.c_char_p),
        ("exports", ctypes.c_void_p),
        ("tools", ctypes.c_void_p),
        ("names", ctypes.POINTER(_Name)),
        ("count", ctypes.c_int),
        ("first", ctypes.c_int),
        ("driver", ctypes.POINTER(ctypes.c_void_p)),
    ]


@dataclass(frozen=True)
class Place:
    """Where a library keeps the address of one function."""

    at: int
    wrapper: int
    real: int


class Switch:
    """All such places of this process."""

    def __init__(self) -> None:
        real = _functions()
        wrappers = np.array(sorted(real), np.uint64)
        found = [(at, word) for begin, end in _writable() for at, word in _among(begin, end, wrappers)]
        self.places = [Place(at, word, real[word]) for at, word in found]
        if not self.places:
            raise SystemExit("not recorded, or no function of the driver is in use: run it under gpudx run")

    def set(self, recorded: bool) -> None:
        for place in self.places:
            ctypes.c_uint64.from_address(place.at).value = place.wrapper if recorded else place.real

    @staticmethod
    def set_crumbs(setting: str) -> None:
        base, path = _recorder()
        ctypes.c_int.from_address(base + offset(path, "gdx_crumbs_setting")).value = CRUMBS[setting]


def _functions() -> dict[int, int]:
    """The driver's function for each wrapper, by the wrapper's address."""
    base, path = _recorder()
    api = _Driver.from_address(base + offset(path, "gdx_cu_api"))
    every = ((api.names[i], api.driver[i]) for i in range(api.count))
    return {name.wrapper: real for name, real in every if name.wrapper and real}


def offset(library: Path, name: str) -> int:
    """Where a library has a variable, from where it is loaded."""
    with library.open("rb") as file:
        (symbol,) = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name(name)
        return int(symbol["st_value"])


def _recorder() -> tuple[int, Path]:
    for line in Path("/proc/self/maps").read_text().splitlines():
        found = re.match(r"([0-9a-f]+)-\S+ \S+ 00000000 .* (/\S*libgpudx[^/]*\.so)$", line)
        if found:
            return int(found[1], 16), Path(found[2])
    raise SystemExit("not recorded: run it under gpudx run")


def _writable() -> list[tuple[int, int]]:
    """The data of all libraries but ours, which has tables of its own. What follows one without a name is its .bss."""
    found, last, library = [], 0, False
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, mode, _, _, _, *name = line.split(maxsplit=5)
        begin, end = (int(part, 16) for part in span.split("-"))
        library = ".so" in name[0] and "libgpudx" not in name[0] if name else library and begin == last
        last = end
        if mode == "rw-p" and library and end - begin <= LARGEST:
            found.append((begin, end))
    return found


def _among(begin: int, end: int, values: np.ndarray) -> list[tuple[int, int]]:
    """(address, word) of all words that are among the values."""
    words = np.frombuffer((ctypes.c_uint64 * ((end - begin) // 8)).from_address(begin), np.uint64)
    near = np.flatnonzero((words >= values[0]) & (words <= values[-1]))
    return [(begin + 8 * int(i), int(words[i])) for i in near if words[i] in values]


if __name__ == "__main__":
    print(offset(Path(sys.argv[1]), "gdx_crumbs_setting"))
