"""From the flat tables of a core dump to faults: which warps failed, where, and what else stood on the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpudx.elf.header import BadElf
from gpudx.elf.sections import Elf, Ints
from gpudx.evidence import _cuda_exceptions as exceptions
from gpudx.evidence import _nvidia_code
from gpudx.evidence import _sass as sass
from gpudx.evidence._cubin import Image, Place
from gpudx.evidence._cuda_access import Flat, access_of
from gpudx.evidence._cuda_dump import (
    BREAKPOINT,
    LANES,
    TRAP,
    Access,
    Device,
    Dim,
    Dump,
    Fault,
    Grid,
    Lock,
    Module,
    Resident,
    Thread,
)
from gpudx.evidence._cuda_tables import Kind, Tables
from gpudx.evidence._device_code import Function

FLAGS = (
    "skip_nonrelocated_elf_images", "skip_global_memory", "skip_shared_memory", "skip_local_memory", "skip_abort",
    "skip_constbank_memory", "gzip_compress", "faulted_contexts_only",
)  # fmt: skip
MOST_PARAMETERS = 1 << 16  # bytes; the hardware's limit is half of it
MOST_RESIDENT = 64  # groups of warps that are listed with their source lines
MOST_MODULES = 1 << 16
STOPPED = -1  # in place of an exception's number: stopped by a breakpoint instruction

Codes = npt.NDArray[np.int64]
Key = tuple[int, int, int, int]  # device, grid, exception, address


class Images:
    """The relocated images of a dump, opened when a program counter needs them."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.sections = tables.content(Kind.RELOCATED_IMAGE, tables.modules)
        self.by_handle = {int(h): row for row, h in enumerate(tables.modules.table["handle"][:MOST_MODULES])}
        self.opened: dict[int, Image | None] = {}
        self.places: dict[int, Place | None] = {}

    def _open(self, row: int) -> Image | None:
        if row not in self.opened:
            self.opened[row] = self._image(int(self.sections[row]))
        return self.opened[row]

    def _image(self, section: int) -> Image | None:
        if section < 0:
            return None
        try:
            return Image(self.tables.elf.bytes_of(section))
        except BadElf as error:
            self.tables.notes.append(f"the code image of a module {error}")
            return None

    def find(self, pc: int, module: int = 0) -> Image | None:
        """The image that holds the code at `pc`; the module with that handle is looked at first."""
        first = self.by_handle.get(module)
        others = (row for row in range(min(len(self.sections), MOST_MODULES)) if row != first)
        for row in (*(() if first is None else (first,)), *others):
            image = self._open(row)
            if image and image.section(pc) is not None:
                return image
        return None

    def place(self, pc: int, module: int = 0) -> Place | None:
        if pc not in self.places:
            image = self.find(pc, module) if pc else None
            self.places[pc] = image.place(pc) if image else None
        return self.places[pc]

    def code(self, pc: int, module: int, sm: int) -> tuple[sass.Code, int] | None:
        """The code section around `pc`, and the number of the instruction there."""
        image = self.find(pc, module) if pc > 0 else None
        found = image.code(pc) if image else None
        if not found or (pc - found[1]) % sass.INSTRUCTION:
            return None
        return sass.Code(found[0], sm, found[1]), (pc - found[1]) // sass.INSTRUCTION

    def function(self, pc: int, module: int, sm: int) -> tuple[Function, int] | None:
        """The whole code of the kernel around `pc`, and how far into it that is."""
        image = self.find(pc, module) if pc > 0 else None
        section = image.section(pc) if image else None
        if image is None or section is None:
            return None
        found = _nvidia_code.function(image.elf, image.elf.name(section).removeprefix(_nvidia_code.TEXT), sm)
        return (found, pc - image.start(section)) if found else None


