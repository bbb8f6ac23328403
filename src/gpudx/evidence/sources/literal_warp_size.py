"""A literal number is used for the size of a wave: right for 32 threads, wrong for the 64 of many AMD devices.

    unsigned mask = __ballot(x > 0);                       // wrong: 64 bits do not fit
    for (int d = 16; d > 0; d /= 2) s += __shfl_down(s, d);  // wrong: half of the wave is left out
    for (int d = warpSize / 2; d > 0; d /= 2) s += __shfl_down(s, d);   // right

Only in HIP sources (a file .hip, or one that includes hip_runtime.h). A width of 32 that is passed to the shuffle itself is
intended, and right on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudx.evidence.sources._functions import Function, Source, calls, joined, matching, statements
from gpudx.evidence.sources._seen import Seen
from gpudx.evidence.sources._tokens import Token

RULE = "literal-warp-size"
SHUFFLES = ("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor")
NARROW = ("int", "unsigned", "uint32_t", "int32_t", "uint")
WIDE = ("long", "uint64_t", "int64_t")
HALF = 16  # of 32


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    if not source.path.endswith(".hip") and "hip_runtime.h" not in source.text:
        return
    for function in source.functions:
        yield from _ballots(source, function)
        yield from _loops(source, function)


def _ballots(source: Source, function: Function) -> Iterator[Seen]:
    for statement in statements(function.body):
        words = [token.text for token in statement]
        if "__ballot" not in words:
            continue
        head = words[: words.index("=")] if "=" in words else []
        narrow = any(word in NARROW for word in head) and not any(word in WIDE for word in head)
        if narrow or re.search(r"\b__(?:popc|ffs|clz) \( __ballot\b", " ".join(words)):
            yield _seen(
                source, function, statement[words.index("__ballot")], "keeps 32 of the 64 bits of __ballot", "ballot"
            )


def _loops(source: Source, function: Function) -> Iterator[Seen]:
    body = function.body
    for at, token in enumerate(body[:-1]):
        if token.text != "for" or body[at + 1].text != "(":
            continue
        close = matching(body, at + 1)
        head = body[at + 2 : close]
        inside = _inside(body, close + 1)
        if _starts_at_half(source, head) and any(len(given) == 2 for _, given in calls(inside, *SHUFFLES)):
            yield _seen(
                source, function, token, "begins its shuffles at a distance of 16, half of 32 threads", "shuffle"
            )


def _inside(body: Sequence[Token], at: int) -> Sequence[Token]:
    """What a loop repeats: a block, or all up to the semicolon."""
    if at < len(body) and body[at].text == "{":
        return body[at + 1 : matching(body, at)]
    return next(iter(statements(body[at:])), ())


def _starts_at_half(source: Source, head: Sequence[Token]) -> bool:
    """ "int d = 16; ...; d >>= 1" or "d /= 2"."""
    first = next(iter(statements(head)), ())
    equals = next((i for i, token in enumerate(first) if token.text == "="), None)
    if equals is None or source.number(first[equals + 1 :]) != HALF:
        return False
    return re.search(r"> > ?= 1|>> ?= 1|> >= 1|/= 2|/ 2", joined(head)) is not None


def _seen(source: Source, function: Function, token: Token, what: str, kind: str) -> Seen:
    return Seen(
        token.line,
        f"{function.name} at {source.at(token.line)} {what}: a wave has 64 threads on many AMD devices.",
        function.name,
        ("use warpSize, and unsigned long long for masks",),
        (),
        (("kind", kind),),
    )
