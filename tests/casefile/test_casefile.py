"""case.json: written whole, read back equal, and refused with one clear sentence."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from sample_cases import BLIND, EMPTY, FINDING, FULL, PASSED
from support import valid

import gpudx
from gpudx import casefile
from gpudx.diagnose import diagnose
from gpudx.errors import UserError
from gpudx.model import Allocation, Case, Interval, Outcome, Symptom
from gpudx.model.fields import LATER
from gpudx.model.how import How, KernelChecks, Ways

PACKAGE = Path(gpudx.__file__).parent
MEMORY = Allocation("buffer #7", 4096, "freed", 0x7F0000000000, FINDING.site, FINDING.site)
TOOL = Path(__file__).resolve().parents[2] / "tools/case_schema.py"


def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((PACKAGE / "case.schema.json").read_text())
    return loaded


@pytest.mark.parametrize("case", [FULL, PASSED, EMPTY, BLIND])
def test_what_is_written_is_read_back(case: Case, tmp_path: Path) -> None:
    path = casefile.write(case, tmp_path)
    assert casefile.read(tmp_path) == case
    assert casefile.read(path) == case
    assert [entry.name for entry in tmp_path.iterdir()] == ["case.json"]


@pytest.mark.parametrize("case", [FULL, PASSED, EMPTY, BLIND])
def test_written_cases_are_valid_and_complete(case: Case) -> None:
    data = casefile.to_json(case)
    valid.check(data)
    first = {field.name for field in fields(Case) if field.metadata != LATER}
    assert set(data) == {field.name for field in fields(Case)} | {"fingerprint"} and first == set(
        schema()["$defs"]["Case"]["required"]
    )


def test_the_schema_file_is_current() -> None:
    assert subprocess.run([sys.executable, TOOL, "--check"]).returncode == 0


def test_the_schema_refuses_what_is_no_case() -> None:
    data = casefile.to_json(FULL)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "schema": "gpudx.case/2"}, schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "findings": [{"id": "x"}]}, schema())


def test_findings_carry_their_fingerprint() -> None:
    data: Any = casefile.to_json(FULL)
    assert data["findings"][0]["fingerprint"] == FINDING.fingerprint
    assert data["diagnosis"][0]["findings"] == [FINDING.fingerprint]


def test_odd_values_become_valid_json(tmp_path: Path) -> None:
    outcome = replace(FULL.outcome, exit_code=np.int64(7), duration_s=np.float32(0.5))  # type: ignore[arg-type]
    case = replace(FULL, outcome=outcome, command=("caf\udce9", "\x1b[31m"))
    casefile.write(case, tmp_path)
    back = casefile.read(tmp_path)
    assert (back.outcome.exit_code, back.outcome.duration_s) == (7, 0.5)
    assert casefile.encode({"nan": float("nan"), "inf": float("inf")}) == {"nan": "nan", "inf": "inf"}
    assert back.command == ("caf\\xe9", "\x1b[31m")


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    data: Any = casefile.to_json(FULL)
    data["later"] = 1
    data["outcome"]["later"] = 2
    (tmp_path / "case.json").write_text(json.dumps(data))
    assert casefile.read(tmp_path) == FULL


def test_writing_a_stranger_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="object has no place"):
        casefile.to_text(replace(FULL, environment={"x": object()}))  # type: ignore[dict-item]


TEXT = casefile.to_text(FULL)


def altered(**changes: object) -> str:
    return json.dumps({**casefile.to_json(FULL), **changes})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (TEXT[: len(TEXT) // 2], "ends in the middle"),
        ("", "ends in the middle"),
        ("{'x': 1}", "not valid JSON"),
        ("[" * 100_000 + "]" * 100_000 + "}", "not valid JSON"),
        ("{}", "not a gpudx case"),
        ("[1]", "not a gpudx case"),
        ('{"schema": "other/1"}', "not a gpudx case"),
        ('{"schema": "gpudx.case/x"}', "not a gpudx case"),
        ('{"schema": 1}', "not a gpudx case"),
        (altered(schema="gpudx.case/2"), "newer gpudx"),
        ('{"schema": "gpudx.case/1"}', "damaged"),
        (altered(outcome=None), "case.outcome should be an object"),
        (altered(outcome={"kind": "lost", "summary": ""}), "case.outcome.kind should be"),
        (altered(command="x"), "case.command should be a list"),
        (altered(version=1), "case.version should be str"),
        (altered(environment=[]), "case.environment should be an object"),
        (altered(findings=[{"id": "a", "severity": "error", "message": "m", "evidence": []}]), "without evidence"),
    ],
)
def test_a_bad_file_gives_one_sentence(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text(content)
    with pytest.raises(UserError, match=says) as caught:
        casefile.read(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pairs_must_be_pairs(tmp_path: Path) -> None:
    data: Any = casefile.to_json(FULL)
    data["findings"][0]["facts"] = [["one"]]
    (tmp_path / "case.json").write_text(json.dumps(data))
    with pytest.raises(UserError, match="should have 2 entries"):
        casefile.read(tmp_path)


def test_missing_and_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="no case at"):
        casefile.read(tmp_path)
    with pytest.raises(UserError, match="no case at"):
        casefile.read(tmp_path / "nowhere")
    (tmp_path / "case.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a gpudx case"):
        casefile.read(tmp_path)
    (tmp_path / "case.json").unlink()
    (tmp_path / "case.json").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        casefile.read(tmp_path)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(UserError, match="cannot be read"):
        casefile.read(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("number", "says"), [(errno.ENOSPC, "no room"), (errno.EROFS, "no permission"), (errno.EIO, "cannot be written")]
)
def test_a_write_that_fails_leaves_the_old_file(
    number: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    casefile.write(PASSED, tmp_path)

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match=says):
        casefile.write(FULL, tmp_path)
    assert casefile.read(tmp_path) == PASSED
    assert [entry.name for entry in tmp_path.iterdir()] == ["case.json"]


def test_no_room_for_real(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(UserError, match="no room"):
            casefile.write(FULL, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--case DIR"):
        casefile.write(FULL, tmp_path / "gone")


# ---- cases of earlier versions, and large ones ----


def test_cases_with_free_details_are_still_read(tmp_path: Path) -> None:
    """Findings once had the label of an allocation, and a free object of details; runs, a phrase for how they were made."""
    data: Any = casefile.to_json(FULL)
    for finding in data["findings"]:
        for name in ("scope", "certainty", "attribution", "symptom", "access"):
            finding.pop(name, None)
    data["findings"][0] |= {"allocation": "buffer #7", "details": {"allocation_size": 4096, "state": "freed", "x": 1}}
    told = {
        "ended_before": 4,
        "launches": 2,
        "single": True,
        "cause": "x",
        "short": None,
        "missing": None,
        "followers": 3,
    }
    data["findings"][1] |= {"id": "device-error-reported", "details": told}
    data["observations"] = [
        {"experiment": "memcheck and serialised", "outcome": "passed", "reproduced": 0, "runs": 1, "note": ""}
    ]
    valid.check(data)
    (tmp_path / "case.json").write_text(json.dumps(data))
    back = casefile.read(tmp_path)
    assert back.findings[0].allocation == Allocation("buffer #7", 4096, "freed")
    assert back.findings[1].scope == "symptom" and back.findings[1].symptom == Symptom(
        "device error", interval=Interval(2, 4, single=True, followers=3, cause="x")
    )
    assert back.findings[0].fingerprint == FULL.findings[0].fingerprint
    assert back.observations[0].ways == Ways(check="memcheck", serialise=True)


@pytest.mark.parametrize("outcome", [Outcome("passed", "It ended.", 0), Outcome("exit", "It failed.", 1)])
def test_a_case_grows_with_its_findings_and_no_faster(outcome: Outcome) -> None:
    def written(count: int) -> int:
        found = [replace(FINDING, facts=(("number", str(n)),), allocation=MEMORY) for n in range(count)]
        case = replace(FULL, outcome=outcome, findings=tuple(found), diagnosis=diagnose(found, outcome))
        return len(casefile.to_text(case))

    assert written(800) < 3 << 20
    assert written(800) - written(600) < 1.2 * (written(600) - written(400))


def test_the_options_of_a_run_with_some_checks_name_these() -> None:
    """A command that is suggested must give the same run: --sanitize=opencl makes other checks than --sanitize=nan."""
    assert How(kernel_checks=KernelChecks(frozenset({"nan"}), named="nan")).ways.options == ("--sanitize=nan",)
    assert How(kernel_checks=KernelChecks(frozenset({"bounds"}))).ways.options == ("--sanitize=opencl",)
