"""Allows no error and no warning that is not in a baseline file: known findings may stay, new ones fail.

`gpudx gate CASE --write-baseline` writes the file. Findings are identified by their fingerprints, which do not change with
addresses, threads or lines of logs. A case with an instrument that did not work is no evidence: no new finding may only mean
that nothing was checked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudx.errors import UserError
from gpudx.gates._judged import Judged, missing
from gpudx.model import Case, Finding
from gpudx.text import plural

KEY = "new-findings"
EXAMPLE = '"gpudx-baseline.json"'
FORMAT = "gpudx.baseline/1"
COUNTED = ("error", "warning")


def judge(limit: Any, cases: Sequence[Case], place: Path) -> Judged:
    path = file(limit, place)
    if not path.exists():
        return missing(KEY, f"there is no {path.name}: write it with --write-baseline.")
    known = _known(path)
    blind = [one.name for case in cases for one in case.instruments if one.failed]
    new = [one for one in _counted(cases) if one.fingerprint not in known]
    if new:
        return Judged(KEY, False, f"{plural(len(new), 'finding is', 'findings are')} new; the first: {new[0].message}")
    if blind or not any(case.instruments for case in cases):
        return missing(KEY, f"{blind[0] if blind else 'nothing'} did not work, so new findings could not be seen.")
    return Judged(KEY, True, f"none that {path.name} does not have ({len(known)} known).")


def write(cases: Sequence[Case], limit: Any, place: Path) -> tuple[Path, int]:
    """The baseline file with what these cases have."""
    path, found = file(limit, place), {one.fingerprint: one for one in _counted(cases)}
    entries = {key: f"{one.id}: {one.message}" for key, one in sorted(found.items())}
    try:
        path.write_text(json.dumps({"schema": FORMAT, "findings": entries}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): name another in gpudx.toml.") from None
    return path, len(entries)


def file(limit: Any, place: Path) -> Path:
    """Where the baseline is: beside gpudx.toml, unless the path is absolute."""
    if not isinstance(limit, str) or not limit:
        raise UserError(f"gpudx.toml: {KEY} must name the baseline file; write {KEY} = {EXAMPLE}.")
    return place / limit


def _counted(cases: Sequence[Case]) -> list[Finding]:
    return [one for case in cases for one in case.findings if one.severity in COUNTED]


def _known(path: Path) -> set[str]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] == FORMAT:
            return set(data["findings"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UserError(f"{path} is not a baseline: write it again with --write-baseline.")
