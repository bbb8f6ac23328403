"""Synthetic processes held against contracts and hypotheses that a test writes as TOML."""

from __future__ import annotations

import json
from pathlib import Path

from support.synthetic import World

from gpudx.contracts import contracts
from gpudx.contracts.checking import Checked, check
from gpudx.facts import Facts, derive


def facts_of(world: World, folder: Path, name: str = "1-0.gdx") -> Facts:
    return derive(world.write(folder / name))


def held(folder: Path, facts: Facts | list[Facts], kernel: str, *require: str, more: str = "") -> Checked:
    """The check of one contract; `more` are further lines of it."""
    path = folder / "contracts.toml"
    path.write_text(f'[[contract]]\nkernel = "{kernel}"\nrequire = {json.dumps(require)}\n{more}\n')
    return check(contracts.read(path), facts if isinstance(facts, list) else [facts])
