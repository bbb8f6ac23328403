"""Programs of several processes, by what starts them: the faulty ones are named, with their ranks; the others are not blamed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from support.builds import ROOT
from support.opencl import PROGRAMS, OpenCL, until_waiting

from gpudx.lab.recorded import run_recorded
from gpudx.model import Case
from gpudx.model.how import How
from gpudx.pipeline import diagnose_run

INCIDENT = ROOT / "incidents/opencl-set-rows-q4_0"
FAULT = ("value-is-not-a-handle", "confirmed")

# As torchrun does: a rank for each worker, and SIGTERM for the others when one fails.
LAUNCHER = """
import os, subprocess, sys, time
faulty, waiting, bad, until = sys.argv[1], sys.argv[2:4], {int(one) for one in sys.argv[4].split(",")}, sys.argv[5]
workers = [
    subprocess.Popen(["sh", "-c", f"{until}; exec {faulty}"] if rank in bad else waiting,
                     env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "3"})
    for rank in range(3)
]
while all(worker.poll() is None for worker in workers if workers.index(worker) in bad):
    time.sleep(0.05)
time.sleep(1)
for worker in workers:
    if worker.poll() is None:
        worker.terminate()
for worker in workers:
    worker.wait()
sys.exit(1)
"""
POOL = """
import multiprocessing, os, sys
def work(path):
    if path:
        os.execv(path, [path])
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    workers = [context.Process(target=work, args=(path,)) for path in ("", sys.argv[1], "")]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    sys.exit(any(one.exitcode for one in workers))
"""
# A server that starts a worker again when it dies, and goes on.
SERVER = """
import subprocess, sys
codes = [subprocess.run(command).returncode for command in ([sys.argv[1]], sys.argv[2:])]
sys.exit(0 if codes[1] == 0 else 1)
"""


@pytest.fixture
def faulty(opencl: OpenCL) -> Path:
    return opencl.build(sorted(INCIDENT.glob("*.c")), name="set-rows")


def case_of(opencl: OpenCL, command: list[str], folder: Path, **more: str) -> Case:
    how = How(timeout=150, output=folder / "output.txt", extra_env={**opencl.loader.environment, **more})
    folder.mkdir()
    return diagnose_run(run_recorded(command, folder, how), command, folder).case


def script(tmp_path: Path, text: str) -> str:
    (tmp_path / "program.py").write_text(text)
    return str(tmp_path / "program.py")


def best(case: Case) -> tuple[str, str]:
    return case.diagnosis[0].cause, case.diagnosis[0].status


@pytest.mark.parametrize(
    ("bad", "said"), [("1", "1 of 3 recorded processes (rank 1)"), ("0,2", "2 of 3 recorded processes (ranks 0 and 2)")]
)
def test_a_launcher_with_ranks(opencl: OpenCL, faulty: Path, tmp_path: Path, bad: str, said: str) -> None:
    waiting = opencl.build([PROGRAMS / "hanging.c"])
    until = until_waiting(tmp_path / "waiting", 3 - len(bad.split(",")))
    words = [sys.executable, script(tmp_path, LAUNCHER), str(faulty), str(waiting), "event", bad, until]
    case = case_of(opencl, words, tmp_path / "case", WAITING=str(tmp_path / "waiting"))
    assert best(case) == FAULT
    told = " ".join(one.text for one in case.diagnosis[0].evidence)
    assert f"seen in {said}" in told
    others = sorted({"0", "1", "2"} - set(bad.split(",")))
    assert f"killed (rank{'s' if len(others) > 1 else ''} {' and '.join(others)})" in told
    blamed = {pid for one in case.diagnosis if one.status in ("confirmed", "likely") for pid in one.processes}
    assert {one.rank for one in case.processes if one.pid in blamed} == set(bad.split(","))


def test_mpirun(opencl: OpenCL, faulty: Path, tmp_path: Path) -> None:
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    waiting = opencl.build([PROGRAMS / "hanging.c"])
    until = until_waiting(tmp_path / "waiting", 2)
    rank = f'if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ]; then {until}; exec {faulty}; else exec {waiting} event; fi'
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", "sh", "-c", rank]
    case = case_of(opencl, words, tmp_path / "case", WAITING=str(tmp_path / "waiting"))
    assert best(case) == FAULT and "(rank 1)" in " ".join(one.text for one in case.diagnosis[0].evidence)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(opencl: OpenCL, faulty: Path, tmp_path: Path, method: str) -> None:
    case = case_of(opencl, [sys.executable, script(tmp_path, POOL), str(faulty), method], tmp_path / "case")
    assert case.outcome.kind == "exit" and best(case) == FAULT and len(case.diagnosis[0].processes) == 1


def test_a_pipeline_whose_last_command_passes(opencl: OpenCL, faulty: Path, tmp_path: Path) -> None:
    """The shell's status is that of the last command: the crash before it is found all the same."""
    case = case_of(opencl, ["sh", "-c", f"{faulty} | cat"], tmp_path / "case")
    assert case.outcome.passed and best(case) == FAULT
    signals = [one.signal for one in case.processes if one.pid in case.diagnosis[0].processes]
    assert signals == ([""] if opencl.refuses_bad_handles else ["SIGSEGV"])


def test_a_server_that_starts_its_worker_again(opencl: OpenCL, faulty: Path, tmp_path: Path) -> None:
    right = opencl.build([PROGRAMS / "not_a_handle.c"])
    case = case_of(opencl, [sys.executable, script(tmp_path, SERVER), str(faulty), str(right), "right"], tmp_path / "case")
    assert case.outcome.passed and best(case) == FAULT
    assert len(case.diagnosis[0].processes) == 1 and len(case.processes) == 2
