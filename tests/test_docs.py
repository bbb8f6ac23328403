"""The pages hang together: links lead somewhere, the site builds without a warning, and what they quote was printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import browser

pytestmark = pytest.mark.docs
os.environ["NO_MKDOCS_2_WARNING"] = "1"  # an announcement of the theme, which is no warning about our pages
ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
READ_AS_FILES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "incidents").glob("*/README.md"))]
MADE = "<!-- Made by tools/docs.py. -->"
CODE = re.compile(r"^```.*?^```$|^    .*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """Relative links of a page, outside of code."""
    found = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    return [link.partition("#")[0] for link in found if not link.startswith(("http:", "https:", "#"))]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages, written and made."""
    place = tmp_path_factory.mktemp("docs")
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tools'}"}
    subprocess.run([sys.executable, "tools/docs.py", str(place)], cwd=ROOT, env=environment, check=True)
    return place


def test_links_of_the_repository_lead_to_files() -> None:
    """The README and the like are read where nothing has been built."""
    broken = [f"{page}: {link}" for page in READ_AS_FILES for link in links(page) if not (page.parent / link).exists()]
    assert not broken


def test_links_of_the_pages_lead_to_pages_or_files(pages: Path) -> None:
    broken = [
        f"{page.relative_to(pages)}: {link}"
        for page in pages.rglob("*.md")
        for link in links(page)
        if not (page.parent / link).exists() and not (DOCS / page.relative_to(pages).parent / link).exists()
    ]
    assert not broken


def test_every_id_has_a_page(pages: Path) -> None:
    from gpudx.rules import CAUSE, DETECTOR, EXPERIMENT, FORMAT, entries

    folders = {DETECTOR: "detectors", CAUSE: "causes", EXPERIMENT: "experiments", FORMAT: "formats"}
    wanted = [pages / folders[one.kind] / f"{one.name}.md" for one in entries() if one.kind in folders]
    assert len(wanted) > 100 and not [page for page in wanted if not page.is_file()]


def test_no_page_that_is_made_is_in_the_repository(pages: Path) -> None:
    filled_in = {"contracts.md"}
    made = {str(page.relative_to(pages)) for page in pages.rglob("*.md") if MADE in page.read_text(encoding="utf-8")}
    assert made and not [name for name in made - filled_in if (DOCS / name).exists()]


@pytest.fixture(scope="module")
def site(pages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    place = tmp_path_factory.mktemp("site")
    settings = (ROOT / "mkdocs.yml").read_text().replace("docs_dir: build/docs", f"docs_dir: {pages}")
    settings = settings.replace("tools/mkdocs_hook.py", str(ROOT / "tools" / "mkdocs_hook.py"))
    (place.parent / "mkdocs.yml").write_text(settings)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(
        [*command, "--config-file", str(place.parent / "mkdocs.yml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return place


def test_every_page_is_on_the_site(site: Path, pages: Path) -> None:
    wanted = [page.relative_to(pages).with_suffix(".html") for page in pages.rglob("*.md")]
    assert not [page for page in wanted if not (site / page).is_file()]


def test_site_needs_no_network(site: Path) -> None:
    """Nothing is fetched from elsewhere: neither scripts, nor styles, nor fonts."""
    page = (site / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//", page)


@pytest.mark.parametrize("page", ["docs/tour.md", "README.md"])
def test_what_is_quoted_was_printed(page: str) -> None:
    """Blocks that begin with a command of gpudx hold lines of tools/examples, or say that something was left out."""
    printed = {
        " ".join(line.split())
        for path in (ROOT / "tools/examples").glob("*.txt")
        for line in path.read_text().splitlines()
    }
    blocks = re.findall(
        r"^```\n(\$ gpudx .*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    lines = [" ".join(line.split()) for block in blocks for line in block.splitlines()]
    assert not [line for line in lines if line not in printed and line not in ("...", "")]


def test_the_cost_of_a_call_is_the_measured_one() -> None:
    measured = (ROOT / "benchmarks/results/overhead.md").read_text(encoding="utf-8")
    numbers = [re.search(rf"{call}, added \| ([0-9.]+) ", measured) for call in ("clSetKernelArg", "clEnqueueNDRangeKernel")]
    arg, launch = (f"{float(found[1]):.0f} ns" for found in numbers if found)
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/cost.md"))
    assert f"adds {arg} to a clSetKernelArg and {launch} to a launch" in readme
    assert f"recording a clSetKernelArg, a launch | {arg}, {launch} (" in page


@pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
@pytest.mark.parametrize("page", ["index.html", "commands/run.html"])
def test_search_finds_pages_without_a_server(one_browser: None, site: Path, page: str) -> None:
    with browser.opened(site / page, width=1400) as shown:
        shown.locator(".md-search__input").press_sequentially("poison", delay=200)  # the theme listens to keys once it is ready
        shown.wait_for_selector(".md-search-result__item", timeout=20_000)
        assert "matching documents" in shown.inner_text(".md-search-result__meta")
        assert not shown.seen["errors"] and not shown.seen["blocked"]


@pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
@pytest.mark.parametrize(
    "look", [{"width": width, "scheme": one} for width in (1400, 400) for one in ("light", "dark")]
)
@pytest.mark.parametrize(
    "page",
    [
        "index.html",
        "install.html",
        "breadcrumbs.html",
        "cost.html",
        "commands/run.html",
        "contracts.html",
        "detectors/index.html",
    ],
)
def test_everybody_can_read_the_site(one_browser: None, site: Path, page: str, look: dict[str, Any]) -> None:
    """axe's rules, and nothing is wider than the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with browser.opened(site / page, **look) as shown:
        found = axe.run(shown).response
        assert found["passes"], "axe did not run"
        assert not [(one["id"], [node["html"][:150] for node in one["nodes"]]) for one in found["violations"]]
        assert shown.evaluate("document.documentElement.scrollWidth") <= look["width"]
