"""Runs whose kernels are built from another text: what an experiment writes for the recorder (native/opencl/edited.h)."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from gpudx.kernel_checks import syntax
from gpudx.kernel_checks.suspects import Edit, Suspect, compiles, edited, hash_of
from gpudx.kernel_checks.switches import is_kernel_called, switched_text
from gpudx.kernel_checks.switches import refused as refused_of
from gpudx.kernel_checks.word_changes import Change
from gpudx.lab.experiments import Context
from gpudx.lab.kernel_checked import FROM_SOURCE
from gpudx.model.how import How

FOLDER, SWITCH = "GPUDX_EDITED", "GPUDX_SWITCH"
NONE = "0"  # the number of no change


def missing(context: Context) -> str | None:
    """Why no source can be edited."""
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    if not syntax.available():
        return syntax.NEEDED.rstrip(".")
    return None if context.sources else "no kernel was built from a source"


def how(context: Context, name: str, edits: Sequence[tuple[Suspect, Sequence[Edit]]]) -> How:
    """A run with these edits; `name` says which they are, among all that an investigation makes."""
    folder = context.shelf.once(name, partial(_written, edits))
    return context.how.under({FOLDER: str(folder), FROM_SOURCE: "1"})


@lru_cache(maxsize=2)
def switched(edits: Sequence[Change], sources: Collection[tuple[str, str]]) -> tuple[Mapping[str, str], frozenset[int], frozenset[int]]:
    """Sources that have all changes which can be switched on, by the sources that they are instead of; the numbers of these changes, from 1
    on, and of those that no compiler takes."""
    options, texts, able, refused = dict(sources), dict[str, str](), set[int](), set[int]()
    for text in dict.fromkeys(change.text for change in edits):
        mine = {number: change for number, change in enumerate(edits, 1) if change.text == text}
        if text not in options or is_kernel_called(text) or not compiles(text, options[text]):
            continue
        wrong = refused_of(mine, partial(compiles, build_options=options[text]))
        texts[text], numbers = switched_text(text, {number: change for number, change in mine.items() if number not in wrong})
        able |= numbers
        refused |= wrong
        refused |= {number for number in mine.keys() - numbers - wrong if not compiles(mine[number].whole, options[text])}
    return texts, frozenset(able), frozenset(refused)


def switched_how(context: Context, number: str) -> How:
    """A run with one change, or none, of those that are in one source: the driver compiles that once, if it keeps what it compiled."""
    texts = switched(context.edits, context.sources)[0]
    folder = context.shelf.once("switched", partial(_texts, texts))
    return context.how.under({FOLDER: str(folder), SWITCH: number, FROM_SOURCE: "1"})


@contextlib.contextmanager
def _texts(texts: Mapping[str, str]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gpudx-") as folder:
        for source, text in texts.items():
            path = Path(folder) / f"{hash_of(source.encode('utf-8', 'surrogateescape'))}.cl"
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        yield Path(folder)


@contextlib.contextmanager
def _written(edits: Sequence[tuple[Suspect, Sequence[Edit]]]) -> Iterator[Path]:
    with _texts({source: edited(source, mine) for source, mine in _by_source(edits).items()}) as folder:
        yield folder


def _by_source(edits: Sequence[tuple[Suspect, Sequence[Edit]]]) -> Mapping[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for suspect, mine in edits:
        found.setdefault(suspect.source, []).extend(mine)
    return found
