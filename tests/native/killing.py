"""Kill a writing process at a random moment and check that its trace has exactly what it had committed."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from records import LEDGER_CALL, gap, read

from gpudx.trace import Trace, open_trace

THREADS = 8
TOLD = np.dtype([("ring", "<u8"), ("ledger", "<u8"), ("spare", "<u8", (6,))])
START_TIMEOUT_S = 30


@dataclass(frozen=True)
class Outcome:
    """What one kill left behind."""

    opened: bool  # was there a trace yet
    records: int
    overwritten: int
    in_flight: int


def kill_once(driver: Path, folder: Path, env: Mapping[str, str], rng: random.Random) -> Outcome:
    """One process, one SIGKILL, one check. AssertionError if a committed record is missing or a broken one is read."""
    folder.mkdir()
    told = folder / "told"
    told.write_bytes(bytes(THREADS * TOLD.itemsize))
    full = {**env, "GPUDX_DIR": str(folder)}
    process = subprocess.Popen([driver, "endless", str(told), str(THREADS)], env=full)
    try:
        _wait_for_a_moment(told, rng)
    finally:
        process.kill()
        process.wait()
    committed = np.fromfile(told, TOLD)
    outcome = _check(folder, committed)
    shutil.rmtree(folder)
    return outcome


def _wait_for_a_moment(told: Path, rng: random.Random) -> None:
    """In one of three runs while the trace is being opened, else while all threads write."""
    if rng.random() < 1 / 3:
        time.sleep(rng.uniform(0, 0.008))
        return
    deadline = time.monotonic() + START_TIMEOUT_S
    while not np.fromfile(told, TOLD)["ring"].all() and time.monotonic() < deadline:
        time.sleep(0.0002)
    time.sleep(rng.uniform(0, 0.015))


def _check(folder: Path, committed: np.ndarray) -> Outcome:
    traces = list(folder.glob("*.gdx"))
    if not traces:
        assert not committed["ring"].any(), "records were committed, but there is no trace"
        return Outcome(False, 0, 0, 0)
    trace = open_trace(traces[0])
    assert {g.kind for g in trace.gaps} <= {"overwritten"}, trace.gaps
    overwritten = _check_ring(trace, committed["ring"])
    _check_ledger(trace, committed["ledger"])
    assert gap(trace, "overwritten") == overwritten
    return Outcome(True, len(trace), overwritten, int((trace.column("end") == 0).sum()))


def _check_ring(trace: Trace, committed: np.ndarray) -> int:
    """The newest records of every thread, without a hole; the number of those that were overwritten."""
    found, overwritten = read(trace), 0
    assert found.whole.all(), "a broken record was accepted"
    for thread in range(THREADS):
        counters = found.counters(thread)
        told = int(committed[thread])
        if not len(counters):
            assert told == 0, f"thread {thread}: {told} committed, none read"
            continue
        low, high = int(counters[0]), int(counters[-1])
        assert len(counters) == high - low + 1, f"thread {thread}: a hole between {low} and {high}"
        assert high in (told, told + 1), f"thread {thread}: {told} committed, {high} read"
        overwritten += low - 1
    return overwritten


def _check_ledger(trace: Trace, committed: np.ndarray) -> None:
    found = read(trace, LEDGER_CALL)
    assert found.whole.all(), "a broken object record was accepted"
    for thread in range(THREADS):
        counters, told = found.counters(thread), int(committed[thread])
        assert list(counters) == list(range(1, len(counters) + 1)), f"thread {thread}: an object record is missing"
        assert len(counters) in (told, told + 1), f"thread {thread}: {told} objects committed, {len(counters)} read"
