"""JUnit XML, for CI systems that show tests: how the program ended, and one test for each fault that was found.

There is no standard; written is what Jenkins, GitLab and pytest have in common. A run that was not watched is an error, not a
pass. Warnings and notes are no failures: they stand in the output of the first test.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from gpudx.model import Case, Finding
from gpudx.report import Page
from gpudx.report.blocks import in_words
from gpudx.report.outline import outline
from gpudx.report.safe import clean
from gpudx.report.terminal import show

WIDTH = 100


def render(case: Case, page: Page) -> str:
    """The case as one test suite."""
    errors = [finding for finding in case.findings if finding.severity == "error"]
    suite = ET.Element("testsuite", name=clean(f"gpudx {' '.join(case.command)}"))
    _program(suite, case, page)
    for finding in errors:
        _fault(suite, finding)
    _instruments(suite, case)
    for count in ("failure", "error"):
        suite.set(f"{count}s", str(len(suite.findall(f"./testcase/{count}"))))
    suite.set("tests", str(len(suite.findall("./testcase"))))
    suite.set("skipped", "0")
    suite.set("time", f"{case.outcome.duration_s:.3f}")
    suite.set("timestamp", clean(case.created)[:19])
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"


def _program(suite: ET.Element, case: Case, page: Page) -> None:
    """How it ended, with the whole report."""
    made = in_words(outline(case, language=page.language))
    text = show(made, Page(WIDTH))
    test = ET.SubElement(
        suite, "testcase", classname="gpudx", name="the program", time=f"{case.outcome.duration_s:.3f}"
    )
    if not case.outcome.passed:
        ET.SubElement(test, "failure", type=made.verdict, message=made.headline).text = text
    else:
        ET.SubElement(test, "system-out").text = text


def _fault(suite: ET.Element, finding: Finding) -> None:
    name = clean(f"{finding.id} {finding.fingerprint}")
    test = ET.SubElement(suite, "testcase", classname="gpudx.faults", name=name, time="0.000")
    source = finding.site.source if finding.site else None
    if source and source.rpartition(":")[2].isdecimal():
        test.set("file", clean(source.rpartition(":")[0]))
        test.set("line", source.rpartition(":")[2])
    seen = "\n".join(f"- {clean(evidence.text)}" for evidence in finding.evidence)
    ET.SubElement(test, "failure", type=clean(finding.id), message=clean(finding.message)).text = seen


def _instruments(suite: ET.Element, case: Case) -> None:
    for one in case.instruments:
        if one.failed:
            test = ET.SubElement(suite, "testcase", classname="gpudx.instruments", name=clean(one.name), time="0.000")
            ET.SubElement(test, "error", type="not watched", message=clean(one.saw))
