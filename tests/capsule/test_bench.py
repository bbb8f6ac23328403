"""gpudx bench: right and wrong variants, and times that are compared in pairs."""

from __future__ import annotations

from pathlib import Path

from support.opencl import OpenCL
from test_capsules import captured, gpudx_

from gpudx.capsule import file
from gpudx.capsule.bench import Timed, ratio


def test_variants(opencl: OpenCL, tmp_path: Path) -> None:
    path, _ = captured(opencl, tmp_path / "case", "axpy#2", "axpy")
    code = file.read(path).code("source")
    assert code is not None
    (tmp_path / "same.cl").write_bytes(code.data.replace(b"p.a * x[i]", b"x[i] * p.a"))
    (tmp_path / "wrong.cl").write_bytes(code.data.replace(b"p.a * x[i]", b"p.a + x[i]"))
    (tmp_path / "broken.cl").write_text("kernel void axpy(")
    words = [word for name in ("same", "wrong", "broken") for word in ("--variant", tmp_path / f"{name}.cl")]
    done = gpudx_(opencl, "bench", path, *words, "--rounds", 2)
    first, same, wrong, broken = done.stdout.splitlines()
    assert done.returncode == 1 and first.split()[0] == "captured" and first.endswith("equal")
    assert same.startswith("same.cl") and same.endswith("equal") and "x [" in same
    assert "differs: argument 0 (float* y)" in wrong and "does not build" in broken


def test_a_ratio_is_that_of_pairs() -> None:
    """A machine that becomes slower makes both slower."""
    base = Timed("a", "equal", True, tuple(1000 * (1 + n) for n in range(8)))
    other = Timed("b", "equal", True, tuple(2000 * (1 + n) for n in range(8)))
    assert ratio(base, other) == (2.0, 2.0, 2.0)
    assert ratio(base, Timed("c", "crashed", False, ())) is None
