"""What made a NaN: the operation with the values of its operands, and the call that wrote where they come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

# kernel: part of the sentence, part of what is said about where the operands come from
REASONS = {
    "rooted": ("`d[i] / dt` is -10: the square root of a negative number is NaN", "`d[5]` is in buffer"),
    "logged": ("`x` is -0.5: the logarithm of a negative number is NaN", "`a[N]` is in buffer"),
    "averaged": ("`s` is 0 and `n[i]` is 0: 0 / 0 is NaN", ""),
    "turned": ("`a[i] / 4` is 1.5: acos of a number outside of -1 to 1 is NaN", "`a[N]` is in buffer"),
    "raised": ("`a[i] - 2` is -1: a negative number to a power that is not whole is NaN", "`a[N]` is in buffer"),
    "grown": ("`a[i] * 50` is 100: the exponential is larger than the type can hold", "`a[N]` is in buffer"),
}


def of_kernel(found: list[dict[str, object]], kernel: str) -> dict[str, object]:
    return next(one for one in found if one["site"]["kernel"] == kernel)  # type: ignore[index]


@pytest.mark.timeout(600)
def test_operands_are_named(platform: dict[str, str], tmp_path: Path) -> None:
    case = tmp_path / "case"
    sanitized(case, str(HERE / "programs/operands.py"), "wrong", env=platform, checks="nan,bounds,div")
    found = [one for one in findings(case) if one["id"] == "kernel-check-nan"]
    assert {one["site"]["kernel"] for one in found} == set(REASONS)  # type: ignore[index]
    for kernel, (sentence, fact) in REASONS.items():
        one = of_kernel(found, kernel)
        assert sentence in str(one["message"]), one["message"]
        told = " ".join(line["text"] for line in one["evidence"])  # type: ignore[attr-defined]
        assert re.sub(r"\[\d+\]", "[N]", fact) in re.sub(r"\[\d+\]", "[N]", told), told  # whichever work-item was first
    rooted = of_kernel(found, "rooted")
    assert "kernel differ (launch 1) was the last that was passed it for writing" in str(rooted["evidence"])
    assert "Check what kernel differ (launch 1) stores in `d[5]`" in str(rooted["steps"])


@pytest.mark.timeout(600)
def test_defined_operands_are_silent(platform: dict[str, str], tmp_path: Path) -> None:
    done = sanitized(tmp_path / "case", str(HERE / "programs/operands.py"), "right", env=platform, checks="nan,bounds,div")
    assert done.returncode == 0 and not findings(tmp_path / "case")
    assert "does not compile" not in (tmp_path / "case" / "case.json").read_text()
