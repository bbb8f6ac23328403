"""What watched programs of every API with addresses must show: told once, whoever records them."""

from __future__ import annotations

from collections.abc import Callable

from gpudx.diagnose import diagnose
from gpudx.model import Finding, Outcome

PASSED = Outcome("passed", "The program ended.")
Look = Callable[..., list[Finding]]  # the findings of a mode of the program "watched"; each="1": at each launch


def check_past(look: Look, each: str, says: str) -> None:
    """A launch that writes behind its memory is named."""
    (one,) = look("past", each=each)
    assert one.id == "bystander-changed" and one.severity == "error" and says in one.message
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("poke", 1, 0)
    (told,) = diagnose([one], PASSED)
    assert (told.cause, told.status) == ("write-into-bystander", "likely")


def check_many(look: Look) -> None:
    """One of many is named by looking at each."""
    (one,) = look("many")
    assert "none of the 41 launches that ran in between was passed them" in one.message and one.site is None
    (one,) = look("many", each="1")
    assert one.site is not None and one.site.launch == 21


def check_far(look: Look) -> None:
    """Far from its own memory it is a warning: the address may come from somewhere that is not watched."""
    (one,) = look("far")
    assert one.severity == "warning" and any("from elsewhere" in e.text for e in one.evidence)
