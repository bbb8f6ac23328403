"""The worked example of docs/extend.md, executed on a copy of the tree exactly as written: nothing else may need editing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs
ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "extend.md"
BLOCK = re.compile(r"^`([\w/.-]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COPIED = ("src", "tests", "tools", "schema", "docs", "pyproject.toml", "native", "mkdocs.yml")


def files() -> dict[str, str]:
    """Path -> text, of every block of code under a line that names its file."""
    return dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the files of the page."""
    place = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, place / name)
    for name, text in files().items():
        assert not (place / name).exists(), f"{name} is there already"
        (place / name).write_text(text, encoding="utf-8")
    return place


def run(tree: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree / 'tools'}"}
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_page_has_a_detector_and_its_test() -> None:
    folders = {str(Path(name).parent) for name in files()}
    assert folders == {"src/gpudx/detectors", "tests/detectors"}


def test_the_tests_of_the_page_pass(tree: Path) -> None:
    tests = [name for name in files() if name.startswith("tests/")]
    said = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert re.search(r"^[2-9]\d* passed", said, re.MULTILINE), said


def test_the_style_is_that_of_the_house(tree: Path) -> None:
    run(tree, "-m", "ruff", "check", *files())


def test_it_is_explained_and_has_a_page(tree: Path) -> None:
    (detector,) = [Path(name).stem.replace("_", "-") for name in files() if name.startswith("src/")]
    assert f"{detector} (detector)" in run(tree, "-m", "gpudx", "rule", detector)
    run(tree, "tools/docs.py", str(tree / "pages"))
    assert (tree / "pages" / "detectors" / f"{detector}.md").is_file()
