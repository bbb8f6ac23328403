"""How far off a numeric failure was, from the words of assertions: numpy, pytest, googletest, Rust, and what people print.

Only numbers that are said to be a difference, or two values that were compared, are read. A tolerance is read where it is told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_N = r"([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan|NaN))"
_DIFFERENCES = (
    re.compile(rf"[Mm]ax absolute difference(?: among violations)?: {_N}"),  # numpy.testing
    re.compile(rf"The difference between .{{1,200}}? and .{{1,200}}? is {_N}, which exceeds"),  # googletest EXPECT_NEAR
    re.compile(rf"(?:\b[Dd]iff(?:erence)?|[Ee]rror|[Dd]eviation|[Mm]ismatch)\s*(?:is|of|[=:])\s*{_N}"),
)
_PAIRS = (
    re.compile(rf"Obtained: {_N}\s+.*?Expected: {_N}", re.S),  # pytest.approx
    re.compile(rf"left: {_N},?\s+right: {_N}", re.S),  # Rust's assert_eq
    re.compile(
        rf"[Ee]xpected:?\s*(?:equality of these values:\s*)?{_N}[,;]?\s+(?:but )?(?:got|was|actual|found|produced):?\s*{_N}"
    ),
    re.compile(rf"assert {_N} == {_N}"),
)
_TOLERANCES = (
    re.compile(rf"(?:atol|abs_tol|tolerance|abs_error evaluates to|which exceeds)[= :]+{_N}"),
    re.compile(rf"diff(?:erence)? > {_N}"),
)


@dataclass(frozen=True)
class Magnitude:
    """The largest difference that a failure tells, and the tolerance if it is told."""

    difference: float
    tolerance: float | None = None


def magnitude(text: str) -> Magnitude | None:
    """None when nothing numeric is told."""
    found = [value for value in _differences(text) if value is not None]
    if not found:
        return None
    worst = max(found, key=lambda value: math.inf if math.isnan(value) else value)
    limits = [float(match[1]) for pattern in _TOLERANCES for match in pattern.finditer(text)]
    return Magnitude(worst, limits[0] if limits else None)


def _differences(text: str) -> Iterator[float]:
    for pattern in _DIFFERENCES:
        yield from (abs(float(match[1])) for match in pattern.finditer(text))
    for pattern in _PAIRS:
        yield from (abs(float(match[1]) - float(match[2])) for match in pattern.finditer(text))


def told(texts: Iterable[str]) -> str:
    """Of several failures: "off by 0.8 to 49.6, where 0.001 is allowed"; "" when none is numeric."""
    found = [one for one in map(magnitude, texts) if one is not None]
    if not found:
        return ""
    values = [one.difference for one in found if not math.isnan(one.difference)]
    nans = "not a number" if len(values) < len(found) else ""
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    span = "" if not values else f"off by {low:.4g}" if low == high else f"off by {low:.4g} to {high:.4g}"
    limit = next((one.tolerance for one in found if one.tolerance is not None), None)
    allowed = f", where {limit:.4g} is allowed" if limit is not None else ""
    return " or ".join(filter(None, (span, nans))) + allowed
