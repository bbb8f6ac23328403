"""A program's life with the recorder inside: children, signals, limits, libraries. It must see no difference."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from native_kit import PROGRAMS, Kit, Ran
from records import gap

from gpudx.lab.roll import RollKind
from gpudx.lab.roll import read as read_roll
from gpudx.trace import Trace

CL_SYMBOLS = 2  # bit of header.entries
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def set_arguments(trace: Trace, index: int) -> list[int]:
    """The values that clSetKernelArg gave argument `index`, in order."""
    info = trace.schema.by_name("clSetKernelArg")
    assert info
    positions = trace.select(info)
    wanted = positions[trace.words(positions, 1) == index]
    return [int(v) for v in trace.words(wanted, 4)]


def same(kit: Kit, *command: str | Path, keep: str = "") -> Ran:
    """Run with and without the recorder; what the user sees is the same. Gives the recorded run."""
    plain, recorded = kit.both(command, keep=keep)
    assert recorded.seen == plain.seen
    return recorded


def roll_kinds(ran: Ran) -> list[int]:
    return [entry.kind for entry in read_roll(ran.folder / "roll").entries]


def test_calls_are_recorded(kit: Kit) -> None:
    ran = same(kit, kit.program("calls"))
    assert ran.returncode == 7
    assert set_arguments(ran.trace(), 0) == list(range(1, 11))
    assert ran.trace().ended
    assert roll_kinds(ran) == [RollKind.LOADED, RollKind.ENDED]
    assert read_roll(ran.folder / "roll").entries[-1].status == 7


def test_without_a_directory_nothing_is_recorded(kit: Kit) -> None:
    ran = kit.run([kit.program("calls")], "plain", env={"LD_PRELOAD": str(kit.symbols)})
    assert ran.seen == (7, "done\n", "")
    assert list(ran.folder.iterdir()) == []


# ---- children ----


@pytest.mark.parametrize("how", ["fork", "exit", "clone", "sys_fork"])
def test_a_child_has_its_own_trace(kit: Kit, how: str) -> None:
    ran = same(kit, kit.program("forks"), how)
    parent, child = ran.traces()
    assert child.ppid == parent.pid
    assert child.entries == parent.entries == CL_SYMBOLS
    assert set_arguments(parent, 0) == [1, 2, 3, 4, 5] * 2
    assert set_arguments(parent, 1) == []
    assert set_arguments(child, 1) == [1, 2, 3]
    assert set_arguments(child, 0) == []


def test_a_grandchild_has_its_own_trace(kit: Kit) -> None:
    traces = same(kit, kit.program("forks"), "twice").traces()
    assert [len(set_arguments(t, i)) for i, t in enumerate(traces)] == [10, 3, 2]


def test_fork_inside_an_open_call(kit: Kit) -> None:
    parent, child = same(kit, kit.program("fork_in_call")).traces()
    finish = parent.schema.by_name("clFinish")
    assert finish
    assert (parent.column("end", parent.select(finish)) > 0).all()
    assert len(set_arguments(parent, 0)) == 10
    assert len(set_arguments(child, 1)) == 5
    assert len(child.select(finish)) == 0


def test_fork_in_a_signal_handler(kit: Kit) -> None:
    ran = same(kit, kit.program("fork_in_handler"))
    assert ran.stdout == "bad children 0\n"
    assert all(len(set_arguments(t, 1)) == 10 for t in ran.traces()[1:])


def test_fork_of_a_threaded_program(kit: Kit) -> None:
    ran = same(kit, kit.program("threads_fork"))
    assert ran.stdout == "bad children 0\n"
    assert len(ran.traces()) == 61


EXECS = [
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "execle",
    "fexecve",
    "vfork",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
]


@pytest.mark.parametrize("how", EXECS)
def test_programs_that_are_started_are_recorded_too(kit: Kit, how: str) -> None:
    ran = same(kit, kit.program("execs"), how)
    assert ran.returncode == 9
    first, second = ran.traces()
    assert (set_arguments(first, 0), set_arguments(second, 1)) == ([1, 2, 3, 4], [1, 2])
    assert RollKind.STARTS_WITHOUT not in roll_kinds(ran)


@pytest.mark.parametrize("how", EXECS)
def test_programs_started_without_us_are_noted(kit: Kit, how: str) -> None:
    ran = same(kit, kit.program("execs"), how, "bare")
    assert ran.returncode == 9
    assert set_arguments(ran.trace(), 0) == [1, 2, 3, 4]
    assert RollKind.STARTS_WITHOUT in roll_kinds(ran)


# ---- signals ----

DEATHS = {
    "abort": signal.SIGABRT,
    "raise_abrt": signal.SIGABRT,
    "kill_abrt": signal.SIGABRT,
    "kill_segv": signal.SIGSEGV,
    "segv": signal.SIGSEGV,
    "fpe": signal.SIGFPE,
    "ill": signal.SIGILL,
    "bus": signal.SIGBUS,
    "sys": signal.SIGSYS,
    "thread": signal.SIGSEGV,
    "driver": signal.SIGSEGV,
    "overflow_other_stack": signal.SIGSEGV,
}
SILENT_DEATHS = {"kill_term": signal.SIGTERM, "blocked": signal.SIGSEGV, "overflow": signal.SIGSEGV}


@pytest.mark.parametrize("how", list(DEATHS))
def test_a_fatal_signal_ends_the_program_and_is_recorded(kit: Kit, how: str) -> None:
    ran = same(kit, kit.program("dies"), how)
    assert ran.returncode == -DEATHS[how]
    words = ran.trace().last_words
    assert words
    assert words.signal == DEATHS[how]
    assert bool(words.stack) == (how != "sys")  # after a filter of its own there is no room for it
    assert "libgpudx" in ran.trace().maps
    assert not ran.trace().ended
    assert (words.address == 16) == (how in ("segv", "thread", "driver"))


@pytest.mark.parametrize("how", list(SILENT_DEATHS))
def test_a_signal_that_cannot_be_caught_ends_the_program_alike(kit: Kit, how: str) -> None:
    ran = same(kit, kit.program("dies"), how)
    assert ran.returncode == -SILENT_DEATHS[how]
    assert ran.trace().last_words is None
    assert set_arguments(ran.trace(), 0) == [1, 2]


@pytest.mark.parametrize(("how", "status"), [("prctl", 5), ("seccomp", 5), ("crash", -signal.SIGSEGV)])
@pytest.mark.parametrize("keep", ["", "all"])
def test_a_program_that_shuts_itself_in(kit: Kit, how: str, status: int, keep: str) -> None:
    """A system call of ours that the program's own filter does not know would end it with SIGSYS."""
    ran = same(kit, kit.program("shut_in", "-pthread"), how, keep=keep)
    assert (ran.returncode, ran.stdout) == (status, "shut in\n")
    trace = ran.trace()
    assert any("seccomp filter" in gap.text for gap in trace.gaps), trace.gaps
    assert (trace.last_words is not None) == (how == "crash")


