"""How far off a numeric failure was: the words of each kind of assertion, and words that say nothing of the kind."""

from __future__ import annotations

import math

import pytest

from gpudx.evidence._magnitudes import magnitude, told

NUMPY = """AssertionError:
Not equal to tolerance rtol=1e-07, atol=0.001

Mismatched elements: 1 / 3 (33.3%)
Max absolute difference among violations: 5.9
Max relative difference among violations: 0.25"""
GTEST = """The difference between 1.5 and 2.5 is 1, which exceeds 0.1, where
1.5 evaluates to 1.5,
2.5 evaluates to 2.5, and
0.1 evaluates to 0.1."""


@pytest.mark.parametrize(
    ("text", "difference", "tolerance"),
    [
        (NUMPY, 5.9, 0.001),
        (GTEST, 1.0, 0.1),
        ("comparison failed\nObtained: 1.5\nExpected: 2.5 ± 2.5e-06", 1.0, None),
        ("assertion `left == right` failed\n  left: 3.6\n right: 0.8", 2.8, None),
        ("thread panicked: expected 3.6, got 0.8", 2.8, None),
        ("max diff = 49.6, tolerance = 1e-3", 49.6, 0.001),
        ("round 3: difference = 1024", 1024.0, None),
    ],
)
def test_differences(text: str, difference: float, tolerance: float | None) -> None:
    found = magnitude(text)
    assert found is not None and math.isclose(found.difference, difference) and found.tolerance == tolerance


@pytest.mark.parametrize(
    "text", ["", "assert False", "RuntimeError: CUDA error 700", "line 12, in test_3", "exit status 1"]
)
def test_other_failures_have_none(text: str) -> None:
    assert magnitude(text) is None and told([text]) == ""


def test_several_failures() -> None:
    assert (
        told(["diff = 0.8", "diff = 49.6, tolerance = 0.001", "no number"])
        == "off by 0.8 to 49.6, where 0.001 is allowed"
    )
    assert "not a number" in told(["difference = nan"])
