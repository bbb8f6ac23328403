"""Runs of a suite spread over a Ray cluster. Each run has a number; one that is lost is made again under the same number."""

from __future__ import annotations

import contextlib
import pickle
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudx.errors import UserError
from gpudx.flake.suites import Asked, CannotStart, Lost, SuiteLab
from gpudx.lab import ray_cluster
from gpudx.lab.ray_cluster import LATE_S, Answer, Cluster, Share, joined, unpack
from gpudx.model.flake import Batch, Suite

ONE_RUN = "gpudx.flake.one_run"


@dataclass(frozen=True)
class Outcome:
    """What comes back from a node: a result, or why there is none."""

    batch: Batch | None = None
    cannot_start: str = ""
    problem: str = ""


@contextlib.contextmanager
def connected(suite: Suite, local: SuiteLab, folder: Path, share: Share, seconds: float) -> Iterator[RayEngine]:
    """The cluster while it is used; it is left running."""
    with joined(share) as cluster:
        yield RayEngine(cluster, suite, local, folder, seconds)


class RayEngine:
    """The lab of a suite whose runs are made elsewhere."""

    def __init__(self, cluster: Cluster, suite: Suite, local: SuiteLab, folder: Path, seconds: float) -> None:
        self._cluster, self._suite, self._local, self._folder = cluster, suite, local, folder
        self._until = time.monotonic() + seconds + LATE_S

    @property
    def places(self) -> int:
        return self._cluster.places

    def chosen(self, tests: Sequence[int], parallel: bool) -> list[str]:
        return self._local.chosen(tests, parallel)

    def results(self, asked: Sequence[Asked]) -> Iterator[Batch]:
        """Each run as it ends. What is under way when somebody stops listening is ended."""
        pending = {self._cluster.start(ONE_RUN, (self._suite, one)): one for one in asked}
        try:
            while pending:
                for task in self._cluster.ended(pending):
                    try:
                        answer = self._cluster.answer(task)
                    except ray_cluster.Lost as error:
                        one = pending.pop(task)
                        raise Lost(f"run {one.number} ({one.condition.name}) {error}") from None
                    if answer is not None:
                        del pending[task]
                        yield self._received(answer)
                if pending and time.monotonic() > self._until:
                    raise Lost("budget used up")
        finally:
            self._cluster.cancel(pending)

    def _received(self, answer: Answer) -> Batch:
        outcome: Outcome = pickle.loads(answer.result)
        if outcome.cannot_start:
            raise CannotStart(outcome.cannot_start)
        if outcome.batch is None:
            raise UserError(outcome.problem)
        shutil.rmtree(self._folder / outcome.batch.folder, ignore_errors=True)
        unpack(answer.files, self._folder)
        return outcome.batch
