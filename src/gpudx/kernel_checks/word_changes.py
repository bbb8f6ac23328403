"""Small changes to the source of a kernel that may be what was meant: candidates for an experiment, no verdicts.

One at a time: another variable of the same type, another comparison, a number that is one more or less, another dimension or range of an
id, a sum in place of an assignment, a division in floating point, parentheses, the start of a maximum, a byte without a sign, the words in
which another function says the same. Read from words, without a grammar: a change that does not compile, or that makes things worse, is
one run that fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from gpudx.kernel_checks.suspects import Edit, Suspect

MOST = 160  # candidates: each costs a run
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
RANKS = {
    "*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, ">": 7, "<=": 7, ">=": 7, "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3,
}  # fmt: skip  # of operators between two operands: which of them binds tighter
ENDS = frozenset("; , { } ) ] = += -= *= /= %= &= |= ^= <<= >>= ? : && || return".split())
SMALLEST = frozenset(("FLT_MIN", "DBL_MIN", "HALF_MIN"))
ZERO = re.compile(r"0+(?:\.0*)?f?|\.0+f?")
EXTREMES = ("max", "fmax", "min", "fmin")
SIGNS = {"char": "uchar", "uchar": "char", "short": "ushort", "ushort": "short"}
FEW = 6  # words in which two statements differ


@dataclass(frozen=True)
class Word:
    text: str
    kind: str  # "number", "name" or "op"
    at: int


@dataclass(frozen=True)
class Change:
    """What stands at `at`, in characters of the text, and what else may have been meant."""

    kernel: str  # "" in a helper function
    function: str
    kernels: tuple[str, ...]  # that were launched and run it
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
        end = start + len(self.before.encode("utf-8", "surrogateescape"))
        return Suspect(source=self.text, function=self.kernel, edits=(Edit(start, end, self.after),))

    def __str__(self) -> str:
        return f"line {self.line}: {self.becomes}"


def changes(kernels: Mapping[str, Collection[str]]) -> tuple[Change, ...]:
    """By text, its kernels that were launched: what may have been meant. What is rarely right as it is comes first; then all other kinds of
    changes in turn, so that a long kernel does not hide the last kinds. Variables are confused most often."""
    found = [one for text, names in kernels.items() if len(text) <= MOST_TEXT for one in _used(text, names)]
    first = [one for kind in SUSPICIOUS for one in _of_kind(found, kind)]
    names, *others = (_of_kind(found, kind) for kind in KINDS)
    by_kind = [*(names[first::NAMES] for first in range(NAMES)), *others]
    mixed = [one for turn in zip_longest(*by_kind) for one in turn if one is not None]
    return tuple(dict.fromkeys((*first, *mixed)))[:MOST]


def _used(text: str, kernels: Collection[str]) -> list[Function]:
    """The functions that these kernels run, in the order of the kernels."""
    known = {one.name: one for one in functions(tokenized(text))}
    users: dict[str, list[str]] = {name: [] for name in known}
    for kernel in kernels:
        waiting, seen = [kernel], {kernel}
        while waiting:
            if (one := known.get(waiting.pop())) is not None:
                users[one.name].append(kernel)
                called = {word.text for word in one.body if word.text in known} - seen
                seen |= called
                waiting += called
    order, beside = list(kernels), tuple(known.values())
    used = sorted((name for name in known if users[name]), key=lambda name: order.index(users[name][0]))
    return [replace(known[name], text=text, users=tuple(users[name]), beside=beside) for name in used]


@dataclass(frozen=True, eq=False)
class Function:
    name: str
    is_kernel: bool
    head: Sequence[Word]
    body: Sequence[Word]
    text: str = ""  # that it is in
    users: tuple[str, ...] = ()  # kernels that run it
    beside: tuple[Function, ...] = ()  # all functions of the text

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


# ---- kinds of changes: each gives, for a function, the words of its body (the first and the last), and what they become ----

Places = Iterator[tuple[int, int, str]]


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
            yield from ((at, at, other) for other in others if other not in _beside(f.body, at))


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
    yield from ((at, at, COMPARISONS[word.text]) for at, word in enumerate(f.body) if word.text in COMPARISONS)


def _literals(f: Function) -> Places:
    for step in (1, -1):
        for at, word in enumerate(f.body):
            if INTEGER.fullmatch(word.text) and int(word.text) + step >= 0 and not _is_dimension(f.body, at):
                yield at, at, str(int(word.text) + step)


def _is_dimension(body: Sequence[Word], at: int) -> bool:
    return at > 1 and body[at - 2].text in IDS


def _ids(f: Function) -> Places:
    for at, word in enumerate(f.body):
        if _is_dimension(f.body, at) and word.text in ("0", "1"):
            yield at, at, str(1 - int(word.text))
        yield from ((at, at, other) for other in IDS.get(word.text, ()))


def _offsets(f: Function) -> Places:
    """An index in the whole in place of one in the group: with a variable that is made of the group's number. Not where an element of the
    group's own memory may be meant."""
    starts = [name for name, known in f.made.items() if _is_made_of(f, name, known, "get_group_id")]
    for start in starts:
        for at, word in enumerate(f.body):
            known = f.made.get(word.text, len(f.body)) < at and f.made[start] < at
            if known and word.text not in starts and at not in f.subscripts | f.turns and not _is_written(f.body, at):
                yield at, at, f"({start} + {word.text})"


