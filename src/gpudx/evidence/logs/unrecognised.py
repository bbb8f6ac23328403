"""Lines that read like a failure and that no format knows. They are shown only where nothing else was recognised in the log.

Nothing is claimed about them: they are what a person would look at first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs._event import NOT_UNDERSTOOD, Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs.gpu_status import CODELIKE

FORMAT = "unrecognised"
GENERIC = 3
ANY_CASE = True
MARKS = (
    "error",
    "fail",
    "fatal",
    "fault",
    "abort",
    "crash",
    "exception",
    "panic",
    "assert",
    "timeout",
    "timed out",
    "hang",
    "hung",
    "stuck",
    "deadlock",
    "corrupt",
    "invalid",
    "illegal",
    "unable to",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "not found",
    "denied",
    "killed",
    "violation",
    "out of memory",
    "out of range",
    "overflow",
    "mismatch",
    "wrong",
    "incorrect",
    "nan ",
    "backtrace",
    "not support",
    "unsupported",
    "missing",
    "unavailable",
    "too many",
    "call returned",
    "traceback",
    "#0",
    "错误",
    "失败",
    "崩溃",
    "エラー",
    "失敗",
    "오류",
    "실패",
    "fallo",
    "fehler",
    "ошибка",
)
MOST_READ = 4000
_BAD = re.compile(
    r"error|fail(?:ed|ure|s|ing)?\b|fatal|fault\b|abort|crash|exception|panic|assert\w*|time(?:d )?-?out|\bhangs?\b|\bhung\b|\bstuck\b"
    r"|deadlock|corrupt|\binvalid\b|\billegal\b"
    r"|unable to|\bcan(?:not|'t)\b|could(?: not|n't)|not found|denied|killed|violation|out of (?:memory|range|bounds)|overflow|mismatch"
    r"|wrong|incorrect|\bnan\b|backtrace|not support(?:ed)?\b|unsupported|\bmissing\b|unavailable|too many|call returned [1-9]"
    r"|^\s*(?:\S+ +){0,9}#\d+ +(?:pc |0x)|错误|失败|崩溃|エラー|失敗|오류|실패|fallo|fehler|ошибка",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"\b(?:0|no|zero|without) (?:error|failure|failed|warning|crash|fault)|(?:errors?|failures?|failed|faults?)\s*[:=]\s*0\b|error[_ "
    r"]?rate|(?:mean|max|relative|absolute|rms|abs|test|validation|train\w*)"
    r"[ _-]+error|error[ =:]+[\d.]+e?-?\d*\b(?! *[A-Za-z(])|errors? +\d*\.\d|(?:on|if|when|error)[_-]?(?:error|fail)\w*=|--\S*(?:error"
    r"|fail)|default\b|fail-?safe|fault[- ]tolerant|failover|\bretry",
    re.IGNORECASE,
)
_SHAPE = re.compile(r"[0-9a-f]*\d[0-9a-f]*", re.IGNORECASE)


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if _bad(text) and not _FINE.search(text) and not CODELIKE.search(text):
        yield Event(
            kind=NOT_UNDERSTOOD,
            role="ending",
            message=f"This line reads like a failure, and gpudx does not know its format: {text[:200].rstrip('.')}.",
            facts=(("said", _SHAPE.sub("#", text)[:120]),),
            warning=True,
        )


def _bad(text: str) -> bool:
    """Is there such a word, written as people write words? In keys, hashes and encoded data, cases are mixed."""
    words = (found[0] for found in _BAD.finditer(text))
    return any(one == one.lower() or one == one.upper() or one[1:] == one[1:].lower() for one in words)