def flatten(tables: Tables) -> Flat:
    """Threads that hang on nothing, as in a damaged file, are left out with a note."""
    lanes, warps, blocks, sms = tables.lanes, tables.warps, tables.blocks, tables.sms
    block_of = _through(warps.above, lanes.above)
    sm_of = _through(blocks.above, block_of)
    rows = np.flatnonzero((block_of >= 0) & (sm_of >= 0)).astype(np.int64)
    if len(rows) < len(lanes):
        tables.notes.append(f"{len(lanes) - len(rows):,} threads hang on no warp, block or SM and were left out")
    thread, warp_of, sm = lanes.table[rows], lanes.above[rows], sm_of[rows]
    warp, block = warps.table[warp_of], blocks.table[block_of[rows]]
    flat = np.zeros(len(rows), LANES)
    flat["device"], flat["sm"] = sms.above[sm], sms.table["id"][sm]
    flat["warp"], flat["lane"] = warp["id"], thread["id"]
    flat["grid"], flat["pc"], flat["exception"] = block["grid"], thread["pc"], thread["exception"]
    flat["error_pc"] = np.where(warp["valid"] != 0, warp["pc"], 0)
    for axis, name in enumerate("xyz"):
        flat["block"][:, axis], flat["thread"][:, axis] = block[name], thread[name]
    active = (warp["active"] >> np.minimum(thread["id"], 31)) & 1 > 0
    return Flat(flat, rows, warp_of, sm, active)


