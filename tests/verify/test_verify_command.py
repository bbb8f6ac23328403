"""gpudx verify with real programs: a program in C that fails in a planted order, and a real crash of an OpenCL driver.

The n-th run of `flaky NAME PATTERN` does what the n-th letter of PATTERN says, again and again: it counts its runs in
the file NAME. So rates are planted, and every test is the same each time.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import forked

import gpudx
from gpudx import native
from gpudx.demos.incidents import every

FLAKY = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void leave(int number) { (void)number; _exit(0); }

int main(int count, char **words)
{
    signal(SIGINT, leave); // a program that takes an interruption for a good end
    int n = 0;
    FILE *file = fopen(words[1], "r");
    if (file && fscanf(file, "%d", &n) != 1)
        return 99;
    if (file)
        fclose(file);
    file = fopen(words[1], "w");
    fprintf(file, "%d", n + 1);
    fclose(file);
    char letter = words[2][n % strlen(words[2])];
    printf("run %d of %s: %c %s\n", n, words[1], letter, getenv("MARK") ? getenv("MARK") : "");
    fflush(stdout);
    if (letter == 'h')
        pause();
    if (letter == 's')
        abort();
    if (count > 3)
        usleep(200000);
    return letter == '.' ? 0 : letter - '0';
}
"""
HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build/native/libgpudx.so"
Verify = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def flaky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("flaky")
    (place / "flaky.c").write_text(FLAKY)
    subprocess.run(["cc", "-o", place / "flaky", place / "flaky.c"], check=True)
    return place / "flaky"


@pytest.fixture
def environment() -> dict[str, str]:
    if "GPUDX_LIB" not in os.environ and not (native.PACKAGED / "libgpudx.so").is_file() and not BUILT.is_file():
        pytest.skip("the recorder is not built")
    own = {} if (native.PACKAGED / "libgpudx.so").is_file() or "GPUDX_LIB" in os.environ else {"GPUDX_LIB": str(BUILT)}
    return {**os.environ, **own, "PYTHONPATH": str(Path(gpudx.__file__).parents[1])}


@pytest.fixture
def verify(environment: dict[str, str], flaky: Path, tmp_path: Path) -> Verify:
    """verify("1", ".", "1", "--json"): patterns before, after and reverted ("": not), then options."""

    def call(before: str, after: str, revert: str, *options: str) -> subprocess.CompletedProcess[str]:
        patterns = {"before": before, "after": after, "revert": revert}
        asked = [w for name, p in patterns.items() if p for w in (f"--{name}", f"{flaky} {name} {p}")]
        return run(environment, tmp_path, *asked, "--case", "case", *options)

    return call


def run(environment: dict[str, str], place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.gpudx("verify", *words, cwd=place, env=environment, timeout=240)


def state(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "case/verify.json").read_text())
    return found


