"""gpudx explain on logs of 100 MB: one in which nothing is wrong, and some in which every line tells of the same fault.

Each log is read in a process of its own. Seconds are those of the processor, so that other work on the machine does not count;
the reader has one thread, so that an idle processor takes as long.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common import ROOT, Result, Row, arguments, finish

MOST_SECONDS = 8.0  # for 100 MB
MOST_MEGABYTES = 100.0
MEGABYTES = 100

CHILD = """
import json, resource, sys, time
from pathlib import Path
from gpudx.diagnose.logs import explain
from gpudx.evidence._lines import chunks
from gpudx.evidence.logs._fold import read_log

begin = time.process_time()
told = explain([read_log("log", chunks(Path(sys.argv[1])))])
seconds = time.process_time() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "megabytes": peak, "findings": len(told.findings)}))
"""


def quiet(i: int) -> str:
    return f"2026-05-01T12:00:{i % 60:02d}.123Z INFO step {i} loss=0.{i * 7919 % 9973:04d} lr=0.0003 tokens/s=12034 memory 71.2 GiB\n"


def xid(i: int) -> str:
    return f"[{i}.5] NVRM: Xid (PCI:0000:01:00): 31, pid={i}, name=app, Ch 00000008. MMU Fault: faulted @ 0x7f2a_{i % 65536:04x}0000.\n"


def reported(i: int) -> str:
    return f"step {i}: CUDA error: an illegal memory access was encountered at /src/train{i % 50}.cu:{i % 300}\n"


def sanitizer(i: int) -> str:
    return (
        "========= Invalid __global__ read of size 4 bytes\n=========     at fill(float *, int)+0x70 in a.cu:7\n"
        f"=========     by thread ({i % 1024},0,0) in block ({i % 777},0,0)\n=========     Address 0x7f{i:010x} is out of bounds\n"
        "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
        "=========         Host Frame: main [0x1234] in app\n=========\n"
    )


def ptxas(i: int) -> str:
    return (
        f"ptxas info    : Compiling entry function '_Z4foldILi{i}EEvPf' for 'sm_90'\n"
        f"ptxas info    : Function properties for _Z4foldILi{i}EEvPf\n"
        f"    {i % 7 * 8} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        f"ptxas info    : Used {i % 200 + 8} registers, used 1 barriers, 4096 bytes smem, 400 bytes cmem[0]\n"
    )


def sass(i: int) -> str:
    head = f"\t\tFunction : _Z4foldILi{i // 50}EEvPf\n" if i % 50 == 0 else ""
    return (
        f"{head}        /*{i % 4096:04x}*/                   HMMA.16816.F32 R16, R4, R16, RZ ;     /* 0x{i:016x} */\n"
    )


def retries(i: int) -> str:
    """Words of failure in every line, and nothing failed."""
    return f"2026-05-01T12:00:{i % 60:02d}.1Z WARN [worker-{i % 7}] retrying request {i} after error in worker; 0 failed, cache {i % 997}\n"


def oclgrind(i: int) -> str:
    return (
        f"\nInvalid write of size 4 at global memory address 0x100000000{i % 65536:04x}\n\tKernel: scale\n"
        f"\tEntity: Global({i},0,0) Local({i % 256},0,0) Group({i // 256},0,0)\n"
        f"\t  store i32 1, i32 addrspace(1)* %arrayidx, align 4\n\tAt line {i % 40} (column 6) of input.cl:\n\t  a[i] = 1;\n\t\n"
    )


def dmesg(i: int) -> str:
    return (
        f"[{i}.123456] usb 1-1: new high-speed USB device number {i % 99} using xhci_hcd\n"
        f"[{i}.223456] amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:{i % 999}, for process a pid {i})\n"
        f"[{i}.323456] amdgpu 0000:03:00.0: amdgpu:   in page starting at address 0x00007f{i:010x} from client 0x1b (UTCL2)\n"
        f"[{i}.423456] i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dffffb, in app [{i}]\n"
        f"[{i}.523456] EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro\n"
    )


def hip_calls(i: int) -> str:
    """AMD_LOG_LEVEL=3."""
    head = f":3:hip_module.cpp :670 : {i} us: [pid:2429 tid:0x7053] hipLaunchKernel"
    return f"{head} ( 0x20{i % 7}, {{1,1,1}}, {{256,1,1}}, 0x7ffd, 0, stream:<null> )\n{head}: Returned hipSuccess : \n"


def mixed(i: int) -> str:
    """All kinds in one log."""
    kinds = (quiet, words, xid, reported, sanitizer, ptxas, oclgrind, dmesg, test, refused, compiled, context)
    return kinds[i % len(kinds)](i)


def test(i: int) -> str:
    return f"[ RUN      ] Suite{i % 50}.Case{i}\n[  FAILED  ] Suite{i % 50}.Case{i} (3 ms)\n"


def refused(i: int) -> str:
    return f"CL_OUT_OF_RESOURCES returned by clFinish at /src/a{i % 90}.c:{i % 1000}\n"


def compiled(i: int) -> str:
    return f"/src/k{i % 300}.cl:{i % 100}:3: error: use of undeclared identifier 'x{i}'\n"


def context(i: int) -> str:
    return f"worker {i}: Failed creating CUDA context on device {i % 8}\n"


WORDS = (
    "loss step tensor grad layer cuda device memory kernel time batch Loading model weights shape alloc stream error_rate worker "
    "rank data epoch value cache prefill tokens throughput request finished"
).split()


def words(i: int) -> str:
    """Words that messages of failures have too, in lines of which no two are alike."""
    chance = random.Random(i)
    return (
        " ".join(f"{chance.choice(WORDS)}{chance.random() if chance.random() < 0.2 else ''}" for _ in range(12)) + "\n"
    )


def noise(i: int) -> str:
    """Printable characters, without any words."""
    return random.Random(i).randbytes(90).translate(PRINTABLE).decode() + "\n"


PRINTABLE = bytes(32 + byte % 95 for byte in range(256))
LOGS: dict[str, Callable[[int], str]] = {
    "nothing wrong": quiet,
    "unique lines of words": words,
    "random characters": noise,
    "an application that retries": retries,
    "every line an Xid": xid,
    "every line a CUDA error": reported,
    "nothing but sanitizer records": sanitizer,
    "nothing but kernels of a compiler": ptxas,
    "nothing but a listing of device code": sass,
    "nothing but errors of Oclgrind": oclgrind,
    "a kernel log full of faults": dmesg,
    "calls of HIP": hip_calls,
    "all of these in turn": mixed,
}


def write(path: Path, line: Callable[[int], str], size: int) -> None:
    with path.open("w") as file:
        i = 0
        while file.tell() < size:
            file.write("".join(map(line, range(i, i + 5000))))
            i += 5000


def read(path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(done.stdout))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    options = parser.parse_args()
    result = Result("explain", f"Logs of {options.megabytes} MB, explained")
    scale = options.megabytes / MEGABYTES
    with tempfile.TemporaryDirectory() as folder:
        for name, line in LOGS.items():
            path = Path(folder) / "log"
            write(path, line, options.megabytes * 1_000_000)
            told = read(path)
            note = f"{told['findings']} findings"
            result.rows.append(Row(name, told["seconds"], "s", MOST_SECONDS * scale, note))
            result.rows.append(Row(f"{name}: memory", told["megabytes"], "MB", MOST_MEGABYTES))
    result.remarks.append(
        "Lines that differ in digits only are read 500 times and then counted. Of one format at most 20,000 lines are read (10,000 to "
        "300,000 of some), and fewer where a log has many formats; the report says how many lines were not read."
    )
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
