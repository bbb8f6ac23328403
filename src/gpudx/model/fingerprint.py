"""One short name for what went wrong: equal causes have equal fingerprints across runs, addresses and machines.

What counts, and why:

    cause         what is wrong; the best of the diagnosis
    call, kernel  who did it. A kernel counts without template arguments and parameters: libraries choose tile sizes and
                  types by device and shape, and the fault in gemm<128> on one machine is that in gemm<64> on another.
    argument      by its index, which is always known where an argument is; by its name only where there is no index.
                  A driver without argument info must not make another fingerprint.
    detectors     of the findings behind the cause; without a cause, of all errors. Errors beside the cause come and go
                  with timing, and do not count.
    ending        only where no cause is known: a race ends in SIGSEGV today and with a wrong result tomorrow.

What does not count: addresses, values, sizes, process and thread numbers, times, numbers of calls and launches (they change
from run to run), paths and source lines (with each edit and checkout), the status confirmed or likely (with luck).

The number in front is the algorithm's; what an old one made stays comparable with itself.
"""

from __future__ import annotations

import hashlib

from gpudx.model.case import Case
from gpudx.model.diagnosis import Diagnosis, Guilty
from gpudx.model.finding import as_written

ALGORITHM = "1"
TOLD = ("confirmed", "likely")
LETTERS = 16


def fingerprint(case: Case) -> str:
    """ "1:" and 16 hexadecimal digits."""
    text = "\n".join(f"{name}={value}" for name, value in parts(case) if value)
    return f"{ALGORITHM}:{hashlib.sha256(as_written(text).encode()).hexdigest()[:LETTERS]}"


def parts(case: Case) -> list[tuple[str, str]]:
    """What counts, by name: shown to those who ask why two cases are, or are not, the same."""
    best = case.diagnosis[0] if case.diagnosis and case.diagnosis[0].status in TOLD else None
    if best is None:
        errors = sorted({finding.id for finding in case.findings if finding.severity == "error"})
        return [("ending", case.outcome.word), ("detectors", ",".join(errors)), *_place(_first_guilty(case))]
    return [("cause", best.cause), ("detectors", ",".join(_detectors(case, best))), *_place(best.guilty)]


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
