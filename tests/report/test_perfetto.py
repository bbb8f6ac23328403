"""The trace for the Perfetto UI, read with Perfetto's own message definitions (the `perfetto` package).

Perfetto's trace_processor itself is not on PyPI: its package downloads the program when first used. What it would do with the
packets (slices nest, names are known, tracks are described) is checked here by hand. Where the program is there, it is asked: on PATH
as trace_processor_shell, or named by GPUDX_TRACE_PROCESSOR.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_cases import FULL
from support.synthetic import GLOBAL, Arg, World

from gpudx.figures.tracks import timelines
from gpudx.model import Evidence, Finding, Site
from gpudx.report.perfetto import Mark, Slices, Timeline, write

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="pip install perfetto")
unknown_fields = pytest.importorskip("google.protobuf.unknown_fields", reason="pip install perfetto")
SHELL = os.environ.get("GPUDX_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")


class Read:
    """A trace as the UI would show it."""

    def __init__(self, data: bytes) -> None:
        trace = pb.Trace.FromString(data)
        self.packets = list(trace.packet)
        self.tracks = {
            p.track_descriptor.uuid: p.track_descriptor for p in self.packets if p.HasField("track_descriptor")
        }
        self.names = {n.iid: n.name for p in self.packets for n in p.interned_data.event_names}
        self.notes = {n.iid: n.name for p in self.packets for n in p.interned_data.debug_annotation_names}
        self.events = [p for p in self.packets if p.HasField("track_event")]

    def check(self) -> None:
        """What Perfetto demands of a sequence (trace_packet.proto, interned_data.proto, track_event.proto), packet by packet."""
        tracks, names = set[int](), set[int]()
        for number, p in enumerate(self.packets):
            assert not list(unknown(p)), p
            assert p.trusted_packet_sequence_id == self.packets[0].trusted_packet_sequence_id
            assert bool(p.sequence_flags & 1) == (
                number == 0
            )  # what was interned before is forgotten, once, at the start
            names |= {one.iid for one in p.interned_data.event_names}
            if p.HasField("track_descriptor"):
                parent = p.track_descriptor.parent_uuid
                assert not parent or parent in tracks
                tracks.add(p.track_descriptor.uuid)
            if p.HasField("track_event"):
                event = p.track_event
                assert event.track_uuid in tracks and (not event.name_iid or event.name_iid in names)
                assert not event.name_iid or p.sequence_flags & 2  # it needs what was interned

    def of(self, kind: int) -> list[Any]:
        return [p for p in self.events if p.track_event.type == kind]

    def slices(self) -> dict[int, list[tuple[str, int, int | None]]]:
        """By track: name, beginning and end. Ends that fit no beginning are an error."""
        found: dict[int, list[tuple[str, int, int | None]]] = defaultdict(list)
        open_: dict[int, list[int]] = defaultdict(list)
        for p in sorted(self.events, key=lambda p: p.timestamp):
            event = p.track_event
            if event.type == 1:
                open_[event.track_uuid].append(len(found[event.track_uuid]))
                found[event.track_uuid].append((self.names[event.name_iid], p.timestamp, None))
            elif event.type == 2:
                at = open_[event.track_uuid].pop()
                name, begin, _ = found[event.track_uuid][at]
                assert name == self.names[event.name_iid]
                found[event.track_uuid][at] = (name, begin, p.timestamp)
        return found


def unknown(message: Any) -> Iterator[int]:
    """Numbers of fields that Perfetto's definitions do not have."""
    yield from (field.field_number for field in unknown_fields.UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if isinstance(value, Sequence) or hasattr(value, "add") else [value]:
                yield from unknown(one)


def written(*lines: Timeline) -> Read:
    out = io.BytesIO()
    write(FULL, lines, out)
    read = Read(out.getvalue())
    read.check()
    return read


def of_case(world: World, folder: Path, *findings: Finding) -> Read:
    (folder / "traces").mkdir()
    world.write(folder / "traces/100.gdx")
    from dataclasses import replace

    case = replace(FULL, findings=findings)
    out = io.BytesIO()
    write(case, timelines(case, folder), out)
    (folder / "case.pftrace").write_bytes(out.getvalue())
    read = Read(out.getvalue())
    read.check()
    return read


def program(schema: str) -> tuple[World, int]:
    world = World(schema)
    buffer = world.buffer(4096)
    kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL)])
    world.set_arg(kernel, 0, buffer)
    return world, kernel


