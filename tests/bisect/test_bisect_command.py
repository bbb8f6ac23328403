"""gpudx bisect on small git repositories of programs that run on a real driver (PoCL)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.opencl import OpenCL

import gpudx
from gpudx import casefile
from gpudx.report import render

# The program of every revision: MODE is what a revision changes. Mode 1 releases a buffer that it then uses; mode 2 fails
# otherwise; mode 3 has the fault in about every second run.
SOURCE = """#include "common.h"
#include <time.h>
int main(int argc, char **argv)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    start(argc, argv);
    cl_kernel scale = make_kernel("scale"), copy = make_kernel("copy");
    cl_mem data = filled_buffer(BYTES);
    set_mem(scale, 0, data);
    set_float(scale, 1, 0.5f);
    set_int(scale, 2, 64);
    launch(scale, 64);
    clFinish(queue);
    if (MODE == 2)
        return 7;
    if (MODE == 1 || (MODE == 3 && now.tv_nsec / 1000 % 2))
        set(copy, 2, 8, &data);
    clReleaseMemObject(data);
    clReleaseKernel(scale);
    clReleaseKernel(copy);
    return finish();
}
"""


class Repository:
    """A repository whose revisions differ in one number."""

    def __init__(self, folder: Path, opencl: OpenCL) -> None:
        self.folder, self._opencl = folder, opencl
        folder.mkdir()
        self.git("init", "--quiet", "-b", "main")
        include, tests = opencl.include, Path(__file__).parents[1] / "detectors/programs"
        link = " ".join(opencl.loader.link)
        self.build = f"cc -g -O1 -I{include} -I{tests} -o app app.c {link} -lm"
        (folder / ".gitignore").write_text("app\n")

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, title: str, mode: int, source: str = SOURCE) -> str:
        (self.folder / "app.c").write_text(f"#define MODE {mode}\n// {title}\n{source}")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", title)
        return self.git("rev-parse", "HEAD")

    def bisect(self, good: str, bad: str, *more: str, command: tuple[str, ...] = ("./app",)) -> tuple[int, Any, str]:
        """The exit status, the result, and what was said."""
        words = [
            "--good",
            good,
            "--bad",
            bad,
            "--build",
            self.build,
            "--json",
            "--case",
            str(self.folder.parent / "case"),
        ]
        cache = self._opencl.kernels
        here = Path(gpudx.__file__).resolve().parents[1]  # installed, or the sources
        path = os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])
        env = os.environ | dict(self._opencl.loader.environment) | {"POCL_CACHE_DIR": str(cache), "PYTHONPATH": path}
        done = forked.gpudx("bisect", *words, *more, "--", *command, cwd=self.folder, env=env, timeout=280)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.fixture
def repository(opencl: OpenCL, tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository", opencl)


def test_the_guilty_revision_is_found_and_the_checkout_stays(repository: Repository) -> None:
    """Among the revisions between are one that does not build and one that fails in another way: they are skipped."""
    good = repository.commit("first", 0)
    repository.commit("still fine", 0)
    broken = repository.commit("does not build", 0, "int main(void) { return oops; }\n")
    guilty = repository.commit("brings it in", 1)
    other = repository.commit("fails otherwise", 2)
    repository.commit("fails again", 1)
    bad = repository.commit("last", 1)
    (repository.folder / "app.c").write_text("my own change\n")
    (repository.folder / "app").write_text("my own build\n")
    status, made, said = repository.bisect(good, "main")
    assert status in (0, 1), said
    assert "REVISION" in render(casefile.read(repository.folder.parent / "case"), "terminal") or status == 1
    verdicts = {one["revision"]: one["verdict"] for one in made["tried"]}
    assert verdicts[bad] == "bad" and verdicts[good] == "good"
    assert verdicts.get(broken, "skip") == "skip" and verdicts.get(other, "skip") == "skip"
    assert made["failure"].startswith("argument-size in kernel copy, argument 2")
    if status == 0:
        assert (made["first_bad"], made["title"]) == (guilty, "brings it in"), said
    else:
        assert guilty in made["candidates"]
    assert (repository.folder / "app.c").read_text() == "my own change\n"
    assert (repository.folder / "app").read_text() == "my own build\n"
    assert len(repository.git("worktree", "list").splitlines()) == 1
    assert not repository.git("for-each-ref", "refs/bisect") and repository.git("branch", "--list") == "* main"


def test_a_plain_history(repository: Repository) -> None:
    revisions = [repository.commit(f"change {number}", int(number >= 3)) for number in range(7)]
    status, made, said = repository.bisect(revisions[0], revisions[-1])
    assert status == 0 and made["first_bad"] == revisions[3], said
    assert "Each revision was run once" in made["ended"]
    assert said.count("gpudx: ") == len(made["tried"]) <= 5


def test_a_failure_that_comes_and_goes_is_run_several_times(repository: Repository) -> None:
    revisions = [repository.commit(f"change {number}", 3 * (number >= 2)) for number in range(4)]
    status, made, said = repository.bisect(revisions[0], revisions[-1], "--runs", "10")
    assert status == 0 and made["first_bad"] == revisions[2], said
    assert made["tried"][0]["runs"] == 10 and "passes all 10 with a probability of" in made["ended"]


@pytest.mark.parametrize(
    ("modes", "words", "reason"),
    [
        ((1, 1), (), "--good HEAD~1 has the same failure"),
        ((0, 0), (), "--bad HEAD did not fail in 1 runs"),
        ((2, 1), (), "--good HEAD~1 cannot be judged (fails in another way"),
    ],
)
def test_ends_that_do_not_fit(
    repository: Repository, modes: tuple[int, int], words: tuple[str, ...], reason: str
) -> None:
    for number, mode in enumerate(modes):
        repository.commit(f"change {number}", mode)
    status, made, said = repository.bisect("HEAD~1", "HEAD", *words)
    assert status == 2 and made is None and reason in said
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_what_makes_no_sense_is_refused_before_anything_is_built(repository: Repository) -> None:
    first, second = repository.commit("one", 0), repository.commit("two", 1)
    assert "--bad is older than --good" in repository.bisect(second, first)[2]
    assert "has no revision nowhere" in repository.bisect("nowhere", second)[2]
    status, _, said = repository.bisect(first, second, command=(str(repository.folder / "app"),))
    assert status == 2 and "is in your own working tree" in said


def test_a_budget_that_is_used_up_leaves_the_revisions_between(repository: Repository) -> None:
    revisions = [repository.commit(f"change {number}", int(number >= 3)) for number in range(7)]
    repository.build += "; sleep 0.3"
    status, made, said = repository.bisect(revisions[0], revisions[-1], "--budget", "0.2s")
    assert status == 1 and made["first_bad"] is None, said
    assert set(revisions[1:]) >= set(made["candidates"]) >= {revisions[3]} and "budget is used up" in made["ended"]
