"""Asking helpers: versions, crashes, silence; building small programs on what is there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpudx import backends, native
from gpudx.backends.tool import Bundled, Linking, Tool
from gpudx.errors import UserError
from gpudx.lab.build import Recipe, build, compiler
from gpudx.lab.probe import ask, look_for, self_test


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_answers() -> None:
    answer = ask(["sh", "-c", "echo out; echo err >&2"])
    assert (answer.status, answer.out, answer.err, answer.problem) == (0, "out\n", "err\n", "")
    assert ask(["sh", "-c", "exit 3"]).problem == "ended with status 3"
    assert ask(["sh", "-c", "kill -SEGV $$"]).problem == "crashed with SIGSEGV"
    assert "cannot be started" in ask(["/no/such/program"]).problem
    assert ask(["sh", "-c", "printf '\\377'"]).out == "\\xff"


def test_silence_is_ended_with_its_children() -> None:
    assert "did not answer" in ask(["sh", "-c", "sleep 30 & sleep 30"], patience=0.2).problem


def test_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin/good", "echo good version 1.2.3")
    script(tmp_path / "bin/silent", "exit 0")
    script(tmp_path / "bin/bad", "exit 1")
    script(tmp_path / "place-1/bin/placed", "echo 4.5")
    script(tmp_path / "packages/nvidia/x/bin/wheeled", "echo 6.7")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))

    def state(name: str, **more: object) -> tuple[str, tuple[str, ...]]:
        found = look_for(Tool(name, "use", "install", programs=(name,), **more))  # type: ignore[arg-type]
        return found.state, found.lines

    assert state("good") == ("found", (f"1.2.3 {tmp_path}/bin/good",))
    assert state("good", version=()) == ("found", (f"{tmp_path}/bin/good",))
    assert state("silent") == ("found", (f"{tmp_path}/bin/silent",))
    assert state("bad") == ("broken", (f"{tmp_path}/bin/bad ended with status 1",))
    assert state("gone") == ("not found", ())
    assert state("placed", places=(f"{tmp_path}/place-*/bin",)) == ("found", (f"4.5 {tmp_path}/place-1/bin/placed",))
    assert state("wheeled", wheel=("nvidia/*/bin/wheeled",))[0] == "found"


@pytest.mark.parametrize(
    ("text", "state", "lines"),
    [
        ("print('one'); print('two')", "found", ("one", "two")),
        ("import sys; print('none here'); sys.exit(3)", "not found", ("none here",)),
        ("raise RuntimeError('oh')", "broken", ("ended with status 1", "RuntimeError: oh")),
        ("import os; os.kill(os.getpid(), 11)", "broken", ("crashed with SIGSEGV",)),
    ],
)
def test_probes_may_crash(tmp_path: Path, text: str, state: str, lines: tuple[str, ...]) -> None:
    (tmp_path / "probe.py").write_text(text)
    found = look_for(Tool("x", "use", "install", probe=tmp_path / "probe.py"))
    assert (found.state, found.lines) == (state, lines)


def test_every_tool_of_every_backend_can_be_looked_for() -> None:
    for tools in backends.tools().values():
        for tool in tools:
            assert tool.install and tool.use
            assert look_for(tool).state in ("found", "not found", "broken")


def test_no_probe_is_broken_here() -> None:
    for tools in backends.tools().values():
        for tool in tools:
            if tool.probe:
                assert look_for(tool).state != "broken"


def test_self_test(recorder: Path, tmp_path: Path) -> None:
    assert self_test(recorder) == ""
    (tmp_path / "libgpudx.so").write_text("no library")
    assert "without the recorder" in self_test(tmp_path / "libgpudx.so")


# ---- the library ----


def test_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDX_LIB", str(tmp_path / "none.so"))
    with pytest.raises(UserError, match="correct or unset GPUDX_LIB"):
        native.library()
    spaced = tmp_path / "a b"
    spaced.mkdir()
    (spaced / "lib.so").write_text("")
    monkeypatch.setenv("GPUDX_LIB", str(spaced / "lib.so"))
    with pytest.raises(UserError, match="space or colon"):
        native.library()
    monkeypatch.delenv("GPUDX_LIB")
    monkeypatch.setattr(native, "PACKAGED", tmp_path)
    with pytest.raises(UserError, match="reinstall gpudx"):
        native.library()
    (tmp_path / "libgpudx.so").write_text("")
    assert native.library() == tmp_path / "libgpudx.so"
    assert native.data("schema.json") is None
    assert native.data("libgpudx.so") == tmp_path / "libgpudx.so"


# ---- building ----

MAIN = "int main(void){return 0;}"


def linking(ready: bool, bundled: Bundled | None = None, library: str = "m", header: str = "stdio.h") -> Linking:
    return Linking(library, header, lambda: ready, lambda: bundled, "pip install something")


def test_building_with_the_system(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(MAIN)
    built = build(Recipe("app", ("a.c",), ("-DX=1",), ("m", "pthread")), tmp_path, linking(True))
    assert os.access(built.program, os.X_OK) and built.environment == {}
    assert build(Recipe("plain", ("a.c",)), tmp_path, None).program == tmp_path / "plain"


@pytest.mark.parametrize("ready", [True, False])
def test_building_with_a_bundled_library(tmp_path: Path, ready: bool) -> None:
    (tmp_path / "a.c").write_text("int answer(void);int main(void){return answer();}")
    (tmp_path / "lib.c").write_text("int answer(void){return 42;}")
    (tmp_path / "libs").mkdir()
    lib = tmp_path / "libs/libNoSuch-1.so"
    assert not ask([*compiler(), "-shared", "-fPIC", "-o", str(lib), str(tmp_path / "lib.c")]).problem
    bundled = Bundled(lib, {"HOME_OF_IT": "x"})
    built = build(Recipe("app", ("a.c",), (), ("NoSuch",)), tmp_path, linking(ready, bundled, "NoSuch"))
    assert built.environment == {"HOME_OF_IT": "x"}
    assert ask([str(built.program)]).status == 42


def test_building_without_a_library(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="pip install something"):
        build(Recipe("app", ("a.c",)), tmp_path, linking(False))


def test_building_without_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.c").write_text('#include "no/such.h"\n' + MAIN)
    monkeypatch.setattr(native, "PACKAGED", tmp_path)
    with pytest.raises(UserError, match=r"no/such.h is missing"):
        build(Recipe("app", ("a.c",)), tmp_path, linking(True, header="no/such.h"))
    (tmp_path / "include/no").mkdir(parents=True)
    (tmp_path / "include/no/such.h").write_text("")
    assert build(Recipe("app", ("a.c",)), tmp_path, linking(True, header="no/such.h")).program.exists()


def test_building_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void){return nothing;}")
    with pytest.raises(UserError, match=r"cannot be built: .*error"):
        build(Recipe("app", ("a.c",)), tmp_path, None)


def test_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"{sys.executable} -m cc")
    assert compiler() == [sys.executable, "-m", "cc"]
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(UserError, match="C compiler"):
        compiler()
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="C compiler"):
        compiler()


# ---- the OpenCL backend ----


def test_the_bundled_opencl_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudx.backends import opencl

    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyopencl"]:
        monkeypatch.delitem(sys.modules, name)  # another test may have imported it
    assert opencl.bundled_loader() is None
    (tmp_path / "pyopencl/.libs").mkdir(parents=True)
    (tmp_path / "pyopencl/__init__.py").write_text("")
    sys.path_importer_cache.clear()
    assert opencl.bundled_loader() is None
    (tmp_path / "pyopencl/.libs/libOpenCL-1234.so.1.0.0").write_text("")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert opencl.bundled_loader() is None  # a loader, and no driver for it
    (tmp_path / "vendor.icd").write_text("")
    home = {"PYOPENCL_HOME": str(tmp_path / "pyopencl")}
    found = opencl.bundled_loader()
    assert found is not None and found.library.name == "libOpenCL-1234.so.1.0.0" and found.environment == home
    monkeypatch.setattr(opencl.icds, "_processor", lambda: ZEN_5.replace("26", "25"))
    pocl = tmp_path / "pyopencl/.libs/libpocl-1.so"
    pocl.write_text("")
    found = opencl.bundled_loader()
    assert found is not None and found.environment == home | {"OCL_ICD_VENDORS": str(pocl)}


ZEN_5 = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"


@pytest.mark.parametrize(
    ("processor", "compiles"),
    [
        (ZEN_5, False),
        (ZEN_5.replace("26", "25"), True),
        (ZEN_5.replace("AuthenticAMD", "GenuineIntel"), True),
        ("Processor\t: AArch64\n", True),
    ],
)
def test_processors_that_the_driver_of_the_wheel_compiles_for(processor: str, compiles: bool) -> None:
    from gpudx.backends.opencl import icds

    assert icds.wheel_compiles(processor) is compiles


def test_intels_driver_is_taken_where_the_wheels_does_not_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudx.backends.opencl import icds

    driver = tmp_path / "lib/libintelocl.so"
    driver.parent.mkdir()
    driver.write_text("")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/own")
    monkeypatch.setattr(icds, "_processor", lambda: ZEN_5)
    (found,) = icds.of_packages()
    assert found == {"OCL_ICD_VENDORS": str(driver), "LD_LIBRARY_PATH": f"{tmp_path}/lib:/own"}


def test_is_there_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudx.backends import opencl

    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    assert not opencl.system_has_driver()
    (tmp_path / "pocl.icd").write_text("")
    assert opencl.system_has_driver()
