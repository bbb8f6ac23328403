"""Faults that AMD's runtime printed with the page: why the access went there, and the wave of its debug agent that made it.

A page and a wave are one fault: the wave has the access, the page only where. Some reasons for an access do not depend on the bytes within
the page: that the buffer is too small for the sizes that the launch was passed, that a 32-bit index overflowed, that a number has an upper
half which nobody passed, and that the length of a row was passed in bytes. The latter two say what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpudx.diagnose.explained import PAGE, explained
from gpudx.facts import Facts
from gpudx.model import Finding

PRINTED, WAVE = "device-fault-printed", "device-fault"  # detectors/device_fault_printed.py, wave_faults.py
BY_PAGE = ("undersized-buffer", "index-overflow")


def with_reasons(found: Iterable[Finding], processes: Sequence[Facts]) -> Iterator[Finding]:
    """The findings, a page outside a buffer with the sizes or the index that led there."""
    for finding in found:
        if finding.id == PRINTED and finding.attribution == "this":
            (told,) = explained((finding,), processes)
            yield told if told.causes and (told.causes[0] in BY_PAGE or told.steps != finding.steps) else finding
        else:
            yield finding


def one_fault(found: Sequence[Finding], dumped: Sequence[Finding]) -> Iterator[Finding]:
    """All findings, but for a page that the runtime printed and that a wave has the very access of: it is that wave's evidence."""
    printed = {finding.pid: finding for finding in found if finding.id == PRINTED}
    better = {finding.pid for finding in dumped if _is_access_of(finding, printed.get(finding.pid))}
    yield from (finding for finding in found if not (finding.id == PRINTED and finding.pid in better))
    for finding in dumped:
        also = printed[finding.pid].evidence[:1] if finding.pid in better and finding.id == WAVE else ()
        yield replace(finding, evidence=(*finding.evidence, *also))


def _is_access_of(wave: Finding, printed: Finding | None) -> bool:
    """Is the wave's access in the page, and its launch known as well as the page's?"""
    if printed is None or wave.id != WAVE or wave.access is None or printed.access is None:
        return False
    at, page = wave.access.address, printed.access.address
    same = at is not None and page is not None and page <= at < page + PAGE
    return same and (wave.attribution == "this" or printed.attribution != "this")
