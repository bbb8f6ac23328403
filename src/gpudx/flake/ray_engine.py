"""Runs of a suite spread over a Ray cluster that is there already: one at a time on each GPU, or CPU where there are none.

Each run is a task with a number. A task whose worker or node is lost is given out again under the same number; Ray's own retries are
off, so that each attempt is known here. On a node the run is a process of its own, not the worker: a worker has threads and
variables of Ray's, which tests should not meet. What a run leaves behind comes back with its result; nodes need not share a disk
with the case, but must see the tests under the same path.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import pickle
import shutil
import socket
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpudx import __version__, backends
from gpudx.errors import UserError
from gpudx.flake.suites import Asked, CannotStart, Lost, SuiteLab
from gpudx.lab.detached import run_detached
from gpudx.lab.trials import RUNS
from gpudx.model.flake import Batch, Suite

JOB, RESULT = "job", "result"  # files between a worker and the process of the run
ONE_RUN = "gpudx.flake.one_run"
TRIES = 3  # of a run whose worker is lost each time
REACH_S = 5.0  # for an answer from the address
LATE_S = 30.0  # beyond the budget, for results on their way
LOOK_S = 0.5
MOST_BYTES = 64 << 20  # sent back of one run; traces are left out if it is more
KEYS = "RAY_AUTH"  # how the variables begin that hold the key to the cluster: no business of the tests
VISIBLE = "VISIBLE_DEVICES"  # how the variables end with which devices are given to a process


@dataclass(frozen=True)
class Share:
    """What each run gets of the cluster. None: one GPU where there are GPUs."""

    address: str = "auto"
    gpus: float | None = None
    cpus: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What comes back from a node: a result, or why there is none."""

    batch: Batch | None = None
    cannot_start: str = ""
    problem: str = ""
    lost: str = ""  # its process died: neither a pass nor a failure


@contextlib.contextmanager
def connected(suite: Suite, local: SuiteLab, folder: Path, share: Share, seconds: float) -> Iterator[RayEngine]:
    """The cluster while it is used; it is left running."""
    ray = _join(share.address)
    try:
        yield RayEngine(ray, suite, local, folder, share, seconds)
    finally:
        ray.shutdown()


def _join(address: str) -> Any:
    if importlib.util.find_spec("ray") is None:
        raise UserError("--engine ray needs Ray, which is not installed: pip install 'gpudx[ray]'.")
    _answers(address)
    ray = importlib.import_module("ray")
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=None)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        why = "none is running here" if address == "auto" else (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"There is no Ray cluster to join at {address} ({why}): start one, or give --address."
        ) from None
    return ray


