"""What PyTorch was doing when a launch was made: operator, module, and the forward line of a backward step. With a real PyTorch for
CPUs, named by GPUDX_TORCH_PYTHON where this interpreter has none, and the fake driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cuda_kit import PROGRAMS, Kit, Ran
from support import forked
from support.own import PYTHONPATH

from gpudx.facts import derive
from gpudx.facts.framework import framework_of, is_forward_of
from gpudx.lab import inside
from gpudx.model import Framework

TORCH_OPS = PROGRAMS / "torch_ops.py"


@cache
def python_with_torch() -> str | None:
    for one in (os.environ.get("GPUDX_TORCH_PYTHON", ""), sys.executable):
        if one and subprocess.run([one, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return one
    return None


def ran(kit: Kit, what: str, *parts: str) -> Ran:
    """The same output with the recorder and these parts of gpudx inside as without."""
    python = python_with_torch()
    if python is None:
        pytest.skip("no PyTorch here: GPUDX_TORCH_PYTHON can name an interpreter that has it")
    command = [python, "-W", "ignore", TORCH_OPS, what]
    plain = kit.run(command, False)
    recorded = kit.run(command, True, {"GPUDX_STACKS": "1", **inside.environment({}, *parts)})
    assert recorded.seen == plain.seen
    return recorded


def test_operator_module_and_forward_line(kit: Kit) -> None:
    facts = derive(ran(kit, "train", inside.WORDS).trace())
    forward, backward, alone = (facts.sites.at(int(p)).framework for p in facts.launches.position)
    assert forward == Framework(operator="aten::embedding", module="layers.0 (Net)")
    assert backward is not None
    assert (backward.operator, backward.node) == ("aten::embedding_backward", "EmbeddingBackward0")
    assert backward.forward == facts.sites.at(int(facts.launches.position[0])).source
    assert alone is None


def test_operators_need_nothing_inside_the_program(kit: Kit) -> None:
    facts = derive(ran(kit, "train").trace())
    found = [facts.sites.at(int(p)).framework for p in facts.launches.position]
    assert [one and one.operator for one in found] == ["aten::embedding", "aten::embedding_backward", None]


@pytest.mark.parametrize("parts", [(inside.WORDS,), (inside.WORDS, inside.INDICES)])
def test_compiled_models_are_the_same(kit: Kit, parts: tuple[str, ...]) -> None:
    """fullgraph=True fails at a graph break; `ran` compares the output."""
    assert "done" in ran(kit, "compiled", *parts).stdout


def test_an_index_out_of_range(kit: Kit) -> None:
    facts = derive(ran(kit, "wrong", inside.WORDS, inside.INDICES).trace())
    (told,) = facts.tellings.of("index")
    assert (told.fields["value"], told.fields["position"], told.fields["size"]) == (12, [1, 1], 10)
    assert (told.text("module"), told.text("owned"), told.text("argument")) == ("layers.0 (Net)", "weight", "input")
    site = facts.sites.at(told.position)
    assert site.source is not None and site.source.startswith(str(TORCH_OPS))


def test_indices_in_range_are_not_reported(kit: Kit) -> None:
    assert derive(ran(kit, "train", inside.WORDS, inside.INDICES).trace()).tellings.every == ()


def investigated(kit: Kit, folder: Path, *command: str) -> dict[str, Any]:
    """The best entry. The first launch of each run meets an assertion, as the fake driver is told."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(kit.driver), "FAKE_CUDA_FAIL": "cuLaunchKernel:1:710", "PYTHONPATH": PYTHONPATH}
    forked.gpudx("investigate", "--runs", "4", "--case", folder / "case", "--", *command, env=env, timeout=280)
    best: dict[str, Any] = json.loads((folder / "case" / "case.json").read_text())["diagnosis"][0]
    return best


def test_an_investigation_names_the_index_behind_an_assertion(kit: Kit, tmp_path: Path) -> None:
    python = python_with_torch()
    if python is None:
        pytest.skip("no PyTorch here: GPUDX_TORCH_PYTHON can name an interpreter that has it")
    best = investigated(kit, tmp_path, python, "-W", "ignore", str(TORCH_OPS), "asserts")
    assert (best["cause"], best["status"]) == ("index-out-of-range", "confirmed")
    assert "input[1] = 12" in best["summary"]
    (line,) = [i for i, text in enumerate(TORCH_OPS.read_text().splitlines(), 1) if "self.layers[1](self" in text]
    assert best["guilty"]["source"] == f"{TORCH_OPS}:{line}"
    assert any(one["text"] == "made by aten::embedding in module layers.0 (Net)" for one in best["evidence"])


