"""A crash names the causes that other findings give for the very same call, object or launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudx.model import Finding

SHARED = ("kernel_object", "null_handle")  # details that tie findings together
CRASHES = ("crash-in-call", "crash-outside-calls")


def with_causes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, crashes with the causes that fit them before their own."""
    errors = [f for f in findings if f.severity == "error" and f.id not in CRASHES]
    return [replace(f, causes=_causes(f, errors)) if f.id in CRASHES else f for f in findings]


def _causes(crash: Finding, errors: Sequence[Finding]) -> tuple[str, ...]:
    related = [cause for f in errors if _about_same(crash, f) for cause in f.causes]
    return tuple(dict.fromkeys([*related, *crash.causes]))


def _about_same(crash: Finding, other: Finding) -> bool:
    calls = {s.number for s in ((crash.site,) if crash.site else crash.others)}
    theirs = {s.number for s in (other.site, *other.others) if s}
    same = (
        crash.details.get(name) not in (None, "") and crash.details[name] == other.details.get(name) for name in SHARED
    )
    return bool(calls & theirs) or any(same)
