"""Ask a program something and read its answer: for versions, self-tests and compilers, never for the user's program."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpudx.backends.tool import Tool
from gpudx.lab import roll, signals
from gpudx.lab.environment import recorded_environment

PATIENCE_S = 30.0
NOTHING = 3  # exit status of a probe that found nothing

State = Literal["found", "not found", "broken"]


@dataclass(frozen=True)
class Answer:
    """What a program said. `problem` is empty when it ended with status 0."""

    status: int | None
    out: str = ""
    err: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Found:
    """The state of one tool. `lines` say what was found, or why it does not work; programs have a path."""

    tool: Tool
    state: State
    lines: tuple[str, ...] = ()
    path: str = ""
    version: str = ""


def ask(
    command: list[str], env: Mapping[str, str] | None = None, cwd: Path | None = None, patience: float = PATIENCE_S
) -> Answer:
    """Run a helper without input and collect what it says. It gets so many seconds, then it and its children are killed.

    They are also killed when somebody interrupts us: they have a session of their own, and hear nothing of Ctrl-C.
    """
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        return Answer(None, problem=f"cannot be started ({error.strerror})")
    try:
        out, err = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        _kill(child)
        return Answer(None, problem=f"did not answer within {patience:.0f} s")
    except BaseException:
        _kill(child)
        raise
    return Answer(child.returncode, _text(out), _text(err), _problem(child.returncode))


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _problem(status: int) -> str:
    if status < 0:
        return f"crashed with {signals.name(-status)}"
    return f"ended with status {status}" if status else ""


def look_for(tool: Tool) -> Found:
    """Find a tool and its version."""
    if tool.probe is not None:
        return _probed(tool, ask([sys.executable, "-P", str(tool.probe)]))
    path = path_of(tool)
    if path is None:
        return Found(tool, "not found")
    return _versioned(tool, path)


def path_of(tool: Tool) -> str | None:
    """Where a program is, without asking it anything."""
    return next(_candidates(tool), None)


def paths_of(tool: Tool) -> list[str]:
    """Every place that has it, each once."""
    return list(dict.fromkeys(_candidates(tool)))


def _probed(tool: Tool, answer: Answer) -> Found:
    lines = tuple(answer.out.strip().splitlines())
    if answer.status == 0:
        return Found(tool, "found", lines)
    if answer.status == NOTHING:
        return Found(tool, "not found", lines)
    last = answer.err.strip().splitlines()[-1:]
    return Found(tool, "broken", (answer.problem, *last))


def _candidates(tool: Tool) -> Iterator[str]:
    for name in tool.programs:
        path = shutil.which(name)
        if path:
            yield path
        for place in tool.places:
            yield from _executable(sorted(glob.glob(f"{place}/{name}"), reverse=True))
    for pattern in tool.wheel:
        for packages in sys.path:
            yield from _executable(sorted(glob.glob(f"{packages}/{pattern}"), reverse=True))


def _executable(paths: list[str]) -> Iterator[str]:
    yield from (path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK))


def _versioned(tool: Tool, path: str) -> Found:
    if not tool.version:
        return Found(tool, "found", (path,), path)
    answer = ask([path, *tool.version])
    match = re.search(tool.pattern, answer.out + answer.err)
    if match is None and answer.problem:
        return Found(tool, "broken", (f"{path} {answer.problem}",), path)
    version = match[0] if match else ""
    return Found(tool, "found", (f"{version} {path}".strip(),), path, version)


def self_test(lib: Path) -> str:
    """Load the recorder into a small process and read the roll. Empty when it works, else what went wrong."""
    with tempfile.TemporaryDirectory(prefix="gpudx-") as place:
        env = recorded_environment(lib, Path(place), "1M", os.environ)
        answer = ask(["/bin/sh", "-c", ":"], env)
        seen = any(entry.kind == roll.RollKind.LOADED for entry in roll.read(Path(place) / roll.NAME).entries)
    if seen and not answer.problem:
        return ""
    said = answer.err.strip().splitlines()[:1]
    return " ".join(["the test process", answer.problem or "ran without the recorder", *said])
