"""Builds the pages of the site into build/docs: those of docs/, and the reference pages made from the code they describe.

usage: PYTHONPATH=src python tools/docs.py [FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import doc_commands
import doc_reference
from doc_reference import MADE

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BUILT = ROOT / "build" / "docs"


def trace_format() -> str:
    """docs/trace-format.md, from schema/events.toml."""
    events = tomllib.loads((ROOT / "schema" / "events.toml").read_text())
    prose = [line[2:] if line.startswith("# ") else "" for line in _head(ROOT / "schema" / "events.toml")]
    parts = [MADE + "# The trace file\n", "\n".join(prose), ""]
    for name, fields in events["layout"].items():
        rows = [f"| {field} | {kind} |" for field, kind in fields]
        parts += [f"\n## {name}\n", "| field | type |\n| --- | --- |", *rows]
    parts += ["\n## What a call can do\n", "| word | meaning |\n| --- | --- |"]
    parts += [f"| {word} | {meaning} |" for word, meaning in events["does"].items()]
    parts += ["\n## Notes of the recorder\n", "| note | words | in the blob |\n| --- | --- | --- |"]
    parts += [_note(note) for note in events["note"]]
    return "\n".join(parts) + "\n"


def _head(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    return lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]


def _note(note: dict[str, Any]) -> str:
    parts = "; ".join(f"{k}: {v}" for k, v in note.get("parts", {}).items())
    return f"| {note['name']} | {', '.join(note['fields'])} | {parts} |"


def _page(title: str, lead: str, modules: list[tuple[str, ModuleType]]) -> str:
    parts = [MADE + f"# {title}\n", lead]
    for name, module in modules:
        parts += [f"\n## {name}\n", (module.__doc__ or "").strip()]
    return "\n".join(parts) + "\n"


def contracts() -> str:
    """docs/contracts.md: its tables from the language's own lists, between marks; the text around them stays."""
    from gpudx.contracts import contracts as of_contracts
    from gpudx.contracts import hypotheses as of_hypotheses
    from gpudx.contracts import language
    from gpudx.contracts.launches import TYPES

    made: dict[str, Mapping[str, str]] = {
        "keys of a contract": of_contracts.KEYS,
        "keys of a hypothesis": of_hypotheses.KEYS,
        "expect": {name: f"the predicate is true of {text} them" for name, text in of_hypotheses.EXPECT.items()},
        "experiments": of_hypotheses.EXPERIMENTS,
        "functions": {function.usage: function.meaning for function in language.FUNCTIONS.values()},
        "shapes": language.SHAPES,
        **{table.rows: table.words for table in language.TABLES},
    }
    lists = {
        "operators": [*language.ARITHMETIC.values(), *language.COMPARISONS.values(), "and", "or", "not"],
        "types": list(TYPES),
    }
    text = (ROOT / "docs" / "contracts.md").read_text()
    for name, rows in made.items():
        cells = "\n".join(f"| `{key}` | {meaning} |" for key, meaning in rows.items())
        text = _between(text, name, f"| word | meaning |\n| --- | --- |\n{cells}")
    for name, words in lists.items():
        text = _between(text, name, " ".join(f"`{word}`" for word in words))
    return text


def _between(page: str, name: str, made: str) -> str:
    """The page with what stands between the marks of `name` made anew."""
    begin, end = f"<!-- made: {name} -->\n", "<!-- end -->"
    head, found, rest = page.partition(begin)
    assert found, f"docs/contracts.md has no place for: {name}"
    return head + begin + made + "\n" + end + rest.partition(end)[2]


def gates() -> str:
    """docs/gates.md, from the docstrings of the gates."""
    from gpudx.gates import every

    lead = (
        "Limits for CI, in the table `[gate]` of gpudx.toml; `gpudx gate CASE...` prints a line for each and ends with 1 unless all have "
        "passed.\nEvidence that is missing fails a gate."
    )
    parts = [MADE + "# Gates\n", lead]
    for key, gate in every().items():
        parts += [f"\n## {key}\n", f"`{key} = {gate.EXAMPLE}`\n", (gate.__doc__ or "").strip()]
    return "\n".join(parts) + "\n"


def lint() -> str:
    """docs/lint.md, from the docstrings of the rules."""
    from gpudx.evidence.sources import every

    lead = (
        "Faults that `gpudx lint FILES` sees in sources of kernels: mechanical ones only, all of them warnings. "
        "One file each in\nsrc/gpudx/evidence/sources/."
    )
    return _page("Rules for sources", lead, [(name, rule) for name, rule in every().items()])  # type: ignore[misc]


def decisions() -> str:
    """docs/decisions/index.md, from the first lines of the pages beside it."""
    found = sorted((DOCS / "decisions").glob("0*.md"))
    rows = [f"- [{path.read_text().splitlines()[0].lstrip('# ')}]({path.name})" for path in found]
    return "\n".join([MADE + "# Decisions\n", "Why things are as they are, and what was left out.\n", *rows]) + "\n"


def pages() -> dict[str, str]:
    """Every page that is made, by its path below the folder."""
    single = {
        "trace-format.md": trace_format(),
        "contracts.md": contracts(),
        "gates.md": gates(),
        "lint.md": lint(),
        "decisions/index.md": decisions(),
    }
    return {**single, **doc_reference.pages(), **doc_commands.pages()}


def build(folder: Path) -> None:
    """Writes all pages into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder)
    for name, text in pages().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=BUILT, metavar="FOLDER")
    build(parser.parse_args().folder)
