"""One page for each detector, cause, experiment and log format, from its own file, with links from one to the next."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudx.causes import Cause
    from gpudx.model import Prediction

MADE = "<!-- Made by tools/docs.py. Edit the files it describes. -->\n\n"
SILENT = "may change"  # a prediction that says nothing is left out


def pages() -> dict[str, str]:
    """All of them by their path below docs/."""
    return {**detectors(), **causes(), **experiments(), **formats()}


def detectors() -> dict[str, str]:
    """docs/detectors/: what each sees, and the causes that it suggests."""
    from gpudx.causes import every as every_cause
    from gpudx.detectors import every

    lead = (
        "Each of these reads the recorded facts of a run and yields findings. A finding suggests causes; whether one of them is the "
        "cause is\ndecided elsewhere ([investigate](../investigate.md))."
    )
    made = {}
    for module in every():
        titles = {name: every_cause()[name].title for name in suggested(module)}
        made[module.ID] = [_text(module), *_links("Causes that it suggests", "causes", titles), _source(module)]
    titles = {module.ID: _title(module) for module in every()}
    return _folder("detectors", "Detectors", lead, titles, made)


def causes() -> dict[str, str]:
    """docs/causes/: what would refute each, how it is mended, who suggests it, what it predicts."""
    from gpudx.causes import every

    lead = "What a finding can mean, what would refute it, how it is mended, and what it predicts for each experiment."
    made = {name: _cause(cause) for name, cause in every().items()}
    return _folder("causes", "Causes", lead, {name: cause.title + "." for name, cause in every().items()}, made)


def _cause(cause: Cause) -> list[str]:
    from gpudx.detectors import every

    own = next((one for one in every() if cause.id == one.ID), None)
    by = {one.ID: _title(one) for one in every() if cause.id in suggested(one)}
    told = [(one.experiment, one) for one in cause.predictions.values() if one.expects != SILENT]
    parts = [
        _text(own) if own else cause.about.strip(),
        "",
        f"**Refuted if:** {cause.refutes_if}",
        "\n## Mend it\n",
        *(f"- {fix}" for fix in cause.fix),
    ]
    parts += [f"\n**Settled by:** {cause.settled_by}"] if cause.settled_by else []
    return [
        *parts,
        *_links("Detectors that suggest it", "detectors", by),
        *_expected("experiment", "experiments", told),
        *([_source(own)] if own else []),
    ]


def experiments() -> dict[str, str]:
    """docs/experiments/: what each changes, and what the causes predict for it."""
    from gpudx.causes import every as every_cause
    from gpudx.lab.experiments import every

    lead = "Ways of running the program that `gpudx investigate` chooses from ([how it chooses](../investigate.md))."
    made = {}
    for name, module in every().items():
        told = [(cause.id, cause.predictions[name]) for cause in every_cause().values() if name in cause.predictions]
        told = [(cause, one) for cause, one in told if one.expects != SILENT]
        cost = "" if module.COST == 1 else f"\nA run takes roughly {module.COST:g} times as long.\n"
        made[name] = [_text(module), cost, *_expected("cause", "causes", told), _source(module)]
    return _folder("experiments", "Experiments", lead, {name: _title(module) for name, module in every().items()}, made)


def formats() -> dict[str, str]:
    """docs/formats/: what writes each, what is read, and by which words its lines are known."""
    from gpudx.evidence.logs import every

    lead = "What `gpudx explain` recognises in a pasted log ([explain](../commands/explain.md))."
    found = [importlib.import_module(module.__name__) for module in every()]
    made = {
        m.FORMAT: [_text(m), "\nIts lines have one of:\n", *(f"    {mark}" for mark in m.MARKS), _source(m)]
        for m in found
    }
    return _folder("formats", "Formats of logs", lead, {module.FORMAT: _title(module) for module in found}, made)


@cache
def suggested(detector: ModuleType) -> list[str]:
    """The causes that a detector's code gives its findings: what stands behind `causes=`, else all that the code names."""
    from gpudx.causes import every

    tree = ast.parse(inspect.getsource(detector))
    given = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "causes"]
    here = _named(given, detector) & every().keys()
    return sorted(here or _named([tree], detector) & every().keys()) if given else []


def _named(nodes: Iterable[ast.AST], module: ModuleType) -> set[str]:
    """All strings in the nodes: as they are, and by the names of the module's constants."""
    inside = [node for top in nodes for node in ast.walk(top)]
    plain = [node.value for node in inside if isinstance(node, ast.Constant)]
    constants = [getattr(module, node.id, None) for node in inside if isinstance(node, ast.Name)]
    return {text for text in (*plain, *constants) if isinstance(text, str)}


def _folder(
    folder: str, title: str, lead: str, titles: Mapping[str, str], made: Mapping[str, list[str]]
) -> dict[str, str]:
    rows = [f"| [{name}]({name}.md) | {_cell(titles[name])} |" for name in sorted(made)]
    index = "\n".join([f"# {title}\n", lead, "\n| name | is |\n| --- | --- |", *rows])
    found = {name: f"# {name}\n\n" + "\n".join(parts) for name, parts in made.items()}
    return {f"{folder}/{name}.md": MADE + text + "\n" for name, text in {"index": index, **found}.items()}


def _links(title: str, folder: str, titles: Mapping[str, str]) -> list[str]:
    rows = [f"- [{name}](../{folder}/{name}.md): {text}" for name, text in titles.items()]
    return [f"\n## {title}\n", *rows] if rows else []


def _expected(word: str, folder: str, told: list[tuple[str, Prediction]]) -> list[str]:
    """What is predicted, alike in one row; what says nothing is not in `told`."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, one in told:
        groups.setdefault((one.expects, one.text), []).append(f"[{name}](../{folder}/{name}.md)")
    rows = [f"| {', '.join(names)} | {expects} | {_cell(text)} |" for (expects, text), names in sorted(groups.items())]
    title = "What it predicts" if word == "experiment" else "What causes predict"
    lead = "What becomes of the failure there; *shown*: the run itself names the cause."
    head = f"{lead}\n\n| {word} | expected | because |\n| --- | --- | --- |"
    return [f"\n## {title}\n", head, *rows] if rows else []


def _text(module: ModuleType) -> str:
    return (module.__doc__ or "").strip()


def _title(module: ModuleType) -> str:
    """The docstring's first sentence or line."""
    return _text(module).partition("\n\n")[0].replace("\n", " ")


def _source(module: ModuleType) -> str:
    return f"\nIts file: `src/{module.__name__.replace('.', '/')}.py`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
