"""The worked example of docs/extend.md: its detector is put beside the others, and its tests are run, as they stand there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.detecting import Look, Make

from gpudx import detectors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
NAME = "group_of_one"


def code(path: str) -> str:
    """The block of code under the line that names its file."""
    found = re.search(rf"^`{re.escape(path)}`:\n\n```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"docs/extend.md has no {path}"
    return found[1]


@pytest.fixture
def detector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module, found as all others are: by being there."""
    (tmp_path / f"{NAME}.py").write_text(code(f"src/gpudx/detectors/{NAME}.py"))
    monkeypatch.setattr(detectors, "__path__", [*detectors.__path__, str(tmp_path)])
    yield next(module for module in detectors.every() if module.__name__.endswith(NAME))
    del sys.modules[f"gpudx.detectors.{NAME}"]
    delattr(detectors, NAME)


@pytest.mark.parametrize("name", ["test_groups_of_one_are_told", "test_other_groups_are_not"])
def test_example_works(name: str, detector: Any, world: Make, look: Look) -> None:
    tests: dict[str, Any] = {}
    exec(compile(code(f"tests/detectors/test_{NAME}.py"), str(PAGE), "exec"), tests)
    tests[name](world, look)


def test_example_is_written_as_all_detectors_are(detector: Any) -> None:
    assert NAME.replace("_", "-") == detector.ID
    assert "Example:" in detector.__doc__ and "Mend it" in detector.__doc__
