"""The HTML report in a real browser: it draws, it can be used by hand and by key, it harms nobody, and everybody can read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import html_kit
import pytest
from support import browser

from gpudx.investigate.conclude import conclude
from gpudx.investigate.loop import CONFIDENCE, Limits, investigate
from gpudx.model import Case, Investigation

pytestmark = [
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
    pytest.mark.usefixtures("one_browser"),
]
LOOKS = browser.looks({}, browser.PHONE)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, schema: str) -> Case:
    """One with everything: traces, and an investigation."""
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "diagnose"))
    from fake_lab import FakeLab, suggests

    made = html_kit.with_trace(tmp_path_factory.mktemp("case"), schema, launches=400)
    lab = FakeLab({"recorded": 1.0, "turns": 0.0}, (suggests("kernel-shared-by-threads"),))
    state = conclude(made, investigate(Investigation(CONFIDENCE), lab, Limits(300)))
    return html_kit.replace(made, investigation=state.investigation, observations=state.observations)


@pytest.fixture(scope="module")
def report(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return html_kit.write(case, tmp_path_factory.mktemp("report") / "report.html")


def ready(page: Any) -> Any:
    page.wait_for_selector("html[data-ready]", timeout=30_000)
    return page


def quiet(page: Any) -> bool:
    """Nothing was asked for but the page itself, and nothing complained."""
    return len(page.seen["requests"]) == 1 and not any(page.seen[k] for k in ("messages", "errors", "dialogs"))


PAINTED = """(kind) => {
  const canvas = document.querySelector(`[data-kind=${kind}] canvas`), pen = canvas.getContext("2d");
  const seen = new Set(), { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size;
}"""


@pytest.mark.parametrize("look", browser.looks({}, browser.PHONE, {"width": 1400}))
def test_drawings_have_their_height_before_they_are_drawn(report: Path, look: dict[str, Any]) -> None:
    """Nothing below them moves when the script runs."""
    height = "[...document.querySelectorAll('canvas')].map((one) => one.getBoundingClientRect().height)"
    with browser.opened(report, java_script_enabled=False, **look) as page:
        empty = page.locator("canvas").evaluate_all("(all) => all.map((one) => one.getAttribute('height'))")
    with browser.opened(report, **look) as page:
        assert [str(round(one)) for one in ready(page).evaluate(height)] == empty


def test_the_contents_stay_in_view(report: Path) -> None:
    with browser.opened(report, width=1400) as page:
        ready(page)
        page.evaluate("window.scrollTo(0, 1500)")
        assert page.locator("nav a").first.bounding_box()["y"] >= 0
    with browser.opened(report, width=400) as page:
        ready(page)
        page.evaluate("window.scrollTo(0, 1500)")
        assert page.locator("nav").bounding_box()["y"] == 0


def test_the_top_names_program_ending_and_date(report: Path, case: Case) -> None:
    with browser.opened(report) as page:
        text = page.locator("header").inner_text()
        assert all(word in text for word in ("Program", "Ended", "Date", case.created[:10]))


@pytest.mark.parametrize("look", LOOKS)
def test_it_draws_and_fits(report: Path, look: dict[str, Any]) -> None:
    with browser.opened(report, **look) as page:
        ready(page)
        assert quiet(page), page.seen
        assert page.evaluate("document.documentElement.scrollWidth") <= look.get("width", 1200)
        for kind in ("timeline", "memory"):
            assert page.evaluate(PAINTED, kind) > 5


def test_it_can_be_used_by_hand_and_by_key(report: Path) -> None:
    with browser.opened(report) as page:
        ready(page)
        place = page.locator("[data-kind=timeline]")
        told, view = (
            place.locator(".told"),
            "(() => { const p = document.querySelector('.drawn').picture; return [p.from, p.to]; })()",
        )
        assert "guilty" in told.inner_text() and "copy (launch)" in told.inner_text()
        near = page.evaluate(view)  # it opens at the guilty launch
        place.get_by_text("All", exact=True).click()
        whole = page.evaluate(view)
        assert near[1] - near[0] < (whole[1] - whole[0]) / 4
        place.get_by_text("Show guilty").click()
        assert page.evaluate(view) == near
        place.get_by_text("Previous").click()
        assert "guilty" not in told.inner_text()
        place.get_by_text("Show victim").click()
        assert "cuStreamSynchronize" in told.inner_text() and "failed" in told.inner_text()
        canvas = place.locator("canvas")
        canvas.focus()
        page.keyboard.press("Home")
        assert page.evaluate(view) == whole
        page.keyboard.press("+")
        canvas.hover()
        page.mouse.wheel(0, -200)
        page.mouse.down()
        page.mouse.move(300, 300)
        page.mouse.up()
        assert page.evaluate(view)[1] - page.evaluate(view)[0] < (whole[1] - whole[0]) / 2
        page.locator("[data-kind=memory]").get_by_text("Next").click()
        assert "bytes" in page.locator("[data-kind=memory] .told").inner_text()
        assert quiet(page), page.seen


def test_it_tells_calls_in_the_language_of_the_report(case: Case, tmp_path: Path) -> None:
    with browser.opened(html_kit.write(case, tmp_path / "report.html", "ko")) as page:
        ready(page)
        told = page.locator("[data-kind=timeline] .told").inner_text()
        assert "copy (launch)" in told and "원인" in told and "guilty" not in told
        page.locator("[data-kind=memory]").get_by_text("다음").click()
        assert "바이트" in page.locator("[data-kind=memory] .told").inner_text()
        assert quiet(page), page.seen


def test_a_click_names_the_call_under_it(report: Path) -> None:
    with browser.opened(report) as page:
        ready(page)
        at = page.evaluate("""() => {
          const { picture } = document.querySelector(".drawn"), row = picture.model.lanes[0].rows[3];
          picture.goTo("guilty"); picture.show(picture.model.begin[row] - 100, picture.model.begin[row] + 100); picture.paint();
          return { x: picture.x(picture.model.begin[row]) + 2, y: picture.top + 5, told: picture.model.told(row) };
        }""")
        page.locator("[data-kind=timeline] canvas").click(position={"x": at["x"], "y": at["y"]})
        assert page.locator("[data-kind=timeline] .told").inner_text() == at["told"]


@pytest.mark.parametrize("look", LOOKS[1:])
def test_hostile_names_stay_names(case: Case, schema: str, tmp_path: Path, look: dict[str, Any]) -> None:
    made = html_kit.hostile(html_kit.with_trace(tmp_path, schema, name=html_kit.EVIL))
    with browser.opened(html_kit.write(made, tmp_path / "report.html"), **look) as page:
        ready(page)
        page.locator("[data-kind=timeline]").get_by_text("Show guilty").click()
        for summary in page.locator("summary").all():
            summary.click()
        assert "window.hit" in page.locator("[data-kind=timeline] .told").inner_text()
        assert page.evaluate("window.hit") is None
        assert quiet(page), page.seen
        assert page.evaluate("document.documentElement.scrollWidth") <= look.get("width", 1200)


def test_the_policy_stops_what_we_did_not_write(case: Case, tmp_path: Path) -> None:
    """If an escape were ever forgotten: markup put in by force does not run either."""
    place = html_kit.write(case, tmp_path / "report.html")
    evil = "<script>window.hit=1</script><img src=http://192.0.2.1/x onerror='window.hit=1'><p style='color:red'>"
    place.write_text(place.read_text().replace("<main id=", f"{evil}<main id="))
    with browser.opened(place) as page:
        ready(page)
        assert page.evaluate("window.hit") is None
        assert page.seen["blocked"] == ["http://192.0.2.1/x: csp"]
        assert any("Content Security Policy" in one for one in page.seen["messages"])


def test_it_reads_without_scripts(report: Path) -> None:
    with browser.opened(report, java_script_enabled=False) as page:
        assert page.locator("h1").inner_text().startswith("✗ CONFIRMED")
        assert page.locator("noscript p:visible").count() == 2


@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_read_it(report: Path, look: dict[str, Any]) -> None:
    """axe's rules: contrast, names, landmarks, order of headings, heads of tables, reach by key."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with browser.opened(report, **look) as page:
        ready(page)
        for summary in page.locator("summary").all():
            summary.click()
        found = axe.run(page).response
        assert found["passes"], "axe did not run"
        bad = [(one["id"], one["impact"], [n["html"][:200] for n in one["nodes"]]) for one in found["violations"]]
        assert not bad


def test_every_control_can_be_reached_by_key(report: Path) -> None:
    with browser.opened(report) as page:
        ready(page)
        for summary in page.locator("summary").all():
            summary.click()
        page.evaluate("document.activeElement.blur()")
        wanted = page.locator("button, canvas, summary, a[href]").count()
        seen = set()
        for _ in range(3 * wanted):
            page.keyboard.press("Tab")
            seen.add(
                page.evaluate(
                    "[...document.querySelectorAll('button, canvas, summary, a[href]')].indexOf(document.activeElement)"
                )
            )
            if len(seen - {-1}) == wanted:
                return
    raise AssertionError(f"{len(seen - {-1})} of {wanted} were reached")
