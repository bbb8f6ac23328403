"""Was the recorder in the process that failed? If not, nothing was seen, and that is all that may be said.

The root process is the one that gpudx started: its end is the program's end. It may have replaced its image by exec
several times; only the last image counts. Pure reasoning over the roll, the looks and the files on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from gpudx import __version__
from gpudx.lab.program import Program
from gpudx.lab.recorded import RunResult
from gpudx.lab.roll import RollEntry, RollKind
from gpudx.model import Diagnosis, Evidence, Instrument
from gpudx.text import plural

CAUSE = "recorder-not-loaded"
RECORDER = "recorder"
MOST_NAMED = 5
UNWRITABLE = "No trace could be written in {path}: free some space, or put the case elsewhere with --case DIR."
NOT_ENTERED = (
    "{path} was loaded, but no call of it reached the recorder: either none was made, or it does not support layers. "
    "Then set GPUDX_LIB to the libgpudx-opencl.so beside libgpudx.so and run again."
)

Inspect = Callable[[str], Program]

# form of the program -> (why the recorder cannot be in it, what to do). {path} is the program, {detail} its loader.
REASONS: dict[str, tuple[str, str]] = {
    "static": ("{path} is statically linked", "Link it dynamically (without -static) and run it again."),
    "musl": ("{path} uses the musl loader {detail}", "Build it against glibc, or run a glibc build of it."),
    "other loader": ("{path} uses the loader {detail}", "Build it for the usual loader of this system."),
    "other machine": ("{path} is built for {detail}, the recorder is not", "Run a build for this machine."),
    "set-user-id": (
        "{path} changes user or privileges when it starts (set-user-id, set-group-id or file capabilities)",
        "Run a copy without these bits, which `cp` makes; with sudo, write `sudo gpudx run`.",
    ),
    "unreadable": ("{path} cannot be read, so its kind is not known", "Make it readable, or run a copy you can read."),
    "unknown": ("{path} is not a program that gpudx knows", "Run `gpudx doctor`, then start the program itself."),
    "dynamic": (
        "{path} ended before its start-up was complete, or its loader refused the recorder",
        "Read what the loader wrote above (a shared library may be missing: `ldd {path}`), and run `gpudx doctor`.",
    ),
}
CLEARED = (
    "{path} was started without the environment that loads the recorder",
    "Start gpudx after whatever clears the environment (env -i, sudo, a launcher), as in `env -i gpudx run -- ...`.",
)


@dataclass(frozen=True)
class Presence:
    """Where the recorder was. `reason` and `next_step` are set when it was not in the root's last image."""

    loaded: bool
    images: tuple[str, ...]  # executables it was in, in order, each once
    processes: int
    reason: str = ""
    next_step: str = ""
    blind: tuple[str, ...] = ()  # other programs of the run that it was not in, one sentence each
    not_entered: tuple[str, ...] = ()  # API libraries that were loaded but whose calls did not reach it
    unwritable: tuple[str, ...] = ()  # directories in which no trace could be made


def judge(run: RunResult, inspect: Inspect, ended: Collection[int] = ()) -> Presence:
    """Where the recorder was in `run`.

    `ended` holds the processes whose trace says that they reached their exit handlers with the recorder in them.
    Limits: an image that was started with our environment, could not load the recorder, and lived too short to be
    looked at, is not noticed.
    """
    if not run.started:
        return Presence(False, (), 0, "it was not started")
    lost = None if run.pid in ended else _lost_image(run)
    reason, step = _explain(lost, inspect) if lost else ("", "")
    loaded = [entry for entry in run.roll if entry.kind == RollKind.LOADED]
    return Presence(
        loaded=lost is None,
        images=_unique(entry.path for entry in loaded),
        processes=len({entry.pid for entry in loaded}),
        reason=reason,
        next_step=step,
        blind=_blind(run, inspect, lost),
        not_entered=_paths(run, RollKind.NOT_ENTERED),
        unwritable=_paths(run, RollKind.CANNOT_WRITE),
    )


@dataclass(frozen=True)
class _Lost:
    """An image without the recorder in it; `cleared`: because our environment was taken away."""

    path: str
    cleared: bool