def _answers(address: str) -> None:
    """Ray itself waits for minutes, and may end the process, where nobody answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(
            f"There is no Ray cluster to join at {address} ({why}): start one, or give --address."
        ) from None


class RayEngine:
    """The lab of a suite whose runs are made elsewhere."""

    def __init__(self, ray: Any, suite: Suite, local: SuiteLab, folder: Path, share: Share, seconds: float) -> None:
        self._ray, self._suite, self._local, self._folder = ray, suite, local, folder
        self._cpus, self._gpus = share.cpus, share.gpus
        self._until = time.monotonic() + seconds + LATE_S
        if self._gpus is None:
            self._gpus = 1.0 if ray.cluster_resources().get("GPU") else 0.0
        if not self._count():
            raise UserError(
                f"No node of the cluster has {self._gpus:g} GPU and {self._cpus:g} CPU for a run: give less with --per-trial-gpus and"
                " --per-trial-cpus."
            )

    @property
    def places(self) -> int:
        """At least one: where all nodes are lost, a run waits for a new one."""
        return max(1, self._count())

    def _count(self) -> int:
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        wanted = [(name, much) for name, much in (("CPU", self._cpus), ("GPU", self._gpus or 0)) if much]
        return sum(min((int(node.get(name, 0) / much) for name, much in wanted), default=1) for node in nodes)

    def chosen(self, tests: Sequence[int], parallel: bool) -> list[str]:
        return self._local.chosen(tests, parallel)

    def results(self, asked: Sequence[Asked]) -> Iterator[Batch]:
        """Each run as it ends. What is under way when somebody stops listening is ended."""
        tries = dict.fromkeys(asked, 1)
        pending = {self._start(one): one for one in asked}
        try:
            while pending:
                ended, _ = self._ray.wait(list(pending), timeout=LOOK_S)
                for task in ended:
                    one = pending.pop(task)
                    batch = self._result(task, one, tries)
                    if batch:
                        yield batch
                    else:
                        tries[one] += 1
                        pending[self._start(one)] = one
                if pending and time.monotonic() > self._until:
                    raise Lost("budget used up")
        finally:
            for task in pending:
                self._ray.cancel(task, force=True)

    def _start(self, asked: Asked) -> Any:
        task = self._ray.remote(work).options(
            num_cpus=self._cpus, num_gpus=self._gpus, max_retries=0, scheduling_strategy="SPREAD"
        )
        sent = {name: value for name, value in os.environ.items() if not name.startswith(KEYS)}
        return task.remote(__version__, pickle.dumps((self._suite, asked)), sent, bool(self._gpus))

    def _result(self, task: Any, asked: Asked, tries: dict[Asked, int]) -> Batch | None:
        """None: lost, and to be made again."""
        outcome, files = self._answer(task)
        if not outcome.lost:
            return self._received(outcome, files)
        if tries[asked] >= TRIES:
            raise Lost(f"run {asked.number} ({asked.condition.name}) was lost {TRIES} times: {outcome.lost}")
        return None

    def _answer(self, task: Any) -> tuple[Outcome, bytes]:
        errors = self._ray.exceptions
        lost = (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError, errors.OutOfMemoryError)
        try:
            answer: tuple[Outcome, bytes] = self._ray.get(task)
        except lost as error:
            return Outcome(lost=f"its worker or node died ({type(error).__name__})"), b""
        except errors.RayError as error:
            raise UserError(f"The cluster cannot make runs ({_last(str(error))}): is gpudx on its nodes?") from None
        return answer

    def _received(self, outcome: Outcome, files: bytes) -> Batch:
        if outcome.cannot_start:
            raise CannotStart(outcome.cannot_start)
        if outcome.batch is None:
            raise UserError(outcome.problem)
        folder = self._folder / outcome.batch.folder
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(files)) as packed:
            packed.extractall(self._folder, filter="data")
        return outcome.batch


def _last(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"])[-1]


# ---- on a node ----


def work(version: str, job: bytes, environment: dict[str, str], chosen: bool) -> tuple[Outcome, bytes]:
    """One run, in a process of its own that ends with this one. `chosen`: the cluster says which devices it gets."""
    here = socket.gethostname()
    if version != __version__:
        return Outcome(problem=f"gpudx is {__version__} on {here} and {version} here: install the same one."), b""
    with tempfile.TemporaryDirectory(prefix="gpudx-") as name:
        place = Path(name)
        (place / JOB).write_bytes(job)
        command = [sys.executable, "-m", ONE_RUN, name, str(os.getpid())]
        said = run_detached(command, _environment(environment, chosen))
        if not (place / RESULT).is_file():
            return Outcome(lost=f"its process on {here} died ({_last(said)})"), b""
        return pickle.loads((place / RESULT).read_bytes()), _packed(place)


def _environment(environment: dict[str, str], chosen: bool) -> dict[str, str]:
    """As where gpudx was started, on the devices that the cluster gave."""
    names = [name for name in backends.variables() if name.endswith(VISIBLE) and name in os.environ]
    return environment | ({name: os.environ[name] for name in names} if chosen else {})


def _packed(place: Path) -> bytes:
    """What the run left in its folder."""
    for left_out in ("", "traces"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as packed:
            if (place / RUNS).is_dir():
                packed.add(place / RUNS, RUNS, filter=lambda info: None if _is_in(info.name, left_out) else info)  # noqa: B023
        if buffer.tell() <= MOST_BYTES:
            return buffer.getvalue()
    raise OSError(f"a run left more than {MOST_BYTES >> 20} MB behind, too much to send")


def _is_in(path: str, folder: str) -> bool:
    return bool(folder) and folder in Path(path).parts
