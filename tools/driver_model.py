"""schema/cuda.toml and schema/hip.toml as objects: what each wrapped entry records, and under which names the driver
exports it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schema_model import WORDS, Call, Param

LAUNCH_FIELDS = (
    ("queue", "handle:queue"),
    ("kernel", "handle:kernel"),
    *((name, "number") for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes")),
)
# Recorded only when they fail: a program may make millions of them between two launches, and what they would say
# about the current context stands in every other record.
ONLY_FAILURES = ("query", "poll", "switch", "last_error")


@dataclass(frozen=True)
class DriverParam(Param):
    """One C parameter and how it is recorded: "" (its value), "address" (of device memory), "out" or "omit"."""

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
class Api:
    """The table [api] of a schema file: how an API spells what all of them have."""

    name: str
    short: str  # what our own names of it begin with: gdx_cu_begin, cu_abi.h
    result: str  # the type of statuses
    success: str
    not_ready: str
    queue: str
    own_queue: str  # the handle of a thread's own default queue
    start: str  # the entry that comes before there is a context
    addresses: tuple[str, ...]  # types that are addresses of device memory
    signed: tuple[str, ...]  # types whose values have a sign
    per_thread: tuple[str, ...]  # endings of entries that use the thread's own default queue
    default_queue: tuple[str, ...]  # endings of those that are given no queue
    words: dict[str, str]  # types that a function of ours turns into a word
    watched: bool
    globals_watched: bool  # does the driver refuse to copy from a variable that went with its module?
    sites: bool  # experiments at named calls
    crumbs: bool = False  # numbers that the device writes behind work

    @classmethod
    def load(cls, row: dict[str, Any]) -> Api:
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}
        return cls(**values)


@dataclass(frozen=True)
class Types:
    """The type tables of a schema file."""

    api: Api
    handles: dict[str, str]
    scalars: dict[str, str]
    enums: tuple[str, ...]
    callbacks: tuple[str, ...]
    structures: tuple[str, ...]
    opaque: dict[str, int]
    since: dict[str, int]  # the size in a later version of the driver, which gdx_SHORT_is_later tells

    @classmethod
    def load(cls, schema: dict[str, Any]) -> Types:
        types = schema["types"]
        return cls(
            api=Api.load(schema["api"]),
            handles=schema["handles"],
            scalars=schema["scalars"],
            enums=tuple(types["enums"]),
            callbacks=tuple(types["callbacks"]),
            structures=tuple(types["structures"]),
            opaque=schema["opaque"],
            since=next((sizes for name, sizes in schema.items() if name.startswith("opaque_since_")), {}),
        )

    def kind(self, base: str, depth: int) -> str:
        """What a recorded word of this type is: handle:KIND, address, pointer, signed or number."""
        if depth == 0 and base in self.handles:
            return "handle:" + self.handles[base]
        if depth == 0 and base in self.api.addresses:
            return "address"
        if depth or base in self.callbacks:
            return "pointer"
        return "signed" if base in self.api.signed and base not in self.handles else "number"

    def wide(self, base: str) -> bool:
        """Is a value of this type a pointer in C?"""
        pointers = (*self.callbacks, *self.handles, *self.api.addresses)
        return base in pointers and base not in self.scalars


@dataclass(frozen=True)
class DriverCall(Call):
    """One entry of a driver's API."""

    types: Types | None = None
    also: tuple[str, ...] = ()
    own_fields: tuple[tuple[str, str], ...] = ()
    before: bool = False
    after: bool = False
    exchanges: str = ""  # the parameter whose code may be exchanged for code that checks itself
    hot: bool = False  # a launch that programs make so often that its wrapper lies with others of its kind

    @property
    def driver(self) -> Api:
        assert self.types
        return self.types.api

    @property
    def names(self) -> tuple[str, ...]:
        """All exported names of this entry."""
        return (self.name, *self.also)

    @property
    def in_ledger(self) -> bool:
        return super().in_ledger or self.verb == "begin_capture"

    @property
    def only_failures(self) -> bool:
        return self.verb in ONLY_FAILURES

    @property
    def shaped_launch(self) -> bool:
        """Is it given the kernel's shape, stream and arguments directly?"""
        names = {p.name for p in self.params}
        return self.verb == "launch" and {"kernel", "shared_bytes", "queue", "params"} <= names

    @property
    def default_queue(self) -> bool:
        """Work without a queue parameter, or two kinds of the entry: the record says which default queue was used."""
        given = any(p.name == "queue" for p in self.params)
        both = any(n.endswith(self.driver.default_queue) for n in self.also)
        return not given and (both or self.verb in ("copy", "fill"))

    @property
    def uses_context(self) -> bool:
        """Is the call made in the thread's current context? (Entries that run before there is one are not asked.)"""
        return not (
            self.only_failures or self.name == self.driver.start or self.object in ("context", "primary_context")
        )

    def recorded(self, param: Param) -> bool:
        assert isinstance(param, DriverParam)
        if param.how == "omit" or param.name in self.arrays:
            return False
        return param.how == "out" or not (self.verb == "query" and param.pointer)

    def word_kind(self, param: DriverParam) -> str:
        assert self.types
        if param.how == "address":
            return "address"
        depth = param.depth - 1 if param.how == "out" else param.depth
        of_memory = self.object == "memory" and param.name in ("result", "mem")
        return "handle:mem" if of_memory else self.types.kind(param.base, depth)

    @property
    def fields(self) -> list[tuple[str, str]]:
        if self.own_fields:
            return list(self.own_fields)
        if self.verb == "launch":
            return list(LAUNCH_FIELDS)
        rows = [(p.name, self.word_kind(p)) for p in self.params if self.recorded(p) and isinstance(p, DriverParam)]
        return [*rows, ("queue", "handle:queue")] if self.default_queue else rows

    def array_kind(self, name: str) -> str:
        assert self.types
        param = next(p for p in self.params if p.name == name)
        assert isinstance(param, DriverParam)
        if self.arrays[name] == "text":
            return "text"
        kind = self.types.kind(param.base, param.depth - 1)
        whole = (
            param.base in ("size_t", "cuuint64_t", *self.driver.addresses)
            or kind.startswith("handle:")
            or param.depth == 2
        )
        return kind if whole else "bytes"


