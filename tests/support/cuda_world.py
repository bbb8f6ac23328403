"""CUDA processes written by hand: the same file format, one device, context and module.

world = CudaWorld(schema)
memory = world.alloc(4096)
kernel = world.kernel("_Z5scalePfi", [8, 4])
world.launch(kernel, [memory, 1024])
world.call("cuCtxSynchronize", status=700)
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from gpudx.trace import TraceSchema
from support.synthetic import World

DEVICE = {
    "max_x": 1024, "max_y": 1024, "max_z": 64, "parameter_bytes": 4096, "max_grid_x": (1 << 31) - 1, "max_grid_y": 65535,
    "max_grid_z": 65535, "shared_per_block": 49152, "shared_per_block_optin": 232448, "registers_per_block": 65536,
    "warp_size": 32, "threads_per_unit": 2048, "blocks_per_unit": 32, "cooperative": 1, "clusters": 1,
    "pageable_access": 0,
}  # fmt: skip


class CudaWorld(World):
    """A process with one device, context, stream and module."""

    def __init__(self, schema: str, *, device: Mapping[str, int] | None = None) -> None:
        self.text = schema
        self.schema = TraceSchema.parse(schema.encode(), "schema")
        self._parts = self.schema.parts
        self._calls, self._stacks = [], 0
        self._now, self._next = 1000, 0x7F00_0000_0000
        self.header: dict[str, Any] = {}
        self._layouts: dict[int, Sequence[int]] = {}
        self.context = self.create("cuCtxCreate_v2", device=0)
        self.note("note_context", {"number": 0, "context": self.context, "device": 0})
        numbers = DEVICE | dict(device or {})
        names = self.schema.by_name("note_device")
        assert names is not None
        words = {"device": 0, "type": 4, "max_work_group_size": 1024, "max_compute_units": 10, "local_mem_size": 49152}
        self.note("note_device", words, "a device", "1.0", [numbers.get(n, 0) for n in names.numbers])
        self.queue = self.create("cuStreamCreate", flags=0)
        self.module = self.create("cuModuleLoadData")

    def alloc(self, size: int, *, at: int | None = None) -> int:
        self._next += 1 << 24
        return self.create("cuMemAlloc_v2", result=self._next if at is None else at, size=size)

    def free(self, memory: int) -> int:
        return self.call("cuMemFree_v2", mem=memory)

    def kernel(  # type: ignore[override]
        self, name: str, sizes: Sequence[int], *, threads: int = 1024, shared: int = 0, **numbers: int
    ) -> int:
        made = self.create("cuModuleGetFunction", program=self.module, texts={"name": name})
        note = self.schema.by_name("note_kernel")
        assert note is not None
        words = {
            "kernel": made, "program": self.module, "num_args": len(sizes), "max_work_group_size": threads,
            "local_mem_size": shared, "device": 0,
        }  # fmt: skip
        self.note("note_kernel", words, name, numbers=[numbers.get(n, 0) for n in note.numbers])
        layout, offset = [], 0
        for size in sizes:
            layout += [offset, size]
            offset += size
        self.note("note_kernel_params", {"kernel": made, "count": len(sizes), "bytes": offset}, numbers=layout)
        self._layouts[made] = sizes
        return made

    def packed(self, kernel: int, values: Sequence[int | bytes]) -> list[tuple[int, bytes]]:
        """The parts of a launch's blob, as the recorder orders them."""
        out, tail = b"", b""
        for index, (size, value) in enumerate(zip(self._layouts[kernel], values, strict=True)):
            data = value if isinstance(value, bytes) else (value & (1 << 64) - 1).to_bytes(8, "little")[:size]
            at = len(tail) if size > 8 else 0
            tail += data.ljust(-(-size // 8) * 8, b"\0") if size > 8 else b""
            first = int.from_bytes(data[:8], "little")
            out += struct.pack("<HHIQII", index, 1, size, first, at, 1)
        parts = [(self._parts["arguments"], out)] if out else []
        return parts + ([(self._parts["argument_tail"], tail)] if tail else [])

    def launch(  # type: ignore[override]
        self,
        kernel: int,
        values: Sequence[int | bytes],
        grid: Sequence[int] = (1, 1, 1),
        block: Sequence[int] = (32, 1, 1),
        *,
        shared: int = 0,
        queue: int | None = None,
        **more: Any,
    ) -> int:
        shape = {f"grid_{a}": g for a, g in zip("xyz", grid, strict=True)}
        shape |= {f"block_{a}": b for a, b in zip("xyz", block, strict=True)}
        where = self.queue if queue is None else queue
        parts = self.packed(kernel, values)
        return self.call(
            "cuLaunchKernel", queue=where, kernel=kernel, shared_bytes=shared, parts=parts, **shape, **more
        )

    def sync(self, **more: Any) -> int:
        return self.call("cuStreamSynchronize", queue=self.queue, **more)

    def graph(self, kernel: int, values: Sequence[int | bytes]) -> int:
        """An instantiated graph of one kernel."""
        graph = self.create("cuGraphCreate")
        made = self.create("cuGraphInstantiateWithFlags", graph=graph)
        node = {"graph_exec": made, "node": self.handle(), "kernel": kernel}
        node |= {f"{part}_{axis}": 1 for part in ("grid", "block") for axis in "xyz"}
        self.call("note_graph_kernel", parts=self.packed(kernel, values), **node)
        self.note("note_graph", {"graph_exec": made, "graph": graph, "nodes": 1, "described": 1})
        return made
