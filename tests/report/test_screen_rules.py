"""What holds for every first screen: its rows on the terminal, and commands and paths that can be pasted."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from sample_cases import DIAGNOSIS, FINDING, FULL, PASSED

from gpudx.model import Access, Case, Evidence, Guilty, Instrument, Investigation, Outcome, Site
from gpudx.report import Page, screen
from gpudx.report.brief import one_line
from gpudx.report.layout import cells, height, named, table, wrapped
from gpudx.report.screen import MOST_ROWS, SHORT_ROWS, render
from gpudx.report.source_line import SourceLine

INSTALL = "pip install 'gpudx[opencl]'"
LACKS = (("fenced", "the program makes no CUDA calls"), ("checked", f"The checks inside OpenCL kernels need libclang: {INSTALL}."))
LONG = "/data/" + "long-folder-name/" * 8
NO_CAUSE = replace(DIAGNOSIS, cause="unexplained", status="inconclusive", summary="No recorded call explains it.", guilty=None, victim=None)
SETTLED = replace(DIAGNOSIS, access=Access(kind="write", by="kernel", kernel="restore_q4_0"))


def shown(case: Case, width: int = 80) -> list[str]:
    return render(case, Page(width)).splitlines()


def investigated(case: Case, **more: object) -> Case:
    return replace(case, investigation=replace(Investigation(0.99, symptom="crash", not_run=LACKS), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("folder", ["/cases/one", LONG])
def test_rows_of_the_terminal_are_counted(width: int, folder: str) -> None:
    """A command that is longer than a line takes two rows; of two that do the same, the shorter one is shown."""
    case = replace(
        FULL,
        directory=f"{folder}case",
        command=(f"{folder}app", *("--option", "value") * 20),
        diagnosis=(replace(DIAGNOSIS, status="likely", evidence=tuple(Evidence(f"fact {n} {'word ' * 15}") for n in range(9))),),
    )
    lines = shown(case, width)
    assert height(lines, width) <= MOST_ROWS
    assert any(line.endswith(f"gpudx investigate {case.directory}") for line in lines)
    whole = shown(replace(case, command=(f"{LONG}app",), directory=f"{LONG}{LONG}"), width)
    assert any(line.endswith(shlex.join(["gpudx", "investigate", "--", f"{LONG}app"])) for line in whole)
    five = shown(replace(case, directory="/c", command=("./app",), diagnosis=(NO_CAUSE,), findings=()), width)
    assert height(five, width) <= SHORT_ROWS and five[-1] == "  next: gpudx investigate -- ./app"


def test_paths_and_commands_are_never_broken() -> None:
    place = "/srv/my project with spaces/größe und 메모리/app.cu:88"
    guilty = replace(DIAGNOSIS.guilty or Guilty("opencl"), source=place)
    entry = replace(DIAGNOSIS, guilty=guilty, summary=f"A byte size was passed to restore_q4_0 at {place} where a buffer belongs.")
    case = replace(FULL, diagnosis=(replace(entry, fix=("Run `gpudx run --fence --stacks -- ./app --layers 4` and compare.",)),))
    for width in (60, 80, 100):
        text = shown(case, width)
        assert any(place in line for line in text)
        assert any("`gpudx run --fence --stacks -- ./app --layers 4`" in line for line in text)


def test_a_path_longer_than_the_line_loses_its_first_folders() -> None:
    guilty = replace(DIAGNOSIS.guilty or Guilty("opencl"), source=f"{LONG}app.cu:88")
    entry = replace(DIAGNOSIS, guilty=guilty, evidence=(Evidence(f"call 7 was made at {LONG}main.cu:41"),))
    for width in (60, 80):
        text = shown(replace(FULL, diagnosis=(entry,)), width)
        assert sum("  .../long-folder-name/" in line for line in text) == 2
        assert not [line for line in text if len(line) > width]


def test_a_tool_that_would_have_helped_is_the_next_step() -> None:
    """Without a cause, and with one whose line in the kernel is not known; not where nothing is open."""
    case = replace(FULL, directory="one", diagnosis=(NO_CAUSE,), findings=())
    assert shown(investigated(case))[-1] == f"  next: {INSTALL} && gpudx investigate one"
    with_cause = replace(FULL, diagnosis=(SETTLED,))
    assert any(f"{INSTALL} && gpudx run --sanitize -- ./app --layers 4" in line for line in shown(investigated(with_cause)))
    known = replace(SETTLED, access=replace(SETTLED.access or Access(), source="<kernel>:4"))
    for silent in (
        investigated(replace(FULL, diagnosis=(known,))),
        investigated(with_cause, symptom="settled"),
        investigated(with_cause, not_run=LACKS[:1]),
    ):
        assert not any("pip install" in line for line in shown(silent))


def test_after_a_passing_investigation_the_user_can_say_what_is_right() -> None:
    clean = replace(FULL, diagnosis=(), findings=())
    ended = investigated(clean, stopped="no fault found", reason="All 3 plain runs passed.", not_run=())
    assert shown(ended)[-1].startswith("  next: gpudx investigate --expect TEXT -- ./app --layers 4")
    assert len(shown(ended)) <= SHORT_ROWS and height(shown(ended)[:-1], 80) < SHORT_ROWS  # the command is a line of any length


def test_without_a_gpu_call_the_next_step_is_to_look_for_drivers() -> None:
    """Only of a run that failed: a program that passes need not use a GPU."""
    silent = tuple(replace(one, calls=0) for one in FULL.processes)
    recorder = (Instrument("recorder", "live", "Loaded into app; saw 0 calls."),)
    case = replace(FULL, diagnosis=(NO_CAUSE,), findings=(), processes=silent, instruments=recorder, investigation=None)
    assert shown(case)[-1] == "  next: gpudx doctor   # shows which GPU drivers are installed"
    assert height(shown(case), 80) <= SHORT_ROWS
    blind = replace(case, instruments=(Instrument("recorder", "not live", "The program is statically linked."),))
    for other in (replace(case, outcome=PASSED.outcome), blind):
        assert not any("gpudx doctor" in line for line in shown(other))
@pytest.mark.parametrize(("status", "more"), [("CL_INVALID_VALUE", False), (None, True)])
def test_a_pass_with_refused_calls_needs_no_investigation(status: str | None, more: bool) -> None:
    """A read of uninitialized memory may matter in another run."""
    site = replace(FINDING.site or Site("clFinish", 1, 1, 1), status=status)
    passed = replace(FULL, outcome=Outcome("passed", "The program ended normally.", 0), diagnosis=())
    case = replace(passed, findings=(replace(FINDING, severity="warning", site=site),), hypotheses=())
    assert any("gpudx investigate -- ./app" in line for line in shown(case)) == more


@pytest.mark.parametrize("outcome", [Outcome("passed", "The program ended normally.", 0), FULL.outcome])
def test_missing_calls_are_said_first(outcome: Outcome) -> None:
    gap = "the oldest 12,491 calls were overwritten (the trace could not grow: file too large)"
    (process,) = FULL.processes[:1]
    case = replace(FULL, outcome=outcome, diagnosis=(), findings=(), processes=(replace(process, gaps=(gap,)),))
    assert f"Not everything was recorded: {gap}." in one_line(case)
    assert gap in " ".join(" ".join(shown(case)).split())
    assert "Not everything" not in one_line(replace(case, processes=(replace(process, gaps=()),)))


def test_words_are_wrapped_by_their_cells() -> None:
    assert wrapped("메모리 메모리", 10) == ["메모리", "메모리"] and cells("e\u0301x") == 2
    assert wrapped("a `gpudx run -- x` b", 8, "- ") == ["- a", "  `gpudx run -- x`", "  b"]
    assert wrapped("of `x[i + 1]` and `y`", 14) == ["of `x[i + 1]`", "and `y`"] and len(wrapped(f"`{'word ' * 9}`", 20)) > 1
    assert wrapped("", 10) == [] and height(["a" * 11, ""], 10) == 3


def test_a_table_that_does_not_fit_has_none() -> None:
    assert table(["a", "b"], [["x", "y z"]], 6) == ["a  b", "x  y z"]
    assert table(["a", "b"], [["long-word", "y"]], 6) is None
    assert list(named([("key", "v w"), ("k" * 30, "value")], 7)) == [("key  ", "v"), ("     ", "w"), ("k" * 30, ""), ("     ", "value")]


def test_what_gpudx_says_is_wrapped_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Between words, and never inside a command; a pipe gets one line."""
    from gpudx.cli import speak

    text = "interrupted in the middle of a long study of tests, which can go on; to continue: gpudx flake --resume cases/one"
    speak.say(text)
    assert capsys.readouterr().err == f"gpudx: {text}\n"
    monkeypatch.setattr(speak, "_is_terminal", lambda: True)
    monkeypatch.setattr(speak, "_width", lambda: 40)
    speak.say(text)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "       gpudx flake --resume cases/one" and all(cells(line) <= 40 for line in lines)
    speak.say("no fault found in 60 calls. case: gpudx-cases/one")
    assert capsys.readouterr().err.splitlines()[-1] == "       case: gpudx-cases/one"


