"""The launch that a case holds guilty, as far as it is tied to one, and the launches that succeeded before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.contracts.launches import Launches
from gpudx.model import Case, Diagnosis

Bool = NDArray[np.bool_]


@dataclass(frozen=True)
class Fault:
    """A launch by its number in a process. `ended_before`: up to this call all work had surely ended well, if known."""

    pid: int | None
    launch: int
    number: int
    certain: bool
    ended_before: int | None = None

    def among(self, table: Launches) -> tuple[Bool, Bool]:
        """Which of these launches it is, and which went well before it."""
        positions = table.facts.launches.position[table.rows]
        good = (table.facts.launches.status[table.rows] == 0) & table.facts.launches.done[table.rows]
        until = self.number if self.certain else self.ended_before or 0
        return table.rows + 1 == self.launch, good & (positions + 1 < until if self.certain else positions + 1 <= until)


def fault_of(case: Case) -> Fault | None:
    """The launch of the best diagnosis, if that is confirmed or likely and names one."""
    if case.outcome.passed:
        return None
    for entry in case.diagnosis[:1]:
        guilty = entry.guilty
        if (
            entry.status in ("confirmed", "likely")
            and guilty
            and guilty.launch is not None
            and guilty.number is not None
        ):
            return Fault(_pid(case, entry), guilty.launch, guilty.number, entry.status == "confirmed", _ended(case))
    return None


def _pid(case: Case, entry: Diagnosis) -> int | None:
    """The process of the guilty launch: that of the finding that named it."""
    for finding in case.findings:
        if finding.fingerprint in entry.findings:
            sites = [site for site in (finding.site, *finding.others) if site]
            named = [site.pid for site in sites if entry.guilty and site.number == entry.guilty.number]
            return named[0] if named else sites[0].pid if sites else None
    return case.processes[0].pid if len(case.processes) == 1 else None


def _ended(case: Case) -> int | None:
    symptoms = [finding.symptom for finding in case.findings if finding.symptom]
    return next((one.interval.ended_before for one in symptoms if one.interval), None)
