"""What a program says about its own failure, in words of its own: wrong results, exceptions, failures of GPU software without a reason.

Read where no other format finds anything in a line. A check that found NaN or a difference, or an exception by its name, shows that the
program failed and what it said. The cause may lie anywhere: nothing is blamed on the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.evidence.logs import _next, gpu_words, unrecognised
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs.gpu_status import CODELIKE

FORMAT = "program-error"
GENERIC = 3
ANY_CASE = True
MARKS = unrecognised.MARKS
MOST_READ = 10_000
LONGEST = 160
EXCEPTION, FAILURE = "exception", "gpu-failure"
WEAK = (EXCEPTION, FAILURE)  # they say less than what other formats read, and are shown only where those read nothing
OVERFLOW = "Gradients were too large for half precision, and the program skipped a step: usual at first, not for long."
_SCALE = re.compile(r"\bgrad\w*[ -]overflow|overflow detected|overflow!.{0,60}loss scale|loss scale.{0,40}overflow", re.IGNORECASE)
_NAN = re.compile(
    r"(?:\bnan\b[\s,;]+){2}|\b(?:loss|grad_?norm|energy|score|ppl|perplexity)\W{1,3}(?:nan|-?inf)\b|"
    r"\b(?:is|are|was|were|became|becomes|contains?|found|has|have|got|detected|returned|produced|with|to|loss[ =:]+)\s+(?:an? )?"
    r"(?:NaNs?|infs?|infinity|non-?finite)\b|\b(?:NaNs?|non-?finite|infinite) (?:values?|loss|gradients?|grads?|found|detected|"
    r"encountered|energy|in)\b",
    re.IGNORECASE,
)
_DIFFERS = re.compile(
    r"\b(?:got|actual|was|computed|have)\b.{1,60}\b(?:expected|want(?:ed)?|should be|reference)\b"
    r"|\bexpected\b.{1,60}\b(?:got|actual|but|found|received)\b|\b(?:results?|outputs?|values?|arrays?|tensors?|images?|hash(?:es)?"
    r"|checksums?) (?:do(?:es)? not|don't|doesn't|did not|are not|mis-?)\s?(?:match|agree|equal|close)\w*"
    r"|\b(?:verification|validation|self[- ]?test|correctness|comparison|sanity) (?:check )?(?:has )?(?:failed|error|FAIL)"
    r"|\b(?:wrong|incorrect|mismatch(?:ed|ing)?) (?:results?|outputs?|values?|answers?|elements?|at|in|hash|checksum)\b"
    r"|\b(?:result|output|value|checksum|hash|data) mismatch\b|\bresult\w* \w* ?(?:incorrect|wrong)\b",
    re.IGNORECASE,
)
# Java, .NET, Python, C++ and JavaScript name the type of an exception, and then its text.
_EXCEPTION = re.compile(
    r"(?:^|[\s\[(:'\"])((?:[A-Za-z_]\w{0,60}(?:\.|::)){0,8}[A-Z]\w{0,60}?(?:Error|Exception|Failure))(?: ?\(\w+\))?:(?: ?(\S.*)|\s*$)"
)

_AT = re.compile(r"^\s+at:? (\S.*?\([^()]+:\d+\))")  # Godot and others: where an error was found is in the next line
_FAILED = re.compile(
    r"\bfail(?:ed|ure|s)?\b|\berrors?\b(?! (?:check|handl|report|correct|code[s ]|log|rate|messages? (?:are|is)))|fatal|\babort|crash"
    r"|\bfault|panic|exception|unsuccessful|\brefused\b|\brejected\b|\blost\b|not supported|unsupported"
    r"|\b(?:unable to|cannot|can't|could ?n.t|could not)\b",
    re.IGNORECASE,
)
_CALM = re.compile(r"\bINFO\b|\bDEBUG\b|\bTRACE\b|expected while|is expected|\benabled?\b|registered|\bno \w+ (?:error|fail)")


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if not unrecognised.reads_like_a_failure(text) or CODELIKE.search(text) or unrecognised.is_code(text):
        return
    said = text[:LONGEST].rstrip(".")
    if _SCALE.search(text):
        yield replace(_event("gradients-overflowed", OVERFLOW, text), warning=True)
    elif unrecognised.is_advice(text):
        return
    elif _NAN.search(text):
        yield _event("result-not-finite", f"The program found NaN or infinite values in its data: {said}.", text, _next.INVESTIGATE)
    elif _DIFFERS.search(text):
        yield _event("result-differs", f"The program's own check found a wrong result: {said}.", text, _next.INVESTIGATE)
    elif found := _EXCEPTION.search(text):
        why = f": {found[2][:LONGEST].rstrip('.')}" if found[2] else ""
        yield _event(EXCEPTION, f"The program raised {found[1]}{why}.", text)
    elif text.startswith("ERROR: ") and (at := next(filter(None, map(_AT.match, near.after(1))), None)):
        yield _event(EXCEPTION, f"The program reported an error in {at[1][:LONGEST]}: {text[7:LONGEST].rstrip('.')}.", text)
    elif gpu_words.SUBJECT.search(text) and _FAILED.search(text) and not _CALM.search(text):
        yield _event(FAILURE, f"Software of the GPU reported a failure, and the line does not say which: {said}.", text)


def _event(kind: str, message: str, text: str, command: str = _next.RECORD) -> Event:
    notes = () if kind == FAILURE else ("not proved: that the GPU has anything to do with it",)
    return Event(kind, "ending", message, (("said", unrecognised.shape(text)),), notes, next=command, sure=False)
