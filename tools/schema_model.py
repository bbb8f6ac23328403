"""The API files of schema/ as objects: parameters, recorded fields and what goes where."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

WORDS = 9  # schema/events.toml says the same; load_calls checks it

HANDLES = {
    "cl_platform_id": "platform",
    "cl_device_id": "device",
    "cl_context": "context",
    "cl_command_queue": "queue",
    "cl_mem": "mem",
    "cl_program": "program",
    "cl_kernel": "kernel",
    "cl_event": "event",
    "cl_sampler": "sampler",
}
MEMORY = ("buffer", "subbuffer", "image", "svm", "memory", "array")
OBJECT_HANDLE = {"buffer": "mem", "subbuffer": "mem", "image": "mem", "pipe": "mem"}
# Parameters that carry no information of their own: counts are the lengths of their arrays, the rest are places
# for the driver to write to.
NOT_RECORDED = {"errcode", "user_data", "value_size", "num_waits", "old_properties", "binary_status", "args_mem_loc"}


@dataclass(frozen=True)
class Param:
    """One C parameter."""

    type: str
    name: str

    @property
    def pointer(self) -> bool:
        return self.type.endswith("*")

    @property
    def declaration(self) -> str:
        return f"{self.type}{'' if self.pointer else ' '}{self.name}"

    @property
    def kind(self) -> str:
        """What the recorded word is: handle:KIND, pointer, signed or number."""
        if self.type in HANDLES:
            return "handle:" + HANDLES[self.type]
        if self.pointer or self.type.endswith(("_callback", "_native_kernel")) or self.type.startswith("CLegl"):
            return "pointer"
        return "signed" if self.type in ("cl_int", "cl_GLint") else "number"


@dataclass(frozen=True)
class Call:
    """One entry of an API, or one note of the recorder."""

    api: str
    name: str
    does: str
    returns: str = "void"
    params: tuple[Param, ...] = ()
    arrays: dict[str, str] = field(default_factory=dict)
    note_fields: tuple[str, ...] = ()
    extra: dict[str, str] = field(default_factory=dict)
    by_hand: bool = False
    skip: str = ""
    through: str = ""
    in_ring: bool = False  # of a note

    @property
    def verb(self) -> str:
        return self.does.split()[0] if self.does else ""

    @property
    def object(self) -> str:
        return self.does.split()[1] if " " in self.does else ""

    @property
    def in_ledger(self) -> bool:
        """Objects and their deaths are never overwritten; events are too many and live in the ring."""
        if self.api == "note":
            return not self.in_ring
        return self.verb in ("create", "retain", "release", "free_later", "build") and self.object != "event"

    @property
    def hot(self) -> bool:
        """Is it called by the thousand by ordinary programs?"""
        return self.verb in ("launch", "set_arg", "wait", "flush")

    @property
    def has_errcode(self) -> bool:
        return any(p.name == "errcode" for p in self.params)

    @property
    def has_stack(self) -> bool:
        """Does --stacks record where it was called? So that a copy in a race or an allocation has its line; hooks written by hand do
        the same for launches."""
        made = self.verb == "create" and self.object in MEMORY
        return made or self.verb in ("copy", "fill", "map", "launch_graph", "build")

    @property
    def has_first_stack(self) -> bool:
        """Is it recorded where the first calls of its kind were made from? Not more than that of what ends and completes: it comes from
        destructors and callbacks, when Python's frames are no place to look at."""
        event = self.verb == "create" and self.object == "event"
        kept = self.verb in ("release", "retain") and self.object in ("mem", "kernel", "event", "memory")
        return event or kept or self.verb in ("signal", "unmap", "marker", "barrier", "wait")

    @property
    def returns_object(self) -> bool:
        return self.returns in HANDLES or self.returns == "void*"

    def recorded(self, param: Param) -> bool:
        if param.name in NOT_RECORDED or param.name in self.arrays:
            return False
        if self.verb == "query" and param.pointer:
            return False
        if param.pointer and param.name in (
            "row_pitch",
            "slice_pitch",
            "out_devices",
            "num_devices",
            "num_kernels_ret",
        ):
            return False
        return not (self.name == "clCreateKernelsInProgram" and param.name == "kernels")

    @property
    def fields(self) -> list[tuple[str, str]]:
        """(name, kind) of each recorded word, in word order."""
        if self.api == "note":
            return [(name, "number") for name in self.note_fields]
        if self.verb == "launch":
            rows = [("queue", "handle:queue"), ("kernel", "handle:kernel")]
            rows += [(n, "number") for n in ("global_x", "global_y", "global_z", "local_x", "local_y", "local_z")]
            return [*rows, ("event", "handle:event")]
        if self.verb == "set_arg":
            return [
                ("kernel", "handle:kernel"),
                ("index", "number"),
                ("size", "number"),
                ("pointer", "pointer"),
                ("value", "number"),
            ]
        rows = [(p.name, "handle:event" if self.is_out_event(p) else p.kind) for p in self.params if self.recorded(p)]
        if self.returns_object:
            kind = OBJECT_HANDLE.get(self.object, self.object)
            rows.append(("result", f"handle:{kind}" if self.returns in HANDLES else "pointer"))
        return [*rows, ("stack", "stack")] if self.notes_stack and len(rows) < WORDS else rows

    @property
    def notes_stack(self) -> bool:
        """Is the caller's stack pointer recorded? Of calls that may leave the driver with host memory, and of those that
        wait for it: what lies below a later call's frame had been given up by then. Never of launches."""
        return self.verb == "wait" or any(p.name == "blocking" for p in self.params)

    @staticmethod
    def is_out_event(param: Param) -> bool:
        return param.type == "cl_event *" or (param.type == "cl_event*" and param.name == "event")

    def as_json(self) -> dict[str, Any]:
        """What a reader of the trace needs to know of this call."""
        data: dict[str, Any] = {"name": self.name, "api": self.api, "does": self.verb}
        if self.object:
            data["object"] = self.object
        data["fields"] = [list(row) for row in self.fields] if not self.skip else []
        names = {p.name: i for i, p in enumerate(self.params)}
        if self.arrays:
            data["arrays"] = {name: [names[name], self.array_kind(name)] for name in self.arrays}
        if self.skip:
            data["skip"] = self.skip
        return data | self.extra

    def array_kind(self, name: str) -> str:
        """How a recorded array reads: text, or 64-bit words of some kind."""
        if self.arrays[name] == "text":
            return "text"
        param = next(p for p in self.params if p.name == name)
        base = param.type.replace("const", "").replace("*", "").strip()
        if base in HANDLES:
            return "handle:" + HANDLES[base]
        return (
            "bytes"
            if base in ("void", "cl_image_format", "cl_image_desc") and self.arrays[name] != "2 words"
            else "number"
        )


