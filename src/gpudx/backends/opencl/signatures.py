"""Kernel parameters read from OpenCL C source, where the driver does not describe them.

Drivers describe arguments only for programs that were built with -cl-kernel-arg-info, and adding that option would change
the program's build. The source passes through the recorder, so the declaration can be read from it.

What the preprocessor might change is either followed (plain macros, of the source and of -D) or not answered: kernels
declared in several ways, macros with parameters inside a declaration, and pointers whose address space is not visible
have no signature here. A wrong type would be worse than none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.backends.opencl.types import SPELLINGS

BUILDS = ("clBuildProgram", "clCompileProgram")  # the calls whose options a source is compiled with
LINKS = ("clLinkProgram",)

GLOBAL, LOCAL, CONSTANT, PRIVATE = 1, 2, 3, 4
READ_ONLY, WRITE_ONLY, READ_WRITE, NO_ACCESS = 1, 2, 3, 4
CONST, RESTRICT, VOLATILE = 1, 2, 4
MOST_BYTES = 4 << 20
MOST_EXPANSIONS = 16

SPACES = {"global": GLOBAL, "local": LOCAL, "constant": CONSTANT, "private": PRIVATE}
ACCESSES = {"read_only": READ_ONLY, "write_only": WRITE_ONLY, "read_write": READ_WRITE}
QUALIFIERS = {"const": CONST, "restrict": RESTRICT, "volatile": VOLATILE}
KERNEL = ("kernel", "__kernel")

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\()?[ \t]*(.*)$", re.M)
UNDEF = re.compile(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.M)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.M)
TOKEN = re.compile(r"\w+|[^\s\w]")
WORD = re.compile(r"[A-Za-z_]\w*$")


class _Unclear(Exception):
    """The declaration may mean something else than it seems to."""


@dataclass(frozen=True)
class Parameter:
    """One parameter, in the numbers that the recorder's notes use."""

    type: str  # "float*": as clGetKernelArgInfo spells it
    name: str
    space: int
    access: int
    qualifiers: int


def bare(source: str) -> str:
    """The source without comments, line continuations and the content of strings."""
    return STRING.sub('""', COMMENT.sub(" ", source.replace("\\\r\n", " ").replace("\\\n", " ")))


def signature_of(source: str, kernel: str, options: str = "") -> tuple[Parameter, ...] | None:
    """The parameters of `kernel`; None: it is not declared here, or not in one way only."""
    if not source or len(source) > MOST_BYTES or kernel not in source:
        return None
    text = bare(source)
    try:
        macros = _Macros(text, options)
        tokens = TOKEN.findall(DIRECTIVE.sub(" \x00 ", text))
        found = {tuple(_parameter(p) for p in declared) for declared in _declarations(tokens, kernel, macros)}
    except _Unclear:
        return None
    return found.pop() if len(found) == 1 else None


def kernel_names(source: str, options: str = "") -> list[str]:
    """The kernels that a source declares, in its order; none where a header or a macro may declare others."""
    if not source or len(source) > MOST_BYTES:
        return []
    text = bare(source)
    directives = DIRECTIVE.findall(text)
    pasted = any("##" in line for line in directives)
    if pasted or INCLUDE.search(text) or any(word in body for body in (*directives, options) for word in KERNEL):
        return []
    tokens = _without_attributes(TOKEN.findall(DIRECTIVE.sub(" ", text)))
    names: dict[str, None] = {}
    for i in (i for i, token in enumerate(tokens) if token in KERNEL):
        opened = tokens.index("(", i) if "(" in tokens[i:] else i
        if not WORD.match(tokens[opened - 1]):
            return []
        names[tokens[opened - 1]] = None
    return list(names)


# ---- macros ----


class _Macros:
    """Macros without parameters that have one value; all others are known by name only."""

    def __init__(self, text: str, options: str) -> None:
        self.values: dict[str, list[str]] = {}
        self.unclear: set[str] = set(UNDEF.findall(text))
        for name, value in _given(options):
            self._add(name, TOKEN.findall(value))
        for name, parameters, value in DEFINE.findall(text):
            if parameters:
                self.unclear.add(name)
            else:
                self._add(name, TOKEN.findall(value))

    def _add(self, name: str, value: list[str]) -> None:
        if self.values.setdefault(name, value) != value:
            self.unclear.add(name)

    def expand(self, tokens: list[str], depth: int = 0) -> list[str]:
        if depth > MOST_EXPANSIONS:
            raise _Unclear
        if any(t in self.unclear for t in tokens):
            raise _Unclear
        if not any(t in self.values for t in tokens):
            return tokens
        return self.expand([u for t in tokens for u in self.values.get(t, [t])], depth + 1)


