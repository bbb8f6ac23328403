"""What several commands can do has the same name in each of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest
from cli_kit import Gpudx, in_process
from sample_cases import FULL

from gpudx import casefile
from gpudx.cli import make_app
from gpudx.cli.times import EXAMPLES

WITHOUT_JSON = {"completion", "dump"}  # a script for a shell; JSON in any case
MAKES_MANY_RUNS = {"investigate", "flake", "verify", "bisect", "shrink"}
COMMANDS = make_app().commands


def options(name: str) -> set[str]:
    return {word for one in COMMANDS[name].params if isinstance(one, click.Option) for word in one.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command(name: str) -> None:
    assert {"-o", "--output", "-q", "--quiet"} <= options(name)
    assert ("--json" in options(name)) == (name not in WITHOUT_JSON)
    assert ("--budget" in options(name)) == (name in MAKES_MANY_RUNS)


@pytest.mark.parametrize("name", sorted(MAKES_MANY_RUNS))
def test_a_budget_is_a_time_in_one_spelling(name: str, tmp_path: Path) -> None:
    needed = {
        "bisect": ("--good", "a", "--bad", "b", "--build", "true", "--", "true"),
        "verify": ("--before", "true", "--after", "false"),
        "shrink": ("x",),
    }
    done = in_process((name, "--budget", "soon", *needed.get(name, ("--", "true"))), tmp_path, os.environ)
    assert done.returncode == 2 and "is not a time" in done.stderr and EXAMPLES in done.stderr


@pytest.fixture
def case(tmp_path: Path) -> str:
    (tmp_path / "case").mkdir()
    casefile.write(FULL, tmp_path / "case")
    return "case"


def test_a_result_goes_to_a_file(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    """With the exit status of the command, and the same text as on a pipe."""
    (tmp_path / "k.cl").write_text("__kernel void f(__global int *x) { int i; x[i] = 1; if (get_local_id(0) == 0) barrier(1); }\n")
    for words in (("rule", "use-after-free"), ("lint", "k.cl"), ("rule", "--json")):
        printed, kept = gpudx_cli(*words), gpudx_cli(*words, "-o", "out")
        assert (kept.returncode, kept.stdout) == (printed.returncode, "")
        assert (tmp_path / "out").read_text() == printed.stdout
    wrong = gpudx_cli("rule", "-o", "no/such/folder")
    assert wrong.returncode == 2 and "-o FILE" in wrong.stderr


def test_quiet_commands_print_errors_only(gpudx_cli: Gpudx, case: str) -> None:
    done = gpudx_cli("report", case, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wrong = gpudx_cli("report", "nothing", "-q")
    assert wrong.returncode == 2 and "no case at nothing" in wrong.stderr
    assert gpudx_cli("report", case).stdout


def test_json(gpudx_cli: Gpudx, case: str, tmp_path: Path) -> None:
    entries = json.loads(gpudx_cli("rule", "use-after-free", "--json").stdout)
    assert {one["name"] for one in entries} == {"use-after-free"} and all(one["text"] for one in entries)
    (tmp_path / "k.cl").write_text("__kernel void f(__global int *x) { if (get_local_id(0) == 0) barrier(1); }\n")
    found = json.loads(gpudx_cli("lint", "k.cl", "--json").stdout)
    assert [one["id"] for one in found] == ["lint-barrier-in-branch"]
    (tmp_path / "gpudx.toml").write_text("[gate]\nspills = 0\n")
    judged = gpudx_cli("gate", case, "--json")
    assert judged.returncode == 1 and json.loads(judged.stdout)[0]["key"] == "spills"


@pytest.mark.parametrize("name", ["run", "investigate", "flake", "build"])
def test_a_missing_program_is_named_with_an_example(name: str, tmp_path: Path) -> None:
    done = in_process((name,), tmp_path, os.environ)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"`gpudx {name} -- " in done.stderr
