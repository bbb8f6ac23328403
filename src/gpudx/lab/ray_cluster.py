"""Runs on the nodes of a Ray cluster that is there already: one at a time on each GPU, or CPU where there are none.

Each run is a task. A task whose worker or node is lost is started again; Ray's own retries are off, so that each attempt is known
here. On a node the run is a process of its own, not the worker: a worker has threads and variables of Ray's, which programs should
not meet. What a run leaves behind comes back with its result; nodes need not share a disk with the case, but must see the program
under the same path.
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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpudx import __version__, backends
from gpudx.errors import UserError
from gpudx.lab.aside import run_detached
from gpudx.lab.on_node import JOB, RESULT
from gpudx.lab.trials import RUNS

TRIES = 3  # of a run whose worker is lost each time
REACH_S = 5.0  # for an answer from the address
LATE_S = 30.0  # beyond the budget, for results on their way
LOOK_S = 0.5
MOST_BYTES = 64 << 20  # sent back of one run; traces are left out if it is more
KEYS = "RAY_AUTH"  # how the variables begin that hold the key to the cluster: no business of the program
VISIBLE = "VISIBLE_DEVICES"  # how the variables end with which devices are given to a process


@dataclass(frozen=True)
class Share:
    """What each run gets of the cluster. None: one GPU where there are GPUs."""

    address: str = "auto"
    gpus: float | None = None
    cpus: float = 1.0


@dataclass(frozen=True)
class Answer:
    """What comes back from a node: the pickled result and the packed files of a run, or why there are none."""

    result: bytes = b""
    files: bytes = b""
    problem: str = ""  # the cluster cannot make this run
    lost: str = ""  # its process died: neither a pass nor a failure


class Lost(UserError):
    """A run whose worker died each time. The text says how, without a full stop."""


@dataclass(eq=False)
class Task:
    """A run that was sent to the cluster, and how often."""

    module: str
    job: bytes
    tries: int = 0
    reference: Any = field(default=None, repr=False)


@contextlib.contextmanager
def joined(share: Share) -> Iterator[Cluster]:
    """The cluster while it is used; it is left running."""
    ray = join(share.address)
    try:
        yield Cluster(ray, share)
    finally:
        ray.shutdown()


def join(address: str) -> Any:
    """Ray, connected."""
    if importlib.util.find_spec("ray") is None:
        raise UserError("--engine ray needs Ray, which is not installed: pip install 'gpudx[ray]'.")
    _answers(address)
    ray = importlib.import_module("ray")
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=None)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        why = "none is running here" if address == "auto" else (str(error).splitlines() or [type(error).__name__])[0]
        raise _no_cluster(address, why) from None
    return ray


def _answers(address: str) -> None:
    """Ray itself waits for minutes, and may end the process, where nobody answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_S).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, getattr(error, "strerror", None) or error) from None


def _no_cluster(address: str, why: object) -> UserError:
    return UserError(f"There is no Ray cluster to join at {address} ({why}): start one, or give --address.")


class Cluster:
    """Starts runs on nodes and brings back what they answer."""

    def __init__(self, ray: Any, share: Share) -> None:
        self._ray, self._cpus, self._gpus = ray, share.cpus, share.gpus
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

    def start(self, module: str, job: object) -> Task:
        """A run by `python -m module` on a node; see lab/on_node.py."""
        task = Task(module, pickle.dumps(job))
        self._send(task)
        return task

    def _send(self, task: Task) -> None:
        remote = self._ray.remote(work).options(
            num_cpus=self._cpus, num_gpus=self._gpus, max_retries=0, scheduling_strategy="SPREAD"
        )
        sent = {name: value for name, value in os.environ.items() if not name.startswith(KEYS)}
        task.tries += 1
        task.reference = remote.remote(__version__, task.module, task.job, sent, bool(self._gpus))

    def ended(self, tasks: Iterable[Task], seconds: float = LOOK_S) -> list[Task]:
        """Those that have ended, at the latest after `seconds`; as soon as one has."""
        mine = {task.reference: task for task in tasks}
        done, _ = self._ray.wait(list(mine), num_returns=1 if seconds else len(mine), timeout=seconds) if mine else ([], [])
        return [mine[one] for one in done]

    def answer(self, task: Task) -> Answer | None:
        """Of a task that has ended. None: it was lost, and is sent again. Lost when that happened too often."""
        answer = self._received(task)
        if answer.problem:
            raise UserError(answer.problem)
        if not answer.lost:
            return answer
        if task.tries >= TRIES:
            raise Lost(f"was lost {TRIES} times: {answer.lost}")
        self._send(task)
        return None

    def _received(self, task: Task) -> Answer:
        errors = self._ray.exceptions
        lost = (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError, errors.OutOfMemoryError)
        try:
            answer: Answer = self._ray.get(task.reference)
        except lost as error:
            return Answer(lost=f"its worker or node died ({type(error).__name__})")
        except errors.RayError as error:
            raise UserError(f"The cluster cannot make runs ({_last(str(error))}): is gpudx on its nodes?") from None
        return answer

    def cancel(self, tasks: Iterable[Task]) -> None:
        """End runs that nobody waits for any more, with all that they started."""
        for task in tasks:
            self._ray.cancel(task.reference, force=True)


def unpack(files: bytes, folder: Path) -> None:
    """What a run left below RUNS on its node, below RUNS here."""
    with tarfile.open(fileobj=io.BytesIO(files)) as packed:
        packed.extractall(folder, filter="data")


def unpack_as(files: bytes, name: str, folder: Path) -> None:
    """The folder `name` of RUNS on the node, as `folder` here."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        unpack(files, Path(place))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(Path(place) / RUNS / name, folder)


def _last(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"])[-1]


# ---- on a node ----


def work(version: str, module: str, job: bytes, environment: dict[str, str], chosen: bool) -> Answer:
    """One run, in a process of its own that ends with this one. `chosen`: the cluster says which devices it gets."""
    here = socket.gethostname()
    if version != __version__:
        return Answer(problem=f"gpudx is {__version__} on {here} and {version} here: install the same one.")
    with tempfile.TemporaryDirectory(prefix="gpudx-") as name:
        place = Path(name)
        (place / JOB).write_bytes(job)
        command = [sys.executable, "-m", module, name, str(os.getpid())]
        said = run_detached(command, _environment(environment, chosen))
        if not (place / RESULT).is_file():
            return Answer(lost=f"its process on {here} died ({_last(said)})")
        return Answer((place / RESULT).read_bytes(), _packed(place))


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
