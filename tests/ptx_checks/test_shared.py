"""Kernels that check their shared memory, the masks of their warps and what they hand to other blocks: rewritten, and run on the machine
of support/ptx_machine.py. Every mistake has its correct neighbours, which stay silent and compute the same as without checks."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.ptx_machine import Machine, Stuck, reports

from gpudx.kernel_checks.prelude import KINDS
from gpudx.ptx_checks.rewrite import rewrite

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
REGISTERS = (
    "\t.reg .pred %p<9>;\n\t.reg .b32 %r<40>;\n\t.reg .f32 %f<9>;\n\t.reg .b64 %rd<9>;\n\t.shared .align 4 .b8 bins[128];\n"
)
WARP = 32
Seen = set[tuple[str, str]]  # kind, instruction


def module(body: str) -> str:
    lines = "".join(f"\t{line.strip()}\n" if not line.strip().endswith(":") else f"{line.strip()}\n" for line in body.strip().split("\n"))
    return (
        f"{HEAD}.visible .entry k(\n\t.param .u64 k_param_0\n)\n{{\n{REGISTERS}\tld.param.u64 %rd1, [k_param_0];\n"
        f"\tcvta.to.global.u64 %rd2, %rd1;\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, bins;\n{lines}\tret;\n}}\n"
    )


def ran(body: str, tmp_path: Path, check: str = "shared", grid: int = 1, block: int = 64, first: Sequence[int] = ()) -> Seen:
    """What the kernel reports. Its result must be that of the kernel without checks."""
    text = module(body)
    done = rewrite(text, frozenset({check}))
    if done is None:  # nothing in it is worth a check
        return set()
    compiles(done.text, tmp_path)
    results = []
    for one in (text, done.text):
        machine = Machine(one)
        out = machine.alloc(1024)
        machine.write(out, struct.pack(f"<{len(first)}I", *first))
        machine.launch("k", grid, block, [out])
        results.append(machine.read(out, 1024))
    if check == "races":
        assert results[0] == results[1]
    return {(KINDS[found[0]], done.sites[found[1] - 1].text.split(" ")[0]) for found in reports(machine)}


def compiles(text: str, folder: Path) -> None:
    if ptxas := shutil.which("ptxas"):
        (folder / "module.ptx").write_text(text)
        done = subprocess.run([ptxas, "-arch=sm_80", "-o", "/dev/null", folder / "module.ptx"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


# ---- shared memory: the second warp clears 32 words, all threads count in them ----

CLEARS = """
setp.lt.u32 %p1, %r1, 32;
@%p1 bra $CLEARED;
sub.s32 %r3, %r1, 32;
shl.b32 %r4, %r3, 2;
add.s32 %r5, %r2, %r4;
mov.u32 %r6, 0;
st.shared.u32 [%r5], %r6;
$CLEARED:
"""
COUNTS = """
and.b32 %r7, %r1, 31;
shl.b32 %r8, %r7, 2;
add.s32 %r9, %r2, %r8;
atom.shared.add.u32 %r10, [%r9], 1;
bar.sync 0;
ld.shared.u32 %r11, [%r9];
mul.wide.u32 %rd3, %r7, 4;
add.s64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r11;
"""
BARRIER = "bar.sync 0;\n"


def test_memory_that_is_cleared_while_others_count_in_it_is_a_race(tmp_path: Path) -> None:
    seen = ran(CLEARS + COUNTS, tmp_path)
    assert ("race", "atom.shared.add.u32") in seen or ("race", "st.shared.u32") in seen


def test_a_barrier_between_the_two_is_silent(tmp_path: Path) -> None:
    assert ran(CLEARS + BARRIER + COUNTS, tmp_path) == set()


def test_counting_in_memory_that_nobody_clears_is_an_uninitialized_read(tmp_path: Path) -> None:
    assert ran(COUNTS, tmp_path) == {("uninitialized", "atom.shared.add.u32")}


def test_an_exchange_sets_what_was_not_written(tmp_path: Path) -> None:
    body = "shl.b32 %r4, %r1, 1;\nand.b32 %r4, %r4, 124;\nadd.s32 %r5, %r2, %r4;\natom.shared.exch.b32 %r6, [%r5], 0;\n"
    assert ran(body + "bar.sync 0;\nld.shared.u32 %r7, [%r5];", tmp_path) == set()


READS_32 = """
shl.b32 %r4, %r1, 2;
add.s32 %r5, %r2, %r4;
setp.ge.u32 %p1, %r1, {written};
@%p1 bra $WRITTEN;
st.shared.u32 [%r5], %r1;
$WRITTEN:
bar.sync 0;
setp.ge.u32 %p2, %r1, 32;
@%p2 bra $DONE;
ld.shared.u32 %r6, [%r5];
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r6;
$DONE:
"""


def test_words_that_no_thread_wrote_are_found_and_written_ones_are_not(tmp_path: Path) -> None:
    assert ran(READS_32.format(written=20), tmp_path) == {("uninitialized", "ld.shared.u32")}
    assert ran(READS_32.format(written=32), tmp_path) == set()


def test_bytes_of_a_word_that_several_threads_write_are_all_counted(tmp_path: Path) -> None:
    body = """
    add.s32 %r5, %r2, %r1;
    st.shared.u8 [%r5], %r1;
    bar.sync 0;
    and.b32 %r6, %r1, 15;
    shl.b32 %r6, %r6, 2;
    add.s32 %r7, %r2, %r6;
    ld.shared.u32 %r8, [%r7];
    """
    assert ran(body, tmp_path) == set()


def test_a_second_launch_begins_with_unwritten_memory(tmp_path: Path) -> None:
    done = rewrite(module(READS_32.format(written=32)), frozenset({"shared"}))
    assert done is not None
    machine = Machine(done.text)
    out = machine.alloc(1024)
    for _ in range(2):
        machine.launch("k", 2, 64, [out])
    assert list(reports(machine)) == []


def test_memory_that_is_written_in_ways_that_are_not_seen_is_left_alone() -> None:
    text = module("ld.shared.u32 %r6, [%r2];\ncp.async.ca.shared.global [%r2], [%rd2], 4;")
    done = rewrite(text, frozenset({"shared"}))
    assert done is None or "gdx_shared," not in done.text.split("ld.param", 1)[1]


# ---- masks of warps ----

SHUFFLE = "shfl.sync.idx.b32 %r9|%p8, %r1, 3, 31, {mask};"
STORE = """
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
st.global.u32 [%rd4], %r9;
"""


def branch(condition: str, inside: str, behind: str = STORE) -> str:
    return f"mov.u32 %r9, 7;\n{condition}\n@!%p1 bra $BEHIND;\n{inside}\n$BEHIND:\n{behind}"


ODD = "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 1;"


def test_a_mask_that_names_lanes_of_the_other_way(tmp_path: Path) -> None:
    assert ran(branch(ODD, SHUFFLE.format(mask=-1)), tmp_path) == {("barrier", "shfl.sync.idx.b32")}


def test_the_branch_is_named_with_the_lanes(tmp_path: Path) -> None:
    done = rewrite(module(branch(ODD, SHUFFLE.format(mask=-1))), frozenset({"shared"}))
    assert done is not None
    machine = Machine(done.text)
    machine.launch("k", 1, WARP, [machine.alloc(1024)])
    ((_, _, _, _, lanes, place, *_),) = reports(machine)
    assert lanes == 0x55555555 and done.sites[place - 1].kind == "branch"


@pytest.mark.parametrize(
    "body",
    [
        branch(ODD, SHUFFLE.format(mask="0xaaaaaaaa")),  # names those that are there
        branch("setp.lt.u32 %p1, %r1, 32;", SHUFFLE.format(mask=-1)),  # whole warps
        branch(ODD, "activemask.b32 %r4;\n" + SHUFFLE.format(mask="%r4")),
        branch(ODD, SHUFFLE.format(mask=-1), ""),  # the others leave the kernel
        "vote.sync.ballot.b32 %r4, %p1, -1;\n" + branch(ODD, "add.s32 %r9, %r9, 1;"),  # before the branch
        f"{ODD}\n@!%p1 bra $OTHER;\n{SHUFFLE.format(mask=-1)}\nbra.uni $MEET;\n$OTHER:\n{SHUFFLE.format(mask=-1)}\n$MEET:{STORE}",
    ],
)
def test_masks_of_lanes_that_are_there_or_have_left_are_silent(tmp_path: Path, body: str) -> None:
    assert ran(body, tmp_path) == set()


def test_assembly_with_labels_of_its_own_is_not_judged(tmp_path: Path) -> None:
    twice = "{\n.reg .b32 x;\nbra SAME;\nSAME:\nmov.u32 x, 0;\n}\n"
    body = branch(ODD, twice + twice + SHUFFLE.format(mask=-1))
    done = rewrite(module(body), frozenset({"shared"}))
    assert done is None or "warp" not in {site.kind for site in done.sites}


# ---- lanes that a shuffle reads, and that are not there ----

DOWN = "shfl.sync.down.b32 %r9|%p8, %r1, 16, 31, -1;"
TAIL = "setp.ge.u32 %p1, %r1, {count};\n@%p1 bra $LEAVE;\n{shuffle}" + STORE + "$LEAVE:\n"


@pytest.mark.parametrize(
    "body",
    [
        TAIL.format(count=20, shuffle=DOWN),  # lanes 20 to 31 have returned
        TAIL.format(count=20, shuffle="shfl.sync.idx.b32 %r9|%p8, %r1, 25, 31, -1;"),
        TAIL.format(count=20, shuffle="shfl.sync.bfly.b32 %r9|%p8, %r1, 16, 31, -1;"),
    ],
)
def test_a_shuffle_that_reads_a_lane_which_has_left(tmp_path: Path, body: str) -> None:
    ((kind, _),) = ran(body, tmp_path, block=WARP)
    assert kind == "uninitialized"


def test_a_shuffle_that_reads_a_lane_which_never_was_there(tmp_path: Path) -> None:
    assert ran(DOWN + STORE, tmp_path, block=24) == {("uninitialized", "shfl.sync.down.b32")}


@pytest.mark.parametrize(
    "body",
    [
        DOWN + STORE,  # whole warps; the upper half reads itself
        TAIL.format(count=16, shuffle="shfl.sync.down.b32 %r9|%p8, %r1, 8, 4127, 0xffff;"),  # segments of 16 lanes
        TAIL.format(count=20, shuffle="shfl.sync.up.b32 %r9|%p8, %r1, 1, 0, -1;"),  # from lanes below
        TAIL.format(count=20, shuffle="shfl.sync.idx.b32 %r9|%p8, %r1, 0, 31, -1;"),
    ],
)
def test_shuffles_that_read_lanes_which_are_there(tmp_path: Path, body: str) -> None:
    assert ran(body, tmp_path, block=WARP) == set()


LOOP = """
mov.u32 %r9, 0;
mov.u32 %r3, %r1;
$LOOP:
{inside}
add.s32 %r3, %r3, 32;
setp.lt.u32 %p1, %r3, {end};
@%p1 bra $LOOP;
"""


def test_lanes_that_left_a_loop_earlier(tmp_path: Path) -> None:
    inside = SHUFFLE.format(mask=-1)
    assert ran(LOOP.format(inside=inside, end=80) + STORE, tmp_path, block=WARP) == {("barrier", "shfl.sync.idx.b32")}
    assert ran(LOOP.format(inside=inside, end=96) + STORE, tmp_path, block=WARP) == set()


# ---- messages between blocks ----

MESSAGE = """
setp.ne.u32 %p1, %r1, 0;
@%p1 bra $END;
mov.u32 %r3, %ctaid.x;
setp.ne.u32 %p2, %r3, 0;
@%p2 bra $READER;
mov.u32 %r4, 5;
st.volatile.global.u32 [%rd2+512], %r4;
{fence}
mov.u32 %r5, 1;
st.volatile.global.u32 [%rd2], %r5;
bra.uni $END;
$READER:
ld.volatile.global.u32 %r6, [%rd2];
setp.eq.u32 %p3, %r6, 0;
@%p3 bra $READER;
ld.volatile.global.u32 %r7, [%rd2+512];
{use}
$END:
"""
STORES = "st.global.u32 [%rd2+1000], %r7;"


def test_data_behind_a_flag_without_a_fence(tmp_path: Path) -> None:
    seen = ran(MESSAGE.format(fence="", use=STORES), tmp_path, "races", grid=2, block=WARP)
    assert seen == {("race", "ld.volatile.global.u32")}


@pytest.mark.parametrize("fence", ["membar.gl;", "fence.acq_rel.gpu;"])
def test_a_fence_between_data_and_flag_is_silent(tmp_path: Path, fence: str) -> None:
    assert ran(MESSAGE.format(fence=fence, use=STORES), tmp_path, "races", grid=2, block=WARP) == set()


def test_what_only_decides_where_to_go_is_a_flag_too(tmp_path: Path) -> None:
    use = "setp.eq.u32 %p4, %r7, 5;\n@%p4 bra $END;\nst.global.u32 [%rd2+1000], %r5;"
    assert ran(MESSAGE.format(fence="", use=use), tmp_path, "races", grid=2, block=WARP) == set()


def test_the_machine_notices_threads_that_wait_for_ever() -> None:
    waits = "$AGAIN:\nld.volatile.global.u32 %r3, [%rd2];\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra $AGAIN;"
    machine = Machine(module(waits))
    with pytest.raises(Stuck):
        machine.launch("k", 1, WARP, [machine.alloc(64)], most=1000)
