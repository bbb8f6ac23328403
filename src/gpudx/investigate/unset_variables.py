"""Does the outcome depend on a private variable that a kernel may read before it writes it? Decided by runs with different values in it.

The same value must give the same outcome each time, and another value another one. Where several variables may be read too early, the
others keep one value while one of them is changed, until one is found that makes the difference.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpudx.causes import every as every_cause
from gpudx.diagnose.kernel_check_runs import OWN_TEXT
from gpudx.facts import Facts
from gpudx.investigate.ordered import Wanted
from gpudx.kernel_checks.suspects import Suspect
from gpudx.lab.experiments import VARIANT, Context, base
from gpudx.lab.experiments.filled_variables import FILLS, ID, ZERO, suspects
from gpudx.model import Access, Diagnosis, Evidence, Guilty, Trial
from gpudx.text import plural

CAUSE = "unset-variable"
WHY = "whether the outcome depends on a variable that a kernel has not set"
PER_VALUE, AGAIN = 3, 2  # runs with all variables at a value; with one of them at it
NOTHING = ("not reached", "tool missing")
SHOWN = 4
DEPENDS = "The outcome changes with the value of this variable, and with nothing else between these runs."
UNUSED = "What the program reads back changes with the value of this variable; it is not shown that the program uses it."
FRESH = "read-before-write"  # what it is of a local array
DEPENDS_ON_LOCAL = "The result changes with what this local memory holds when the kernel starts, and with nothing else between these runs."
READS_BACK = "reads other bytes back from the device"


def next_run(trials: Sequence[Trial], runnable: Collection[str]) -> Wanted | None:
    """The next run that is needed; None: it is decided, or no value makes a difference."""
    seen = _Seen(trials)
    mine = [name for name in runnable if base(name) == ID]
    if not mine or seen.is_lost:
        return None
    fill = seen.fill
    if fill is None:
        missing = next((one for one in FILLS if not seen.of(one)), None)
        return _wanted(missing, 1) if missing else (_wanted(ZERO, 2) if len(seen.of(ZERO)) < AGAIN else None)
    for one in (ZERO, fill):
        if len(seen.of(one)) < PER_VALUE:
            return _wanted(one, PER_VALUE)
    if not seen.is_steady(ZERO, fill):
        return None
    return _single(seen, fill, [name for name in mine if name.startswith(f"{ID}{VARIANT}{fill}.")])


def _single(seen: _Seen, fill: str, names: Sequence[str]) -> Wanted | None:
    """One variable by itself, until one makes a difference twice."""
    for name in names if len(names) > 1 else ():
        variant = name.partition(VARIANT)[2]
        made = seen.of(variant)
        if not made:
            return _wanted(variant, 1)
        if seen.differs(made[0]):
            return _wanted(variant, AGAIN) if len(made) < AGAIN else None
    return None


def _wanted(variant: str, runs: int) -> Wanted:
    return Wanted(f"{ID}{VARIANT}{variant}", runs, WHY)


class _Seen:
    """The runs with values, by variant."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._made: dict[str, list[Trial]] = {}
        for trial in trials:
            if base(trial.experiment) == ID:
                self._made.setdefault(trial.experiment.partition(VARIANT)[2], []).append(trial)

    @property
    def is_lost(self) -> bool:
        return any(trial.outcome in NOTHING for made in self._made.values() for trial in made)

    def of(self, variant: str) -> list[Trial]:
        return self._made.get(variant, [])

    def _end(self, trial: Trial) -> tuple[str, str, str]:
        """How a run ended, what it printed and what it read back, as far as that is the same in runs with the same values."""
        same = len(self.of(ZERO)) >= AGAIN
        printed, given = ({getattr(one, name) for one in self.of(ZERO)} for name in ("output", "given"))
        return trial.ending, trial.output if same and len(printed) == 1 else "", trial.given if same and len(given) == 1 else ""

    def difference(self, variant: str) -> str:
        """What a value changes, for people."""
        ending, printed, _ = (one != other for one, other in zip(self._end(self.of(variant)[0]), self._end(self.of(ZERO)[0]), strict=True))
        return "ends otherwise" if ending else "prints something else" if printed else READS_BACK

    def differs(self, trial: Trial) -> bool:
        return bool(self.of(ZERO)) and self._end(trial) != self._end(self.of(ZERO)[0])

    @property
    def fill(self) -> str | None:
        """A value that makes a difference."""
        return next((one for one in FILLS[1:] if self.of(one) and self.differs(self.of(one)[0])), None)

    def is_steady(self, *variants: str) -> bool:
        return all(len({self._end(trial) for trial in self.of(one)}) == 1 for one in variants)

    def culprit(self, fill: str) -> int | None:
        """The number of the variable that makes the difference alone."""
        singles = [one for one in self._made if one.startswith(f"{fill}.")]
        shown = [one for one in singles if len(self.of(one)) >= AGAIN and all(map(self.differs, self.of(one)))]
        return int(shown[0].partition(".")[2]) if shown and self.is_steady(shown[0]) else None

    def told(self, variant: str) -> str:
        made = self.of(variant)
        prints = ", ".join(dict.fromkeys(trial.output[:8] for trial in made if trial.output))
        endings = ", ".join(dict.fromkeys(trial.ending for trial in made))
        return f"{plural(len(made), 'run')}: {endings}{f', output {prints}' if prints else ''}"


