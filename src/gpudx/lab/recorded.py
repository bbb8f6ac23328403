"""Run a program with the recorder in it, and otherwise as if nobody were watching.

The program inherits stdin, stdout, stderr, all other open files, the process group and the terminal. Nothing is
piped, so a program that asks whether it writes to a terminal gets the same answer as without gpudx. Only where
`How.output` asks for it does it write to a file, and read nothing; with `How.probes` what it writes passes through gpudx.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from gpudx import backends, native
from gpudx.errors import UserError
from gpudx.lab import crumbs, kernel_checked, program, sanitized, signals, simulated
from gpudx.lab.environment import DUMPS, logged_heap, recorded_environment
from gpudx.lab.how import How, variables
from gpudx.lab.kernel_log import KernelLog
from gpudx.lab.orphans import Guard
from gpudx.lab.probe_output import Listener, Mark
from gpudx.lab.proc_watch import Look, Looker
from gpudx.lab.roll import NAME as ROLL
from gpudx.lab.roll import RollEntry
from gpudx.lab.roll import read as read_roll
from gpudx.lab.sanitized import Inner, Sanitized
from gpudx.model.how import Sanitizer

TRACES = "traces"
HANG = "hang.txt"
TIMED_OUT = 124  # as coreutils' timeout has it
STOP_SETTLES_S = 0.05
LOOK_S = 0.2  # how often a tool's reports are looked at

Progress = Callable[[float], None]
Files = Sequence[tuple[int, ...] | tuple[int, int, str, int, int]]


@dataclass(frozen=True)
class RunResult:
    """How a recorded run went.

    `returncode` is the exit status, or -N after death by signal N (whose name is in `signal`), or None when the
    program could not be ended even by SIGKILL. After a timeout it says how the program was ended by us. Below a
    sanitizer all of this is the program's, not the tool's, unless the tool did not start it.
    """

    command: tuple[str, ...]
    program: str  # the file that was started
    pid: int
    returncode: int | None
    signal: str | None
    timed_out: bool
    duration_s: float
    trace_dir: Path
    roll: tuple[RollEntry, ...]
    looks: tuple[Look, ...] = ()  # executables seen in the program's processes from outside
    hang: Path | None = None  # what the threads were doing at the timeout
    sanitized: Sanitized | None = None  # the tool that it ran under
    how: How = field(default_factory=How)
    heard: dict[str, Mark] = field(default_factory=dict)  # probes in what it wrote
    started: bool = True
    ranks: dict[int, str] = field(default_factory=dict)  # by process: its number, where a launcher gave it one
    opened: tuple[str, ...] = ()  # files with a model's name that were seen open
    wrong: str = ""  # why the user calls its result wrong, though it exited with 0
    complaint: str = ""  # the line in which the program itself does, if the user does not judge
    interrupted: bool = False  # somebody wanted to end it, or gpudx: how it ended says nothing about the program
    ended_early: bool = False  # after a tool had reported its faults (How.faults_suffice): not a hang
    errors_at: int = 0  # where in How.output begins what it wrote to stderr

    @property
    def exit_status(self) -> int:
        """What a shell would show: 124 after a timeout, 128+N after signal N."""
        if self.timed_out or self.returncode is None:
            return TIMED_OUT
        return self.returncode if self.returncode >= 0 else 128 - self.returncode


def run_recorded(
    command: list[str],
    case_dir: Path,
    how: How | None = None,
    on_progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
    is_stuck: Callable[[float], bool] | None = None,
) -> RunResult:
    """Run `command` and wait for it. Traces go to `case_dir`/traces, which is created.

    UserError with exit code 127 or 126 when the program cannot be started. `on_progress` gets the seconds elapsed,
    about once a second. `meanwhile` is called once, when the program has started, and must return at once; all signals are blocked.
    `is_stuck` gets them too: where it says so, the program is stopped as after a timeout.
    """
    how = how or How()
    file = program.find(command)
    traces = case_dir / TRACES
    env = _environment(how, file, case_dir)
    sanitizer, below = how.sanitizer, case_dir / sanitized.FOLDER if how.sanitizer else None
    for folder in filter(None, (traces, case_dir / DUMPS if how.dump else None, below)):
        _make_directory(folder)
    start, words = file, command
    if sanitizer and below:
        start, words = Path(sanitizer.path), sanitized.command(sanitizer, below, file, command)
    service = kernel_checked.service(how.kernel_checks or (kernel_checked.TYPES if how.nan else None), case_dir)
    with service as more, signals.held() as (watched, mask), Guard() as guard, KernelLog() as log:
        env |= more
        listener = Listener(how.probes, how.output)
        begun = time.monotonic()
        started = _start(start, words, env, mask, _into(how.output) if how.output else listener.actions)
        guard.watch(started)
        if meanwhile:
            meanwhile()
        listener.begin()
        enough = sanitized.Reported(below) if below and how.faults_suffice else None
        run = _Run(started, begun, watched, how.timeout, on_progress, below, enough, is_stuck)
        timed_out = not run.wait()
        run.hear()  # what ended the program may have come to us at the same moment
        duration = run.elapsed
        picture = _end(run, case_dir, how.is_try) if timed_out else None
        errors_at = _joined(how.output) if how.output else 0
        heard = listener.finish()
        log.keep(traces)
    _tidy(case_dir / DUMPS)
    crumbs.settle(traces)
    roll = read_roll(traces / ROLL)
    result = RunResult(
        command=tuple(command),
        program=os.path.abspath(file),
        pid=run.pid,
        returncode=run.returncode,
        signal=_signal(run.returncode),
        timed_out=timed_out,
        duration_s=duration,
        trace_dir=traces,
        roll=roll.entries,
        looks=run.looker.looks(),
        opened=run.looker.opened(),
        ranks=run.looker.ranks(),
        hang=picture,
        how=how,
        heard=heard,
        interrupted=run.interrupted,
        ended_early=run.ended_early,
        errors_at=errors_at,
    )
    return _below(result, sanitizer, sanitized.read(below), file) if sanitizer and below else result


def _environment(how: How, file: Path, case_dir: Path) -> dict[str, str]:
    """Of the program: ours, with what loads and configures the recorder."""
    env = recorded_environment(
        native.library(), case_dir / TRACES, how.keep, {**os.environ, **how.extra_env}, file, how.dump
    )
    env |= variables(how, env)
    env |= simulated.environment(how.simulator, case_dir) if how.simulator else {}
    env |= logged_heap(env) if how.heap else {}
    return env


def _below(run: RunResult, sanitizer: Sanitizer, inner: Inner, file: Path) -> RunResult:
    """The run of the program below the tool, out of the tool's."""
    if inner.refused:
        raise _cannot_start(file, OSError(inner.refused, os.strerror(inner.refused)))
    own = inner.launchers | {run.pid}
    code = run.returncode if inner.returncode is None else inner.returncode
    return replace(
        run,
        pid=inner.pid or run.pid,
        returncode=code,
        signal=_signal(code),
        roll=tuple(e for e in run.roll if not sanitized.is_the_tools(e.pid, e.path, own)),
        looks=tuple(e for e in run.looks if not sanitized.is_the_tools(e.pid, e.path, own)),
        sanitized=Sanitized(sanitizer, run.returncode),
        started=bool(inner.pid),
    )


