"""Completion scripts, tried in the real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from cli_kit import in_process

from gpudx.cli.completion import SCRIPTS, Option, Shell, Word, words


@cache
def script(shell: str) -> str:
    return in_process(("completion", shell), Path.cwd(), os.environ).stdout


def asked(shell: str, text: str) -> str:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    done = subprocess.run([shell, *text.split("\0")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bash_completes(tmp_path: Path, *typed: str) -> set[str]:
    """What is offered for the last word."""
    (tmp_path / "script").write_text(script("bash"))
    line = " ".join(f"'{word}'" for word in typed)
    ask = f"source ./script; COMP_WORDS=({line}); COMP_CWORD={len(typed) - 1}; _gpudx; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "--norc", "-uc", ask], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash(tmp_path: Path) -> None:
    (tmp_path / "mycase").mkdir()
    assert bash_completes(tmp_path, "gpudx", "re") == {"report", "replay"}
    assert bash_completes(tmp_path, "gpudx", "run", "--time") == {"--timeout"}
    assert bash_completes(tmp_path, "gpudx", "report", "myc") == {"mycase"}
    assert "--timeout" not in bash_completes(tmp_path, "gpudx", "run", "--", "--time")
    assert "mycase" in bash_completes(tmp_path, "gpudx", "run", "--", "myc")
    assert bash_completes(tmp_path, "gpudx", "nonsense", "-") == set()
    assert bash_completes(tmp_path, "gpudx", "rule", "use-after") == {"use-after-free"}


def test_bash_knows_cases_and_demos(tmp_path: Path) -> None:
    for name in ("1-app", "2-app"):
        (tmp_path / "gpudx-cases" / name).mkdir(parents=True)
    cases = {"gpudx-cases/1-app", "gpudx-cases/2-app"}
    assert bash_completes(tmp_path, "gpudx", "report", "") == bash_completes(tmp_path, "gpudx", "show", "gp") == cases
    for typed in (("capture", ""), ("merge", ""), ("diff", ""), ("verify", "--resume", ""), ("run", "--like", "gp")):
        assert bash_completes(tmp_path, "gpudx", *typed) == cases
    assert bash_completes(tmp_path, "gpudx", "run", "--case", "gpu") == {"gpudx-cases"}
    assert bash_completes(tmp_path, "gpudx", "report", "gpudx-cases/1") == {"gpudx-cases/1-app"}
    assert bash_completes(tmp_path, "gpudx", "lint", "gpu") == {"gpudx-cases"}
    assert bash_completes(tmp_path, "gpudx", "demo", "opencl-python-b") == {"opencl-python-bounds"}


def test_zsh(tmp_path: Path) -> None:
    (tmp_path / "s").write_text(script("zsh"))
    assert (
        asked(
            "zsh", f"-fc\0autoload -U compinit; compinit -u -d {tmp_path}/d; source {tmp_path}/s; echo $_comps[gpudx]"
        )
        == "_gpudx\n"
    )


TYPED_IN_ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT= ; bindkey -e; autoload -U compinit; compinit -u -D; zstyle ':completion:*' list-prompt ''; LISTMAX=0; stty cols 200"
zpty -w shell 'source s; print READY'
zpty -r shell seen '*READY*READY*'
zpty -w -n shell "$1"$'\t'
sleep 1
zpty -w -n shell $'\t'
sleep 1
while zpty -rt shell seen; do print -r -- "$seen"; done
zpty -d shell
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("gpudx rep", "report"),
        ("gpudx run --time", "--timeout"),
        ("gpudx report ", "gpudx-cases/one"),
        ("gpudx run --fence l", "low"),
        ("gpudx flake --resume ", "gpudx-cases/one"),
        ("gpudx completion z", "zsh"),
        ("gpudx demo opencl-set", "opencl-set-rows-q4_0"),
        ("gpudx run -- ./pro", "./program"),
        ("gpudx run -- printe", "printenv"),
    ],
)
def test_zsh_completes_what_is_typed(typed: str, offered: str, tmp_path: Path) -> None:
    if not shutil.which("zsh"):
        pytest.skip("no zsh here")
    (tmp_path / "s").write_text(script("zsh"))
    (tmp_path / "gpudx-cases" / "one").mkdir(parents=True)
    (tmp_path / "program").touch(0o755)
    done = subprocess.run(
        ["zsh", "-f", "-c", TYPED_IN_ZSH, "zsh", typed], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert offered in done.stdout, done


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("gpudx report ", "gpudx-cases/one/"),
        ("gpudx run --fence ", "low"),
        ("gpudx flake --resume ", "gpudx-cases/one/"),
        ("gpudx completion ", "zsh"),
        ("gpudx show gpudx-cases/one ", "launches"),
        ("gpudx report --format ", "sarif"),
        ("gpudx run -- printe", "printenv"),
        ("gpudx run --fence -- ./pro", "./program"),
    ],
)
def test_fish_completes_what_is_typed(typed: str, offered: str, tmp_path: Path) -> None:
    (tmp_path / "s.fish").write_text(script("fish"))
    (tmp_path / "gpudx-cases" / "one").mkdir(parents=True)
    (tmp_path / "program").touch(0o755)
    shown = asked("fish", f"--no-config\0-c\0cd {tmp_path}; source s.fish; complete -C '{typed}'")
    assert offered in shown.split()


def test_fish(tmp_path: Path) -> None:
    (tmp_path / "s.fish").write_text(script("fish"))
    offered = asked(
        "fish", f"--no-config\0-c\0source {tmp_path}/s.fish; complete -C 'gpudx run --time'; complete -C 'gpudx rep'"
    )
    assert "--timeout" in offered and "report" in offered


def test_every_option_of_every_command_is_there() -> None:
    every = list(words())
    for shell in Shell:
        text = SCRIPTS[shell](every)
        for one in every:
            for option in one.options:
                assert all(name.lstrip("-") in text for name in option.names)


@pytest.mark.parametrize("shell", list(Shell))
def test_quotes_stay_quotes(shell: Shell, tmp_path: Path) -> None:
    """A help text is ours, but may hold anything."""
    odd = Word("odd", "It's $(touch broken) `touch broken` \\", (Option(("--x",), "don't $(touch broken)", False),))
    (tmp_path / "s").write_text(SCRIPTS[shell]([odd]))
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    quiet = "autoload -U compinit; compinit -u -D; " if shell == "zsh" else ""
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *flags, "-c", f"{quiet}source s"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "broken").exists()
