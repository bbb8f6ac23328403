"""Finds the entry of a catalogue that a text was made from, and says it in the catalogue's language.

A text is looked up as a whole; else sentence by sentence; else held against the entries with places, the one with most letters
of its own first. What stands in a place is looked up in the same way, unless it is a single word: a kernel may be called "launch".

A sentence is said in one language. An entry whose place would hold English prose is refused, so that "No call {returned} it" never
comes out half translated, with its meaning turned round. Behind a colon or in brackets other words may stand.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

PLACE = re.compile(r"\{(\d+)\}")
NUMBER = r"\d\S*"
NAME = r"(?:\d\S* (?:other )?)?\S+(?: #\d+)?"  # or a number of something
SHORT = r"(?!= )[^;{}|]{1,300}"  # "queue = 0x10" is the name of a parameter, and its value
BALANCED = r"[^()]+(?:\([^()]*\)[^()]*)*"
SENTENCE_END = re.compile(r"(?<=[^.\s][.!?]) +(?=\S)")
LIST = re.compile(r"(, and | and | or |, |; )")
TIMES = re.compile(r" x (?!x )")  # also behind "the work-items in x"
LEFT = re.compile(r"^$|[:;(\[\"`] ?$")  # marks that set a place apart
RIGHT = re.compile(r"$|[.;:)\]\"`]| [A-Z\[]")
ADDED = re.compile(r" [A-Z(\[]")  # how begins what is said behind a whole sentence
NOTED = re.compile(r"([^()]+?)(?: \(([^()]+)\))?(\.?)", re.DOTALL)
PLACED = re.compile(r"\S+ at \S+:\d+(?: \([^()]*\))?")  # "main at app.c:18 (app)" is where some code stands
QUOTED = re.compile(
    r"(?P<open>^|\()(?P<where>line [\d,]+ of [^:()]+): (?P<told>.*?)(?P<more> \(and [\d,]+ more, up to line [\d,]+\))?$",
    re.DOTALL,
)
PROSE = frozenset(
    "a an the of is was were be been are has had have would will may can did do does no not nothing none to for from with without at by "
    "in on its it that this which what when while because so but or than as they them there only "
    "reads writes wrote made keeps begins ends uses failed faulted accesses updates ran met touched used answered".split()
)
ENGLISH_ONLY = PROSE - {"a", "no", "has"}  # words of other languages, too
NEVER_NAMES = frozenset("no nothing none nobody neither nor not never it they that this something".split())
QUOTES = "'\"`"  # of what they are is the program's word
FEW_LETTERS = 5  # an entry with fewer letters of its own fits too much, unless its places are numbers
MANY_LETTERS = 12  # one with fewer takes names, not anything
DEEPEST = 6  # entries in places of entries
MOST = 5  # pieces of a text that may be one sentence
LONGEST = 3000  # texts beyond this are kept: patterns with many places would take their time
KEY = 4  # letters by which entries that begin with words are kept apart


def sentences(text: str) -> list[str]:
    """A text cut where sentences end."""
    return SENTENCE_END.split(text)


def is_prose(text: str, words: frozenset[str]) -> bool:
    """Are these words of a sentence, and not a name, a type, a number or a list of them? A single word is a name, unless it
    would turn the sentence round: "Nothing wrote it"."""
    found = text.lower().split()
    if PLACED.fullmatch(text):
        return False
    return not (words if len(found) > 1 else NEVER_NAMES).isdisjoint(found) and found[0][0] not in QUOTES


@dataclass(frozen=True)
class Entry:
    """A sentence with places, and what it is in another language."""

    text: str
    said: str

    @cached_property
    def literals(self) -> list[str]:
        """What stands between the places."""
        return PLACE.split(self.text)[::2]

    @cached_property
    def longest(self) -> str:
        return max(map(str.strip, self.literals), key=len)

    @cached_property
    def letters(self) -> int:
        return sum(char.isalpha() for literal in self.literals for char in literal)

    @cached_property
    def rank(self) -> tuple[bool, int, int]:
        """Which is tried first: what stands in brackets at the end is about the whole text, then what has most letters, marks."""
        return "[" not in self.text, -self.letters, -sum(map(len, self.literals))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        first, *rest = self.literals
        found = re.escape(first)
        for number, after in enumerate(rest):
            found += self._place(self.literals[number], after, number)
        return re.compile(found, re.DOTALL)

    def _place(self, before: str, after: str, number: int) -> str:
        """A place and what follows it. The fewer letters an entry has, the less its places take."""
        tail = re.escape(after)
        if not number and not before:
            return self._first(after)
        if before.endswith("(") and after.startswith(")"):
            return rf"({BALANCED}){tail}"
        if before.endswith(": ") or self.letters >= MANY_LETTERS or "[" in self.text:
            return rf"(.*?){tail}" if before[-1:].isalnum() or before[-1:] in '.)"' else rf"(.+?){tail}"
        return rf"({SHORT if self._is_frame else NUMBER}?){tail}"

    def _first(self, after: str) -> str:
        """What begins a frame reaches as far as it can, and may have been said already, in a sentence of its own: "{0} [call {1}]"."""
        if ADDED.match(after):
            return rf"(?:(.+) )?{re.escape(after[1:])}"
        several = self.letters >= MANY_LETTERS or self.text.endswith(".")
        return rf"({'.+' if several else NAME if self._is_frame else NUMBER}){re.escape(after)}"

    @cached_property
    def apart(self) -> list[bool]:
        """Of each place: do marks set it apart from the words around it?"""
        gaps = zip(self.literals, self.literals[1:], strict=False)
        return [LEFT.search(before) is not None and RIGHT.match(after) is not None for before, after in gaps]

    @cached_property
    def _is_frame(self) -> bool:
        """Has it enough of its own to be known by?"""
        if self.letters >= FEW_LETTERS or "[" in self.text or self.text.endswith("."):
            return True
        return "(" in self.text and ", " in self.text

    def filled(self, parts: list[str]) -> str:
        """What it says, with the parts in its places."""
        return PLACE.sub(lambda place: parts[int(place[1])], self.said).lstrip()

    def fits(self, text: str) -> re.Match[str] | None:
        """Cheap tests first."""
        if not (text.startswith(self.literals[0]) and text.endswith(self.literals[-1])):
            return None
        bracket, stop = text[0] == "(" and not self.literals[0], text[-1] == "." and not self.literals[-1]
        if (bracket and not ADDED.match(self.literals[1])) or (stop and not self.apart[-1]):
            return None  # neither a text in brackets nor the end of a sentence is a part of a name
        return self.pattern.fullmatch(text) if all(literal.strip() in text for literal in self.literals) else None


@dataclass
class Catalogue:
    """All entries of a language."""

    whole: dict[str, str]
    by_start: dict[str, list[Entry]]
    joined: dict[str, str]  # words that become one where they meet: Spanish "de el"
    known: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Catalogue:
        """From a file's text: tables of entries, whose names are for people, and the table "joined"."""
        tables = tomllib.loads(text)
        joined = tables.pop("joined", {})
        every = {key: said for table in tables.values() for key, said in table.items() if said}
        entries = sorted((Entry(k, v) for k, v in every.items() if PLACE.search(k)), key=lambda one: one.rank)
        by_start: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            by_start[entry.literals[0][:KEY]].append(entry)
        return cls({k: v for k, v in every.items() if not PLACE.search(k)}, dict(by_start), joined)

    def say(self, text: str) -> str:
        """The text in the language, as far as it is known."""
        quoted = QUOTED.search(text)
        return self._quoting(text[: quoted.start()], quoted) if quoted else self._say(text, 0) or text

    def _quoting(self, ours: str, quoted: re.Match[str]) -> str:
        """What is quoted from a log stays."""
        bare, more = ours.rstrip(), quoted["more"] or ""
        said = [self._say(one, 0) or one for one in (bare, quoted["where"], more.strip())]
        quote = f"{quoted['open']}{said[1]}: {quoted['told']}{' ' if more else ''}{said[2]}"
        return f"{said[0]}{ours[len(bare) :]}{quote}"

    def say_part(self, text: str) -> str:
        """The same of a text that may be a name: a single word is kept."""
        return self._part(text, 0)

    def _say(self, text: str, depth: int) -> str | None:
        """None if nothing fits."""
        if depth > DEEPEST or len(text) > LONGEST:
            return None
        if text not in self.known:
            said = self.whole.get(text) or self._product(text, depth)
            said = said or self._sentences(text, depth) or self._list(text, depth)
            if depth > DEEPEST // 2:  # what was not found here may be found with more room
                return said
            self.known[text] = said
        return self.known[text]

    def _part(self, text: str, depth: int) -> str:
        bare = text.strip()
        if " " not in bare or bare[0] in QUOTES:
            return text
        return text.replace(bare, self._say(bare, depth + 1) or bare)

    def _one(self, text: str, depth: int) -> str | None:
        """A single entry: as it is, with a small first letter, without its full stop, or with a note behind it."""
        said = self._small(text, depth)
        if said is None and text and text[-1] not in ".!?:":
            stopped = self._exact(f"{text}.", depth)
            said = stopped and stopped.removesuffix(".")
        return said or self._noted(text, depth) or self._two(text, ": ", depth) or self._two(text, "; ", depth)

    def _noted(self, text: str, depth: int) -> str | None:
        """A known text with a note in brackets behind it, a full stop, or both."""
        noted = NOTED.fullmatch(text)
        said = self._small(noted[1], depth) if noted else None
        if said is None or noted is None:
            return None
        return said + (f" ({self._part(noted[2], depth)})" if noted[2] else "") + noted[3]

    def _two(self, text: str, mark: str, depth: int) -> str | None:
        """Two known texts, or a name and a known text, with a mark between them."""
        head, found, tail = text.rpartition(mark)
        if not found or depth >= DEEPEST:
            return None
        said = [one if " " not in one else self._one(one, depth + 1) for one in (head, tail)]
        return None if None in said or said == [head, tail] else mark.join(filter(None, said))

    def _small(self, text: str, depth: int) -> str | None:
        said = self._exact(text, depth)
        if said is None and text[:1].isupper():
            small = self._exact(text[0].lower() + text[1:], depth)
            said = small and small[0].upper() + small[1:]
        return said

    def _exact(self, text: str, depth: int) -> str | None:
        if text in self.whole:
            return self.whole[text]
        return self._filled(text, depth) if " " in text else None

    def _filled(self, text: str, depth: int) -> str | None:
        starts = (self.by_start.get(text[:size], []) for size in range(KEY + 1))
        near = (one for some in starts for one in some if one.longest in text)  # most do not fit
        for entry in sorted(near, key=lambda one: one.rank):
            match = entry.fits(text)
            parts = self._parts(entry, match, depth) if match else None
            if parts is not None:
                return self.join(entry.filled(parts))
        return None

    def join(self, text: str) -> str:
        """The text with words that meet made one."""
        for apart, one in self.joined.items():
            text = text.replace(apart, one)
        return text

    def _parts(self, entry: Entry, match: re.Match[str], depth: int) -> list[str] | None:
        """What goes into the places; None if one of them would be an English piece of a sentence."""
        found = []
        for text, apart in zip(match.groups(""), entry.apart, strict=True):
            said = self._part(text, depth)
            kept = said == text
            if not apart and ((kept and ": " in text) or is_prose(said, PROSE if kept else ENGLISH_ONLY)):
                return None
            found.append(said)
        return found

    def _sentences(self, text: str, depth: int) -> str | None:
        """Sentence by sentence, each as short as one that is known; those that are not are kept. None if none is."""
        rest, told, found = sentences(text), list[str](), False
        while rest:
            heads = ((size, self._one(" ".join(rest[:size]), depth)) for size in range(1, len(rest[:MOST]) + 1))
            size, said = next(((size, said) for size, said in heads if said is not None), (1, None))
            told.append(rest[0] if said is None else said)
            found, rest = found or said is not None, rest[size:]
        return " ".join(told) if found else None

    def _product(self, text: str, depth: int) -> str | None:
        """ "argument 3 x argument 4 (64 x 512)", if every factor is known or a name."""
        noted = NOTED.fullmatch(text)
        factors = TIMES.split(noted[1]) if noted else []
        said = [one if " " not in one else self._one(one, depth + 1) for one in factors]
        if noted is None or len(said) < 2 or None in said or said == factors:
            return None
        return " x ".join(filter(None, said)) + text[noted.end(1) :]

    def _list(self, text: str, depth: int) -> str | None:
        """ "2 errors, 1 warning and 1 note", if every part is known. In a place names are."""
        parts = LIST.split(text)
        said = [part if depth and " " not in part else self._one(part, depth + 1) for part in parts[::2]]
        if len(said) < 2 or None in said:
            return None
        joints = [*(self.whole.get(joint, joint) for joint in parts[1::2]), ""]
        return "".join(f"{one}{joint}" for one, joint in zip(said, joints, strict=True))
