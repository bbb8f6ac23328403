"""schema/cuda.toml as objects: what each wrapped entry records, and under which names the driver exports it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from schema_model import WORDS, Call, Param

PER_THREAD = ("_ptsz", "_ptds")
LAUNCH_FIELDS = (
    ("queue", "handle:queue"),
    ("kernel", "handle:kernel"),
    *((name, "number") for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes")),
)
# Recorded only when they fail: a program may make millions of them between two launches, and what they would say
# about the current context stands in every other record.
ONLY_FAILURES = ("query", "poll", "switch")
SIGNED = ("int", "CUresult")


@dataclass(frozen=True)
class CudaParam(Param):
    """One C parameter and how it is recorded: "" (its value), "out" or "omit"."""

    how: str = ""

    @property
    def base(self) -> str:
        """The type that a pointer points to, else the type itself."""
        text = self.type[: self.type.index("*")] if self.pointer else self.type
        return text.replace("const", "").strip()

    @property
    def depth(self) -> int:
        return self.type.count("*")


@dataclass(frozen=True)
class Types:
    """The type tables of schema/cuda.toml."""

    handles: dict[str, str]
    scalars: dict[str, str]
    enums: tuple[str, ...]
    callbacks: tuple[str, ...]
    structures: tuple[str, ...]
    opaque: dict[str, int]

    @classmethod
    def load(cls, cuda: dict[str, Any]) -> Types:
        types = cuda["types"]
        return cls(
            handles=cuda["handles"],
            scalars=cuda["scalars"],
            enums=tuple(types["enums"]),
            callbacks=tuple(types["callbacks"]),
            structures=tuple(types["structures"]),
            opaque=cuda["opaque"],
        )

    def kind(self, base: str, depth: int) -> str:
        """What a recorded word of this type is: handle:KIND, address, pointer, signed or number."""
        if depth == 0 and base in self.handles:
            return "handle:" + self.handles[base]
        if depth == 0 and base == "CUdeviceptr":
            return "address"
        if depth or base in self.callbacks:
            return "pointer"
        return "signed" if base in SIGNED else "number"

    def wide(self, base: str) -> bool:
        """Is a value of this type a pointer in C?"""
        return base in self.callbacks or (base in self.handles and base not in self.scalars)


@dataclass(frozen=True)
class CudaCall(Call):
    """One entry of the CUDA driver API."""

    types: Types | None = None
    also: tuple[str, ...] = ()
    own_fields: tuple[tuple[str, str], ...] = ()
    before: bool = False
    after: bool = False
    always: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All exported names of this entry."""
        return (self.name, *self.also)

    @property
    def in_ledger(self) -> bool:
        return super().in_ledger or self.verb == "begin_capture"

    @property
    def only_failures(self) -> bool:
        return self.verb in ONLY_FAILURES and not self.always

    @property
    def default_queue(self) -> bool:
        """No stream parameter, yet two kinds of the entry: the record says which default stream was used."""
        return any(n.endswith("_ptds") for n in self.also)

    @property
    def uses_context(self) -> bool:
        """Is the call made in the thread's current context? (Entries that run before there is one are not asked.)"""
        return not (self.only_failures or self.name == "cuInit" or self.object in ("context", "primary_context"))

    def recorded(self, param: Param) -> bool:
        assert isinstance(param, CudaParam)
        if param.how == "omit" or param.name in self.arrays:
            return False
        return param.how == "out" or not (self.verb == "query" and param.pointer)

    def word_kind(self, param: CudaParam) -> str:
        assert self.types
        depth = param.depth - 1 if param.how == "out" else param.depth
        of_memory = self.object == "memory" and param.name in ("result", "mem")
        return "handle:mem" if of_memory else self.types.kind(param.base, depth)

    @property
    def fields(self) -> list[tuple[str, str]]:
        if self.own_fields:
            return list(self.own_fields)
        if self.verb == "launch":
            return list(LAUNCH_FIELDS)
        rows = [(p.name, self.word_kind(p)) for p in self.params if self.recorded(p) and isinstance(p, CudaParam)]
        return [*rows, ("queue", "handle:queue")] if self.default_queue else rows

    def array_kind(self, name: str) -> str:
        assert self.types
        param = next(p for p in self.params if p.name == name)
        assert isinstance(param, CudaParam)
        if self.arrays[name] == "text":
            return "text"
        kind = self.types.kind(param.base, param.depth - 1)
        whole = param.base in ("size_t", "cuuint64_t", "CUdeviceptr") or kind.startswith("handle:") or param.depth == 2
        return kind if whole else "bytes"


def parse_params(text: str) -> tuple[CudaParam, ...]:
    params = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"(?:(out|omit) )?(.*?)\s*(\**)\s*(\w+)", part)
        assert match, part
        params.append(CudaParam(f"{match[2]} {match[3]}" if match[3] else match[2], match[4], match[1] or ""))
    return tuple(params)


def load_call(row: dict[str, Any], types: Types) -> CudaCall:
    name = row["name"]
    fields = tuple((f.partition(":")[0], f.partition(":")[2]) for f in row.get("fields", ()))
    return CudaCall(
        api="cuda",
        name=name,
        does=row["does"],
        returns="CUresult",
        params=parse_params(row["args"]),
        arrays=row.get("arrays", {}),
        extra={k: row[k] for k in ("reads", "writes", "host", "device", "family", "frees", "size") if k in row},
        by_hand=row.get("by_hand", False),
        types=types,
        also=tuple(name + n if n in PER_THREAD else n for n in row.get("also", ())),
        own_fields=fields,
        before=row.get("before", False),
        after=row.get("after", False),
        always=row.get("always", False),
    )


def load_cuda(events: dict[str, Any], cuda: dict[str, Any]) -> list[CudaCall]:
    """All entries, wrapped ones first."""
    types = Types.load(cuda)
    calls = [load_call(row, types) for row in cuda["call"]]
    for call in calls:
        assert len(call.fields) <= WORDS, call
        assert call.verb in events["does"], call
    skipped = [(name, why) for why, names in cuda["skip"].items() for name in names]
    return calls + [CudaCall(api="cuda", name=name, does="", skip=why, types=types) for name, why in skipped]


def asked(cuda: dict[str, Any]) -> list[CudaCall]:
    """Entries that the recorder calls for itself without wrapping them."""
    types = Types.load(cuda)
    rows = [{"does": "query", **row} for row in cuda["ask"]]
    return [load_call(row, types) for row in rows]
