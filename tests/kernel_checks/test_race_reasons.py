"""Why two work-items meet: the other access and where a barrier goes, or the index that gives both the same element."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

from gpudx.kernel_checks.options import Device
from gpudx.kernel_checks.plan import Site
from gpudx.kernel_checks.rewriting import rewrite

__all__ = ["platform"]

# kernel: cause, part of the sentence, part of the first step
REASONS = {
    "turned": ("argument-order", "w is 96, and the launch has 160 work-items in dimension 0", "Swap arguments 1 (w) and 2 (h)"),
    "padded": ("race-in-kernel", "w is 50, and the launch has 64 work-items in dimension 0", "where `x` is not less than `w`"),
    "pitched": ("race-in-kernel", "pitch is 40, and the launch has 64 work-items in dimension 0", "Pass 64 for `pitch`"),
    "spans": ("race-in-kernel", "8 elements (`k < count`), and the next work-item starts 4 elements later", "8 elements apart"),
    "each_group": ("race-in-kernel", "get_local_id(0) only, which is the same in every work-group", "Use get_global_id(0)"),
    "one_per_group": ("race-in-kernel", "get_group_id(0) only", "`if (get_local_id(0) == 0)`"),
    "flat": ("race-in-kernel", "does not use get_global_id(1), and the launch has 4", "Use get_global_id(1)"),
    "halved": ("race-in-kernel", "`i / 2` is the same for work-items", "an element of its own"),
    "rounds": ("race-in-kernel", "and no barrier separates the two", "after line 36, at the end of the loop's body"),
    "mirrored": ("race-in-kernel", "and no barrier separates the two", "between line 43 and line 45"),
    "shifted": ("race-in-kernel", "The other access is the", "Write to a second buffer instead of `a`"),
    "handed_on": ("race-in-kernel", "The other access is the", "Split the kernel between line 54 and line 55: barriers do not"),
    "newest": ("race-in-kernel", "wrote element 0 of argument 0 `a`", "or let one of them write it: of two stored values, one is lost"),
    "scatter": ("race-in-kernel", "`to[i]`, read from argument 0 `to`, gives them the same index", "An atomic function does not help"),
    "tree": ("race-in-kernel", "no barrier separates the two", "after line 65, outside `if (l < s)`, at the end of the loop's body"),
    "branch": ("race-in-kernel", "no barrier separates the two", "Close `if (l < n)` after line 73, put barrier"),
    "tallied": ("race-in-kernel", "groups update the same elements", "Update `o[l]` with an atomic function such as atomic_add"),
}  # fmt: skip
BARRIER_HELPS = {"rounds", "mirrored", "tree"}


@pytest.mark.timeout(600)
def test_each_reason_is_named(platform: dict[str, str], tmp_path: Path) -> None:
    case = tmp_path / "case"
    done = sanitized(case, str(HERE / "programs/races.py"), "wrong", env=platform)
    found = [one for one in findings(case) if one["id"] == "kernel-check-race"]
    for kernel, (cause, sentence, step) in REASONS.items():
        mine = [one for one in found if one["site"]["kernel"] == kernel]  # type: ignore[index]
        assert mine, (kernel, done.stderr)
        assert mine[0]["causes"][0] == cause, mine[0]  # type: ignore[index]
        assert sentence in str(mine[0]["message"]), mine[0]["message"]
        steps = " ".join(mine[0].get("steps") or ())  # type: ignore[call-overload]
        assert step in steps, mine[0]
        assert ("Put barrier" in steps) == (kernel in BARRIER_HELPS), (kernel, steps)



# ---- which places no barrier separates, without a device ----


def places(body: str, helper: str = "") -> list[Site]:
    source = f"{helper}\n__kernel void k(__global float *o, __local float *t, int n) {{ int l = get_local_id(0);\n{body}\n}}\n"
    return list(rewrite(source, "", Device()).rewritten.sites)


def before(body: str, text: str, helper: str = "") -> set[str] | None:
    """The places to the same memory that may come before this one."""
    sites = places(body, helper)
    site = next(one for one in sites if one.kind == "access" and one.text == text)
    return None if site.before is None else {sites[number - 1].text for number in site.before}


BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"


@pytest.mark.parametrize(
    ("body", "text", "expected"),
    [
        ("t[l] = 1; o[l] = t[l + 1];", "t[l + 1]", {"t[l]"}),
        (f"t[l] = 1; {BARRIER} o[l] = t[l + 1];", "t[l + 1]", set()),
        ("t[l] = 1; barrier(CLK_GLOBAL_MEM_FENCE); o[l] = t[l + 1];", "t[l + 1]", {"t[l]"}),
        (f"for (int i = 0; i < n; ++i) {{ t[l] = i; {BARRIER} o[l] += t[l + 1]; }}", "t[l]", {"t[l + 1]"}),
        (f"for (int i = 0; i < n; ++i) {{ t[l] = i; {BARRIER} o[l] += t[l + 1]; {BARRIER} }}", "t[l]", set()),
        (f"while (n) {{ t[l] = 1; if (l < n) break; {BARRIER} --n; }} o[l] = t[l + 1];", "t[l + 1]", {"t[l]"}),
        (f"if (n) {{ t[l] = 1; {BARRIER} }} else t[l + 2] = 1; o[l] = t[l + 1];", "t[l + 1]", {"t[l + 2]"}),
        (f"do {{ {BARRIER} t[l] = 1; }} while (--n); o[l] = t[l + 1];", "t[l + 1]", {"t[l]"}),
        (f"for (;;) {{ {BARRIER} if (n-- < 0) {{ t[l] = 2; return; }} }}", "t[l]", set()),
    ],
)
def test_a_barrier_separates_accesses(body: str, text: str, expected: set[str]) -> None:
    assert before(body, text) == expected


def test_memory_that_a_helper_function_accesses_is_not_followed() -> None:
    helper = "void put(__local float *p, int i) { p[i] = 1; }"
    assert before("put(t, l); o[l] = t[l + 1];", "t[l + 1]", helper) is None
    assert before("put(t, l); o[l + 1] = o[l];", "o[l]", helper) is not None
