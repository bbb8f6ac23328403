"""What the recorder left undone or cannot see, with the reason, so that silence is not mistaken for an answer: work that would have taken
too long, launches that a serialised run did not wait for, calls that may have gone past it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from gpudx.facts import Facts
from gpudx.model.case import UNCHECKED_IMAGES
from gpudx.text import plural, several

IMAGE = re.compile(r"image[123]d\w*_t\b")  # types of OpenCL C, "Image and Sampler Data Types"
SHOWN = 4  # names in a sentence


def not_checked(processes: Sequence[Facts]) -> tuple[str, ...]:
    """A sentence for each kind and reason."""
    return (*_not_serialised(processes), *_gave_up(processes), *_images(processes))


def not_seen(processes: Sequence[Facts]) -> tuple[str, ...]:
    """A sentence for each process and framework with something that may be missing from the record."""
    return (*_second_loaders(processes), *_functions(processes), *_not_followed(processes))


def _second_loaders(processes: Sequence[Facts]) -> Iterator[str]:
    for one in processes:
        if one.second_loader:
            yield (
                f"Process {one.trace.pid} has {len(one.second_loader)} OpenCL loaders ({', '.join(one.second_loader)}): calls through one "
                "of them may be missing from the trace, so nothing was concluded from missing calls."
            )


def _functions(processes: Sequence[Facts]) -> Iterator[str]:
    """Of extensions, which the program gets from the driver and calls without us."""
    names = sorted({name for one in processes for name in one.writers.unrecorded})
    if names:
        them = "it" if len(names) == 1 else "them"
        yield f"Calls of {several(names, SHOWN)} are not recorded: all memory counts as written once the program had {them}."


def _not_followed(processes: Sequence[Facts]) -> list[str]:
    """Of parts of a framework."""
    found = [told for one in processes for told in one.tellings.of("off")]
    return list(dict.fromkeys(f"PyTorch's {told.text('what')} could not be followed ({told.text('why')})." for told in found))


def _gave_up(processes: Sequence[Facts]) -> Iterator[str]:
    for what, count in _counted(processes, "note_gave_up", "times"):
        yield f"{what} (at least {plural(count, 'time')})." if count > 1 else f"{what} (at least once)."


def _not_serialised(processes: Sequence[Facts]) -> Iterator[str]:
    for why, count in _counted(processes, "note_not_serialised", "launches"):
        yield f"At least {plural(count, 'launch', 'launches')} under --serialise had no wait after them: {why}."


def _images(processes: Sequence[Facts]) -> Iterator[str]:
    """Every instrument here follows pointers; an image is read and written through functions of the driver."""
    names = dict.fromkeys(name for one in processes for name in _with_images(one))
    if names:
        kernels = f"kernel{'s' * (len(names) > 1)} {several(list(names), SHOWN)}"
        yield f"{UNCHECKED_IMAGES} ({kernels}): kernel checks cover 2D coordinates only, other checks do not see them."


def _with_images(facts: Facts) -> Iterator[str]:
    """The kernels that were launched and have an image among their arguments."""
    rows = dict.fromkeys(int(row) for row in facts.launches.kernel_row[facts.launches.status == 0])
    for row in rows:
        info = facts.kernels.info(row) if row >= 0 else None
        if info is not None and any(IMAGE.match(one.type) for one in info.args.values()):
            yield facts.kernels.name(row)


def _counted(processes: Sequence[Facts], note: str, field: str) -> list[tuple[str, int]]:
    """Texts of such notes and how often, most frequent first. Each note has the count until then."""
    total = Counter[str]()
    for facts in processes:
        found = Counter[str]()
        for position in facts.trace.named(note):
            text, count = facts.trace.text(int(position)), facts.trace.record(int(position))[field]
            found[text] = max(found[text], count)
        total += found
    return total.most_common()
