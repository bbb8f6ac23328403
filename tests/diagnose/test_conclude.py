"""How the entries of all runs become one diagnosis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudx.investigate.agreement import agreed
from gpudx.investigate.conclude import _that_matter, _without_echoes
from gpudx.investigate.observed import observed
from gpudx.lab.poisoned import UNLIKE
from gpudx.model import Access, Diagnosis, Evidence, Guilty, Trial


def entry(cause: str, status: str, kernel: str | None, observed: bool = True) -> Diagnosis:
    guilty = Guilty(api="cuda", call="cuLaunchKernel", kernel=kernel) if kernel else None
    return Diagnosis(cause, status, "", guilty, None, (Evidence("seen"),), "", (), observed=observed)  # type: ignore[arg-type]


BOUNDS = entry("out-of-bounds-access", "confirmed", "linear")
NULL = entry("null-pointer", "likely", "linear")


def test_two_instruments_that_speak_of_one_kernel_confirm_the_reason() -> None:
    assert [one.status for one in agreed([BOUNDS, NULL])] == ["confirmed", "confirmed"]
    elsewhere = replace(NULL, guilty=replace(BOUNDS.guilty, kernel="other"))  # type: ignore[type-var]
    assert [one.status for one in agreed([BOUNDS, elsewhere])] == ["confirmed", "likely"]


def test_what_only_says_that_it_happened_is_left_out_beside_why() -> None:
    assert _without_echoes([BOUNDS, NULL]) == [NULL]
    assert _without_echoes([entry("out-of-bounds-access", "likely", None), NULL]) == [NULL]


def test_a_second_fault_in_another_kernel_stays() -> None:
    other = entry("out-of-bounds-access", "confirmed", "other")
    assert _without_echoes([other, NULL]) == [other, NULL]
    assert _without_echoes([BOUNDS]) == [BOUNDS]


def test_a_record_of_dead_memory_and_an_access_of_the_same_kernel_agree() -> None:
    """A graph's kernel is not launched by a call of its own, so an instrument names the kernel and no launch."""
    seen = replace(entry("out-of-bounds-access", "likely", None), access=Access(kernel="decode(int*)"))
    recorded = entry("graph-holds-dead-pointer", "likely", "decode", observed=False)
    assert [one.status for one in agreed([recorded, seen])] == ["confirmed", "likely"]
    other = entry("graph-holds-dead-pointer", "likely", "encode", observed=False)
    race = entry("unordered-access", "likely", "decode", observed=False)
    assert [one.status for one in agreed([other, race, seen])] == ["likely", "likely", "likely"]


@pytest.mark.parametrize(
    ("outputs", "given", "statuses"),
    [
        (("same", "same", "same"), ("d", "d", "d"), []),  # nothing that the program did or got depends on it
        (("same", "same", "same"), ("d", "e", "f"), ["inconclusive"]),  # what it read back does
        (("one", "two", "three"), ("d", "e", "f"), ["confirmed"]),
    ],
)
def test_a_read_of_fresh_memory_counts_where_its_content_matters(
    outputs: tuple[str, ...], given: tuple[str, ...], statuses: list[str]
) -> None:
    trials = [
        Trial("poisoned", "passed", "exit:0", 0.1, output=output, fresh=fresh, given=got)
        for fresh, output, got in zip(UNLIKE, outputs, given, strict=True)
    ]
    told = _that_matter([entry("read-before-write", "confirmed", "gather")], observed(trials)["poisoned"])
    assert [one.status for one in told] == statuses


def test_without_runs_that_tell_a_read_of_fresh_memory_stays() -> None:
    read = entry("read-before-write", "confirmed", "gather")
    assert list(_that_matter([read, BOUNDS], None)) == [read, BOUNDS]
