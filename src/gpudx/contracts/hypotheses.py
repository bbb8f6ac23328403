"""hypotheses.toml: what users believe went wrong, in a form that a recording can decide.

[[hypothesis]]
name = "gemm buffer undersized"
claim = "the hidden buffer was allocated with default dimensions"
launches = { kernel = "gemm*", predicate = "bytes(C) < M*N*4", names = { C = 0, M = 3, N = 4 } }
expect = "some"
experiment = "recorded"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gpudx.contracts import source
from gpudx.contracts.language import ALLOCATIONS, ERRORS, LAUNCHES, Expression, nearest
from gpudx.contracts.launches import Argument

Expect = Literal["some", "none", "all"]
EXPECT: dict[Expect, str] = {
    "some": "at least one of",
    "none": "none of",
    "all": "each of",
}
EXPERIMENTS = {
    "recorded": "any recorded run",
    "fenced": "a run with `--fence`",
    "serialised": "a run with `--serialise`",
    "sanitized": "a run with `--sanitize`",
}
KEYS = {
    "name": "what you call it",
    "claim": "what you believe, as a sentence",
    "launches": "the launches that it is about: a table with `kernel`, `predicate`, and as in a contract `where`, `names`",
    "allocations": "or a predicate over all allocations",
    "errors": "or a predicate over all calls that failed",
    "expect": "of how many the predicate is true if you are right: some, none or all (optional, some)",
    "experiment": "which kind of run the case must hold (optional, recorded)",
}
OF_LAUNCHES = ("kernel", "predicate", "where", "names")
SUBJECTS = ("launches", "allocations", "errors")
KIND = "hypothesis"


@dataclass(frozen=True)
class Claim:
    """One hypothesis as its file has it. `kernel` is "" for those that are not about launches."""

    name: str
    claim: str
    predicate: Expression
    expect: Expect
    experiment: str
    kernel: str = ""
    where: Expression | None = None
    names: Mapping[str, Argument] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """ "launches of gemm*", "allocations", "failing calls"."""
        if self.predicate.table is LAUNCHES:
            return f"launches of {self.kernel}"
        return "allocations" if self.predicate.table is ALLOCATIONS else "failing calls"


def read(path: Path) -> tuple[Claim, ...]:
    """All hypotheses of a file. UserError, with the line, for the first that cannot be understood."""
    return tuple(_hypothesis(entry) for entry in source.read(path, KIND))


def _hypothesis(entry: source.Entry) -> Claim:
    entry.check_keys(tuple(KEYS))
    subjects = [key for key in SUBJECTS if key in entry.values]
    if len(subjects) != 1:
        entry.refuse(f"a hypothesis has one of {', '.join(SUBJECTS)}, and this one has {len(subjects)}")
    name, claim = entry.text("name"), entry.text("claim")
    expect, experiment = _chosen(entry, "expect", EXPECT, "some"), _chosen(entry, "experiment", EXPERIMENTS, "recorded")
    if subjects[0] == "launches":
        return _of_launches(entry, name, claim, expect, experiment)
    table = ALLOCATIONS if subjects[0] == "allocations" else ERRORS
    return Claim(name, claim, entry.expression(entry.values[subjects[0]], table), expect, experiment)  # type: ignore[arg-type]


def _of_launches(entry: source.Entry, name: str, claim: str, expect: str, experiment: str) -> Claim:
    values = entry.values["launches"]
    if not isinstance(values, dict):
        entry.refuse(
            'launches must be a table; write launches = { kernel = "gemm*", predicate = "n == 0" }', "launches"
        )
    entry.check_keys(OF_LAUNCHES, values)
    where = values.get("where")
    return Claim(
        name=name,
        claim=claim,
        predicate=entry.expression(values.get("predicate", ""), LAUNCHES),
        expect=expect,  # type: ignore[arg-type]
        experiment=experiment,
        kernel=entry.text("kernel", values=values),
        where=None if where is None else entry.expression(where, LAUNCHES),
        names=entry.names(values.get("names", {})),
    )


def _chosen(entry: source.Entry, key: str, choice: Mapping[str, str] | Mapping[Expect, str], default: str) -> str:
    value = entry.text(key, default)
    if value not in choice:
        entry.refuse(f"there is no {key} {value}{nearest(value, choice)} (known: {', '.join(choice)})", key)
    return value
