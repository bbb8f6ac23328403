"""Which type a number that does not fit is to have."""

from __future__ import annotations

import pytest

from gpudx.investigate.widened import _steps
from gpudx.kernel_checks.suspects import Suspect
from gpudx.kernel_checks.wide_arithmetic import Wrap


@pytest.mark.parametrize(
    ("kind", "after", "step"),
    [
        ("short", 36_437, "Declare `sum` (dot.c:38) as int."),
        ("ushort", 70_000, "Declare `sum` (dot.c:38) as uint."),
        ("short", 3_000_000_000, "Declare `sum` (dot.c:38) as long, and convert one operand of the product: `(long)a * b`."),
        ("uint", 5_000_000_000, "Declare `sum` (dot.c:38) as ulong, and convert one operand of the product: `(ulong)a * b`."),
    ],
)
def test_a_type_is_no_wider_than_it_has_to_be(kind: str, after: int, step: str) -> None:
    suspect = Suspect(name="sum", type=kind, text="sum += a[i] * b[i]")
    assert _steps(suspect, Wrap(1, 27_028, after, (0, 0, 0)), " (dot.c:38)") == (step,)


def test_without_the_number_it_is_the_widest() -> None:
    assert "as long" in _steps(Suspect(name="sum", type="short", text="sum += a"), None)[0]
