"""Returns and barriers of a kernel, with the conditions that they stand under; and what differs between threads.

A condition is taken to differ between the threads of a group when it has the number of a thread in it, or a variable that was made
from one. Bodies of lambdas are passed over.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from gpudx.evidence.sources._functions import Function, arguments, matching, statements
from gpudx.evidence.sources._tokens import Token

BARRIERS = (
    "__syncthreads",
    "__syncthreads_and",
    "__syncthreads_or",
    "__syncthreads_count",
    "barrier",
    "work_group_barrier",
)
NUMBERS = (
    "threadIdx", "get_local_id", "get_global_id", "get_local_linear_id", "get_global_linear_id", "hipThreadIdx_x",
    "hipThreadIdx_y", "hipThreadIdx_z", "get_sub_group_local_id", "__lane_id",
)  # fmt: skip
PASSES = 3  # variables made from variables made from numbers

Condition = tuple[Token, ...]


@dataclass(frozen=True)
class Step:
    """A return or a barrier. `conditions` are those around it, the outermost first."""

    kind: str  # "return" or "barrier"
    token: Token
    conditions: tuple[Condition, ...]


def steps(function: Function) -> list[Step]:
    return list(_walk(function.body, 0, len(function.body), ()))


def differs(function: Function) -> set[str]:
    """Names whose value differs between threads."""
    known = set(NUMBERS)
    for _ in range(PASSES):
        for statement in statements(function.body):
            for part in arguments(statement):
                at = next((i for i, token in enumerate(part) if token.text in ("=", "+=", "-=")), 0)
                if at and part[at - 1].kind == "word" and known & _names(part[at + 1 :]):
                    known.add(part[at - 1].text)
    return known


def _names(tokens: Sequence[Token]) -> set[str]:
    """Names of variables and functions; members behind "." and "->" are not."""
    return {one.text for at, one in enumerate(tokens) if at == 0 or tokens[at - 1].text not in (".", "->")}


def divergent(step: Step, names: set[str]) -> Condition | None:
    """The first of its conditions that differs between threads."""
    return next((one for one in step.conditions if _names(one) & names), None)


def _walk(tokens: Sequence[Token], at: int, end: int, around: tuple[Condition, ...]) -> Iterator[Step]:
    while at < end:
        at = yield from _statement(tokens, at, end, around)


def _statement(tokens: Sequence[Token], at: int, end: int, around: tuple[Condition, ...]) -> Generator[Step, None, int]:
    text = tokens[at].text
    if text == "{":
        close = min(matching(tokens, at), end)
        yield from _walk(tokens, at + 1, close, around)
        return close + 1
    if text in ("if", "while", "for", "switch"):
        return (yield from _guarded(tokens, at, end, around))
    if text in ("else", "do"):
        return at + 1
    return (yield from _simple(tokens, at, end, around))


def _guarded(tokens: Sequence[Token], at: int, end: int, around: tuple[Condition, ...]) -> Generator[Step, None, int]:
    """The condition also holds, turned round, for the other branch."""
    begin = at + 1 + (at + 1 < end and tokens[at + 1].text == "constexpr")
    if begin >= end or tokens[begin].text != "(":
        return begin
    close = min(matching(tokens, begin), end)
    inner = (*around, tuple(tokens[begin + 1 : close]))
    after = close + 1
    if after < end:
        after = yield from _statement(tokens, after, end, inner)
    if tokens[at].text == "if" and after < end and tokens[after].text == "else":
        after = yield from _statement(tokens, after + 1, end, inner)
    return after


def _simple(tokens: Sequence[Token], at: int, end: int, around: tuple[Condition, ...]) -> Generator[Step, None, int]:
    """Up to the semicolon, over brackets and what stands in them."""
    first = at
    while at < end and tokens[at].text != ";":
        token = tokens[at]
        if token.text in BARRIERS and at + 1 < end and tokens[at + 1].text == "(":
            yield Step("barrier", token, around)
        if token.text == "{" and at > first and tokens[at - 1].text == ")" and not _assigned(tokens[first:at]):
            return at  # a macro that opens a block
        at = min(matching(tokens, at), end) + 1 if token.text in "([{" else at + 1
    if first < end and tokens[first].text == "return":
        yield Step("return", tokens[first], around)
    return at + 1


def _assigned(tokens: Sequence[Token]) -> bool:
    return any(token.text in ("=", "[", "return") for token in tokens)
