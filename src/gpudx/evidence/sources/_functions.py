"""Functions of a source with their kinds, parameters and bodies; constants; structs. Read from words, without a grammar.

What is not understood is left out: a rule that needs it stays silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from gpudx.evidence.sources._numbers import evaluate
from gpudx.evidence.sources._tokens import Token, Tokens

KERNEL_WORDS = ("__global__", "__kernel", "kernel")
CONTROL = ("if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype")
AFTER_PARAMETERS = ("const", "noexcept", "override", "final", "volatile")
INSIDE = ("namespace", "struct", "class", "extern", "union")  # braces whose content is read on
CONSTANT = ("constexpr", "const")
CLOSE = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Function:
    """`body` is what stands between the braces."""

    name: str
    line: int
    specifiers: tuple[str, ...]
    parameters: tuple[Token, ...]
    body: tuple[Token, ...]

    @property
    def is_kernel(self) -> bool:
        return any(word in KERNEL_WORDS for word in self.specifiers)

    @property
    def on_device(self) -> bool:
        return self.is_kernel or "__device__" in self.specifiers


@dataclass(frozen=True)
class Struct:
    """`members` are the words of each member's declaration."""

    name: str
    line: int
    members: tuple[tuple[str, ...], ...]


@dataclass
class Source:
    """One file, as rules see it."""

    path: str
    text: str
    options: tuple[str, ...] = ()  # of the compiler
    defines: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return PurePath(self.path).name

    @property
    def language(self) -> str:
        return "opencl" if PurePath(self.path).suffix in (".cl", ".ocl") else "cuda"

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self.text, self.defines)

    @property
    def tokens(self) -> list[Token]:
        return self._tokens.all

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        return tuple(_functions(self.tokens))

    @cached_property
    def structs(self) -> tuple[Struct, ...]:
        return tuple(_structs(self.tokens))

    @cached_property
    def constants(self) -> dict[str, str | int]:
        known: dict[str, str | int] = {name: text for name, text in self._tokens.defines.items() if text}
        for name, value in (*_enumerators(self.tokens, known), *_assigned(self.tokens)):
            known.setdefault(name, value)
        return known

    def number(self, tokens: Sequence[Token] | str) -> int | None:
        """The value of a constant expression."""
        text = tokens if isinstance(tokens, str) else joined(tokens)
        return evaluate(text, self.constants) if text else None

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    def line(self, number: int) -> str:
        """The text of a line, without its indentation."""
        return self._lines[number - 1].strip()[:160] if number <= len(self._lines) else ""

    def at(self, line: int) -> str:
        return f"{self.name}:{line}"


def joined(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


def as_written(text: str) -> str:
    """What `joined` gives, as people space it: "get_local_id(0) < v"."""
    return re.sub(r"(?<=[\w)\]]) (?=[(\[])|(?<=[(\[]) | (?=[)\],;])| (?=->|\.)|(?<=->) |(?<=\.) ", "", text)


def matching(tokens: Sequence[Token], at: int) -> int:
    """The index of what closes the bracket at `at`; the end where nothing does."""
    opened, depth = tokens[at].text, 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].text == opened) - (tokens[index].text == CLOSE[opened])
        if depth == 0:
            return index
    return len(tokens)


def arguments(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """What stands between the commas of a list, without those inside brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def calls(tokens: Sequence[Token], *names: str) -> Iterator[tuple[Token, list[Sequence[Token]]]]:
    """Every call of one of these functions, with its arguments."""
    for at, token in enumerate(tokens[:-1]):
        if token.kind == "word" and token.text in names and tokens[at + 1].text == "(":
            yield token, arguments(tokens[at + 2 : matching(tokens, at + 1)])


def statements(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What stands between semicolons and braces."""
    begin = 0
    for at, token in enumerate(tokens):
        if token.text in (";", "{", "}"):
            if at > begin:
                yield tokens[begin:at]
            begin = at + 1
    if begin < len(tokens):
        yield tokens[begin:]


# ---- functions ----


def _functions(tokens: Sequence[Token]) -> Iterator[Function]:
    at, begin = 0, 0  # `begin` is where the present declaration begins
    while at < len(tokens):
        text = tokens[at].text
        if text == "{":
            found = _function(tokens, begin, at)
            end = matching(tokens, at)
            if found is not None:
                yield found
            inside = found is None and any(token.text in INSIDE for token in tokens[begin:at])
            at = at + 1 if inside else end + 1
            begin = at
            continue
        at += 1
        if text in (";", "}"):
            begin = at


def _function(tokens: Sequence[Token], begin: int, brace: int) -> Function | None:
    close = brace - 1
    while close > begin and tokens[close].text in AFTER_PARAMETERS:
        close -= 1
    if close <= begin or tokens[close].text != ")":
        return None
    opened = _opening(tokens, begin, close)
    if opened is None or opened <= begin or tokens[opened - 1].kind != "word":
        return None
    name = tokens[opened - 1]
    if name.text in CONTROL:
        return None
    specifiers = tuple(token.text for token in tokens[begin : opened - 1])
    end = matching(tokens, brace)
    return Function(name.text, name.line, specifiers, tuple(tokens[opened + 1 : close]), tuple(tokens[brace + 1 : end]))


def _opening(tokens: Sequence[Token], begin: int, close: int) -> int | None:
    depth = 0
    for at in range(close, begin - 1, -1):
        depth += (tokens[at].text == ")") - (tokens[at].text == "(")
        if depth == 0:
            return at
    return None


# ---- constants and structs ----


def _enumerators(tokens: Sequence[Token], known: dict[str, str | int]) -> Iterator[tuple[str, str | int]]:
    for at, token in enumerate(tokens):
        if token.text != "enum":
            continue
        brace = next((i for i in range(at, min(at + 8, len(tokens))) if tokens[i].text == "{"), None)
        if brace is None:
            continue
        following = "0"
        for part in arguments(tokens[brace + 1 : matching(tokens, brace)]):
            text = joined(part[2:]) if len(part) > 2 and part[1].text == "=" else following
            yield part[0].text, text
            following = f"({text}) + 1"


def _assigned(tokens: Sequence[Token]) -> Iterator[tuple[str, str | int]]:
    """ "constexpr int N = 4;", also several in one declaration."""
    for statement in statements(tokens):
        words = [token.text for token in statement]
        start = next((i for i, word in enumerate(words) if word in CONSTANT), None)
        if start is None or "=" not in words or "(" in words[: words.index("=")]:
            continue
        for part in arguments(statement[start:]):
            if (equals := next((i for i, token in enumerate(part) if token.text == "="), 0)) > 0:
                yield part[equals - 1].text, joined(part[equals + 1 :])


def _structs(tokens: Sequence[Token]) -> Iterator[Struct]:
    for at, token in enumerate(tokens):
        if token.text != "struct":
            continue
        brace = next((i for i in range(at + 1, min(at + 6, len(tokens))) if tokens[i].text == "{"), None)
        if brace is None:
            continue
        end = matching(tokens, brace)
        name = next((t.text for t in tokens[at + 1 : brace] if t.kind == "word" and not t.text.startswith("__")), "")
        if not name and end + 1 < len(tokens) and tokens[end + 1].kind == "word":
            name = tokens[end + 1].text  # typedef struct { ... } name;
        members = tuple(tuple(t.text for t in one) for one in statements(tokens[brace + 1 : end]))
        if name:
            yield Struct(name, token.line, members)