def test_a_filter_that_is_refused_changes_nothing(kit: Kit) -> None:
    """Values are still read by the kernel afterwards."""
    ran = same(kit, kit.program("shut_in", "-pthread"), "refused")
    assert ran.returncode == 0
    assert set_arguments(ran.trace(), 0) == list(range(1, 20_001))


def test_the_call_in_flight_is_known(kit: Kit) -> None:
    trace = same(kit, kit.program("dies"), "driver").trace()
    open_calls = np.flatnonzero(trace.column("end") == 0)
    assert [trace.info(int(p)).name for p in open_calls] == ["clFinish"]


@pytest.mark.parametrize("when", ["before", "after", "default", "ignore"])
def test_the_programs_own_handler_stays_in_charge(kit: Kit, when: str) -> None:
    ran = same(kit, kit.program("own_handler"), when)
    assert ran.returncode == {"before": 5, "after": 5, "default": -signal.SIGSEGV, "ignore": 8}[when]


@pytest.mark.parametrize("when", ["once", "built"])
def test_a_reporter_of_crashes_gets_its_signal_after_us(kit: Kit, when: str) -> None:
    """A handler that is called once, as LLVM inside a driver installs one before the first recorded call, or in a build."""
    ran = same(kit, kit.program("own_handler"), when)
    assert ran.returncode == 5
    words = ran.trace().last_words
    assert words is not None and words.signal == signal.SIGSEGV and words.address == 16


def test_a_handler_that_calls_the_one_before(kit: Kit) -> None:
    """What it finds is ours, in the place of a driver's. Both stay for the next fault."""
    ran = same(kit, kit.program("own_handler"), "chained")
    assert (ran.returncode, ran.stdout.split()) == (9, ["later", "earlier"] * 2)
    assert ran.trace().last_words is not None


