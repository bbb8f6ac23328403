"""What the CUDA driver prints while a program runs, as far as it says why something failed.

An assertion that fails in a kernel is told on stderr by every thread that meets it (CUDA C++ Programming Guide,
"Assertion"): FILE:LINE: FUNCTION: block: [X,Y,Z], thread: [X,Y,Z] Assertion `CONDITION` failed.
"""

from __future__ import annotations

import re

from gpudx.backends.tool import Assertion

_ASSERTION = re.compile(
    r"(?P<file>[^\n]*?):(?P<line>\d+): (?P<function>[^\n]*?): block: \[(?P<block>[\d, ]+)\], thread: \[(?P<thread>[\d, ]+)\]"
    r" Assertion `(?P<condition>[^\n]*)` failed"
)


def assertion(text: str) -> Assertion | None:
    """The assertion that a printed text tells of, None for other texts."""
    found = _ASSERTION.search(text)
    if found is None:
        return None
    return Assertion(
        source=f"{found['file']}:{found['line']}",
        function=found["function"],
        condition=found["condition"],
        block=found["block"].replace(" ", ""),
        thread=found["thread"].replace(" ", ""),
    )


def last_name(function: str) -> str:
    """The bare name of a function as compilers spell it: no result type, namespaces, template arguments or parameters."""
    depth, kept = 0, []
    for letter in function.partition(" [with ")[0].replace("(anonymous namespace)", ""):
        depth += letter in "<("
        if not depth:
            kept.append(letter)
        depth -= letter in ">)" and depth > 0
    return "".join(kept).strip().rpartition("::")[2].split(" ")[-1].lstrip("*&")
