"""Texts that newer sources have and nothing that ran has: which count, and what they make of an old program."""

from __future__ import annotations

import pytest

from gpudx.detectors import Run
from gpudx.detectors.object_older_than_sources import examine
from gpudx.diagnose import diagnose
from gpudx.identity.lacking import texts
from gpudx.model import Identity, Lack, LoadedObject, Making, Outcome, Source, Step

EXIT = Outcome("exit", "The program exited with status 1.", 1)
PROGRAM = LoadedObject(
    path="/w/app",
    executable=True,
    own=True,
    modified=1000.0,
    started=9000.0,
    built=Making(sources=1, newer=(Source("/w/main.c", 5000.0, "edited"),)),
)
IDLE = Step("/usr/bin/make", 7, 6000.0, 6001.0, 0, compiled=False)
BUSY = Step("/usr/bin/make", 7, 6000.0, 6001.0, 0, compiled=True)


def status(*lacks: Lack, steps: tuple[Step, ...] = (), outcome: Outcome = EXIT) -> list[tuple[str, str]]:
    found = list(examine(Identity(objects=(PROGRAM,), lacks=lacks, steps=steps), Run(outcome)))
    return [(entry.cause, entry.status) for entry in diagnose(found, outcome)]


def lack(conditional: bool = False, program: str = "/w/app") -> Lack:
    return Lack("entering buffer_rows", "/w/main.c:9", program, conditional)


def test_a_text_that_an_old_program_lacks_makes_it_likely() -> None:
    assert status(lack()) == [("stale-executable", "likely")]
    assert status(lack(conditional=True), steps=(IDLE,)) == [("stale-executable", "likely")]


@pytest.mark.parametrize("steps", [(), (BUSY,)], ids=["no build", "a build that compiled"])
def test_a_text_under_a_condition_may_be_of_another_build(steps: tuple[Step, ...]) -> None:
    assert status(lack(conditional=True), steps=steps) == [("stale-executable", "inconclusive")]


def test_an_old_program_that_lacks_nothing_is_only_considered() -> None:
    assert status() == status(lack(program="/w/other")) == [("stale-executable", "inconclusive")]
    assert status(lack(), outcome=Outcome("passed", "")) == []


def test_texts_of_a_source() -> None:
    source = """#include "a_long_name_of_a_header.h"
/* "in a comment that is long" */
// "in a comment that is long"
const char *a = "outside of everything", quote = '"';
#ifdef DEBUG
const char *b = "under some condition";
#endif
void f(int n) { printf("row %d of the whole matrix\\n", n); puts("short"); }
"""
    assert list(texts(source)) == [
        (4, "outside of everything", False),
        (6, "under some condition", True),
        (8, " of the whole matrix", False),
    ]
