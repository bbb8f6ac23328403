"""What every id of gpudx means: detectors, causes, experiments, log formats, gates and rules for sources, from their own files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from gpudx import causes, detectors
from gpudx.report import Rule
from gpudx.rules.reported import FAMILIES

API_NAMES = {"cuda": "CUDA", "hip": "HIP", "opencl": "OpenCL"}
DETECTOR, CAUSE, EXPERIMENT, FORMAT, GATE, LINT, TOOL = (
    "detector", "cause", "experiment", "log format", "gate", "lint rule", "tool report",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One id, what kind of thing it names, and its text."""

    name: str
    kind: str
    text: str

    @property
    def title(self) -> str:
        """The first sentence or line."""
        return self.text.partition("\n\n")[0].replace("\n", " ")


@cache
def every() -> dict[str, Rule]:
    """Title and text of detectors and causes by id. A detector that is named like its cause carries the texts of both."""
    found = {name: Rule(cause.title, _cause_text(name)) for name, cause in causes.every().items()}
    for module in detectors.every():
        text = _text(module)
        both = [text, found[module.ID].text] if module.ID in found else [text]
        found[module.ID] = Rule(text.partition("\n")[0] or module.ID, "\n\n".join(both))
    return found


@cache
def entries() -> tuple[Entry, ...]:
    """Everything that has an id. A name may stand for several kinds: a detector and its cause."""
    return (*_detectors(), *_causes(), *_experiments(), *_formats(), *_gates(), *_lint(), *_tools())


def _detectors() -> Iterator[Entry]:
    yield from (Entry(module.ID, DETECTOR, _text(module)) for module in detectors.every())


def _causes() -> Iterator[Entry]:
    yield from (Entry(name, CAUSE, _cause_text(name)) for name in causes.every())


def _cause_text(name: str) -> str:
    cause = causes.every()[name]
    steps = [*cause.fix, *(f"{API_NAMES[api]}: {step}" for api, step in cause.fix_of)]
    fix = "\n".join(f"- {step}" for step in steps)
    return "\n\n".join(filter(None, [cause.about.strip(), f"Refuted if: {cause.refutes_if}", f"Fix:\n{fix}"]))


def _experiments() -> Iterator[Entry]:
    from gpudx.lab.experiments import every as every_experiment

    for name, module in every_experiment().items():
        yield Entry(name, EXPERIMENT, _text(module))


def _formats() -> Iterator[Entry]:
    from gpudx.evidence.logs import every as every_format

    for module in every_format():
        marks = "\n".join(f"    {mark}" for mark in module.MARKS)
        yield Entry(module.FORMAT, FORMAT, f"{_text(module)}\n\nIts lines contain one of:\n\n{marks}")


def _gates() -> Iterator[Entry]:
    from gpudx.gates import every as every_gate

    for key, gate in every_gate().items():
        yield Entry(key, GATE, f"{_text(gate)}\n\nIn the table [gate] of gpudx.toml:\n\n    {key} = {gate.EXAMPLE}")


def _lint() -> Iterator[Entry]:
    from gpudx.evidence.sources import every as every_rule

    for name, rule in every_rule().items():
        yield Entry(f"lint-{name}", LINT, _text(rule))


def _tools() -> Iterator[Entry]:
    yield from (Entry(name, TOOL, text) for name, text in FAMILIES.items())


def _text(module: object) -> str:
    return (module.__doc__ or "").strip()