def _is_made_of(f: Function, name: str, known: int, word: str) -> bool:
    """Is the word in the initializer of a variable, which ends where the variable is known?"""
    begin = next((at for at in range(known, -1, -1) if f.body[at].text == name), known)
    end = next((at for at in range(begin, known) if f.body[at].text == "," and _depth(f.body[begin:at]) == 0), known)
    return any(one.text == word for one in f.body[begin:end])


def _depth(words: Sequence[Word]) -> int:
    return sum((word.text in ("(", "[")) - (word.text in (")", "]")) for word in words)


def _sets(f: Function) -> Places:
    """`x = ` and `x += `, not where a variable is declared."""
    for at, word in enumerate(f.body):
        if word.text in SETS and not _declares(f.body, at):
            yield at, at, SETS[word.text]


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
            yield at, at, "/(float)"


def _sums(f: Function) -> Places:
    for at, word in enumerate(f.body):
        if word.text in SUMS and at and VALUE.fullmatch(f.body[at - 1].text[-1]):
            yield at, at, SUMS[word.text]


def _others(f: Function) -> Places:
    yield from ((at, at, OTHERS[word.text]) for at, word in enumerate(f.body) if word.text in OTHERS)


# ---- parentheses ----


@dataclass(frozen=True)
class _Chain:
    """Operands and the operators between them, none of it inside of brackets: the first and last words of each operand."""

    operands: tuple[tuple[int, int], ...]
    operators: tuple[int, ...]


def _grouped(f: Function) -> Places:
    """`a * b + c` as `a * (b + c)`, `a + b * c` as `(a + b) * c`, `a - b & c` as `a - (b & c)`. What is no index comes first."""
    found = [place for chain in _chains(f.body) for place in _groups(f, chain)]
    yield from sorted(found, key=lambda place: place[0] in f.subscripts)


def _groups(f: Function, chain: _Chain) -> Places:
    """What is behind an operator as one operand of it, and what is before it, where a looser one is in there."""
    ranks = [RANKS[f.body[at].text] for at in chain.operators]
    for number, rank in enumerate(ranks):
        behind = next((n for n in range(number + 1, len(ranks)) if ranks[n] < rank), None)
        if behind is None and f.body[chain.operators[number]].text in ("-", "/", "%") and ranks[number + 1 : number + 2] == [rank]:
            behind = number + 1
        if behind is not None:
            end = next((n for n in range(behind, len(ranks)) if ranks[n] < ranks[behind]), len(ranks))
            yield _in_parentheses(f, chain, number + 1, end)
        before = next((n for n in range(number - 1, -1, -1) if ranks[n] < rank), None)
        if before is not None:
            begin = next((n + 1 for n in range(before, -1, -1) if ranks[n] < ranks[before]), 0)
            yield _in_parentheses(f, chain, begin, number)


def _in_parentheses(f: Function, chain: _Chain, first: int, last: int) -> tuple[int, int, str]:
    begin, end = chain.operands[first][0], chain.operands[last][1]
    return begin, end, f"({f.text[f.body[begin].at : _end(f.body[end])]})"


def _end(word: Word) -> int:
    return word.at + len(word.text)


def _chains(body: Sequence[Word]) -> Iterator[_Chain]:
    for begin, end in _parts(body):
        operands, operators, start = list[tuple[int, int]](), list[int](), begin
        at = begin
        while at < end:
            if body[at].text in ("(", "["):
                at = min(closing(body, at), end - 1)
            elif body[at].text in RANKS and at > start and VALUE.fullmatch(body[at - 1].text[-1]):
                operands.append((start, at - 1))
                operators.append(at)
                start = at + 1
            at += 1
        if len(operators) > 1 and start < end:
            yield _Chain((*operands, (start, end - 1)), tuple(operators))


