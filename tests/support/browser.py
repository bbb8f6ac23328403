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

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without the sandbox, which containers refuse; pages here are our own.
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def program() -> str | None:
    return os.environ.get("GPUDX_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def missing() -> str | None:
    """Why no page can be opened here; None if one can."""
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return None if program() else f"no browser here ({', '.join(NAMES)})"


@contextmanager
def opened(path: Path, width: int = 1200, height: int = 900, scheme: str = "light", **more: Any) -> Iterator[Any]:
    """A page with a file; `page.seen` has every request, message, error and dialog of it."""
    with contextlib.nullcontext(_kept) if _kept else _started() as browser:
        size: Any = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=scheme, **more)
        try:
            page: Any = context.new_page()
            page.seen = watch(page)
            page.goto(path.resolve().as_uri())
            yield page
        finally:
            context.close()


_kept: Any = None


@contextmanager
def kept() -> Iterator[None]:
    """One browser for all pages that are opened in here: it takes longer to start than a page to open. For a module of tests, and not
    longer: while it runs, asyncio has a loop in this thread."""
    global _kept
    with _started() as _kept:
        try:
            yield
        finally:
            _kept = None


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
