"""Each runner for real: its tests listed, chosen, ordered, run, and its results read, also of a process that dies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gpudx.errors import UserError
from gpudx.flake.runners import Selection, cargo, command, ctest, every, gtest, runner_of
from gpudx.flake.runners import pytest as runner_pytest
from gpudx.flake.runners._junit import read as read_junit

PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
SUITE = """
import os, pytest
def test_good(): pass
def test_bad(): assert 1.5 == pytest.approx(2.5)
class TestGroup:
    @pytest.mark.parametrize("x", ["a", "b::c"])
    def test_inner(self, x): pass
@pytest.mark.skip
def test_skipped(): pass
def test_dies():
    if os.environ.get("DIE"): os.kill(os.getpid(), 11)
"""
OTHER = """
def test_other(): pass
"""


def run(
    runner: ModuleType,
    words: list[str],
    folder: Path,
    tests: tuple[str, ...] | None = None,
    threads: int | None = None,
    **env: str,
) -> object:
    """What a run of this selection gave."""
    selection = Selection(tests, threads, None, folder)
    line = [*runner.start(words, selection), *runner.report(selection)]
    with (folder / "output.txt").open("wb") as out:
        subprocess.run(line, stdout=out, stderr=subprocess.STDOUT, env=os.environ | env, check=False)
    return runner.results(selection, folder / "output.txt")


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "test_one.py").write_text(SUITE)
    (tmp_path / "test_two.py").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts in half the time
    return tmp_path


ALL = [
    "test_one.py::test_good",
    "test_one.py::test_bad",
    "test_one.py::TestGroup::test_inner[a]",
    "test_one.py::TestGroup::test_inner[b::c]",
    "test_one.py::test_skipped",
    "test_one.py::test_dies",
    "test_two.py::test_other",
]


@pytest.mark.parametrize("more", [[], ["-q"], ["-v"], ["-qq"]])
def test_pytest_lists(suite: Path, more: list[str]) -> None:
    assert runner_of(PYTEST) is runner_pytest and runner_of(["py.test"]) is runner_pytest
    assert runner_pytest.tests([*PYTEST, *more]) == ALL


def test_pytest_reads_and_orders(suite: Path) -> None:
    """Ids of several files, interleaved, run in the order given."""
    wanted = (ALL[6], ALL[3], ALL[1], ALL[0])
    found = run(runner_pytest, [*PYTEST, "test_one.py", "-k", "test"], suite, wanted)
    assert found.order == list(wanted)
    assert [found.marks[name] for name in wanted] == [".", ".", "F", "."]
    assert "2.5" in found.texts[ALL[1]]


def test_pytest_whole_suite(suite: Path) -> None:
    found = run(runner_pytest, PYTEST, suite)
    assert "".join(found.marks.get(name, "?") for name in ALL) == ".F..-.."


@pytest.mark.parametrize("more", [[], ["-q"]])
def test_pytest_names_who_was_running(suite: Path, more: list[str]) -> None:
    found = run(runner_pytest, [*PYTEST, *more], suite, DIE="1")
    assert found.running == {ALL[5]} and found.marks[ALL[1]] == "F" and ALL[6] not in found.marks


def test_pytest_many_ids_go_into_a_file(suite: Path) -> None:
    (suite / "test_many.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(300))\ndef test_n(n): assert n != 7\n"
    )
    names = tuple(f"test_many.py::test_n[{n}]" for n in reversed(range(300)))
    found = run(runner_pytest, PYTEST, suite, names)
    assert found.order == list(names) and [n for n, m in found.marks.items() if m == "F"] == ["test_many.py::test_n[7]"]


def test_pytest_from_a_folder_below(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (suite / "pytest.ini").write_text("[pytest]\n")
    (suite / "below").mkdir()
    (suite / "below" / "test_low.py").write_text(OTHER)
    monkeypatch.chdir(suite / "below")
    (name,) = runner_pytest.tests(PYTEST)
    found = run(runner_pytest, PYTEST, suite, (name,))
    assert found.marks == {name: "."}


def test_pytest_threads(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # plugins make the threads
    assert runner_pytest.parallel(PYTEST) in ("threads", "processes")
    one = runner_pytest.start([*PYTEST, "-n", "4"], Selection(None, 1, None, suite))
    assert "4" not in one
    assert runner_pytest.runs_parallel(["pytest", "-n", "4"]) and not runner_pytest.runs_parallel(["pytest", "-n0"])
    found = run(runner_pytest, PYTEST, suite, (ALL[0], ALL[1]), 2)
    assert found.marks[ALL[0]] == "." and found.marks[ALL[1]] == "F"


def test_pytest_that_cannot_be_collected(suite: Path) -> None:
    (suite / "test_one.py").write_text("import nowhere_at_all\n")
    with pytest.raises(UserError, match="cannot list its tests"):
        runner_pytest.tests(PYTEST)


GTEST = r"""
#include <gtest/gtest.h>
#include <csignal>
#include <cstdlib>
TEST(First, Good) {}
TEST(First, Bad) { EXPECT_NEAR(1.5, 2.5, 0.1); }
TEST(First, DISABLED_Off) {}
TEST(Second, Dies) { if (getenv("DIE")) raise(SIGSEGV); }
class Many : public testing::TestWithParam<int> {};
TEST_P(Many, Works) {}
INSTANTIATE_TEST_SUITE_P(Some, Many, testing::Values(1, 2));
"""
GALL = ["First.Good", "First.Bad", "Second.Dies", "Some/Many.Works/0", "Some/Many.Works/1"]


@pytest.fixture(scope="session")
def real_gtest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """googletest itself, where its headers are installed (Debian: libgtest-dev)."""
    place = tmp_path_factory.mktemp("gtest")
    (place / "t.cc").write_text(GTEST)
    line = ["c++", "-o", place / "t", place / "t.cc", "-lgtest", "-lgtest_main", "-lpthread"]
    if not shutil.which("c++") or subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("googletest is not installed")
    return str(place / "t")


def test_gtest(real_gtest: str, tmp_path: Path) -> None:
    assert runner_of([real_gtest]) is gtest
    assert gtest.tests([real_gtest]) == GALL
    found = run(gtest, [real_gtest], tmp_path)
    assert [found.marks[name] for name in GALL] == [".", "F", ".", ".", "."]
    assert "exceeds" in found.texts["First.Bad"]
    some = run(gtest, [real_gtest], tmp_path, ("Second.Dies", "Some/Many.Works/1"))
    assert set(some.marks) == {"Second.Dies", "Some/Many.Works/1"}


def test_gtest_shuffles(real_gtest: str, tmp_path: Path) -> None:
    """The order is not ours, but it is read."""
    orders = set()
    for seed in range(1, 6):
        line = gtest.start([real_gtest], Selection(None, None, seed, tmp_path))
        (tmp_path / "out").write_bytes(subprocess.run(line, capture_output=True, check=False).stdout)
        orders.add(tuple(gtest._printed(tmp_path / "out").order))
    assert len(orders) > 1 and all(set(order) == set(GALL) for order in orders)


def test_gtest_names_who_was_running(real_gtest: str, tmp_path: Path) -> None:
    found = run(gtest, [real_gtest], tmp_path, DIE="1")
    assert found.running == {"Second.Dies"} and found.marks["First.Good"] == "."


CMAKE = """
cmake_minimum_required(VERSION 3.21)
project(t NONE)
enable_testing()
add_test(NAME good COMMAND true)
add_test(NAME "bad.one" COMMAND sh -c "echo difference = 3.5; exit 1")
add_test(NAME crash COMMAND sh -c "kill -SEGV $$")
"""


@pytest.fixture(scope="session")
def cmake(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    if not shutil.which("ctest"):
        pytest.skip("ctest is not installed")
    place = tmp_path_factory.mktemp("cmake")
    (place / "CMakeLists.txt").write_text(CMAKE)
    subprocess.run(["cmake", "-S", place, "-B", place / "b", "-G", "Unix Makefiles"], check=True, capture_output=True)
    return ["ctest", "--test-dir", str(place / "b")]


def test_ctest(cmake: list[str], tmp_path: Path) -> None:
    assert runner_of(cmake) is ctest
    assert ctest.tests(cmake) == ["good", "bad.one", "crash"]
    found = run(ctest, cmake, tmp_path)
    assert (found.marks, found.running) == ({"good": ".", "bad.one": "F", "crash": "F"}, set())
    assert "3.5" in found.texts["bad.one"]
    assert run(ctest, cmake, tmp_path, ("bad.one", "good"), 2).marks == {"good": ".", "bad.one": "F"}


RUST = """
#[test] fn good() {}
#[test] fn bad() { assert_eq!(1.5, 2.5); }
#[test] #[ignore] fn left_out() {}
mod inner { #[test] fn panics() { panic!("expected 3.6, got 0.8"); }
            #[test] fn dies() { if std::env::var("DIE").is_ok() { std::process::abort(); } } }
"""


@pytest.fixture(scope="session")
def rust(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A crate without dependencies; nothing is fetched."""
    if not shutil.which("cargo"):
        pytest.skip("cargo is not installed")
    place = tmp_path_factory.mktemp("rust")
    (place / "src").mkdir()
    (place / "src" / "lib.rs").write_text(RUST)
    (place / "Cargo.toml").write_text('[package]\nname = "t"\nversion = "0.1.0"\nedition = "2021"\n')
    words = ["cargo", "test", "--offline", "--lib", "--manifest-path", str(place / "Cargo.toml")]
    if subprocess.run([*words, "--no-run"], capture_output=True, check=False).returncode:
        pytest.skip("cargo cannot build here")
    return words


def test_cargo(rust: list[str], tmp_path: Path) -> None:
    assert runner_of(rust) is cargo
    assert sorted(cargo.tests(rust)) == ["bad", "good", "inner::dies", "inner::panics", "left_out"]
    found = run(cargo, rust, tmp_path)
    assert found.marks == {"good": ".", "bad": "F", "inner::panics": "F", "inner::dies": ".", "left_out": "-"}
    assert "left: 1.5" in found.texts["bad"] and "0.8" in found.texts["inner::panics"]
    some = run(cargo, [*rust, "--", "--test-threads=4"], tmp_path, ("good", "bad"), 1)
    assert some.marks == {"good": ".", "bad": "F"}


def test_cargo_names_who_was_running_in_one_thread(rust: list[str], tmp_path: Path) -> None:
    found = run(cargo, rust, tmp_path, None, 1, DIE="1")
    assert found.running == {"inner::dies"} and found.marks["good"] == "."


def test_cargo_in_parallel_says_only_that_it_died(rust: list[str], tmp_path: Path) -> None:
    """Who was running is not told; that a process died is, although cargo itself ends with an ordinary status."""
    found = run(cargo, rust, tmp_path, None, 4, DIE="1")
    assert found.died and "inner::dies" not in found.marks
    assert not run(cargo, rust, tmp_path, ("good",), 4).died


def test_anything_else_is_one_test(tmp_path: Path) -> None:
    assert runner_of(["/bin/sh", "-c", "true"]) is command and command.tests(["true"]) == [command.NAME]


def test_every_runner_says_what_it_is() -> None:
    parts = (
        "ID",
        "ORDERED",
        "SHARES_PROCESS",
        "fits",
        "tests",
        "start",
        "report",
        "results",
        "runs_parallel",
        "parallel",
        "mitigations",
    )
    for runner in every().values():
        assert runner.__doc__ and all(hasattr(runner, part) for part in parts)


def test_a_torn_report_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text('<testsuites><testsuite><testcase name="a"')
    assert list(read_junit(tmp_path / "r.xml")) == [] and list(read_junit(tmp_path / "none.xml")) == []