class Reader:
    """One dump. `dump()` may be called once."""

    def __init__(self, path: Path, elf: Elf) -> None:
        self.path = path
        self.tables = Tables(elf)
        self.images = Images(self.tables)
        self.grids = tuple(self._grids())
        self.by_id = {(g.device, g.id): g for g in self.grids}
        self.flat = flatten(self.tables)

    def dump(self) -> Dump:
        tables = self.tables
        faults = tuple(sorted(self._faults(), key=lambda f: (-f.warps, f.error_pc or 0)))
        if not len(tables.devices):
            tables.notes.append("it has no device table")
        meta = tables.meta[0] if len(tables.meta) else np.zeros(1, tables.meta.dtype)[0]
        return Dump(
            path=str(self.path),
            created=int(meta["time"]),
            driver=_version(meta["driver_major"], meta["driver_minor"]),
            cuda=_version(meta["cuda_major"], meta["cuda_minor"]),
            flags=tuple(name for bit, name in enumerate(FLAGS) if int(meta["flags"]) >> bit & 1),
            devices=tuple(self._devices()),
            modules=tuple(self._modules()),
            grids=self.grids,
            faults=faults,
            resident=tuple(self._standing[0].values()),
            locks=tuple(self._locks()),
            notes=tuple(tables.notes),
            lanes=self.flat.lanes,
        )

    # -- the simple tables

    def _devices(self) -> Iterator[Device]:
        for index, row in enumerate(self.tables.devices.table):
            yield Device(index, self.tables.text(int(row["name"])), self._sm(index), int(row["sms"]))

    def _sm(self, device: int) -> int:
        """Compute capability, 90 for 9.0."""
        rows = self.tables.devices.table
        known = 0 <= device < len(rows)
        return int(rows["sm_major"][device]) * 10 + int(rows["sm_minor"][device]) if known else 0

    def _modules(self) -> Iterator[Module]:
        contexts, modules = self.tables.contexts.table["id"], self.tables.modules
        for row, above in enumerate(modules.above[:MOST_MODULES].tolist()):
            context = int(contexts[above]) if above >= 0 else 0
            yield Module(int(modules.table["handle"][row]), context, bool(self.images.sections[row] >= 0))

    def _grids(self) -> Iterator[Grid]:
        grids = self.tables.grids
        parameters = self.tables.content(Kind.PARAMETERS, grids)
        for number, (row, device) in enumerate(zip(grids.table, grids.above, strict=True)):
            place = self.images.place(int(row["entry"]), int(row["module"]))
            section = int(parameters[number])
            given = bytes(self.tables.elf.bytes_of(section)[:MOST_PARAMETERS]) if section >= 0 else None
            yield _grid(row, int(device), place, given)

    def _thread(self, row: int) -> Thread:
        lane = self.flat.lanes[row]
        return Thread(
            int(lane["device"]),
            int(lane["sm"]),
            int(lane["warp"]),
            int(lane["lane"]),
            _dim(lane["block"]),
            _dim(lane["thread"]),
            int(lane["pc"]),
        )

    def _grid_of(self, row: int) -> Grid | None:
        return self.by_id.get((int(self.flat.lanes["device"][row]), int(self.flat.lanes["grid"][row])))

    # -- faults

    def _faults(self) -> Iterator[Fault]:
        """Warps with an exception, SMs with one that none of their warps shows, and warps stopped by a trap."""
        seen: set[tuple[int, int]] = set()
        for (_, _, code, pc), rows in self._groups(self._codes):
            seen.update((sm, pc) for sm in np.unique(self.flat.sm[rows]).tolist())
            yield self._fault(code, pc, rows)
        yield from self._exited(seen)
        for (_, _, code, pc), rows in self._groups(self._stopped()):
            yield self._fault(code, pc, rows)

    @cached_property
    def _codes(self) -> Codes:
        """For each lane the exception that it takes part in, 0 for none.

        The driver marks the lanes. Where it marked none in a warp that has an error address, the SM says what it was,
        and the warp's active lanes count.
        """
        flat = self.flat
        codes = flat.lanes["exception"].astype(np.int64)
        marked = np.zeros(len(self.tables.warps), bool)
        np.logical_or.at(marked, flat.warp, codes != 0)
        silent = ~marked[flat.warp] & (flat.lanes["error_pc"] != 0) & flat.active
        said = self.tables.sms.table["exception"][flat.sm[silent]].astype(np.int64)
        codes[silent] = np.where(said != 0, said, exceptions.UNKNOWN)
        return codes

    def _stopped(self) -> Codes:
        """Lanes of warps that hit a breakpoint instruction and no exception."""
        broken = self.tables.warps.table["broken"][self.flat.warp] != 0
        return np.where(broken & self.flat.active & (self._codes == 0), STOPPED, 0)

    def _groups(self, codes: Codes) -> Iterator[tuple[Key, Ints]]:
        """Lanes by device, grid, exception and error address (where they stopped, when there is none)."""
        rows, lanes = np.flatnonzero(codes), self.flat.lanes
        where = np.where(lanes["error_pc"] != 0, lanes["error_pc"], lanes["pc"])
        keys: dict[Key, list[int]] = {}
        columns = (lanes["device"][rows], lanes["grid"][rows], codes[rows], where[rows])
        for row, *key in zip(rows.tolist(), *(c.tolist() for c in columns), strict=True):
            keys.setdefault((key[0], key[1], key[2], key[3]), []).append(row)
        for group, members in keys.items():
            yield group, np.array(members, np.int64)

    def _fault(self, code: int, pc: int, rows: Ints) -> Fault:
        flat, row = self.flat, int(rows[0])
        grid = self._grid_of(row)
        module = grid.module if grid else 0
        exception, meaning, pc, precise = self._named(code, pc, module, bool(flat.lanes["error_pc"][row]))
        access, reason = self._access(code, pc if precise else 0, module, rows)
        lanes = flat.lanes[rows]
        return Fault(
            exception=exception,
            code=max(code, 0),
            meaning=meaning,
            grid=grid,
            place=self.images.place(pc, module),
            error_pc=pc if precise else None,
            precise=precise,
            sms=_distinct(lanes["device"], lanes["sm"]),
            blocks=_distinct(lanes["device"], lanes["grid"], *(lanes["block"][:, axis] for axis in range(3))),
            warps=len(np.unique(flat.warp[rows])),
            lanes=len(rows),
            first=self._thread(row),
            access=access,
            no_access=reason,
            frames=tuple(self._frames(row, module)),
            registers=self._registers(row),
            detail=self._detail(int(flat.sm[row])),
            rows=rows,
            function=self.images.function(pc, module, self._sm(int(flat.lanes["device"][row]))) if precise else None,
        )

    def _named(self, code: int, pc: int, module: int, precise: bool) -> tuple[str, str, int, bool]:
        """Exception, meaning, address, and whether that is the instruction at fault."""
        if code != STOPPED:
            return exceptions.name_of(code), exceptions.meaning_of(code), pc, precise
        for at in (pc - sass.INSTRUCTION, pc):  # a lane's pc is the next instruction, with some drivers this one
            found = self.images.code(at, module, 0)
            if found and sass.is_trap(found[0].word(found[1])):
                return TRAP, "it executed a trap: __trap(), or one that the compiler put in place of wrong code", at, True
        return BREAKPOINT, "it was stopped by a breakpoint", pc, False

    def _access(self, code: int, pc: int, module: int, rows: Ints) -> tuple[Access | None, str]:
        if code not in exceptions.ADDRESS:
            return None, ""
        if not pc:
            return None, "the driver gave no address of the faulting instruction"
        found = self.images.code(pc, module, self._sm(int(self.flat.lanes["device"][rows[0]])))
        if not found:
            return None, "the code of the faulting instruction is not in the dump"
        return access_of(self.tables, self.flat, code, found[0], found[1], rows)

    def _exited(self, seen: set[tuple[int, int]]) -> Iterator[Fault]:
        """SMs that report an exception which none of their warps shows."""
        sms = self.tables.sms
        explained = {sm for sm, _ in seen}
        groups: dict[tuple[int, int, int], list[int]] = {}
        for row in np.flatnonzero(sms.table["exception"]).tolist():
            pc = int(sms.table["pc"][row]) if sms.table["valid"][row] else 0
            if (row, pc) not in seen and (pc or row not in explained):
                groups.setdefault((int(sms.above[row]), int(sms.table["exception"][row]), pc), []).append(row)
        for (device, code, pc), rows in groups.items():
            yield self._gone(device, code, pc, rows)

    def _gone(self, device: int, code: int, pc: int, rows: list[int]) -> Fault:
        """A fault whose warps had exited: the grid is known when only one of that kernel is there."""
        place = self.images.place(pc)
        grids = [g for g in self.grids if place and g.device == device and g.kernel == place.mangled]
        return Fault(
            exception=exceptions.name_of(code),
            code=code,
            meaning=exceptions.meaning_of(code),
            grid=grids[0] if len(grids) == 1 else None,
            place=place,
            error_pc=pc or None,
            precise=bool(pc),
            sms=len(rows),
            blocks=0,
            warps=0,
            lanes=0,
            first=None,
            access=None,
            no_access="the faulting warps had exited before the dump was taken",
            detail=self._detail(rows[0]),
            function=self.images.function(pc, 0, self._sm(device)),
        )

    def _detail(self, sm: int) -> str:
        offset = int(self.tables.sms.table["text"][sm])
        return self.tables.text(offset) if offset else ""

    def _frames(self, row: int, module: int) -> Iterator[Place]:
        sections = self.tables.content(Kind.BACKTRACE, self.tables.lanes)
        for frame in self.tables.frames(int(sections[self.flat.rows[row]])):
            place = self.images.place(int(frame["pc"]), module)
            if place:
                yield place

    def _registers(self, row: int) -> tuple[int, ...]:
        return tuple(self.tables.words(int(self.tables.registers[self.flat.rows[row]])).tolist())

    # -- where everything stood

    @cached_property
    def _standing(self) -> tuple[dict[int, Resident], Ints]:
        """Lanes by where they stood, the largest groups first; and the group of each lane."""
        flat = self.flat
        if not len(flat.lanes):
            return {}, np.zeros(0, np.int64)
        keys, first, which = np.unique(flat.lanes[["device", "grid", "pc"]], return_index=True, return_inverse=True)
        which = which.ravel().astype(np.int64)
        lanes = np.bincount(which, minlength=len(keys))
        warps = np.bincount(np.unique(np.stack([which, flat.warp], axis=1), axis=0)[:, 0], minlength=len(keys))
        found: dict[int, Resident] = {}
        for number in np.argsort(-lanes, kind="stable")[:MOST_RESIDENT].tolist():
            row, pc = int(first[number]), int(keys["pc"][number])
            grid = self._grid_of(row)
            place = self.images.place(pc, grid.module if grid else 0)
            waits, polled = self._waiting(pc, grid.module if grid else 0, np.flatnonzero(which == number))
            found[number] = Resident(grid, place, pc, int(warps[number]), int(lanes[number]), self._thread(row), waits, polled)
        return found, which

    def _locks(self) -> Iterator[Lock]:
        """Warps in which every lane waits for others of its warp, at two places or more: none of them can continue. Lanes that stand at
        barriers only may wait for other warps."""
        found, which = self._standing
        together: dict[int, set[int]] = {}
        for warp, group in np.unique(np.stack([self.flat.warp, which], axis=1), axis=0).tolist() if len(which) else ():
            together.setdefault(warp, set()).add(group)
        alike = Counter(frozenset(groups) for groups in together.values())
        for groups, warps in alike.most_common():
            ways = {found[group].waits if group in found else "" for group in groups}
            if len(groups) > 1 and "" not in ways and ways != {"at barrier"}:
                yield Lock(warps, self._inner_first([found[group] for group in sorted(groups)]))

    def _inner_first(self, places: list[Resident]) -> tuple[Resident, ...]:
        """A place that leads to another one, and not the other way round, is in a branch that the others did not take."""
        grid = places[0].grid
        codes = [self.images.code(one.pc, grid.module if grid else 0, self._sm(one.first.device)) for one in places]
        at = [found[1] if found else 0 for found in codes]
        code = codes[0][0] if codes[0] else None
        if code is None or any(found is None or found[0].start != code.start for found in codes):
            return tuple(places)
        behind = [sum(code.leads(other, mine) and not code.leads(mine, other) for other in at) for mine in at]
        return tuple(one for _, _, one in sorted(zip(behind, range(len(places)), places, strict=True)))

    def _waiting(self, pc: int, module: int, rows: Ints) -> tuple[str, Access | None]:
        """What lanes at an instruction wait for: others at a barrier, or a change of the memory that their loop reads."""
        found = self.images.code(pc, module, self._sm(int(self.flat.lanes["device"][rows[0]])))
        if not found:
            return "", None
        code, number = found
        if waits := code.waits(number):
            return waits, None
        load = code.polled(number)
        return "", access_of(self.tables, self.flat, exceptions.UNKNOWN, code, load, rows)[0] if load is not None else None


