"""A crash names the causes that other findings give for the same call, object or launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudx.model import Finding

CRASHES = ("crash in call", "crash")


def null_tie(kind: str) -> str:
    """The tie of a null handle: the call that should have made it failed, and another one was given it."""
    return f"null {kind}"


def with_causes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, crashes with the causes that fit them before their own."""
    errors = [f for f in findings if f.severity == "error" and not _is_crash(f)]
    return [replace(f, causes=_causes(f, errors)) if _is_crash(f) else f for f in findings]


def _is_crash(finding: Finding) -> bool:
    return finding.symptom is not None and finding.symptom.kind in CRASHES


def _causes(crash: Finding, errors: Sequence[Finding]) -> tuple[str, ...]:
    related = [cause for f in errors if _about_same(crash, f) for cause in f.causes]
    return tuple(dict.fromkeys([*related, *crash.causes]))


def _about_same(crash: Finding, other: Finding) -> bool:
    calls = {s.number for s in ((crash.site,) if crash.site else crash.others)}
    theirs = {s.number for s in (other.site, *other.others) if s}
    return bool(calls & theirs) or bool({*crash.ties} & {*other.ties})
