"""Small changes to the source of a kernel that may be what was meant: candidates for an experiment, no verdicts.

One at a time: another variable of the same type, another comparison, a number that is one more or less, another dimension or range of an
id, a sum in place of an assignment, a division in floating point. Read from words, without a grammar: a change that does not compile, or
that makes things worse, is one run that fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from gpudx.kernel_checks.suspects import Edit, Suspect

MOST = 80  # candidates: each costs a run
NAMES = 4  # variables, for each change of another kind
MOST_TEXT = 100_000  # characters of a program
TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<number>\.?\d(?:[\w.]|(?<=[eEpP])[-+])*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<op><<=|>>=|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|\+\+|--|->|\S)",
    re.S | re.M,
)
INTEGERS = frozenset("int uint long ulong size_t short ushort char uchar unsigned".split())
REALS = frozenset("float double half".split())
KERNEL = frozenset(("kernel", "__kernel"))
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OTHERS = {"&&": "||", "||": "&&", "min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin"}
SUMS = {"+": "-", "-": "+"}
SETS = {"=": "+=", "+=": "="}
IDS = {
    "get_global_id": ("get_local_id", "get_group_id"),
    "get_local_id": ("get_global_id", "get_group_id"),
    "get_group_id": ("get_global_id", "get_local_id"),
    "get_local_size": ("get_global_size", "get_num_groups"),
    "get_global_size": ("get_local_size",),
    "get_num_groups": ("get_local_size",),
}
INTEGER = re.compile(r"\d{1,6}")
VALUE = re.compile(r"[\w)\]]")  # how an operand ends


@dataclass(frozen=True)
class Word:
    text: str
    kind: str  # "number", "name" or "op"
    at: int


@dataclass(frozen=True)
class Change:
    """What stands at `at`, in characters of the text, and what else may have been meant."""

    kernel: str  # "" in a helper function
    text: str = field(repr=False)
    at: int
    before: str
    after: str

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    @property
    def was(self) -> str:
        return self._line(self.text)

    @property
    def whole(self) -> str:
        """The text with the change."""
        return self.text[: self.at] + self.after + self.text[self.at + len(self.before) :]

    @property
    def becomes(self) -> str:
        return self._line(self.whole)

    def _line(self, text: str) -> str:
        return text.split("\n")[self.line - 1].strip()

    @property
    def suspect(self) -> Suspect:
        start = len(self.text[: self.at].encode("utf-8", "surrogateescape"))
        return Suspect(source=self.text, function=self.kernel, edits=(Edit(start, start + len(self.before), self.after),))

    def __str__(self) -> str:
        return f"line {self.line}: {self.becomes}"


def changes(kernels: Mapping[str, Collection[str]]) -> tuple[Change, ...]:
    """By text, its kernels that were launched: what may have been meant, of all kinds of changes in turn, so that a long kernel does not
    hide the last kinds. Variables are confused most often."""
    texts = {text: names for text, names in kernels.items() if len(text) <= MOST_TEXT}
    found = [(text, one) for text, names in texts.items() for one in functions(tokenized(text)) if one.is_of(names)]
    names, *others = (_of_kind(found, kind) for kind in KINDS)
    by_kind = [*(names[first::NAMES] for first in range(NAMES)), *others]
    mixed = [one for turn in zip_longest(*by_kind) for one in turn if one is not None]
    return tuple(dict.fromkeys(mixed))[:MOST]


@dataclass(frozen=True)
class Function:
    name: str
    is_kernel: bool
    head: Sequence[Word]
    body: Sequence[Word]

    def is_of(self, kernels: Collection[str]) -> bool:
        """One of these kernels, or a helper function."""
        return not self.is_kernel or self.name in kernels

    @cached_property
    def given(self) -> tuple[str, ...]:
        """Its parameters that are integers."""
        return tuple(name for one in _parted(self.head) if (name := _integer([word.text for word in one])))

    @cached_property
    def made(self) -> dict[str, int]:
        """Its own variables that are integers, and from which word of the body on each is known."""
        words, found = [word.text for word in self.body], dict[str, int]()
        for at, text in enumerate(words[:-2]):
            if text in INTEGERS and words[at + 1] not in INTEGERS and self.body[at + 1].kind == "name":
                for name in _declared(words[at + 1 :]):
                    found.setdefault(name, words.index(";", at) if ";" in words[at:] else len(words))
        return found

    @cached_property
    def turns(self) -> frozenset[int]:
        """The words of the body that say how often a loop turns: another variable there may make it turn for ever."""
        return self._behind(("for", "while"), "(")

    @cached_property
    def subscripts(self) -> frozenset[int]:
        """The words of the body that say which element is accessed."""
        return self._behind((), "[")

    @cached_property
    def conditions(self) -> frozenset[int]:
        return self._behind(("if",), "(")

    def _behind(self, words: Collection[str], opening: str) -> frozenset[int]:
        found = set[int]()
        for at, word in enumerate(self.body):
            if word.text == opening and (not words or (at and self.body[at - 1].text in words)):
                found.update(range(at, closing(self.body, at)))
        return frozenset(found)

    @cached_property
    def has_reals(self) -> bool:
        return any(word.text.rstrip("248163") in REALS for word in (*self.head, *self.body))


def _integer(words: list[str]) -> str:
    return words[-1] if len(words) > 1 and "*" not in words and INTEGERS & set(words[:-1]) else ""


def _declared(words: list[str]) -> Iterator[str]:
    """The variables of one declaration: x and y of `x = f(a, b), y;`. None of an array or a pointer."""
    depth, fresh = 0, True
    for at, text in enumerate(words):
        if text == ";" or depth < 0:
            return
        if fresh and words[at + 1 : at + 2] and words[at + 1] in "=,;":
            yield text
        depth += (text in "([{") - (text in ")]}")
        fresh = text == "," and not depth


def tokenized(text: str) -> list[Word]:
    return [
        Word(match.group(), str(match.lastgroup), match.start())
        for match in TOKEN.finditer(text)
        if match.lastgroup != "skip"
    ]


def functions(words: Sequence[Word]) -> Iterator[Function]:
    """Definitions: `type name(...) {...}` outside all others."""
    at = 0
    while at < len(words):
        if words[at].text == "(" and at and words[at - 1].kind == "name":
            close = closing(words, at)
            if close + 1 < len(words) and words[close + 1].text == "{":
                end = closing(words, close + 1)
                begin = max((i for i in range(at) if words[i].text in (";", "}")), default=-1)
                yield Function(
                    words[at - 1].text,
                    any(word.text in KERNEL for word in words[begin + 1 : at]),
                    words[at + 1 : close],
                    words[close + 2 : end],
                )
                at = end
            else:
                at = close
        elif words[at].text == "{":
            at = closing(words, at)
        at += 1


def closing(words: Sequence[Word], at: int) -> int:
    opening, closing = words[at].text, {"(": ")", "{": "}", "[": "]"}[words[at].text]
    depth = 0
    for end in range(at, len(words)):
        depth += (words[end].text == opening) - (words[end].text == closing)
        if not depth:
            return end
    return len(words) - 1


def _parted(words: Sequence[Word]) -> list[list[Word]]:
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.text == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


# ---- kinds of changes: each gives, for a function, the places in its body and what they become ----

Places = Iterator[tuple[int, str]]


def _names(f: Function) -> Places:
    """Another variable: parameters for parameters and own ones for own ones come first."""
    places = [(at, w) for at, w in enumerate(f.body) if w.kind == "name" and not _is_written(f.body, at)]
    for near in (True, False):
        for at, word in places:
            own = tuple(name for name, known in f.made.items() if known < at and at not in f.turns)
            if word.text in f.given:
                others = f.given if near else own
            else:
                others = (own if near else f.given) if word.text in own else ()
            yield from ((at, other) for other in others if other not in _beside(f.body, at))


def _beside(body: Sequence[Word], at: int) -> set[str]:
    """A variable, and what it is compared or added with: `x < x` was never meant."""
    return {body[i].text for i in (at - 2, at, at + 2) if 0 <= i < len(body)}


def _is_written(body: Sequence[Word], at: int) -> bool:
    """Is it declared or changed here, or a member or function of the same name?"""
    before = body[at - 1].text if at else ""
    after = body[at + 1].text if at + 1 < len(body) else ""
    changed = after in ("++", "--", "(") or (after.endswith("=") and after not in ("==", "<=", ">=", "!="))
    return before in ("++", "--", ".", "->") or before in INTEGERS or changed


def _comparisons(f: Function) -> Places:
    yield from ((at, COMPARISONS[word.text]) for at, word in enumerate(f.body) if word.text in COMPARISONS)


def _literals(f: Function) -> Places:
    for step in (1, -1):
        for at, word in enumerate(f.body):
            if INTEGER.fullmatch(word.text) and int(word.text) + step >= 0 and not _is_dimension(f.body, at):
                yield at, str(int(word.text) + step)


def _is_dimension(body: Sequence[Word], at: int) -> bool:
    return at > 1 and body[at - 2].text in IDS


def _ids(f: Function) -> Places:
    for at, word in enumerate(f.body):
        if _is_dimension(f.body, at) and word.text in ("0", "1"):
            yield at, str(1 - int(word.text))
        yield from ((at, other) for other in IDS.get(word.text, ()))


def _sets(f: Function) -> Places:
    """`x = ` and `x += `, not where a variable is declared."""
    for at, word in enumerate(f.body):
        if word.text in SETS and not _declares(f.body, at):
            yield at, SETS[word.text]


def _declares(body: Sequence[Word], at: int) -> bool:
    """Is it in a statement that begins with a type and a name?"""
    depth, start = 0, at
    while start and depth >= 0 and body[start - 1].text not in (";", "{", "}"):
        start -= 1
        depth += (body[start].text == ")") - (body[start].text == "(")
    first = body[start + (depth < 0) :][:2]
    return [word.kind for word in first] == ["name", "name"]


def _divisions(f: Function) -> Places:
    """In floating point, where the function has such numbers and the quotient is no index."""
    for at, word in enumerate(f.body if f.has_reals else ()):
        if word.text == "/" and at not in f.subscripts:
            yield at, "/(float)"


def _sums(f: Function) -> Places:
    for at, word in enumerate(f.body):
        if word.text in SUMS and at and VALUE.fullmatch(f.body[at - 1].text[-1]):
            yield at, SUMS[word.text]


def _others(f: Function) -> Places:
    yield from ((at, OTHERS[word.text]) for at, word in enumerate(f.body) if word.text in OTHERS)


KINDS = (_names, _comparisons, _literals, _ids, _sets, _divisions, _sums, _others)


def _of_kind(functions: Sequence[tuple[str, Function]], kind: Callable[[Function], Places]) -> list[Change]:
    """All changes of one kind, those that decide about accesses first."""
    found = [(text, f, at, after) for text, f in functions for at, after in kind(f)]
    found.sort(key=lambda one: (one[2] not in one[1].subscripts, one[2] not in one[1].conditions))
    return [Change(f.name if f.is_kernel else "", text, f.body[at].at, f.body[at].text, after) for text, f, at, after in found]