def _through(table: Ints, rows: Ints) -> Ints:
    """table[rows], with -1 where a row is -1."""
    if not len(table):
        return np.full(len(rows), -1, np.int64)
    return np.where(rows >= 0, table[np.maximum(rows, 0)], -1).astype(np.int64)


def _dim(values: Iterable[int]) -> Dim:
    x, y, z = (int(v) for v in values)
    return x, y, z


def _version(major: int, minor: int) -> str:
    return f"{major}.{minor}" if major else ""


def _distinct(*columns: npt.NDArray[np.generic]) -> int:
    return len(np.unique(np.stack([c.astype(np.int64) for c in columns], axis=1), axis=0))


def _grid(row: np.void, device: int, place: Place | None, parameters: bytes | None) -> Grid:
    cluster = _dim((row["cx"], row["cy"], row["cz"]))
    return Grid(
        id=int(row["id"]),
        device=device,
        context=int(row["context"]),
        kernel=place.mangled if place else None,
        function=place.function if place else None,
        entry=int(row["entry"]),
        module=int(row["module"]),
        grid=_dim((row["gx"], row["gy"], row["gz"])),
        block=_dim((row["bx"], row["by"], row["bz"])),
        cluster=cluster if any(cluster) else None,
        parent=int(row["parent"]) or None,
        parameters=parameters,
        parameter_base=int(row["params"]),
        registers=int(row["registers"]),
        host_tid=int(row["tid"]),
    )
