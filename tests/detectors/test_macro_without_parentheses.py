"""macro-without-parentheses: a macro that is an expression, beside an operator that binds tighter than those in it."""

from __future__ import annotations

import pytest
from support.detecting import Look, Make

from gpudx.model import Finding

ID = "macro-without-parentheses"


def found(world: Make, look: Look, options: str, line: str, more: str = "") -> list[Finding]:
    source = f"{more}\nkernel void f(global float *p, int y, int x) {{ {line} }}\n"
    return [one for one in look(world(source=source, options=options)) if one.id == ID]


@pytest.mark.parametrize(
    ("value", "line", "used", "becomes"),
    [
        ("64+2", "p[y * PITCH + x] = 0;", "y * PITCH", "y * 64+2"),
        ("8+WIDTH", "p[x] = PITCH * y;", "PITCH * y", "8+WIDTH * y"),
        ("8-2", "p[x] = f(y) - PITCH;", "f(y) - PITCH", "f(y) - 8-2"),
        ("2*3", "p[x] = (y + x) / PITCH;", "(y + x) / PITCH", "(y + x) / 2*3"),
        ("1<<3", "p[PITCH + x] = 0;", "PITCH + x", "1<<3 + x"),
        ("x|1", "if (y == PITCH) p[0] = 0;", "y == PITCH", "y == x|1"),
    ],
)
def test_a_value_that_is_torn_apart(world: Make, look: Look, value: str, line: str, used: str, becomes: str) -> None:
    (finding,) = found(world, look, f"-cl-std=CL1.2 '-DPITCH={value}'", line)
    assert f"-DPITCH={value} has no parentheses around its value: `{used}` is `{becomes}`." in finding.message
    assert f'"-DPITCH=({value})"' in finding.steps[0] and finding.site is not None and finding.site.call == "clBuildProgram"


def test_a_macro_of_the_source(world: Make, look: Look) -> None:
    (finding,) = found(world, look, "", "p[y * PITCH] = 0;", "#define PITCH 64 + 2")
    assert "#define PITCH 64 + 2 has no parentheses" in finding.message and "#define PITCH (64 + 2)" in finding.steps[0]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("(64+2)", "p[y * PITCH + x] = 0;"),
        ("66", "p[y * PITCH + x] = 0;"),
        ("-1", "p[y * PITCH + x] = 0;"),
        ("64+2", "p[x + PITCH] = 0;"),
        ("64*2", "p[y * PITCH] = 0;"),
        ("64+2", "p[y * (PITCH)] = PITCH;"),
        ("64+2", "p[x] = max(PITCH, y);"),
        ("2*3", "p[x] = y - PITCH;"),
        ("get_global_id(0)", "p[y * PITCH] = 0;"),
        ("a+b, c", "p[y * PITCH] = 0;"),
        ("unsigned int", "p[x] = 2 * (PITCH)y;"),
        ("+ 3", "p[x] = y PITCH * 2;"),
        ("64+2", "/* y * PITCH */ p[x] = 0; // y * PITCH"),
    ],
)
def test_values_that_stay_whole_are_silent(world: Make, look: Look, value: str, line: str) -> None:
    assert not found(world, look, f"'-DPITCH={value}'", line)
