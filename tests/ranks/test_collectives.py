"""Ranks that issue collectives, as real processes linked with a library that has NCCL's names: what is recorded, and what a job that
disagrees, hangs or fails is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import forked

HERE = Path(__file__).resolve().parent
pytestmark = pytest.mark.builds


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc) here")
    folder = tmp_path_factory.mktemp("job")
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    library = folder / "libnccl.so.2"
    subprocess.run(["cc", *flags, "-fPIC", "-shared", "-Wl,-soname,libnccl.so.2", HERE / "fake_nccl.c", "-o", library], check=True)
    subprocess.run(["cc", *flags, HERE / "job.c", library, f"-Wl,-rpath,{folder}", "-o", folder / "job"], check=True)
    return folder / "job"


def recorded(job: Path, case: Path, *words: str, timeout: str = "30s") -> tuple[dict[str, Any], str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GPUDX_") or name == "GPUDX_LIB"}
    done = forked.gpudx("run", "--timeout", timeout, "--case", case, "--", job, *words, env=env)
    return json.loads((case / "case.json").read_text()), done.stdout, done.stderr


def of_ranks(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in case["findings"] if one["id"] in ("collective-mismatch", "rank-missing")]


def test_ranks_that_agree_are_not_reported(job: Path, tmp_path: Path) -> None:
    """Sends may differ between ranks, and so may collectives of different communicators."""
    case, out, _ = recorded(job, tmp_path / "case", "4")
    assert out == "worst 0\n"
    assert len(case["processes"]) == 4
    assert of_ranks(case) == []


@pytest.mark.parametrize("what", ["count", "kind"])
@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_that_differs(job: Path, tmp_path: Path, what: str, rank: int) -> None:
    case, out, screen = recorded(job, tmp_path / "case", "4", what, str(rank))
    assert out == "worst 0\n"  # the library does not check it, as NCCL does not
    (found,) = of_ranks(case)
    odd = "all-reduce (sum) of 1,000 float32" if what == "count" else "broadcast of 1,024 float32 from rank 0"
    assert found["id"] == "collective-mismatch"
    assert f"Collective 2 differs between ranks: rank {rank} issued {odd}" in found["message"]
    assert "collective-mismatch" in screen


def test_two_ranks_that_differ_are_both_named(job: Path, tmp_path: Path) -> None:
    case, _, _ = recorded(job, tmp_path / "case", "2", "count", "1")
    (found,) = of_ranks(case)
    assert found["attribution"] == "one of"


def test_a_rank_that_is_missing(job: Path, tmp_path: Path) -> None:
    case, _, screen = recorded(job, tmp_path / "case", "3", "missing", "1", timeout="3s")
    (found,) = of_ranks(case)
    assert found["id"] == "rank-missing"
    wanted = "Rank 1 never issued collective 2 (all-reduce (sum) of 1,024 float32), in which ranks 0 and 2 wait."
    assert found["message"] == wanted
    assert "rank-missing" in screen


def test_a_slow_job_that_agrees_is_not_reported(job: Path, tmp_path: Path) -> None:
    """It hangs, but not because a rank is missing."""
    case, _, _ = recorded(job, tmp_path / "case", "3", "missing", "7", timeout="3s")
    assert of_ranks(case) == []


def test_the_first_rank_that_fails_is_named(job: Path, tmp_path: Path) -> None:
    case, out, screen = recorded(job, tmp_path / "case", "4", "fails", "2")
    assert out == "worst 3\n" and "4 processes (rank 2 failed first)" in screen
    (pid,) = [one["pid"] for one in case["processes"] if one["rank"] == "2"]
    assert case["diagnosis"][0]["evidence"][0]["text"] == f"rank 2, process {pid} failed first (exit status 3)"
    report = forked.gpudx("report", tmp_path / "case")
    assert report.returncode == 0 and "failed first" in report.stdout


def merged(folder: Path, *cases: Path) -> tuple[dict[str, Any], str]:
    done = forked.gpudx("merge", *cases, "--case", folder)
    return json.loads((folder / "case.json").read_text()) if (folder / "case.json").exists() else {}, done.stderr


def test_ranks_of_two_hosts_are_compared(job: Path, tmp_path: Path) -> None:
    """Two ranks alone do not show which of them is wrong, four do."""
    recorded(job, tmp_path / "host0", "4", "count", "1", "0", "1")
    second, *_ = recorded(job, tmp_path / "host1", "4", "", "-1", "2", "3")
    assert of_ranks(second) == []
    case, screen = merged(tmp_path / "job", tmp_path / "host0", tmp_path / "host1")
    assert sorted(one["rank"] for one in case["processes"]) == ["0", "1", "2", "3"]  # in the order in which they started
    found = [one["message"] for one in of_ranks(case)]
    assert any("rank 1 issued all-reduce (sum) of 1,000 float32, ranks 0, 2 and 3 issued" in text for text in found)
    assert "collective-mismatch" in screen


def test_two_hosts_that_agree(job: Path, tmp_path: Path) -> None:
    recorded(job, tmp_path / "host0", "4", "", "-1", "0", "1")
    recorded(job, tmp_path / "host1", "4", "", "-1", "2", "3")
    case, _ = merged(tmp_path / "job", tmp_path / "host0", tmp_path / "host1")
    assert of_ranks(case) == [] and case["diagnosis"] == []


def test_what_cannot_be_merged(job: Path, tmp_path: Path) -> None:
    recorded(job, tmp_path / "host0", "2")
    assert "at least two cases" in merged(tmp_path / "one", tmp_path / "host0")[1]
    assert "There is no case at" in merged(tmp_path / "two", tmp_path / "host0", tmp_path / "nothing")[1]


def test_without_the_library_nothing_is_pretended(tmp_path: Path) -> None:
    """A program that looks for NCCL in all loaded libraries: it must not call what is not there."""
    source = tmp_path / "looks.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n"
        'int main(void) { printf("%d\\n", dlsym(RTLD_DEFAULT, "ncclAllReduce") != NULL); return 0; }\n'
    )
    subprocess.run(["cc", source, "-o", tmp_path / "looks", "-ldl"], check=True)
    done = forked.gpudx("run", "--case", tmp_path / "case", "--", tmp_path / "looks")
    plain = subprocess.run([tmp_path / "looks"], capture_output=True, text=True, check=False)
    assert done.stdout == plain.stdout
