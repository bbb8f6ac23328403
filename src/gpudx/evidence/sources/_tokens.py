"""Words of C, C++, CUDA, HIP and OpenCL C sources, after the conditional lines that can be decided.

No compiler: macros are not expanded and headers are not read. `#if` is decided by the names that the file or the command
line defines, and by those that compilers of device code define; a condition that cannot be read counts as true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.evidence.sources._numbers import evaluate

LONGEST = 2 << 20  # characters of one file
MOST_TOKENS = 400_000
COMPILERS_OWN = {"__CUDACC__": "1", "__CUDA_ARCH__": "900", "__cplusplus": "201703", "__NVCC__": "1"}

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\f\v]+ | \\\n | //[^\n]* )
    | (?P<comment>/\*.*?(?:\*/|\Z))
    | (?P<line>\n)
    | (?P<directive>\#[ \t]*[a-z]+[^\n\\]*(?:\\\n[^\n\\]*|\\[^\n])*)
    | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z) | (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"?)
    | (?P<char>'(?:[^'\\\n]|\\.)+')
    | (?P<number>\.?\d(?:[eEpP][+-]|['\w.])*)
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<mark2>::|->|\+\+|--|&&|\|\||[=!<>+*/%&|^-]=)
    | (?P<mark1>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"#\s*(\w+)\s*(.*)", re.DOTALL)
_DEFINE = re.compile(r"([A-Za-z_]\w*)(\()?[ \t]*(.*)", re.DOTALL)
_DEFINED = re.compile(r"\bdefined\s*\(?\s*([A-Za-z_]\w*)\s*\)?")


@dataclass(frozen=True)
class Token:
    """`kind` is "word", "number", "string", "char" or "mark"."""

    kind: str
    text: str
    line: int


class Tokens:
    """The words of a file, and what it defines. `defines` are those of the command line."""

    def __init__(self, text: str, defines: dict[str, str] | None = None) -> None:
        self.defines = {**COMPILERS_OWN, **(defines or {})}
        self._kept: list[bool] = []  # of each open condition: is its present branch read?
        self._taken: list[bool] = []  # has one of its branches been read?
        self.all = list(self._read(text[:LONGEST]))

    def _read(self, text: str) -> Iterator[Token]:
        line, count = 1, 0
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup or ""
            kind = "string" if kind == "mark" else "mark" if kind in ("mark1", "mark2") else kind
            if kind == "directive":
                self._directive(found[0])
            elif kind not in ("space", "comment", "line") and all(self._kept):
                count += 1
                yield Token(kind, found[0], line)
            line += found[0].count("\n")
            if count >= MOST_TOKENS:
                return

    def _directive(self, text: str) -> None:
        match = _DIRECTIVE.match(re.sub(r"//[^\n]*|/\*.*?\*/", " ", text.replace("\\\n", " "), flags=re.DOTALL))
        word, rest = (match[1], match[2].strip()) if match else ("", "")
        if word in ("if", "ifdef", "ifndef"):
            self._open(self._true(word, rest))
        elif word in ("elif", "else") and self._kept:
            self._kept[-1] = not self._taken[-1] and (word == "else" or self._true("if", rest))
            self._taken[-1] |= self._kept[-1]
        elif word == "endif" and self._kept:
            self._kept.pop()
            self._taken.pop()
        elif word in ("define", "undef") and all(self._kept):
            self._define(word, rest)

    def _open(self, true: bool) -> None:
        self._kept.append(true)
        self._taken.append(true)

    def _define(self, word: str, rest: str) -> None:
        match = _DEFINE.match(rest)
        if match and word == "undef":
            self.defines.pop(match[1], None)
        elif match:
            self.defines[match[1]] = "" if match[2] and rest[len(match[1])] == "(" else match[3].strip()

    def _true(self, word: str, rest: str) -> bool:
        if word in ("ifdef", "ifndef"):
            return (
                (rest.split(maxsplit=1)[:1] or [""])[0] in self.defines if word == "ifdef" else rest not in self.defines
            )
        known = _DEFINED.sub(lambda hit: str(int(hit[1] in self.defines)), rest)
        value = evaluate(known, self.defines, unknown=0)
        return value is None or bool(value)
