"""gpudx flake on a real Ray cluster, on loopback: with a worker that is killed in the middle of a run, and with a node that is lost.

The cluster belongs to a process of the test, takes only the test's own token, and ends with it. It has one node, or two on this one
machine. There are no GPUs: the single node is told that it has two.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from support import forked
from support.ray_host import TOKEN, hosted, one_node

import gpudx
from gpudx import native
from gpudx.errors import UserError
from gpudx.lab import ray_cluster, strangers

BUILT = Path(__file__).resolve().parents[2] / "build/native/libgpudx.so"
# Two nodes, of which the second goes at the first word on the way in, as if its power had failed.
TWO_NODES = """
import sys
from ray.cluster_utils import Cluster
node = dict(num_cpus=1, include_dashboard=False, object_store_memory=80 << 20, node_ip_address="127.0.0.2")
cluster = Cluster(initialize_head=True, head_node_args={**node, "temp_dir": sys.argv[1]})
second = cluster.add_node(**node)
cluster.wait_for_nodes()
print(cluster.address, flush=True)
if sys.stdin.readline():
    cluster.remove_node(second, allow_graceful=False)
    print("gone", flush=True)
sys.stdin.read()
cluster.shutdown()
"""
SOON = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "2",
}


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    packaged = (native.PACKAGED / "libgpudx.so").is_file()
    if "GPUDX_LIB" not in os.environ and not packaged and not BUILT.is_file():
        pytest.skip("the recorder is not built")
    here = {"PYTHONPATH": str(Path(gpudx.__file__).resolve().parents[1]), **TOKEN}
    lib = {} if "GPUDX_LIB" in os.environ or packaged else {"GPUDX_LIB": str(BUILT)}
    return {**{k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"}, **here, **lib}


@pytest.fixture(scope="module")
def cluster(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.getbasetemp() / "r"  # short: the names of sockets have 107 bytes at most (unix(7))
    with hosted(one_node(gpus=2), environment, place) as (address, _):
        yield address


def flake(environment: dict[str, str], place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.gpudx("flake", *words, cwd=place, env=environment, timeout=120)


def app(place: Path, *lines: str) -> None:
    (place / "app").write_text("\n".join(["#!/bin/sh", *lines, ""]))
    (place / "app").chmod(0o755)


def journal(place: Path) -> list[dict[str, Any]]:
    lines = (place / "case" / "flake.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_a_killed_worker_costs_nothing_and_counts_once(
    cluster: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """The program kills the worker above it, once. Its run is made again; what was begun is ended; each number counts once."""
    app(
        tmp_path,
        'echo "$CUDA_VISIBLE_DEVICES$RAY_RAYLET_PID$RAY_AUTH_TOKEN" >> devices',
        "if mkdir first 2>/dev/null; then",
        "  echo $$ > orphan",
        "  guard=$(cut -d' ' -f4 /proc/$PPID/stat)",
        "  kill -9 $(cut -d' ' -f4 /proc/$guard/stat)",
        "  sleep 60",
        "fi",
        "exit 3",
    )
    words = ("--engine", "ray", "--address", cluster, "--runs", "5", "--case", "case", "--", "./app")
    done = flake(environment, tmp_path, *words)
    assert done.returncode == 1, done.stderr
    assert "2 runs at a time" in done.stderr
    runs = journal(tmp_path)
    assert sorted(run["number"] for run in runs) == [1, 2, 3, 4, 5] and {run["marks"] for run in runs} == {"F"}
    devices = (tmp_path / "devices").read_text().splitlines()
    assert len(devices) >= 6 and set(devices) == {"0", "1"}  # Ray's GPUs, and nothing else of Ray's
    assert not psutil.pid_exists(int((tmp_path / "orphan").read_text()))
    told = json.loads((tmp_path / "case" / "case.json").read_text())["flake"]
    assert told["runs"] == 5 and told["conditions"][0]["failures"] <= 5
    assert (tmp_path / "case" / runs[0]["folder"] / "output.txt").is_file()  # came back from the node


def test_a_run_that_always_dies(cluster: str, environment: dict[str, str], tmp_path: Path) -> None:
    """The program kills what watches over its run. Neither a pass nor a failure: it ends after some tries, and says so."""
    app(tmp_path, "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)", "sleep 60")
    words = ("--engine", "ray", "--address", cluster, "--per-trial-cpus", "2", "--case", "case", "--", "./app")
    done = flake(environment, tmp_path, *words)
    assert done.returncode == 2 and "run 1 (as-is) was lost 3 times: its process on" in done.stderr, done.stderr


@pytest.mark.slow
def test_a_lost_node_costs_nothing_and_counts_once(
    environment: dict[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Both nodes are in the middle of a run when one goes. Its run is made again on the other, under its old number."""
    app(tmp_path, "echo $PPID >> begun", "while [ ! -f gone ]; do sleep 0.1; done", "exit 3")
    environment = {**environment, **SOON}
    with hosted(TWO_NODES, environment, tmp_path_factory.getbasetemp() / "r2") as (address, host):
        words = ("--engine", "ray", "--address", address, "--runs", "5", "--case", "case", "--", "./app")
        child = subprocess.Popen(
            [sys.executable, "-m", "gpudx", "flake", *words], cwd=tmp_path, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        wait_for(lambda: len(begun(tmp_path)) == 2)
        assert host.stdin and host.stdout
        print("lose it", file=host.stdin, flush=True)
        assert host.stdout.readline() == "gone\n"
        wait_for(lambda: sum(map(psutil.pid_exists, begun(tmp_path))) == 1)
        (tmp_path / "gone").touch()
        said = child.communicate(timeout=90)[1]
    assert child.returncode == 1, said
    assert sorted(run["number"] for run in journal(tmp_path)) == [1, 2, 3, 4, 5], said
    assert len(begun(tmp_path)) == 6  # five, and the one that was lost
    assert json.loads((tmp_path / "case" / "case.json").read_text())["flake"]["runs"] == 5


def begun(place: Path) -> list[int]:
    """The processes that watch over the runs: a run may be of several copies of the program."""
    words = (place / "begun").read_text().split() if (place / "begun").is_file() else []
    return [int(word) for word in dict.fromkeys(words)]


def test_an_interruption_ends_what_runs_there(cluster: str, environment: dict[str, str], tmp_path: Path) -> None:
    """The first runs are quick, the later ones hang: Ctrl-C keeps the former and ends the latter."""
    app(tmp_path, "[ -f slow ] || exit 0", "echo $$ >> slow", "sleep 100 & echo $! >> slow", "wait")
    words = ("--engine", "ray", "--address", cluster, "--case", "case", "--", "./app")
    child = subprocess.Popen(
        [sys.executable, "-m", "gpudx", "flake", *words], cwd=tmp_path, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for(lambda: (tmp_path / "case/flake.jsonl").is_file() and len(journal(tmp_path)) >= 2)
    (tmp_path / "slow").touch()
    wait_for(lambda: len((tmp_path / "slow").read_text().split()) >= 4)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    assert child.returncode == 130 and "interrupted; to continue: gpudx flake --resume" in said, said
    assert len(journal(tmp_path)) >= 2
    begun = [int(word) for word in (tmp_path / "slow").read_text().split()]
    wait_for(lambda: not any(map(psutil.pid_exists, begun)))


def wait_for(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--engine", "ray", "--address", "127.0.0.1:1"), "There is no Ray cluster to join at 127.0.0.1:1 ("),
        (("--address", "127.0.0.1:1"), "add --engine ray"),
        (("--engine", "ray", "--address", "CLUSTER", "--per-trial-gpus", "3"), "No node of the cluster has 3 GPU"),
        (("--engine", "ray", "--address", "CLUSTER", "--", "/dev/null/x"), "no such file"),
    ],
)
def test_mistakes(cluster: str, environment: dict[str, str], tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    given = tuple(word.replace("CLUSTER", cluster) for word in words)
    done = flake(environment, tmp_path, *given, *(() if "--" in words else ("--", "true")))
    assert done.returncode in (2, 127) and says in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'gpudx\[ray\]'"):
        ray_cluster.join("auto")


def test_runs_of_the_same_study_are_no_strangers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two runs on one node see each other's device files. The device is a file of the test."""
    device = tmp_path / "device"
    device.touch()
    monkeypatch.setattr(strangers.backends, "device_files", lambda: (str(device),))
    with device.open() as held:
        other = subprocess.Popen(["sleep", "60"], stdin=held, env={strangers.STUDY: "7"})
        try:
            found = [name for name in strangers.strangers() if f"({other.pid})" in name]
            monkeypatch.setenv(strangers.STUDY, "7")
            assert len(found) == 1 and not any(f"({other.pid})" in name for name in strangers.strangers())
        finally:
            other.kill()
            other.wait()
