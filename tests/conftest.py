"""Shared by all tests: the helpers in tests/support, and OpenCL programs under the recorder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support import browser, builds
from support import opencl as opencl_programs
from support.simulated import SLOW


def _as_at_a_terminal() -> None:
    """Runners that start us in the background leave SIGHUP, SIGINT or SIGQUIT ignored, which every child inherits; the
    tests are about programs for which these signals do something."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_as_at_a_terminal()
# A loaded machine is slow, which is no failure: pytest-timeout catches what hangs.
settings.register_profile("gpudx", deadline=None, max_examples=100 if SLOW else 30, derandomize=not SLOW)
settings.load_profile("gpudx")
os.environ.setdefault("GPUDX_RAISE", "1")  # a bug in one part of the analysis fails a test, although users get the rest
os.environ.setdefault("GPUDX_CASES", "none")  # the list of cases of whoever runs the tests stays as it is


@pytest.fixture(scope="session")
def shared() -> Path:
    """Where everything is built that several tests need; kept for later runs."""
    return builds.shared_folder()


@pytest.fixture(scope="session")
def opencl(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> opencl_programs.OpenCL:
    """Compiles and records small OpenCL programs."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc)")
    return opencl_programs.make(tmp_path_factory.mktemp("opencl"), shared)


@pytest.fixture(scope="session")
def schema(shared: Path) -> str:
    """The schema text that the recorder of this checkout writes into its traces."""
    return (builds.generated(shared) / "schema.json").read_text()


@pytest.fixture(scope="module")
def one_browser() -> Iterator[None]:
    """All pages that a module opens are of one browser."""
    with browser.kept():
        yield


# What compiles or runs a program, by fixture, folder and file: `make check` leaves it out.
COMPILING = {"careful", "fake_recorder", "gpu", "kit", "on_gpu", "opencl", "platform", "recorder"}
FOLDERS = {"bisect", "cuda", "hip", "lab", "native", "pytest_plugin"}
FILES = {
    "api/test_api.py", "capsule/test_capsules.py", "cli/test_build.py", "cli/test_cases.py", "cli/test_demo.py", "cli/test_doctor.py",
    "cli/test_run.py", "cli/test_run_fenced.py", "cli/test_run_poisoned.py", "cli/test_run_sanitized.py",
    "cli/test_run_watched.py", "detectors/test_intel.py", "diagnose/test_asked.py", "evidence/test_builds.py",
    "evidence/test_code_objects.py", "facts/test_symbols.py", "facts/test_unwind.py", "flake/test_catch2.py",
    "flake/test_flake_command.py", "flake/test_lab_parts.py", "flake/test_ray_engine.py", "flake/test_runners.py",
    "identity/test_around.py", "identity/test_built.py", "identity/test_heard.py", "kernel_checks/test_oclgrind.py",
    "kernel_checks/test_aliased.py", "kernel_checks/test_cut_indexes.py", "kernel_checks/test_grown_counts.py",
    "kernel_checks/test_host_numbers.py",
    "kernel_checks/test_followers.py", "kernel_checks/test_host_structs.py", "kernel_checks/test_image_coordinates.py",
    "kernel_checks/test_loops.py", "kernel_checks/test_partial_launches.py", "kernel_checks/test_rows.py",
    "kernel_checks/test_nan_reasons.py", "kernel_checks/test_neighbours.py", "kernel_checks/test_partial_writes.py",
    "kernel_checks/test_race_reasons.py",
    "kernel_checks/test_reasons.py", "kernel_checks/test_running.py", "models/test_found_models.py", "report/test_html_in_browser.py",
    "ptx_checks/test_register_values.py", "report/test_perfetto.py", "test_ci_examples.py", "test_extend_page.py",
    "test_incidents.py", "test_cases_page.py", "test_origins.py", "test_shared_builds.py", "trace/test_trace_damage.py",
    "verify/test_verify_command.py",
}  # fmt: skip
ANY_DRIVER = {"bisect", "flake", "identity", "diff"}  # what these test is the same on every driver
NO_PROGRAM = {"lab/test_experiments.py", "lab/test_roll.py"}
HERE = Path(__file__).resolve().parent
BUILDING = re.compile(rf"\b({'|'.join(sorted(COMPILING))}|builds)\b")


def _builds_by_place(place: Path) -> bool:
    return str(place) not in NO_PROGRAM and (place.parts[0] in FOLDERS or str(place) in FILES)


def _builds(item: pytest.Item) -> bool:
    place = item.path.relative_to(HERE)
    named = not COMPILING.isdisjoint(getattr(item, "fixturenames", ()))
    return _builds_by_place(place) or (named and str(place) not in NO_PROGRAM)


def _may_build(path: Path) -> bool:
    """By its place, or by a word of its own or of its folder's conftest.py."""
    texts = [one.read_text() for one in (path, path.with_name("conftest.py")) if one.is_file() and one != HERE / "conftest.py"]
    return _builds_by_place(path.relative_to(HERE)) or any(BUILDING.search(text) for text in texts)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file without any test that `make check` or `make test` asks for is not even imported."""
    if not collection_path.name.startswith("test_") or not collection_path.is_relative_to(HERE):
        return None
    wanted = config.option.markexpr
    if wanted.startswith("not builds"):
        return _builds_by_place(collection_path.relative_to(HERE)) or None
    return (wanted.startswith("builds") and not _may_build(collection_path)) or None


def _depends_on_driver(item: pytest.Item) -> bool:
    """Does it run an OpenCL program, in a folder whose subject depends on the driver?"""
    named = getattr(item, "callspec", None)
    fake = named is not None and str(getattr(named.params.get("case"), "program", "")).startswith("cuda")
    return "opencl" in getattr(item, "fixturenames", ()) and item.path.relative_to(HERE).parts[0] not in ANY_DRIVER and not fake


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that take a minute and more are run where they are asked for; one long test must not be the last."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)
    for item in filter(_builds, items):
        item.add_marker("builds")
    if os.environ.get("GPUDX_TEST_OPENCL") == "intel":
        for item in items:
            for mark in item.iter_markers("pocl"):
                item.add_marker(pytest.mark.skip(reason=f"PoCL only: {mark.args[0]}"))
        items[:] = filter(_depends_on_driver, items) if os.environ.get("GPUDX_TEST_PART") else items
    if not SLOW:
        for item in (item for item in items if item.get_closest_marker("slow")):
            item.add_marker(pytest.mark.skip(reason="takes a minute or more: set GPUDX_SLOW=1"))


FAILED: set[Path] = set()  # the folders of tests that failed


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and isinstance(place := getattr(item, "funcargs", {}).get("tmp_path"), Path):
        FAILED.add(place)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """pytest keeps the traces of a whole run, gigabytes, where one test has failed. Of a worker that test's own folder will do;
    tests that are run without workers leave all, for who looks into them."""
    factory = getattr(session.config, "_tmp_path_factory", None)
    if not hasattr(session.config, "workerinput") or factory is None:
        return
    for place in factory.getbasetemp().iterdir():
        if place not in FAILED and place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
