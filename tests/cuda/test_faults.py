"""Failures, crashes, wild pointers, threads and forks."""

from __future__ import annotations

import signal
import struct

import numpy as np
from cuda_kit import Kit, decode, of, values

from gpudx.facts import derive


def test_after_a_fault_every_call_fails_and_the_first_is_known(kit: Kit) -> None:
    env = {"FAKE_CUDA_FAIL": "cuLaunchKernel:7:700"}
    plain, recorded = kit.both([kit.program("faults")], env)
    assert "launch 7: 700" in plain.stdout and recorded.seen == plain.seen
    trace = recorded.trace()
    calls = decode(trace)
    launches = of(calls, "cuLaunchKernel")
    assert [c.status for c in launches] == [0] * 7 + [700] * 13
    first = launches[7]
    stacks = of(calls, "note_stack")
    (place,) = trace.slot_address(np.array([first.position]))
    assert int(place) in [stack.words["of"] for stack in stacks]
    assert [c.status for c in of(calls, "cuMemcpyDtoH_v2", "cuCtxSynchronize", "cuMemFree_v2")] == [700, 700, 700]


def test_a_wait_of_ours_that_reports_a_fault_shows_where_its_launch_was_made(kit: Kit) -> None:
    env = {"FAKE_CUDA_FAIL": "cuLaunchKernel:7:700", "GPUDX_SERIALISE": "1", "GPUDX_STACKS": "0"}
    facts = derive(kit.run([kit.program("faults")], env=env).trace())
    guilty, before = (facts.sites.at(int(facts.launches.position[row])) for row in (6, 5))
    assert any("main" in frame for frame in guilty.host_stack) and before.host_stack == ()


def test_one_refused_call(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("faults")], {"FAKE_CUDA_REFUSE": "cuLaunchKernel:3:701"})
    assert "launch 2: 701" in plain.stdout and recorded.seen == plain.seen
    assert [c.status for c in of(decode(recorded.trace()), "cuLaunchKernel")].count(701) == 1


def test_a_crash_inside_the_driver_leaves_the_call_in_flight(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("faults")], {"FAKE_CUDA_CRASH": "cuLaunchKernel:5"})
    assert plain.returncode == recorded.returncode == -signal.SIGSEGV
    trace = recorded.trace()
    (open_call,) = [c for c in decode(trace) if not c.done]
    assert open_call.name == "cuLaunchKernel"
    assert [data for _, _, data in values(trace, open_call.position)] == [struct.pack("<i", 4), struct.pack("<i", 8)]
    assert trace.last_words and trace.last_words.signal == signal.SIGSEGV and trace.last_words.address == 8


def test_a_wild_argument_pointer_crashes_the_driver_not_the_recorder(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("faults"), "wild"])
    assert plain.returncode == recorded.returncode == -signal.SIGSEGV
    trace = recorded.trace()
    (open_call,) = [c for c in decode(trace) if not c.done]
    first, second = values(trace, open_call.position)
    assert first[2] == struct.pack("<i", 1) and second[1] & trace.schema.argument_flags["unreadable"]


def test_a_stale_function_reaches_the_driver_inside_the_recorded_call(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("faults"), "stale"])
    assert "stale: 400" in plain.stdout and recorded.seen == plain.seen
    trace = recorded.trace()
    last = of(decode(trace), "cuLaunchKernel")[-1]
    assert last.status == 400 and not values(trace, last.position) and last.flags & trace.schema.flags["cut"]


def test_threads_and_a_fork(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("threads")])
    assert "done" in plain.stdout and recorded.seen == plain.seen
    parent, child = recorded.traces()
    calls = decode(parent)
    launches = of(calls, "cuLaunchKernel")
    assert len(launches) == 10000 and len({c.tid for c in launches}) == 2 and len({c.context for c in launches}) == 2
    per_thread: dict[int, list[bytes]] = {}
    for call in launches:
        arguments = [data for _, _, data in values(parent, call.position)]
        if arguments:
            per_thread.setdefault(struct.unpack("<i", arguments[0])[0], []).append(arguments[1])
    for told in per_thread.values():
        assert told == [struct.pack("<i", i) for i in range(5000 - len(told), 5000)] and len(told) >= 4999
    assert len(of(calls, "note_kernel")) == 1
    (refused,) = [c for c in decode(child) if c.name.startswith("cu")]
    assert (refused.name, refused.status, refused.context) == ("cuLaunchKernel", 3, 0)
