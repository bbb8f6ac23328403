"""A recorded program behaves as if nobody were watching."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab_kit import Build

import gpudx
from gpudx.errors import UserError
from gpudx.lab.environment import keep_bytes, prepend, recorded_environment
from gpudx.lab.outcome import duration, outcome
from gpudx.lab.recorded import run_recorded
from gpudx.lab.roll import RollKind
from gpudx.model.how import How

DRIVER = Path(__file__).resolve().parent / "driver.py"


def start(place: Path, *command: str, timeout: float = 0, **options: object) -> subprocess.Popen[str]:
    """gpudx's part of `gpudx run`, as a process of its own."""
    words = [sys.executable, str(DRIVER), str(place), str(timeout), *command]
    options["env"] = {**os.environ, "PYTHONPATH": str(Path(gpudx.__file__).parents[1])}
    return subprocess.Popen(words, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def wait_for(path: Path) -> None:
    limit = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < limit, f"{path} never came"
        time.sleep(0.01)


def test_a_program_that_passes(recorder: Path, tmp_path: Path) -> None:
    run = run_recorded(["true"], tmp_path)
    assert (run.returncode, run.signal, run.timed_out, run.exit_status) == (0, None, False, 0)
    assert run.trace_dir == tmp_path / "traces"
    began = [entry for entry in run.roll if entry.kind != RollKind.ENDED]
    assert [(entry.kind, entry.pid) for entry in began] == [(RollKind.LOADED, run.pid)]
    assert outcome(run).kind == "passed"


@pytest.mark.parametrize("code", [1, 3, 127, 255])
def test_exit_statuses(recorder: Path, tmp_path: Path, code: int) -> None:
    run = run_recorded(["sh", "-c", f"exit {code}"], tmp_path)
    assert run.returncode == run.exit_status == code
    assert outcome(run).exit_code == code
    assert f"status {code}" in outcome(run).summary


@pytest.mark.parametrize("name", ["SEGV", "ABRT", "KILL", "TERM", "FPE"])
def test_death_by_signal_is_died_again(recorder: Path, tmp_path: Path, name: str) -> None:
    child = start(tmp_path, "sh", "-c", f"ulimit -c 0; kill -{name} $$", cwd=tmp_path)
    _, said = child.communicate(timeout=120)
    number = signal.Signals[f"SIG{name}"]
    assert child.returncode == -number
    assert f"lab: {-number} SIG{name} False" in said


def test_realtime_signals_have_names(recorder: Path, tmp_path: Path) -> None:
    run = run_recorded([sys.executable, "-c", "import os,signal;os.kill(os.getpid(),signal.SIGRTMIN+3)"], tmp_path)
    assert run.signal == "SIGRTMIN+3"
    assert "SIGRTMIN+3" in outcome(run).summary


def test_the_limit_on_core_files_is_left_alone(recorder: Path, tmp_path: Path) -> None:
    words = f"ulimit -S -c 1000; exec {sys.executable} {DRIVER} {tmp_path} 0 sh -c 'ulimit -c'"
    assert subprocess.run(["sh", "-c", words], capture_output=True, text=True).stdout == "1000\n"


def test_no_core_of_ours(recorder: Path, tmp_path: Path) -> None:
    inner = "ulimit -c 0; kill -SEGV $$"
    words = f"ulimit -S -c $(ulimit -H -c); exec {sys.executable} {DRIVER} {tmp_path} 0 sh -c '{inner}'"
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", words], os.environ)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGSEGV
    assert not os.WCOREDUMP(status)


def test_the_streams_are_the_programs_own(recorder: Path, tmp_path: Path) -> None:
    script = "import os,sys;print([os.fstat(i).st_ino for i in range(3)]);print(sys.stdin.read(),file=sys.stderr)"
    (tmp_path / "in").write_text("hello")
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        words = [sys.executable, str(DRIVER), str(tmp_path / "case"), "0", sys.executable, "-c", script]
        subprocess.run(words, stdin=source, stdout=out, stderr=err, check=True)
    inodes = [(tmp_path / name).stat().st_ino for name in ("in", "out", "err")]
    assert (tmp_path / "out").read_text() == f"{inodes}\n"
    assert (tmp_path / "err").read_text().startswith("hello\n")


def test_other_open_files_are_passed_on(recorder: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    script = f"import os;os.write({write}, b'inherited')"
    words = [sys.executable, str(DRIVER), str(tmp_path), "0", sys.executable, "-c", script]
    subprocess.run(words, pass_fds=[write], check=True)
    os.close(write)
    assert os.read(read, 100) == b"inherited"
    os.close(read)


def test_signal_state_is_as_without_us(recorder: Path, tmp_path: Path, build: Build) -> None:
    """Mask and dispositions are those of a program started by the same shell without gpudx."""
    show = ["grep", "-E", "Sig(Blk|Ign|Cgt)|NoNewPrivs", "/proc/self/status"]
    plain = subprocess.run(["sh", "-c", "trap '' HUP; exec " + " ".join(map(repr, show))], capture_output=True)
    quoted = " ".join(map(repr, [sys.executable, str(DRIVER), str(tmp_path), "0", *show]))
    watched = subprocess.run(["sh", "-c", f"trap '' HUP; exec {quoted}"], capture_output=True)
    assert plain.stdout and b"SigIgn" in watched.stdout

    def state(text: bytes) -> dict[bytes, int]:
        return {k: int(v, 16) for k, v in (line.split(b":") for line in text.splitlines())}

    ours, theirs = state(watched.stdout), state(plain.stdout)
    assert ours[b"SigBlk"] == theirs[b"SigBlk"]
    internal = 0b11 << 31  # glibc's posix_spawn ignores the two signals that its threads use among themselves
    assert ours[b"SigIgn"] & ~internal == theirs[b"SigIgn"] & ~internal


def test_argv0_is_as_given(recorder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: Build) -> None:
    program = build('#include <stdio.h>\nint main(int c,char**v){FILE*f=fopen(v[1],"w");fputs(v[0],f);return 0;}')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    run_recorded([program.name, str(tmp_path / "seen")], tmp_path / "case")
    assert (tmp_path / "seen").read_text() == program.name


# ---- signals to gpudx ----


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"])
def test_a_signal_to_gpudx_reaches_the_program(recorder: Path, tmp_path: Path, name: str) -> None:
    ready = tmp_path / "ready"
    child = start(tmp_path, "sh", "-c", f"trap 'echo got; exit 7' {name}; : > {ready}; while :; do sleep 0.02; done")
    wait_for(ready)
    child.send_signal(signal.Signals[f"SIG{name}"])
    out, _ = child.communicate(timeout=120)
    assert (out, child.returncode) == ("got\n", 7)


def test_a_signal_that_kills_the_program_kills_us_afterwards(recorder: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    child = start(tmp_path, "sh", "-c", f": > {ready}; exec sleep 30")
    wait_for(ready)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=120)
    assert child.returncode == -signal.SIGTERM
    assert "lab: -15 SIGTERM False" in said  # the case would be written here


def test_ignored_signals_stay_ignored(recorder: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    words = f"trap '' HUP; exec {sys.executable} {DRIVER} {tmp_path} 0 sh -c ': > {ready}; sleep 0.5; exit 5'"
    child = subprocess.Popen(["sh", "-c", words])
    wait_for(ready)
    child.send_signal(signal.SIGHUP)
    assert child.wait(timeout=120) == 5


def test_a_program_that_signals_its_group_is_not_hit_twice(recorder: Path, tmp_path: Path) -> None:
    """`kill 0` in a shell script reaches gpudx as well; it must not come back."""
    script = "n=0; trap 'n=$((n+1))' TERM; kill -TERM 0; sleep 0.3; exit $((10+n))"
    child = start(tmp_path, "sh", "-c", script, start_new_session=True)
    child.communicate(timeout=120)
    assert child.returncode == 11


def test_a_second_interrupt_does_not_cost_the_case() -> None:
    script = "with signals.held(): os.kill(os.getpid(), 2); os.kill(os.getpid(), 15)"
    words = [sys.executable, "-c", f"import os\nfrom gpudx.lab import signals\n{script}"]
    assert subprocess.run(words, env={"PYTHONPATH": str(Path(gpudx.__file__).parents[1])}).returncode == 0


def test_a_parent_that_ignores_children(recorder: Path, tmp_path: Path) -> None:
    words = f"trap '' CHLD; exec {sys.executable} {DRIVER} {tmp_path} 0 sh -c 'exit 5'"
    assert subprocess.run(["sh", "-c", words]).returncode == 5


# ---- timeouts ----

READY_S = 2.0  # until a shell has started its children and set its traps, also on a busy machine


def test_a_timeout_ends_the_whole_tree(recorder: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 60 & echo $! >> {pids}; (sleep 60 & echo $! >> {pids}; wait) & echo $! >> {pids}; wait"
    run = run_recorded(["sh", "-c", script], tmp_path, How(timeout=READY_S))
    assert run.timed_out and run.exit_status == 124
    assert READY_S <= run.duration_s < 60, "its children would have ended by then"
    assert outcome(run).kind == "timeout"
    assert "was stopped" in outcome(run).summary
    for pid in pids.read_text().split():
        status = Path(f"/proc/{pid}/stat")
        assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"
    assert run.hang is not None
    text = run.hang.read_text()
    assert f"process {run.pid}: sh -c" in text
    assert text.count("process ") >= 4
    assert "status: State:" in text


def test_a_program_that_ignores_sigterm_is_killed(recorder: Path, tmp_path: Path) -> None:
    begin = time.monotonic()
    run = run_recorded(["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], tmp_path, How(timeout=READY_S))
    assert run.timed_out and run.signal == "SIGKILL"
    assert time.monotonic() - begin >= READY_S + 2


def test_a_stopped_program_can_be_ended(recorder: Path, tmp_path: Path) -> None:
    run = run_recorded(["sh", "-c", "kill -STOP $$"], tmp_path, How(timeout=0.3))
    assert run.timed_out and run.signal == "SIGTERM"


def test_a_handler_that_exits_in_time(recorder: Path, tmp_path: Path) -> None:
    run = run_recorded(["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.02; done"], tmp_path, How(timeout=READY_S))
    assert (run.returncode, run.exit_status) == (0, 124)


def test_no_room_for_the_hang_text(recorder: Path, tmp_path: Path) -> None:
    (tmp_path / "hang.txt").mkdir()
    run = run_recorded(["sleep", "30"], tmp_path, How(timeout=0.2))
    assert run.timed_out and run.hang is None


def test_an_unkillable_program_is_given_up(recorder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudx.lab import hang

    monkeypatch.setattr(hang, "_send", lambda processes, *signals: None)
    monkeypatch.setattr(hang, "GRACE_S", 0.1)
    monkeypatch.setattr(hang, "PATIENCE_S", 0.1)
    run = run_recorded(["sleep", "3"], tmp_path, How(timeout=0.1))
    assert run.returncode is None and run.exit_status == 124
    assert "not even SIGKILL" in outcome(run).summary
    os.kill(run.pid, signal.SIGKILL)
    os.waitpid(run.pid, 0)


def test_progress_is_told(recorder: Path, tmp_path: Path) -> None:
    seen: list[float] = []
    run_recorded(["sleep", "0.2"], tmp_path, on_progress=seen.append)
    assert seen and seen == sorted(seen)


# ---- commands that cannot be started ----


@pytest.mark.parametrize(
    ("make", "code", "says"),
    [
        ("nothing", 127, "command not found"),
        ("path", 127, "no such file"),
        ("folder", 126, "is a directory"),
        ("plain", 126, "chmod"),
        ("interpreter", 127, "interpreter or loader"),
        ("foreign", 126, "another machine"),
        ("long", 126, "too long"),
        ("busy", 126, "cannot be started"),
    ],
)
def test_what_cannot_be_started(recorder: Path, tmp_path: Path, make: str, code: int, says: str) -> None:
    file = tmp_path / "program"
    command = [str(file)]
    held = None
    if make == "nothing":
        command = ["no-such-command-anywhere"]
    elif make == "folder":
        file.mkdir()
    elif make != "path":
        file.write_bytes(
            {"interpreter": b"#!/no/such/interpreter\n", "foreign": b"\x7fELF\2\1\1" + b"\0" * 57}.get(make, b"")
        )
        file.chmod(0o644 if make == "plain" else 0o755)
    if make == "long":
        command = ["true", "x" * 3_000_000]
    if make == "busy":
        file.write_bytes(Path("/bin/true").read_bytes())
        held = file.open("ab")
    with pytest.raises(UserError, match=says) as caught:
        run_recorded(command, tmp_path / "case")
    if held:
        held.close()
    assert caught.value.exit_code == code


def test_a_name_that_lies_here(recorder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").write_text("")
    (tmp_path / "app").chmod(0o755)
    with pytest.raises(UserError, match=r"Did you mean \./app\?"):
        run_recorded(["app"], tmp_path / "case")
    with pytest.raises(UserError, match="no command"):
        run_recorded([], tmp_path / "case")


def test_a_script_without_interpreter_runs_with_sh(recorder: Path, tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text('test "$1" = "a b" && exit 9\n')
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    assert run_recorded([str(file), "a b"], tmp_path / "case").returncode == 9


def test_a_case_directory_that_cannot_be_made(recorder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--case DIR"):
        run_recorded(["true"], tmp_path / "file" / "case")


# ---- the environment ----


def test_the_environment(recorder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("OPENCL_LAYERS", "/other/layer.so")
    monkeypatch.setenv("GPUDX_OPENCL", "layer")  # whatever loader this system has
    script = f"env > {tmp_path}/env"
    run_recorded(["sh", "-c", script], tmp_path, How(keep="64M", extra_env={"MORE": "1"}))
    env = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert env["LD_PRELOAD"] == str(recorder)
    assert env["OPENCL_LAYERS"] == f"{recorder}:/other/layer.so"
    assert env["GPUDX_DIR"] == str(tmp_path / "traces")
    assert env["GPUDX_KEEP"] == str(64 << 20)
    assert env["MORE"] == "1"


def test_lists_keep_what_is_there() -> None:
    assert prepend("/a", "") == "/a"
    assert prepend("/a", "/b:/c") == "/a:/b:/c"
    assert prepend("/a", "/b:/a") == "/a:/b"


@pytest.mark.parametrize(("text", "value"), [("32M", 32 << 20), ("1G", 1 << 30), ("2MiB", 2 << 20), ("4096k", 4 << 20)])
def test_sizes(text: str, value: int) -> None:
    assert keep_bytes(text) == str(value)
    assert keep_bytes("ALL") == "all"


@pytest.mark.parametrize("text", ["", "0", "x", "-5M", "1K", "5T", "1.5M"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="not a size"):
        keep_bytes(text)


def test_a_path_that_is_too_long_for_the_recorder(fake_recorder: Path) -> None:
    with pytest.raises(UserError, match="shorter"):
        recorded_environment(fake_recorder, Path("/" + "d" * 900), "32M", {})


def test_a_program_with_address_sanitizer_starts(
    recorder: Path, tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    try:
        program = build("int main(void){return 4;}", "-fsanitize=address")
    except subprocess.CalledProcessError:
        pytest.skip("the compiler has no AddressSanitizer")
    run = run_recorded([str(program)], tmp_path / "case")
    assert run.returncode == 4
    assert [entry.kind for entry in run.roll if entry.kind != RollKind.ENDED] == [RollKind.LOADED]


def test_the_user_decides_about_the_sanitizer(fake_recorder: Path) -> None:
    base = {"ASAN_OPTIONS": "verify_asan_link_order=1"}
    assert recorded_environment(fake_recorder, Path("/x"), "32M", base)["ASAN_OPTIONS"] == base["ASAN_OPTIONS"]


def test_durations() -> None:
    assert [duration(s) for s in (0.002, 1.25, 600)] == ["2 ms", "1.2 s", "10 min"]


def test_output_in_a_file_and_no_input(recorder: Path, tmp_path: Path) -> None:
    script = "echo out; echo err >&2; cat; (echo child)"
    run = run_recorded(["sh", "-c", script], tmp_path, How(output=tmp_path / "output.txt"))
    assert (run.returncode, run.interrupted) == (0, False)
    assert (tmp_path / "output.txt").read_text() == "out\nchild\nerr\n"
    assert run.errors_at == len("out\nchild\n") and not list(tmp_path.glob("*.stderr"))


def test_a_program_that_signals_its_own_group_is_not_interrupted(recorder: Path, tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from gpudx.lab.recorded import run_recorded
os.setsid()
run = run_recorded(["sh", "-c", "trap '' TERM; kill -TERM 0; sleep 0.1; exit 4"], Path({str(tmp_path)!r}))
print(run.returncode, run.interrupted)
"""
    env = {**os.environ, "PYTHONPATH": str(Path(gpudx.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == "4 False\n", done.stderr