def parse_params(text: str) -> tuple[DriverParam, ...]:
    params = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"(?:(out|omit|address) )?(.*?)\s*(\**)\s*(\w+)", part)
        assert match, part
        params.append(DriverParam(f"{match[2]} {match[3]}" if match[3] else match[2], match[4], match[1] or ""))
    return tuple(params)


def load_call(row: dict[str, Any], types: Types) -> DriverCall:
    name = row["name"]
    fields = tuple((f.partition(":")[0], f.partition(":")[2]) for f in row.get("fields", ()))
    return DriverCall(
        api=types.api.name,
        name=name,
        does=row["does"],
        returns=row.get("returns", types.api.result),
        params=parse_params(row["args"]),
        arrays=row.get("arrays", {}),
        extra={k: row[k] for k in ("reads", "writes", "host", "device", "family", "frees", "size") if k in row},
        by_hand=row.get("by_hand", False),
        types=types,
        also=tuple(name + n if n in types.api.per_thread else n for n in row.get("also", ())),
        own_fields=fields,
        before=row.get("before", False),
        after=row.get("after", False),
        exchanges=row.get("exchanges", ""),
        hot=row.get("hot", False),
    )


def load_driver(events: dict[str, Any], schema: dict[str, Any]) -> list[DriverCall]:
    """All entries, wrapped ones first."""
    types = Types.load(schema)
    calls = [load_call(row, types) for row in schema["call"]]
    for call in calls:
        assert len(call.fields) <= WORDS, call
        assert call.verb in events["does"], call
    skipped = [(name, why) for why, names in schema["skip"].items() for name in names]
    return calls + [DriverCall(api=types.api.name, name=name, does="", skip=why, types=types) for name, why in skipped]


def asked(schema: dict[str, Any]) -> list[DriverCall]:
    """Entries that the recorder calls for itself without wrapping them."""
    types = Types.load(schema)
    rows = [{"does": "query", **row} for row in schema["ask"]]
    return [load_call(row, types) for row in rows]


def calls_of(schema: dict[str, Any], calls: Sequence[Call]) -> list[DriverCall]:
    """Those of one API."""
    return [c for c in calls if isinstance(c, DriverCall) and c.api == schema["api"]["name"]]
