"""Calls that sentences name by number get their lines, once, and not where the line is there already."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gpudx.diagnose.call_lines import CallLines
from gpudx.model import Evidence, Finding, Site

LINES = {33: "/home/me/shade.cpp:53", 49: "/home/me/shade.cpp:81", 50: None}


def process() -> Any:
    def at(position: int) -> Site:
        return Site("clEnqueueMapBuffer", position + 1, 7, 7, source=LINES.get(position + 1))

    class Trace:
        pid = 7

        def __len__(self) -> int:
            return 60

    return SimpleNamespace(trace=Trace(), sites=SimpleNamespace(at=at))


def said(text: str, **more: Any) -> str:
    finding = Finding("x", "error", text, (Evidence(text),), pid=7, **more)
    found = CallLines([process()]).of(finding)
    assert found.evidence[0].text == found.message
    return found.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call 33 mapped it", "call 33 (shade.cpp:53) mapped it"),
        ("clEnqueueMapBuffer (call 33) mapped it", "clEnqueueMapBuffer (call 33, shade.cpp:53) mapped it"),
        ("it was set (call 33), then again (call 49).", "it was set (call 33, shade.cpp:53), then again (call 49, shade.cpp:81)."),
        ("call 33, and call 49 of it.", "call 33, and call 49 (shade.cpp:81) of it."),
        ("call 33 and again call 33", "call 33 (shade.cpp:53) and again call 33"),
        ("call 33 (shade.cpp:53) mapped it", "call 33 (shade.cpp:53) mapped it"),
        ("clX (call 33, main.c:9) mapped it", "clX (call 33, main.c:9) mapped it"),
        ("call 50 and call 99, no call", "call 50 and call 99, no call"),
    ],
)
def test_a_number_gets_its_line(text: str, expected: str) -> None:
    assert said(text) == expected


def test_the_call_that_is_shown_anyway_is_not_repeated() -> None:
    own = Site("clEnqueueMapBuffer", 33, 7, 7, source="/home/me/shade.cpp:53")
    assert said("call 33 and call 49 met", site=own) == "call 33 and call 49 (shade.cpp:81) met"
    assert said("call 33 met", site=own, root=Site("clCreateBuffer", 3, 7, 7)) == "call 33 (shade.cpp:53) met", "another one is shown"
