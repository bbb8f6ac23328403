"""Every kind of case is rendered in every format: none may end in a traceback, and each names its verdict."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from sample_cases import BLIND, EMPTY, FULL, PASSED
from support import valid
from test_heat_map import SEVERAL

from gpudx import casefile
from gpudx.investigate.conclude import conclude
from gpudx.investigate.loop import CONFIDENCE, Limits, investigate
from gpudx.model import Case, Evidence, Finding, Instrument, Investigation, Outcome
from gpudx.model.bisection import Bisection, Tried
from gpudx.model.rates import Rate
from gpudx.model.verification import Count, Judgement, Question, Trial, Verification
from gpudx.report import Page, formats, render, streamed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "diagnose"))
from fake_lab import FakeLab, suggests


def _investigated() -> Case:
    lab = FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests("kernel-shared-by-threads"),))
    return conclude(FULL, investigate(Investigation(CONFIDENCE), lab, Limits(300)))


QUESTION = Question({"before": ("./old",), "after": ("./new",)}, "/work", 0.99)
TRIALS = (Trial("before", 1, "exit:1", (), "It failed."), Trial("after", 1, "passed"))
COUNTS = (Count("before", 7, 7, 0, Rate(7, 7).interval(0.99)), Count("after", 7, 0, 0, Rate(0, 7).interval(0.99)))
FIX = Judgement("a fix", "It failed before in 7 of 7 runs.", ("7 rounds were needed.",), COUNTS)
BISECTED = Bisection(
    "a" * 40,
    "b" * 40,
    "value-is-not-a-handle in clSetKernelArg (exit:1)",
    ("f",),
    (Tried("b" * 40, "New layout", "bad", "signal:SIGSEGV", 1, 1), Tried("a" * 40, "Old", "good", "passed", 1)),
    "b" * 40,
    "New layout",
    (),
    "The first revision with this failure is known.",
)
LOG = replace(
    EMPTY,
    outcome=Outcome("not started", "1 line read."),
    instruments=(Instrument("log train.txt", "live", "1 line"),),
    findings=(Finding("cuda-error", "error", "The device ran out of memory.", (Evidence("line 1"),)),),
)
KINDS = {
    "a run that failed": FULL,
    "a run that passed": PASSED,
    "a run without GPU calls": EMPTY,
    "a run without the recorder": BLIND,
    "an investigation": _investigated(),
    "an investigation that found nothing": replace(
        PASSED,
        investigation=Investigation(CONFIDENCE, stopped="the failure did not reproduce", reason="5 runs passed."),
    ),
    "a flake study": SEVERAL,
    "a flake study without a failure": replace(SEVERAL, flake=replace(SEVERAL.flake, results=(), quiet="All passed.")),  # type: ignore[type-var]
    "a verification": replace(PASSED, verification=Verification(QUESTION, TRIALS, FIX)),
    "a verification that was stopped": replace(FULL, verification=Verification(QUESTION, TRIALS)),
    "a bisection": replace(FULL, bisection=BISECTED),
    "a bisection without a result": replace(FULL, bisection=replace(BISECTED, first_bad=None, candidates=("c" * 40,))),
    "a log": LOG,
}
TEXTS = sorted(set(formats()) - set(streamed()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", TEXTS)
def test_a_kind_in_a_format(kind: str, form: str) -> None:
    text = render(KINDS[kind], form, Page())
    assert text.strip() or (form == "lines" and not KINDS[kind].findings)  # one line for each finding
    if form == "junit":
        ET.fromstring(text.encode())
    if form in ("json", "sarif"):
        json.loads(text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_written_and_read_back(kind: str, tmp_path: Path) -> None:
    case = KINDS[kind]
    casefile.write(case, tmp_path)
    assert casefile.read(tmp_path) == case
    valid.check(casefile.to_json(case))


def test_the_verdict_of_comparisons_comes_first() -> None:
    assert render(KINDS["a verification"], "terminal").startswith("gpudx: A FIX\n")
    assert render(KINDS["a bisection"], "terminal").startswith(f"gpudx: FIRST BAD REVISION {'b' * 12}\n")
    assert ET.fromstring(render(KINDS["a verification"], "junit"))[0].get("failures") == "0"
