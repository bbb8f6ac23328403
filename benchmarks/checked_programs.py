"""Other people's OpenCL programs, without gpudx and under gpudx run --sanitize: same results, findings, share of kernels rewritten.

    python benchmarks/checked_programs.py clpeak
    python benchmarks/checked_programs.py hashcat 0 100 1400           hash modes; each runs hashcat's self-test and a known hash
    python benchmarks/checked_programs.py clblast xdot xgemv           CLBlast's tuners, which compare results with a reference
    python benchmarks/checked_programs.py piglit FOLDER [PART/COUNT]   piglit's folder (with bin/, tests/), every COUNT-th cl test
    python benchmarks/checked_programs.py pyvkfft                      transforms by VkFFT; --python has pyvkfft
    python benchmarks/checked_programs.py reikna                       FFT, products, reductions, random numbers; --python has reikna
    python benchmarks/checked_programs.py cpp                          Boost.Compute and ViennaCL (libboost-dev, libviennacl-dev)
    python benchmarks/checked_programs.py pytest FILE...               PyOpenCL's tests; --python has pytest and PyOpenCL

The OpenCL driver is the first one of the loader: set OCL_ICD_VENDORS to choose. Rows are written to --out as they come.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = (
    "| program | results | kernels rewritten | findings | plain | with checks |\n| --- | --- | --- | --- | --- | --- |"
)
Outcome = dict[str, str]  # by test or figure


@dataclass(frozen=True)
class Program:
    name: str
    words: list[str]
    outcome: Callable[[str], Outcome]
    folder: Path | None = None
    env: dict[str, str] = field(default_factory=dict)


# ---- the programs ----


def clpeak(_: list[str], given: argparse.Namespace) -> Iterator[Program]:
    """Its figures are times; that all of them are there is what can be compared."""
    figure = re.compile(r"^\s+(\S.*?)\s+: [\d.]+\s*$", re.M)
    for what in ("--global-bandwidth", "--compute-sp", "--compute-integer", "--compute-dp", "--kernel-latency"):
        yield Program(
            f"clpeak {what}", ["clpeak", what], lambda text: dict.fromkeys(map(str.strip, figure.findall(text)), "")
        )


# Hashes of "hashcat" from hashcat's own list of examples (hashcat --example-hashes).
WORDS = ["password", "hashcat", "hashcat1", "letmein", "0123456789"]


def hashcat(modes: list[str], given: argparse.Namespace) -> Iterator[Program]:
    words = given.work / "words.txt"
    words.write_text("\n".join(WORDS) + "\n")
    for mode in modes:
        text = subprocess.run(
            ["hashcat", "-m", mode, "--example-hashes"], capture_output=True, text=True, check=True
        ).stdout
        example = re.search(r"Example\.Hash\.*: (.*)", text)
        assert example is not None, text
        given_hash = given.work / f"hash-{mode}.txt"
        given_hash.write_text(example[1] + "\n")
        # One session and one home each: hashcat keeps the kernels that it built, and would load binaries the second time.
        command = f"hashcat -m {mode} -a 0 -D 1 --force --potfile-disable --backend-ignore-cuda -w 1 -n 32 -u 256 --backend-vector-width 1"
        command += f" --session checked-{os.getpid()}"
        yield Program(f"hashcat mode {mode}", [*shlex.split(command), str(given_hash), str(words)], cracked)


def cracked(text: str) -> Outcome:
    kept = re.compile(r"^(Status|Recovered|Rejected)\.*: (.*)$|^(\S+:hashcat)\s*$|(self-test \w+)", re.M)
    return {match[0].strip(): "" for match in kept.finditer(text)}


TUNERS = {
    "xgemm_direct": "-m 32 -n 32 -k 32 -fraction 2048",
    "xgemm": "-m 64 -n 64 -k 64 -fraction 4096",
    "xdot": "-n 4096 -fraction 4",
    "xaxpy": "-n 4096 -fraction 16",
}


def clblast(names: list[str], given: argparse.Namespace) -> Iterator[Program]:
    for name in names or TUNERS:
        options = TUNERS.get(name, "-m 64 -n 64 -fraction 64")
        command = f"clblast_tuner_{name} -platform 0 -device 0 -runs 1 {options}"
        yield Program(f"CLBlast tuner {name} {options}", command.split(), statuses, given.work)


def statuses(text: str) -> Outcome:
    """The configurations are chosen at random: what counts is how many gave the results of the reference."""
    told = re.findall(r"reference OK|results match|L2 error[^|]*|compilation error|error[^|\n]*", text)
    return {f"{one} x {told.count(one)}": "" for one in told}


def piglit(words: list[str], given: argparse.Namespace) -> Iterator[Program]:
    """Fifty tests each in one shell: every test is a process of its own."""
    folder = Path(words[0]).resolve()
    part, count = (int(n) for n in (words[1] if len(words) > 1 else "0/1").split("/"))
    tests = [f"bin/{path.name}" for path in sorted((folder / "bin").glob("cl-[acp]*")) if "tester" not in path.name]
    for path in sorted(p for kind in ("*.cl", "*.program_test") for p in folder.glob(f"*tests/cl/**/{kind}")):
        option = "-config" if path.suffix == ".program_test" else ""
        tests.append(f"bin/cl-program-tester {option} {path.relative_to(folder)}")
    tests = tests[part::count]
    path = f"{folder}/lib:{folder.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    for at in range(0, len(tests), 50):
        lines = "\n".join(
            f"echo '== {one}'; timeout 60 {one} -auto </dev/null 2>&1; echo rc $?" for one in tests[at : at + 50]
        )
        script = given.work / f"piglit-{at}.sh"
        script.write_text(lines + "\n")
        name = f"piglit {words[0]} cl tests {at} to {min(at + 50, len(tests)) - 1} of part {part}/{count}"
        yield Program(name, ["bash", str(script)], piglit_results, folder, {"LD_LIBRARY_PATH": path})


def piglit_results(text: str) -> Outcome:
    out: Outcome = {}
    for block in re.split(r"^== ", text, flags=re.M)[1:]:
        test, _, rest = block.partition("\n")
        told = re.findall(r"^PIGLIT: (\{.*\})|^(rc \d+)", rest, re.M)
        out[test] = " ".join(a or b for a, b in told)
    return out


def pytest(files: list[str], given: argparse.Namespace) -> Iterator[Program]:
    for file in files:
        path, *chosen = shlex.split(file)
        words = [given.python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--tb=no", Path(path).name, *chosen]
        yield Program(f"pytest {Path(path).name} {' '.join(chosen)}".strip(), words, tests, Path(path).resolve().parent)


def tests(text: str) -> Outcome:
    # Names hold the address of the device.
    clean = re.sub(r" at 0x[0-9a-f]+", "", text)
    return dict(re.findall(r"^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", clean, re.M))


FFT = """
import hashlib, sys, numpy as np, pyopencl as cl, pyopencl.array as cla
from pyvkfft.opencl import VkFFTApp
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
made = np.random.default_rng(1)
for shape in [(16,), (60,), (97,), (1009,), (4096,), (24, 35), (64, 64), (8, 9, 10)]:
    for kind in (np.complex64, np.float32):
        given = (made.standard_normal(shape) + 1j * made.standard_normal(shape)).astype(kind) if kind == np.complex64 \
            else made.standard_normal(shape).astype(kind)
        real = kind == np.float32
        there = cla.to_device(queue, given)
        out = cla.empty(queue, (*shape[:-1], shape[-1] // 2 + 1), np.complex64) if real else cla.empty_like(there)
        app = VkFFTApp(shape, kind, queue=queue, ndim=len(shape), inplace=False, r2c=real)
        app.fft(there, out)
        right = np.fft.rfftn(given) if real else np.fft.fftn(given)
        same = np.allclose(out.get(), right, rtol=1e-3, atol=1e-3 * np.abs(right).max())
        print("fft", shape, kind.__name__, "right" if same else "wrong", hashlib.sha1(out.get().tobytes()).hexdigest()[:12])
"""


def pyvkfft(_: list[str], given: argparse.Namespace) -> Iterator[Program]:
    """Results are compared bit by bit."""
    script = given.work / "fft.py"
    script.write_text(FFT)
    yield Program(
        "pyvkfft", [given.python, str(script)], lambda text: dict(re.findall(r"^(fft.*\)? \w+) (\w+ \w+)$", text, re.M))
    )


REIKNA = """
import hashlib, numpy as np, reikna.cluda as cluda
from reikna.algorithms import Reduce, Scan, Transpose, predicate_sum
from reikna.cbrng import CBRNG
from reikna.core import Annotation, Parameter, Type
from reikna.fft import FFT
from reikna.linalg import EntrywiseNorm, MatrixMul
thread = cluda.ocl_api().Thread(cluda.ocl_api().get_platforms()[0].get_devices()[0])
made = np.random.default_rng(1)
def show(name, result):
    print("reikna", name, hashlib.sha1(np.ascontiguousarray(result.get()).tobytes()).hexdigest()[:12], flush=True)
def run(name, computation, out, *given):
    computation.compile(thread)(out, *given)
    show(name, out)
for shape in [(16,), (60,), (24, 36)]:
    x = thread.to_device((made.standard_normal(shape) + 1j * made.standard_normal(shape)).astype(np.complex64))
    run(f"fft {shape}", FFT(x), thread.empty_like(x), x)
a = thread.to_device(made.standard_normal((70, 50)).astype(np.float32))
b = thread.to_device(made.standard_normal((50, 90)).astype(np.float32))
run("product", MatrixMul(a, b), thread.array((70, 90), np.float32), a, b)
run("transposed", Transpose(a), thread.array((50, 70), np.float32), a)
i = thread.to_device(made.integers(0, 1000, 3000).astype(np.int32))
run("sum", Reduce(i, predicate_sum(np.int32)), thread.array((), np.int32), i)
run("scan", Scan(i, predicate_sum(np.int32)), thread.empty_like(i), i)
run("norm", EntrywiseNorm(a), thread.array((), np.float32), a)
rng = CBRNG.normal_bm(Type(np.float32, (300,)), 1, seed=5)
counters = thread.to_device(rng.create_counters())
numbers = thread.array((300,), np.float32)
rng.compile(thread)(counters, numbers)
show("random", numbers)
"""


def shown(text: str) -> Outcome:
    """Lines that begin with a word and end with a value."""
    return {
        line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in text.splitlines() if re.match(r"[a-zA-Z]", line)
    }


def reikna(_: list[str], given: argparse.Namespace) -> Iterator[Program]:
    script = given.work / "with_reikna.py"
    script.write_text(REIKNA)
    yield Program(
        "reikna", [given.python, str(script)], lambda text: shown("\n".join(re.findall("^reikna.*", text, re.M)))
    )


def cpp(_: list[str], given: argparse.Namespace) -> Iterator[Program]:
    """Results are compared bit by bit; what gpudx prints is on lines of its own."""
    options = {"boost_compute": "-DCL_TARGET_OPENCL_VERSION=120", "viennacl_solve": "-DVIENNACL_WITH_OPENCL"}
    for name, option in options.items():
        target = given.work / name
        words = ["g++", "-w", "-O1", option, str(ROOT / f"benchmarks/c/{name}.cpp"), "-o", str(target), "-lOpenCL"]
        subprocess.run(words, check=True)
        yield Program(name, [str(target)], lambda text: shown(text.partition("gpudx: ")[0]))


SUITES = {
    "reikna": reikna,
    "cpp": cpp,
    "clpeak": clpeak,
    "hashcat": hashcat,
    "clblast": clblast,
    "piglit": piglit,
    "pyvkfft": pyvkfft,
    "pytest": pytest,
}


# ---- running them ----


def run(program: Program, words: list[str], given: argparse.Namespace, name: str) -> tuple[str, int, float]:
    home = Path(tempfile.mkdtemp(dir=given.work))
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "POCL_CACHE_DIR": str(given.work / "pocl"),
        "PYOPENCL_NO_CACHE": "1",
        **program.env,
    }
    began = time.monotonic()
    output = given.work / f"{name}.txt"
    with output.open("w") as file:
        try:
            status = subprocess.run(
                words,
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=given.limit,
                env=env,
                cwd=program.folder,
            ).returncode
        except subprocess.TimeoutExpired:
            status = 124
    shutil.rmtree(home, ignore_errors=True)
    return output.read_text(errors="replace"), status, time.monotonic() - began


def compare(program: Program, given: argparse.Namespace) -> str:
    label = re.sub(r"\W+", "-", program.name)[:60]
    plain, plain_status, plain_s = run(program, program.words, given, f"{label}-plain")
    case = given.work / f"{label}-case"
    shutil.rmtree(case, ignore_errors=True)
    tool = [sys.executable, "-m", "gpudx", "run", f"--sanitize={given.checks}", "--case", str(case), "--"]
    program.env.setdefault("PYTHONPATH", str(ROOT / "src"))
    checked, status, checked_s = run(program, [*tool, *program.words], given, f"{label}-checked")
    before, after = program.outcome(plain), program.outcome(checked)
    differ = [
        f"{one}: {before.get(one)} / {after.get(one)}"
        for one in sorted(before.keys() | after.keys())
        if before.get(one) != after.get(one)
    ]
    same = f"{len(before)} the same" if not differ else f"{len(differ)} of {len(before)} differ"
    if status != plain_status:
        same += f"; exit {plain_status} / {status}"
    share, findings = read(case)
    told = "; ".join(differ[:5]) + "; ".join(f" {one}" for one in findings[:20])
    print(told, file=sys.stderr)
    return f"| {program.name} | {same} | {share} | {len(findings)} | {plain_s:.0f} s | {checked_s:.0f} s |"


def read(case: Path) -> tuple[str, list[str]]:
    """The share of kernels that were rewritten, and the findings of checks."""
    try:
        content = json.loads((case / "case.json").read_text())
    except OSError:
        return "no case", []
    share = next((one["saw"] for one in content["instruments"] if one["name"].startswith("kernel checks")), "none")
    missing = [one for one in content["not_checked"] if "ran without checks" in one]
    print("\n".join(missing), file=sys.stderr)
    found = [one["message"] for one in content["findings"] if one["id"].startswith("kernel-check-")]
    return share, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("what", nargs="*", help="what of the suite, as above")
    parser.add_argument("--checks", default="opencl")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--limit", type=float, default=900, help="seconds for one run")
    parser.add_argument("--work", type=Path, default=None, help="where outputs and cases are kept")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.work = (given.work or Path(tempfile.mkdtemp(prefix="checked-"))).resolve()
    given.work.mkdir(parents=True, exist_ok=True)
    print(HEADER, flush=True)
    for program in SUITES[given.suite](given.what, given):
        row = compare(program, given)
        print(row, flush=True)
        if given.out:
            with given.out.open("a") as file:
                file.write(row + "\n")


if __name__ == "__main__":
    main()