def test_an_investigation_names_the_python_line_of_what_the_first_run_settles(kit: Kit, tmp_path: Path) -> None:
    launches = PROGRAMS / "launches.py"
    best = investigated(kit, tmp_path, sys.executable, str(launches), "free")
    (line,) = [i for i, text in enumerate(launches.read_text().splitlines(), 1) if "# launch line" in text]
    assert best["cause"] == "device-assertion"
    assert best["guilty"]["source"] == f"{launches}:{line}"


JIT = "class JITFunction:\n    def __init__(self, fn, version=None):\n        self.fn = fn\n"
KERNELS = """
import sys
sys.path.insert(0, {programs!r})
from triton.runtime.jit import JITFunction

@JITFunction
def pair(a, b):
    pass

if sys.argv[1] == "launches":
    import ctypes
    from launches import Driver
    Driver(ctypes.CDLL).launch(1)
print(pair.fn.__name__)
"""


@pytest.mark.parametrize("what", ["launches", "compiles"])
def test_the_line_of_a_triton_kernel(kit: Kit, tmp_path: Path, what: str) -> None:
    """With a stand-in for Triton, whose class is given the function first, as Triton's is."""
    (tmp_path / "triton" / "runtime").mkdir(parents=True)
    for name in ("triton/__init__.py", "triton/runtime/__init__.py"):
        (tmp_path / name).touch()
    (tmp_path / "triton/runtime/jit.py").write_text(JIT)
    program = tmp_path / "kernels.py"
    program.write_text(KERNELS.format(programs=str(PROGRAMS)))
    env = {"GPUDX_STACKS": "1", **inside.environment({"PYTHONPATH": str(tmp_path)}, inside.WORDS)}
    ran = kit.run([sys.executable, program, what], True, env)
    assert (ran.returncode, ran.stdout) == (0, "pair\n")
    if what == "compiles":
        assert list(ran.folder.glob("*.gdx")) == []  # a process without GPU calls has no trace
        return
    facts = derive(ran.trace())
    found = facts.sites.at(int(facts.launches.position[0])).framework
    line = program.read_text().splitlines().index("@JITFunction") + 1
    assert found is not None and found.defined == f"{program}:{line}"


def test_the_outermost_operator_of_the_innermost_python_line() -> None:
    frames = [
        "at::native::addmm_cuda+0x1 (libtorch_cuda.so)",
        "at::_ops::addmm::redispatch+0x2 (libtorch_cpu.so)",
        "at::_ops::addmm::call+0x3 (libtorch_cpu.so)",
        "at::_ops::linear::call+0x4 (libtorch_cpu.so)",
        "_PyEval_EvalFrameDefault at ceval.c:1 (python3.11)",
        "at::_ops::outer::call+0x4 (libtorch_cpu.so)",
    ]
    assert framework_of(frames) == Framework(operator="aten::linear")
    assert framework_of(frames[-2:]) == Framework(operator="aten::outer")
    assert framework_of(frames[:1]) is None
    assert framework_of(["at::_ops::add_Tensor::call+0x4 (x)"]) == Framework(operator="aten::add")


def test_a_step_that_the_thread_left_is_not_told() -> None:
    """The scope may be of the step before: only the frames show that the thread is in one."""
    scope = "node=MulBackward0\nsequence=3"
    assert framework_of(["at::_ops::mul_Tensor::call+0x4 (x)"], scope) == Framework(operator="aten::mul")
    inside_another = ["torch::autograd::AccumulateGrad::apply+0x4 (x)"]
    assert framework_of(inside_another, scope, lambda number, node: "wrong") == Framework(node="AccumulateGrad")


@pytest.mark.parametrize(
    ("operators", "node", "same"),
    [
        (["mul_Tensor"], "MulBackward0", True),
        (["nll_loss_forward"], "NllLossBackward0", True),
        (["add_Tensor"], "MulBackward0", False),
        ([], "MulBackward0", False),
    ],
)
def test_forward_of(operators: list[str], node: str, same: bool) -> None:
    assert is_forward_of(operators, node) is same
