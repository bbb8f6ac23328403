"""A test that breaks the CUDA context must not fail the tests after it.

After a fault on the device every call of the process fails, until it ends. Such tests are followers, and their reports show this; with
--gpudx-isolate they run in a fresh process instead: all that are left in one, and those after the next broken context in another. With
pytest-xdist each worker does this for itself. CUDA only.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudx.lab.aside import run_quietly
from gpudx.text import plural

REPORTS = "GPUDX_PYTEST_REPORTS"  # in the fresh process: the file for its reports
# Errors that only the end of the process takes away (CUDA driver API reference, CUresult: "the process must be terminated").
STICKY = frozenset((214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721))
FOLLOWER = "The CUDA context was already broken when this test began, in or before {name}: this test could not pass."
DIED = "The fresh process ended while this test ran ({how})."


def broken() -> bool:
    """Is the calling thread's CUDA context unusable? Nothing is loaded or started to find out."""
    try:
        driver: Any = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
        context, free, all_ = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        if driver.cuCtxGetCurrent(ctypes.byref(context)) or not context.value:
            return False
        return driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(all_)) in STICKY
    except (OSError, AttributeError):
        return False  # the program has no driver


class Isolation:
    """Looks before each test."""

    def __init__(self, config: pytest.Config, isolate: bool, is_broken: Callable[[], bool] = broken) -> None:
        self._config, self._isolate, self._is_broken = config, isolate, is_broken
        self._broken_since = ""  # the last test that began in a sound context
        self._last = ""
        self._reports: dict[str, list[Any]] = {}
        self.followers: list[str] = []
        self.processes = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not self._broken_since and self._last and self._is_broken():
            self._broken_since = self._last
        self._last = item.nodeid
        if not self._broken_since:
            return None
        self.followers.append(item.nodeid)
        if not self._isolate:
            return None
        self._replay(item)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report = yield
        if report.failed and self._broken_since and not self._isolate:
            report.sections.append(("gpudx", FOLLOWER.format(name=self._broken_since)))
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.followers:
            return
        terminalreporter.section("gpudx: broken CUDA context")
        fresh = f"ran in {plural(self.processes, 'fresh process', 'fresh processes')}"
        ran = f"{plural(len(self.followers), 'test')} {fresh if self._isolate else 'began after that'}"
        terminalreporter.write_line(f"The CUDA context was broken in or before {self._broken_since}; {ran}.")
        if not self._isolate:
            terminalreporter.write_line("Their failures say nothing about their own code: run again with --gpudx-isolate.")

    # ---- fresh processes ----

    def _replay(self, item: pytest.Item) -> None:
        """What the fresh process reported of this test, as if it had run here."""
        if item.nodeid not in self._reports:
            self._run_from(item)
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in self._reports.pop(item.nodeid):
            hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=self._config, data=data))
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _run_from(self, item: pytest.Item) -> None:
        """Runs this test and those after it in a fresh process, which ends when its context breaks, too."""
        items = item.session.items
        left = [one.nodeid for one in items[items.index(item) :]]
        with tempfile.TemporaryDirectory() as folder:
            reports = Path(folder, "reports")
            reports.touch()
            status = _start(self._config, left, reports)
            self.processes += 1
            for line in reports.read_text().splitlines():
                nodeid, data = json.loads(line)
                self._reports.setdefault(nodeid, []).append(data)
        ended = {name for name, found in self._reports.items() if any(one.get("when") == "teardown" for one in found)}
        self._reports = {name: self._reports[name] for name in ended}
        stopped = next((one for one in left if one not in ended), None)
        if stopped is not None and (stopped == item.nodeid or status < 0):  # else it was only not run yet
            self._reports[stopped] = [_lost(self._config, item, stopped, _how(status))]


def _start(config: pytest.Config, tests: list[str], reports: Path) -> int:
    """Like this run, with these tests. Its own output says nothing that the reports do not."""
    plugins = [f"-p{name}" for name in config.getoption("plugins", []) or []]
    words = [sys.executable, "-m", "pytest", *plugins, "-q", "--gpudx-isolate"]
    words += ["-p", "no:cacheprovider", f"--rootdir={config.rootpath}", *(["-c", str(config.inipath)] if config.inipath else []), *tests]
    return run_quietly(words, {**os.environ, REPORTS: str(reports)}, config.rootpath)


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"


def _lost(config: pytest.Config, item: pytest.Item, nodeid: str, how: str) -> Any:
    report = pytest.TestReport(nodeid, item.location, {}, "failed", DIED.format(how=how), "call")
    return config.hook.pytest_report_to_serializable(config=config, report=report)


class Reporting:
    """In the fresh process: each report goes to the file, and a broken context ends it."""

    def __init__(self, config: pytest.Config, is_broken: Callable[[], bool] = broken) -> None:
        self._config, self._is_broken = config, is_broken

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with open(os.environ[REPORTS], "a") as out:
            out.write(json.dumps([report.nodeid, data]) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        result = yield
        if self._is_broken():
            item.session.shouldstop = "the CUDA context is broken"
        return result