def test_calls_from_signal_handlers(kit: Kit) -> None:
    ran = kit.run([kit.program("storm"), "2000"], "symbols", keep="all")
    made, handled = map(int, ran.stderr.split())
    trace = ran.trace()
    assert set_arguments(trace, 0) == list(range(made))
    assert len(set_arguments(trace, 1)) + gap(trace, "dropped") == handled


@pytest.mark.parametrize("out_of", ["driver", "timer"])
def test_a_handler_that_jumps_out_leaves_the_recorder_working(kit: Kit, out_of: str) -> None:
    trace = same(kit, kit.program("jumps"), out_of, keep="all").trace()
    assert set_arguments(trace, 1) == list(range(1, 101))
    info = trace.schema.by_name("clSetKernelArg")
    assert info
    last = trace.select(info)[-100:]
    assert not (trace.column("flags", last) & trace.schema.flags["in_another_call"]).any()
    assert gap(trace, "dropped") == 0


# ---- limits ----


@pytest.mark.parametrize("mode", ["before_fsize", "fsize"])
@pytest.mark.parametrize("size", [0, 100, 4096, 100_000, 300_000, 1_000_000])
def test_a_limit_on_file_size(kit: Kit, mode: str, size: int) -> None:
    ran = same(kit, kit.program("limits"), mode, str(size))
    assert ran.seen == (0, "done\n", "")
    for trace in ran.traces():
        assert trace.path.stat().st_size <= max(size, 1 << 20)  # what it had when the limit came


@pytest.mark.parametrize(("keep", "said"), [("", "overwritten (the trace could not grow: file too large)"), ("all", "file too large")])
def test_a_trace_that_cannot_grow_says_why(kit: Kit, keep: str, said: str) -> None:
    """Keeping all would need more room, not less."""
    ran = kit.run([kit.program("limits"), "fsize", "0"], "symbols", keep=keep)
    (trace,) = ran.traces()
    (gap,) = [gap for gap in trace.gaps if gap.kind in ("overwritten", "stopped")]
    assert said in gap.text and "--keep all" not in gap.text


