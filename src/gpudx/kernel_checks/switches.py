"""One source with many small changes in it, one of which is chosen when a kernel is launched: compiled once for all runs.

Each expression as a whole stands once as it is and once for each change in it: `(gdx_m == 7 ? (x <= n) : (x < n))`. The number is the last
parameter of each kernel, which the recorder sets (native/opencl/edited.h), and the first of each helper function. What cannot be chosen
in this way (the size of an array, a case, a constant) is left out: such a change needs a source of its own. So does one in the head of a
loop with a barrier: PoCL's compiler does not end on loops whose work-items may part there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpudx.kernel_checks.word_changes import Change, Word, closing, functions, tokenized

CHOSEN = "gdx_m"
HEADS = ("if", "while", "for", "switch")
CONSTANT = frozenset("__constant constant static case __local local".split())
UNSAFE = ("barrier", "work_group_barrier", "#")  # where work-items could part, and what no expression can hold


@dataclass(frozen=True)
class _Span:
    """An expression as a whole: characters of the text."""

    start: int
    end: int


def switched_text(text: str, changes: Mapping[int, Change]) -> tuple[str, frozenset[int]]:
    """The source, and which of the changes it has, by their numbers."""
    tokens, by_span = tokenized(text), dict[_Span, list[int]]()
    for number, change in changes.items():
        if span := _span(text, tokens, change):
            by_span.setdefault(span, []).append(number)
    for span in sorted(by_span, key=lambda one: one.start, reverse=True):
        whole, arms = text[span.start : span.end], ""
        for number in by_span[span]:
            at, change = changes[number].at - span.start, changes[number]
            arms += f"{CHOSEN} == {number}u ? ({whole[:at]}{change.after}{whole[at + len(change.before) :]}) : "
        text = f"{text[: span.start]}({arms}({whole})){text[span.end :]}"
    return _with_number(text), frozenset(number for numbers in by_span.values() for number in numbers)


def refused(changes: Mapping[int, Change], compiles: Callable[[str], bool]) -> frozenset[int]:
    """Those that no compiler takes, of changes of one text. Found by halves: most are fine."""
    if not changes or compiles(switched_text(next(iter(changes.values())).text, changes)[0]):
        return frozenset()
    if len(changes) == 1:
        return frozenset(changes)
    numbers = list(changes)
    halves = (numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :])
    return frozenset().union(*(refused({number: changes[number] for number in half}, compiles) for half in halves))


def _span(text: str, tokens: Sequence[Word], change: Change) -> _Span | None:
    """The expression that is changed as a whole, with all that belongs to it."""
    at = next((index for index, word in enumerate(tokens) if word.at == change.at), None)
    if at is None:
        return None
    first, is_header = _begin(tokens, at)
    last = _end(tokens, at, first)
    if last is None or last < first:
        return None
    mine = [word.text for word in tokens[first : last + 1]]
    whole = text[tokens[first].at : tokens[last].at + len(tokens[last].text)]
    if CONSTANT & set(mine) or any(one in whole for one in UNSAFE) or (is_header and _has_barrier(tokens, last)):
        return None
    if len(mine) > 1 and [word.kind for word in tokens[first : first + 2]] == ["name", "name"]:  # a declaration
        return _initializer(tokens, first, last, at)
    return _Span(tokens[first].at, tokens[last].at + len(tokens[last].text))


def _begin(tokens: Sequence[Word], at: int) -> tuple[int, bool]:
    """The first word of the statement, or of the part of a loop's head."""
    while at > 0:
        before = tokens[at - 1].text
        if before in (";", "{", "}", "return", "else", "do"):
            return at, before == ";" and _is_in_head(tokens, at - 1)
        if before == "(" and at > 1 and tokens[at - 2].text in HEADS:
            return at, True
        if before == ")" and (opening := _opening(tokens, at - 1)) and tokens[opening - 1].text in HEADS:
            return at, False
        at = _opening(tokens, at - 1) if before in (")", "]") else at - 1
    return at, False


