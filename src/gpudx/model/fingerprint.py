"""One short name for what went wrong: equal causes have equal fingerprints across runs, addresses and machines.

What counts, and why:

    cause         what is wrong; the best of the diagnosis
    call, kernel  who did it. A kernel counts without template arguments and parameters: libraries choose tile sizes and
                  types by device and shape, and the fault in gemm<128> on one machine is that in gemm<64> on another.
    argument      by its index, which is always known where an argument is; by its name only where there is no index.
                  A driver without argument info must not make another fingerprint.
    detectors     of the findings behind the cause; without a cause, of all errors. Errors beside the cause come and go
                  with timing, and do not count.
    only where no cause is known, because a race ends in SIGSEGV today and with a wrong result tomorrow:
    ending        how the program ended
    program       its name, so that unlike programs which fail alike are not one
    findings      all that was found and is worth a look, by detector; of errors with what does not change between runs
    first call    that failed

What does not count: addresses, values, sizes, process and thread numbers, times, numbers of calls and launches (they change
from run to run), paths and source lines (with each edit and checkout), the status confirmed or likely (with luck).

The number in front is the algorithm's. What an old one made stays comparable: `is_same` computes the fingerprint anew by the
algorithm of the other. Algorithm 1 had no program, findings and first call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from gpudx.model.case import Case
from gpudx.model.diagnosis import Diagnosis, Guilty
from gpudx.model.finding import Finding, as_written

ALGORITHM = "2"
INTERPRETERS = ("python", "bash", "sh", "env", "perl", "ruby", "node", "julia")
TOLD = ("confirmed", "likely")
LETTERS = 16


def fingerprint(case: Case, algorithm: str = ALGORITHM) -> str:
    """The algorithm, ":" and 16 hexadecimal digits."""
    text = "\n".join(f"{name}={value}" for name, value in parts(case, algorithm) if value)
    return f"{algorithm}:{hashlib.sha256(as_written(text).encode()).hexdigest()[:LETTERS]}"


def is_same(case: Case, other: str) -> bool:
    """Has the case the fingerprint `other`, which an older version may have made?"""
    algorithm = other.partition(":")[0]
    return algorithm in ("1", ALGORITHM) and fingerprint(case, algorithm) == other


def parts(case: Case, algorithm: str = ALGORITHM) -> list[tuple[str, str]]:
    """What counts, by name: shown to those who ask why two cases are, or are not, the same."""
    best = case.diagnosis[0] if case.diagnosis and case.diagnosis[0].status in TOLD else None
    if best is not None:
        return [("cause", best.cause), ("detectors", ",".join(_detectors(case, best))), *_place(best.guilty)]
    errors = sorted({finding.id for finding in case.findings if finding.severity == "error"})
    known = [("ending", case.outcome.word), ("detectors", ",".join(errors)), *_place(_first_guilty(case))]
    return known if algorithm == "1" else [*known, *_more(case)]


def _more(case: Case) -> list[tuple[str, str]]:
    """What tells failures without a cause apart."""
    named = [entry.cause for entry in case.diagnosis[:1]]
    found = {(one.id, one.fingerprint if one.severity == "error" else "") for one in case.findings if _counts(one)}
    program = "" if case.outcome.kind == "not started" else program_name(case.command)
    return [
        ("program", program),
        ("named", ",".join(named)),
        ("findings", ",".join(" ".join(filter(None, pair)) for pair in sorted(found))),
        ("first call", _first_call(case)),
    ]


def _counts(finding: Finding) -> bool:
    return finding.severity != "info" and finding.scope not in ("note", "follower")


def _first_call(case: Case) -> str:
    """The first call that failed or did not return."""
    sites = [finding.site for finding in case.findings if finding.symptom and finding.site]
    return f"{sites[0].call} {sites[0].status or ''}".strip() if sites else ""


def program_name(command: Sequence[str]) -> str:
    """ "app" of "/srv/app --fast", and "train.py" of "python3.11 -u train.py"."""
    words = [word.rpartition("/")[2] for word in command]
    if not words:
        return ""
    if not words[0].rstrip("0123456789.").endswith(INTERPRETERS):
        return words[0]
    return next((word for word in words[1:] if not word.startswith("-") and "=" not in word), words[0])


def _first_guilty(case: Case) -> Guilty | None:
    return case.diagnosis[0].guilty if case.diagnosis else None


def _detectors(case: Case, entry: Diagnosis) -> list[str]:
    return sorted({finding.id for finding in case.findings if finding.fingerprint in entry.findings})


def _place(guilty: Guilty | None) -> list[tuple[str, str]]:
    if guilty is None:
        return []
    argument = guilty.argument_name or "" if guilty.argument is None else str(guilty.argument)
    return [("call", guilty.call), ("kernel", plain_kernel(guilty.kernel or "")), ("argument", argument)]


def plain_kernel(name: str) -> str:
    """ "void ns::gemm<float, 128>(float*)" -> "ns::gemm". A name that does not read as C++ stays as it is."""
    kept, depth, guard = [], 0, name.replace("(anonymous namespace)::", "")
    for char in guard:
        depth += (char in "<(") - (char in ">)")
        if depth < 0:
            return name
        if depth == 0 and char not in ">)":
            kept.append(char)
    words = "".join(kept).split()
    return words[-1] if depth == 0 and words else name