def _parts(body: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Pieces without an assignment, a comma or an end of a statement, on all levels of brackets: where they begin and end."""
    opened = [0]
    for at, word in enumerate(body):
        if word.text in ("(", "[", "{"):
            opened.append(at + 1)
        elif word.text in ENDS:
            if at > opened[-1]:
                yield opened[-1], at
            if word.text in (")", "]", "}") and len(opened) > 1:
                opened.pop()
            if word.text not in (")", "]"):
                opened[-1] = at + 1


# ---- what is rarely right as it is ----


def _starts(f: Function) -> Places:
    """The number that a maximum or a minimum begins with: FLT_MIN is above all negative numbers, and 0 is, too."""
    for at, word in enumerate(f.body):
        if word.text in SMALLEST and (not at or f.body[at - 1].text != "-"):
            yield at, at, f"-{word.text.replace('MIN', 'MAX')}"
        if not ZERO.fullmatch(word.text) or at < 2 or f.body[at - 1].text != "=" or f.body[at + 1 : at + 2][:1] == []:
            continue
        if f.body[at + 1].text in (",", ";"):
            yield from ((at, at, start) for start in _start_of(f, f.body[at - 2].text, "." in word.text or word.text.endswith("f")))


def _start_of(f: Function, name: str, is_real: bool) -> Iterator[str]:
    texts = [word.text for word in f.body]
    for at, text in enumerate(texts):
        if text in EXTREMES and texts[at + 1 : at + 2] == ["("] and name in texts[at : closing(f.body, at + 1)]:
            is_least = text in ("min", "fmin")
            yield ("INFINITY" if is_least else "-INFINITY") if is_real else ("INT_MAX" if is_least else "INT_MIN")
            return


def _signs(f: Function) -> Places:
    """A byte that is computed with, with a sign or without one. Where a statement uses two elements of the array, a sign of one of them
    makes equal bytes unequal, which may pass a check of results for another reason."""
    for part in _parted(f.head):
        words = [word.text for word in part]
        kind = next((one for one in words if one in SIGNS), "")
        if not kind or "*" not in words:
            continue
        kind, name = (SIGNS[kind] if "unsigned" not in words else kind), words[-1]
        for at, word in enumerate(f.body[:-1]):
            if word.text != name or not _is_alone(f.body, at):
                continue
            if f.body[at + 1].text == "[" and not _is_assigned(f.body, at + 1):
                yield at, at, f"({kind}){name}"
            if at and f.body[at - 1].text == "*" and (at < 2 or not VALUE.fullmatch(f.body[at - 2].text[-1])):
                yield at - 1, at, f"({kind})*{name}"


def _is_alone(body: Sequence[Word], at: int) -> bool:
    """Is this the only use of the name in its statement?"""
    begin = next((i + 1 for i in range(at - 1, -1, -1) if body[i].text in (";", "{", "}")), 0)
    end = next((i for i in range(at, len(body)) if body[i].text in (";", "{", "}")), len(body))
    return sum(one.text == body[at].text for one in body[begin:end]) == 1


def _is_assigned(body: Sequence[Word], at: int) -> bool:
    """Is what stands before this bracket written, or its address taken?"""
    after = body[closing(body, at) + 1 :][:1]
    stored = after and (after[0].text in ("++", "--") or (after[0].text.endswith("=") and after[0].text not in ("==", "<=", ">=", "!=")))
    return bool(stored) or (at > 1 and body[at - 2].text == "&")


def _siblings(f: Function) -> Places:
    """What another function says a little differently in a statement that begins alike: one of two copies was changed."""
    known = {word.text for word in (*f.head, *f.body)}
    theirs = [one for other in f.beside if other.name != f.name for one in _statements(other.body)]
    for begin, equals, end in _statements(f.body, with_places=True):
        mine = [word.text for word in f.body[begin:end]]
        for other in theirs:
            if other[: equals - begin + 1] != mine[: equals - begin + 1] or other == mine:
                continue
            same = _same(mine, other)
            back = _same(mine[same:][::-1], other[same:][::-1])
            old, new = mine[same : len(mine) - back], other[same : len(other) - back]
            if len(old) <= FEW and 0 < len(new) <= FEW and old and same > equals - begin and _are_known(new, known):
                yield begin + same, begin + len(mine) - back - 1, _joined(new)


def _statements(body: Sequence[Word], with_places: bool = False) -> Iterator[Any]:
    """Assignments and declarations with one: their words, or where they begin, have their `=` and end."""
    begin = 0
    for at, word in enumerate(body):
        if word.text not in (";", "{", "}"):
            continue
        equals = next((i for i in range(begin, at) if body[i].text == "="), at)
        if begin < equals < at and not any(one.text in ("for", "if", "while", "return") for one in body[begin:equals]):
            yield (begin, equals, at) if with_places else [one.text for one in body[begin:at]]
        begin = at + 1


def _same(first: Sequence[str], second: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))


def _are_known(words: Sequence[str], known: Collection[str]) -> bool:
    return all(word in known for word in words if word[0].isalpha() or word[0] == "_")


def _joined(words: Sequence[str]) -> str:
    return re.sub(r"(?<=[(\[.]) | (?=[)\].,(\[])", "", " ".join(words)).replace(",", ", ")


SUSPICIOUS = (_starts, _signs, _siblings)
KINDS = (_names, _comparisons, _literals, _ids, _grouped, _sets, _divisions, _sums, _others, _offsets)


def _of_kind(found: Sequence[Function], kind: Callable[[Function], Places]) -> list[Change]:
    """All changes of one kind, those that decide about accesses first."""
    places = [(f, at, last, after) for f in found for at, last, after in kind(f)]
    if kind is not _grouped:
        places.sort(key=lambda one: (one[1] not in one[0].subscripts, one[1] not in one[0].conditions))
    return [
        Change(f.name if f.is_kernel else "", f.name, f.users, f.text, f.body[at].at, f.text[f.body[at].at : _end(f.body[last])], after)
        for f, at, last, after in places
    ]