def _signal(code: int | None) -> str | None:
    """The name of the signal that ended a process."""
    return signals.name(-code) if code is not None and code < 0 else None


def _tidy(dumps: Path) -> None:
    """Pipes go; an empty folder too."""
    with contextlib.suppress(OSError):
        for pipe in dumps.glob("pipe-*"):
            pipe.unlink()
        dumps.rmdir()


def end_like(run: RunResult, status: int | None = None) -> NoReturn:
    """End gpudx as the program ended: with its exit status, or of the same signal. `status` replaces a pass."""
    code = run.returncode
    if code is not None and code < 0 and not run.timed_out:
        signals.die_of(-code)
    raise SystemExit(status if status is not None and run.exit_status == 0 else run.exit_status)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        text = f"{path} cannot be created ({error.strerror}): choose a directory you can write to with --case DIR."
        raise UserError(text) from None


class _Run:
    """The running program: waited for, looked at, ended."""

    def __init__(
        self,
        pid: int,
        begun: float,  # by the monotonic clock
        watched: set[int],
        timeout: float | None,
        on_progress: Progress | None,
        below: Path | None = None,  # where a sanitizer's program is told
        enough: Callable[[], bool] | None = None,  # is what was asked for known before it ends?
        is_stuck: Callable[[float], bool] | None = None,
    ) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.looker = Looker(pid)
        self._watched = watched
        self._below = below
        self._timeout = timeout
        self._on_progress = on_progress or (lambda seconds: None)
        self._start = begun
        self.elapsed = 0.0
        self.interrupted = False
        self._enough = enough or (lambda: False)
        self._is_stuck = is_stuck or (lambda seconds: False)
        self._look_every = LOOK_S if enough or is_stuck else math.inf
        self.ended_early = False

    def wait(self) -> bool:
        """Wait for the end, passing signals on. False when the time is over first."""
        while not self.ended():
            pause = min(self.looker.pause(), self._look_every)
            if self._timeout is not None:
                pause = min(pause, self._timeout - self.elapsed)
            self.ended_early = self._enough()
            if pause <= 0 or self.ended_early or self._is_stuck(self.elapsed):
                return False
            self.hear(pause)
            self.looker.look()
            self._on_progress(self.elapsed)
        return True

    def hear(self, pause: float = 0) -> None:
        """Wait for one signal, and pass it on if it is not the program's own and the program still lives."""
        info = signals.wait(self._watched, pause)
        if info is None or not signals.is_from_outside(info, self.pid):
            return
        self.interrupted |= info.number in signals.ENDING
        if self.returncode is None:
            below = sanitized.read(self._below).pid if self._below else 0
            signals.pass_on(info, below or self.pid)

    def ended(self) -> bool:
        """Has the program ended? Reaps it."""
        self.elapsed = time.monotonic() - self._start
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self._stopped()
            elif pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode is not None

    def _stopped(self) -> None:
        """Ctrl-Z stops both of us and needs nothing; a program that stopped itself is still stopped in a moment."""
        time.sleep(STOP_SETTLES_S)
        with contextlib.suppress(OSError, IndexError):
            state = Path(f"/proc/{self.pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            if state == "T":
                signals.stop_too(self.pid)


def _end(run: _Run, case_dir: Path, at_once: bool) -> Path | None:
    """The time is over: note what the threads are doing, then end the tree."""
    from gpudx.lab import hang, host_threads

    if at_once:
        hang.end_tree(run.pid, run.ended, hang.SHORT_GRACE_S)
        return None
    path: Path | None = case_dir / HANG
    try:
        (case_dir / HANG).write_text(hang.snapshot(run.pid))
    except OSError:
        path = None  # a full disk must not keep the program running
    host_threads.keep([one.pid for one in hang.tree(run.pid)], case_dir / TRACES)
    crumbs.settle(case_dir / TRACES)
    backends.snapshot(case_dir / DUMPS)
    hang.end_tree(run.pid, run.ended, hang.SHORT_GRACE_S if run.ended_early else hang.GRACE_S)
    return path


def _start(file: Path, command: list[str], env: dict[str, str], mask: set[int], files: Files) -> int:
    """Start the program with the signal state that gpudx itself was started with."""
    try:
        return _spawn(str(file), command, env, mask, files)
    except OSError as error:
        if error.errno == errno.ENOEXEC and not _is_elf(file):
            # No #! line: shells and execvp() run such a file with sh.
            return _spawn("/bin/sh", ["sh", str(file), *command[1:]], env, mask, files)
        raise _cannot_start(file, error) from None


def _spawn(path: str, argv: list[str], env: dict[str, str], mask: set[int], files: Files) -> int:
    # posix_spawn leaves descriptors alone and starts with the mask we say; subprocess does neither.
    return os.posix_spawn(path, argv, env, file_actions=files, setsigmask=mask, setsigdef=signals.CHANGED_BY_PYTHON)


def _into(output: Path) -> Files:
    """Appended, so that children do not overwrite each other. What is written to a file waits in a buffer: the order of output and errors
    would say nothing, so each has a file of its own until the end."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(output), append, 0o666),
        (os.POSIX_SPAWN_OPEN, 2, str(_errors(output)), append, 0o666),
    )


def _errors(output: Path) -> Path:
    return output.with_name(f"{output.name}.stderr")


def _joined(output: Path) -> int:
    """Puts the errors behind the output, and returns where they begin."""
    errors = _errors(output)
    try:
        with errors.open("rb") as source, output.open("ab") as target:
            begin = target.tell()
            shutil.copyfileobj(source, target)
        errors.unlink()
    except OSError:  # a full disk: they stay where they are
        return 0
    return begin


def _is_elf(file: Path) -> bool:
    with contextlib.suppress(OSError), file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"
    return False


def _cannot_start(file: Path, error: OSError) -> UserError:
    if error.errno == errno.ENOENT:
        text = f"{file} cannot be started: the interpreter or loader that it names does not exist; see `file {file}`."
        return UserError(text, program.NOT_FOUND)
    if error.errno == errno.ENOEXEC:
        text = f"{file} is built for another machine: use a build for this one."
    elif error.errno == errno.E2BIG:
        text = f"{file} cannot be started: arguments and environment are too long together; shorten them."
    else:
        text = f"{file} cannot be started ({error.strerror}): start it without gpudx to see whether it runs at all."
    return UserError(text, program.NOT_EXECUTABLE)
