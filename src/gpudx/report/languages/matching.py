"""Finds the entry of a catalogue that a text was made from, and says it in the catalogue's language.

A text is looked up as a whole; else sentence by sentence; else held against the entries with places, the one with most letters
of its own first. What stands in a place is looked up in the same way, unless it is a single word: a kernel may be called "launch".
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

PLACE = re.compile(r"\{(\d+)\}")
NO_SPACE = r"\S+"
SENTENCE_END = re.compile(r"(?<=[^.\s][.!?]) +(?=\S)")
LIST = re.compile(r"(, and | and |, |; )")
QUOTES = "'\"`"  # of what they are is the program's word
FEW_LETTERS = 8  # an entry with fewer letters of its own fits too much, unless its places are single words
DEEPEST = 6  # entries in places of entries
LONGEST = 3000  # texts beyond this are kept: patterns with many places would take their time
KEY = 4  # letters by which entries that begin with words are kept apart


def sentences(text: str) -> list[str]:
    """A text cut where sentences end."""
    return SENTENCE_END.split(text)


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
    def letters(self) -> int:
        return sum(char.isalpha() for literal in self.literals for char in literal)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        first, *rest = self.literals
        found = re.escape(first)
        for number, after in enumerate(rest):
            found += self._place(self.literals[number], after, number)
        return re.compile(found, re.DOTALL)

    def _place(self, before: str, after: str, number: int) -> str:
        """A place and what follows it. What begins a frame reaches as far as it can, and may have been said already, in a
        sentence of its own: "{0} [call {1}]". Short entries take single words, except after a colon."""
        tail = re.escape(after)
        if not number and not before:
            begun = self._is_frame and after.startswith(" ")
            return rf"(?:(.+) )?{re.escape(after[1:])}" if begun else rf"({'.+' if self._is_frame else NO_SPACE}){tail}"
        if before.endswith("(") and after.startswith(")"):
            return rf"([^()]+(?:\([^()]*\)[^()]*)*){tail}"
        if not (self._is_frame or before.endswith(": ")):
            return rf"({NO_SPACE}?){tail}"
        return rf"(.*?){tail}" if before[-1:].isalnum() or before[-1:] in ".)" else rf"(.+?){tail}"

    @cached_property
    def _is_frame(self) -> bool:
        """Has it enough of its own to be known by?"""
        return self.letters >= FEW_LETTERS or "[" in self.text or ("(" in self.text and ", " in self.text)

    def fits(self, text: str) -> re.Match[str] | None:
        """Cheap tests first: most entries do not fit."""
        if not (text.startswith(self.literals[0]) and text.endswith(self.literals[-1])):
            return None
        return self.pattern.fullmatch(text) if all(literal.strip() in text for literal in self.literals) else None


@dataclass
class Catalogue:
    """All entries of a language."""

    whole: dict[str, str]
    by_start: dict[str, list[Entry]]
    known: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Catalogue:
        """From a file's text: tables of entries, whose names are for people."""
        every = {key: said for table in tomllib.loads(text).values() for key, said in table.items() if said}
        entries = sorted((Entry(k, v) for k, v in every.items() if PLACE.search(k)), key=lambda one: -one.letters)
        by_start: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            by_start[entry.literals[0][:KEY]].append(entry)
        return cls({k: v for k, v in every.items() if not PLACE.search(k)}, dict(by_start))

    def say(self, text: str) -> str:
        """The text in the language, as far as it is known."""
        return self._say(text, 0) or text

    def say_part(self, text: str) -> str:
        """The same of a text that may be a name: a single word is kept."""
        return self._part(text, 0)

    def _say(self, text: str, depth: int) -> str | None:
        """None if nothing fits."""
        if depth > DEEPEST or len(text) > LONGEST:
            return None
        if text not in self.known:
            self.known[text] = self._one(text, depth) or self._sentences(text, depth) or self._list(text, depth)
        return self.known[text]

    def _part(self, text: str, depth: int) -> str:
        bare = text.strip()
        if " " not in bare or bare[0] in QUOTES:
            return text
        return text.replace(bare, self._say(bare, depth + 1) or bare)

    def _one(self, text: str, depth: int) -> str | None:
        """A single entry: as it is, with a small first letter, or without its full stop."""
        said = self._exact(text, depth)
        if said is None and text[:1].isupper():
            small = self._exact(text[0].lower() + text[1:], depth)
            said = small and small[0].upper() + small[1:]
        if said is None and text and text[-1].isalnum():
            stopped = self._exact(f"{text}.", depth)
            said = stopped and stopped.removesuffix(".")
        return said

    def _exact(self, text: str, depth: int) -> str | None:
        if text in self.whole:
            return self.whole[text]
        if " " not in text:
            return None
        return None if len(sentences(text)) > 1 and self._sentences(text, depth) else self._filled(text, depth)

    def _filled(self, text: str, depth: int) -> str | None:
        starts = [self.by_start.get(text[:size], []) for size in range(KEY + 1)]
        for entry in sorted((one for some in starts for one in some), key=lambda one: -one.letters):
            match = entry.fits(text)
            if match:
                parts = [self._part(part or "", depth) for part in match.groups()]
                return PLACE.sub(lambda place: parts[int(place[1])], entry.said).lstrip()
        return None

    def _sentences(self, text: str, depth: int) -> str | None:
        """Sentence by sentence, the first as short as one that is known; None if none is."""
        for end in SENTENCE_END.finditer(text):
            head = self._one(text[: end.start()], depth + 1)
            if head is not None:
                rest = text[end.end() :]
                return f"{head} {self._say(rest, depth) or rest}"
        return None

    def _list(self, text: str, depth: int) -> str | None:
        """ "2 errors, 1 warning and 1 note", if every part is known."""
        parts = LIST.split(text)
        said = [self._one(part, depth + 1) for part in parts[::2]]
        if len(said) < 2 or None in said:
            return None
        joints = [*(self.whole.get(joint, joint) for joint in parts[1::2]), ""]
        return "".join(f"{one}{joint}" for one, joint in zip(said, joints, strict=True))
