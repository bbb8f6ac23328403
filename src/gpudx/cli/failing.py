"""How a capsule fails, as something that can be compared: what `gpudx shrink` keeps."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpudx.capsule import file
from gpudx.capsule.compare import element_type
from gpudx.errors import UserError
from gpudx.lab import replay

if TYPE_CHECKING:
    from gpudx.capsule.model import Bytes, Capsule
    from gpudx.model import Finding

STRICT_CHECKS = "bounds,align,uninit,races,barriers,div"


@dataclass(frozen=True)
class Failure:
    """A way to fail. `kind`: checked (the checks inside the kernel report `marks`), crashed, failed, refused, nan, devices."""

    kind: str
    marks: frozenset[tuple[str, ...]] = frozenset()
    says: tuple[str, ...] = ()
    times: int = 0  # how often the checks reported it; 0: not known

    @property
    def checks(self) -> str:
        return ",".join(sorted({one[0].removeprefix("kernel-check-") for one in self.marks}))


class Observer:
    """Runs capsules, and says how they fail."""

    def __init__(self, device: str, against: str, trust: bool) -> None:
        self.device, self.against, self.trust = device, against, trust
        self.runs = 0

    def failure(self, capsule: Capsule) -> Failure | None:
        """How it fails: by the most telling of the ways that are known."""
        if self.against:
            return self._devices(capsule)
        return (self._checked(capsule, STRICT_CHECKS) if self._checkable(capsule) else None) or self._plain(capsule)

    def _checkable(self, capsule: Capsule) -> bool:
        from gpudx.kernel_checks import syntax

        return capsule.api == "opencl" and capsule.code("source") is not None and syntax.available()

    def fails_so(self, capsule: Capsule, known: Failure) -> bool:
        """Does it fail in this way, and in no other?"""
        if known.kind == "devices":
            found = self._devices(capsule)
        else:
            found = self._checked(capsule, STRICT_CHECKS) if known.kind == "checked" else self._plain(capsule)
        if found is None or (found.kind, found.marks) != (known.kind, known.marks):
            return False
        if known.kind not in ("checked", "devices") and self._checkable(capsule):
            return self._checked(capsule, STRICT_CHECKS) is None  # it had no fault that they report: a buffer may be too small now
        return found.times <= known.times  # more of them would be another fault: a buffer that is too small for all

    def _plain(self, capsule: Capsule) -> Failure | None:
        self.runs += 1
        done = replay.play(capsule, device=self.device, trust=self.trust)
        if done.how == "crashed" and done.stage in ("launching", "reading"):
            return Failure("crashed", frozenset({(done.signal,)}), (f"{capsule.kernel} crashes with {done.signal}",))
        if done.how in ("failed", "refused"):
            said = f"the launch {'is refused' if done.how == 'refused' else 'ends'} with status {done.status}"
            return Failure(done.how, frozenset({(str(done.status),)}), (said,))
        if done.how in ("equal", "ran", "differs"):
            made = _nonfinite(capsule, done.outputs)
            if made:
                said = f"{capsule.kernel} makes NaN or infinities from finite inputs"
                return Failure("nan", frozenset((str(one),) for one in made), (said,))
        return None

    def _devices(self, capsule: Capsule) -> Failure | None:
        """Two devices give different results."""
        self.runs += 2
        one = replay.play(capsule, device=self.device, trust=self.trust)
        other = replay.play(capsule, device=self.against, trust=self.trust)
        for done in (one, other):
            if done.how == "cannot":
                raise UserError(f"The capsule cannot be replayed: {done.problem}.")
        differing = {
            (str(number),)
            for number, content in one.outputs.items()
            if number in other.outputs and not np.array_equal(content, other.outputs[number])
        }
        if one.outputs and other.outputs and differing:
            said = f"{capsule.kernel} gives different results on {one.device} and on {other.device}"
            return Failure("devices", frozenset(differing), (said,))
        ends = (one.how in ("crashed", "failed", "hung"), other.how in ("crashed", "failed", "hung"))
        if ends[0] != ends[1]:
            bad, good = (one, other) if ends[0] else (other, one)
            return Failure(
                "devices",
                frozenset({(bad.how,)}),
                (f"{capsule.kernel} {bad.how} on {bad.device} and ends on {good.device}",),
            )
        return None

    def _checked(self, capsule: Capsule, checks: str) -> Failure | None:
        """What the checks inside the kernel report in a replay."""
        from gpudx.lab import kernel_checked
        from gpudx.lab.recorded import run_recorded
        from gpudx.model.how import How
        from gpudx.pipeline import diagnose_run

        self.runs += 1
        folder = Path(tempfile.mkdtemp(prefix="gpudx-shrink-"))
        try:
            path = folder / f"given{file.SUFFIX}"
            path.write_bytes(file.to_bytes(capsule))
            more = [*(["--device", self.device] if self.device else []), *(["--trust"] if self.trust else [])]
            words = replay.words(path, capsule.api, folder, more)
            how = How(
                kernel_checks=kernel_checked.wanted(checks, capsule.kernel),
                output=folder / "output.txt",
                timeout=replay.PATIENCE_S,
                extra_env={"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            case = diagnose_run(run_recorded(words, folder / "case", how), words, folder / "case").case
            found = [one for one in case.findings if one.id.startswith("kernel-check-")]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if not found:
            return None
        said = tuple(one.message.replace(" (launch 1)", "") for one in found)
        return Failure("checked", frozenset(_mark(one) for one in found), said, sum(_times(one) for one in found))


def _times(one: Finding) -> int:
    for evidence in one.evidence:
        found = re.search(r"this was reported (?:at least )?(once|[\d,]+ times)", evidence.text)
        if found:
            return 1 if found[1] == "once" else int(found[1].split()[0].replace(",", ""))
    return 1


def _mark(one: Finding) -> tuple[str, ...]:
    """What must stay: the check, the expression, the argument, and how far from the end it reaches."""
    facts = dict(one.facts)
    distance = ""
    if one.access and one.access.offset is not None and one.allocation and one.allocation.size is not None:
        past = one.access.offset - one.allocation.size
        distance = str(past if past >= 0 else min(0, one.access.offset))
    return one.id, facts.get("expression", ""), facts.get("argument", ""), distance


def _nonfinite(capsule: Capsule, outputs: dict[int, Bytes]) -> list[int]:
    """Buffers that were finite before and are not any more."""
    made = []
    for one in capsule.buffers:
        argument = capsule.argument_of(one.number)
        kind = element_type(argument.type if argument else "")
        if one.parent is not None or kind.kind != "f" or one.number not in outputs:
            continue
        size = one.size // kind.itemsize * kind.itemsize
        if one.before is not None and not np.isfinite(one.before[:size].view(kind)).all():
            return []
        if not np.isfinite(outputs[one.number][:size].view(kind)).all():
            made.append(one.number)
    return made
