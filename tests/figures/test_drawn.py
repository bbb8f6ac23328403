"""What reports draw: timelines, maps of memory, the decoded call and its source. The traces are written by hand."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.cuda_world import CudaWorld
from support.synthetic import GLOBAL, Arg, World

from gpudx.facts import derive
from gpudx.figures import draw, excerpt, timeline
from gpudx.figures.accused import Accused, accused_in
from gpudx.model import Allocation, Case, Diagnosis, Evidence, Finding, Guilty, Outcome, ProcessInfo, Site, Victim
from gpudx.model.drawing import BLOCKS, KINDS, Column

FORMS = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
COPY = "_Z4copyPfPKfi"


def numbers(column: Column) -> list[int]:
    return np.frombuffer(column.data, FORMS[column.width]).tolist()


def case_of(folder: Path, number: int, *, pid: int = 100, **more: object) -> Case:
    """A case that accuses one call of the trace traces/1.gdx."""
    site = Site("call", number, pid, 1, "api")
    memory = Allocation("memory #1", 4096, needed=4160)
    finding = Finding("planted", "error", "It is.", (Evidence("seen", (number, number + 1)),), site, allocation=memory)
    guilty = replace(Guilty("api", "call", number), **more)  # type: ignore[arg-type]
    best = Diagnosis(
        "planted", "confirmed", "It is.", guilty, None, finding.evidence, "", (), findings=(finding.fingerprint,)
    )
    process = ProcessInfo(pid, 1, "./app", "traces/1.gdx", 9, 2)
    outcome = Outcome("exit", "It ended.", 1)
    return Case(("./app",), str(folder), "2026-01-02T03:04:05+00:00", "0", outcome, processes=(process,),
                findings=(finding,), diagnosis=(best,))  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "traces").mkdir()
    return tmp_path


class Program:
    """Two buffers, one of them freed; three launches of two streams, of which the second uses what is freed."""

    def __init__(self, schema: str, folder: Path) -> None:
        world = CudaWorld(schema)
        self.first, self.second = world.alloc(4096), world.alloc(8192)
        other = world.create("cuStreamCreate", flags=1)
        kernel = world.kernel(COPY, [8, 8, 4])
        world.launch(kernel, [self.first, self.second, 7])
        world.free(self.second)
        self.guilty = world.launch(kernel, [self.first + 16, self.second, -1], grid=(2, 1, 1), queue=other) + 1
        world.sync(status=700)
        world.launch(kernel, [self.first, self.first, 1], open_=True)
        world.write(folder / "traces/1.gdx")


@pytest.fixture
def program(schema: str, folder: Path) -> Program:
    return Program(schema, folder)


def test_a_timeline(program: Program, folder: Path) -> None:
    (line,) = draw(case_of(folder, program.guilty)).timelines
    kinds = [KINDS[one] for one in numbers(line.columns["kind"])]
    assert kinds == ["launch", "launch", "wait", "launch"]
    assert [line.names[one] for one in numbers(line.columns["name"])] == ["copy", "copy", "cuStreamSynchronize", "copy"]
    assert [line.queues[one] for one in numbers(line.columns["queue"])] == [
        "queue #1",
        "queue #2",
        "queue #1",
        "queue #1",
    ]
    assert numbers(line.columns["state"]) == [0, 0, 1, 2]  # the wait failed, the last launch is in flight
    calls = np.cumsum(numbers(line.columns["call"])).tolist()
    assert [(pin.role, calls[pin.row]) for pin in line.pins] == [
        ("guilty", program.guilty),
        ("evidence", program.guilty + 1),
    ]
    assert (line.left_out, line.merged) == (0, 1)


def test_the_guilty_launch_is_decoded(program: Program, folder: Path) -> None:
    call = draw(case_of(folder, program.guilty)).guilty
    assert call is not None
    assert dict(call.values)["work-items"] == "64 x 1 x 1" and dict(call.values)["queue"] == "queue #2"
    assert call.arguments == (
        ("0", "float*", "8", f"{program.first + 16:#x}", "memory #1, 4,096 bytes, live, 16 bytes from its start"),
        ("1", "float const*", "8", f"{program.second:#x}", "memory #2, 8,192 bytes, freed"),
        ("2", "int", "4", "-1", ""),
    )


def test_a_map_of_memory(program: Program, folder: Path) -> None:
    case = case_of(
        folder, program.guilty, allocation=Allocation("memory #1", 4096, "live"), value=f"{program.second + 8:#x}"
    )
    (one,) = draw(case).maps
    assert one.by_address and one.as_of == program.guilty
    assert [BLOCKS[state] for state in numbers(one.columns["state"])] == ["too small", "freed"]
    assert numbers(one.columns["address"]) == [program.first, program.second]
    begin, end = numbers(one.columns["begin"]), numbers(one.columns["end"])
    assert begin[0] < end[0] <= begin[1] < end[1] <= one.width
    points = {point.text: point for point in one.points}
    assert points["the end that it needs"].address == program.first + 4096 + 64
    assert begin[1] < points["the value given"].at < end[1]
    told = ["the end that it needs is 64 bytes past its end", "the value given is 8 bytes into it"]
    assert [row[-1] for row in one.near] == told


def test_memory_without_addresses_stands_in_order(schema: str, folder: Path) -> None:
    world = World(schema)
    kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL), Arg("float", "by")])
    first, second = world.buffer(4096), world.buffer(64)
    world.set_arg(kernel, 0, first)
    world.set_arg(kernel, 1, 0x3FC00000, 4)
    guilty = world.launch(kernel, (64,)) + 1
    world.release(second)
    world.write(folder / "traces/1.gdx")
    made = draw(replace(case_of(folder, guilty), outcome=Outcome("signal", "", fault_address="0x7f0000001000")))
    (one,) = made.maps
    assert not one.by_address and not one.points and one.not_placed == "0x7f0000001000"
    assert [BLOCKS[state] for state in numbers(one.columns["state"])] == ["live", "live"]  # as of the launch
    assert made.guilty is not None and made.guilty.arguments[1] == ("1 (by)", "float", "4", "1.5", "")
    assert made.guilty.arguments[0][-1] == "buffer #1, 4,096 bytes, live"
    assert "event" not in dict(made.guilty.values)


def test_many_calls_are_reduced_and_nothing_that_matters_is_lost(schema: str, folder: Path) -> None:
    world = CudaWorld(schema)
    kernel, event = world.kernel(COPY, [8, 8, 4]), world.create("cuEventCreate", flags=2)
    for n in range(200):
        world.call("cuEventRecord", event=event, queue=world.queue)
        world.launch(kernel, [0, 0, n], status=719 if n == 150 else 0)
    guilty = world.launch(kernel, [0, 0, 0]) + 1
    facts = derive(world.write(folder / "traces/1.gdx"))
    accused = Accused(pid=100, guilty=guilty)
    whole, few = timeline.of(facts, accused, 1000), timeline.of(facts, accused, 50)
    assert whole is not None and few is not None
    assert len(whole.columns["kind"]) == 401 and (few.left_out, few.merged) == (200, 5)
    states = numbers(few.columns["state"])
    assert len(states) <= 50 and states.count(1) == 1 and [pin.role for pin in few.pins] == ["guilty"]
    assert all(gap < 1 << 31 for gap in numbers(few.columns["gap"]))
    calls = np.cumsum(numbers(few.columns["call"])).tolist()
    assert calls == sorted(calls) and calls[few.pins[0].row] == guilty


def test_a_diagnosis_of_another_run_accuses_no_call_of_this_one(program: Program, folder: Path) -> None:
    case = case_of(folder, program.guilty)
    other = replace(case, diagnosis=(replace(case.diagnosis[0], findings=("1:of-another-run",)),))
    assert accused_in(other) == Accused()
    made = draw(other)
    assert made.guilty is None and not made.timelines[0].pins


def test_a_launch_of_another_run_is_the_one_of_its_number_and_kernel(program: Program, folder: Path) -> None:
    memory = Allocation("memory #1", 4096, "live")
    case = case_of(folder, 99, kernel="copy", launch=2, argument=0, allocation=memory)
    case = replace(case, findings=())
    made = draw(case)
    assert made.guilty is not None and dict(made.guilty.values)["queue"] == "queue #2"
    assert [pin.role for pin in made.timelines[0].pins] == ["guilty"]
    assert [BLOCKS[state] for state in numbers(made.maps[0].columns["state"])] == ["named in the diagnosis", "freed"]
    best = case.diagnosis[0]
    for other in ({"kernel": "scale"}, {"launch": 9}, {"launch": None}):
        assert draw(replace(case, diagnosis=(replace(best, guilty=replace(best.guilty, **other)),))).guilty is None  # type: ignore[arg-type,type-var]
    several = replace(case, processes=(*case.processes, *case.processes))
    assert draw(several).guilty is None


def test_victims_and_other_sites(folder: Path) -> None:
    case = case_of(folder, 5)
    (finding,) = case.findings
    assert finding.site
    report = replace(finding.site, number=9)
    moved = replace(finding, site=report, others=(finding.site,))
    best = replace(case.diagnosis[0], victim=Victim("there", report), findings=(moved.fingerprint,))
    accused = accused_in(replace(case, findings=(moved,), diagnosis=(best,)))
    assert (accused.pid, accused.guilty, accused.victim) == (100, 5, 9)


@pytest.mark.parametrize("content", [None, b"", b"gpudxtr1", os.urandom(100_000)])
def test_a_trace_that_cannot_be_read_is_a_remark(folder: Path, content: bytes | None) -> None:
    if content is not None:
        (folder / "traces/1.gdx").write_bytes(content)
    made = draw(case_of(folder, 1))
    assert not made.timelines and made.remarks[0].startswith("Process 100 is not drawn: ")


def test_cut_and_damaged_traces_never_end_a_report(program: Program, folder: Path) -> None:
    place = folder / "traces/1.gdx"
    whole = place.read_bytes()
    chance = np.random.default_rng(1)
    for _ in range(30):
        data = np.frombuffer(whole[: int(chance.integers(5000, len(whole)))], np.uint8).copy()
        data[chance.integers(4096 * 30, len(whole), 200) % len(data)] = chance.integers(0, 256, 200)
        place.write_bytes(data.tobytes())
        draw(case_of(folder, program.guilty))


def test_only_traces_in_the_case_are_opened(
    program: Program, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    case = replace(case_of(folder, 1), directory=str(tmp_path_factory.mktemp("elsewhere")))
    outside = replace(case.processes[0], trace=str(folder / "traces/1.gdx"))
    assert "is not in the case" in draw(replace(case, processes=(outside,))).remarks[0]


# ---- sources ----


def source(place: str, created: str = "2126-01-02T03:04:05+00:00") -> Case:
    guilty = Guilty("api", "call", source=place)
    entry = Diagnosis("x", "likely", "", guilty, None, (), "", ())
    return Case((), "/", created, "0", Outcome("exit", ""), diagnosis=(entry,))


def test_a_source_is_quoted(tmp_path: Path) -> None:
    place = tmp_path / "main.c"
    place.write_text("".join(f"line {n}\n" for n in range(1, 40)))
    found = excerpt.of(source(f"{place}:20"))
    assert found is not None and (found.first, found.line, len(found.lines)) == (15, 20, 11)
    assert found.lines[5] == "line 20" and not found.changed
    later = excerpt.of(source(f"{place}:1", "2001-01-02T03:04:05+00:00"))
    assert later is not None and later.first == 1 and later.changed


@pytest.mark.parametrize(
    "place", ["/etc/passwd:1", "main.c:1", "/no/such.c:1", "/dev/zero.c:3", "x.c", "\0.c:1", "/tmp/a.c:²"]
)
def test_what_is_no_source_is_not_quoted(place: str) -> None:
    assert excerpt.of(source(place)) is None


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.c")
    assert excerpt.of(source(f"{tmp_path}/a.c:1")) is None
    (tmp_path / "b.c").write_text("one line")
    assert excerpt.of(source(f"{tmp_path}/b.c:2")) is None
