"""Names for addresses of the program: object, function, file and line, and what kind of memory a pointer points to.

All of it comes from /proc/PID/maps as the recorder kept it, and from the objects it names as they are on disk now. An
object that was rebuilt after the run gives wrong names, which cannot be noticed here; one that is missing, deleted or
damaged gives its path and an offset, never an exception.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from gpudx.backends.mangling import function_name
from gpudx.elf.dwarf import Dwarf, Struct
from gpudx.elf.image import DEBUG_ROOT, Image
from gpudx.facts.maps import Mapping, parse_maps
from gpudx.text import printable
from gpudx.text.places import first_own

MOST_OBJECTS = 64  # each keeps a file open


@dataclass(frozen=True)
class Place:
    """What an address is. `offset` is the address the object was linked for, or the offset in a file that is no ELF.

    `function` is as the linker knows it (C++ names are mangled), "" if unknown; `into` counts from its start. `source`
    is "path:line" as the compiler wrote it, or "".
    """

    path: str
    offset: int
    function: str = ""
    into: int = 0
    source: str = ""

    @property
    def object(self) -> str:
        return os.path.basename(self.path)

    def text(self, past: int = 0) -> str:
        """For people. `past` is how far behind this place the address is that was asked for."""
        if self.function and self.source:
            return f"{pretty(self.function)} at {os.path.basename(self.source)} ({self.object})"
        if self.function:
            return f"{pretty(self.function)}+{self.into + past:#x} ({self.object})"
        where = f"{self.object}+{self.offset + past:#x}"
        return f"{os.path.basename(self.source)} ({where})" if self.source else where


class Symbols:
    """Names addresses of one process, given its maps. Objects are opened when first needed and kept."""

    def __init__(self, maps: str, debug_root: Path = DEBUG_ROOT) -> None:
        self._mappings = parse_maps(maps)
        self._starts = [m.start for m in self._mappings]
        self._debug_root = debug_root
        self._objects: dict[str, _Object | None] = {}
        self._known: dict[int, tuple[Place, ...]] = {}

    def mapping(self, address: int) -> Mapping | None:
        at = bisect_right(self._starts, address) - 1
        return self._mappings[at] if at >= 0 and address < self._mappings[at].end else None

    def kind(self, address: int) -> str | None:
        """What an address points to: "code", "stack" (of the first thread), "heap" (of the C library, in part),
        "anonymous" (also other threads' stacks, large allocations and zeroed data of objects), "file:PATH",
        "reserved" (address space without access: drivers and allocators keep much of it), or None if the maps that
        were kept have nothing there.
        """
        mapping = self.mapping(address)
        if mapping is None:
            return None
        if mapping.path.startswith(("[stack", "[heap]")):
            return mapping.path[1:6].rstrip("]")
        if mapping.executable:
            return "code"
        if mapping.is_file:
            return f"file:{printable(mapping.path)}"
        return "anonymous" if mapping.access[:3] != "---" else "reserved"

    def executable(self, address: int) -> bool:
        mapping = self.mapping(address)
        return mapping is not None and mapping.executable

    def image(self, address: int) -> tuple[Image, int] | None:
        """The object that is mapped at an address, and the address that this place was linked for."""
        mapping = self.mapping(address)
        found = self._object(mapping) if mapping else None
        if mapping is None or found is None:
            return None
        linked = found.image.linked_address(address - mapping.start + mapping.offset, mapping.executable)
        return (found.image, linked) if linked is not None else None

    def _object(self, mapping: Mapping) -> _Object | None:
        # What lies under the path of a deleted file today is another file.
        if not mapping.is_file or mapping.deleted:
            return None
        if mapping.path not in self._objects:
            self._objects[mapping.path] = _object_at(mapping.path, self._debug_root)
        return self._objects[mapping.path]

    def places(self, address: int) -> tuple[Place, ...]:
        """The functions at an address: those inlined there, innermost first, then the one they are part of.

        At least one place for an address that is mapped, none for any other.
        """
        if address not in self._known:
            mapping = self.mapping(address)
            self._known[address] = self._find(mapping, address) if mapping else ()
        return self._known[address]

    def _find(self, mapping: Mapping, address: int) -> tuple[Place, ...]:
        path, offset = printable(mapping.path), address - mapping.start + mapping.offset
        image, found = self.image(address), self._object(mapping)
        if image is None or found is None:
            return (Place(path, offset),)
        return found.places(path, image[1])

    def locate(self, address: int) -> Place | None:
        """The innermost place at exactly this address; None where nothing is mapped."""
        return next(iter(self.places(address)), None)

    def describe(self, address: int, is_return_address: bool = True) -> str:
        """One line for people: "read_split at tensor.c:195 (app)", "clFinish+0x14f (libOpenCL.so.1)", "app+0x1234".

        A return address belongs to the call before it, which may be the last instruction of its line or function.
        """
        return self.describe_all(address, is_return_address)[0]

    def describe_all(self, address: int, is_return_address: bool = True) -> tuple[str, ...]:
        """The same, with one line for each function that was inlined there, innermost first. Never empty."""
        back = 1 if is_return_address else 0
        mapping = self.mapping(address - back)
        if mapping is None:
            return (f"{address:#x} (in no known mapping)",)
        if not mapping.path:
            return (f"{address:#x} ({'generated code' if mapping.executable else 'anonymous memory'})",)
        return tuple(place.text(back) for place in self.places(address - back))

    def struct(self, address: int, name: str) -> Struct | None:
        """A struct that the source of the code at an address declares; None where debug information has none of this name."""
        mapping, image = self.mapping(address), self.image(address)
        found = self._object(mapping) if mapping and image else None
        return found.struct(image[1], name) if found and image else None

    def source(self, address: int, is_return_address: bool = True) -> str | None:
        """ "path/tensor.c:195" for an address, None where no line is known: of functions that were inlined there, the innermost that
        is not of a header which the program only uses."""
        return first_own(place.source for place in self.places(address - 1 if is_return_address else address))


class _Object:
    """An object with its debug file, if it has one apart."""

    def __init__(self, image: Image, debug_root: Path) -> None:
        self.image = image
        self._debug_root = debug_root
        self._known: dict[tuple[str, int], tuple[Place, ...]] = {}

    @property
    def has_debug(self) -> bool:
        return ".debug_info" in self.image.sections

    @cached_property
    def _debug(self) -> _Object:
        """Its debug file, or itself."""
        found = None if self.has_debug else self.image.debug_image(self._debug_root)
        return (_shared(found.path, _stamp(found.path)) if found else None) or self

    @cached_property
    def _dwarf(self) -> Dwarf:
        return Dwarf(self.image)

    def struct(self, address: int, name: str) -> Struct | None:
        return self._debug._dwarf.struct(address, name)

    def places(self, path: str, address: int) -> tuple[Place, ...]:
        if (path, address) not in self._known:
            self._known[path, address] = self._find(path, address)
        return self._known[path, address]

    def _find(self, path: str, address: int) -> tuple[Place, ...]:
        names = self._debug.image if self._debug.image.has_symtab else self.image
        name, start = names.function(address) or ("", address)
        frames = self._debug._dwarf.frames(address) or [("", "")]
        outer, source = frames[-1]
        inlined = [Place(path, address, function, 0, where) for function, where in frames[:-1]]
        # The linker's name of a C++ function says more than debug information without one, and is what c++filt takes.
        function = name if name.startswith("_Z") else outer or name
        return (*inlined, Place(path, address, function, address - start, source))


def _object_at(path: str, debug_root: Path) -> _Object | None:
    """A debug file apart is looked for each time: it may have come or gone."""
    found = _shared(path, _stamp(path))
    return found if found is None or found.has_debug else _Object(found.image, debug_root)


@lru_cache(maxsize=MOST_OBJECTS)
def _shared(path: str, stamp: tuple[int, ...]) -> _Object | None:
    """Opened once for all processes that have it: the runs of an investigation are of the same program."""
    image = Image.open(path)
    return _Object(image, DEBUG_ROOT) if image else None


def _stamp(path: str) -> tuple[int, ...]:
    """Differs for a file that was replaced or written again."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # a path that nothing can have
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@lru_cache(maxsize=4)
def symbols_of(maps: str) -> Symbols:
    """The Symbols of a maps text, made once: opening objects and decoding lines is the dear part."""
    return Symbols(maps)


def pretty(name: str) -> str:
    """ "ns::Class::method" for a mangled C++ name, also of a part that the compiler split off (".cold"); any other name unchanged."""
    whole = name.partition(".")[0]
    found = function_name(whole)
    return found if found and found != whole else name
