"""Removes translations of texts that are no longer in the sources (src/gpudx/report/languages).

usage: PYTHONPATH=src python tools/translations.py
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src" / "gpudx"
LANGUAGES = sorted((SOURCES / "report" / "languages").glob("*.toml"))


@cache
def constants() -> frozenset[str]:
    """Every string of the sources; also without the colon that a detail follows: "Findings: "."""
    trees = (ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES.rglob("*.py"))
    nodes = (node for tree in trees for node in tree if isinstance(node, ast.Constant))
    found = {node.value for node in nodes if isinstance(node.value, str)}
    return frozenset(found | {text.removesuffix(": ") for text in found})


def stale(line: str) -> bool:
    """Is this line of a language's file an entry whose text is gone?"""
    return not constants().issuperset(tomllib.loads(line)) if line.startswith('"') else False


def main() -> None:
    for path in LANGUAGES:
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not stale(line)]
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
        print(f"{path.name}: {len(lines) - len(kept)} entries removed")


if __name__ == "__main__":
    main()