def _given(options: str) -> Iterator[tuple[str, str]]:
    """-D name, -Dname=value."""
    try:
        words = shlex.split(options, posix=True)
    except ValueError as error:
        raise _Unclear from error
    for i, word in enumerate(words):
        if not word.startswith("-D"):
            continue
        given = word[2:] or (words[i + 1] if i + 1 < len(words) else "")
        name, _, value = given.partition("=")
        yield name, value if "=" in given else "1"


# ---- declarations ----


def _declarations(tokens: list[str], kernel: str, macros: _Macros) -> Iterator[list[list[str]]]:
    """The parameters of every declaration of the kernel, as lists of tokens."""
    for i, token in enumerate(tokens[:-1]):
        if token != kernel or tokens[i + 1] != "(":
            continue
        before = macros.expand(_back_to_boundary(tokens, i))
        if not any(t in KERNEL for t in before):
            continue  # a call, or a function of the same name
        inside = _to_closing(tokens, i + 1)
        if "\x00" in inside:
            raise _Unclear  # a directive inside the declaration
        yield _split(macros.expand(inside))


def _back_to_boundary(tokens: list[str], at: int) -> list[str]:
    start = at
    while start and tokens[start - 1] not in (";", "}", "{", "\x00"):
        start -= 1
    return tokens[start:at]


def _to_closing(tokens: list[str], at: int) -> list[str]:
    """What is between the parenthesis at `at` and its partner."""
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end] == "(") - (tokens[end] == ")")
        if not depth:
            return tokens[at + 1 : end]
    raise _Unclear


def _split(tokens: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in "([") - (token in ")]")
        if token == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [] if parts == [[]] or parts == [["void"]] else parts


def _without_attributes(tokens: list[str]) -> list[str]:
    kept: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] in ("__attribute__", "__attribute") and at + 1 < len(tokens) and tokens[at + 1] == "(":
            at += 1 + len(_to_closing(tokens, at + 1)) + 2
            continue
        kept.append(tokens[at])
        at += 1
    return kept


def _parameter(given: list[str]) -> Parameter:
    tokens = _without_attributes(given)
    space, access, qualifiers, words, stars, array = 0, NO_ACCESS, 0, list[str](), 0, False
    for token in tokens:
        plain = token.strip("_") if token.startswith("__") else token
        if plain in SPACES:
            space = SPACES[plain]
        elif plain in ACCESSES:
            access = ACCESSES[plain]
        elif plain in QUALIFIERS:
            qualifiers |= QUALIFIERS[plain]
        elif token == "*":
            stars += 1
        elif token == "[":
            array = True
        elif token in ("generic", "__generic", "pipe") or not (WORD.match(token) or array):
            raise _Unclear
        elif not array:
            words.append(token)
    return _finished(words, stars + array, space, access, qualifiers)


def _finished(words: list[str], stars: int, space: int, access: int, qualifiers: int) -> Parameter:
    if words[:1] in (["struct"], ["union"], ["enum"]):
        words = [f"{words[0]} {words[1]}" if len(words) > 1 else "", *words[2:]]
    if len(words) < 2:
        raise _Unclear  # a name is missing: not a definition, or a macro that we do not see
    name, written = words[-1], " ".join(words[:-1])
    base = SPELLINGS.get(written, written)
    if " " in base and not base.startswith(("struct ", "union ", "enum ")):
        raise _Unclear
    if stars:
        if space not in (GLOBAL, LOCAL, CONSTANT):
            raise _Unclear  # the address space is hidden in something that we do not see
        return Parameter(base + "*" * stars, name, space, NO_ACCESS, qualifiers | (CONST if space == CONSTANT else 0))
    if base.startswith("image"):
        return Parameter(base, name, GLOBAL, READ_ONLY if access == NO_ACCESS else access, 0)
    if space in (GLOBAL, LOCAL, CONSTANT):
        raise _Unclear  # a pointer behind a typedef
    return Parameter(base, name, PRIVATE, access, 0)
