"""Pools that are switched off from inside a Python program. CuPy itself needs a GPU: a package of its name stands in for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudx.lab import unpooled

CUPY = """
class cuda:
    allocator = lambda size: f"{{size}} from the pool"
    class memory:
        Memory = lambda size: size
        MemoryPointer = lambda memory, offset: f"{{memory}} from the driver"
        malloc_async = lambda size: f"{{size}} in order"
    class runtime:
        is_hip = {hip}
        getDevice = lambda: 3
        deviceGetAttribute = lambda what, device: {pools} if (what, device) == (115, 3) else 1 // 0
        CUDARuntimeError = ZeroDivisionError
    @classmethod
    def set_allocator(cls, allocator):
        {body}
"""
SHOW = "import sys, cupy, cupy as again; print(cupy.cuda.allocator(8), any('inside' in p for p in sys.path), sys.argv)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "traces").mkdir()
    (tmp_path / "cupy").mkdir()
    return tmp_path


def run(
    folder: Path, *options: str, body: str = "cls.allocator = allocator", code: str = SHOW, pools: int = 1, hip: bool = False
) -> tuple[str, frozenset[str]]:
    """What the program prints, and the frameworks that were switched off in it."""
    (folder / "cupy" / "__init__.py").write_text(CUPY.format(body=body, pools=pools, hip=hip))
    base = {**os.environ, "PYTHONPATH": str(folder), "GPUDX_DIR": str(folder / "traces")}
    words = [sys.executable, *options, "-c", code]
    process = subprocess.Popen(words, env={**base, **unpooled.environment(base)}, stdout=-1, stderr=-2, text=True)
    out, _ = process.communicate(timeout=60)
    return out.strip(), unpooled.from_inside(folder / "traces", process.pid)


def test_the_pool_is_off_once_it_is_imported(folder: Path) -> None:
    assert run(folder) == ("8 in order False ['-c']", frozenset({"cupy"}))


def test_without_memory_in_the_order_of_streams_it_is_the_driver_s(folder: Path) -> None:
    for device in ({"pools": 0}, {"hip": True}):
        assert run(folder, **device) == ("8 from the driver False ['-c']", frozenset({"cupy"}))


def test_a_program_without_it_is_left_alone(folder: Path) -> None:
    assert run(folder, code="import sys; print('cupy' in sys.modules)") == ("False", frozenset())


def test_a_pool_that_stays_is_not_said_to_be_off(folder: Path) -> None:
    assert run(folder, body="raise RuntimeError") == ("8 from the pool False ['-c']", frozenset())


def test_without_the_environment_it_stays(folder: Path) -> None:
    out, off = run(folder, "-E", code="import os; print(len(os.environ['PYTHONPATH'].split(':')))")
    assert (out, off) == ("2", frozenset())


def test_the_program_own_sitecustomize_runs(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import builtins; builtins.mine = 'mine'")
    out, off = run(folder, code="import sitecustomize, cupy; print(mine, sitecustomize.__file__.split('/')[-2])")
    assert (out, off) == (f"mine {folder.name}", frozenset({"cupy"}))


def test_a_missing_module_is_missing_as_before(folder: Path) -> None:
    out, _ = run(
        folder,
        code="import shutil; shutil.rmtree('cupy', True)\ntry:\n import cupy.nothing\nexcept ImportError as e: print(e)",
    )
    assert out == "No module named 'cupy.nothing'"
