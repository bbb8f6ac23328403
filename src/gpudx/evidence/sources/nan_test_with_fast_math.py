"""A test for NaN or infinity is compiled with options that promise that there are none: the compiler may leave it out.

    isnan(x)  with  -ffast-math, -ffinite-math-only (clang, hipcc), -cl-fast-relaxed-math, -cl-finite-math-only (OpenCL)

Options are those given to `gpudx lint`, of the command in a build log, or in a string of a host file that was given too. nvcc's
--use_fast_math makes no such promise (nvcc's documentation) and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudx.evidence.sources._functions import Function, Source
from gpudx.evidence.sources._seen import Seen
from gpudx.evidence.sources._tokens import Token

RULE = "nan-test-with-fast-math"
FINITE = ("-ffast-math", "-ffinite-math-only", "-cl-fast-relaxed-math", "-cl-finite-math-only")
TESTS = ("isnan", "isinf", "isfinite", "__isnanf", "__isinff")


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    option = _option(source, project)
    if not option:
        return
    for function in source.functions:
        if function.on_device or source.language == "opencl":
            for token, test in _tests(function):
                yield Seen(
                    token.line,
                    f"{function.name} tests for NaN at {source.at(token.line)} ({test}), and {option} lets the compiler drop it.",
                    function.name,
                    ("compile this file without the option, or test the bits of the number",),
                    (),
                    (("test", test),),
                )


def _option(source: Source, project: Sequence[Source]) -> str:
    given = next((option for option in FINITE if option in source.options), "")
    if given or source.language != "opencl":
        return given
    strings = (
        token.text for other in project if other is not source for token in other.tokens if token.kind == "string"
    )
    return next((option for text in strings for option in FINITE if option in text and option.startswith("-cl")), "")


def _tests(function: Function) -> Iterator[tuple[Token, str]]:
    body = function.body
    for at, token in enumerate(body[:-2]):
        if token.text in TESTS and body[at + 1].text == "(":
            yield token, token.text
        same = token.kind == "word" and body[at + 1].text == "!=" and body[at + 2].text == token.text
        alone = same and body[at - 1].text in ("(", "&&", "||", "=", "return", "!") and body[at + 3 : at + 4]
        if alone and body[at + 3].text in (")", "&&", "||", ";", "?"):
            yield token, f"{token.text} != {token.text}"
