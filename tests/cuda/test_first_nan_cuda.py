"""gpudx run --nan on CUDA programs (the fake driver): the launch that makes the first one, and what came from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cuda_kit import Kit
from test_capture import gpudx_

from gpudx.backends.cuda.nan_types import letters


@pytest.mark.parametrize(
    ("symbol", "kinds"),
    [
        ("_Z3addPfS_S_i", "fff-"),
        ("_Z6scaledIdLi3EEvPT_PKS0_i", "dd-"),
        ("_Z4castP6__halfPK13__nv_bfloat16", "hb"),
        ("_Z4keysPKiPf", "-f"),
        ("_Z6gather6TensorPf", "?f"),
        ("sm90_xmma_gemm_bf16_kernel", "*b"),
        ("cupy_sqrt__float32_float32", "*f"),
        ("axpy", "*?"),
        ("gemm_f16f16_f32", "*?"),
    ],
)
def test_what_symbols_say(symbol: str, kinds: str) -> None:
    assert letters(symbol)[0] == kinds


def searched(kit: Kit, case: Path, *words: str, how: str = "--nan") -> tuple[str, dict[str, object]]:
    done = gpudx_(kit, "run", "--case", case, how, "--", kit.program("nans"), *words)
    assert done.returncode == 0, done.stderr
    found = case / "first-nan.json"
    return done.stderr, json.loads(found.read_text()) if found.exists() else {}


@pytest.mark.parametrize(("value", "kind"), [("inf", "infinity")])
def test_the_launch_that_makes_it(kit: Kit, tmp_path: Path, value: str, kind: str) -> None:
    said, found = searched(kit, tmp_path / "case", value)
    assert (found["launch"], found["of_kernel"], found["argument"], found["element"]) == (4, 4, 2, 7), said
    assert found["kind"] == kind and found["before"] == 0 and "its inputs had none" in said
    assert (tmp_path / "case").joinpath("_Z3addPfS_S_i-4.gpucapsule").exists()


def test_memory_that_a_kernel_reads_through_one_argument_and_writes_through_another(kit: Kit, tmp_path: Path) -> None:
    said, found = searched(kit, tmp_path / "case", "place")
    assert (found["launch"], found["argument"], found["element"], found["kind"]) == (4, 2, 7, "infinity"), said


def test_every_third_launch_and_then_each(kit: Kit, tmp_path: Path) -> None:
    said, found = searched(kit, tmp_path / "case", "inf", how="--nan=3")
    assert "running again" in said and found["launch"] == 4, said


def test_what_the_host_wrote_is_no_launchs(kit: Kit, tmp_path: Path) -> None:
    said, found = searched(kit, tmp_path / "case", "host")
    assert found["before"] == 1 and "the host, a copy" in said and "FIRST NaN:" not in said


def test_silence(kit: Kit, tmp_path: Path) -> None:
    said, found = searched(kit, tmp_path / "case", "none")
    assert not found and "no launch made a NaN or an infinity: 6 of 6 launches looked at" in said
