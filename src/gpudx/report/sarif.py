"""SARIF 2.1.0 (OASIS), for code scanning: one result for each finding, and for each diagnosis that stands on none.

A rule is a detector or a cause; its help is their own page. What could not be checked is a notification, and an instrument
that was not there makes the invocation unsuccessful: an empty list of results is not "clean" by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from gpudx.model import Case, Diagnosis, Finding, Guilty, Site
from gpudx.model.fingerprint import ALGORITHM, fingerprint
from gpudx.report import Page
from gpudx.report.languages import spoken
from gpudx.report.safe import clean
from gpudx.report.verdict import VERDICTS

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
STATUS_LEVELS = {"confirmed": "error", "likely": "warning", "inconclusive": "note"}
PLACE = re.compile(r"(?:.* at )?(?P<file>[^\s:]+):(?P<line>[1-9]\d{0,8})(?: .*)?")
EXPLAINS = True
MOST_RESULTS = 5000  # what GitHub takes in one upload

Json = dict[str, Any]


def render(case: Case, page: Page) -> str:
    """The case as one SARIF run."""
    results = [*_findings(case, page), *_diagnoses(case, page)][:MOST_RESULTS]
    ids = dict.fromkeys(result["ruleId"] for result in results)
    driver = {
        "name": "gpudx",
        "version": case.version,
        "rules": [_rule(one, page) for one in ids],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(case)],
        "results": results,
        "properties": {"fingerprint": fingerprint(case)},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(name: str, page: Page) -> Json:
    rule: Json = {"id": name, "name": "".join(word.capitalize() for word in re.split(r"\W+", name))}
    known = page.rules.get(name)
    if known:
        rule |= {"shortDescription": {"text": spoken(known.title, page.language)}, "help": {"text": known.text}}
    return rule


def _findings(case: Case, page: Page) -> Iterator[Json]:
    for finding in case.findings:
        entry = next((one for one in case.diagnosis if finding.fingerprint in one.findings), None)
        yield {
            "ruleId": clean(finding.id),
            "level": LEVELS[finding.severity],
            "message": _message(_told(finding, entry, page)),
            "occurrenceCount": max(finding.count, 1),
            "partialFingerprints": {
                "gpudxFinding/v1": finding.fingerprint,
                f"gpudxCase/v{ALGORITHM}": fingerprint(case),
            },
            **_where(finding.site, finding.others),
        }


def _told(finding: Finding, entry: Diagnosis | None, page: Page) -> str:
    language = page.language
    verdict = [f"{_verdict(entry, language)}:"] if entry else []
    seen = [f"{evidence.text.rstrip('.')}." for evidence in finding.evidence[:5]]
    fix = entry.fix if entry else ()
    advice = [spoken("What to do:", language), *(spoken(step, language) for step in fix)] if fix else []
    return " ".join([*verdict, finding.message, spoken("How we know:", language), *seen, *advice])


def _verdict(entry: Diagnosis, language: str) -> str:
    return f"{spoken(VERDICTS[entry.status], language)} {entry.cause}"


def _diagnoses(case: Case, page: Page) -> Iterator[Json]:
    known = {finding.fingerprint for finding in case.findings}
    for entry in case.diagnosis:
        if entry.status == "refuted" or known & set(entry.findings):
            continue
        yield {
            "ruleId": clean(entry.cause),
            "level": STATUS_LEVELS[entry.status],
            "message": _message(f"{_verdict(entry, page.language)}: {entry.summary} {entry.reason}".rstrip()),
            "partialFingerprints": {f"gpudxCase/v{ALGORITHM}": fingerprint(case)},
            **_where(entry.guilty, ()),
        }


def _message(text: str) -> Json:
    """Plain text: brackets would be links, backslashes their escapes (SARIF 2.1.0, 3.11.6)."""
    return {"text": re.sub(r"([\\\[\]])", r"\\\1", clean(text))}


# ---- where ----


def _where(site: Site | Guilty | None, others: tuple[Site, ...]) -> Json:
    if site is None:
        return {}
    found: Json = {"locations": [_location(site)]}
    if site.host_stack:
        frames = [{"location": _frame(frame)} for frame in site.host_stack]
        found["stacks"] = [{"message": {"text": "Host stack, innermost first"}, "frames": frames}]
    if others:
        found["relatedLocations"] = [{"id": number, **_location(one)} for number, one in enumerate(others, start=1)]
    return found


def _location(site: Site | Guilty) -> Json:
    """The line of the source, as far as it is known; the call and the kernel by name."""
    names = dict.fromkeys(clean(name) for name in (site.call, site.kernel) if name)
    logical = [{"name": name, "kind": "function"} for name in names]
    place = next(filter(None, map(_physical, [site.source or "", *site.host_stack])), None)
    number = f", call number {site.number:,}" if site.number is not None else ""
    located = {"physicalLocation": place} if place else {}
    return {**located, "logicalLocations": logical, "message": _message(f"{site.call}{number}")}


def _frame(text: str) -> Json:
    place = _physical(text)
    return {"message": _message(text), **({"physicalLocation": place} if place else {})}


def _physical(text: str) -> Json | None:
    match = PLACE.fullmatch(clean(text))
    if match is None:
        return None
    file = match["file"]
    uri = ("file://" if file.startswith("/") else "") + quote(file)
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": int(match["line"])}}


# ---- the run ----


def _invocation(case: Case) -> Json:
    blind = [f"{one.name} did not work. {one.saw}" for one in case.instruments if one.failed]
    notes = [*blind, *case.not_checked, *(gap for process in case.processes for gap in process.gaps)]
    outcome = case.outcome
    ended = {"exitCode": outcome.exit_code, "exitSignalName": outcome.signal}
    return {
        "executionSuccessful": not blind,
        "exitCodeDescription": clean(outcome.summary),
        "arguments": [clean(word) for word in case.command[1:]],
        **{name: value for name, value in ended.items() if value is not None},
        "toolExecutionNotifications": [
            {"level": "warning" if note in blind else "note", "message": _message(note)} for note in notes
        ],
    }
