"""On a real GPU: small programs of gpu/, faulty and correct, run by `gpudx run` as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpudx.demos.incidents import every

HERE = Path(__file__).resolve().parent / "gpu"
TOOLKIT = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"])
CORRECT = ("vector_add", "async_alloc", "by_value", "graph_capture", "managed", "multi_stream", "virtual_memory")
INCIDENTS = sorted(name for name, incident in every().items() if incident.backend == "cuda")

Words = tuple[str, ...]

pytestmark = pytest.mark.gpu


def has_gpu() -> bool:
    listed = (
        subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True) if shutil.which("nvidia-smi") else None
    )
    return listed is not None and listed.returncode == 0 and "GPU 0" in listed.stdout


@dataclass(frozen=True)
class Ran:
    """How a program ended plainly and recorded, and the case."""

    plain: tuple[int, str, str]
    recorded: tuple[int, str]
    case: dict[str, Any]

    @property
    def errors(self) -> list[str]:
        return [f["id"] for f in self.case["findings"] if f["severity"] == "error"]

    @property
    def best(self) -> dict[str, Any]:
        best: dict[str, Any] = self.case["diagnosis"][0]
        return best


class Gpu:
    """Builds programs once, and runs them."""

    def __init__(self, folder: Path, nvcc: str) -> None:
        self.folder, self.nvcc = folder, nvcc

    def program(self, name: str, code: str = "-arch=native") -> Path:
        target = self.folder / name
        if not target.exists():
            words = [self.nvcc, "-O2", "-lineinfo", code, str(HERE / f"{name}.cu"), "-o", str(target)]
            built = subprocess.run(words, capture_output=True, text=True)
            assert built.returncode == 0, built.stderr
        return target

    def run(self, name: str, *options: str, plainly: bool = True, code: str = "-arch=native", words: Words = ()) -> Ran:
        program = [str(self.program(name, code)), *words] if (HERE / f"{name}.cu").exists() else list(words)
        plain = (0, "", "")
        if plainly:
            done = subprocess.run(program, capture_output=True, text=True, timeout=60)
            plain = (done.returncode, done.stdout, done.stderr)
        case = self.folder / f"case-{name}-{len(list(self.folder.glob('case-*')))}"
        command = [sys.executable, "-m", "gpudx", "run", "--case", str(case), *options, "--", *program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        return Ran(plain, (done.returncode, done.stdout), json.loads((case / "case.json").read_text()))


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Gpu:
    nvcc = shutil.which("nvcc", path=TOOLKIT)
    if not has_gpu() or nvcc is None:
        pytest.skip("needs a CUDA GPU and nvcc")
    return Gpu(tmp_path_factory.mktemp("gpu"), nvcc)


@pytest.mark.parametrize("name", CORRECT)
def test_correct_programs_run_as_before_and_are_clean(gpu: Gpu, name: str) -> None:
    ran = gpu.run(name)
    assert ran.recorded == ran.plain[:2] and ran.plain[0] == 0
    assert ran.errors == [] and sum(p["launches"] for p in ran.case["processes"]) > 0


@pytest.mark.parametrize("name", ["illegal_access", "misaligned", "trap", "stack_overflow", "device_assert", "refused"])
def test_faulty_programs_end_as_before(gpu: Gpu, name: str) -> None:
    ran = gpu.run(name)
    assert ran.recorded == ran.plain[:2]


@pytest.mark.parametrize(
    ("name", "cause", "kernel"),
    [
        ("illegal_access", "out-of-bounds-access", "bad"),
        ("misaligned", "misaligned-access", "read"),
        ("trap", "device-exception", "stop"),
    ],
)
def test_a_serialised_run_names_the_launch(gpu: Gpu, name: str, cause: str, kernel: str) -> None:
    best = gpu.run(name, "--serialise", plainly=False).best
    # The status alone says what happened, not why: an instrument that sees the access confirms it, or the address in the kernel's log.
    assert best["cause"] == cause and best["status"] in ("likely", "confirmed") and best["guilty"]["kernel"] == kernel
    assert best["victim"] is not None and best["guilty"]["host_stack"]


def test_an_assertion_is_told_with_its_text_and_line(gpu: Gpu) -> None:
    best = gpu.run("device_assert", plainly=False).best
    assert (best["cause"], best["status"]) == ("device-assertion", "confirmed")
    assert "value < 10" in best["summary"] and best["guilty"]["source"].endswith("device_assert.cu:8")
    assert best["guilty"]["kernel"] == "check" and best["guilty"]["launch"] == 1


def test_a_hang_is_told_with_kernel_launch_and_line(gpu: Gpu) -> None:
    best = gpu.run("infinite_loop", "--dump", "--timeout", "8", plainly=False).best
    assert (best["cause"], best["guilty"]["kernel"], best["guilty"]["launch"]) == ("hang", "spin", 1)
    assert "infinite_loop.cu:" in best["guilty"]["source"]


@pytest.mark.parametrize(
    ("name", "found"),
    [("use_after_free", "use-after-free"), ("graph_stale", "graph-holds-dead-pointer"), ("off_by_one", None)],
)
def test_runs_that_pass_although_they_are_wrong(gpu: Gpu, name: str, found: str | None) -> None:
    """Recording sees arguments, not accesses: an off-by-one write stays unseen."""
    ran = gpu.run(name)
    assert ran.recorded == ran.plain[:2]
    seen = {*ran.errors} - {"device-error-reported", "device-fault-printed"}  # freed memory may be gone, and the kernel's log may say so
    assert seen == ({found} if found else set())


def test_a_refused_launch_names_every_limit_and_no_other(gpu: Gpu) -> None:
    ran = gpu.run("refused")
    told = [f["message"] for f in ran.case["findings"] if f["id"] == "launch-refused"]
    assert len(told) == 4 and any("2,048" in text for text in told) and any("1,048,576" in text for text in told)


@pytest.mark.parametrize(
    ("name", "check", "cause", "kernel", "passes"),
    [
        ("illegal_access", "memcheck", "out-of-bounds-access", "bad", False),
        ("racy", "racecheck", "race-in-kernel", "turn_round", True),
        ("vector_add", "memcheck", None, None, True),
        ("vector_add", "synccheck", None, None, True),
    ],
)
def test_a_sanitized_run(gpu: Gpu, name: str, check: str, cause: str | None, kernel: str | None, passes: bool) -> None:
    ran = gpu.run(name, f"--sanitize={check}")
    (tool,) = [one for one in ran.case["instruments"] if one["name"].startswith("compute-sanitizer")]
    assert tool["state"] == "live" and (ran.recorded[0] == 0) == passes
    if cause is None:
        assert ran.errors == [] and ran.recorded == ran.plain[:2]
    else:
        assert (ran.best["cause"], ran.best["status"], ran.best["guilty"]["kernel"]) == (cause, "confirmed", kernel)


def test_an_image_for_another_device_is_named(gpu: Gpu) -> None:
    best = gpu.run("wrong_arch", code="-gencode=arch=compute_75,code=sm_75").best
    assert (best["cause"], best["status"]) == ("wrong-architecture", "confirmed") and "sm_75" in best["summary"]


@pytest.mark.parametrize(
    ("name", "words", "cause"),
    [
        ("bad_free", ("inside",), "wrong-free"),
        ("bad_free", ("pinned",), "wrong-free"),
        ("bad_free", ("none",), None),
        ("overlap", (), "copy-overlap"),
        ("overlap", ("twin",), None),
    ],
)
def test_copies_and_frees(gpu: Gpu, name: str, words: Words, cause: str | None) -> None:
    ran = gpu.run(name, words=words)
    assert ran.recorded[0] == ran.plain[0]  # what an overlapping copy leaves differs from run to run
    assert ran.best["cause"] == cause if cause else ran.errors == []


def test_the_python_line_of_a_launch(gpu: Gpu, tmp_path: Path) -> None:
    if (
        shutil.which("python3") is None
        or subprocess.run(["python3", "-c", "import torch"], capture_output=True).returncode
    ):
        pytest.skip("needs torch")
    script = tmp_path / "pick.py"
    script.write_text(
        "import torch\ntable = torch.zeros(8, 4, device='cuda')\ndef pick(index):\n    return table[index]\n"
        "pick(torch.tensor([99], device='cuda'))\ntorch.cuda.synchronize()\n"
    )
    best = gpu.run("torch", "--stacks", "--serialise", plainly=False, words=("python3", str(script))).best
    assert (best["cause"], best["status"]) == ("device-assertion", "confirmed")
    assert any("pick.py:4 in pick (python)" in frame for frame in best["guilty"]["host_stack"])


@pytest.mark.parametrize("twin", [False, True], ids=["fault", "twin"])
@pytest.mark.parametrize("name", INCIDENTS)
def test_incidents(gpu: Gpu, name: str, twin: bool, tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "gpudx",
        "demo",
        name,
        *(["--twin"] if twin else []),
        "--case",
        str(tmp_path / "case"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
