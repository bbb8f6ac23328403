"""Was the recorder in the process that failed? If not: why, and what next."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from lab_kit import Build

from gpudx.lab.loaded import Presence, inconclusive, instruments, judge
from gpudx.lab.proc_watch import Look
from gpudx.lab.program import Program, inspect, interpreter
from gpudx.lab.recorded import RunResult, run_recorded
from gpudx.lab.roll import RollEntry

EXIT_3 = "int main(void){return 3;}"


def examine(run: RunResult, lib: Path) -> Presence:
    return judge(run, lambda path: inspect(path, lib))


# ---- with real programs ----


def test_a_dynamic_program(recorder: Path, tmp_path: Path, build: Build) -> None:
    program = build(EXIT_3)
    presence = examine(run_recorded([str(program)], tmp_path / "case"), recorder)
    assert presence == Presence(True, (str(program),), 1)


def test_a_static_program(recorder: Path, tmp_path: Path, build: Build) -> None:
    program = build(EXIT_3, "-static")
    presence = examine(run_recorded([str(program)], tmp_path / "case"), recorder)
    assert not presence.loaded
    assert presence.reason == f"{program} is statically linked"
    assert "-static" in presence.next_step


def test_a_static_pie_program(recorder: Path, build: Build) -> None:
    try:
        program = build(EXIT_3, "-static-pie")
    except subprocess.CalledProcessError:
        pytest.skip("the compiler makes no static position-independent programs")
    assert inspect(str(program), recorder).form == "static"


def test_a_cleared_environment(recorder: Path, tmp_path: Path, build: Build) -> None:
    program = build(EXIT_3)
    presence = examine(run_recorded(["env", "-i", str(program)], tmp_path / "case"), recorder)
    assert not presence.loaded
    assert presence.reason == f"{program} was started without the environment that loads the recorder"
    assert "env -i gpudx run" in presence.next_step


def test_a_shell_that_becomes_a_static_program(recorder: Path, tmp_path: Path, build: Build) -> None:
    program = build("#include <unistd.h>\nint main(void){usleep(300000);return 3;}", "-static")
    presence = examine(run_recorded(["sh", "-c", f"exec {program}"], tmp_path / "case"), recorder)
    assert not presence.loaded
    assert "statically linked" in presence.reason


def test_a_shell_with_a_static_child(recorder: Path, tmp_path: Path, build: Build) -> None:
    program = build("#include <unistd.h>\nint main(void){usleep(300000);return 3;}", "-static")
    presence = examine(run_recorded(["sh", "-c", f"{program}; exit 4"], tmp_path / "case"), recorder)
    assert presence.loaded
    (sentence,) = presence.blind
    assert "ran without the recorder" in sentence and "statically linked" in sentence


def test_a_child_without_environment(recorder: Path, tmp_path: Path) -> None:
    script = "import subprocess;subprocess.run(['/bin/sleep','0'],env={})"
    presence = examine(run_recorded([sys.executable, "-c", script], tmp_path / "case"), recorder)
    assert presence.loaded
    assert any("/bin/sleep" in sentence and "without the environment" in sentence for sentence in presence.blind)


def test_a_program_whose_libraries_are_missing(recorder: Path, tmp_path: Path, build: Build) -> None:
    (tmp_path / "gone.c").write_text("int gone(void){return 0;}")
    lib = tmp_path / "libgone.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", lib, tmp_path / "gone.c"], check=True)
    program = build("int gone(void);int main(void){return gone();}", str(lib))
    lib.unlink()
    run = run_recorded([str(program)], tmp_path / "case")
    presence = examine(run, recorder)
    assert run.returncode == 127
    assert not presence.loaded
    assert "ldd" in presence.next_step


# ---- what kind of file ----


def test_set_user_id(recorder: Path, build: Build) -> None:
    program = build(EXIT_3)
    program.chmod(program.stat().st_mode | stat.S_ISUID)
    assert inspect(str(program), recorder).form == "set-user-id"


@pytest.mark.parametrize(
    ("old", "new", "form"),
    [
        (b"/lib64/ld-linux-x86-64.so.2\0", b"/lib/ld-musl-x86_64.so.1\0", "musl"),
        (b"/lib64/ld-linux-x86-64.so.2\0", b"/system/bin/linker64\0", "other loader"),
    ],
)
def test_other_loaders(recorder: Path, build: Build, old: bytes, new: bytes, form: str) -> None:
    program = build(EXIT_3)
    content = program.read_bytes()
    if old not in content:
        pytest.skip("another loader than expected")
    program.write_bytes(content.replace(old, new.ljust(len(old), b"\0"), 1))
    found = inspect(str(program), recorder)
    assert (found.form, found.detail) == (form, new[:-1].decode())


def test_another_machine(recorder: Path, build: Build) -> None:
    program = build(EXIT_3)
    content = bytearray(program.read_bytes())
    content[18:20] = (183).to_bytes(2, sys.byteorder)  # EM_AARCH64
    program.write_bytes(content)
    found = inspect(str(program), recorder)
    assert found.form == "other machine"
    assert "AArch64" in found.detail


def test_files_that_are_no_programs(recorder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "cut").write_bytes(b"\x7fELF\2\1\1")
    assert inspect(str(tmp_path / "text"), recorder).form == "unknown"
    assert inspect(str(tmp_path / "cut"), recorder).form == "unknown"
    assert inspect(str(tmp_path / "gone"), recorder).form == "unreadable"


def test_scripts_are_followed(recorder: Path, tmp_path: Path, build: Build) -> None:
    program = build(EXIT_3, "-static")
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text(f"#! {program} -x\n")
    outer.write_text(f"#!{inner}\n")
    assert inspect(str(outer), recorder) == Program(str(program), "static")
    inner.write_text(f"#!{inner}\n")  # for ever
    assert inspect(str(inner), recorder).form == "unknown"


def test_interpreters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert interpreter(b"#!/bin/sh -e\nx") == "/bin/sh"
    assert os.path.basename(interpreter(b"#!/usr/bin/env -S A=1 sh\n")) == "sh"
    assert interpreter(b"#!/usr/bin/env no-such-thing\n") == "/usr/bin/env"
    assert interpreter(b"#!\n") == ""


# ---- the reasoning alone ----


def run_with(roll: list[RollEntry], looks: list[Look], program: str = "/app") -> RunResult:
    return RunResult((program,), program, 1, 1, None, False, 1.0, Path("/case/traces"), tuple(roll), tuple(looks))


def loaded(path: str, time: int, pid: int = 1) -> RollEntry:
    return RollEntry(1, pid, 0, time, path)


def leaves(path: str, time: int, pid: int = 1, spawns: bool = False) -> RollEntry:
    return RollEntry(2, pid, 0, time, path, spawns)


def dynamic(path: str) -> Program:
    return Program(path, "dynamic", "/lib64/ld-linux-x86-64.so.2")


@pytest.mark.parametrize(
    ("roll", "looks", "expected"),
    [
        ([loaded("/sh", 1), loaded("/app", 2)], [], True),  # exec into an image that has it
        ([loaded("/sh", 1)], [Look(1, 5, "/sh")], True),
        ([loaded("/sh", 1), loaded("/app", 3)], [Look(1, 2, "/app")], True),  # seen before it had started up
        ([loaded("/sh", 1)], [Look(1, 5, "/app")], False),
        ([loaded("/sh", 1), leaves("/app", 2)], [], False),
        ([loaded("/sh", 1), leaves("/app", 2)], [Look(1, 5, "/sh")], True),  # the exec failed, or was a spawn
        ([loaded("/sh", 1), leaves("/app", 2, spawns=True)], [], True),
        ([leaves("/app", 2), loaded("/app", 3)], [], True),
        ([loaded("/other", 1, pid=2)], [], False),
        ([], [], False),
        ([], [Look(1, 5, "/app")], False),
    ],
)
def test_the_last_image_counts(roll: list[RollEntry], looks: list[Look], expected: bool) -> None:
    presence = judge(run_with(roll, looks), dynamic)
    assert presence.loaded is expected
    assert bool(presence.reason) is not expected


def test_a_trace_that_ended_is_proof() -> None:
    run = run_with([loaded("/sh", 1), leaves("/app", 2)], [])
    assert not judge(run, dynamic).loaded
    assert judge(run, dynamic, ended={1}).loaded


def test_children_that_were_forked_are_not_blind() -> None:
    run = run_with([loaded("/app", 1)], [Look(1, 5, "/app"), Look(2, 5, "/app"), Look(3, 5, "/tool")])
    assert [sentence.split()[0] for sentence in judge(run, dynamic).blind] == ["/tool"]


def test_every_form_has_words() -> None:
    from typing import get_args

    from gpudx.lab.loaded import REASONS
    from gpudx.lab.program import Form

    assert set(REASONS) == set(get_args(Form))
    for form in get_args(Form):
        presence = judge(run_with([], []), partial(Program, form=form, detail="detail"))
        assert "/app" in presence.reason
        assert "{" not in presence.reason + presence.next_step


def test_the_diagnosis() -> None:
    presence = judge(run_with([loaded("/sh", 1)], [Look(1, 5, "/app")]), dynamic)
    entry = inconclusive(presence)
    assert entry.status == "inconclusive"
    assert entry.summary.startswith("The recorder was not loaded into the process that failed: /app")
    assert entry.evidence[0].text == "The recorder was loaded only into: /sh."
    assert inconclusive(judge(run_with([], []), dynamic)).evidence[0].text.startswith("The recorder was loaded into no")


def test_the_instruments() -> None:
    many = [loaded(f"/bin/{i}", i, pid=i) for i in range(1, 9)]
    roll = [*many, RollEntry(3, 1, 0, 9, "/lib/libOpenCL.so.1"), RollEntry(4, 1, 0, 9, "/full")]
    recorder, library, trace = instruments(judge(run_with(roll, []), dynamic), 5214, 120)
    assert recorder.state == "live"
    assert "/bin/1, /bin/2, /bin/3, /bin/4, /bin/5 and 3 more; saw 5,214 calls and 120 launches" in recorder.saw
    assert library.state == trace.state == "not live"
    assert "/lib/libOpenCL.so.1" in library.saw and "/full" in trace.saw
    (blind,) = instruments(judge(run_with([], []), dynamic), 0, 0)
    assert blind.state == "not live"