def test_a_fix(verify: Verify, tmp_path: Path, environment: dict[str, str]) -> None:
    done = verify("3.", ".", ".3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("gpudx: A FIX\n")
    assert "condition  failed" in done.stdout and "revert     7 of " in done.stdout
    assert "before, round 1: The program exited with status 3" in done.stderr
    assert "  | run 0 of before: 3" in done.stderr
    kept = state(tmp_path)
    assert kept["judgement"]["answer"] == "a fix"
    assert (tmp_path / "case/runs/0001-after/output.txt").read_text() == "run 0 of after: . \n"
    assert (tmp_path / "case/runs/0001-after/traces").is_dir()
    assert not (tmp_path / "case/runs/0005-after/traces").exists()
    for form in ("terminal", "junit"):
        shown = forked.gpudx("report", "case", "-f", form, cwd=tmp_path, env=environment)
        assert shown.returncode == 0 and "A FIX" in shown.stdout, shown.stderr


def test_runs_take_turns_in_an_order_drawn_by_lot(verify: Verify, tmp_path: Path) -> None:
    verify("3", ".", "3")
    told = [(t["round"], t["condition"]) for t in state(tmp_path)["trials"]]
    assert [number for number, _ in told] == [n for n in range(1, 8) for _ in range(3)]
    assert all({c for n, c in told if n == number} == {"before", "after", "revert"} for number in range(1, 8))
    assert len({tuple(c for n, c in told if n == number) for number in range(1, 8)}) > 1


@pytest.mark.parametrize(
    ("before", "after", "revert", "options", "status", "says"),
    [
        ("3", "3", "", (), 1, "A PLACEBO"),
        ("3", "3.........", "", (), 1, "MITIGATES"),
        ("3", ".", ".", (), 1, "NOT SHOWN TO BE THE CAUSE"),
        ("3", "4", "3", (), 2, "ANOTHER FAILURE"),
        ("s", "4", "", (), 2, "ANOTHER FAILURE"),
        ("...........3", ".", "", ("--runs", "12"), 2, "INCONCLUSIVE"),
        (".", ".", "", ("--runs", "8"), 2, "INCONCLUSIVE"),
        ("h", ".", "", ("--timeout", "0.2", "--confidence", "80"), 0, "A FIX"),
        ("s", ".", "", ("--confidence", "95"), 0, "A FIX"),
    ],
)
def test_answers(
    verify: Verify, before: str, after: str, revert: str, options: tuple[str, ...], status: int, says: str
) -> None:
    done = verify(before, after, revert, *options)
    assert (done.returncode, done.stdout.splitlines()[0]) == (status, f"gpudx: {says}"), done.stderr


def test_what_cannot_be_told_says_what_it_would_take(verify: Verify) -> None:
    done = verify(".....3", ".", "", "--runs", "12")
    assert "7 rounds that fail before and pass after are needed" in " ".join(done.stdout.split())
    assert "in 2 of 12 runs" in done.stdout and "about 42 rounds" in " ".join(done.stdout.split()), done.stdout


def test_a_budget_ends_it(verify: Verify) -> None:
    done = verify(".", ".", "", "--budget", "1")
    assert done.returncode == 2 and "INCONCLUSIVE" in done.stdout


def test_a_run_that_the_budget_ends_is_not_a_failure(verify: Verify, tmp_path: Path) -> None:
    done = verify("h", ".", "", "--budget", "2")
    assert done.returncode == 2 and "with --timeout TIME a hang is a failure" in " ".join(done.stdout.split())
    assert all(t["condition"] == "after" for t in state(tmp_path)["trials"])


def test_more_runs_than_needed(verify: Verify, tmp_path: Path) -> None:
    done = verify("3", ".", "", "--at-least", "9")
    assert done.returncode == 0 and "0 of 9" in done.stdout


def test_json(verify: Verify) -> None:
    told = json.loads(verify("3", "3", "", "--json").stdout)
    assert (told["schema"], told["judgement"]["answer"]) == ("gpudx.verify/1", "a placebo")
    assert told["judgement"]["counts"][0]["condition"] == "before"


def test_variables_in_front_and_scripts(environment: dict[str, str], flaky: Path, tmp_path: Path) -> None:
    (tmp_path / "fails").write_text(f"{flaky} b 3\n")
    (tmp_path / "fails").chmod(0o755)
    words = ("--before", "./fails", "--after", f"MARK='x y' {flaky} a .", "--case", "case")
    assert run(environment, tmp_path, *words).returncode == 0
    assert (tmp_path / "case/runs/0001-after/output.txt").read_text() == "run 0 of a: . x y\n"


def test_what_cannot_be_started_is_not_a_pass(environment: dict[str, str], flaky: Path, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\nno-such-tool\n")
    (tmp_path / "script").chmod(0o755)
    done = run(environment, tmp_path, "--before", f"{flaky} b 3", "--after", "./script", "--case", "case")
    assert done.returncode == 2
    assert "--after ended with status 127" in done.stderr and "no-such-tool" in done.stderr
    assert "0 of 0" in done.stdout
    done = run(environment, tmp_path, "--before", f"{flaky} b 3", "--after", "./nothing")
    assert done.returncode == 2 and "./nothing: no such file" in done.stderr
    assert not (tmp_path / "gpudx-cases").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--before", "true"), "Two commands are needed"),
        (("--before", "true", "--after", "true"), "the same command"),
        (("--before", "true '", "--after", "false"), "quote it as for a shell"),
        (("--before", "false", "--after", "true", "--confidence", "100"), "from 50 to 99.9999"),
        (("--before", "false", "--after", "true", "--runs", "3"), "7 runs of each command are needed"),
        (("--resume", "nowhere"), "There is no verification in"),
        (("--resume", "nowhere", "--before", "true"), "leave --before"),
    ],
)
def test_mistakes(environment: dict[str, str], tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = run(environment, tmp_path, *words)
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_an_interruption_keeps_what_was_learned(environment: dict[str, str], flaky: Path, tmp_path: Path) -> None:
    """The program takes SIGINT for a good end: the run that it falls into must not be counted as a pass."""
    asked = ["--before", f"{flaky} b 3 slow", "--after", f"{flaky} a . slow", "--case", "case"]
    child = forked.start("verify", *asked, cwd=tmp_path, env=environment)
    wait_for(tmp_path / "case/runs/0003-before/output.txt")
    child.send_signal(signal.SIGINT)
    out, said = child.communicate(timeout=60)
    assert child.returncode == 2 and "--resume" in said and "condition" in out, said
    kept = state(tmp_path)["trials"]
    assert 4 <= len(kept) < 14
    done = run(environment, tmp_path, "--resume", "case")
    assert done.returncode == 0, done.stderr
    told = state(tmp_path)["trials"]
    assert told[: len(kept)] == kept
    assert sorted((t["round"], t["condition"]) for t in told) == [
        (n, c) for n in range(1, 8) for c in ("after", "before")
    ]
    assert all((t["ending"] == "passed") == (t["condition"] == "after") for t in told)


def test_control_c_at_a_terminal(environment: dict[str, str], flaky: Path, tmp_path: Path) -> None:
    """The terminal gives the signal to the program too, which takes it for a good end; the progress line is one line."""
    asked = ["--before", f"{flaky} b 3 slow", "--after", f"{flaky} a h", "--case", "case"]
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-m", "gpudx", "verify", *asked], environment)
    wait_for(tmp_path / "case/runs/0001-after/output.txt")  # it waits for ever
    os.write(master, b"\x03")
    text = b""
    with contextlib.suppress(OSError):
        while more := os.read(master, 4096):
            text += more
    os.close(master)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert b"\r\x1b[Kgpudx: round 1, " in text and b"to continue: gpudx verify --resume" in text
    assert all(t["condition"] == "before" for t in state(tmp_path)["trials"])


def wait_for(path: Path) -> None:
    limit = time.monotonic() + 60
    while not (path.is_file() and path.stat().st_size):
        assert time.monotonic() < limit, f"{path} never came"
        time.sleep(0.01)


def test_a_program_that_was_changed_is_not_gone_on_with(
    environment: dict[str, str], flaky: Path, tmp_path: Path
) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_bytes(flaky.read_bytes())
        (tmp_path / name).chmod(0o755)
    words = ("--before", "./old b 3", "--after", "./new a .", "--case", "case", "--budget", "0.001")
    done = run(environment, tmp_path, *words)
    assert done.returncode == 2 and "the same file, byte for byte" in done.stderr
    (tmp_path / "new").write_bytes(flaky.read_bytes() + b"\n")
    done = run(environment, tmp_path, "--resume", "case")
    assert done.returncode == 2 and "The program of --after was changed" in done.stderr


def test_a_static_program_is_judged_by_its_exit_status(environment: dict[str, str], tmp_path: Path) -> None:
    """The recorder cannot be in it; the exit status needs none."""
    (tmp_path / "a.c").write_text("int main(int n, char **w) { (void)w; return n - 1; }")
    subprocess.run(["cc", "-static", "-o", tmp_path / "app", tmp_path / "a.c"], check=True)
    done = run(environment, tmp_path, "--before", "./app x", "--after", "./app", "--case", "case")
    assert done.returncode == 0, done.stderr


def test_help_has_an_example(environment: dict[str, str], tmp_path: Path) -> None:
    assert (
        "gpudx verify --before ./old --after ./new --revert ./new-undone" in run(environment, tmp_path, "--help").stdout
    )


@pytest.fixture(scope="session")
def incident(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, tuple[Path, dict[str, str]]]:
    """The program with the fault, and its twin without, built as `gpudx demo` builds them."""
    from gpudx.cli.demo import build_incident

    place, known = tmp_path_factory.mktemp("incident"), every()["opencl-set-rows-q4_0"]
    built = {twin: build_incident(known, place / str(twin), twin) for twin in (False, True)}
    return {twin: (one.program, one.environment) for twin, one in built.items()}


def test_a_real_crash_and_its_real_fix(
    incident: dict[bool, tuple[Path, dict[str, str]]], environment: dict[str, str], tmp_path: Path
) -> None:
    """On PoCL, a real OpenCL driver: known by its diagnosis, which names the argument."""
    (fault, more), (twin, _) = incident[False], incident[True]
    words = ("--before", str(fault), "--after", str(twin), "--revert", f"REVERTED=1 {fault}", "--case", "case")
    done = run({**environment, **more}, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert "which is the byte size of buffer" in " ".join(done.stdout.split())
    assert all(t["faults"] for t in state(tmp_path)["trials"] if t["condition"] != "after")


@pytest.mark.slow
def test_a_real_crash_and_a_placebo(
    incident: dict[bool, tuple[Path, dict[str, str]]], environment: dict[str, str], tmp_path: Path
) -> None:
    """The program is told to ignore its death: it ends well, and the fault is still in the record."""
    fault, more = incident[False]
    (tmp_path / "hushed").write_text(f"#!/bin/sh\n{fault} || true\n")
    (tmp_path / "hushed").chmod(0o755)
    done = run({**environment, **more}, tmp_path, "--before", str(fault), "--after", "./hushed", "--case", "case")
    assert done.returncode == 1 and done.stdout.startswith("gpudx: A PLACEBO"), done.stdout + done.stderr
    assert "the same fault is in the record" in " ".join(done.stdout.split())
