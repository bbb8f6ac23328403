"""A headless Chromium that a report is opened in, where there is one: Debian's package, driven by playwright."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support.simulated import crossed

PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
DARK = {"scheme": "dark"}
NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without the sandbox, which containers refuse; pages here are our own.
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def program() -> str | None:
    return os.environ.get("GPUDX_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def looks(*sizes: dict[str, Any]) -> list[dict[str, Any]]:
    """Light and dark, and each of these sizes."""
    return [{**size, **scheme} for size, scheme in crossed(sizes, ({}, DARK))]


def missing() -> str | None:
    """Why no page can be opened here; None if one can."""
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return None if program() else f"no browser here ({', '.join(NAMES)})"


@contextmanager
def opened(path: Path, width: int = 1200, height: int = 900, scheme: str = "light", **more: Any) -> Iterator[Any]:
    """A page with a file; `page.seen` has every request, message, error and dialog of it."""
    look = {"viewport": {"width": width, "height": height}, "color_scheme": scheme, **more}
    with contextlib.nullcontext(_kept) if _kept else _one() as browser:
        page = browser.page(look)
        page.goto(path.resolve().as_uri())
        yield page


_kept: _Browser | None = None


@contextmanager
def kept() -> Iterator[None]:
    """One browser for all pages that are opened in here: it takes longer to start than a page to open. For a module of tests, and not
    longer: while it runs, asyncio has a loop in this thread."""
    global _kept
    with _one() as _kept:
        try:
            yield
        finally:
            _kept = None


class _Browser:
    """One page for each look: a file is loaded into it in a third of the time that a new one takes."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._pages: dict[str, Any] = {}

    def page(self, look: dict[str, Any]) -> Any:
        """Empty, as if nobody had used it."""
        key = repr(sorted(look.items()))
        if key not in self._pages:
            self._pages[key] = self._browser.new_context(**look).new_page()
            self._pages[key].seen = watch(self._pages[key])
        page = self._pages[key]
        page.mouse.move(0, 0)
        page.goto("about:blank")
        for what in page.seen.values():
            what.clear()
        return page


@contextmanager
def _one() -> Iterator[_Browser]:
    with _started() as browser:
        yield _Browser(browser)


@contextmanager
def _started() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def watch(page: Any) -> dict[str, list[str]]:
    seen: dict[str, list[str]] = {"requests": [], "messages": [], "errors": [], "dialogs": [], "blocked": []}
    page.on("request", lambda request: seen["requests"].append(request.url))
    page.on("requestfailed", lambda request: seen["blocked"].append(f"{request.url}: {request.failure}"))
    page.on("console", lambda message: seen["messages"].append(message.text))
    page.on("pageerror", lambda error: seen["errors"].append(str(error)))
    page.on("dialog", lambda dialog: (seen["dialogs"].append(dialog.message), dialog.dismiss()))
    return seen
