"""What an outline is made of. Text put into a block is made harmless there, so that no wording can forget it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpudx.report.safe import clean
from gpudx.report.verdict import Tone


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", clean(self.text))


@dataclass(frozen=True)
class Rows:
    """Named values."""

    rows: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple((clean(key), clean(value)) for key, value in self.rows))


@dataclass(frozen=True)
class Bullets:
    """A list; `numbered` when the order matters. `files` are those of the case that items name, "" for items without one."""

    items: tuple[str, ...]
    numbered: bool = False
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _clean_all(self.items))


@dataclass(frozen=True)
class Code:
    """Lines shown as they are: a stack, a command."""

    lines: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", _clean_all(self.lines))


@dataclass(frozen=True)
class Table:
    """Columns with heads."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(_clean_all(row) for row in self.rows))


@dataclass(frozen=True)
class Picture:
    """A drawing, by its name, and the text under it. Formats that cannot draw have `instead` in its place."""

    name: str
    caption: str
    instead: tuple[Block, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "caption", clean(self.caption))


Block = Paragraph | Rows | Bullets | Code | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it. Formats that can fold away text may do so with an `aside`."""

    heading: str
    blocks: tuple[Block, ...]
    aside: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "heading", clean(self.heading))


@dataclass(frozen=True)
class Outline:
    """A whole report: the verdict in one word, the sentence for it, then sections in order of importance."""

    verdict: str
    tone: Tone
    headline: str
    sections: tuple[Section, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", clean(self.verdict))
        object.__setattr__(self, "headline", clean(self.headline))


def in_words(made: Outline) -> Outline:
    """The same without pictures, and without sections that have nothing else."""
    words = ((one, tuple(told for block in one.blocks for told in _told(block))) for one in made.sections)
    return replace(made, sections=tuple(replace(one, blocks=blocks) for one, blocks in words if blocks))


def _told(block: Block) -> tuple[Block, ...]:
    return block.instead if isinstance(block, Picture) else (block,)


def _clean_all(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(clean, items))