def test_kernels_are_not_called_checked_where_none_ran() -> None:
    tool = Instrument("kernel checks (bounds, null)", "live", "")
    case = replace(FULL, instruments=(tool,), diagnosis=())
    assert any("checked: bounds" in line for line in shown(case))
    without = replace(case, processes=tuple(replace(one, launches=0) for one in case.processes))
    assert not any("checked" in line for line in shown(without))


def test_a_fact_that_the_headline_states_is_left_out() -> None:
    facts = {
        "the driver returned CL_INVALID_VALUE": False,
        "clEnqueueReadBuffer returned CL_INVALID_VALUE": False,
        "buffer #1 has 4,000 bytes": False,
        "4,000 bytes were requested of buffer #1": True,  # the same words for something else
        "buffer #1 has 4,000 elements of 4 bytes": False,
        "the read is in /srv/app/main.c:7": False,
        "the read is in /srv/app/main.c:8": True,
        "that is buffer #1; nothing else has its size": "nothing else has its size",
        "`for (; buffer #1; ++i)` has 4,000 bytes": True,
        "clEnqueueReadBuffer returned CL_OUT_OF_RESOURCES": True,
        "buffer #1 has 400 bytes": True,
    }
    refused = "clEnqueueReadBuffer was refused with CL_INVALID_VALUE"
    summary = f"{refused}: it requests 4,096 bytes of buffer #1, which has 4,000 bytes: a read, main.c:7."
    for fact, kept in facts.items():
        entry = replace(DIAGNOSIS, summary=summary, evidence=(Evidence(fact),))
        text = kept if isinstance(kept, str) else fact
        assert (f"  - {text}" in shown(replace(FULL, diagnosis=(entry,)))) == bool(kept), fact


