"""The wording of cases that compare builds or revisions of a program: `gpudx verify` and `gpudx bisect`."""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.model import Case
from gpudx.model.bisection import Bisection
from gpudx.model.verification import Verification
from gpudx.report.blocks import Bullets, Paragraph, Section, Table
from gpudx.report.verdict import Tone

SHORT = 12  # characters of a revision's name


def verdict(case: Case) -> tuple[str, Tone, str] | None:
    """What stands on top; None for other cases."""
    if case.verification:
        return _verified(case.verification)
    if case.bisection:
        return _bisected(case.bisection)
    return None


def sections(case: Case) -> Iterator[Section]:
    """The counts behind the verdict."""
    if case.verification and case.verification.judgement:
        judged = case.verification.judgement
        rows = tuple(
            (
                c.condition,
                f"{c.old} of {c.runs}",
                f"{c.other} of {c.runs}",
                f"{c.interval.low:.1%} to {c.interval.high:.1%}",
            )
            for c in judged.counts
        )
        sure = f"failure rate ({100 * case.verification.question.confidence:g}% confidence)"
        blocks = (Table(("condition", "failed", "failed otherwise", sure), rows), Bullets(judged.because))
        yield Section("Before and after the change", blocks)
    if case.bisection:
        tried = tuple((t.revision[:SHORT], t.verdict, f"{t.failed} of {t.runs}", t.why) for t in case.bisection.tried)
        yield Section("Revisions", (Table(("revision", "verdict", "failed", "why"), tried),))
    if (case.verification or case.bisection) and case.diagnosis:
        yield Section("The failure", (Paragraph(case.diagnosis[0].summary),))


def _verified(state: Verification) -> tuple[str, Tone, str]:
    if state.judgement is None:
        return "NOT FINISHED", "unsure", f"The verification was stopped after {len(state.trials)} runs."
    tone: Tone = "good" if state.judgement.answer == "a fix" else "bad"
    return (
        state.judgement.answer.upper(),
        "unsure" if state.judgement.answer == "inconclusive" else tone,
        state.judgement.summary,
    )


def _bisected(state: Bisection) -> tuple[str, Tone, str]:
    if state.first_bad:
        head = f"FIRST BAD REVISION {state.first_bad[:SHORT]}"
        return head, "bad", f"{state.title}. {state.failure}. {state.ended}"
    left = ", ".join(one[:SHORT] for one in state.candidates)
    return "NOT SETTLED", "unsure", f"{state.failure}. {state.ended}" + (f" Candidates: {left}." if left else "")