def test_a_limit_on_file_size_from_the_start(kit: Kit) -> None:
    """The recorder's first file is written before main."""
    program = kit.program("calls")
    folder = kit.folder / "no-files"
    folder.mkdir()
    done = subprocess.run(
        [program],
        env=kit.environment("symbols", folder),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")


@pytest.mark.parametrize("megabytes", [0, 5, 20, 100])
def test_a_limit_on_memory(kit: Kit, megabytes: int) -> None:
    """Nothing can be mapped any more, or little: the program's calls go on."""
    assert same(kit, kit.program("limits"), "as", str(megabytes << 20)).seen == (0, "done\n", "")


def test_under_a_limit_on_memory_little_is_taken(kit: Kit) -> None:
    limit = 64 << 20
    folder = kit.folder / "little-memory"
    folder.mkdir()
    done = subprocess.run(
        [kit.program("calls"), "300000"],
        env=kit.environment("symbols", folder),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")
    (path,) = folder.glob("*.gdx")
    assert path.stat().st_size < limit / 16
    assert set_arguments(Trace(path), 0)[-1] == 300_000


@pytest.mark.parametrize("count", [0, 3])
def test_no_more_files_may_be_opened(kit: Kit, count: int) -> None:
    ran = same(kit, kit.program("limits"), "files", str(count))
    assert any(g.kind in ("stopped", "overwritten", "ledger-full") for g in ran.trace().gaps)


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("cannot mount a tmpfs here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@ROOT_ONLY
@pytest.mark.parametrize("size", ["4k", "64k", "256k", "600k", "1200k"])
def test_a_full_disk(kit: Kit, tmp_path: Path, size: str) -> None:
    plain = kit.run([kit.program("limits")], "plain")
    with small_disk(tmp_path / "disk", size) as disk:
        ran = kit.run([kit.program("limits")], "symbols", folder=disk)
        kept = shutil.copytree(disk, tmp_path / "kept")
    assert ran.seen == plain.seen
    for path in kept.glob("*.gdx"):
        trace = Trace(path)
        assert trace.gaps
        assert set_arguments(trace, 0) == list(range(1, 11)) or len(trace) == 0 or set_arguments(trace, 0)[-1] == 20_000


# ---- places ----


def test_descriptors_are_left_alone(kit: Kit) -> None:
    ran = same(kit, kit.program("descriptors"))
    assert ran.stdout.split()[1] == "0"
    assert len(set_arguments(ran.trace(), 0)) == 9000


@pytest.mark.parametrize("move", ["chdir", "rename", "umask", pytest.param("chroot", marks=ROOT_ONLY)])
def test_the_program_moves(kit: Kit, tmp_path: Path, move: str) -> None:
    traces = tmp_path / "traces"
    plain = kit.run([kit.program("moves"), move, traces], "plain")
    ran = kit.run([kit.program("moves"), move, traces], "symbols", folder=traces)
    assert ran.seen == plain.seen == (0, "done\n", "")
    folder = tmp_path / "traces-elsewhere" if move == "rename" else traces
    (path,) = folder.glob("*.gdx")
    trace = Trace(path)
    assert set_arguments(trace, 0)[:10] == list(range(1, 11)) or gap(trace, "overwritten")
    if move in ("chdir", "umask"):
        assert trace.gaps == ()
    else:
        assert any(g.kind in ("stopped", "overwritten", "ledger-full") for g in trace.gaps)


@pytest.mark.parametrize("place", ["missing", "file", "long", "proc", "empty"])
def test_traces_cannot_be_written(kit: Kit, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    where = {
        "missing": tmp_path / "a/b",
        "file": tmp_path / "file",
        "long": "/x" * 2000,
        "proc": "/proc/self",
        "empty": "",
    }
    ran = kit.run([kit.program("calls"), "5000"], "symbols", env={"GPUDX_DIR": str(where[place])})
    assert ran.seen == (7, "done\n", "")


def test_the_directory_is_removed(kit: Kit, tmp_path: Path) -> None:
    """Between the start of the program and its first call, and between two images of one process."""
    folder = tmp_path / "gone"
    env = kit.environment("symbols", folder)
    done = subprocess.run(
        ["sh", "-c", 'rm -rf "$GPUDX_DIR"; exec "$0" 5000', kit.program("calls")],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")


# ---- libraries and threads ----


def test_libraries_that_come_and_go(kit: Kit) -> None:
    plugin = kit.program("plugin", "-shared", "-fPIC", name="plugin.so")
    ran = same(kit, kit.program("plugins"), plugin)
    assert ran.stdout == "bad 0\n"
    assert len(set_arguments(ran.trace(), 0)) == 200


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread"])
def test_a_program_built_with_a_sanitizer(kit: Kit, sanitizer: str) -> None:
    program = kit.program("calls", f"-fsanitize={sanitizer}")
    # AddressSanitizer wants to come first; gpudx.lab sets this too.
    ran = kit.run([program], "symbols", env={"ASAN_OPTIONS": "verify_asan_link_order=0"})
    assert ran.seen == kit.run([program], "plain").seen == (7, "done\n", "")
    assert set_arguments(ran.trace(), 0) == list(range(1, 11))


def test_a_library_that_asks_for_a_driver(kit: Kit) -> None:
    library = kit.built("libasks.so", "cc", "-shared", "-fPIC", PROGRAMS / "asks_library.c")
    program = kit.built("asks", "cc", PROGRAMS / "asks.c", library, f"-Wl,-rpath,{library.parent}")
    plain = kit.run([program], "plain")
    assert plain.returncode == 3
    assert kit.run([program], "layer").seen == plain.seen


def test_calls_before_our_constructor_and_after_main(kit: Kit) -> None:
    library = kit.program("early_library", "-shared", "-fPIC", name="libearly.so")
    link = ["-Wl,--no-as-needed", f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-learly"]
    trace = same(kit, kit.program("early", *link)).trace()
    assert [set_arguments(trace, i) for i in range(5)] == [[1, 2]] * 5


def test_calls_before_the_c_library_is_ready(kit: Kit) -> None:
    trace = same(kit, kit.program("before_all")).trace()
    assert set_arguments(trace, 1) == [1, 2]
    assert trace.entries == CL_SYMBOLS


def test_a_static_program_is_not_touched(kit: Kit) -> None:
    program = kit.built("alone", "cc", "-static", PROGRAMS / "alone.c")
    ran = same(kit, program)
    assert ran.seen == (6, "alone\n", "")
    assert list(ran.folder.iterdir()) == []


@pytest.mark.parametrize("how", ["destructors", "cancelled", "exit"])
def test_threads_that_end_in_the_middle(kit: Kit, how: str) -> None:
    trace = same(kit, kit.program("thread_end"), how).trace()
    assert len(set_arguments(trace, 3)) == 10
    assert gap(trace, "dropped") == 0
    assert trace.ended
    if how == "destructors":
        assert len(set_arguments(trace, 0)) == len(set_arguments(trace, 1)) == 50
