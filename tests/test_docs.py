"""The pages hang together: links lead somewhere, the site builds without a warning, and what they quote was printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "incidents").glob("*/README.md"))]
CODE = re.compile(r"^```.*?^```$|^    .*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def test_links_lead_somewhere() -> None:
    """Every relative link of the README and of docs/ names a file or folder that is there."""
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
        if not link.startswith(("http:", "https:", "#")) and not (page.parent / link.partition("#")[0]).exists()
    ]
    assert not broken


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return place


def test_every_page_is_on_the_site(site: Path) -> None:
    pages = [page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")]
    assert not [page for page in pages if not (site / page).is_file()]


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
