"""Numbers of a model's file held against the numbers that the program used: a default where the file says otherwise.

A well-known number W (the dimension of some widely used model) is held against a launch, in place of the file's number T of the
same field, only if all of this is so:

    nothing else explains it    W is no number of any model that was opened; the size in question is not the size of one of its
                                tensors, and no product of the launch's own numbers, its work-items and the files' numbers
    W explains it exactly       the memory that an argument points to is W x c values, or bytes, to the last one; c is 1 or a
                                product of at most two of the launch's and the files' numbers
    T is needed there           the launch itself was given T, so that it goes by T (T x c values are needed); or T x c values
                                are exactly one of the file's tensors, and the launch was told W

or, for a number that a launch was told (W, and not T): it was also given memory with exactly the bytes of one of the file's tensors
that has T among its dimensions, and that is no multiple of W.

Powers of two and numbers without a prime factor of 7 or more are never held against anyone: too much is sized by them. Kernels with
structures among their arguments are left out, and memory inside a pool, whose parts nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from gpudx.evidence.models import EMBEDDING, FEED_FORWARD, VOCABULARY, ModelFile, Tensor
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.pointer_extent import Rooms, rooms_of
from gpudx.model import Evidence, Finding, Instrument
from gpudx.text import plural

ID = CAUSE = "model-dimensions"
INSTRUMENT = "model"
MOST = 8  # findings
MOST_NUMBERS = 24  # of a launch and the files together, of which products are made
MOST_ROWS = 4096  # different launches of one kernel that are looked at, the newest
LEAST_FACTOR = 7
WIDTHS = (1, 2, 4)  # bytes of a value where the kernel does not say

# Dimensions of widely used models, from their published configurations: what a program's defaults are made of.
KNOWN: dict[str, dict[int, str]] = {
    FEED_FORWARD: {
        11008: "Llama 7B", 17920: "Llama 30B", 22016: "Llama 65B", 28672: "Llama 70B",
        14336: "Llama 3 8B and Mistral 7B", 5632: "TinyLlama 1.1B", 18944: "Qwen2 7B", 8960: "Qwen2 1.5B", 4864: "Qwen2 0.5B",
    },
    VOCABULARY: {128256: "Llama 3", 50257: "GPT-2", 151936: "Qwen2", 152064: "Qwen2 7B", 30522: "BERT"},
    EMBEDDING: {6656: "Llama 30B"},  # others are too round
}  # fmt: skip


@dataclass(frozen=True)
class Mismatch:
    """A number that a launch (a row of Launches) used, where the file says another. `argument` is the memory or the number."""

    launch: int
    argument: int
    field: str
    used: int
    told: int
    model: ModelFile
    memory: int  # row of Objects, -1 where a number is wrong, not a size
    room: int = 0
    width: int = 1
    factors: tuple[int, ...] = ()
    tensor: Tensor | None = None

    @property
    def need(self) -> int:
        return int(np.prod([self.told, self.width, *self.factors], dtype=object))


def find(models: Sequence[ModelFile], processes: Sequence[Facts]) -> Iterator[Finding]:
    """One finding per allocation, or per kernel and argument, and field: the first launch that shows it."""
    said: set[tuple[object, ...]] = set()
    for facts in processes:
        for one in sorted(_mismatches(models, facts), key=lambda found: found.launch):
            place = (one.memory,) if one.memory >= 0 else (facts.launches.name(one.launch), one.argument)
            key = (facts.trace.pid, one.field, *place)
            if key not in said and len(said) < MOST:
                said.add(key)
                yield _finding(facts, one)


def instrument(models: Sequence[ModelFile], processes: Sequence[Facts]) -> Instrument:
    """What was read, and what it was held against."""
    launches = sum(len(facts.launches) for facts in processes)
    files = "; ".join(f"{Path(model.path).name}: {model.summary()}" for model in models)
    return Instrument(INSTRUMENT, "live", f"{files}. Compared with {plural(launches, 'launch', 'launches')}.")


# ---- the rule ----


def _mismatches(models: Sequence[ModelFile], facts: Facts) -> Iterator[Mismatch]:
    functions = np.unique(facts.kernels.functions(facts.launches.kernel_row))
    for function in functions[functions >= 0].tolist():
        table = rooms_of(facts, function)
        for row in range(len(table.launch))[-MOST_ROWS:] if table else ():
            assert table is not None
            yield from _of_launch(models, facts, _Given(table, row))


class _Given:
    """What one launch was given."""

    def __init__(self, table: Rooms, row: int) -> None:
        self.launch = int(table.launch[row])
        self.numbers = {index: int(column[row]) for index, column in table.numbers.items() if column[row] > 1}
        self.rooms = {index: int(column[row]) for index, column in table.rooms.items() if column[row] > 0}
        self.widths = dict(table.parameters.pointers)
        threads, groups = ([int(n) for n in column[row]] for column in (table.threads, table.groups))
        self.shape = {n for n in (*threads, *groups) if n > 1}

    @cached_property
    def told(self) -> frozenset[int]:
        return frozenset(self.numbers.values())


def _of_launch(models: Sequence[ModelFile], facts: Facts, given: _Given) -> Iterator[Mismatch]:
    every = frozenset().union(*(model.numbers for model in models))
    for model in models:
        for name, known in KNOWN.items():
            if name not in model.fields:
                continue
            for used in (n for n in known if n not in every and _is_telling(n)):
                for told in set(model.fields[name]):
                    if given.told.isdisjoint((told, used)):
                        continue
                    yield from _sized(models, facts, given, Mismatch(given.launch, -1, name, used, told, model, -1))
                    yield from _passed(given, Mismatch(given.launch, -1, name, used, told, model, -1))


def _is_telling(number: int) -> bool:
    """Has it a prime factor that sizes seldom have?"""
    for small in (2, 3, 5):
        while number % small == 0:
            number //= small
    return number >= LEAST_FACTOR


def _sized(models: Sequence[ModelFile], facts: Facts, given: _Given, one: Mismatch) -> Iterator[Mismatch]:
    """Memory that has room for W, where T is needed."""
    pool = _pool(models, given)
    for index, room in given.rooms.items():
        if any(room in model.sizes for model in models):
            continue
        for width in _widths(given.widths[index]):
            factors = _factors(room, width, one.used, pool - {one.told, one.used})
            if factors is None or _explained(room, width, pool | given.shape, one.used):
                continue
            found = replace(one, argument=index, room=room, width=width, factors=factors)
            found = replace(found, memory=_memory(facts, given.launch, index), tensor=_needed(found, given))
            if found.memory >= 0 and (found.tensor or (one.told in given.told and one.used not in given.told)):
                yield found
                break


def _needed(one: Mismatch, given: _Given) -> Tensor | None:
    """The tensor that would just fit if the program had gone by the file; only where the launch goes by the default."""
    tensor = one.model.sizes.get(one.need)
    fits = tensor is not None and one.told in tensor.shape and one.used in given.told
    return tensor if fits else None


def _passed(given: _Given, one: Mismatch) -> Iterator[Mismatch]:
    """A launch that was told W beside memory that was made for T."""
    if one.told in given.told | given.shape:
        return
    for index, value in given.numbers.items():
        if value != one.used:
            continue
        tensors = (one.model.sizes.get(room) for room in given.rooms.values())
        fitting = [t for t in tensors if t and t.bytes and one.told in t.shape and t.bytes % one.used]
        if fitting:
            yield replace(one, argument=index, tensor=fitting[0])


def _widths(element: int) -> tuple[int, ...]:
    return WIDTHS if element == 1 else (element,)


def _pool(models: Sequence[ModelFile], given: _Given) -> set[int]:
    """The numbers that sizes may be products of: the launch's, and the fields of the files."""
    fields = {n for model in models for values in model.fields.values() for n in values if n > 1}
    mine = sorted(given.told)[:MOST_NUMBERS]
    return set(mine) | set(sorted(fields)[: max(MOST_NUMBERS - len(mine), 0)])


