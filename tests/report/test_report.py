"""Reports: one wording, several looks, and nothing from the program that could harm a reader."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace

import pytest
from sample_cases import BLIND, DIAGNOSIS, EMPTY, FINDING, FULL, PASSED

from gpudx import casefile
from gpudx.errors import UserError
from gpudx.model import Case, Diagnosis, Evidence, Instrument, Investigation, Observation, Outcome, ProcessInfo
from gpudx.model.how import Ways
from gpudx.report import Page, formats, render, terminal
from gpudx.report.blocks import Code, Outline, Section, Table
from gpudx.report.brief import needs_report, one_line
from gpudx.report.layout import cells
from gpudx.report.markdown import escape
from gpudx.report.outline import WITH_STACKS, outline
from gpudx.report.safe import clean, full

EVIL = "k\x1b[2J\x1b]0;x\x07\r\n[bold]*_`|<script>alert(1)</script>\u202e\u2028\x9b31m\udcff"


def headings(case: Case) -> list[str]:
    return [section.heading for section in outline(case).sections]


def test_formats_are_found_by_file() -> None:
    assert {"terminal", "markdown", "json"} <= set(formats())
    assert "outline" not in formats() and "safe" not in formats()
    with pytest.raises(UserError, match="choose one of html, json"):
        render(FULL, "pdf")


def test_the_order_of_the_story() -> None:
    assert headings(FULL) == [
        "Where it went wrong",
        "How we know",
        "This would be wrong if",
        "What to do next",
        "First symptom",
        "Evidence that was not counted",
        "Another cause: leak (likely)",
        "Also considered",
        "Your hypotheses",
        "How to reproduce it",
        "Findings: 1 error, 1 warning and 1 note",
        "How the program ended",
        "Experiments",
        "What was recorded",
        "Coverage",
        "Gaps",
        "Not checked",
        "Case",
    ]
    assert outline(FULL).verdict == "CONFIRMED value-is-not-a-handle"
    assert outline(FULL).headline == DIAGNOSIS.summary


def test_the_terminal_report_says_everything() -> None:
    text = render(FULL, "terminal")
    for part in [
        "gpudx: CONFIRMED",
        "clSetKernelArg (opencl, call number 4,212)",
        "restore_q4_0",
        "number 17",
        "1 (d)",
        "0x48000",
        "buffer #7, 294,912 bytes, live",
        "gpu.c:212",
        "tensor_read at gpu.c:212",
        "[call 4,212]",
        "[calls 12, 13, 14, 15, 16, ...]",
        "See\n    traces/100.trace.",
        "Some call would have returned 0x48000",
        "1. Pass the buffer's handle",
        "refuted: Memory ran out. It did not.",
        "Seen 3 times.",
        "SIGSEGV",
        "0x48008",
        "fenced: passed, 0 of 3 runs failed. Slow.",
        "12 calls lost",
        "Bounds of device memory",
        "/cases/one",
        "oclgrind",
        "missing",
    ]:
        assert part in text, part


def test_how_to_reproduce_it() -> None:
    def told(case: Case) -> list[str]:
        (section,) = [one for one in outline(case).sections if one.heading == "How to reproduce it"]
        (code,) = section.blocks
        assert isinstance(code, Code)
        return list(code.lines)

    plain = replace(FULL, environment={})
    assert told(plain) == ["gpudx run -- ./app --layers 4"]
    odd = replace(FULL, command=("./my app", "a'b"), environment={"N": "1 2"}, observations=())
    assert told(odd) == ["env 'N=1 2' gpudx run -- './my app' 'a'\"'\"'b'"]
    ways = Ways(check="memcheck", fence="high", serialise=True)
    fenced = replace(plain, observations=(Observation(ways.name, "reproduced", 1, 1, ways=ways),))
    assert told(fenced)[-1].startswith("gpudx run --sanitize=memcheck --fence --serialise -- ")
    long = replace(plain, command=tuple("0123456789" * 20))
    assert shlex.split("\n".join(told(long)).replace("\\\n", "")) == ["gpudx", "run", "--", *long.command]
    options = (
        ("--vary", "N=1,4"),
        ("--rebuild", "make -B"),
        ("--probe", "ENTER a"),
        ("--probe", "sym:f"),
        ("--perturb", ""),
    )
    state = Investigation(0.99, folder="/there", command=("./app", "--layers", "{N}"), options=options)
    assert told(replace(plain, investigation=state)) == [
        "cd /there",
        "gpudx run -- ./app --layers 4",
        "gpudx investigate --vary N=1,4 --rebuild 'make -B' --probe 'ENTER a' \\",
        "    --probe sym:f --perturb -- ./app --layers '{N}'",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_fit_the_page_and_no_path_is_broken(width: int) -> None:
    long = replace(FULL, directory="/" + "d" * 150 + "/my case", not_checked=("x" * 3000, "이 커널은 " * 40))
    lines = render(long, "terminal", Page(width)).splitlines()
    wide = [line.strip() for line in lines if cells(line) > min(width, 110)]
    assert long.directory in wide and all(" " not in one.removeprefix("- ") for one in wide if one not in _as_they_are(long))


def _as_they_are(case: Case) -> set[str]:
    """The path, and lines of code: these are shown as they are."""
    blocks = [block for section in outline(case).sections for block in section.blocks]
    return {case.directory, *(line.strip() for block in blocks if isinstance(block, Code) for line in block.lines)}


def test_colours_only_when_wanted() -> None:
    assert "\x1b" not in render(FULL, "terminal")
    coloured = render(FULL, "terminal", Page(80, colour=True))
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == render(FULL, "terminal").splitlines()


def test_the_victim_is_not_repeated_when_it_is_the_guilty_call() -> None:
    surfaced = next(section for section in outline(FULL).sections if section.heading == "First symptom")
    assert len(surfaced.blocks) == 1
    assert DIAGNOSIS.victim and DIAGNOSIS.victim.site
    elsewhere = replace(DIAGNOSIS.victim, site=replace(DIAGNOSIS.victim.site, call="clFinish", number=5000))
    text = render(replace(FULL, diagnosis=(replace(DIAGNOSIS, victim=elsewhere),)), "terminal")
    assert "clFinish, call number 5,000" in text
    assert "101 of process 100" in text


def test_the_stack_of_python_is_without_its_interpreter() -> None:
    frames = ("a.py:3 in f (python)", "_cl.so+0x61", "call at call.c:299 (libpython3.11.so.1.0)", "main+0x7 (python3.11)")
    guilty = replace(FULL.diagnosis[0].guilty, host_stack=frames)  # type: ignore[type-var]
    text = render(replace(FULL, diagnosis=(replace(FULL.diagnosis[0], guilty=guilty),)), "terminal")
    assert "a.py:3 in f (python)\n    _cl.so+0x61\n" in text and "python3" not in text
    native = replace(guilty, host_stack=frames[1:])
    assert "main+0x7 (python3.11)" in render(replace(FULL, diagnosis=(replace(FULL.diagnosis[0], guilty=native),)), "terminal")


def test_the_stack_of_a_launch_is_named_as_such() -> None:
    assert DIAGNOSIS.guilty
    assert "Host stack of the launch, innermost first:" in render(FULL, "terminal")
    other = replace(DIAGNOSIS, guilty=replace(DIAGNOSIS.guilty, launch=None))
    assert "Host stack, innermost first:" in render(replace(FULL, diagnosis=(other,)), "terminal")


def test_a_launch_without_a_stack_gives_the_advice_once() -> None:
    assert DIAGNOSIS.guilty
    bare = replace(DIAGNOSIS, guilty=replace(DIAGNOSIS.guilty, host_stack=(), source=None))
    likely = replace(bare, status="likely")

    def advice(*entries: Diagnosis) -> int:
        return " ".join(render(replace(FULL, diagnosis=entries), "terminal").split()).count(WITH_STACKS)

    assert advice(DIAGNOSIS) == 0  # it has a stack
    assert advice(replace(DIAGNOSIS, guilty=replace(DIAGNOSIS.guilty, host_stack=()))) == 0  # its line is known
    assert advice(bare) == advice(bare, likely) == advice(DIAGNOSIS, likely) == 1
    assert advice(replace(DIAGNOSIS, guilty=None)) == 0
    assert advice(replace(bare, guilty=replace(DIAGNOSIS.guilty, launch=None, host_stack=()))) == 0  # no launch


@pytest.mark.parametrize(
    ("case", "line", "verdict"),
    [
        (
            PASSED,
            "no fault found in 5,214 calls, 120 launches. Not everything was recorded: 12 calls lost. case: /cases/one",
            "NO FAULT FOUND",
        ),
        (EMPTY, "no GPU API call was recorded. case: /cases/one", "NO GPU CALLS"),
        (
            BLIND,
            "gpudx could not watch this program. ./app is statically linked. case: /cases/one",
            "NOT WATCHED",
        ),
        (
            replace(PASSED, processes=FULL.processes * 2, findings=FULL.findings[2:]),
            "1 note in 10,428 calls, 240 launches (2 processes). Not everything was recorded: 12 calls lost, and 1 more gap, see gpudx "
            "report. case: /cases/one",
            "NO FAULT FOUND",
        ),
    ],
)
def test_a_pass_gives_one_line(case: Case, line: str, verdict: str) -> None:
    assert not needs_report(case)
    assert one_line(case) == line
    assert outline(case).verdict == verdict


def test_not_watched_is_one_line_after_a_pass_and_a_report_after_a_failure() -> None:
    unsure = replace(DIAGNOSIS, cause="recorder-not-loaded", status="inconclusive", guilty=None, victim=None)
    assert not needs_report(replace(BLIND, diagnosis=(unsure,)))
    failed = replace(BLIND, diagnosis=(unsure,), outcome=Outcome("exit", "Exited with status 3.", 3))
    assert needs_report(failed)
    assert outline(failed).verdict == "INCONCLUSIVE recorder-not-loaded"


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        (replace(FULL, diagnosis=()), "FAULTS SEEN"),
        (replace(FULL, diagnosis=(), findings=()), "NO CAUSE FOUND"),
        (replace(PASSED, findings=FULL.findings[1:2]), "PASSED"),
        (replace(FULL, diagnosis=(replace(DIAGNOSIS, status="likely"),)), "LIKELY value-is-not-a-handle"),
    ],
)
def test_verdicts_without_certainty(case: Case, verdict: str) -> None:
    assert needs_report(case)
    assert outline(case).verdict == verdict


def test_long_lists_are_cut_with_their_number() -> None:
    many = replace(FULL, findings=(FINDING,) * 25, diagnosis=(replace(DIAGNOSIS, guilty=None, fix=("one",)),))
    text = render(many, "terminal")
    assert "Findings: 25 errors" in text
    assert "and 15 more" in text
    assert DIAGNOSIS.guilty
    deep = replace(DIAGNOSIS.guilty, host_stack=tuple(f"frame {i}" for i in range(30)), argument=None, allocation=None)
    assert "... 18 more" in render(replace(FULL, diagnosis=(replace(DIAGNOSIS, guilty=deep),)), "terminal")


def poisoned() -> Case:
    """A case in which every text that may come from a program is hostile."""
    assert DIAGNOSIS.guilty and DIAGNOSIS.victim and DIAGNOSIS.victim.site
    guilty = replace(
        DIAGNOSIS.guilty, kernel=EVIL, value=EVIL, argument_name=EVIL, source=EVIL, host_stack=(EVIL,), call=EVIL
    )
    victim = replace(DIAGNOSIS.victim, description=EVIL, site=replace(DIAGNOSIS.victim.site, call=EVIL, kernel=EVIL))
    proof = (Evidence(EVIL, (), EVIL),)
    entry = replace(
        DIAGNOSIS, cause=EVIL, summary=EVIL, guilty=guilty, victim=victim, evidence=proof, fix=(EVIL, EVIL), reason=EVIL
    )
    return replace(
        FULL,
        command=(EVIL,),
        directory=EVIL,
        outcome=replace(FULL.outcome, summary=EVIL, fault_address=EVIL),
        instruments=(Instrument(EVIL, "live", EVIL, EVIL),),
        processes=(ProcessInfo(1, 1, EVIL, EVIL, 1, 1, (EVIL,), EVIL),),
        findings=(replace(FINDING, id=EVIL, message=EVIL, site=replace(FINDING.site, source=EVIL)),),  # type: ignore[type-var]
        diagnosis=(entry, entry),
        not_checked=(EVIL,),
    )


@pytest.mark.parametrize("format", ["terminal", "markdown"])
def test_nothing_from_the_program_reaches_the_reader_raw(format: str) -> None:
    text = render(poisoned(), format)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800-\udfff]", text)
    flat = re.sub(r"\s+", "", text).replace("\\\\", "\\")  # Markdown doubles the backslash
    assert "k\\x1b" in flat
    text.encode("utf-8")


def test_one_line_is_one_line() -> None:
    assert "\n" not in one_line(replace(PASSED, directory=EVIL))


def test_markdown_shows_text_and_nothing_else() -> None:
    text = render(poisoned(), "markdown")
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    assert "<script" not in outside
    assert "&lt;script&gt;" in outside
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (3, 4, 6) for line in outside.splitlines() if line[:1] == "|")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a*b_c`d", r"a\*b\_c\`d"),
        ("[x](http://y)", r"\[x\](http:&#47;&#47;y)"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("buffer #7 @team", r"buffer \#<!-- -->7 @<!-- -->team"),
        ("# head", r"\# head"),
        ("- item", "&#45; item"),
        ("12. item", "&#49;&#50;. item"),
        ("===", "&#61;=="),
        ("a|b", r"a\|b"),
        ("see www.x.y", "see www&#46;x.y"),
    ],
)
def test_markdown_escapes(raw: str, shown: str) -> None:
    assert escape(raw) == shown


def test_a_fence_cannot_be_closed_from_inside() -> None:
    assert DIAGNOSIS.guilty
    guilty = replace(DIAGNOSIS.guilty, host_stack=("````", "x"))
    assert "`````text\n````\nx\n`````" in render(
        replace(FULL, diagnosis=(replace(DIAGNOSIS, guilty=guilty),)), "markdown"
    )


def test_json_is_the_case() -> None:
    assert casefile.from_json(json.loads(render(FULL, "json"))) == FULL


def test_long_names_say_how_long_they_are() -> None:
    short = clean("kernel " + "k" * 5000 + " failed")
    assert len(short) < 230
    assert "(5,000_characters)" in short
    assert short.startswith("kernel kkk") and short.endswith("k failed")
    assert len(clean("word " * 10_000)) <= 4000
    assert len(full("k" * 5000)) == 5000
    assert clean("k" * 200) == "k" * 200


def test_hidden_characters_are_shown() -> None:
    assert clean("a\tb\nc\x00") == "a\\x09b\\x0ac\\x00"
    assert clean("\u202e\U000e0001\udcff") == "\\u202e\\U000e0001\\udcff"
    assert clean("naïve 名前") == "naïve 名前"


@pytest.mark.parametrize("width", [40, 80, 97, 98, 100, 110])
def test_tables_break_no_word_and_lose_none(width: int) -> None:
    path = "/home/someone/a-long-folder/with-a-program/main.py"
    cells = ("6094", f"/usr/bin/python {path} twin", "79", "1", "reached its exit handlers")
    table = Table(("process", "command", "calls", "launches", "ended"), (cells,))
    text = terminal.show(Outline("X", "bad", "Y", (Section("S", (table,)),)), Page(width))
    words = text.split()
    assert all(word in words for cell in cells for word in cell.split() if len(word) <= width - 12)
    assert all(len(line) <= max(width, len(path) + 12) for line in text.splitlines())


def test_a_report_without_a_cause_has_the_command_that_gets_further() -> None:
    """The same as the first screen's; not where a cause is known."""
    unknown = replace(FULL.diagnosis[0], cause="unexplained", status="inconclusive", guilty=None, victim=None)
    case = replace(FULL, diagnosis=(unknown,), findings=(), command=("./app",), directory="one")
    steps = "Run `gpudx investigate -- ./app`."
    assert steps in render(case, "terminal", Page(120))
    assert steps not in render(replace(FULL, command=("./app",)), "terminal", Page(120))
