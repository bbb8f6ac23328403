"""The heat map of flaky tests in the HTML report: numbers in words, followers and the rest counted, readable by everybody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import html_kit
import pytest
from sample_cases import FULL
from support import browser

from gpudx.model import Case
from gpudx.model.flake import MOST_TOLD, Cell, Flake, FlakyTest, Kind
from gpudx.report import Page, render
from gpudx.report.html.pictures.heat_map import step

LOOKS = browser.looks({}, browser.PHONE)


def cell(name: str, failures: int, runs: int) -> Cell:
    return Cell(name, failures, runs, failures / (runs + 1), 1.0)


def failing(name: str, *cells: Cell, kind: Kind = "random") -> FlakyTest:
    return FlakyTest(name, kind, "It fails.", cells or (cell("as-is", 1, 4),))


def case(*tests: FlakyTest, of: int, followers: dict[str, int] | None = None) -> Case:
    columns = (cell("as-is", 2, 4), cell("parallel", 3, 3))
    flake = Flake("pytest", of, 0.99, 7, 1.0, "settled", columns, tests, followers or {})
    return replace(FULL, flake=flake)


SEVERAL = case(
    *(failing(f"t{n}", cell("as-is", n, 4)) for n in range(5)),
    failing("beside", cell("as-is", 0, 4), cell("parallel", 3, 3), kind="concurrency-dependent"),
    failing("follower", kind="cascade"),
    of=9000,
    followers={"t4": 1},
)


def html(made: Case) -> str:
    return render(made, "html", Page())


def test_numbers_stand_in_the_cells() -> None:
    text = html(SEVERAL)
    for n in range(5):
        assert f'class="h{n}" title="failure rate: {n / 5:.0%} to 100%">{n}/4</td>' in text
    assert text.count('<th role="rowheader"') == 6 and "concurrency-dependent" in text
    assert '<td role="cell" data-head="parallel"></td>' in text  # not run
    assert "... and 1 test that only follows t4" in text and "8,993 other tests never failed." in text
    assert "▒" not in text  # the shades of formats that cannot draw


def test_other_formats_have_shades() -> None:
    text = render(SEVERAL, "terminal", Page(width=100))
    assert "▒ 1/4" in text and "only follows t4" in text and "never failed" not in text
    many = render(case(*(failing(f"t{n}") for n in range(40)), of=50), "terminal", Page(width=100))
    assert "... and 15 more tests that failed" in many


@pytest.mark.parametrize(
    ("failures", "runs", "wanted"), [(0, 9, 0), (1, 1000, 1), (1, 4, 1), (2, 4, 2), (999, 1000, 4)]
)
def test_a_rare_failure_is_no_pass(failures: int, runs: int, wanted: int) -> None:
    assert step(cell("as-is", failures, runs)) == wanted


def test_thousands_of_tests() -> None:
    """What is not in the case is not called a pass."""
    text = html(case(*(failing(f"t{n}") for n in range(MOST_TOLD)), of=90_000))
    assert text.count('<th role="rowheader"') == MOST_TOLD and "tests never failed" not in text
    assert len(text) < 1_000_000


def test_names_stay_names() -> None:
    text = html(case(failing(html_kit.EVIL), of=3))
    assert "<script>window" not in text and "<img" not in text and len(text) < 400_000


@pytest.mark.builds  # runs a browser
@pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_read_it(one_browser: None, look: dict[str, Any], tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    path = tmp_path / "report.html"
    path.write_text(html(SEVERAL))
    with browser.opened(path, **look) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= look.get("width", 1200)
        assert page.locator("table.heat").is_visible()
        found = axe.run(page).response
        bad = [(one["id"], [n["html"][:200] for n in one["nodes"]]) for one in found["violations"]]
        assert found["passes"] and not bad
