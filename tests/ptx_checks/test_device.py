"""What device.cu decides, compiled for the host: when two accesses are a race, and when fences, grids and values say that they are not."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.builds import ROOT

DEVICE = ROOT / "src/gpudx/ptx_checks/device.cu"
# Steps are words: w1 block 1 writes, r1 it reads, f1:256 it passes 256 fences, g5 the fifth grid from here, g-1 the one before;
# s40 thread 40 writes shared memory, a40 it updates it atomically.
MAIN = """
#include "on_host.h"
#include "DEVICE"
static unsigned data[64];
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *more;
        long number = strtol(argv[i] + 1, &more, 10), times = *more ? strtol(more + 1, NULL, 10) : 1;
        if (strchr("wrf", *argv[i])) blockIdx.x = number;
        if (strchr("sa", *argv[i])) blockIdx.x = 0, threadIdx.x = number;
        if (*argv[i] == 'w' || *argv[i] == 'r') gdx_access((u64)(data + 5), i | 4 << 16 | (*argv[i] == 'w' ? WRITES : 0), 0);
        if (*argv[i] == 'f') while (times--) gdx_fence();
        if (*argv[i] == 'g') the_grid += number;
        if (*argv[i] == 's') gdx_shared(64, i | 4 << 16 | WRITES);
        if (*argv[i] == 'a') gdx_shared(64, i | 4 << 16 | WRITES | ATOMIC);
    }
    unsigned races = 0;
    for (unsigned i = 0; i < gdx_report[0]; i++) races += gdx_report[8 + i * WORDS] == RACE;
    printf("%u", races);
}
"""


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], int]:
    folder = tmp_path_factory.mktemp("device")
    (folder / "main.cpp").write_text(MAIN.replace("DEVICE", str(DEVICE)))
    here = str(Path(__file__).parent)
    subprocess.run(["g++", "-w", "-O1", f"-I{here}", "-o", folder / "main", folder / "main.cpp"], check=True)
    return lambda steps: int(subprocess.run([folder / "main", *steps.split()], check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize(
    "steps",
    [
        "w1 r2",
        "w1 w2",
        "f1 w1 r2",  # the fence came before
        "w1 f2 r2",  # the reader's fence publishes nothing
        "w1 f1 w3 r2",
        "s0 a40",
    ],
)
def test_an_access_that_nothing_orders_is_a_race(races: Callable[[str], int], steps: str) -> None:
    assert races(steps) > 0


@pytest.mark.parametrize(
    "steps",
    [
        "w1 f1 r2",
        "w1 r1",  # one block
        "r1 r2",
        "w1 f1:256 r2",  # each thread of a block
        "w1 f1:65536 r2",  # each thread, 256 times
        "w1 g1 r2",  # the next kernel
        "w1 g65536 r2",
        "w1 g4194304 r2",
        "g2 w1 g-1 r2",  # kernels at once
        "s0 a8",  # one warp
        "s0 g1 a40",
        "s0 g65536 a40",
    ],
)
def test_what_is_ordered_is_no_race(races: Callable[[str], int], steps: str) -> None:
    assert races(steps) == 0
