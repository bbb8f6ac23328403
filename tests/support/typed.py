"""The typed parts of a finding, for assertions: each of these fails where the finding has none."""

from __future__ import annotations

from gpudx.model import Access, Finding, Interval, OrderPair, Written


def label(finding: Finding) -> str | None:
    """Of the memory concerned."""
    return finding.allocation.id if finding.allocation else None


def size(finding: Finding) -> int | None:
    return finding.allocation.size if finding.allocation else None


def access(finding: Finding) -> Access:
    assert finding.access is not None, finding
    return finding.access


def interval(finding: Finding) -> Interval:
    assert finding.symptom is not None and finding.symptom.interval is not None, finding
    return finding.symptom.interval


def decoded(finding: Finding) -> str:
    assert finding.symptom is not None, finding
    return finding.symptom.decoded


def pair(finding: Finding) -> OrderPair:
    assert finding.pair is not None, finding
    return finding.pair


def written(finding: Finding) -> Written:
    assert finding.written is not None, finding
    return finding.written


def fact(finding: Finding, name: str) -> str:
    return dict(finding.facts)[name]


def beyond(finding: Finding) -> int:
    """Bytes beyond the end of the memory."""
    one = access(finding)
    return (one.offset or 0) + (one.width or 0) - (size(finding) or 0)


def distance(finding: Finding) -> int:
    """Bytes between the memory and an access beside it."""
    offset = access(finding).offset or 0
    return -(offset + (access(finding).width or 0)) if offset < 0 else offset - (size(finding) or 0)


def leader(finding: Finding) -> int | None:
    """The line of a log that a finding follows."""
    return follows[1] if (follows := written(finding).follows) else None
