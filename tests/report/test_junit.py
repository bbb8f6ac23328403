"""JUnit XML: one test for the program, one for each fault, one for what was not watched."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from sample_cases import BLIND, FULL, PASSED
from test_report import poisoned

from gpudx.model import Case
from gpudx.report import render


def suite(case: Case) -> ET.Element:
    root = ET.fromstring(render(case, "junit").encode())
    (one,) = root
    assert one.get("tests") == str(len(one)) and one.get("failures") == str(len(one.findall("./testcase/failure")))
    return one


def test_a_failure_carries_the_report() -> None:
    program, fault = suite(FULL)
    failure = program.find("failure")
    assert failure is not None and failure.get("type") == "CONFIRMED value-is-not-a-handle"
    assert "How we know" in (failure.text or "")
    assert (fault.get("file"), fault.get("line")) == ("gpu.c", "212")


def test_a_pass_has_no_failure_and_not_watched_is_an_error() -> None:
    assert suite(PASSED).get("failures") == "0"
    blind = suite(BLIND)
    assert (blind.get("errors"), blind.get("failures")) == ("1", "0")


def test_hostile_names_stay_text() -> None:
    text = render(poisoned(), "junit")
    ET.fromstring(text.encode())
    assert "<script" not in text and "\x1b" not in text
