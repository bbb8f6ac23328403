"""Arguments that are passed as one packed buffer: one that is too short for the kernel's parameters is found."""

from __future__ import annotations

from cuda_kit import Kit

from gpudx.detectors import Run, argument_size
from gpudx.facts import derive
from gpudx.model import Finding, Outcome


def found(kit: Kit, length: int) -> list[Finding]:
    trace = kit.run([kit.program("packed"), str(length)]).trace()
    return list(argument_size.detect(derive(trace), Run(Outcome("exit", "The program exited with status 1.", 1))))


def test_a_buffer_that_ends_before_the_last_parameter_is_named_with_both_lengths(kit: Kit) -> None:
    (one,) = found(kit, 20)
    assert one.severity == "error" and one.causes == ("argument-size",)
    assert one.site is not None and (one.site.kernel, one.site.launch, one.site.argument) == ("step", 1, 2)
    assert "passed 20 bytes of packed arguments to kernel step (launch 1), its parameters need 24 bytes" in one.message
    assert any("reads 4 bytes that were never set" in e.text for e in one.evidence)


def test_several_parameters_beyond_the_end_are_one_finding(kit: Kit) -> None:
    (one,) = found(kit, 8)
    assert one.site is not None and one.site.argument == 1


def test_a_buffer_of_the_right_length_is_silent(kit: Kit) -> None:
    assert not found(kit, 24)
