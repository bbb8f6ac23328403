"""Who may start processes, import what, and know vendors. tools/check has style, types and the import contracts."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support import constants

from gpudx import detectors
from gpudx.causes.catalogue import CAUSES

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "gpudx"
PRIVATE = re.compile(r"\._(?!_)\w+")
NAMES_PRIVATE = re.compile(r"\._\w+ import|import .*\b_\w|^    _\w+,?$", re.MULTILINE)
VENDOR = re.compile(
    r"\b(CL_[A-Z]{3,}|CUDA_ERROR|hipError|cl(Enqueue|Create|Set|Release|Get|Retain|Build)[A-Z]|cu(Launch|Mem|Ctx|Stream|Module)[A-Z]"
    r"|cuda[A-Z][a-z]+|hip[A-Z][a-z]+)"
)


def test_only_the_lab_starts_processes() -> None:
    """subprocess, os.exec*, os.fork, os.spawn* and posix_spawn are used below gpudx.lab only."""
    words = ("import subprocess", "os.fork(", "os.posix_spawn", "os.execv", "os.system(", "multiprocessing")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in PACKAGE.rglob("*.py")
        if "lab" not in path.relative_to(PACKAGE).parts
        for word in words
        if word in path.read_text()
    ]
    assert not found


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def rooms() -> Iterator[tuple[str, Path]]:
    """Every module, with the package directly below gpudx that it belongs to."""
    yield from ((path.relative_to(PACKAGE).parts[0], path) for path in sorted(PACKAGE.rglob("*.py")))


def test_private_modules_stay_in_their_package() -> None:
    """A module whose name begins with an underscore is imported only inside the package directly below gpudx that has it."""
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for room, path in rooms()
        if NAMES_PRIVATE.search(path.read_text())  # to parse all files takes seconds
        for name in imported(parsed(path))
        if PRIVATE.search(name) and name.split(".")[1] != room
    }
    assert not found


def imported(tree: ast.Module) -> Iterator[str]:
    """Full names of what is imported from gpudx, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpudx"):
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("gpudx."))


def test_only_backends_and_evidence_know_vendors() -> None:
    """No vendor's function or error names in strings of the other packages; texts that document them may have examples.

    kernel_checks rewrites OpenCL C, so it knows that language's macros.
    """
    found = [
        f"{path.relative_to(PACKAGE)}: {word[0]}"
        for room, path in rooms()
        if room not in ("backends", "evidence", "kernel_checks") and any(map(VENDOR.search, constants.strings(path)))
        for text in strings(parsed(path))
        if (word := VENDOR.search(text))
    ]
    assert not found


def strings(tree: ast.Module) -> Iterator[str]:
    """All strings but docstrings and what a Cause says: its fixes name the call to use."""
    causes = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Cause")
    scopes = (node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef))
    left_out = {id(node.body[0].value) for node in scopes if node.body and isinstance(node.body[0], ast.Expr)}
    left_out |= {id(node) for cause in causes for node in ast.walk(cause)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def test_each_cause_is_declared_in_one_place() -> None:
    """A second declaration would replace the first without a word."""
    modules = [one for module in detectors.every() for one in (getattr(module, "CAUSE", None), *getattr(module, "CAUSES", ()))]
    names = Counter(cause.id for cause in (*CAUSES, *filter(None, modules)))
    assert not [name for name, count in names.items() if count > 1]


def test_the_tour_names_every_room() -> None:
    tour = (ROOT / "docs/tour.md").read_text()
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not [name for name in sorted(folders) if f"{name}/" not in tour]
