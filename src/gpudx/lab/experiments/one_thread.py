"""Runs with one host thread: sets the variables of common thread pools to 1, and test runners to one test at a time.

If the failure goes away, it comes from threads, or from the timing that they change. The run does not count if several threads still
made GPU calls at the same time: threads that the program starts itself ignore these variables. Threads that run one after the other
count as one.
"""

from __future__ import annotations

from pathlib import Path

from gpudx.lab.experiments import Context, Seen
from gpudx.model.how import How

ID = "one-thread"
COST = 2.0
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TBB_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "GOMAXPROCS",
    "RUST_TEST_THREADS",
)


def missing(context: Context) -> str | None:
    return None if context.threads > 1 else "only one thread makes GPU calls"


def how(context: Context) -> How:
    return context.how.under(dict.fromkeys(VARIABLES, "1"))


def command(context: Context) -> tuple[str, ...]:
    """pytest-xdist's workers into one process, cargo's tests into one thread; other commands as they are."""
    words = context.command
    if any(Path(word).name in ("pytest", "py.test") for word in words[:3]) and "-n" in words:
        return (*words, "-n", "0")
    if Path(words[0]).name == "cargo" and "test" in words[1:3] and "--test-threads" not in " ".join(words):
        return (*words, *(() if "--" in words else ("--",)), "--test-threads=1")
    return words


def without_effect(context: Context, seen: Seen) -> str | None:
    if seen.threads <= 1:
        return None
    return (
        f"{seen.threads} threads still made GPU calls: the program starts them itself; if an option sets their number, "
        "give it by --vary N=1,8"
    )
