"""Two operations on one buffer without an order: loud, and silent in the correct twins. Processes are written by hand."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World
from support.typed import access, label, pair

from gpudx.model import Finding

ID = "unordered-access"
SCALE, COPY = "_Z5scalePfi", "_Z4copyPfPKfi"
PINNED = 0x7000_0000_0000
SIZE = 4096
CONST = 1


class Cuda(CudaWorld):
    """Two streams that do not block, one that does, and pinned memory."""

    def __init__(self, schema: str) -> None:
        super().__init__(schema)
        self.a, self.b = (self.create("cuStreamCreate", flags=1) for _ in range(2))
        self.c = self.create("cuStreamCreate", flags=0)
        self.create("cuMemAllocHost_v2", result=PINNED, size=1 << 20)
        self.downs = 0
        self.scale, self.copy = self.kernel(SCALE, [8, 4]), self.kernel(COPY, [8, 8, 4])

    def up(self, dst: int, queue: int, size: int = SIZE) -> int:
        return self.call("cuMemcpyHtoDAsync_v2", dst=dst, src=PINNED, size=size, queue=queue)

    def down(self, src: int, queue: int, size: int = SIZE, dst: int = 0) -> int:
        """To a place of its own, if none is given."""
        self.downs += 1
        target = dst or PINNED + (self.downs << 14)
        return self.call("cuMemcpyDtoHAsync_v2", dst=target, src=src, size=size, queue=queue)

    def run(self, memory: int, queue: int, number: int = 1024, **more: Any) -> int:
        return self.launch(self.scale, [memory, number], queue=queue, **more)

    def edge(self, first: int, second: int) -> None:
        event = self.create("cuEventCreate", flags=2)
        self.call("cuEventRecord", event=event, queue=first)
        self.call("cuStreamWaitEvent", queue=second, event=event)


@pytest.fixture
def cuda(schema: str) -> Cuda:
    return Cuda(schema)


def told(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == ID]


def only(found: list[Finding]) -> Finding:
    (one,) = told(found)
    return one


@pytest.mark.parametrize("edge", [False, True])
def test_copy_and_kernel(cuda: Cuda, look: Look, edge: bool) -> None:
    memory = cuda.alloc(SIZE)
    first = cuda.up(memory, cuda.a)
    if edge:
        cuda.edge(cuda.a, cuda.b)
    second = cuda.run(memory, cuda.b)
    found = told(look(cuda))
    if edge:
        assert not found
        return
    (one,) = found
    assert one.severity == "error" and label(one) == "memory #2" and access(one).width == SIZE
    assert (
        one.site is not None and one.site.number == second + 1 and one.site.kernel == "scale" and one.site.argument == 0
    )
    assert [s.number for s in one.others] == [first + 1]
    assert "queue #3 uses memory #2 while cuMemcpyHtoDAsync_v2" in one.message and one.message.endswith("nothing makes it wait.")
    assert one.steps[0] == f"Call {pair(one).missing}."
    assert "cudaEventRecord(e, queue #2) after" in pair(one).missing
    assert [e.calls for e in one.evidence] == [(first + 1, second + 1), (first + 1,), (second + 1,)]


@pytest.mark.parametrize("blocking", [False, True])
def test_default_stream_is_named(cuda: Cuda, look: Look, blocking: bool) -> None:
    memory = cuda.alloc(SIZE)
    cuda.call("cuMemsetD8_v2", dst=memory, count=SIZE)
    cuda.run(memory, cuda.c if blocking else cuda.a)
    found = told(look(cuda))
    assert bool(found) is not blocking
    if found:
        assert found[0].severity == "error" and "does not synchronize with the default queue" in found[0].message
        assert found[0].evidence[0].text.endswith("cuMemsetD8_v2 returns before the device has done it")


def test_repeats_are_counted(cuda: Cuda, look: Look) -> None:
    memory = cuda.alloc(SIZE)
    for _ in range(5):
        cuda.up(memory, cuda.a)
        cuda.run(memory, cuda.b)
    assert only(look(cuda)).count == 9, "each copy with the launch before and after it"


def test_what_a_kernel_alone_has_written_is_read(cuda: Cuda, look: Look) -> None:
    memory = cuda.alloc(SIZE)
    cuda.run(memory, cuda.a)
    cuda.down(memory, cuda.b)
    one = only(look(cuda))
    assert one.severity == "error" and "may still be writing it" in one.message


def test_kernel_that_may_only_read_is_a_warning(cuda: Cuda, look: Look) -> None:
    memory = cuda.alloc(SIZE)
    cuda.up(memory, cuda.b)
    cuda.edge(cuda.b, cuda.a)
    cuda.run(memory, cuda.a)
    cuda.down(memory, cuda.b)
    one = only(look(cuda))
    assert one.severity == "warning" and any("not known whether the kernel writes this memory" in e.text for e in one.evidence)


def test_reads_do_not_conflict(cuda: Cuda, look: Look) -> None:
    memory, out = cuda.alloc(SIZE), [cuda.alloc(SIZE), cuda.alloc(SIZE)]
    cuda.up(memory, cuda.a)
    cuda.call("cuCtxSynchronize")
    for queue, target in zip((cuda.a, cuda.b), out, strict=True):
        cuda.launch(cuda.copy, [target, memory, 8], queue=queue)
        cuda.down(memory, queue)
    assert not told(look(cuda))


@pytest.mark.parametrize(("offset", "loud"), [(0, True), (SIZE // 2, False), (SIZE // 2 - 1, True)])
def test_copies_by_their_bytes(cuda: Cuda, look: Look, offset: int, loud: bool) -> None:
    memory = cuda.alloc(SIZE)
    cuda.up(memory, cuda.a, SIZE // 2)
    cuda.down(memory + offset, cuda.b, SIZE // 4)
    found = told(look(cuda))
    assert bool(found) is loud
    if loud:
        assert found[0].severity == "error" and access(found[0]).width == (SIZE // 4 if offset == 0 else 1)


@pytest.mark.parametrize(("column", "loud"), [(0, True), (64, False), (63, True)])
def test_columns_of_one_pitched_buffer(cuda: Cuda, look: Look, column: int, loud: bool) -> None:
    memory = cuda.alloc(SIZE)
    for at, queue in ((memory, cuda.a), (memory + column, cuda.b)):
        cuda.call("cuMemsetD2D8Async", dst=at, pitch=128, width=64, height=16, queue=queue)
    found = told(look(cuda))
    assert bool(found) is loud
    if loud:
        assert found[0].severity == "error"


def test_parts_of_a_pool_are_apart(cuda: Cuda, look: Look) -> None:
    pool = cuda.alloc(1 << 20)
    for n, queue in enumerate((cuda.a, cuda.b)):
        cuda.up(pool + n * SIZE, queue)
        cuda.run(pool + n * SIZE, queue)
        cuda.down(pool + n * SIZE, queue)
    assert not told(look(cuda))


def test_one_part_of_a_pool_is_a_warning(cuda: Cuda, look: Look) -> None:
    pool = cuda.alloc(1 << 20)
    cuda.up(pool + SIZE, cuda.a)
    cuda.run(pool + SIZE, cuda.b)
    assert only(look(cuda)).severity == "warning"


def test_buffer_split_between_streams_is_silent(cuda: Cuda, look: Look) -> None:
    """The usual overlap of copies and kernels: each stream has its part, and every kernel gets the first address."""
    memory, half = cuda.alloc(SIZE), SIZE // 2
    for n, queue in enumerate((cuda.a, cuda.b)):
        cuda.up(memory + n * half, queue, half)
    for n, queue in enumerate((cuda.a, cuda.b)):
        cuda.run(memory, queue, n * half)
    for n, queue in enumerate((cuda.a, cuda.b)):
        cuda.down(memory + n * half, queue, half)
    assert not told(look(cuda))


def test_two_halves_of_a_buffer_by_turns_are_silent(cuda: Cuda, look: Look) -> None:
    """Copies fill one half while the kernel, which gets the first address, works on the other."""
    memory, half = cuda.alloc(SIZE), SIZE // 2
    cuda.up(memory, cuda.a, half)
    for n in range(4):
        cuda.edge(cuda.a, cuda.b)
        cuda.run(memory, cuda.b, (n % 2) * half)
        cuda.up(memory + (n + 1) % 2 * half, cuda.a, half)
        cuda.edge(cuda.b, cuda.a)
    assert not told(look(cuda))


def test_inputs_that_are_not_const_are_silent(cuda: Cuda, look: Look) -> None:
    """One kernel in two streams, with its own output and the same weights, which it does not declare const."""
    kernel = cuda.kernel("_Z3mulPfS_i", [8, 8, 4])
    weights, out = cuda.alloc(SIZE), [cuda.alloc(SIZE), cuda.alloc(SIZE)]
    for queue, target in zip((cuda.a, cuda.b), out, strict=True):
        cuda.launch(kernel, [target, weights, 8], queue=queue)
    assert not told(look(cuda))


@pytest.mark.parametrize("edge", [False, True])
def test_two_kernels_are_a_warning(cuda: Cuda, look: Look, edge: bool) -> None:
    memory, out = cuda.alloc(SIZE), cuda.alloc(SIZE)
    cuda.run(memory, cuda.a)
    if edge:
        cuda.edge(cuda.a, cuda.b)
    cuda.launch(cuda.copy, [out, memory, 8], queue=cuda.b)
    found = told(look(cuda))
    assert [f.severity for f in found] == ([] if edge else ["warning"])


@pytest.mark.parametrize("edge", [False, True])
def test_graph_and_copy(cuda: Cuda, look: Look, edge: bool) -> None:
    memory = cuda.alloc(SIZE)
    graph = cuda.graph(cuda.scale, [memory, 8])
    cuda.call("cuGraphLaunch", graph_exec=graph, queue=cuda.a)
    if edge:
        cuda.edge(cuda.a, cuda.b)
    cuda.down(memory, cuda.b)
    found = told(look(cuda))
    assert bool(found) is not edge
    if found:
        assert found[0].severity == "error" and found[0].others[0].call == "cuGraphLaunch"
        assert any("kernel in the graph may write memory #2" in e.text for e in found[0].evidence)


@pytest.mark.parametrize("graphs", [1, 2])
def test_graphs_in_two_streams(cuda: Cuda, look: Look, graphs: int) -> None:
    """Launches of one instantiated graph wait for each other, those of two do not."""
    memory = cuda.alloc(SIZE)
    made = [cuda.graph(cuda.scale, [memory, 8]) for _ in range(graphs)]
    for graph, queue in zip((made[0], made[-1]), (cuda.a, cuda.b), strict=True):
        cuda.call("cuGraphLaunch", graph_exec=graph, queue=queue)
    assert [f.severity for f in told(look(cuda))] == ["warning"] * (graphs - 1)


@pytest.mark.parametrize("edge", [False, True])
def test_pinned_memory_between_copies(cuda: Cuda, look: Look, edge: bool) -> None:
    one, two = cuda.alloc(SIZE), cuda.alloc(SIZE)
    cuda.up(one, cuda.a)
    if edge:
        cuda.edge(cuda.a, cuda.b)
    cuda.down(two, cuda.b, dst=PINNED)
    assert [(f.severity, label(f)) for f in told(look(cuda))] == [("error", "memory #1")] * (not edge)


def test_pinned_memory_of_kernels_is_not_judged(cuda: Cuda, look: Look) -> None:
    cuda.run(PINNED, cuda.a)
    cuda.down(cuda.alloc(SIZE), cuda.b, dst=PINNED)
    assert not told(look(cuda))


@pytest.mark.parametrize("edge", [False, True])
def test_memory_is_used_before_it_is_there(cuda: Cuda, look: Look, edge: bool) -> None:
    memory = cuda.create("cuMemAllocAsync", result=0x7E0000000000, size=SIZE, queue=cuda.a)
    if edge:
        cuda.edge(cuda.a, cuda.b)
    cuda.run(memory, cuda.b)
    found = told(look(cuda))
    assert bool(found) is not edge
    if found:
        assert found[0].severity == "error" and "may still be making it" in found[0].message


def test_one_output_of_two_launches(cuda: Cuda, look: Look) -> None:
    """The only memory that the kernel may write is the same, whatever it reads."""
    out, inputs = cuda.alloc(SIZE), [cuda.alloc(SIZE), cuda.alloc(SIZE)]
    for queue, source in zip((cuda.a, cuda.b), inputs, strict=True):
        cuda.launch(cuda.copy, [out, source, 8], queue=queue)
    assert only(look(cuda)).severity == "warning"


# ---- OpenCL ----


class OpenCL:
    def __init__(self, world: World) -> None:
        self.world = world
        self.a, self.b = (world.create("clCreateCommandQueue", context=world.context) for _ in range(2))
        self.x = world.create("clCreateCommandQueue", context=world.context, properties=1)
        self.buffer = world.buffer(SIZE)
        self.kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL)])

    def fill(self, queue: int, *waits: int, offset: int = 0, size: int = SIZE, buffer: int = 0) -> int:
        event = self.world.handle()
        arrays = {"waits": struct.pack(f"<{len(waits)}Q", *waits)} if waits else {}
        fields = {"buffer": buffer or self.buffer, "offset": offset, "size": size, "event": event}
        self.world.call("clEnqueueFillBuffer", queue=queue, arrays=arrays, **fields)
        return event

    def run(self, queue: int, *waits: int, buffer: int = 0, kernel: int = 0) -> None:
        self.world.set_arg(kernel or self.kernel, 0, buffer or self.buffer)
        self.world.launch(kernel or self.kernel, (64,), fields={"queue": queue})
        if waits:
            self.world._calls[-1].parts.append((7, struct.pack(f"<{len(waits)}Q", *waits)))

    def part(self, offset: int, size: int) -> int:
        region = struct.pack("<2Q", offset, size)
        return self.world.create("clCreateSubBuffer", buffer=self.buffer, arrays={"create_info": region})


@pytest.fixture
def cl(world: Make) -> OpenCL:
    return OpenCL(world())


@pytest.mark.parametrize("edge", [False, True])
def test_fill_and_kernel_in_two_queues(cl: OpenCL, look: Look, edge: bool) -> None:
    event = cl.fill(cl.a)
    cl.run(cl.b, *([event] if edge else []))
    found = told(look(cl.world))
    assert bool(found) is not edge
    if found:
        assert found[0].severity == "error"
        assert "pass the event of clEnqueueFillBuffer" in pair(found[0]).missing


def test_arguments_that_another_thread_put_there_are_silent(cl: OpenCL, look: Look) -> None:
    """The launch runs with what is not its own: that is the fault, told by another detector."""
    cl.fill(cl.a)
    cl.world.set_arg(cl.kernel, 0, cl.buffer, tid=77)
    cl.world.launch(cl.kernel, (64,), fields={"queue": cl.b})
    assert told(look(cl.world)) == []


@pytest.mark.parametrize("edge", [False, True])
def test_out_of_order_queue(cl: OpenCL, look: Look, edge: bool) -> None:
    event = cl.fill(cl.x)
    cl.run(cl.x, *([event] if edge else []))
    found = told(look(cl.world))
    assert bool(found) is not edge
    if found:
        assert any("is out of order" in e.text for e in found[0].evidence)


@pytest.mark.parametrize(("second", "loud"), [(1024, False), (512, True)])
def test_sub_buffers_meet_by_their_bytes(cl: OpenCL, look: Look, second: int, loud: bool) -> None:
    other = cl.world.kernel("other", [Arg("float*", "data", GLOBAL)])
    cl.run(cl.a, buffer=cl.part(0, 1024))
    cl.run(cl.b, buffer=cl.part(second, 1024), kernel=other)
    assert [f.severity for f in told(look(cl.world))] == (["warning"] if loud else [])


def test_fills_of_sub_buffers(cl: OpenCL, look: Look) -> None:
    cl.fill(cl.a, buffer=cl.part(0, 1024), size=1024)
    cl.fill(cl.b, buffer=cl.part(1024, 1024), size=1024)
    assert not told(look(cl.world))
    cl.fill(cl.b, offset=1000, size=100)
    assert access(only(look(cl.world))).width == 24


@pytest.mark.parametrize(("flags", "loud"), [(1, False), (2, True), (4, True)])
def test_end_of_a_map_writes(cl: OpenCL, look: Look, flags: int, loud: bool) -> None:
    fields = {"buffer": cl.buffer, "size": SIZE, "flags": flags, "blocking": 1, "result": 0x9000}
    const = cl.world.kernel("sum", [Arg("float*", "data", GLOBAL, qualifiers=CONST)])
    cl.world.call("clEnqueueMapBuffer", queue=cl.a, **fields)
    cl.world.call("clEnqueueUnmapMemObject", queue=cl.a, mem=cl.buffer, mapped=0x9000)
    cl.run(cl.b, kernel=const)
    assert bool(told(look(cl.world))) is loud


@pytest.mark.parametrize("blocking", [False, True])
def test_a_copy_against_a_pointer_inside_a_structure_is_a_warning(cuda: Cuda, look: Look, blocking: bool) -> None:
    data, total = cuda.alloc(SIZE), cuda.alloc(4)
    kernel = cuda.kernel("_Z8total_of3Job", [24])
    cuda.launch(kernel, [struct.pack("<QQII", data, total, 1024, 0)], queue=cuda.c if blocking else cuda.a)
    cuda.call("cuMemcpyDtoH_v2", dst=0x5000, src=total, size=4)
    found = told(look(cuda))
    assert bool(found) is not blocking
    if found:
        assert len(found) == 1 and found[0].severity == "warning" and label(found[0]) == "memory #3"
        assert any("passed inside argument 0" in one.text for one in found[0].evidence) and pair(found[0]).edge


def test_kernels_that_share_members_of_structures_are_silent(cuda: Cuda, look: Look) -> None:
    data, total = cuda.alloc(SIZE), cuda.alloc(4)
    first, second = cuda.kernel("_Z8total_of3Job", [24]), cuda.kernel("_Z7advance3Job", [24])
    job = struct.pack("<QQII", data, total, 1024, 0)
    cuda.launch(first, [job], queue=cuda.a)
    cuda.launch(second, [job], queue=cuda.b)
    assert not told(look(cuda))
