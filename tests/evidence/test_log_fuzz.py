"""Mutated lines of every format: no crash, bounded memory. GPUDX_SLOW=1 runs a million of them, GPUDX_FUZZ_LINES any number."""

from __future__ import annotations

import os
import random
import resource

import pytest
from support.simulated import times
from test_logs import LOUD, SILENT

from gpudx.diagnose.issue import answer
from gpudx.diagnose.logs import explain
from gpudx.evidence.logs._fold import read_log

LINES = int(os.environ.get("GPUDX_FUZZ_LINES", 1_000_000 if os.environ.get("GPUDX_SLOW") else times(20_000)))
BATCH = 5000
SEEDS = [line.encode() for text, _ in LOUD.values() for line in text.split("\n")] + [line.encode() for line in SILENT.split("\n")]
JUNK = (b"\0", b"\xff", b"\r", b"\x1b[31m", "失败".encode(), b"0x", b"-", b"(", b"[", b"9" * 40, b"%s", b"{}", b'"', b"========= ")
MOST_MORE_KB = 200 << 10


def mutated(line: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(0, 4)):
        at, how = chance.randint(0, len(line)), chance.randint(0, 5)
        other = chance.choice(SEEDS)
        if how == 0:
            line = line[:at] + chance.choice(JUNK) + line[at:]
        elif how == 1:
            line = line[:at] + line[at + chance.randint(0, 9) :]
        elif how == 2:
            line = line[:at] + other[chance.randint(0, len(other)) :]
        elif how == 3:
            line = bytes(byte ^ (chance.random() < 0.03) * chance.randint(1, 255) for byte in line)
        elif how == 4:
            line = line * chance.randint(1, 3)
        else:
            line = line.swapcase()
    return line[:5000]


@pytest.mark.timeout(3600)
def test_mutated_lines_break_nothing() -> None:
    chance = random.Random(20261116)
    began = None
    for _ in range(max(1, LINES // BATCH)):
        text = b"\n".join(mutated(chance.choice(SEEDS), chance) for _ in range(BATCH))
        log = read_log("fuzz", [text])
        told = explain([log])
        odd = [one.message for one in told.findings if not one.message or one.message != one.message.strip()]
        assert not odd
        answer(text[:20000].decode("utf-8", "replace"), told)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = began or used
        assert used - began < MOST_MORE_KB
