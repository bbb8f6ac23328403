"""kill -9 at random moments: what was committed is read, nothing else is. benchmarks/kill9.py does it 500 times."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from killing import kill_once
from native_kit import Kit
from support.simulated import SLOW

KILLS = 20 if SLOW else 10


@pytest.mark.parametrize("keep", ["all", str(512 << 10)])
def test_a_killed_process_leaves_all_it_committed(kit: Kit, tmp_path: Path, keep: str) -> None:
    driver = kit.linked("core_driver")
    env = kit.environment("linked", tmp_path, keep)
    rng = random.Random(20)
    outcomes = [kill_once(driver, tmp_path / str(i), env, rng) for i in range(KILLS)]
    assert sum(o.opened for o in outcomes) >= KILLS // 3
    assert sum(o.records for o in outcomes) > 1000
