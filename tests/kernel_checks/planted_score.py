"""Which planted faults a case names, and which correct twins it accuses. Usage: planted_score.py CASE [FILE...]"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from planted_host import Planted, read

EXPECTED = {
    "bounds_global": {"bounds"}, "bounds_local_private": {"bounds"}, "races": {"race"}, "uninit": {"uninitialized"},
    "barriers": {"barrier"}, "arithmetic": {"division", "overflow", "alignment"}, "nan_loops": {"nan", "loop"},
}  # fmt: skip
PREFIXES = {"uninit": "uninitialized"}  # of names in files that have all kinds
FOLDER = Path(__file__).parent / "planted"


def every() -> list[Planted]:
    return [one for path in sorted(FOLDER.glob("*.cl")) for one in read(path)]


def expected(one: Planted) -> set[str]:
    if one.file in EXPECTED:
        return EXPECTED[one.file]
    prefix = one.name.partition("_")[0]
    return {PREFIXES.get(prefix, prefix)}


def score(case: Path, files: Collection[str] = ()) -> tuple[list[str], list[str], list[str]]:
    """Found; missed with what was said instead; accused twins."""
    findings = [
        f for f in json.loads((case / "case.json").read_text())["findings"] if f["id"].startswith("kernel-check-")
    ]
    said: dict[str, list[tuple[str, int]]] = {}
    for finding in findings:
        kind = finding["id"].removeprefix("kernel-check-")
        shown = finding["access"]["source"].rpartition(":")[2].removeprefix("line ")
        lines = {int(shown), int(dict(finding["facts"])["line"])}  # the line to change, and the one of the access or barrier
        said.setdefault(finding["site"]["kernel"], []).extend((kind, line) for line in sorted(lines))
    found, missed, accused = [], [], []
    for one in (one for one in every() if not files or one.file in files):
        faulty = said.get(one.kernel(True), [])
        hit = any(kind in expected(one) and line in one.lines for kind, line in faulty)
        (found if hit else missed).append(
            one.name if hit else f"{one.file}/{one.name}: {faulty}, wanted lines {sorted(one.lines)}"
        )
        twin = said.get(one.kernel(False), [])
        if twin:
            accused.append(f"{one.file}/{one.name}: {twin}")
    return found, missed, accused


if __name__ == "__main__":
    found, missed, accused = score(Path(sys.argv[1]), sys.argv[2:])
    print(f"{len(found)} of {len(found) + len(missed)} found; {len(accused)} twins accused")
    print("\n".join(["missed:", *missed, "accused:", *accused]))
