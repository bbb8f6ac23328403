"""One redactor for all formats: secrets and home folders go, all else stays, and findings keep their names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import html_kit
import pytest
from sample_cases import DIAGNOSIS, FINDING, FULL

from gpudx import casefile
from gpudx.figures import draw
from gpudx.model import Case, Evidence
from gpudx.report import Page, formats, render
from gpudx.report.redact import GONE, redact, text

SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "x1" * 20,
    "hf_" + "AbCd" * 8,
    "sk-proj-" + "z9" * 20,
    "xoxb-1234567890-abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_1",
    "-----BEGIN RSA PRIVATE KEY----- MIIE -----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_by_their_look(secret: str) -> None:
    assert text(f"before {secret} after") == f"before {GONE} after"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("PASSWORD=hunter22 ./app", f"PASSWORD={GONE} ./app"),
        ('"api_key": "abc123"', f'"api_key": "{GONE}"'),
        ("HF_TOKEN=abcdef", f"HF_TOKEN={GONE}"),
        ("./app --token abcdef -v", f"./app --token {GONE} -v"),
        ("--api-key=abcdef", f"--api-key={GONE}"),
        ("Authorization: Bearer abcdefgh1234", "Authorization: Bearer " + GONE),
        ("https://me:secret@host/x", f"https://me:{GONE}@host/x"),
        ("/home/jane/src/a.c:3", "~/src/a.c:3"),
        ("open /Users/jane: no", "open ~: no"),
        ("cd /root", "cd ~"),
        ("/root/x", "~/x"),
        (r"C:\Users\jane\a.cu", r"~\a.cu"),
    ],
)
def test_secrets_and_homes(raw: str, shown: str) -> None:
    assert text(raw) == shown


@pytest.mark.parametrize(
    "plain",
    [
        "token_embedding<float, 4>",
        "kernel tokenize was launched with 12 tokens",
        "argument 1 (key) is 0x48000",
        "softmax_with_temperature at attention.cu:41",
        "/opt/rocm/lib/libamdhip64.so",
        "/data/home/x",
        "/rootfs/x",
        "sk-learn",
        "the default queue of thread 7; key: 3",
    ],
)
def test_what_is_no_secret_stays(plain: str) -> None:
    assert text(plain) == plain


def secretive() -> Case:
    """Secrets and a home folder in every kind of place."""
    secret, home = SECRETS[1], "/home/jane/work"
    finding = replace(FINDING, message=f"{secret} in {home}", facts=(("path", home),), because=secret)
    assert DIAGNOSIS.guilty
    best = replace(
        DIAGNOSIS,
        summary=f"{home}: {secret}",
        guilty=replace(DIAGNOSIS.guilty, source=f"{home}/a.c:1", host_stack=(f"main at {home}/a.c:1",)),
        evidence=(Evidence(secret, raw=f"{home}/raw.txt"),),
        findings=(finding.fingerprint,),
    )
    return replace(
        FULL,
        command=("./app", "--password", "hunter22", home),
        directory=home,
        findings=(finding,),
        diagnosis=(best,),
        not_checked=(secret,),
        environment={"DB_PASSWORD": "hunter22", "HOME": "/home/jane"},
    )


@pytest.mark.parametrize("format", sorted(formats()))
def test_no_format_shows_them(format: str) -> None:
    shown = render(redact(secretive()), format, Page())
    for word in ("jane", "hunter22", "ghp_"):
        assert word not in shown
    assert "hunter22" in render(secretive(), "json")


def test_findings_are_still_found_by_their_fingerprints() -> None:
    done = redact(secretive())
    assert done.findings[0].fingerprint in done.diagnosis[0].findings
    assert casefile.from_json(json.loads(render(done, "json"))) == done


def test_a_case_without_secrets_is_left_as_it_is() -> None:
    assert redact(FULL) == FULL


def test_drawings_too(tmp_path: Path, schema: str) -> None:
    case = html_kit.with_trace(tmp_path, schema, name=SECRETS[1])
    assert "ghp_" in html_kit.html(case)
    shown = render(redact(case), "html", Page(drawing=redact(draw(case)), files=None))
    assert "ghp_" not in shown and str(tmp_path) in shown
