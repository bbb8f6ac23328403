"""The recorder's core: what it keeps, what it overwrites, and that it says so exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from native_kit import SANITIZERS, Kit, Ran
from records import LEDGER_CALL, RING_CALL, gap, read

SMALL = str(512 << 10)  # two chunks


@pytest.fixture(scope="session", params=list(SANITIZERS))
def driver(kit: Kit, request: pytest.FixtureRequest) -> Path:
    """The core driver, as it is and with each sanitizer."""
    return kit.linked("core_driver", request.param)


def drive(kit: Kit, driver: Path, *arguments: object, keep: str = "") -> Ran:
    ran = kit.run([driver, *map(str, arguments)], "linked", keep=keep)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran


def test_every_call_is_kept_while_there_is_room(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "ring", 1000).trace()
    found = read(trace)
    assert found.whole.all()
    assert list(found.counter) == list(range(1, 1001))
    assert trace.gaps == ()
    assert trace.ended
    assert (trace.column("end") >= trace.column("begin")).all()


def test_the_ring_overwrites_the_oldest_and_counts_them(kit: Kit, driver: Path) -> None:
    count = 30_000
    trace = drive(kit, driver, "ring", count, keep=SMALL).trace()
    found = read(trace)
    assert found.whole.all()
    lost = gap(trace, "overwritten")
    assert lost > 0
    assert list(found.counter) == list(range(lost + 1, count + 1))
    assert trace.path.stat().st_size < 2 << 20


def test_keep_all_keeps_all(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "ring", 30_000, keep="all").trace()
    assert list(read(trace).counter) == list(range(1, 30_001))
    assert trace.gaps == ()


def test_objects_are_never_overwritten(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "ledger", 3000, 20, keep=SMALL).trace()
    found = read(trace, LEDGER_CALL)
    assert found.whole.all()
    assert list(found.counter) == list(range(1, 3001))
    assert gap(trace, "overwritten") + len(read(trace).counter) == 60_000


def test_notes_of_any_size(kit: Kit, driver: Path) -> None:
    sizes = [0, 1, 7, 8, 100, 4000, 4096, 4097, 70_000, 262_000, 262_144, 1_000_000, 16 << 20]
    trace = drive(kit, driver, "notes", *sizes).trace()
    info = trace.schema.by_name("note_source")
    assert info
    positions = trace.select(info)
    assert list(trace.words(positions, 0)) == sizes
    for position, size in zip(positions, sizes, strict=True):
        assert trace.text(int(position)) == chr(ord("a") + size % 26) * size


def test_a_note_over_the_limit_is_cut(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "notes", 17 << 20).trace()
    info = trace.schema.by_name("note_source")
    assert info
    position = trace.select(info)
    assert len(trace.text(int(position[0]))) == 16 << 20
    assert int(trace.column("flags", position)[0]) & trace.schema.flags["cut"]


def test_short_threads_share_lanes(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "churn", 2000).trace()
    found = read(trace)
    assert found.whole.all()
    assert len(found.counter) == 10_000
    assert len(np.unique(found.thread)) == 2000
    assert len(np.unique(trace.column("tid"))) > 100
    assert len(read(trace, LEDGER_CALL).counter) == 2000
    assert trace.path.stat().st_size < 8 << 20


def test_threads_at_the_same_time(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "threads", 8, 10_000, keep="all").trace()
    calls, objects = read(trace), read(trace, LEDGER_CALL)
    assert calls.whole.all()
    assert objects.whole.all()
    for thread in range(8):
        assert list(calls.counters(thread)) == list(range(1, 10_001))
        assert list(objects.counters(thread)) == list(range(1, 201))


def test_a_call_made_inside_another_says_so(kit: Kit, driver: Path) -> None:
    ran = drive(kit, driver, "nested", 10)
    trace = ran.trace()
    assert ran.stdout == "1\n"
    found, inner = read(trace), trace.schema.flags["in_another_call"]
    flags = trace.column("flags") & inner
    assert [bool(f) for f in flags] == [t == 1 for t in found.thread]
    assert int(trace.column("status")[0]) == 5


def test_a_call_whose_record_was_overwritten_is_not_patched(kit: Kit, driver: Path) -> None:
    ran = drive(kit, driver, "nested", 20_000, keep=SMALL)
    trace = ran.trace()
    assert ran.stdout == "0\n"
    found = read(trace)
    assert found.whole.all()
    assert not (found.thread == 0).any()
    assert (trace.column("status") == 0).all()


def test_failing_calls_have_a_stack(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "failing", 300).trace()
    call, note = trace.schema.by_name(RING_CALL), trace.schema.by_name("note_stack")
    assert call
    assert note
    failing, stacks = trace.select(call), trace.select(note)
    assert (trace.column("status", failing) == -5).all()
    assert len(stacks) == 256
    assert set(trace.words(stacks, 0)) <= set(trace.slot_address(failing))
    assert all(len(trace.numbers(int(s), "frames")) >= 2 for s in stacks)


def test_unreadable_content_is_left_out(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "unreadable").trace()
    cut = (trace.column("flags") & trace.schema.flags["cut"]) != 0
    assert [bool(c) for c in cut] == [False] + [True] * 8
    assert trace.parts(0)[2] == b"x" * 16
    assert trace.parts(0)[3] == b"x" * 40
    assert 2 not in trace.parts(1)
    assert trace.parts(1)[3] == b"x" * 8


def test_content_that_others_unmap_meanwhile_harms_nobody(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "remapping", 1000).trace()
    cut = (trace.column("flags") & trace.schema.flags["cut"]) != 0
    assert len(trace) == 2000
    assert cut.any()
    for position in range(0, len(trace), 50):
        whole = trace.parts(position).get(2, b"")
        assert not whole or len(whole) == 1 + trace.record(position)["kernel"] % 5000


def test_property_lists_go_on_behind_a_value_of_zero(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "properties").trace()
    lists = [[int(n) for n in np.frombuffer(trace.parts(i).get(4, b""), "u8")] for i in range(3)]
    assert lists == [[0x1094, 0, 0x1093, 1], [0x1087, 1, 3, 0, 0x1086, 2], []]


def test_only_memory_that_cannot_go_is_read_directly(kit: Kit) -> None:
    assert drive(kit, kit.linked("core_driver", "plain"), "stays").stdout == "1 1 0 0 0\n"


def test_a_lane_forgets_the_thread_that_had_it_before(kit: Kit, driver: Path) -> None:
    assert drive(kit, driver, "reused").stdout == "1 0\n"


def test_large_parts_are_whole_or_cut(kit: Kit, driver: Path) -> None:
    trace = drive(kit, driver, "big", 120).trace()
    assert len(trace) == 120
    cut = trace.schema.flags["cut"]
    for position in range(len(trace)):
        number, parts = trace.record(position)["kernel"], trace.parts(position)
        assert all(data == bytes([number & 0xFF]) * (number * 700) for data in parts.values())
        complete = len(parts) == (5 if number else 0)
        assert complete != bool(int(trace.column("flags")[position]) & cut)
    sixteen_kb = 16 * 1024 // (5 * 700)
    assert not (trace.column("flags")[:sixteen_kb] & cut).any()


def test_errno_is_kept(kit: Kit, driver: Path) -> None:
    assert drive(kit, driver, "errno").stdout == "0\n"


def test_children_have_their_own_traces(kit: Kit, driver: Path) -> None:
    traces = drive(kit, driver, "forks", 5).traces()
    assert len(traces) == 6
    assert len({t.pid for t in traces}) == 6
    for number, trace in enumerate(traces):
        found = read(trace)
        assert found.whole.all()
        assert set(found.thread) == {number}
        assert len(found.counter) == (20 if number == 0 else 10)
    assert [t.ended for t in traces] == [True] + [False] * 5


def test_calls_from_signal_handlers_are_kept_or_counted(kit: Kit, driver: Path) -> None:
    ran = drive(kit, driver, "storm", 1000, keep="all")
    made, handled = map(int, ran.stdout.split())
    trace = ran.trace()
    found = read(trace)
    assert found.whole.all()
    assert list(found.counters(0)) == list(range(1, made + 1))
    assert len(found.counters(1)) + gap(trace, "dropped") == handled


@pytest.mark.parametrize("sanitizer", list(SANITIZERS))
def test_watched_objects_go_once(kit: Kit, sanitizer: str) -> None:
    """Two threads that see the same object gone: one lets it go, the other must not ask it any more."""
    built = kit.linked("watch_release", sanitizer)
    ran = kit.run([built], "linked", env={"GPUDX_WATCH": "1"}, timeout=60)
    assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", "0\n")
