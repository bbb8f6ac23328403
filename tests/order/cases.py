"""The planted ordering bugs: what is wrong in each, by which rule, where it must be told, and what repairs it.

`command` runs a case; with `twin` for `bug` it runs the same program with the repair. A site is a call and which of the
calls of that name it is in the trace, counted from 1; 0 stands for any of them, where threads come in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# ---- the detectors that are judged by this table ----

UNORDERED = "unordered-access"
FREED = "freed-while-in-use"
EARLY = "use-before-allocation"
HOST = "host-memory-changed-under-copy"
UNRECORDED = "wait-for-unrecorded-event"
STALE_GRAPH = "graph-replay-stale"
THREADS = "queue-driven-by-threads"
JUDGED = (UNORDERED, FREED, EARLY, HOST, UNRECORDED, "wait-for-replaced-event", STALE_GRAPH, THREADS)

# ---- the rules: pages of the CUDA driver API reference, sections of the OpenCL 3.0 API specification ----

STREAMS = 'CUDA driver API, "Stream synchronization behavior"'
HOST_SYNC = 'CUDA driver API, "API synchronization behavior"'
RECORD = "CUDA driver API, cuEventRecord: an event captures what its stream had at the time of the call"
WAIT = "CUDA driver API, cuStreamWaitEvent: waits for what the event captured last; an event never recorded is no wait"
QUERY = "CUDA driver API, cuEventQuery: CUDA_ERROR_NOT_READY means that the captured work is not complete"
DESTROY = "CUDA driver API, cuStreamDestroy: returns at once while the stream still has work"
ALLOCATOR = (
    'CUDA driver API, "Stream Ordered Memory Allocator": uses must be ordered after the allocation, before the free'
)
FREE = "CUDA driver API, cuMemFree: no implicit synchronization for memory of cuMemAllocAsync"
FREE_HOST = (
    "CUDA driver API, cuMemFreeHost promises no wait; an asynchronous copy has its host memory until it is complete"
)
GRAPH = "CUDA driver API, cuGraphLaunch: ordered after earlier work of its stream and earlier launches of the same executable"
GRAPH_VALUES = "CUDA driver API, cuGraphAddKernelNode: argument values are copied into the node when it is made"
HOST_FUNCTION = "CUDA driver API, cuLaunchHostFunc: called after earlier work of its own stream"
SUBMISSION = "CUDA driver API, stream order is the order of submission, which two threads leave open"

SHARED = (
    'OpenCL 3.0, appendix A, "Shared OpenCL Objects": commands of several queues are ordered by events or the host only'
)
LOOSE = 'OpenCL 3.0, "Out-of-order Execution of Kernels and Memory Object Commands"'
MARKERS = 'OpenCL 3.0, "Markers, Barriers and Waiting for Events"'
FLUSH = 'OpenCL 3.0, "Flush and Finish": after clFlush commands need not be complete'
EVENTS = 'OpenCL 3.0, "Event Objects": clGetEventInfo is no synchronization point'
COPIES = 'OpenCL 3.0, "Reading, Writing and Copying Buffer Objects": host memory of a non-blocking copy is free when its event is'
MAPPED = (
    'OpenCL 3.0, "Mapping Buffer Objects" and "Unmapping Mapped Memory Objects": mapped content is defined after the map, \
and before the unmap is enqueued'
)
PARTS = 'OpenCL 3.0, "Creating Buffer Objects": concurrent use of overlapping sub-buffers, or of one and its parent, is undefined'
HOST_THREADS = 'OpenCL 3.0, appendix A, "Multiple Host Threads"'

# ---- sizes of the buffers in programs/planted_*.h, all different ----

X = 16384
Y, Z, W, ONES, IN, BACK, M = (X + 1024 * i for i in range(1, 8))
HALF = X // 2
LONG = 32 << 20

Site = tuple[str, int]


@dataclass(frozen=True)
class Case:
    """One bug. Any of `detectors` may tell it; `sizes` are the sizes that the buffer it names may have."""

    program: str
    mode: str
    detectors: tuple[str, ...]
    sites: tuple[Site, ...]
    sizes: tuple[int, ...]
    repair: str
    rule: str

    @property
    def name(self) -> str:
        return f"{self.program}-{self.mode}"

    @property
    def api(self) -> str:
        return self.program.partition("_")[0]

    @property
    def command(self) -> tuple[str, str, str]:
        return self.program, self.mode, "bug"


def _cases(
    program: str, *rows: tuple[str, str | tuple[str, ...], Sequence[Site], int | tuple[int, ...], str, str]
) -> list[Case]:
    """Cases of one program: mode, detectors, sites, sizes, repair, rule."""
    return [
        Case(
            program,
            mode,
            (ids,) if isinstance(ids, str) else ids,
            tuple(sites),
            (sizes,) if isinstance(sizes, int) else sizes,
            repair,
            rule,
        )
        for mode, ids, sites, sizes, repair, rule in rows
    ]


def _site(call: str) -> Site:
    """ "cuLaunchKernel 2" -> ("cuLaunchKernel", 2); the first, if no number is given."""
    name, _, nth = call.partition(" ")
    return name, int(nth or 1)


def _at(*calls: str) -> list[Site]:
    return [_site(call) for call in calls]


UP, DOWN, ADD = "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel"
WRITE, READ, KERNEL, FILL, COPY = (
    "clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueNDRangeKernel", "clEnqueueFillBuffer", "clEnqueueCopyBuffer",
)  # fmt: skip
A_TO_B = "cuEventRecord(done, a); cuStreamWaitEvent(b, done, 0);"
B_TO_A = "cuEventRecord(done, b); cuStreamWaitEvent(a, done, 0);"
IN_ITS_LIST = "the event of the first command in the wait list of the second"

STREAM_CASES = _cases(
    "cuda_streams",
    ("no-event", UNORDERED, _at(UP, ADD), X, A_TO_B, STREAMS),
    ("event-too-early", UNORDERED, _at(UP, ADD), X, "cuEventRecord(done, a); after the copy", RECORD),
    ("wait-on-wrong-stream", UNORDERED, _at(UP, ADD), X, "cuStreamWaitEvent(b, done, 0);", WAIT),
    ("other-event", UNORDERED, _at(UP, ADD), X, "cuStreamWaitEvent(b, done, 0);", WAIT),
    ("recorded-after-wait", (UNRECORDED, UNORDERED), _at("cuStreamWaitEvent", "cuEventRecord"), X,
     "cuEventRecord(done, a); before the wait", WAIT),
    ("stale-event", (UNORDERED, "wait-for-replaced-event"), _at(f"{UP} 2", f"{ADD} 2"), X,
     "cuEventRecord(done, a); after the second copy", RECORD),
    ("default-stream", UNORDERED, _at(UP, ADD), X, "cuStreamCreate(&queue, 0);", STREAMS),
    ("default-stream-reads", UNORDERED, _at(ADD, DOWN), Y, "cuStreamCreate(&queue, 0);", STREAMS),
    ("per-thread-stream", UNORDERED, _at(UP, ADD), X, "the launch in the legacy default stream", STREAMS),
    ("memset-async", UNORDERED, _at("cuMemsetD8Async", ADD), X, A_TO_B, STREAMS),
    ("memset-sync", UNORDERED, _at("cuMemsetD8_v2", ADD), X, "cuStreamSynchronize(NULL);", HOST_SYNC),
    ("copy-sync", UNORDERED, _at("cuMemcpyDtoD_v2", ADD), X, "cuCtxSynchronize();", HOST_SYNC),
    ("write-after-read", UNORDERED, _at(ADD, UP), X, B_TO_A, STREAMS),
    ("write-write", UNORDERED, _at(f"{ADD} 1", f"{ADD} 2"), X, A_TO_B, STREAMS),
    ("result-copy", UNORDERED, _at(ADD, DOWN), Y, A_TO_B, STREAMS),
    ("download-sync", UNORDERED, _at(ADD, "cuMemcpyDtoH_v2"), Y, "cuStreamSynchronize(a);", STREAMS),
    ("broken-chain", UNORDERED, _at(UP, ADD), X, A_TO_B, STREAMS),
    ("through-default-stream", UNORDERED, _at(UP, ADD), X, "the fill in the legacy default stream", STREAMS),
    ("recycled-stream", UNORDERED, _at(UP, ADD), X, "cuStreamSynchronize(queue);", DESTROY),
    ("half-join", UNORDERED, _at(f"{ADD} 2", f"{ADD} 3"), Z, "cuEventRecord(other, c); cuStreamWaitEvent(a, other, 0);", STREAMS),
    ("sync-of-wrong-stream", UNORDERED, _at(UP, ADD), X, "cuStreamSynchronize(a);", STREAMS),
    ("query-ignored", UNORDERED, _at(UP, ADD), X, "while (cuEventQuery(done) == CUDA_ERROR_NOT_READY);", QUERY),
    ("halves", UNORDERED, _at(f"{UP} 1", f"{UP} 2"), X, "cuMemcpyHtoDAsync(x, in, HALF, a);", STREAMS),
)  # fmt: skip

MEMORY_CASES = _cases(
    "cuda_memory",
    ("free-on-other-stream", FREED, _at(f"{ADD} 2", "cuMemFreeAsync"), M, B_TO_A, ALLOCATOR),
    ("use-before-allocation", (EARLY, UNORDERED), _at("cuMemAllocAsync", ADD), M, A_TO_B, ALLOCATOR),
    ("plain-free", FREED, _at(ADD, "cuMemFree_v2"), M, "cuStreamSynchronize(a);", FREE),
    ("pinned-rewritten", (HOST, UNORDERED), _at(UP, DOWN), IN, A_TO_B, HOST_SYNC),
    ("pinned-read-early", (HOST, UNORDERED), _at(DOWN, UP), BACK, "cuStreamSynchronize(a);", HOST_SYNC),
    ("pinned-written-twice", (HOST, UNORDERED), _at(f"{DOWN} 1", f"{DOWN} 2"), BACK, A_TO_B, HOST_SYNC),
    ("pinned-source-freed", (HOST, FREED), _at(UP, "cuMemFreeHost"), M, "cuStreamSynchronize(a);", FREE_HOST),
    ("pinned-target-freed", (HOST, FREED), _at(DOWN, "cuMemFreeHost"), M, "cuStreamSynchronize(a);", FREE_HOST),
)  # fmt: skip

GRAPH_CASES = _cases(
    "cuda_graphs",
    ("output-read", UNORDERED, _at("cuGraphLaunch", DOWN), Y, A_TO_B, GRAPH),
    ("input-overwritten", UNORDERED, _at("cuGraphLaunch", UP), X, A_TO_B, GRAPH),
    ("input-not-ready", UNORDERED, _at(UP, "cuGraphLaunch"), X, B_TO_A, GRAPH),
    ("two-executables", UNORDERED, _at("cuGraphLaunch 1", "cuGraphLaunch 2"), Y, "cuGraphLaunch(first, b);", GRAPH),
    ("stale-graph", (STALE_GRAPH, "graph-holds-dead-pointer"), _at("cuGraphLaunch 2", "cuMemFree_v2"), M,
     "capture and instantiate again after cuMemFree", GRAPH_VALUES),
)  # fmt: skip

THREAD_CASES = _cases(
    "cuda_threads",
    ("two-threads", UNORDERED, _at(UP, ADD), X, A_TO_B, STREAMS),
    ("per-thread-streams", UNORDERED, _at(UP, ADD), X, "cuStreamSynchronize(CU_STREAM_PER_THREAD); in the first thread", STREAMS),
    ("host-function", UNORDERED, _at(UP, ADD), X, "cuLaunchHostFunc(a, tell, &reached);", HOST_FUNCTION),
    ("one-stream", THREADS, _at("cuMemsetD8Async 0", f"{ADD} 0"), LONG, "order the threads on the host", SUBMISSION),
)  # fmt: skip

QUEUE_CASES = _cases(
    "opencl_queues",
    ("two-queues", UNORDERED, _at(WRITE, KERNEL), X, IN_ITS_LIST, SHARED),
    ("out-of-order", UNORDERED, _at(FILL, KERNEL), X, IN_ITS_LIST, LOOSE),
    ("wrong-event", UNORDERED, _at(WRITE, KERNEL), X, IN_ITS_LIST, SHARED),
    ("half-wait-list", UNORDERED, _at(f"{FILL} 2", KERNEL), Z, "both events in the wait list of the launch", LOOSE),
    ("no-barrier", UNORDERED, _at(f"{KERNEL} 1", f"{KERNEL} 2"), X, "clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL);", LOOSE),
    ("marker-for-barrier", UNORDERED, _at(f"{KERNEL} 1", f"{KERNEL} 2"), X,
     "clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL);", MARKERS),
    ("barrier-of-other-queue", UNORDERED, _at(f"{KERNEL} 1", f"{KERNEL} 2"), X,
     "clEnqueueBarrierWithWaitList(b, 1, &computed, NULL);", MARKERS),
    ("flush-for-finish", UNORDERED, _at(f"{KERNEL} 1", f"{KERNEL} 2"), X, "clFinish(a);", FLUSH),
    ("write-after-read", UNORDERED, _at(KERNEL, WRITE), X, IN_ITS_LIST, SHARED),
    ("copy-then-read", UNORDERED, _at(COPY, READ), Y, IN_ITS_LIST, SHARED),
    ("blocking-read", UNORDERED, _at(WRITE, KERNEL), X, "the write and the read in an in-order queue", LOOSE),
    ("fill-against-kernel", UNORDERED, _at(FILL, KERNEL), X, IN_ITS_LIST, SHARED),
    ("user-event", UNORDERED, _at(f"{KERNEL} 1", f"{KERNEL} 2"), X, "clWaitForEvents(1, &computed);", SHARED),
    ("status-not-checked", UNORDERED, _at(f"{KERNEL} 1", f"{KERNEL} 2"), X, "clWaitForEvents(1, &computed);", EVENTS),
)  # fmt: skip

# Host memory that no call made has no size to tell.
HOST_CASES = _cases(
    "opencl_memory",
    ("map-while-written", UNORDERED, _at(KERNEL, "clEnqueueMapBuffer"), Y, IN_ITS_LIST, MAPPED),
    ("unmap-not-awaited", UNORDERED, _at("clEnqueueUnmapMemObject", KERNEL), X, IN_ITS_LIST, MAPPED),
    ("parts-overlap", UNORDERED, _at(f"{KERNEL} 1", f"{KERNEL} 2"), (X, HALF), "a part that begins where the other ends", PARTS),
    ("part-and-whole", UNORDERED, _at(KERNEL, COPY), (X, HALF), "a copy of the other half", PARTS),
    ("read-then-write", (HOST, UNORDERED), _at(READ, WRITE), (), IN_ITS_LIST, COPIES),
    ("source-rewritten", (HOST, UNORDERED), _at(WRITE, READ), (), IN_ITS_LIST, COPIES),
    ("two-reads-one-place", (HOST, UNORDERED), _at(f"{READ} 1", f"{READ} 2"), (), IN_ITS_LIST, COPIES),
    ("stack-gone", HOST, _at(WRITE), (), "clFinish(a); before the function returns", COPIES),
    ("one-queue", THREADS, _at(f"{WRITE} 0", f"{COPY} 0"), LONG, "order the threads on the host", HOST_THREADS),
)  # fmt: skip

CASES = [*STREAM_CASES, *MEMORY_CASES, *GRAPH_CASES, *THREAD_CASES, *QUEUE_CASES, *HOST_CASES]

# ---- correct programs of ordinary life: no finding at all that matters ----

CORRECT = [
    *(
        ("cuda_correct", mode)
        for mode in (
            "pipeline fork-join short-events short-streams short-memory readers allocator graph captured-fork default-streams pool "
            "thread-defaults host-waits"
        ).split()
    ),
    *(
        ("opencl_correct", mode)
        for mode in (
            "pipeline graph fork-join later-event released-early maps halves one-place start-signal marker-joins "
            "callback callback-wakes-host"
        ).split()
    ),
]
