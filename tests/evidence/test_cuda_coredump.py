"""Small dumps with known content, every kind of damage, and the real dumps where they are at hand."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_kit import (
    CODE,
    EXIT,
    HANDLE,
    NOP,
    TRAP,
    Block,
    Dump,
    Lane,
    Section,
    Sm,
    Warp,
    bra,
    code,
    image,
    ldg,
    line_table,
    mov,
    stg,
    with_address,
    word,
)
from support.simulated import times

from gpudx.errors import UserError
from gpudx.evidence import cuda_coredump
from gpudx.evidence._cuda_tables import Kind
from gpudx.evidence._sass import sums_up
from gpudx.evidence.cuda_coredump import is_complete, read, sniff, to_findings

ILLEGAL, MISALIGNED, OUT_OF_RANGE, ASSERT = 14, 6, 5, 12
WAITS = {"b116_121": 1}  # waits for scoreboard 0

# MOV R1; LDG R8, [R2.64+0x10] on scoreboard 0; MOV R4; MOV R5 waiting for it; EXIT
LOADING = code(mov(1), ldg(8, 2, 0x10, board=0), mov(4), mov(5, **WAITS), EXIT)


def at(number: int) -> int:
    return CODE + 16 * number


def fault_at(number: int, stop: int, text: bytes, lanes: list[Lane], code_: int = ILLEGAL, **warp: int) -> Dump:
    for lane in lanes:
        lane.pc, lane.exception = at(stop), code_
    block = Block([Warp(lanes, at(number), **warp)], (3, 0, 0))
    return Dump(image(text), [Sm(), Sm([block], code_, at(number))])


def two_lanes(low: int = 0x80, high: int = 0x84) -> list[Lane]:
    return [
        Lane(with_address(2, low), thread=(32, 0, 0)),
        Lane(with_address(2, high), thread=(33, 0, 0)),
    ]


def read_one(dump: Dump, tmp_path: Path) -> cuda_coredump.Fault:
    found = read(dump.write(tmp_path / "dump"))
    assert len(found.faults) == 1, found.faults
    return found.faults[0]


# -- what a dump says


def test_fault_with_kernel_place_threads_and_addresses(tmp_path: Path) -> None:
    dump = fault_at(1, 3, LOADING, two_lanes())
    dump.image = image(LOADING, lines=line_table(CODE, [(0, 4), (16, 9), (32, 10)], len(LOADING)))
    found = read(dump.write(tmp_path / "dump"))
    assert (found.driver, found.cuda, found.created, found.notes) == ("580.12", "13.0", 1234, ())
    assert found.flags == ("skip_global_memory", "skip_abort")
    assert [(d.name, d.sm) for d in found.devices] == [("Some GPU", 90)]
    assert [(m.handle, m.image) for m in found.modules] == [(HANDLE, True)]
    (grid,) = found.grids
    assert (grid.kernel, grid.function, grid.grid, grid.block) == (
        "_Z4sinkPfi",
        "sink(float*, int)",
        (4, 1, 1),
        (64, 1, 1),
    )
    assert grid.parameters == b"\x10\0\0\0\0\0\0\0\x07\0\0\0" and grid.parameter_base == 0x210 and grid.host_tid == 77
    (fault,) = found.faults
    assert fault.exception == "CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS" and fault.precise and fault.kernel == "sink"
    assert fault.place is not None and str(fault.place) == "sink+0x10 (/src/k.cu:9)"
    assert (fault.sms, fault.blocks, fault.warps, fault.lanes) == (1, 1, 1, 2)
    assert fault.first is not None
    assert (fault.first.sm, fault.first.block, fault.first.thread, fault.first.pc) == (1, (3, 0, 0), (32, 0, 0), at(3))
    access = fault.access
    assert access is not None and access.confidence == "decoded"
    assert (access.kind, access.space, access.size, access.lowest, access.highest) == ("read", "global", 4, 0x90, 0x94)
    assert access.addresses.tolist() == [0x90, 0x94]
    assert found.lanes["thread"][access.threads].tolist() == [[32, 0, 0], [33, 0, 0]]
    assert fault.registers[2] == 0x80 and fault.grid == grid
    (where,) = found.resident
    assert where.pc == at(3) and where.lanes == 2 and where.warps == 1


def test_findings_do_not_depend_on_addresses(tmp_path: Path) -> None:
    one = to_findings(read(fault_at(1, 3, LOADING, two_lanes()).write(tmp_path / "a")))
    two = to_findings(read(fault_at(1, 3, LOADING, two_lanes(0x9000, 0x8000)).write(tmp_path / "b")))
    assert [f.id for f in one] == ["gpu-exception-illegal-address"]
    assert one[0].fingerprint == two[0].fingerprint and one[0].message == two[0].message
    assert [found.access and found.access.address for found in (*one, *two)] == [0x90, 0x8010]
    assert any("accessed 0x90 to 0x94" in e.text for e in one[0].evidence)


def test_no_exception_no_fault(tmp_path: Path) -> None:
    """A dump that a user asked for, as of a hang: nothing failed, and where everything stood is known."""
    lane = Lane(pc=at(2))
    dump = read(Dump(image(LOADING), [Sm([Block([Warp([lane]), Warp([Lane(pc=at(2))])])])]).write(tmp_path / "dump"))
    assert dump.faults == () and to_findings(dump) == ()
    (where,) = dump.resident
    assert where.warps == 2 and where.place is not None and where.place.offset == 32


def test_faults_are_grouped_and_the_largest_is_first(tmp_path: Path) -> None:
    many = [Block([Warp([Lane(pc=at(3), exception=ILLEGAL)], at(1))], (n, 0, 0)) for n in range(5)]
    few = Block([Warp([Lane(pc=at(3), exception=MISALIGNED)], at(2))], (9, 0, 0))
    dump = Dump(image(LOADING), [Sm([few]), Sm(many[:3]), Sm(many[3:])])
    faults = read(dump.write(tmp_path / "dump")).faults
    assert [(f.code, f.warps, f.blocks, f.sms) for f in faults] == [(ILLEGAL, 5, 5, 2), (MISALIGNED, 1, 1, 1)]


def test_warps_had_exited(tmp_path: Path) -> None:
    dump = Dump(image(LOADING), [Sm(exception=ILLEGAL, error_pc=at(1)), Sm(exception=ILLEGAL, error_pc=at(1)), Sm()])
    fault = read_one(dump, tmp_path)
    assert fault.first is None and fault.sms == 2 and fault.place is not None and fault.place.name == "sink"
    assert fault.grid is not None and fault.access is None and "exited" in fault.no_access


def test_exited_warp_beside_a_faulting_one_is_not_lost(tmp_path: Path) -> None:
    dump = fault_at(1, 3, LOADING, two_lanes())
    dump.sms[1].error_pc = at(2)
    faults = read(dump.write(tmp_path / "dump")).faults
    assert [(f.error_pc, f.warps) for f in faults] == [(at(1), 1), (at(2), 0)]


def test_warp_with_an_address_but_no_marked_lane(tmp_path: Path) -> None:
    dump = fault_at(1, 3, LOADING, two_lanes())
    for lane in dump.sms[1].blocks[0].warps[0].lanes:
        lane.exception = 0
    assert read_one(dump, tmp_path).code == ILLEGAL
    dump.sms[1].exception = 0
    fault = read_one(dump, tmp_path)
    assert fault.exception == "CUDBG_EXCEPTION_UNKNOWN" and fault.error_pc == at(1) and fault.access is None


def test_trap_and_breakpoint(tmp_path: Path) -> None:
    def stopped(text: bytes, stop: int) -> cuda_coredump.Fault:
        return read_one(Dump(image(text), [Sm([Block([Warp([Lane(pc=at(stop))], broken=1)])])]), tmp_path)

    trap = stopped(code(NOP, TRAP, EXIT), 2)
    assert trap.exception == "trap" and trap.place is not None and trap.place.offset == 16 and trap.precise
    other = stopped(code(NOP, NOP, EXIT), 2)
    assert other.exception == "breakpoint" and not other.precise and other.no_access == ""


def test_call_stack(tmp_path: Path) -> None:
    lane = Lane(pc=at(3), exception=ASSERT, frames=[at(2), at(1)])
    fault = read_one(Dump(image(LOADING), [Sm([Block([Warp([lane])])], ASSERT)]), tmp_path)
    assert [f.offset for f in fault.frames] == [32, 16] and not fault.precise
    assert "assertion" in fault.meaning and fault.no_access == ""


def test_first_version_of_the_format(tmp_path: Path) -> None:
    """Old drivers leave out what newer ones appended: SM exceptions, meta data, shared memory sizes."""
    dump = fault_at(1, 3, LOADING, two_lanes())
    dump.old = True
    fault = read_one(dump, tmp_path)
    assert fault.code == ILLEGAL and fault.access is not None and fault.access.lowest == 0x90
    assert read(tmp_path / "dump").driver == ""


def test_more_sections_than_16_bits(tmp_path: Path) -> None:
    dump = fault_at(1, 3, LOADING, two_lanes())
    dump.extended = True
    dump.extra = [Section("", Kind.GLOBAL)] * 70_000
    assert read_one(dump, tmp_path).access is not None
    assert is_complete(tmp_path / "dump")


def test_without_parameters_and_without_code(tmp_path: Path) -> None:
    dump = fault_at(1, 3, LOADING, two_lanes())
    dump.parameters, dump.image = None, b""
    found = read(dump.write(tmp_path / "dump"))
    (fault,) = found.faults
    assert fault.grid is not None and fault.grid.parameters is None and fault.grid.kernel is None
    assert fault.kernel == "an unknown kernel" and fault.place is None and fault.error_pc == at(1)
    assert "code" in fault.no_access and any("image of a module" in note for note in found.notes)


# -- addresses: decoded or not at all


def access(
    text: bytes, number: int, stop: int, lanes: list[Lane], tmp: Path, code_: int = ILLEGAL, **warp: int
) -> object:
    fault = read_one(fault_at(number, stop, text, lanes, code_, **warp), tmp)
    return fault.access or fault.no_access


def test_store_right_before_where_it_stopped(tmp_path: Path) -> None:
    found = access(code(stg(2, -4), EXIT), 0, 1, two_lanes(0x7F0000001004), tmp_path)
    assert isinstance(found, cuda_coredump.Access)
    assert (found.kind, found.lowest, found.highest) == ("write", 0x80, 0x7F0000001000)


def test_address_register_overwritten(tmp_path: Path) -> None:
    text = code(ldg(8, 2, board=0), mov(3), mov(5, **WAITS), EXIT)
    assert "overwritten" in str(access(text, 0, 2, two_lanes(), tmp_path))


def test_overwritten_on_one_of_two_paths(tmp_path: Path) -> None:
    guarded = {"b12_15": 0}
    text = code(ldg(8, 2, board=0), bra(16, **guarded), mov(2), mov(5, **WAITS), EXIT)
    assert "overwritten" in str(access(text, 0, 3, two_lanes(), tmp_path))


def test_load_that_overwrites_its_own_address(tmp_path: Path) -> None:
    text = code(ldg(2, 2, board=0), mov(5, **WAITS), EXIT)
    assert "its own" in str(access(text, 0, 1, two_lanes(), tmp_path))


def test_wide_result_that_reaches_the_address(tmp_path: Path) -> None:
    """A 16-byte load into R0 takes R0 to R3."""
    text = code(ldg(8, 2, board=0), ldg(0, 12, size=6, board=1), mov(5, **WAITS), EXIT)
    assert "overwritten" in str(access(text, 0, 2, two_lanes(), tmp_path))


def test_load_in_a_loop_is_held_by_its_scoreboard(tmp_path: Path) -> None:
    """The pointer moves on behind the use of the value, which the warp never passed."""
    text = code(ldg(8, 2, board=0), mov(9), mov(10, **WAITS), mov(2), bra(-80), EXIT)
    assert isinstance(access(text, 0, 2, two_lanes(), tmp_path), cuda_coredump.Access)


def test_store_in_a_loop_may_be_rounds_behind(tmp_path: Path) -> None:
    text = code(stg(2), mov(9), mov(2), bra(-64), EXIT)
    assert "overwritten" in str(access(text, 0, 1, two_lanes(), tmp_path))


def test_unknown_way_and_unknown_instruction(tmp_path: Path) -> None:
    call = word(0x944)
    assert "not all known" in str(access(code(stg(2), call, NOP, EXIT), 0, 2, two_lanes(), tmp_path))
    strange = word(0x1F5)
    assert "not known" in str(access(code(stg(2), strange, NOP, EXIT), 0, 2, two_lanes(), tmp_path))
    assert "another function" in str(access(code(stg(2), EXIT), 0, 99, two_lanes(), tmp_path))


def test_instruction_that_is_no_access(tmp_path: Path) -> None:
    assert "can be decoded" in str(access(code(mov(1), EXIT), 0, 1, two_lanes(), tmp_path))


def test_predicated_access_counts_only_the_lanes_that_did_it(tmp_path: Path) -> None:
    lanes = two_lanes(0x100, 0x200)
    lanes[1].predicates = [0, 0, 1, 0, 0, 0, 0, 0]
    found = access(code(stg(2, b12_15=2), EXIT), 0, 1, lanes, tmp_path)  # @P2
    assert isinstance(found, cuda_coredump.Access) and found.addresses.tolist() == [0x200]
    negated = access(code(stg(2, b12_15=10), EXIT), 0, 1, lanes, tmp_path)  # @!P2
    assert isinstance(negated, cuda_coredump.Access) and negated.addresses.tolist() == [0x100]
    overwritten = code(stg(2, b12_15=2), word(0x20C, b81_83=2, b84_86=7), NOP, EXIT)  # ISETP P2
    assert "predicate P2" in str(access(overwritten, 0, 2, lanes, tmp_path))


def test_uniform_register_is_added(tmp_path: Path) -> None:
    dump = fault_at(0, 1, code(stg(2, b76=0), EXIT), two_lanes(0x10, 0x20))
    dump.sms[1].blocks[0].warps[0].uniform[4:6] = [0x1000, 0x7F]
    found = read_one(dump, tmp_path).access
    assert found is not None and found.addresses.tolist() == [0x7F00001010, 0x7F00001020]
    assert found.instruction == "STG [R2.64+UR4]"


def test_misaligned_lanes_only(tmp_path: Path) -> None:
    found = access(code(stg(2, size=6), EXIT), 0, 1, two_lanes(0x1000, 0x1004), tmp_path, MISALIGNED)
    assert isinstance(found, cuda_coredump.Access) and found.addresses.tolist() == [0x1004] and found.size == 16


def test_shared_memory_past_its_end(tmp_path: Path) -> None:
    sts = word(0x388, b24_31=2, b32_39=8, b73_75=4)
    found = access(code(sts, EXIT), 0, 1, two_lanes(0x7FC, 0x800), tmp_path, OUT_OF_RANGE, shared=0x800)
    assert isinstance(found, cuda_coredump.Access)
    assert found.space == "shared" and found.addresses.tolist() == [0x800]


def test_registers_missing(tmp_path: Path) -> None:
    lanes = [Lane([1, 2, 3], thread=(0, 0, 0))]
    assert "registers" in str(access(code(stg(2), EXIT), 0, 1, lanes, tmp_path))


def test_newer_architecture_is_not_walked(tmp_path: Path) -> None:
    dump = fault_at(1, 3, LOADING, two_lanes())
    dump.sm = 100
    assert "architecture" in read_one(dump, tmp_path).no_access
    near = fault_at(0, 1, code(stg(2), EXIT), two_lanes())
    near.sm = 120
    assert read_one(near, tmp_path).access is not None


# -- whole, cut off, damaged


def test_complete_only_with_its_last_byte(tmp_path: Path) -> None:
    whole = fault_at(1, 3, LOADING, two_lanes()).build()
    path = tmp_path / "dump"
    path.write_bytes(whole)
    assert is_complete(path) and is_complete(str(path)) and sniff(path) == 1.0
    for size in (0, 10, 63, 64, 1000, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert not is_complete(path), size
        with pytest.raises(UserError):
            read(path)
    path.write_bytes(whole[:-64] + bytes(64))  # space was reserved, the table not written
    assert not is_complete(path)
    assert not is_complete(tmp_path / "missing") and not is_complete(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"hello", "is not a GPU core dump"),
        (gzip.compress(b"x" * 100, mtime=0), "compressed"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "is not a GPU core dump"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 4, 0xBE) + bytes(100), "no section table"),
    ],
)
def test_what_is_no_dump(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "dump"
    path.write_bytes(content)
    with pytest.raises(UserError, match=says):
        read(path)


def test_cut_off_says_where(tmp_path: Path) -> None:
    whole = fault_at(1, 3, LOADING, two_lanes()).build()
    (tmp_path / "dump").write_bytes(whole[:-100])
    with pytest.raises(UserError, match=r"cut off.*keep the process alive"):
        read(tmp_path / "dump")
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path / "missing")


def test_sections_outside_the_file_are_told(tmp_path: Path) -> None:
    dump = fault_at(1, 3, LOADING, two_lanes()).build()
    table = struct.unpack_from("<Q", dump, 40)[0]
    bad = bytearray(dump)
    registers = [
        n
        for n in range((len(dump) - table) // 64)
        if struct.unpack_from("<I", dump, table + 64 * n + 4)[0] == Kind.REGISTERS
    ]
    for number in registers:
        struct.pack_into("<QQ", bad, table + 64 * number + 24, 1 << 60, 1 << 61)
    (tmp_path / "dump").write_bytes(bad)
    found = read(tmp_path / "dump")
    assert found.notes == (
        f"{len(registers)} of {(len(dump) - table) // 64} sections lie outside the file and were left out",
    )
    assert "registers" in found.faults[0].no_access


def test_mutated_dumps_raise_user_errors_only(tmp_path: Path) -> None:
    base = fault_at(1, 3, LOADING, two_lanes())
    base.image = image(LOADING, lines=line_table(CODE, [(0, 4), (16, 9)], len(LOADING)))
    whole = base.build()
    chance, path, reached = random.Random(7), tmp_path / "dump", 0
    for _ in range(times(1500)):
        bad = bytearray(whole)
        for _ in range(chance.choice((1, 2, 8, 40))):
            bad[chance.randrange(64 if chance.random() < 0.1 else len(bad))] = chance.choice(
                (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
            )
        reached += _survives(path, bytes(bad[: chance.randrange(len(bad))] if chance.random() < 0.1 else bad))
    assert reached > times(300)


def _survives(path: Path, content: bytes) -> int:
    path.write_bytes(content)
    try:
        to_findings(read(path))
    except UserError:
        return 0
    finally:
        is_complete(path)
        sniff(content)
    return 1


# -- real dumps


def test_real_misaligned(sample: Callable[[str], Path]) -> None:
    found = read(sample("misal.dump"))
    (fault,) = found.faults
    assert (found.driver, found.cuda, found.devices[0].sm) == ("580.159", "13.0", 90)
    assert fault.code == MISALIGNED and fault.kernel == "misal" and fault.place is not None
    assert fault.place.offset == 0x70 and str(fault.place.source).endswith("cs.cu:7")
    assert fault.access is not None and fault.grid is not None and fault.grid.parameters is not None
    assert (fault.access.kind, fault.access.size) == ("write", 16)
    assert fault.access.lowest == int.from_bytes(fault.grid.parameters, "little") + 4


def test_real_trap(sample: Callable[[str], Path]) -> None:
    (fault,) = read(sample("trap.dump")).faults
    assert fault.exception == "trap" and fault.kernel == "trapk" and fault.lanes == 32
    assert fault.place is not None and str(fault.place.source).endswith("cs.cu:8")


def test_real_null_pointer(sample: Callable[[str], Path]) -> None:
    """Every decoded address is what the kernel computes from its indexes and a null pointer."""
    found = read(sample("nullfull.dump"))
    (fault,) = found.faults
    assert fault.code == ILLEGAL and fault.kernel == "rope_kernel" and fault.place is not None
    assert fault.place.offset == 0xD60 and str(fault.place.source).endswith("rope.cu:8")
    assert fault.grid is not None and (fault.grid.id, fault.grid.grid, fault.grid.block) == (
        6,
        (128, 1, 1),
        (256, 1, 1),
    )
    assert fault.first is not None and (fault.first.block, fault.first.thread) == ((8, 0, 0), (32, 0, 0))
    assert fault.access is not None and (fault.access.kind, fault.access.size) == ("read", 4)
    lanes = found.lanes[fault.access.threads]
    index = lanes["block"][:, 0].astype(np.int64) * 256 + lanes["thread"][:, 0]
    expected = (index // 64 * 128 + index % 64) * 4
    assert fault.access.addresses.tolist() == expected.tolist() and len(expected) == 4096


def test_real_dump_cut_and_mutated(sample: Callable[[str], Path], tmp_path: Path) -> None:
    whole = sample("misal.dump").read_bytes()
    assert is_complete(sample("misal.dump"))
    chance, path = random.Random(3), tmp_path / "dump"
    head = struct.unpack_from("<Q", whole, 40)[0]
    for _ in range(60):
        bad = bytearray(whole)
        for _ in range(20):
            bad[chance.randrange(head, len(bad))] = chance.randrange(256)
        _survives(path, bytes(bad[: chance.randrange(len(bad))] if chance.random() < 0.2 else bad))


# ---- hangs: who waits for whom ----

GATHER, BARRIER = word(0x948), word(0xB1D)  # WARPSYNC.ALL, BAR.SYNC
# if (...) { gather; barrier; } gather; barrier; exit
BRANCHED = code(bra(0x30, b12_15=0), NOP, GATHER, BARRIER, GATHER, BARRIER, EXIT)


def standing(tmp_path: Path, text: bytes, *warps: list[int]) -> Any:
    """A dump in which the lanes of each warp stand at these instructions."""
    made = [Warp([Lane(pc=at(number), thread=(n, 0, 0)) for n, number in enumerate(lanes)]) for lanes in warps]
    return read(Dump(image(text), [Sm([Block(made)])]).write(tmp_path / "dump"))


def test_lanes_of_a_warp_at_two_barriers_wait_for_each_other(tmp_path: Path) -> None:
    (lock,) = standing(tmp_path, BRANCHED, [4, 4, 2], [2, 4, 4]).locks
    assert lock.warps == 2 and [one.lanes for one in lock.places] == [2, 4]  # the one in the branch first
    assert {one.waits for one in lock.places} == {"before barrier"}


@pytest.mark.parametrize(
    "lanes",
    [
        [4, 4, 4],  # all at one place: they wait for other warps
        [3, 5, 5],  # at barriers, and not for their warp
        [4, 4, 1],  # one still works
    ],
)
def test_lanes_that_can_go_on_are_not_locked(tmp_path: Path, lanes: list[int]) -> None:
    assert standing(tmp_path, BRANCHED, lanes).locks == ()


SPINS = code(NOP, ldg(0, 2, board=0), word(0x20C, b116_121=1), bra(-0x30, b12_15=0), EXIT)


def test_a_loop_that_only_reads_one_place_waits_for_it(tmp_path: Path) -> None:
    registers = [0, 0, 0x1000, 0x7F, *[0] * 12]
    made = [Warp([Lane(registers, pc=at(2))])]
    (where,) = read(Dump(image(SPINS), [Sm([Block(made)])]).write(tmp_path / "dump")).resident
    assert where.waits == "" and where.polled is not None and where.polled.lowest == 0x7F00001000


@pytest.mark.parametrize(
    "text",
    [
        code(NOP, ldg(0, 2), ldg(4, 6), bra(-0x30, b12_15=0), EXIT),  # two places
        code(NOP, ldg(0, 2), word(0x210, b16_23=2), bra(-0x30, b12_15=0), EXIT),  # the next place each time
        code(NOP, ldg(0, 2), word(0x20C), NOP, EXIT),  # no loop
    ],
)
def test_other_loops_wait_for_nothing(tmp_path: Path, text: bytes) -> None:
    (where,) = standing(tmp_path, text, [2]).resident
    assert where.polled is None


def test_what_a_kernel_consists_of() -> None:
    assert sums_up(code(mov(1), TRAP, EXIT, bra(-16), NOP, NOP)) == (3, 0)  # a trap in place of its body
    assert sums_up(code(ldg(8, 2), TRAP, EXIT)) == (3, 1)