def _factors(room: int, width: int, used: int, numbers: set[int]) -> tuple[int, ...] | None:
    """What `used` must be multiplied with to give the room exactly; None: nothing that is known."""
    rest, odd = divmod(room, width * used)
    if odd or not rest:
        return None
    return _product(rest, numbers, 2)


def _explained(room: int, width: int, numbers: set[int], used: int) -> bool:
    rest, odd = divmod(room, width)
    return not odd and _product(rest, {n for n in numbers if n != used}, 3) is not None


def _product(total: int, numbers: set[int], most: int) -> tuple[int, ...] | None:
    """The fewest of these numbers, each as often as it likes, whose product is `total`."""
    if total == 1:
        return ()
    dividing = sorted(n for n in numbers if n > 1 and total % n == 0)
    for count in range(1, most + 1):
        for chosen in _choices(dividing, count):
            if int(np.prod(chosen, dtype=object)) == total:
                return chosen
    return None


def _choices(numbers: list[int], count: int) -> Iterator[tuple[int, ...]]:
    repeated = [n for n in numbers for _ in range(count)]
    return iter(dict.fromkeys(combinations(repeated, count)))


def _memory(facts: Facts, launch: int, index: int) -> int:
    return next((int(v["object"]) for v in facts.launches.values(launch) if v["index"] == index), -1)


