"""The recorder harms nobody: threads that unmap what others pass, libraries that need thread-local storage, long sources."""

from __future__ import annotations

import subprocess

import pytest
from native_kit import PROGRAMS, SANITIZERS, Kit

from gpudx.lab.roll import RollKind, read


@pytest.mark.parametrize("sanitizer", list(SANITIZERS))
def test_threads_that_unmap_what_others_pass(kit: Kit, sanitizer: str) -> None:
    if sanitizer == "plain":
        ran = kit.run([kit.program("remaps")], "symbols")
    else:
        ran = kit.run([kit.hooked(PROGRAMS / "remaps.c", sanitizer)], "linked")
    assert ran.seen == (0, "still here\n", "")
    trace = ran.trace()
    cut = trace.column("flags") & trace.schema.flags["cut"]
    assert cut.any(), "some of it was not there"


def test_the_program_itself_comes_to_its_end(kit: Kit) -> None:
    assert kit.run([kit.program("remaps")], "plain").seen == (0, "still here\n", "")


def test_little_thread_local_storage_is_taken(kit: Kit) -> None:
    """A preloaded library takes its part before all others: what is left is what the program's own libraries can have."""
    listed = subprocess.run(["readelf", "-lW", kit.recorder], capture_output=True, text=True, check=True).stdout
    (line,) = (row for row in listed.splitlines() if row.split()[:1] == ["TLS"])
    assert int(line.split()[5], 16) <= 64


def test_a_source_that_is_too_long_is_marked(kit: Kit) -> None:
    ran = kit.run([kit.program("long_source")], "symbols")
    assert ran.returncode == 0
    trace = ran.trace()
    note = trace.schema.by_name("note_source")
    assert note
    short, long = (int(p) for p in trace.select(note)[-2:])
    cut = trace.schema.flags["cut"]
    assert not int(trace.column("flags")[short]) & cut
    assert int(trace.column("flags")[long]) & cut
    assert len(trace.text(long)) == 16 << 20


def test_a_start_that_fails_is_no_start(kit: Kit) -> None:
    ran = kit.run([kit.program("tries")], "symbols")
    assert ran.returncode == 9, ran.stderr
    started = [e for e in read(ran.folder / "roll").entries if e.kind == RollKind.STARTS_WITHOUT]
    assert [e.path for e in started] == ["/bin/sh"]


def test_a_program_without_room_for_one_more_key(kit: Kit) -> None:
    """The recorder gets no key for thread-specific data: its lanes are not given back, and all else is as before."""
    taker = kit.built("libtakes.so", "cc", "-shared", "-fPIC", PROGRAMS / "takes_keys.c")
    preload = f"{kit.symbols} {taker}"  # the last one is started first
    ran = kit.run([kit.program("no_keys")], "symbols", env={"LD_PRELOAD": preload})
    assert ran.seen == (0, "keys 0\n", "")
    trace = ran.trace()
    assert not trace.gaps and len(set(trace.column("tid").tolist())) == 21