def _is_in_head(tokens: Sequence[Word], at: int) -> bool:
    """Does this semicolon part the head of a loop?"""
    while at > 0 and tokens[at - 1].text not in ("{", "}"):
        at = _opening(tokens, at - 1) if tokens[at - 1].text in (")", "]") else at - 1
        if tokens[at].text == "(":
            return tokens[at - 1].text == "for"
    return False


def _opening(tokens: Sequence[Word], at: int) -> int:
    """Of the bracket that closes here."""
    depth = 0
    for index in range(at, -1, -1):
        depth += (tokens[index].text in (")", "]")) - (tokens[index].text in ("(", "["))
        if not depth:
            return index
    return 0


def _has_barrier(tokens: Sequence[Word], at: int) -> bool:
    """In the rest of the function?"""
    depth = 0
    for word in tokens[at:]:
        depth += (word.text == "{") - (word.text == "}")
        if depth < 0 or "barrier" in word.text:
            return depth >= 0
    return False


def _end(tokens: Sequence[Word], at: int, first: int) -> int | None:
    """The last word: before `;`, or before the bracket that closes the head."""
    depth = 0
    for index in range(first, len(tokens)):
        text = tokens[index].text
        if not depth and (text == ";" or (text == ")" and index > at)):
            return index - 1
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if text in ("{", "}"):
            return None
    return None


def _initializer(tokens: Sequence[Word], first: int, last: int, at: int) -> _Span | None:
    """Of the variable whose value is changed, in a declaration of several."""
    begin = end = -1
    depth = 0
    for index in range(first, last + 1):
        text = tokens[index].text
        if not depth and text == ",":
            if index > at:
                end = index - 1
                break
            begin = -1
        if not depth and text == "=" and begin < 0 and index < at:
            begin = index + 1
        depth += (text in ("(", "[")) - (text in (")", "]"))
    end = last if end < 0 else end
    return _Span(tokens[begin].at, tokens[end].at + len(tokens[end].text)) if begin > 0 else None


def _with_number(text: str) -> str:
    """Each kernel gets the number, and passes it on to whatever it calls."""
    tokens = tokenized(text)
    found = list(functions(tokens))
    helpers = {one.name for one in found if not one.is_kernel}
    kernels = {one.name for one in found if one.is_kernel}
    inserts = dict[tuple[int, int], str]()  # by what they replace
    for index, word in enumerate(tokens[:-1]):
        if tokens[index + 1].text != "(" or word.text not in helpers | kernels:
            continue
        begin, end = tokens[index + 1], tokens[closing(tokens, index + 1)]
        empty = text[begin.at + 1 : end.at].strip() in ("", "void")
        declared = _is_declared(tokens, index)
        what = f"uint {CHOSEN}" if declared else CHOSEN
        if empty and (declared or word.text in helpers):
            inserts[begin.at + 1, end.at] = what
        elif word.text in helpers:
            inserts[begin.at + 1, begin.at + 1] = f"{what}, "
        elif declared:
            inserts[end.at, end.at] = f", {what}"
    for start, stop in sorted(inserts, reverse=True):
        text = text[:start] + inserts[start, stop] + text[stop:]
    calls = "|".join(map(re.escape, sorted(helpers)))
    return DIRECTIVE.sub(lambda line: re.sub(rf"\b({calls})\((?=(\s*\))?)", _called, line.group()), text) if calls else text


DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\.)*", re.M | re.S)


def _called(call: re.Match[str]) -> str:
    return f"{call[1]}({CHOSEN}" + ("" if call[2] is not None else ", ")


def _is_declared(tokens: Sequence[Word], index: int) -> bool:
    """Is it outside all functions? Then it is a definition or a prototype."""
    depth = 0
    for word in tokens[:index]:
        depth += (word.text == "{") - (word.text == "}")
    return depth == 0


def is_kernel_called(text: str) -> bool:
    """Does a kernel call another one? Then the number would have to be its last argument."""
    tokens = tokenized(text)
    kernels = {one.name for one in functions(tokens) if one.is_kernel}
    return any(
        word.text in kernels and tokens[index + 1].text == "(" and not _is_declared(tokens, index) for index, word in enumerate(tokens[:-1])
    )


