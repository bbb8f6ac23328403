"""gpudx as a library: run, load, tables, and what a notebook shows."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

import gpudx
from gpudx.cases import bundle
from gpudx.errors import UserError

PROGRAM = """
import pyopencl as cl, numpy as np
device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }").build()
data = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(64, np.float32))
program.twice(queue, (64,), None, data)
queue.finish()
print("done")
"""


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> gpudx.LoadedCase:
    pytest.importorskip("pyopencl")
    folder = tmp_path_factory.mktemp("api")
    (folder / "app.py").write_text(PROGRAM)
    return gpudx.run([sys.executable, folder / "app.py"], case=folder / "case")


def test_a_run(case: gpudx.LoadedCase) -> None:
    assert case.outcome.passed and case.output.endswith("done\n") and case.diagnosis == ()
    assert str(case).startswith("gpudx: NO FAULT FOUND") and repr(case).endswith("passed>")


def test_tables(case: gpudx.LoadedCase) -> None:
    assert case.launches["kernel"].tolist() == ["twice"]
    calls = case.calls
    assert {len(column) for column in calls.values()} == {len(calls["call"])}
    assert calls["pid"].dtype.kind == "i" and isinstance(calls["call"], np.ndarray)
    with pytest.raises(UserError, match="choose one of"):
        case.table("kernels")


def test_a_case_is_loaded_again(case: gpudx.LoadedCase) -> None:
    again = gpudx.load(case.path)
    assert again.case == case.case and gpudx.load(case.path / "case.json").launches["kernel"].tolist() == ["twice"]
    with pytest.raises(UserError):
        gpudx.load(case.path / "nothing-here")


def test_a_bundle_is_loaded_with_its_tables(case: gpudx.LoadedCase, tmp_path: Path) -> None:
    file = tmp_path / "case.gpudx.zip"
    bundle.pack(case.path, file)
    loaded = gpudx.load(file)
    assert loaded.launches["kernel"].tolist() == ["twice"] and loaded.case.command == case.case.command
    place = loaded.path
    del loaded
    gc.collect()
    assert not place.exists(), "the unpacked files go with the case"
    (tmp_path / "other.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(UserError, match="ask for a bundle"):
        gpudx.load(tmp_path / "other.zip")


def test_notebooks(case: gpudx.LoadedCase, capsys: pytest.CaptureFixture[str]) -> None:
    assert case._repr_html_().startswith("<pre") and "NO FAULT FOUND" in case._repr_html_()
    magics = {}

    class Shell:
        def register_magic_function(self, function: object, kind: str, name: str) -> None:
            magics[kind, name] = function

    gpudx.load_ipython_extension(Shell())
    done = magics["cell", "gpudx"]("", "print('in the cell')")  # type: ignore[operator]
    assert capsys.readouterr().out == "in the cell\n" and done.outcome.passed
    assert (done.path.parent / "cell.py").read_text() == "print('in the cell')", "the report shows its lines later"
    with pytest.raises(UserError, match=r"no option --fast: use --stacks"):
        magics["cell", "gpudx"]("--fast", "print(1)")  # type: ignore[operator]


def test_a_command_is_a_list() -> None:
    with pytest.raises(UserError, match=r"as a list of words: gpudx\.run\(\['ls', '-l'\]\)"):
        gpudx.run("ls -l")


def test_frames(case: gpudx.LoadedCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="pip install pandas"):
        case.frame("launches")


def test_the_package_is_typed() -> None:
    assert (Path(gpudx.__file__).parent / "py.typed").is_file()
