"""Which models a program was given or opened; and what `gpudx run --model` says to what is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support import forked
from support.gguf import llama, write

from gpudx.lab import opened
from gpudx.lab.proc_watch import open_models
from gpudx.lab.recorded import RunResult


def ran(*words: str, seen: tuple[str, ...] = ()) -> RunResult:
    return RunResult(("app", *words), "app", 1, 0, None, False, 0.0, Path(), (), opened=seen)


def test_words_open_files_and_mappings(tmp_path: Path) -> None:
    one, two, three = (write(tmp_path / f"{n}.gguf", llama()) for n in "abc")
    maps = f"7f00-7f01 r--p 00000000 00:00 1   {three}\n7f02-7f03 r-xp 00000000 00:00 2 /lib/libc.so\n"
    found = opened.models(ran("-m", str(one), f"--draft={two}", "gone.gguf"), [maps])
    assert [path.name for path in found] == ["a.gguf", "b.gguf", "c.gguf"]
    assert opened.models(ran(str(one), seen=(str(one), str(two))), []) == [one, two]


def test_files_that_a_process_has_open(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", llama())
    with path.open("rb"):
        assert open_models(os.getpid()) == [str(path)]
    assert open_models(os.getpid()) == []


def gpudx(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return forked.gpudx(*words)


def test_what_is_no_model_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    done = gpudx("run", "--case", tmp_path / "case", "--model", tmp_path / "m.gguf", "--", "touch", tmp_path / "ran")
    assert done.returncode == 2 and "it ends in the middle of its head" in done.stderr
    assert not (tmp_path / "ran").exists() and not (tmp_path / "case").exists()


def test_one_that_was_only_found_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    done = gpudx("run", "--case", tmp_path / "case", "--", "ls", tmp_path / "m.gguf")
    assert done.returncode == 0
    assert "it ends in the middle of its head" in (tmp_path / "case" / "case.json").read_text()
