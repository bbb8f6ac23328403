"""The lab of an investigation whose runs are made on the nodes of a Ray cluster, several at a time.

The investigation itself stays as it is: one run after the other, each chosen by what the earlier ones showed. Runs that will be
chosen if nothing new is shown are begun in advance, as many as there are places. A run is taken only for the very job that was
asked for, with the same knowledge of the program; those that nobody asked for are ended, and count for nothing.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from gpudx import casefile
from gpudx.errors import UserError
from gpudx.investigate.laboratory import Laboratory, kept_facts
from gpudx.investigate.loop import Limits, OutOfTime, ahead, without_news
from gpudx.investigate.one_run import Job, Made
from gpudx.lab.experiments import PLAIN, Context, Experiment, NotReached
from gpudx.lab.ray_cluster import LATE_S, LOOK_S, Answer, Cluster, Lost, Task, unpack_as
from gpudx.model import Asked, Investigation

ONE_RUN = "gpudx.investigate.remote_run"
FOLDER = "run"  # of a run, on its node
FORESEEN = 4  # runs for each place that are foreseen: those that have ended wait until they are asked for


@dataclass(frozen=True)
class Order:
    """A job, the working directory, and the digest of the program."""

    job: Job
    folder: str
    program: str


@dataclass(frozen=True)
class Outcome:
    """What comes back from a node: a run, or why there is none."""

    made: Made | None = None
    place: str = ""  # its folder there
    missing: Mapping[str, str | None] = field(default_factory=dict)  # experiments that cannot be run there, and why
    not_reached: str = ""
    out_of_time: bool = False
    problem: str = ""
    bug: str = ""


class RemoteBug(Exception):
    """The analysis failed on a node; the text is the traceback."""


@dataclass(eq=False)
class Begun:
    """A run that was begun."""

    job: Job
    task: Task
    since: float

    def is_for(self, job: Job) -> bool:
        """Would a run of `job` mean the same? What earlier runs showed changes nothing in a plain run."""
        if job.experiment == self.job.experiment == PLAIN:
            return (self.job.context.turn, self.job.stacks) == (job.context.turn, job.stacks)
        return self.job == job


@dataclass
class RayLaboratory(Laboratory):
    """Use it as a context manager: what is under way at the end is ended."""

    cluster: Cluster = field(kw_only=True)
    begun: list[Begun] = field(default_factory=list)
    newest: float = 0.0  # when the latest run that counts was begun
    there: dict[str, str | None] = field(default_factory=dict)  # why experiments cannot be run on the nodes
    most: int = 0  # runs at the same time, so far

    @classmethod
    def of(cls, lab: Laboratory, cluster: Cluster) -> RayLaboratory:
        """The same lab, with the runs made elsewhere."""
        return cls(**{one.name: getattr(lab, one.name) for one in fields(lab)}, cluster=cluster)

    @property
    def places(self) -> int:
        return self.cluster.places

    def __exit__(self, *ended: object) -> None:
        self.cluster.cancel(one.task for one in self.begun)
        super().__exit__(*ended)

    def _missing(self, module: Experiment) -> str | None:
        return self.there[module.ID] if module.ID in self.there else super()._missing(module)

    def make(self, job: Job, folder: Path, state: Investigation) -> Made:
        mine = self._begun_for(job, state)
        while True:
            self._run_ahead(job, state)
            self.most = max(self.most, len(self._running()))
            outcome = self._wait_for(mine, folder)
            made = outcome.made
            if made is None:
                raise _why_none(outcome)
            if not made.hung or mine.job.patience(made.looks_inside) >= job.patience(made.looks_inside):
                break
            mine = self._begin(job, state)  # it had less time than such a run gets by now
        self.newest = mine.since
        self.there |= {name: why for name, why in outcome.missing.items() if self.there.get(name, "") is not None}
        needs_facts = job.experiment == PLAIN or made.fresh
        return replace(made, case=casefile.read(folder), facts=tuple(kept_facts(folder)) if needs_facts else ())

    def _begun_for(self, job: Job, state: Investigation) -> Begun:
        """A run of this job. Plain runs also say whether the machine has changed, so they must be younger than what they follow."""
        for one in self.begun:
            if one.is_for(job) and (job.experiment != PLAIN or one.since >= self.newest):
                return one
        return self._begin(job, state)

    def _begin(self, job: Job, state: Investigation) -> Begun:
        order = Order(replace(job, context=_sendable(job.context)), state.folder, state.program)
        one = Begun(job, self.cluster.start(ONE_RUN, order), time.monotonic())
        self.begun.append(one)
        return one

    def _running(self) -> list[Begun]:
        ended = self.cluster.ended([one.task for one in self.begun], 0)
        return [one for one in self.begun if one.task not in ended]

    def _run_ahead(self, job: Job, state: Investigation) -> None:
        """Begin what will be asked for next, if there are places; end what will not."""
        places = self.cluster.places
        if not state.trials:
            return
        foreseen = [job]
        if places > 1:
            after = ahead(without_news(state, job.experiment), self, Limits(self.budget_s))
            foreseen += [self.job(name, then) for (name, then), _ in zip(after, range(FORESEEN * places), strict=False)]
        useless = [one for one in self.begun if not any(map(one.is_for, foreseen))]
        self.cluster.cancel(one.task for one in useless)
        self.begun = [one for one in self.begun if one not in useless]
        free = places - len(self._running())
        for wanted in foreseen[1:]:
            if free > 0 and not any(one.is_for(wanted) for one in self.begun):
                self._begin(wanted, state)
                free -= 1

    def _wait_for(self, mine: Begun, folder: Path) -> Outcome:
        while True:
            try:
                answer = self.cluster.answer(mine.task) if self.cluster.ended([mine.task], LOOK_S) else None
            except Lost as error:
                self.begun.remove(mine)
                raise UserError(f"The run of {mine.job.experiment} {error}.") from None
            if answer is not None:
                self.begun.remove(mine)
                return _received(answer, folder)
            if self.elapsed() > self.budget_s + LATE_S:
                raise OutOfTime


def refuse_shared_files(asked: Asked) -> None:
    """Runs at the same time must not change each other's files."""
    shared = {
        "--rebuild": asked.rebuild,
        "--revision": asked.revision,
        "--compare FILE=GOOD": "=" in asked.compare,
    }
    for option, given in shared.items():
        if given:
            raise UserError(f"{option} uses one file for all runs, and --engine ray makes several at a time: leave out one of them.")


def _sendable(context: Context) -> Context:
    """Without what was made for runs on this machine."""
    return replace(context, shelf=type(context.shelf)())


def _received(answer: Answer, folder: Path) -> Outcome:
    outcome: Outcome = pickle.loads(answer.result)
    if outcome.made is not None:
        unpack_as(answer.files, FOLDER, folder)
        case = folder / casefile.NAME
        case.write_bytes(case.read_bytes().replace(outcome.place.encode(), str(folder).encode()))
    return outcome


def _why_none(outcome: Outcome) -> Exception:
    if outcome.out_of_time:
        return OutOfTime()
    if outcome.not_reached:
        return NotReached(outcome.not_reached)
    return RemoteBug(outcome.bug) if outcome.bug else UserError(outcome.problem)
