"""Traces written by hand, for what no driver at hand shows: refusals of other devices, huge buffers, odd names.

    world = World(schema_text)
    buffer = world.buffer(4096)
    kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL), Arg("int", "n")])
    world.set_arg(kernel, 0, buffer)
    world.launch(kernel, (64,))
    trace = world.write(tmp_path / "1.gdx")

Every call takes 10 ticks and the next begins 10 ticks later, unless told otherwise.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpudx.facts.launches import OFFSET_PART
from gpudx.trace import Trace, TraceSchema, open_trace

GLOBAL, LOCAL, CONSTANT, PRIVATE = 1, 2, 3, 4
RING = 1


@dataclass(frozen=True)
class Arg:
    """A declared kernel argument."""

    type: str
    name: str
    space: int = PRIVATE
    access: int = 4
    qualifiers: int = 0


@dataclass
class _Call:
    name: str
    fields: dict[str, int]
    parts: list[tuple[int, bytes]]
    status: int
    tid: int
    begin: int
    end: int
    context: int = 0
    flags: int = 0
    caller: int = 0


@dataclass
class Held:
    """What a kernel object holds: the arguments of its next launch, as (index, flags, size, value, setter)."""

    arguments: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)


class World:
    """A process with one device, context, queue and program."""

    def __init__(
        self,
        schema: str,
        *,
        source: str = "",
        version: str = "OpenCL 1.2 test",
        limits: Mapping[str, int] | None = None,
        options: str = "",
    ) -> None:
        self.text = schema
        self.schema = TraceSchema.parse(schema.encode(), "schema")
        self._parts = self.schema.parts
        self._calls: list[_Call] = []
        self._stacks = 0  # of them
        self._now, self._next = 1000, 0x10000000
        self._held: dict[int, Held] = {}
        self.header: dict[str, int] = {}
        self.device = self.handle()
        self.limits = {"max_work_group_size": 1024, "local_mem_size": 49152, "max_item": 1024, **(limits or {})}
        self.context = self.create("clCreateContext")
        self._describe_device(version)
        self.queue = self.create("clCreateCommandQueue", context=self.context, device=self.device)
        self.build(source, options)

    def build(self, source: str, options: str = "") -> None:
        """The program of the kernels that are made from now on."""
        self.program = self.create("clCreateProgramWithSource", context=self.context)
        self.note("note_source", {"program": self.program}, text=source)
        self.call("clBuildProgram", texts={"options": options}, program=self.program)

    def handle(self) -> int:
        """A fresh address."""
        self._next += 0x1000
        return self._next

    # ---- records ----

    def call(
        self,
        name: str,
        *,
        status: int = 0,
        tid: int = 1,
        begin: int | None = None,
        ticks: int = 10,
        open_: bool = False,
        in_context: int = 0,
        caller: int = 0,
        texts: Mapping[str, str] | None = None,
        arrays: Mapping[str, bytes] | None = None,
        parts: Sequence[tuple[int, bytes]] = (),
        **fields: int,
    ) -> int:
        """One call; gives its position, counted from 0, if calls are written in order of their beginnings."""
        info = self.schema.by_name(name)
        assert info is not None, name
        content = {**{k: v.encode() for k, v in (texts or {}).items()}, **(arrays or {})}
        blobs = [*parts, *((info.arrays[k][0], v) for k, v in content.items())]
        start = self._now + 10 if begin is None else begin
        self._calls.append(_Call(name, fields, blobs, status, tid, start, 0 if open_ else start + ticks, in_context, 0, caller))
        self._now = max(self._now, start + ticks)
        self._stacks += name == "note_stack"
        return len(self._calls) - self._stacks - 1  # stacks lie behind all calls

    def note(
        self, name: str, fields: Mapping[str, Any], text: str = "", text2: str = "", numbers: Sequence[int] = ()
    ) -> None:
        data = np.array(numbers, "<u8").tobytes()
        named = (("text", text.encode("utf-8", "surrogateescape")), ("text2", text2.encode()), ("numbers", data))
        self.call(name, parts=[(self._parts[part], content) for part, content in named if content], **fields)

    def create(self, name: str, *, result: int | None = None, **fields: Any) -> int:
        made = self.handle() if result is None else result
        self.call(name, result=made, **fields)
        return made

    # ---- objects ----

    def _describe_device(self, version: str) -> None:
        words = {
            "device": self.device,
            "type": 4,
            "address_bits": 64,
            "max_work_group_size": self.limits["max_work_group_size"],
            "local_mem_size": self.limits["local_mem_size"],
        }
        self.note("note_device", words, "a device", f"1.0\n{version}", [self.limits["max_item"]] * 3)

    def buffer(self, size: int, **more: Any) -> int:
        return self.create("clCreateBuffer", context=self.context, flags=1, size=size, **more)

    def release(self, mem: int, **more: Any) -> int:
        return self.call("clReleaseMemObject", mem=mem, **more)

    def kernel(
        self, name: str, args: Sequence[Arg], *, most: int = 1024, local: int = 0, required: Sequence[int] = (0, 0, 0)
    ) -> int:
        made = self.create("clCreateKernel", program=self.program, texts={"kernel_name": name})
        words = {
            "kernel": made,
            "program": self.program,
            "num_args": len(args),
            "max_work_group_size": most,
            "local_mem_size": local,
            "device": self.device,
        }
        self.note("note_kernel", words, name, numbers=required)
        for index, arg in enumerate(args):
            described = {
                "kernel": made,
                "index": index,
                "address_space": arg.space,
                "access": arg.access,
                "qualifiers": arg.qualifiers,
            }
            self.note("note_kernel_arg", described, arg.type, arg.name)
        self._held[made] = Held()
        return made

    def set_arg(
        self, kernel: int, index: int, value: int, size: int = 8, *, local: bool = False, tid: int = 1, **more: Any
    ) -> int:
        flags = 3 if local else 1
        self._held[kernel].arguments[index] = (flags, size, value, tid)
        return self.call(
            "clSetKernelArg",
            kernel=kernel,
            index=index,
            size=size,
            pointer=0 if local else 0x7F0000000000,
            value=0 if local else value,
            tid=tid,
            **more,
        )

    def launch(
        self, kernel: int, sizes: Sequence[int], groups: Sequence[int] = (), *, offset: Sequence[int] = (), tid: int = 1, **more: Any
    ) -> int:
        held = self._held[kernel].arguments
        packed = b"".join(
            struct.pack("<HHIQII", index, *held.get(index, (0, 0, 0, 0))[:3], 0, held.get(index, (0, 0, 0, 0))[3])
            for index in range(max(held, default=-1) + 1)
        )
        names = ("global_x", "global_y", "global_z", "local_x", "local_y", "local_z")
        geometry = [*sizes, *[0] * (3 - len(sizes)), *groups, *[0] * (3 - len(groups))]
        parts = [(self._parts["arguments"], packed)] if packed else []
        parts += [(OFFSET_PART, struct.pack(f"<{len(offset)}Q", *offset))] if offset else []
        fields = {
            "queue": self.queue,
            "kernel": kernel,
            **dict(zip(names, geometry, strict=True)),
            **more.pop("fields", {}),
        }
        return self.call("clEnqueueNDRangeKernel", tid=tid, parts=parts, **fields, **more)

    # ---- the file ----

    def write(self, path: Path) -> Trace:
        """Writes the trace and opens it."""
        text = self.text.encode()
        first_unit = -(-(4096 + len(text)) // 4096) * 4096
        calls = [_encode(self.schema, call) for call in self._calls]
        units = _units(self.schema, calls, first_unit)
        path.write_bytes(
            self._header(text, first_unit).ljust(4096, b"\0") + text.ljust(first_unit - 4096, b"\0") + units
        )
        return open_trace(path)

    def _header(self, text: bytes, first_unit: int) -> bytes:
        header = np.zeros(1, self.schema.layouts["header"])
        values: dict[str, Any] = {
            "magic": b"gpudxtr1",
            "version": 1,
            "header_bytes": 4096,
            "schema_offset": 4096,
            "schema_bytes": len(text),
            "unit_bytes": self.schema.unit_bytes,
            "first_unit": first_unit,
            "pid": 100,
            "ppid": 1,
            "clock": 2,
            "ended": 1,
            "exe": b"/program",
            **self.header,
        }
        for name, value in values.items():
            header[name][0] = value
        return header.tobytes()


def _encode(schema: TraceSchema, call: _Call) -> tuple[np.ndarray[Any, Any], bytes]:
    """The slot of a call without its place, and its blob."""
    info = schema.by_name(call.name)
    assert info is not None
    slot = np.zeros(1, schema.layouts["slot"])
    slot["begin"], slot["end"], slot["status"], slot["call"], slot["tid"] = (
        call.begin,
        call.end,
        call.status,
        info.number,
        call.tid,
    )
    slot["context"], slot["flags"], slot["caller"] = call.context, call.flags, call.caller
    for name, value in call.fields.items():
        word = info.word(name)
        assert word is not None, f"{call.name} has no {name}"
        slot["w"][0][word] = value & (1 << 64) - 1
    blob = b"".join(struct.pack("<II", part, len(data)) + data + b"\0" * (-len(data) % 8) for part, data in call.parts)
    return slot, blob


def _units(schema: TraceSchema, calls: Sequence[tuple[np.ndarray[Any, Any], bytes]], first_unit: int) -> bytes:
    """Chunks: slots from the front, blobs from the back."""
    size, slot_size = schema.unit_bytes, schema.layouts["slot"].itemsize
    out, unit, at, top, seq = b"", bytearray(), 0, 0, 1
    for slot, blob in calls:
        if not unit or at + slot_size + len(blob) > top:
            out, unit, at, top = out + bytes(unit), _chunk(schema, seq), slot_size, size
        if blob:
            top -= len(blob)
            unit[top : top + len(blob)] = blob
            slot["blob"], slot["blob_bytes"] = (first_unit + len(out) + top) // 8, len(blob)
        slot["seq"] = seq
        unit[at : at + slot_size] = slot.tobytes()
        at, seq = at + slot_size, seq + 1
    return out + bytes(unit)


def _chunk(schema: TraceSchema, first_seq: int) -> bytearray:
    chunk = np.zeros(1, schema.layouts["chunk"])
    chunk["magic"], chunk["kind"], chunk["units"], chunk["first_seq"], chunk["lane"] = (
        schema.chunk_magic,
        RING,
        1,
        first_seq,
        1,
    )
    return bytearray(chunk.tobytes().ljust(schema.unit_bytes, b"\0"))
