"""The wording for what users stated: contracts that were checked, and hypotheses with their verdicts."""

from __future__ import annotations

from collections import Counter

from gpudx.model import Case, Evidence, Finding, Verdict
from gpudx.report.blocks import Block, Bullets, Outline, Paragraph, Section
from gpudx.report.verdict import Tone
from gpudx.text import capital, plural

BROKEN = "contract-violated"


def contracts(case: Case) -> Outline:
    """What `gpudx check` says: the case has nothing but the findings of contracts, and their instrument."""
    (checked,) = case.instruments
    broken = [finding for finding in case.findings if finding.id == BROKEN]
    rest = [finding.message for finding in case.findings if finding.id != BROKEN]
    verdict, tone = _verdict(bool(broken), bool(rest))
    sections = [Section(finding.message, _proof(finding)) for finding in broken]
    if rest:
        sections.append(Section("Not checked", (Bullets(tuple(rest)),)))
    return Outline(verdict, tone, checked.saw, tuple(sections))


def _verdict(broken: bool, incomplete: bool) -> tuple[str, Tone]:
    if broken:
        return "CONTRACT BROKEN", "bad"
    return ("NOT ALL CHECKED", "unsure") if incomplete else ("CONTRACTS HOLD", "good")


def _proof(finding: Finding) -> tuple[Block, ...]:
    source = [f"launched at {finding.site.source}"] if finding.site and finding.site.source else []
    times = [f"broken at {plural(finding.count, 'launch', 'launches')}"] if finding.count > 1 else []
    return (Bullets((*map(_fact, finding.evidence), *times, *source)),)


def hypotheses(case: Case) -> Outline:
    """What `gpudx hypotheses` says."""
    counts = Counter(one.status for one in case.hypotheses)
    told = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    tone: Tone = "bad" if counts["confirmed"] else "unsure"
    sections = tuple(Section(f"{one.status.upper()}: {one.hypothesis.cause}", _blocks(one)) for one in case.hypotheses)
    return Outline("HYPOTHESES", tone, f"{plural(len(case.hypotheses), 'hypothesis', 'hypotheses')}: {told}.", sections)


def _blocks(verdict: Verdict) -> tuple[Block, ...]:
    claim = verdict.hypothesis.summary.strip().rstrip(".")
    expected = "; ".join(one.text for one in verdict.hypothesis.predicts)
    left_out = tuple(f"Not counted: {_fact(one)}" for one in verdict.not_counted)
    items = (*map(_fact, verdict.counted), *left_out)
    text = (Paragraph(f"{capital(claim)}. {verdict.reason}"), Paragraph(f"Expected: {expected}."))
    return (*text, Bullets(items)) if items else text


def section(case: Case) -> Section:
    """The same in short, for the report of a case."""
    lines = (f"{one.status}: {one.hypothesis.cause}. {one.reason}" for one in case.hypotheses)
    return Section("Your hypotheses", (Bullets(tuple(lines)),) if case.hypotheses else ())


def _fact(evidence: Evidence) -> str:
    return evidence.text
