"""What is known of a faulting access and of the launch that made it, and what a rule answers."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpudx.facts import Facts
from gpudx.model import Evidence, Origin, Site

LARGE_INT, SANE_FLOAT = 1 << 28, (1e-9, 1e9)


@dataclass(frozen=True)
class Number:
    """A number that the launch was given, or one of its extents."""

    name: str
    value: int
    argument: int | None = None


@dataclass(frozen=True)
class Pointer:
    """A pointer that the launch was given, as an argument or inside a structure; `object` is the memory it points into, or -1."""

    argument: int
    word: int
    inside: bool
    value: int
    object: int
    begin: int
    size: int
    name: str
    element: int | None
    read_only: bool
    live: bool = True  # was its memory still allocated at the launch?

    @property
    def end(self) -> int:
        return self.begin + self.size


@dataclass(frozen=True)
class Reason:
    """Why an access went where it went. `text` completes "kernel X wrote 4 bytes at ADDRESS: ..."."""

    cause: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    argument: int | None = None
    object: int = -1
    root: Site | None = None  # the call to change, where it is not the launch
    steps: tuple[str, ...] = ()  # what to do, where the cause's own advice does not fit


@dataclass(frozen=True)
class Question:
    """One access of one launch (a row of Launches); what is not known is None or ""."""

    facts: Facts
    launch: int
    address: int | None = None
    kind: str = ""  # "read", "write", "atomic"
    width: int | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    exception: str = ""  # what the device or the tool called it, in its words
    origin: Origin | None = None  # what the kernel's code computed the address from
    space: str = ""  # of the memory: "shared", or one that all threads see
    within: int = 1  # the access was in so many bytes from `address` on: a page, where a driver names no more

    @property
    def position(self) -> int:
        return int(self.facts.launches.position[self.launch])

    @property
    def writes(self) -> bool:
        return self.kind in ("write", "atomic")

    @cached_property
    def pointers(self) -> tuple[Pointer, ...]:
        """Every pointer of the launch that the access may have gone through."""
        return tuple(one for one in self.pointers_of(self.launch) if self.went_through(one.argument, one.word))

    def pointers_of(self, launch: int) -> tuple[Pointer, ...]:
        """Every pointer of a launch whose memory is known, the kernel's own parameters first."""
        found, table = self.facts.launches.pointers, self.facts.objects.table
        info = self.facts.launches.info(launch)
        made = []
        for row in map(int, found.of(launch)):
            index, obj = int(found.index[row]), int(found.object[row])
            declared = info.args.get(index) if info else None
            inside = bool(found.inside[row])
            begin, size = (int(table["handle"][obj]), int(table["size"][obj])) if obj >= 0 else (0, 0)
            made.append(
                Pointer(
                    argument=index,
                    word=int(found.word[row]),
                    inside=inside,
                    value=int(found.value[row]),
                    object=obj,
                    begin=begin,
                    size=size,
                    name=_name(index, int(found.word[row]), inside, declared.name if declared else ""),
                    element=declared.element if declared and not inside else None,
                    read_only=bool(declared and declared.read_only and not inside),
                    live=bool(found.live[row]) or obj < 0,
                )
            )
        return tuple(made)

    def went_through(self, argument: int, byte: int) -> bool:
        """May the access have gone through the pointer at this byte of an argument? False only where the code shows another."""
        return self.origin is None or (not self.origin.loaded and (self.origin.argument, self.origin.byte) == (argument, byte))

    @property
    def usable(self) -> tuple[Pointer, ...]:
        """Pointers that the access can have gone through: a write does not go through a pointer to const."""
        return tuple(p for p in self.pointers if not (self.writes and p.read_only))

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """Whole numbers that the launch was given, and its extents; a value is here once."""
        seen: dict[int, Number] = {}
        for number in (*self._scalars(), *self._extents()):
            if number.value not in (0, 1, -1):
                seen.setdefault(number.value, number)
        return tuple(seen.values())

    def _scalars(self) -> Iterator[Number]:
        info = self.facts.launches.info(self.launch)
        for value in self.facts.launches.values(self.launch):
            index, data = int(value["index"]), bytes(value["bytes"])
            declared = value["declared"]
            kind = (declared.scalar or declared.type) if declared else ""
            if int(value["object"]) >= 0 or (declared and ("*" in declared.type or declared.is_memory)):
                continue
            name = f"argument {index}" + (f" ({declared.name})" if declared and declared.name else "")
            if any(word in kind for word in ("float", "double", "half")):
                continue
            if len(data) in (4, 8):
                number = int.from_bytes(data, "little", signed="unsigned" not in kind and "size_t" not in kind)
                if not _looks_like_float(data) or (info and kind):
                    yield Number(name, number, index)
            elif len(data) > 8:
                yield from _words(index, data)

    def _extents(self) -> Iterator[Number]:
        items, group = self.facts.launches.geometry(self.launch)
        for axis, (total, each) in enumerate(zip(items, group, strict=False)):
            letter = "xyz"[axis]
            if each and total:
                yield Number(f"blocks in {letter}", -(-total // each))
                yield Number(f"threads per block in {letter}", each)
            if total:
                yield Number(f"threads in {letter}", total)

    @property
    def threads(self) -> int:
        """Work-items of the whole launch; 0 where the shape is not known."""
        total = 1
        for number in self.facts.launches.geometry(self.launch)[0]:
            total *= number or 1
        return total if any(self.facts.launches.geometry(self.launch)[0]) else 0

    def nearest(self, pointers: Sequence[Pointer]) -> Pointer | None:
        """The pointer whose memory the access missed least, None where other memory is about as near: from far, neighbours look alike."""
        if self.address is None:
            return None
        far = [(max(self.address - p.end, p.begin - self.address), p) for p in pointers if p.object >= 0]
        far = sorted(((d, p) for d, p in far if d < 4 * max(p.size, 1 << 16)), key=lambda pair: pair[0])
        if not far or (len(far) > 1 and far[1][1].object != far[0][1].object and far[1][0] < 2 * far[0][0]):
            return None
        return far[0][1]

    def memory(self, obj: int) -> str:
        """ "buffer #7 (4,096 bytes)"."""
        return f"{self.facts.objects.label(obj)} ({int(self.facts.objects.table['size'][obj]):,} bytes)"

    def allocated(self, obj: int) -> str:
        """ "buffer #7 (4,096 bytes), allocated at main.cu:12"."""
        made = self.made(obj)
        return self.memory(obj) + (f", allocated at {made.source}" if made and made.source else "")

    def made(self, obj: int) -> Site | None:
        """The call that allocated it."""
        born = int(self.facts.objects.table["born"][obj])
        return self.facts.sites.at(born) if born >= 0 else None

    @property
    def who(self) -> str:
        """ " in thread (1,0,0) of block (3,0,0)"."""
        if self.thread is None:
            return ""
        place = ",".join(map(str, self.thread))
        return f" in thread ({place})" + (f" of block ({','.join(map(str, self.block))})" if self.block else "")


def _name(index: int, word: int, inside: bool, name: str) -> str:
    argument = f"argument {index}{f' ({name})' if name else ''}"
    return f"the pointer at byte {word} of {argument}" if inside else argument


def _words(index: int, data: bytes) -> Iterator[Number]:
    """Words of 4 bytes of a structure that can be whole numbers, and words of 8 that are not addresses."""
    for at in range(0, len(data) - 3, 4):
        word = data[at : at + 4]
        number = int.from_bytes(word, "little", signed=True)
        if 1 < abs(number) < LARGE_INT or (abs(number) >= LARGE_INT and not _looks_like_float(word)):
            yield Number(f"argument {index} at byte {at}", number, index)


def _looks_like_float(data: bytes) -> bool:
    """Large as a whole number and ordinary as a floating one: nobody can tell, so it is no evidence."""
    value = abs(int.from_bytes(data, "little", signed=True))
    if len(data) == 4 and value >= LARGE_INT:
        return SANE_FLOAT[0] < abs(struct.unpack("<f", data)[0]) < SANE_FLOAT[1]
    if len(data) == 8 and value >= 1 << 56:
        return SANE_FLOAT[0] < abs(struct.unpack("<d", data)[0]) < SANE_FLOAT[1]
    return False