def test_threads_queues_memory_and_faults(schema: str, tmp_path: Path) -> None:
    world, kernel = program(schema)
    world.launch(kernel, (64,))
    number = world.launch(kernel, (64,), tid=2) + 1
    other = world.buffer(100)
    world.release(other)
    site = Site("clEnqueueNDRangeKernel", number, 100, 2)
    read = of_case(world, tmp_path, Finding("bad", "error", "It was bad.", (Evidence("seen"),), site))
    labels = [track.name for track in read.tracks.values()]
    assert "memory held" in labels and "submitted to queue #1" in labels
    threads = {track.thread.tid: uuid for uuid, track in read.tracks.items() if track.HasField("thread")}
    assert set(threads) == {1, 2}
    slices = read.slices()
    assert [name for name, _, _ in slices[threads[2]]] == ["clEnqueueNDRangeKernel scale"]
    assert all(end is not None for track in slices.values() for _, _, end in track)
    queue = next(uuid for uuid, track in read.tracks.items() if track.name.startswith("submitted"))
    assert [name for name, _, _ in slices[queue]] == ["clEnqueueNDRangeKernel scale"] * 2
    assert [p.track_event.counter_value for p in read.of(4)] == [4096, 4196, 4096]
    (mark,) = read.of(3)
    assert read.names[mark.track_event.name_iid] == "bad: It was bad."
    assert mark.track_event.track_uuid == threads[2]
    begins = {p.track_event.debug_annotations[0].uint_value for p in read.of(1)}
    assert number in begins and read.notes == {1: "call number"}


@pytest.mark.skipif(not SHELL, reason="Perfetto's trace_processor_shell is not here")
def test_perfetto_s_own_parser_takes_it(schema: str, tmp_path: Path) -> None:
    world, kernel = program(schema)
    world.launch(kernel, (64,))
    world.launch(kernel, (64,), tid=2)
    of_case(world, tmp_path)
    errors = "select name, value from stats where severity in ('error', 'data_loss') and value > 0;"
    for query, wanted in (("select count(*) from slice where name like '%scale';", "4"), (errors, "")):
        (tmp_path / "query.sql").write_text(query)
        words = [str(SHELL), "-q", str(tmp_path / "query.sql"), str(tmp_path / "case.pftrace")]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout.splitlines()[1:] == ([wanted] if wanted else [])


def test_a_call_that_never_returned_stays_open(schema: str, tmp_path: Path) -> None:
    world, kernel = program(schema)
    world.launch(kernel, (64,), open_=True)
    slices = [one for track in of_case(world, tmp_path).slices().values() for one in track]
    assert [name for name, _, end in slices if end is None] == ["clEnqueueNDRangeKernel scale"] * 2  # thread and queue


def test_calls_inside_calls_and_without_length_nest() -> None:
    def column(*values: int) -> Any:
        return np.array(values, np.int64)

    calls = Slices(
        column(0, 0, 0, 0), column(10, 12, 20, 20), column(20, 14, 20, 25), column(0, 1, 2, 0), column(1, 2, 3, 4)
    )
    none = Slices(*[column()] * 5)
    read = written(Timeline(7, "x", ["a", "b", "c"], [1], [], calls, none, column(), column(), [Mark(-1, 5, "m")]))
    (track,) = read.slices().values()
    assert sorted(track) == [("a", 10, 20), ("a", 20, 25), ("b", 12, 14), ("c", 20, 20)]


def test_an_empty_case_is_a_trace_with_its_verdict() -> None:
    assert any(track.name.startswith("gpudx: confirmed") for track in written().tracks.values())


def test_a_million_launches_in_little_time_and_memory() -> None:
    count = 1_000_000
    begin = np.arange(count, dtype=np.int64) * 10_000
    zero = np.zeros(count, np.int64)
    calls = Slices(zero, begin, begin + 4000, zero, np.arange(count) + 1)
    line = Timeline(7, "x", ["launch k"], [1], ["queue #1"], calls, calls, begin[:1], begin[:1])

    class Count(io.RawIOBase):
        size = 0

        def write(self, data: Any) -> int:
            self.size += len(data)
            return len(data)

    out, start = Count(), time.process_time()
    tracemalloc.start()
    write(FULL, [line], out)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.size < 200 << 20
    assert peak < 250 << 20
    assert time.process_time() - start < 60  # some 3 s on a slow machine


def test_it_is_not_written_to_a_terminal_or_as_text() -> None:
    from gpudx.report import formats, streamed

    assert "perfetto" in streamed() and "perfetto" not in formats()
