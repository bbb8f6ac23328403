"""Failures told in words, by programs that nobody has listed: what they mean, and which lines are no failures. All examples are made up."""

from __future__ import annotations

import pytest

from gpudx.diagnose.logs import explain
from gpudx.evidence.logs._event import NOT_UNDERSTOOD
from gpudx.evidence.logs._fold import read_log

# Each line, the kind of its first event, and whether it only reports what earlier work did.
TOLD = {
    "renderd: not enough video memory for frame 81 on the GPU": ("memory-refused", False),
    "MemorySpace \"Cuda\": allocation of 4.1 G failed": ("memory-refused", False),
    "ERROR: an index error was thrown during kernel execution.": ("kernel-exception", True),
    "smi-tool: cannot query the device handle for GPU 0000:41:00.0": ("device-gone", True),
    "GPU 3 is unhealthy, it will not be scheduled": ("device-gone", True),
    "worker 2: GPU sync failed": ("wait-failed", True),
    "Error synchronizing CUDA context: invalid error code": ("wait-failed", True),
    "offload runtime: image for gfx90a is not compatible with device gfx906": ("wrong-device-code", False),
    "[enc @ 0x1] Failed creating CUDA context for encoder": ("no-device", False),
    "could not create CUDAFastProvider": ("no-device", False),
    "ptxas was not found in any search path": ("part-missing", False),
    "cuSolver internal error": ("internal-error", True),
    "FATAL: option pairs is not supported in CUDA builds": ("call-refused", False),
    "omptarget: copying data from device failed": ("transfer-failed", True),
    "[opencl_blur] couldn't enqueue kernel": ("launch-failed", True),
}  # fmt: skip

QUIET = (
    "epoch 3 step 1200 loss 0.213 val_error 0.12 gpu_mem 41.2GB",
    "INFO watchdog enabled, timeout=1800s for NCCL collectives",
    "INFO If you run out of GPU memory, reduce the batch size",
    "WARNING fast sampler is not available. Falling back to the CUDA implementation.",
    "-- Could NOT find OpenCL (missing: OpenCL_LIBRARY OpenCL_INCLUDE_DIR)",
    "100% tests passed, 0 tests failed out of 42",
    "| N/A   34C    P0    45W / 300W |      0MiB / 32768MiB |      0%      Default |",
    "[   12.011588] i915 0000:00:02.0: [drm] Bumping pre-emption timeout from 640 to 7500 on rcs'0.0",
    "    if (err != cudaSuccess) { fprintf(stderr, \"CUDA error: %s\", text); exit(1); }",
    "    raise RuntimeError(\"CUDA out of memory\")",
    "  // the GPU allocation failed: use the host",
    "node 4: NET/IB : No device found.",
    "opencl_mandatory_timeout: 200",
    "INFO CUDA error checking is on; cudaErrorNotReady is expected while polling",
    "plugins: gputool-0.1.0, timeout-2.4.0, xdist-3.8.0",
    "        (case(ILLEGAL, \"cuStreamSynchronize failed\", 3), \"reproduced\"),",
    "install liberror-perl:all <none> 0.17029-2",
)  # fmt: skip


@pytest.mark.parametrize("line", TOLD)
def test_words_say_what_happened(line: str) -> None:
    kind, late = TOLD[line]
    event = read_log("log", [line.encode()]).told[0].event
    assert (event.kind, event.role == "report") == (kind, late)


@pytest.mark.parametrize("line", [line for line, (_, late) in TOLD.items() if late])
def test_what_notices_a_failure_is_not_blamed_for_it(line: str) -> None:
    told = explain([read_log("log", [line.encode()])])
    assert all(entry.status == "inconclusive" for entry in told.diagnosis)


@pytest.mark.parametrize("line", QUIET)
def test_lines_that_are_no_failures(line: str) -> None:
    """At most they are shown as lines that nobody understands."""
    assert {one.event.kind for one in read_log("log", [line.encode()]).told} <= {NOT_UNDERSTOOD}


def test_random_characters_hold_no_words() -> None:
    """Words of failure in mixed case come by chance in keys and encoded data."""
    line = b"%'=fw4+>HaNG?`^5fG+{6#@RmR,(qO fAiL 2v$xF{#`I ErRoR"
    assert not read_log("log", [line]).told


def test_the_failure_behind_many_harmless_lines_is_found() -> None:
    """Lines that differ in numbers only do not use up what a format may read."""
    harmless = b"".join(b"step %d: cuda error_rate=0.%d\n" % (i, i) for i in range(30_000))
    log = read_log("log", [harmless, b"worker 2: GPU sync failed\n"])
    assert [one.event.kind for one in log.told if one.event.kind != NOT_UNDERSTOOD] == ["wait-failed"]
