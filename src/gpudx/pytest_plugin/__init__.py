"""pytest --gpudx: GPU errors are pinned to the test that made them, not to the one that noticed.

pytest is started again with the recorder in it (docs/decisions/011 says why), and each test marks its part of the record. A
test that fails gets a section with what the record says; at the end the faults of all tests are told, those of tests that
passed too. Workers of pytest-xdist are recorded as what they are, children.

The marker gpu_serial, with or without --gpudx: such tests run one at a time, whatever workers there are.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpudx.pytest_plugin.live import Told

DIRECTORY = "GPUDX_DIR"  # as gpudx.lab.environment has it; not imported, for the sake of those who do not use us
LOOKS = 20  # failing tests after which the record is read; later ones have the summary
SHOWN = 3  # faults in the section of a test
NAMED = 5  # tests that a fault may be of
LONGEST = 4096  # bytes of a name that the recorder keeps
SERIAL = "gpu_serial"

Mark = Callable[[bool, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpudx", "gpudx: why GPU tests fail")
    group.addoption("--gpudx", action="store_true", help="Record the tests and report which of them caused a GPU error.")
    group.addoption("--gpudx-case", metavar="DIR", help="Write the case to DIR. [./gpudx-cases/...]")
    group.addoption(
        "--gpudx-isolate", action="store_true", help="After a test breaks the CUDA context, run the others in a fresh process."
    )
    group.addoption("--gpudx-strict", action="store_true", help="Fail the run if a passing test caused a GPU error.")


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before pytest takes the output over
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    options = early_config.known_args_namespace
    if (options.gpudx_strict or options.gpudx_case) and not options.gpudx:
        option = "--gpudx-strict" if options.gpudx_strict else "--gpudx-case"
        raise pytest.UsageError(f"{option} does nothing without --gpudx, which records the tests: add --gpudx.")
    if options.gpudx and DIRECTORY not in os.environ:
        _start_again(early_config, options.gpudx_case)
    return (yield)


def _start_again(config: pytest.Config, case: str | None) -> None:
    from gpudx.errors import UserError
    from gpudx.lab.again import under_recorder

    if list(config.invocation_params.args) != sys.argv[1:]:
        raise pytest.UsageError(
            "--gpudx: pytest was started from inside a program: start that with `gpudx run -- ...`."
        )
    try:
        under_recorder(Path(case) if case else None)
    except UserError as error:
        raise pytest.UsageError(f"--gpudx: {error}") from None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{SERIAL}: no other test with this marker runs at the same time, in any worker")
    if config.getoption("gpudx"):
        config.pluginmanager.register(Pinning(config, marker()), "gpudx-pinning")
    if config.getoption("gpudx") or config.getoption("gpudx_isolate"):
        from gpudx.pytest_plugin import isolation

        fresh = isolation.REPORTS in os.environ
        plugin = isolation.Reporting(config) if fresh else isolation.Isolation(config, config.getoption("gpudx_isolate"))
        config.pluginmanager.register(plugin, "gpudx-isolation")


def marker() -> Mark | None:
    """The recorder's own function, None where it is not loaded."""
    try:
        function: Any = ctypes.CDLL(None).gpudx_mark
    except (AttributeError, OSError):
        return None
    function.argtypes, function.restype = [ctypes.c_int, ctypes.c_char_p], None
    return lambda begins, name: function(begins, _bytes(name))


class Pinning:
    """What a recorded run does beside running."""

    def __init__(self, config: pytest.Config, mark: Mark | None) -> None:
        self._mark = mark
        self._folder = Path(os.environ.get(DIRECTORY, ""))
        self._worker = hasattr(config, "workerinput")
        self._strict = bool(config.getoption("gpudx_strict"))
        self._looks = 0
        self._known: set[str] = set()
        self._found: list[Told] = []
        self._suppressed: list[str] = []
        self._problem = "" if mark else "the recorder is not loaded: nothing was recorded"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The part of the record that is this test's."""
        if self._mark:
            self._mark(True, item.nodeid)
        try:
            return (yield)
        finally:
            if self._mark:
                self._mark(False, item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report = yield
        if report.failed and self._mark and self._looks < LOOKS:
            self._looks += 1
            here = _as_told(item.nodeid)
            lines = [_sentence(one, here) for one in self._news(here)]
            if lines:
                report.sections.append(("gpudx", "\n".join(lines)))
        return report

    def _news(self, here: str) -> list[Told]:
        """Faults of this test, and those that no earlier test was told: an old fault is not to blame for every failure."""
        found = [one for one in self._look(True, os.getpid()) if here in one.made_in or one.fault not in self._known]
        self._known.update(one.fault for one in found)
        return found[:SHOWN]

    def _look(self, failed: bool, pid: int | None = None) -> list[Told]:
        """What the record says. A bug of ours must not become one of the tests."""
        try:
            from gpudx.pytest_plugin.live import look

            found, self._suppressed = look(self._folder, failed, pid)
            return found
        except Exception:
            self._problem = "reading the trace failed, which is a bug in gpudx: " + traceback.format_exc(limit=-1)
            return []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._worker or not self._mark:
            return
        self._found = self._look(session.exitstatus != 0)
        if self._strict and self._found and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        if self._found or self._problem:
            terminalreporter.section("gpudx: GPU faults by test")
        for one in self._found:
            write(f"{_where(one)}: {one.verdict}")
            write(f"    {one.sentence}")
        if self._problem:
            write(f"gpudx: {self._problem}")
        if self._mark and not self._worker:
            for note in self._suppressed:
                write(f"gpudx: {_as_told(note)}")
            write(f"gpudx: {'' if self._found else 'no fault found; '}case: {self._folder.parent}")


def _as_told(name: str) -> str:
    """A test's name as the record has it, made harmless."""
    from gpudx.report.safe import clean

    return clean(_bytes(name)[:LONGEST].decode("utf-8", "replace"))


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "backslashreplace")


def _where(one: Told) -> str:
    names = _listed(one.made_in) or "outside the tests"
    noticed = f" (noticed in {one.surfaced_in})" if one.surfaced_in and one.surfaced_in not in one.made_in else ""
    return f"{names if one.certain or not one.made_in else f'perhaps {names}'}{noticed}"


def _sentence(one: Told, here: str) -> str:
    """For the section of the test `here`."""
    if here in one.made_in and len(one.made_in) == 1:
        place = "This test caused it." if one.certain else "Only this test could have caused it."
    elif one.made_in:
        names = _listed(tuple("this test" if name == here else name for name in one.made_in))
        other = ", not in this test; it is not shown that this test failed because of it"
        place = f"It was caused in {names}{'' if here in one.made_in else other}."
    else:
        place = "It was caused outside the tests." if one.certain else "It is not known which test caused it."
    return f"{one.verdict}: {one.sentence} {place}"


def _listed(names: tuple[str, ...]) -> str:
    more = f" or one of {len(names) - NAMED} more" if len(names) > NAMED else ""
    return " or ".join(names[:NAMED]) + more


# ---- one at a time ----


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with _alone() if item.get_closest_marker(SERIAL) else contextlib.nullcontext():
        return (yield)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """A lock that ends with whoever holds it, even if that crashes. For all runs of this user on this machine."""
    path = os.path.join(tempfile.gettempdir(), f"gpudx-gpu-serial-{os.getuid()}.lock")
    lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
