"""A pytest plugin that writes down each outcome when it is known: pytest's own reports are lost when the process dies."""

from __future__ import annotations

import json
import os

import pytest


def _write(name: str, outcome: str) -> None:
    with open(os.environ["OUTCOMES_FILE"], "a") as file:
        file.write(json.dumps([name, outcome]) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    _write(nodeid, "")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _write(report.nodeid, "error" if report.failed and report.when != "call" else report.outcome)
