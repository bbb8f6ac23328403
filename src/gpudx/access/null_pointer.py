"""The address is small: a null pointer, or a small number used as one, plus an offset."""

from __future__ import annotations

from collections import Counter

from gpudx.access.question import Question, Reason
from gpudx.facts.null_words import null_words
from gpudx.model import Evidence

FIRST_PAGES = 1 << 16
MOST_INDEX = 1 << 28  # bytes that an index adds to a null pointer; device memory never lies this low


def explain(question: Question) -> Reason | None:
    address = question.address
    if address is None or address >= MOST_INDEX:
        return None
    nulls = [(index, name) for index, name in _null_arguments(question)]
    if address >= FIRST_PAGES and not nulls:
        return None
    if question.origin is not None and question.origin.loaded and address < FIRST_PAGES:
        text = f"it went through {question.origin.pointer}, which was null or a small number"
        return Reason("null-pointer", text, (), question.origin.argument)
    if len(nulls) == 1:
        index, name = nulls[0]
        offset = f" plus {address:,} bytes" if address else ""
        text = f"it went through a null pointer, {name},{offset}"
        return Reason("null-pointer", text.rstrip(","), (Evidence(f"{name} was 0"),), index)
    where = f"{address:#x}" if address else "0"
    several = (
        "; several arguments are null" if nulls else "; no argument is null, so the pointer was loaded or computed"
    )
    return Reason("null-pointer", f"it went through a null or near-null pointer ({where}){several}")


def _null_arguments(question: Question) -> list[tuple[int, str]]:
    """Those that the access can have gone through. Of a structure with several zero words none is known to be a pointer."""
    words = [word for word in null_words(question.facts, question.launch) if question.went_through(word.argument, word.byte)]
    holes = Counter(word.argument for word in words)
    return [(word.argument, word.name) for word in words if holes[word.argument] == 1]
