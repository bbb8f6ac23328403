"""What is recorded of HIP programs. They are built by the real hipcc; execution is simulated (tests/hip/sim)."""

from __future__ import annotations

import struct

import pytest
from cuda_kit import Ran, decode, of, values
from hip_kit import Kit

from gpudx.facts import Facts
from gpudx.trace import Trace


@pytest.fixture(scope="module")
def ran(kit: Kit) -> Ran:
    return kit.run_hip(kit.hip_program("tour"), GPUDX_HIP_SIM_DEVICES="2")


@pytest.fixture(scope="module")
def trace(ran: Ran) -> Trace:
    return ran.trace()


def test_the_program_does_not_notice(kit: Kit, ran: Ran) -> None:
    plain = kit.run_hip(kit.hip_program("tour"), record=False, GPUDX_HIP_SIM_DEVICES="2")
    assert plain.seen == ran.seen and ran.returncode == 0
    assert "peek 1, last 1, then 0" in ran.stdout


def test_arguments_come_from_the_code_objects_metadata(trace: Trace) -> None:
    mixed = [c for c in of(decode(trace), "hipLaunchKernel") if c.words["shared_bytes"] == 16]
    found = values(trace, mixed[0].position)
    assert [size for size, _, _ in found] == [8, 8, 4, 8, 24, 1]
    assert found[2][2] == struct.pack("<i", 3) and found[3][2] == struct.pack("<d", 1.5)
    assert found[4][2] == struct.pack("<3q", 11, 22, 33) and found[5][2] == b"x"


def test_kernels_are_named_and_limited(trace: Trace) -> None:
    facts = Facts(trace)
    assert {facts.launches.name(row) for row in range(len(facts.launches.position))} == {"mixed", "twice"}
    info = facts.launches.info(0)
    assert info is not None and info.limits[0].max_work_group_size == 1024
    assert [a.type for a in info.args.values()] == ["float*", "int"]


def test_every_way_to_launch_is_seen(trace: Trace) -> None:
    calls = decode(trace)
    assert len(of(calls, "hipLaunchKernel")) == 5 and len(of(calls, "hipExtLaunchKernel")) == 1
    captured = trace.schema.flags["captured"]
    assert [bool(c.flags & captured) for c in of(calls, "hipLaunchKernel")] == [False] * 4 + [True]


def test_families_and_sizes_of_memory(trace: Trace) -> None:
    facts = Facts(trace)
    table = facts.objects.table[facts.objects.rows_of("memory")]
    sizes = sorted(int(size) for size in table["size"])
    assert sizes == [64, 128, 400, 400, 1000, 2000, 2560, 3000, 3072, 5000]
    assert sum(int(gone) < 1 << 62 for gone in table["died"]) == 8


def test_copies_tell_their_direction(trace: Trace) -> None:
    ranges = Facts(trace).ranges.table
    plain = [c.position for c in of(decode(trace), "hipMemcpy")]
    rows = ranges[[int(p) in plain[:2] for p in ranges["position"]]]
    assert [(bool(r["host"]), bool(r["device"])) for r in rows] == [(True, False), (False, True)] * 2 or len(rows) == 4


def test_three_dimensions(trace: Trace) -> None:
    (copy,) = of(decode(trace), "hipMemcpy3D")
    assert copy.words["dst"] - copy.words["src"] == 4 * copy.words["src_pitch"] and copy.words["kinds"] == 0x202


def test_last_errors_have_no_error_of_their_own(trace: Trace) -> None:
    calls = decode(trace)
    assert [c.status for c in of(calls, "hipPeekAtLastError", "hipGetLastError")] == [1, 1]
    facts = Facts(trace)
    assert [facts.trace.info(int(p)).name for p in facts.errors.position] == ["hipMemcpy"]


def test_each_thread_has_a_device(trace: Trace) -> None:
    mallocs = {c.words["size"]: c.context for c in of(decode(trace), "hipMalloc")}
    assert mallocs[400] == 1 and mallocs[64] == 1 and mallocs[128] == 2
    contexts = Facts(trace).contexts
    assert [contexts.device(n, len(trace)) for n in (1, 2)] == [0, 1]