def entry(trials: Sequence[Trial], context: Context, processes: Sequence[Facts]) -> Diagnosis | None:
    """Once it is shown. `processes` are of the run that completed it."""
    seen = _Seen(trials)
    fill = seen.fill
    if fill is None or min(len(seen.of(ZERO)), len(seen.of(fill))) < PER_VALUE or not seen.is_steady(ZERO, fill):
        return None
    every, names = suspects(context), [f"{ID}{VARIANT}{fill}.{number}" for number in range(1, len(suspects(context)) + 1)]
    if len(every) > 1 and next_run(trials, [*(f"{ID}{VARIANT}{one}" for one in FILLS), *names]) is not None:
        return None
    number = 1 if len(every) == 1 else seen.culprit(fill)
    chosen = every[number - 1] if number else every[0]
    alone = f"{fill}.{number}" if number and len(every) > 1 else fill
    found = (_diagnosis(facts, seen, chosen, every if not number else (), alone) for facts in processes)
    return next(filter(None, found), None)


def _diagnosis(facts: Facts, seen: _Seen, chosen: Suspect, several: Sequence[Suspect], variant: str) -> Diagnosis | None:
    launches = facts.launches
    rows = [n for n in range(len(launches)) if launches.name(n) in chosen.kernels and launches.status[n] == 0]
    if not rows:
        return None
    local = chosen.space == "local" and not several
    cause, site = every_cause()[FRESH if local else CAUSE], facts.sites.at(int(launches.position[rows[0]]))
    where = "" if chosen.function == site.kernel else f" (in {chosen.function}())"
    what = _names(several) if several else f"`{chosen.name}`"
    ends = seen.difference(variant)
    value = variant.partition(".")[0]
    return Diagnosis(
        cause=cause.id,
        status="confirmed" if not several and ends != READS_BACK else "likely",  # a program may ignore what it reads
        summary=(
            f"Kernel {site.kernel} (launch {site.launch}) reads {what}{where} before it has a value"
            f"{', and the result depends on it' if ends != READS_BACK else ''}: with 0x{value} there instead of 0, the program {ends}."
        ),
        guilty=Guilty.at(site, None),
        victim=None,
        evidence=(
            *(_declared(facts, one) for one in (several or (chosen,))[:SHOWN]),
            Evidence(f"with 0 in {what}, {seen.told(ZERO)}"),
            Evidence(f"with 0x{value} in {what}, {seen.told(variant)}"),
        ),
        refutes_if=cause.refutes_if,
        fix=(f"Give {what} a value where it is declared." if not several else cause.fix[0],),
        reason=UNUSED if ends == READS_BACK else DEPENDS,
        observed=True,
        access=Access(kind="read", by="kernel", kernel=site.kernel or "", source=_source(facts, chosen, chosen.line), space=chosen.space),
    )


def is_of_local(entry: Diagnosis) -> bool:
    """A read of local memory that nothing has written; of an atomic function, which reads and writes, the access counts as a write."""
    return entry.cause == FRESH and entry.access is not None and entry.access.space == "local"


def local_depends(trials: Sequence[Trial]) -> tuple[Evidence, ...]:
    """What shows that the outcome depends on what local memory holds when a kernel starts; nothing if no run shows it."""
    if not any(base(trial.experiment) == ID and FRESH in trial.shown for trial in trials):
        return ()
    seen = _Seen(trials)
    return tuple(Evidence(f"with 0x{fill} in fresh local memory, {seen.told(fill)}") for fill in (ZERO, seen.fill or ZERO))


def makes_no_difference(trials: Sequence[Trial]) -> bool:
    """Did the program do the same with each value?"""
    seen = _Seen(trials)
    return all(seen.of(one) for one in FILLS) and not seen.is_lost and seen.fill is None


def _names(several: Sequence[Suspect]) -> str:
    return "one of " + ", ".join(f"`{one.name}`" for one in several[:SHOWN])


def _declared(facts: Facts, one: Suspect) -> Evidence:
    read = f", and it may be read at {_source(facts, one, one.used)} before it is written" if one.used else ""
    return Evidence(f"`{one.name}` is declared without a value at {_source(facts, one, one.line)}{read}")


def _source(facts: Facts, one: Suspect, line: int) -> str:
    found = facts.kernel_files.place(one.source, line)
    return f"{found[0]}:{found[1]}" if found else f"{OWN_TEXT}:{line}"