def _lost_image(run: RunResult) -> _Lost | None:
    """The root's last image if the recorder was not in it."""
    mine = [entry for entry in run.roll if entry.pid == run.pid]
    last = max((entry for entry in mine if entry.kind == RollKind.LOADED), key=_time, default=None)
    looks = [look for look in run.looks if look.pid == run.pid and (last is None or look.time_ns > last.time_ns)]
    left = [e for e in mine if _leaves(e) and (last is None or e.time_ns > last.time_ns)]
    if last is None:
        return _Lost(looks[-1].path if looks else run.program, False)
    if looks and looks[-1].path != last.path:
        return _Lost(looks[-1].path, bool(left))
    # It said that it starts something without us and was not seen alive afterwards: it became that program.
    if left and not any(look.time_ns > left[-1].time_ns for look in looks):
        return _Lost(left[-1].path, True)
    return None


def _leaves(entry: RollEntry) -> bool:
    return entry.kind == RollKind.STARTS_WITHOUT and not entry.spawns


def _time(entry: RollEntry) -> int:
    return entry.time_ns


def _explain(lost: _Lost, inspect: Inspect) -> tuple[str, str]:
    """Why the recorder was not in an image, and the next step."""
    if lost.cleared:
        reason, step = CLEARED
        return reason.format(path=lost.path), step
    found = inspect(lost.path)
    reason, step = REASONS[found.form]
    return reason.format(path=found.path, detail=found.detail), step.format(path=found.path)


def _blind(run: RunResult, inspect: Inspect, lost: _Lost | None) -> tuple[str, ...]:
    """Programs of the run, other than the root's last image, that the recorder was not in."""
    known = {entry.path for entry in run.roll if entry.kind == RollKind.LOADED}
    without = [e for e in run.roll if e.kind == RollKind.STARTS_WITHOUT and not (lost and e.pid == run.pid)]
    started = {e.path: (e.pid, True) for e in without if e.path not in known}
    seen = {look.path: (look.pid, False) for look in run.looks if look.pid != run.pid and look.path not in known}
    return tuple(
        f"{path} (process {pid}) ran without the recorder: {_explain(_Lost(path, cleared), inspect)[0]}."
        for path, (pid, cleared) in {**seen, **started}.items()
    )


def _paths(run: RunResult, kind: RollKind) -> tuple[str, ...]:
    return _unique(entry.path for entry in run.roll if entry.kind == kind)


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def instruments(presence: Presence, calls: int, launches: int) -> tuple[Instrument, ...]:
    """The recorder as an instrument of the case, and what kept it from seeing calls."""
    return (
        _recorder(presence, calls, launches),
        *(Instrument("API library", "not live", NOT_ENTERED.format(path=path)) for path in presence.not_entered),
        *(Instrument("trace", "not live", f"No trace could be written in {path}.") for path in presence.unwritable),
    )


def _recorder(presence: Presence, calls: int, launches: int) -> Instrument:
    if not presence.loaded:
        return Instrument(RECORDER, "not live", f"Not loaded into the program: {presence.reason}.", __version__)
    if presence.unwritable and not calls:
        return Instrument(RECORDER, "not live", UNWRITABLE.format(path=presence.unwritable[0]), __version__)
    named = ", ".join(presence.images[:MOST_NAMED])
    more = len(presence.images) - MOST_NAMED
    where = f"Loaded into {named}" + (f" and {more} more" if more > 0 else "")
    return Instrument(RECORDER, "live", f"{where}; saw {plural(calls, 'call')} and {plural(launches, 'launch', 'launches')}.", __version__)


def inconclusive(presence: Presence) -> Diagnosis:
    """The only diagnosis that may be given when the recorder was not in the process that failed."""
    return Diagnosis(
        cause=CAUSE,
        status="inconclusive",
        summary=f"The recorder was not loaded into the process that failed: {presence.reason}.",
        guilty=None,
        victim=None,
        evidence=(Evidence(_roll_says(presence)),),
        refutes_if="The run's list of processes shows the recorder in this program.",
        fix=(presence.next_step,),
        reason="The program was not observed, so the report cannot show why it failed.",
    )


def _roll_says(presence: Presence) -> str:
    if not presence.images:
        return "The recorder was loaded into no process of this run."
    return "The recorder was loaded only into: " + ", ".join(presence.images[:MOST_NAMED]) + "."
