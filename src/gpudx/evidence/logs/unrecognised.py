"""Lines that read like a failure and that no format knows. They are shown only where nothing else was recognised in the log.

Nothing is claimed about them: they are what a person would look at first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

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
    "unhealthy",
    "not enough",
    "insufficient",
    "compatible",
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
    r"(?-i:(?<![a-z])error|Error|ERROR)|fail(?:ed|ure|s|ing)?\b|fatal|(?<!de)faults?\b|abort|crash|exception|panic"
    r"|assert\w*|time(?:d )?-?out"
    r"|\bhangs?\b|\bhung\b|\bstuck\b"
    r"|deadlock|corrupt|\binvalid\b|\billegal\b"
    r"|unable to|\bcan(?:not|'t)\b|could(?: not|n't)|not found|denied|killed|violation|out of (?:memory|range|bounds)"
    r"|overflow|mismatch"
    r"|wrong|incorrect|\bnan\b|backtrace|not support(?:ed)?\b|unsupported|\bmissing\b|unavailable|too many|unhealthy"
    r"|not enough|insufficient|not compatible|incompatible|call returned [1-9]"
    r"|^\s*(?:\S+ +){0,9}#\d+ +(?:pc |0x)|错误|失败|崩溃|エラー|失敗|오류|실패|fallo|fehler|ошибка",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"^\s*-- |\b(?:0|no|zero|without) (?:error|failure|failed|warning|crash|fault)|(?:errors?|failures?|failed"
    r"|faults?)\s*[:=]\s*0\b|error[_ "
    r"]?rate|(?:mean|max|relative|absolute|rms|abs|test|validation|train\w*)"
    r"[ _-]+error|error[ =:]+[\d.]+e?-?\d*\b(?! *[:A-Za-z(])|errors? +\d*\.\d|(?:on|if|when|error)[_-]?(?:error"
    r"|fail)\w*=|--\S*(?:error"
    r"|fail)|\bdefault(?:s|ing)?(?: (?:to|is|value|behaviou?r)|\s*[:=])|\b0 (?:\w+ )?(?:failed|errors?|failures?)\b"
    r"|fail-?safe|fault[- ]tolerant|failover|\bretry|\w*timeout\w*\s*[:=]\s*\d|time-?out from \d|\berror_rate|fall(?:ing)? ?back",
    re.IGNORECASE,
)
_SHAPE = re.compile(r"[0-9a-f]*\d[0-9a-f]*", re.IGNORECASE)


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if reads_like_a_failure(text) and not CODELIKE.search(text):
        yield Event(
            kind=NOT_UNDERSTOOD,
            role="ending",
            message=f"This line reads like a failure, and gpudx does not know its format: {text[:200].rstrip('.')}.",
            facts=(("said", shape(text)),),
            warning=True,
        )


@lru_cache(maxsize=8)  # two formats ask about the same line
def reads_like_a_failure(text: str) -> bool:
    """Has it a word of failure that is no measure of quality, no setting and no "0 errors"?"""
    return _bad(text) and not _FINE.search(text)


def shape(text: str) -> str:
    """A line without its numbers: the same for lines that say the same."""
    return _SHAPE.sub("#", text)[:120]


def _bad(text: str) -> bool:
    """Is there such a word, written as people write words? In keys, hashes and encoded data, cases are mixed."""
    words = (found[0] for found in _BAD.finditer(text))
    return any(one == one.lower() or one == one.upper() or one[1:] == one[1:].lower() for one in words)
