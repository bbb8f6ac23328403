"""Kernels as the driver described them: name, limits, and the declared type of every argument."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpudx.facts._backend import backend_module
from gpudx.facts.contexts import Contexts
from gpudx.facts.objects import Objects
from gpudx.trace import Trace

GLOBAL, LOCAL, CONSTANT, PRIVATE = 1, 2, 3, 4
CONST = 1
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class ArgInfo:
    """A declared parameter. `size` is what the host must pass; None when it cannot be known."""

    index: int
    type: str
    name: str
    space: int = PRIVATE
    access: int = 4
    qualifiers: int = 0
    size: int | None = None
    tail_padding: int = 0
    packed: bool = False
    scalar: str | None = None  # "float" for float and float4; None for structures and objects
    element: int | None = None  # bytes of what a memory argument points to

    @property
    def is_memory(self) -> bool:
        """A pointer to global or constant memory, or an image: the host passes a memory object."""
        return self.space in (GLOBAL, CONSTANT)

    @property
    def read_only(self) -> bool:
        return self.space == CONSTANT or bool(self.qualifiers & CONST) or self.access == 1


class StructLayout(Protocol):
    """What a backend's `types` reads of a type in the program's source: its bytes, and where the fields of a structure begin."""

    @property
    def size(self) -> int: ...

    @property
    def members(self) -> tuple[tuple[str, int], ...]: ...


@dataclass(frozen=True)
class DeviceLimits:
    """What one kernel may use on one device."""

    device: int
    max_work_group_size: int
    local_mem_size: int
    required: tuple[int, ...]
    numbers: dict[str, int] = field(default_factory=dict)  # what else the note said, by name


@dataclass(frozen=True)
class KernelInfo:
    """One kernel function of one program, as it was when first made."""

    name: str
    program: int
    position: int
    num_args: int
    limits: tuple[DeviceLimits, ...] = ()
    args: dict[int, ArgInfo] = field(default_factory=dict)
    symbol: str = ""  # the name as compiled, where it differs from `name`
    signature: str = ""  # the whole declaration, where the symbol tells


Descriptions = dict[tuple[int, str], list[KernelInfo]]  # by program and name, oldest first


@dataclass(frozen=True)
class Device:
    """A device as its driver describes it."""

    handle: int
    name: str
    version: str
    type: int
    address_bits: int
    max_work_group_size: int
    local_mem_size: int
    global_mem_size: int
    max_alloc_size: int
    max_item_sizes: tuple[int, ...]
    compute_units: int = 0
    numbers: dict[str, int] = field(default_factory=dict)


class Kernels:
    """Descriptions of kernel functions, and which one each kernel object is."""

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace = trace
        self._objects = objects
        self._names: dict[int, str] = {}  # by function
        self._infos: dict[int, KernelInfo | None] = {}

    # ---- descriptions ----

    @cached_property
    def _api(self) -> str:
        """The API whose kernels are described here: the one that the first kernel object was made with."""
        rows = self._objects.rows_of("kernel")
        born = self._objects.table["born"][rows]
        apis = (self._trace.info(int(position)).api for position in born[born >= 0])
        return next((api for api in apis if api != "note"), self._launching)

    @cached_property
    def _launching(self) -> str:
        """The API of the first launch, of a kernel or a graph; "" if there is none."""
        schema = self._trace.schema
        positions = self._trace.select((*schema.doing("launch"), *schema.doing("launch_graph")))
        return self._trace.info(int(positions[0])).api if len(positions) else ""

    @cached_property
    def contexts(self) -> Contexts:
        return Contexts(self._trace)

    @cached_property
    def devices(self) -> dict[int, Device]:
        found = [self._device(int(p)) for p in self._trace.named("note_device")]
        return {d.handle: d for d in found}

    def _device(self, position: int) -> Device:
        words = self._trace.record(position)
        numbers = self._trace.numbers(position)
        return Device(
            handle=words["device"],
            name=self._trace.text(position),
            version=self._trace.text(position, "text2"),
            type=words["type"],
            address_bits=words["address_bits"] or 64,
            max_work_group_size=words["max_work_group_size"],
            local_mem_size=words["local_mem_size"],
            global_mem_size=words["global_mem_size"],
            max_alloc_size=words["max_alloc_size"],
            max_item_sizes=numbers[:3],
            compute_units=words["max_compute_units"],
            numbers=self._trace.named_numbers(position),
        )

    @cached_property
    def sources(self) -> dict[int, list[tuple[int, int]]]:
        """Program handle -> (position, note position) of its source texts, oldest first."""
        found: dict[int, list[tuple[int, int]]] = {}
        for position in self._trace.named("note_source"):
            found.setdefault(self._trace.record(int(position))["program"], []).append((int(position), int(position)))
        return found

    def source(self, program: int, position: int) -> str:
        """The text of a program as it was at `position`; "" for programs made from binaries."""
        texts = [note for at, note in self.sources.get(program, ()) if at <= position]
        return self._trace.text(texts[-1]) if texts else ""

    def names_in(self, program: int, position: int) -> list[str]:
        """The kernels that the program's source has; none where it is not known, or may have more than can be read."""
        api = self._trace.info(position).api
        signatures, source = backend_module(api, "signatures"), self.source(program, position)
        if signatures is None or not source or self._linked_from(signatures.LINKS, program, position):
            return []
        names: list[str] = signatures.kernel_names(source, self._options(signatures.BUILDS, program, position))
        return names

    @cached_property
    def described(self) -> dict[tuple[int, str], list[KernelInfo]]:
        """(program, name) -> descriptions, oldest first: a program's handle may be reused."""
        note, arg_note = self._trace.schema.by_name("note_kernel"), self._trace.schema.by_name("note_kernel_arg")
        found: dict[tuple[int, str], list[KernelInfo]] = {}
        if note is None or arg_note is None:
            return found
        positions = np.sort(np.concatenate([self._trace.select(note), self._trace.select(arg_note)]))
        last: dict[int, tuple[int, str]] = {}  # kernel handle -> the description being read
        for position in map(int, positions):
            if self._trace.info(position) is note or self._trace.info(position).name == note.name:
                self._add_kernel(position, found, last)
            else:
                self._add_argument(position, found, last)
        for info in (i for infos in found.values() for i in infos if not i.args):
            self._read_signature(info)
        return found

    def _read_signature(self, info: KernelInfo) -> None:
        """The arguments by the program's source, where the driver did not describe them."""
        signatures = backend_module(self._api, "signatures")
        if signatures is None or not info.num_args:
            return
        for program in (info.program, *self._linked_from(signatures.LINKS, info.program, info.position)):
            source = self.source(program, info.position)
            options = self._options(signatures.BUILDS, program, info.position)
            read = signatures.signature_of(source, info.name, options)
            if read is None or len(read) != info.num_args:
                continue
            for i, p in enumerate(read):
                info.args[i] = self._sized(ArgInfo(i, p.type, p.name, p.space, p.access, p.qualifiers), info)
            return

    @cached_property
    def _only_read(self) -> dict[tuple[int, str, str, int], bool]:
        return {}

    def only_reads(self, row: int, index: int) -> bool:
        """Does the kernel's source show that it does not write through this argument, though it is not declared const?"""
        info = self.info(row)
        argument = info.args.get(index) if info else None
        stores = backend_module(self._api, "stores")
        if info is None or argument is None or not argument.name or stores is None:
            return False
        key = (info.program, info.name, argument.name, info.position)
        if key not in self._only_read:
            source = self.source(info.program, info.position)
            self._only_read[key] = bool(source) and stores.only_reads(source, info.name, argument.name)
        return self._only_read[key]

    def only_stored(self, row: int, index: int) -> bool:
        """Does the kernel's source show that this number is only a value that it stores, and never says where it works?"""
        return self._shows_of_number("only_stored", row, index)

    def computes_with(self, row: int, index: int) -> bool:
        """Does the kernel's source show that it computes with this number, and never with single bits of it?"""
        return self._shows_of_number("computes_with", row, index)

    def _shows_of_number(self, what: str, row: int, index: int) -> bool:
        info = self.info(row)
        argument = info.args.get(index) if info else None
        stores = backend_module(self._api, "stores")
        if info is None or argument is None or not argument.name or argument.is_memory or stores is None:
            return False
        source = self.source(info.program, info.position)
        return bool(source) and bool(getattr(stores, what)(source, info.name, argument.name))

    def at_own_id(self, row: int) -> frozenset[str]:
        """The arguments that each work-item uses at its own global id only, as the kernel's source shows; by name."""
        found: frozenset[str] = self._read(row, "by_global_id") or frozenset()
        return found

    def guards(self, row: int) -> dict[int, frozenset[str]]:
        """By dimension: the arguments that the kernel's source compares its global id with."""
        found: dict[int, frozenset[str]] = self._read(row, "guards") or {}
        return found

    def returns_before_barrier(self, row: int) -> dict[int, frozenset[str]]:
        """By dimension: the arguments from which on work-items return before a barrier, as the kernel's source shows."""
        found: dict[int, frozenset[str]] = self._read(row, "returns_before_barrier") or {}
        return found

    def local_halving(self, row: int) -> str:
        """The head of a loop that adds up the elements of a group in halves, as the kernel's source shows; "" where there is none."""
        found: str = self._read(row, "local_halving") or ""
        return found

    def only_written(self, row: int) -> frozenset[str]:
        """The arguments that the kernel only assigns elements of, as its source shows; by name."""
        found: frozenset[str] = self._read(row, "only_written") or frozenset()
        return found

    def row_strides(self, row: int) -> dict[str, str]:
        """By pointer, the argument that is the distance of its rows in elements, as the kernel's source shows."""
        found: dict[str, str] = self._read(row, "row_strides") or {}
        return found

    def useless_clamps(self, row: int) -> dict[str, tuple[int, str]]:
        """Clamps of unsigned differences in the kernel's source, which do nothing: dimension of the id, argument that is subtracted."""
        found: dict[str, tuple[int, str]] = self._read(row, "useless_clamps") or {}
        return found

    def image_functions(self, row: int) -> dict[str, frozenset[str]]:
        """By argument: the functions that the kernel's source reads and writes an image with."""
        found: dict[str, frozenset[str]] = self._read(row, "images") or {}
        return found

    @cached_property
    def _readings(self) -> dict[tuple[int, str, int, str], Any]:
        return {}

    def _read(self, row: int, what: str) -> Any:
        """What the backend reads from the words of a kernel's source; None where there is none."""
        info, indices, signatures = self.info(row), backend_module(self._api, "plain_indices"), backend_module(self._api, "signatures")
        if info is None or indices is None or signatures is None:
            return None
        key = (info.program, info.name, info.position, what)
        if key not in self._readings:
            source = self.source(info.program, info.position)
            options = self._options(signatures.BUILDS, info.program, info.position)
            self._readings[key] = getattr(indices, what)(source, info.name, options) if source else None
        return self._readings[key]

    def _last_call(self, names: tuple[str, ...], field_name: str, program: int, position: int) -> int | None:
        """The last call of these names before `position` whose field is this program."""
        calls = tuple(c for c in map(self._trace.schema.by_name, names) if c)
        positions = self._trace.select(calls) if calls else np.zeros(0, np.int64)
        mine = (p for p in map(int, positions[positions < position][::-1]))
        return next((p for p in mine if self._trace.record(p).get(field_name) == program), None)

    def _options(self, builds: tuple[str, ...], program: int, position: int) -> str:
        built = self._last_call(builds, "program", program, position)
        return self._trace.array(built, "options").decode(errors="replace") if built is not None else ""

    def _linked_from(self, links: tuple[str, ...], program: int, position: int) -> tuple[int, ...]:
        made = self._last_call(links, "result", program, position)
        given = self._trace.array(made, "input_programs") if made is not None else b""
        return tuple(int(n) for n in np.frombuffer(given[: len(given) // 8 * 8], "<u8"))

    def _add_kernel(self, position: int, found: Descriptions, last: dict[int, tuple[int, str]]) -> None:
        words, name = self._trace.record(position), self._trace.text(position)
        key = (words["program"], name)
        required = self._trace.numbers(position)
        limits = DeviceLimits(words["device"], words["max_work_group_size"], words["local_mem_size"], required)
        earlier = found.setdefault(key, [])
        another = earlier and all(known.device != limits.device for known in earlier[-1].limits)
        if another and last.get(words["kernel"]) == key and not earlier[-1].args:
            # the same kernel on another device
            earlier[-1] = replace(earlier[-1], limits=(*earlier[-1].limits, limits))
            return
        earlier.append(KernelInfo(name, words["program"], position, words["num_args"], (limits,), {}))
        last[words["kernel"]] = key

    def _add_argument(self, position: int, found: Descriptions, last: dict[int, tuple[int, str]]) -> None:
        words = self._trace.record(position)
        key = last.get(words["kernel"])
        if key is not None:
            info = found[key][-1]
            info.args[words["index"]] = self._argument(position, words, info)

    def _argument(self, position: int, words: dict[str, int], info: KernelInfo) -> ArgInfo:
        arg = ArgInfo(
            index=words["index"],
            type=self._trace.text(position),
            name=self._trace.text(position, "text2"),
            space=words["address_space"],
            access=words["access"],
            qualifiers=words["qualifiers"],
        )
        return self._sized(arg, info)

    def _sized(self, arg: ArgInfo, info: KernelInfo) -> ArgInfo:
        """With the sizes that follow from its type."""
        if arg.space == LOCAL:
            return arg
        if arg.is_memory or "*" in arg.type or arg.access != 4:
            space = arg.space if arg.is_memory else GLOBAL
            return replace(arg, size=8, space=space, element=self._element(arg, info))
        if arg.type.startswith(("sampler_t", "queue_t", "reserve_id_t", "event_t")):
            return replace(arg, size=8)
        return self._by_value(arg, info)

    def _element(self, arg: ArgInfo, info: KernelInfo) -> int | None:
        """Bytes of what a pointer points to."""
        layout = self.struct_of(arg, info) if arg.type.count("*") == 1 else None
        return layout.size if layout else None

    def struct_of(self, arg: ArgInfo, info: KernelInfo) -> StructLayout | None:
        """The layout of a declared type, or of what a pointer to it points to; None where the source does not show it."""
        types = backend_module(self._api, "types")
        read = getattr(types, "layout_of", None)
        found: StructLayout | None = read(arg.type, self.source(info.program, info.position)) if read else None
        return found

    def _by_value(self, arg: ArgInfo, info: KernelInfo) -> ArgInfo:
        types = backend_module(self._api, "types")
        if types is None:
            return arg
        bits = next((d.address_bits for d in self.devices.values()), 64)
        layout = types.layout_of(arg.type, self.source(info.program, info.position), bits)
        if layout is None:
            return arg
        return replace(
            arg,
            size=layout.size,
            tail_padding=layout.tail_padding,
            packed=layout.packed,
            scalar=types.scalar_of(arg.type),
        )

    # ---- objects ----

    @cached_property
    def _functions(self) -> tuple[I64, I64]:
        """Per object its function's number (-1: no kernel, or not known), and per function the first object of it.

        Programs make a kernel object per thread or per launch; what concerns the function is looked up once.
        """
        rows = self._objects.rows_of("kernel")
        rows = rows[self._objects.table["born"][rows] >= 0]
        born, place = self._objects.table["born"][rows], np.full(len(self._objects) + 1, -1, np.int64)
        by_name = np.array(["kernel_name" in c.arrays for c in self._trace.schema.calls])
        named = by_name[self._trace.call[born]]
        pairs = np.stack([self._objects.table["owner"][rows[named]], self._trace.same_content(born[named])], axis=1)
        _, first, number = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))  # numbered in order of birth
        place[rows[named]] = rank[number.reshape(-1)]
        firsts = list(rows[named][np.sort(first)])
        for row in map(int, rows[~named]):
            place[row] = place[self._source(row)]
        self._add_noted(rows[~named], place, firsts)
        return place, np.array(firsts, np.int64)

    def _add_noted(self, rows: I64, place: I64, firsts: list[int]) -> None:
        """Functions that the recorder described by their handles: equal where program and symbol are."""
        numbers: dict[tuple[int, str], int] = {}
        for row in map(int, rows):
            note = self._note_of(row)
            symbol = self._symbol(row, note)
            if place[row] >= 0 or not symbol:
                continue
            key = (int(self._objects.table["owner"][row]), symbol)
            if key not in numbers:
                numbers[key] = len(firsts)
                firsts.append(row)
            place[row] = numbers[key]

    @cached_property
    def _notes(self) -> dict[int, list[int]]:
        """Kernel handle -> positions of its descriptions, oldest first."""
        positions = self._trace.named("note_kernel")
        found: dict[int, list[int]] = {}
        for position, kernel in zip(positions, self._trace.words(positions, 0).tolist(), strict=True):
            found.setdefault(kernel, []).append(int(position))
        return found

    @cached_property
    def _layouts(self) -> dict[int, list[int]]:
        """Kernel handle -> positions of the layouts of its parameters, oldest first."""
        found: dict[int, list[int]] = {}
        for position in map(int, self._trace.named("note_kernel_params")):
            found.setdefault(self._trace.record(position)["kernel"], []).append(position)
        return found

    def _note_of(self, row: int) -> int | None:
        """The description of a kernel object: the first in its life, which is written when it is first launched, else
        the last before it (the same function, asked for again)."""
        return self._in_life(self._notes, row)

    def _in_life(self, notes: dict[int, list[int]], row: int) -> int | None:
        entry = self._objects.table[row]
        positions = notes.get(int(entry["handle"]), [])
        later = [p for p in positions if p >= int(entry["born"]) and p <= int(entry["gone"])]
        return later[0] if later else positions[-1] if positions else None

    def _symbol(self, row: int, note: int | None) -> str:
        """The name as compiled, from the description or from the call that asked for the kernel."""
        born = int(self._objects.table["born"][row])
        name = self._trace.array(born, "name").decode("utf-8", "replace").rstrip("\0")
        return name or (self._trace.text(note) if note is not None else "")

    def _source(self, row: int) -> int:
        """The kernel object that this one was copied from, -1 if none."""
        born = int(self._objects.table["born"][row])
        handle = self._trace.record(born).get("source_kernel", 0)
        return int(self._objects.at(np.array([handle], np.uint64), np.array([born], np.int64))[0])

    def functions(self, rows: I64) -> I64:
        """A number for the function of each kernel object: equal where program and name are. -1 for unknown objects."""
        return self._functions[0][rows]

    def named(self, name: str) -> I64:
        """The numbers of the functions with this name, as compiled or as people read it."""
        return np.flatnonzero([name in names for names in self._spellings])

    def like(self, pattern: str) -> I64:
        """The numbers of the functions one of whose names fits a pattern of the shell."""
        return np.flatnonzero([any(fnmatch.fnmatchcase(n, pattern) for n in names) for names in self._spellings])

    @property
    def _spellings(self) -> list[tuple[str, ...]]:
        """All names of each function."""
        infos, rows = self.of_functions, self._functions[1]
        told = [(info.symbol, info.signature) if info else () for info in infos]
        return [tuple(filter(None, (self.name(int(row)), *more))) for row, more in zip(rows, told, strict=True)]

    @property
    def of_functions(self) -> list[KernelInfo | None]:
        """The description of each function, by its number."""
        return [self.info(int(row)) for row in self._functions[1]]

    def device_of(self, queue: int, position: int) -> Device | None:
        """The device behind a queue handle, or of the context that the call was made in."""
        number = self.contexts.number(position)
        if number:
            device = self.contexts.device(number, position)
            return self.devices.get(device) if device is not None else None
        row = int(self._objects.at(np.array([queue], np.uint64), np.array([position], np.int64))[0])
        born = int(self._objects.table["born"][row]) if row >= 0 else -1
        return self.devices.get(self._trace.record(born).get("device", 0)) if born >= 0 else None

    def device_at(self, position: int) -> Device | None:
        """The device of the context that a call was made in; the only one where the context is not known."""
        number = self.contexts.device(self.contexts.number(position), position)
        if number is None and len(self.devices) == 1:
            return next(iter(self.devices.values()))
        return self.devices.get(number) if number is not None else None

    def options(self, row: int, position: int) -> str:
        """The build options of a kernel object's program, as they were last given before `position`."""
        built = self.built_at(row, position)
        return self._trace.array(built, "options").decode("utf-8", "replace") if built is not None else ""

    def built_at(self, row: int, position: int) -> int | None:
        """The call that last built a kernel object's program before `position`."""
        program = int(self._objects.table["owner"][row]) if row >= 0 else -1
        handle = int(self._objects.table["handle"][program]) if program >= 0 else 0
        for info in self._trace.schema.doing("build"):
            positions = self._trace.select(info)
            mine = positions[(self._trace.field(info, "program", positions) == handle) & (positions < position)]
            if len(mine):
                return int(mine[-1])
        return None

    def whole_groups(self, row: int, device: Device, position: int) -> bool | None:
        """Must the global size of a launch be a multiple of the local size? None when only the driver knows."""
        rules = backend_module(self._api, "rules")
        return rules.whole_groups(device.version, self.options(row, position)) if rules else None

    def empty_launches(self, device: Device) -> bool:
        """May a launch have no work-items?"""
        rules = backend_module(self._api, "rules")
        return bool(rules and rules.empty_launches(device.version))

    def name(self, row: int) -> str:
        """The function a kernel object runs; "?" when its making was not recorded."""
        function = int(self._functions[0][row]) if row >= 0 else -1
        if function < 0:
            return "?"
        if function not in self._names:
            self._names[function] = self._find_name(int(self._functions[1][function]))
        return self._names[function]

    def _find_name(self, row: int) -> str:
        born = int(self._objects.table["born"][row])
        given = self._trace.array(born, "kernel_name").decode("utf-8", "replace")
        symbol = given or self._symbol(row, self._note_of(row))
        types = backend_module(self._api, "types")
        readable = types.signature(symbol).name if types and hasattr(types, "signature") else symbol
        return readable or "?"

    def info(self, row: int) -> KernelInfo | None:
        """The description of a kernel object's function, None when the driver gave none."""
        function = int(self._functions[0][row]) if row >= 0 else -1
        if function < 0:
            return None
        if function not in self._infos:
            self._infos[function] = self._find_info(int(self._functions[1][function]))
        return self._infos[function]

    def _find_info(self, row: int) -> KernelInfo | None:
        # A program's handle may be reused: the description must fall into the life of this very program.
        born = int(self._objects.table["born"][row])
        program, owner = self._trace.record(born).get("program", 0), int(self._objects.table["owner"][row])
        since, until = (-1, born) if owner < 0 else (int(self._objects.table[k][owner]) for k in ("born", "gone"))
        if "kernel_name" not in self._trace.info(born).arrays:
            return self._describe_noted(row)
        candidates = self.described.get((program, self.name(row)), [])
        return next((c for c in candidates if since <= c.position <= max(until, born + 1)), None)

    # ---- functions that are described by their symbols ----

    def _describe_noted(self, row: int) -> KernelInfo | None:
        note, layout = self._note_of(row), self._in_life(self._layouts, row)
        if note is None:
            return None
        words, numbers = self._trace.record(note), self._trace.named_numbers(note)
        symbol, types = self._symbol(row, note), backend_module(self._api, "types")
        known = types.signature(symbol) if types and hasattr(types, "signature") else None
        required = tuple(numbers.get(f"required_{axis}", 0) for axis in "xyz")
        limits = DeviceLimits(words["device"], words["max_work_group_size"], words["local_mem_size"], required, numbers)
        sizes = self._trace.numbers(layout)[1::2] if layout is not None else ()
        return KernelInfo(
            name=self.name(row),
            program=words["program"],
            position=note,
            num_args=-1 if words["num_args"] >> 63 else words["num_args"],
            limits=(limits,),
            args=_parameters(known.parameters if known else None, sizes),
            symbol=symbol,
            signature=known.text if known else "",
        )


def _parameters(declared: tuple[Any, ...] | None, sizes: tuple[int, ...]) -> dict[int, ArgInfo]:
    """Parameters by place: sizes from the driver, types from the symbol if it names as many."""
    if declared is None or len(declared) != len(sizes):
        return {i: ArgInfo(i, "", "", size=size) for i, size in enumerate(sizes)}
    return {
        i: ArgInfo(
            index=i,
            type=one.type,
            name="",
            space=GLOBAL if one.pointer else PRIVATE,
            qualifiers=CONST if one.const else 0,
            size=size,
            scalar=one.scalar,
            element=one.element,
        )
        for i, (one, size) in enumerate(zip(declared, sizes, strict=True))
    }