def parse_params(text: str) -> tuple[Param, ...]:
    params = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"(.*?)\s*(\**)\s*(\w+)", part)
        assert match, part
        params.append(Param(f"{match[1]} {match[2]}" if match[2] else match[1], match[3]))
    return tuple(params)


def load_call(row: dict[str, Any]) -> Call:
    extra: dict[str, str] = {k: row[k] for k in ("reads", "writes", "maps", "host") if k in row}
    return Call(
        api="opencl",
        name=row["name"],
        does=row.get("does", ""),
        returns=row.get("returns", "void"),
        params=parse_params(row.get("args", "")),
        arrays=row.get("arrays", {}),
        extra=extra,
        by_hand=row.get("by_hand", False),
        skip=row.get("skip", ""),
        through=row.get("through", ""),
    )


def load_note(row: dict[str, Any]) -> Call:
    extra = {"numbers": " ".join(row["numbers"])} if "numbers" in row else {}
    fields, in_ring = tuple(row["fields"]), row.get("in_ring", False)
    return Call(api="note", name="note_" + row["name"], does="", note_fields=fields, extra=extra, in_ring=in_ring)


def load_calls(events: dict[str, Any], opencl: dict[str, Any]) -> list[Call]:
    """All calls in the order of their numbers: number 0 is never written, notes first, then the APIs."""
    assert events["words"] == WORDS
    calls = [Call(api="note", name="note_nothing", does="")]
    calls += [load_note(row) for row in events["note"]]
    calls += [load_call(row) for row in opencl["call"]]
    for call in calls:
        assert len(call.fields) <= WORDS, call
        assert call.skip or call.api == "note" or call.verb in events["does"], call
    return calls
