"""The page over all cases: what is in it, and in a real browser that it groups, filters, links, and opens ten thousand at once."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support import browser

from gpudx.cases.index import Entry, opened, program_of
from gpudx.cases.page import page

IN_BROWSER = pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
EVIL = "</script><script>window.hit=1</script><img src=x onerror=window.hit=1>"
CAUSES = ("out-of-bounds-access", "race-in-kernel", "leak", "unordered-access")
OPENS_MS = 2_000


def entries(count: int, folder: Path, text: str = "Kernel scale wrote past the end.") -> list[Entry]:
    now = datetime.now(UTC)
    return [
        Entry(
            fingerprint=f"2:{n % 40:016x}",
            created=(now - timedelta(hours=n)).isoformat(timespec="seconds"),
            host=socket.gethostname(),
            directory=str(folder / f"case {n}"),
            command=f"./app{n % 7} -x" if n % 5 else f"python train{n % 3}.py",
            ending="exit:1",
            verdict=f"CONFIRMED {CAUSES[n % 4]}" if n % 3 else "NO FAULT FOUND",
            summary=text,
            version="0.1.0",
        )
        for n in range(count)
    ]


def written(folder: Path, found: list[Entry]) -> Path:
    (folder / "cases.html").write_text(page(found, folder), encoding="utf-8")
    return folder / "cases.html"


def ready(one: Any) -> Any:
    one.wait_for_selector("html[data-ready]", timeout=60_000)
    return one


def test_links_lead_to_pages_and_folders_that_are_here(tmp_path: Path) -> None:
    found = entries(4, tmp_path)
    Path(found[0].directory).mkdir()
    Path(found[1].directory).mkdir()
    (Path(found[1].directory) / "report.html").write_text("")
    text = page(found, tmp_path)
    assert '"case%200"' in text and '"case%201/report.html"' in text
    assert "case%202" not in text


def test_hostile_text_ends_no_script(tmp_path: Path) -> None:
    text = page(entries(3, tmp_path, EVIL), tmp_path)
    assert EVIL not in text and text.count("</script>") == 2


def test_the_program_of_a_command() -> None:
    assert program_of("./build/app -x") == "app"
    assert program_of("/usr/bin/python3.11 -u src/train.py --fast") == "train.py"
    assert program_of("python -m pytest tests") == "pytest"
    assert program_of("python -c pass") == "python" and program_of("") == "?"


@IN_BROWSER
def test_it_groups_filters_and_links(one_browser: None, tmp_path: Path) -> None:
    found = entries(60, tmp_path)
    Path(found[1].directory).mkdir()
    with browser.opened(written(tmp_path, found)) as shown:
        ready(shown)
        groups = shown.locator(".group")
        assert groups.count() == 5  # four causes, and none
        assert "60 of 60 cases" in shown.locator("#count").inner_text()
        assert shown.locator("svg.trend rect").count() > 10
        shown.fill("#filter", "race-in-kernel app1")
        assert groups.count() == 1 and "race-in-kernel" in groups.first.inner_text()
        groups.first.locator("summary").click()
        assert shown.locator(".group a").first.get_attribute("href") == "./case%201"
        shown.fill("#filter", "")
        shown.select_option("#by", "program")
        assert "train0.py" in shown.locator("#groups").inner_text()
        shown.select_option("#since", "1")
        assert (
            "24 of 60 cases" in shown.locator("#count").inner_text()
            or "25 of 60" in shown.locator("#count").inner_text()
        )
        shown.select_option("#status", "no fault found")
        assert "confirmed" not in shown.locator("#groups").inner_text()
        assert not any(shown.seen[kind] for kind in ("messages", "errors", "dialogs"))


@IN_BROWSER
@pytest.mark.parametrize("look", browser.looks({"width": 1400}, {"width": 400, "height": 800}))
def test_everybody_can_read_it(one_browser: None, tmp_path: Path, look: dict[str, Any]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with browser.opened(written(tmp_path, entries(60, tmp_path, EVIL)), **look) as shown:
        ready(shown)
        shown.locator(".group summary").first.click()
        assert shown.evaluate("document.documentElement.scrollWidth") <= look["width"]
        assert shown.evaluate("window.hit") is None
        response = axe.run(shown).response
        assert response["passes"], "axe did not run"
        assert not [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in response["violations"]]


@IN_BROWSER
def test_ten_thousand_open_at_once(one_browser: None, tmp_path: Path) -> None:
    place = written(tmp_path, entries(10_000, tmp_path))
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    with browser.opened(place) as shown:
        assert int(ready(shown).evaluate("document.documentElement.dataset.ready")) < OPENS_MS * busy


def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from gpudx.cli import make_app

    database = str(tmp_path / "cases.db")
    found = entries(3, tmp_path)
    Path(found[0].directory).mkdir()
    with opened(database, make=True) as store:
        for one in found:
            store.add(one)
    done = CliRunner().invoke(make_app(), ["cases", "--db", database, "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "page.html").read_text()
    assert "1 case of 1 program" in text  # the others' folders are gone
    assert "3 cases of" in CliRunner().invoke(make_app(), ["cases", "--db", database, "--html", "--all"]).output