def test_the_line_of_the_code_that_is_shown_is_not_repeated(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text("int main(void)\n" + 30 * "    launch();\n")
    guilty = replace(DIAGNOSIS.guilty or Guilty("opencl"), source=f"{source}:31", host_stack=())
    facts = ["launch 1 at main.c:31 started 64 work-items", f"launched at {source}:31"]
    facts += ["launch 2 at main.c:3 ended", "launched at other.c:31"]
    entry = replace(DIAGNOSIS, guilty=guilty, victim=None, root=None, evidence=tuple(map(Evidence, facts)))
    text = shown(replace(FULL, diagnosis=(entry,)))
    wanted = ["launch 1 started 64 work-items", "launch 2 at main.c:3 ended", "launched at other.c:31"]
    assert [line.removeprefix("  - ") for line in text if line.startswith("  - launch")] == wanted


def test_calls_are_numbered_and_not_counted() -> None:
    """Their numbers count the recorder's own notes, too: a run of 98 calls may have a call 103."""
    text = "\n".join(shown(replace(FULL, diagnosis=(replace(DIAGNOSIS, summary="It failed in call 9,999."),))))
    assert " launches; " in text and " calls, " not in text


def test_a_launch_whose_caller_was_not_recorded_has_the_command_that_names_its_line() -> None:
    """Each call of OpenCL has its caller; where there is one, -g shows its line."""
    launch = Guilty("cuda", call="cuLaunchKernel", number=20, kernel="apply", launch=2)
    case = replace(FULL, command=("./app",), diagnosis=(replace(DIAGNOSIS, guilty=launch, victim=None, root=None),))
    assert "  2. gpudx run --stacks -- ./app   # names the line (build with -g)" in shown(case)
    frames = ("__device_stub__apply+0x10 (app)", "cudaLaunchKernel+0x2d3 (app)", "develop+0x609 (app)", "main+0x20 (app)")
    known = replace(DIAGNOSIS, guilty=replace(launch, host_stack=frames), victim=None, root=None)
    text = "\n".join(shown(replace(case, diagnosis=(known,))))
    assert "--stacks" not in text and "Build the program with -g" in text
    assert "  in develop+0x609 (app), called from main+0x20 (app)" in text
    opencl = replace(DIAGNOSIS, guilty=replace(launch, api="opencl"), victim=None, root=None)
    assert "--stacks" not in "\n".join(shown(replace(case, diagnosis=(opencl,))))


def test_no_line_of_a_program_that_is_older_than_its_sources(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text("int main(void)\n{\n    return launch();\n}\n")
    guilty = replace(DIAGNOSIS.guilty or Guilty("opencl"), source=f"{source}:3", host_stack=())
    entry = replace(DIAGNOSIS, guilty=guilty, victim=None, root=None)
    for cause, quoted in ((DIAGNOSIS.cause, True), ("stale-executable", False)):
        case = replace(FULL, diagnosis=(replace(entry, cause=cause),))
        assert any("return launch();" in line for line in shown(case)) == quoted


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_around_the_code_go_before_the_last_facts(width: int, tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text("".join(f"    line({n});\n" for n in range(1, 12)))
    guilty = replace(DIAGNOSIS.guilty or Guilty("opencl"), source=f"{source}:6", host_stack=())
    facts = tuple(Evidence(f"number {n} is one that a reader can check, {'and ' * (width // 5)}more") for n in range(4))
    summary = f"{' '.join(['It'] + ['was wrong'] * (width // 4))}."
    fix = (f"Fix it {'as it should be ' * (width // 16)}here.",)
    entry = replace(DIAGNOSIS, summary=summary, guilty=guilty, victim=None, root=None, evidence=facts, fix=fix)
    lines = shown(replace(FULL, diagnosis=(entry,)), width)
    around = sum("| line(" in line for line in lines) - 1
    assert height(lines, width) <= MOST_ROWS and any("> 6 | line(6);" in line for line in lines)
    assert around == 0 or sum(line.startswith("  - number") for line in lines) >= 2


@pytest.mark.parametrize(("launched", "said"), [("a.c:9", "launched at line 9"), ("b.c:9", "launched at b.c:9")])
def test_a_kernel_in_the_file_of_its_launch_is_shown_with_one_path(launched: str, said: str) -> None:
    place = SourceLine("a.c:3", f"blur, launched at {launched}", 3)
    assert screen._code(place, screen.Writer(Page(80)), 0) == [f"  a.c:3 in blur, {said}"]


def test_the_line_that_counts_as_the_failure_is_shown_as_data() -> None:
    """Of a program that exits with 0; it stays silent where the user judges, whose reason may quote a line, too."""
    summary = 'The program exited with status 0 after 1 s, but it printed "3 rows FAILED".'
    own = replace(FULL, outcome=Outcome("exit", summary, 0, complaint="3 rows FAILED"))
    judged = replace(FULL, outcome=Outcome("exit", summary, 0))
    assert any('taken as the failure: "3 rows FAILED"' in line for line in shown(own, 100))
    assert not any("taken as the failure" in line for line in shown(judged, 100))
