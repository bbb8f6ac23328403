"""The runner of Catch2 with a real binary: Debian's catch2, version 2. Version 3 is not tested here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpudx.flake.runners import Selection, catch2, runner_of

SOURCE = r"""
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
TEST_CASE("passes", "[fast]") { REQUIRE(1 == 1); }
TEST_CASE("odd, [x] \"y\"") { SECTION("one") { CHECK(true); } SECTION("two") { CHECK(true); } }
TEST_CASE("fails") { SECTION("inside") { CHECK(3 == 4); } }
TEST_CASE("dies") { if (getenv("DIE")) raise(SIGSEGV); if (getenv("GONE")) raise(SIGKILL); }
TEST_CASE("last") { CHECK(true); }
TEST_CASE("hidden", "[.]") { CHECK(false); }
"""
ODD = 'odd, [x] "y"'
NAMES = ["passes", ODD, "fails", "dies", "last"]


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    place = tmp_path_factory.mktemp("catch2")
    (place / "t.cpp").write_text(SOURCE)
    command = [compiler, "-O0", "t.cpp", "-o", "t", "-lCatch2WithMain"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no Catch2 2 here: {done.stderr.splitlines()[0]}")
    return place / "t"


def marks(binary: Path, folder: Path, tests: tuple[str, ...] | None = None, seed: int | None = None, **env: str) -> str:
    selection = Selection(tests, None, seed, folder)
    words = [*catch2.start([str(binary)], selection), *catch2.report(selection)]
    subprocess.run(words, check=False, capture_output=True, env={**os.environ, **env})
    found = catch2.results(selection, folder / "output.txt")
    running = "".join(f" {name}?" for name in found.running)
    return " ".join(f"{name}{found.marks[name]}" for name in found.order if name in found.marks) + running


def test_it_is_known_and_lists(binary: Path) -> None:
    assert runner_of([str(binary)]) is catch2 and catch2.tests([str(binary)]) == NAMES
    assert runner_of(["/bin/sh"]) is not catch2


def test_results(binary: Path, tmp_path: Path) -> None:
    assert marks(binary, tmp_path) == f"passes. {ODD}. failsF dies. last."
    found = catch2.results(Selection(None, None, None, tmp_path), tmp_path / "output.txt")
    assert found.texts == {"fails": "t.cpp:7: 3 == 4, with expansion 3 == 4"}


def test_some_of_them(binary: Path, tmp_path: Path) -> None:
    assert marks(binary, tmp_path, (ODD, "last")) == f"{ODD}. last."


def test_an_order_drawn_by_lot(binary: Path, tmp_path: Path) -> None:
    orders = {marks(binary, tmp_path, seed=seed) for seed in range(1, 6)}
    assert len(orders) > 1 and {" ".join(sorted(one.split())) for one in orders} == {
        " ".join(sorted(f"passes. {ODD}. failsF dies. last.".split()))
    }


def test_a_process_that_dies(binary: Path, tmp_path: Path) -> None:
    """Of a signal that Catch2 tells of, and of one that nobody can: then the test had begun, and no more is known."""
    assert marks(binary, tmp_path, DIE="1") == f"passes. {ODD}. failsF diesC"
    assert marks(binary, tmp_path, GONE="1").startswith(f"passes. {ODD}. failsF")