# ---- in words ----


def _finding(facts: Facts, one: Mismatch) -> Finding:
    position = int(facts.launches.position[one.launch])
    site = facts.sites.at(position, argument=one.argument, value=one.used if one.memory < 0 else None)
    label = facts.objects.label(one.memory) if one.memory >= 0 else None
    born = int(facts.objects.table["born"][one.memory]) if one.memory >= 0 else -1
    short = one.memory >= 0 and one.need > one.room
    name = f" ({site.argument_name})" if site.argument_name else ""
    return Finding(
        id=ID,
        severity="error" if short and one.tensor is None else "warning",
        message=_message(one, site.kernel or "?", f"argument {one.argument}{name}", label),
        evidence=tuple(_evidence(facts, one, site.number)),
        site=site,
        others=(facts.sites.at(born),) if born >= 0 else (),
        allocation=allocation_of(facts, one.memory, needed=one.need if short else None),
        causes=(CAUSE,),
        facts=(
            ("kernel", site.kernel or "?"), ("argument", str(one.argument)), ("field", one.field),
            ("used", str(one.used)), ("told", str(one.told)),
        ),
    )  # fmt: skip


def _message(one: Mismatch, kernel: str, argument: str, label: str | None) -> str:
    file, field = Path(one.model.path).name, _field(one)
    if label is None:
        return f"Kernel {kernel} was passed {one.used:,} as {argument}, but {file} has {field} = {one.told:,}."
    need = f"which needs {one.need:,} bytes" if one.need > one.room else f"which needs only {one.need:,} bytes"
    return (
        f"Kernel {kernel} was passed {label} as {argument}, whose {one.room:,} bytes are sized for {field} = {one.used:,},"
        f" but {file} says {one.told:,}, {need}."
    )


def _field(one: Mismatch) -> str:
    return one.model.keys.get(one.field, one.field)


def _evidence(facts: Facts, one: Mismatch, number: int) -> Iterator[Evidence]:
    if one.memory >= 0:
        parts = [f"{one.used:,}", *(f"{factor:,}" for factor in one.factors)]
        born = int(facts.objects.table["born"][one.memory]) + 1
        yield Evidence(f"{one.room:,} bytes = {' x '.join(parts)} values of {plural(one.width, 'byte')}", (born,))
    yield Evidence(f"{one.model.path} says {_field(one)} = {one.told}")
    if one.tensor is not None:
        yield Evidence(f"its tensor {one.tensor.name} is {'x'.join(map(str, one.tensor.shape))} of {one.tensor.type}")
    else:
        yield Evidence(f"the launch itself was passed {one.told:,}", (number,))
    yield Evidence(f"{one.used:,} is the {one.field} of {KNOWN[one.field][one.used]}, and not a number of this model")
