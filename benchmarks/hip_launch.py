"""What recording adds to one HIP launch: a simulated runtime whose launches return at once, plain and recorded in turns.

The program is built by hipcc and launches a kernel of four arguments; nothing runs on a device. Each turn is a process of its
own, plain and recorded alternating, so that a machine that drifts does not decide. Time is the thread's processor time, in
rounds: what other processes take does not count, and of each process its fastest round does. The simulated device reaches a
breadcrumb at once; with its usual delay, which launches here do not have, it would never catch up with 10 million launches a
second. Goal: at most 150 ns, breadcrumbs included.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from gpudx import native
from gpudx.backends import linking
from gpudx.lab.build import Recipe, build

LAUNCHES, TURNS = 400_000, 9
SOURCE = """
#include <hip/hip_runtime.h>
#include <ctime>
#include <cstdio>
#include <cstdlib>
enum { ROUNDS = 40 };
static double now()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
__global__ void four(float *out, const float *in, int count, float factor) {}
int main(int, char **words)
{
    const int launches = atoi(words[1]) / ROUNDS;
    double fastest = 1e9;
    float *memory;
    hipMalloc((void **)&memory, 4096);
    hipMemsetAsync(memory, 0, 4096, 0);
    hipDeviceSynchronize();
    for (int i = 0; i < 1000; i++)
        hipLaunchKernelGGL(four, dim3(1), dim3(64), 0, 0, memory, memory, i, 2.0f);
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();
        for (int i = 0; i < launches; i++)
            hipLaunchKernelGGL(four, dim3(1), dim3(64), 0, 0, memory, memory, i, 2.0f);
        double each = (now() - begin) / launches;
        fastest = each < fastest ? each : fastest;
    }
    printf("%f\\n", fastest);
}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "launch.hip").write_text(SOURCE)
        flags = ("-O2", "--offload-arch=gfx90a", "-Wno-unused-result")
        built = build(Recipe("launch", ("launch.hip",), flags, (), "hipcc"), folder, linking("hip"))
        plain_env = os.environ | built.environment | {"GPUDX_HIP_SIM_NOOP": "1", "GPUDX_HIP_SIM_DELAY_MS": "0"}
        rows = []
        for turn in range(TURNS):
            ours = plain_env | {"LD_PRELOAD": str(native.library()), "GPUDX_DIR": str(folder / str(turn))}
            (folder / str(turn)).mkdir()
            settings = (plain_env, ours, ours | {"GPUDX_CRUMBS": "off"})
            rows.append([once(built.program, environment) for environment in settings])
    plain = statistics.median(row[0] for row in rows)
    added, without = (statistics.median(row[i] - row[0] for row in rows) for i in (1, 2))
    print(f"plain {plain:.1f} ns; recording adds {added:.1f} ns per launch, {without:.1f} ns without breadcrumbs")
    print(f"medians of {TURNS} turns: {', '.join('/'.join(f'{value:.0f}' for value in row) for row in rows)}")
    sys.exit(0 if added <= 150 else 1)


def once(program: Path, environment: dict[str, str]) -> float:
    done = subprocess.run([program, str(LAUNCHES)], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
