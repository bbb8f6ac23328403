"""Files that are a tool's own report from beginning to end: a core dump of the device, the XML of compute-sanitizer.

They are read by their own parsers, and become one log among others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpudx.evidence import compute_sanitizer, cuda_coredump
from gpudx.evidence._cuda_exceptions import EXCEPTIONS, PREFIX
from gpudx.evidence._head import head_of
from gpudx.evidence._sanitizer_xml import ROOT
from gpudx.evidence.logs import _next
from gpudx.evidence.logs import compute_sanitizer as in_logs
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._fold import Log, Told
from gpudx.evidence.logs.cuda_debugger import cause_of
from gpudx.model import Finding


def read_whole(path: Path) -> Log | None:
    """The file as a log; None where it is none of these. UserError where it is one and cannot be read."""
    if not path.is_file():
        return None
    head = head_of(path)
    if cuda_coredump.sniff(head) > 0:
        return _log(path, _dump(path))
    if f"<{ROOT}".encode() in head[:4096]:
        return _log(path, in_logs.events(compute_sanitizer.read(path)))
    return None


def _log(path: Path, events: Iterator[Event]) -> Log:
    return Log(path.name, 0, path.stat().st_size, tuple(Told(event, last=event.line) for event in events))


def _dump(path: Path) -> Iterator[Event]:
    dump = cuda_coredump.read(path)
    for fault, finding in zip(dump.faults, cuda_coredump.to_findings(dump), strict=True):
        code = next((code for code, (name, _) in EXCEPTIONS.items() if PREFIX + name == fault.exception), 0)
        yield _event(finding, cause_of(code))


def _event(finding: Finding, cause: str) -> Event:
    return Event(
        kind="device-exception",
        role="fault",
        message=finding.message,
        causes=(cause,),
        next=_next.SANITIZE,
        finding=finding,
        quote=finding.evidence[0].text,
        format=cuda_coredump.FORMAT,
    )
