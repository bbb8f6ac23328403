"""Macros whose value is a sum or another expression without parentheses, used beside an operator that binds tighter.

With -DPITCH=64+2, `y * PITCH` is `y * 64 + 2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudx.facts.build_macros import Build
from gpudx.kernel_checks.word_changes import RANKS, VALUE, Word, tokenized

OPERANDS = frozenset("( ) [ ] . , ->".split())
NOT_AGAIN = {"-": ("+", "-"), "/": ("*", "/", "%"), "%": ("*", "/", "%")}  # behind which an operator of the same rank changes its meaning


@dataclass(frozen=True)
class BareMacro:
    """Where a source uses a macro so that only a part of its value is an operand of the operator beside it."""

    name: str
    value: str
    line: int
    used: str  # "y * PITCH"
    by_option: bool

    @property
    def becomes(self) -> str:
        return self.used.replace(self.name, self.value)

    @property
    def step(self) -> str:
        if self.by_option:
            return f"Put the value in parentheses: \"-D{self.name}=({self.value})\"."
        return f"Put the value in parentheses: #define {self.name} ({self.value})."


def bare_macros(build: Build) -> list[BareMacro]:
    """Each macro where it is first used so."""
    values = {name: (value, False) for name, value in build.defaults.items()} | {name: (value, True) for name, value in build.given.items()}
    risky = {name: operators for name, (value, _) in values.items() if (operators := _operators(value))}
    words, found = tokenized(build.text) if risky else [], dict[str, BareMacro]()
    for at, word in enumerate(words):
        if word.text not in found and word.text in risky and (used := _used(build.text, words, at, risky[word.text])):
            value, by_option = values[word.text]
            found[word.text] = BareMacro(word.text, value, build.text.count("\n", 0, word.at) + 1, used, by_option)
    return list(found.values())


def _operators(value: str) -> list[str]:
    """The operators of an expression that no parentheses enclose; none where it is something else."""
    words, depth, found = tokenized(value), 0, list[str]()
    for at, word in enumerate(words):
        depth += (word.text in ("(", "[")) - (word.text in (")", "]"))
        if word.kind == "op" and word.text not in RANKS and word.text not in OPERANDS:
            return []
        is_binary = word.text in RANKS and 0 < at < len(words) - 1 and VALUE.fullmatch(words[at - 1].text[-1])
        if not depth and is_binary:
            found.append(word.text)
        if not depth and (word.text == "," or (word.text in RANKS and at == len(words) - 1)):
            return []
        if word.kind != "op" and at and words[at - 1].kind != "op":  # two words in a row: a declaration, or a statement
            return []
    return found if words and words[0].text not in ("*", "/", "%", "+", "<<", ">>") else []


def _used(text: str, words: Sequence[Word], at: int, operators: Sequence[str]) -> str:
    """The operator beside it with its operand, where that binds tighter than one of the value; "" where none does."""
    least = min(RANKS[one] for one in operators)
    begin = end = at
    if at > 1 and _is_tighter(words[at - 1], words[at - 2], least, operators):
        begin = _operand(words, at - 2)
    if at + 2 < len(words) and RANKS.get(words[at + 1].text, 0) > least:
        end = at + 2
    return text[words[begin].at : words[end].at + len(words[end].text)] if (begin, end) != (at, at) else ""


def _is_tighter(operator: Word, before: Word, least: int, operators: Sequence[str]) -> bool:
    if operator.text not in RANKS or not VALUE.fullmatch(before.text[-1]):
        return False
    return RANKS[operator.text] > least or any(one in NOT_AGAIN.get(operator.text, ()) for one in operators)


def _operand(words: Sequence[Word], at: int) -> int:
    """Where the operand that ends here begins."""
    depth = 0
    for index in range(at, -1, -1):
        depth += (words[index].text in (")", "]")) - (words[index].text in ("(", "["))
        if not depth:
            called = index > 0 and words[index].text in ("(", "[") and words[index - 1].kind == "name"
            return index - 1 if called else index
    return at
