"""Each rule of gpudx.access fires on its numbers, and stays silent beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.access import Question, Reason, explain
from gpudx.facts import derive
from gpudx.model import Origin

BASE = 0x7F10_0000_0000
Ask = Callable[..., Reason | None]


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def asked(world: CudaWorld, folder: Path, address: int | None, *, launch: int = 0, **more: object) -> Reason | None:
    facts = derive(world.write(folder / "1-0.gdx"))
    return explain(Question(facts, launch, address, **more))  # type: ignore[arg-type]


def launched(
    world: CudaWorld, name: str, sizes: Sequence[int], values: Sequence[int | bytes], grid: int = 1, block: int = 256
) -> None:
    world.launch(world.kernel(name, sizes), values, grid=(grid, 1, 1), block=(block, 1, 1))


def test_a_null_argument(cuda: CudaWorld, tmp_path: Path) -> None:
    launched(cuda, "_Z4pickPfS_", [8, 8], [cuda.alloc(4096), 0])
    reason = asked(cuda, tmp_path, 0x40)
    assert reason and (reason.cause, reason.argument) == ("null-pointer", 1) and "null pointer" in reason.text


def test_a_null_pointer_with_a_large_index(cuda: CudaWorld, tmp_path: Path) -> None:
    launched(cuda, "_Z4fillPfi", [8, 4], [0, 1 << 20])
    reason = asked(cuda, tmp_path, 0x20_0000, kind="write", width=4)
    assert reason and (reason.cause, reason.argument) == ("null-pointer", 0)


def test_an_ordinary_address_is_not_called_null(cuda: CudaWorld, tmp_path: Path) -> None:
    launched(cuda, "_Z4pickPfS_", [8, 8], [cuda.alloc(4096, at=BASE), 0])
    reason = asked(cuda, tmp_path, BASE + 4096, width=4)
    assert reason and reason.cause == "out-of-bounds-access" and reason.argument == 0


def test_freed_memory_names_the_free(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096)
    cuda.free(memory)
    launched(cuda, "_Z4fillPfi", [8, 4], [memory, 10])
    reason = asked(cuda, tmp_path, memory + 64, kind="write", width=4)
    assert reason and (reason.cause, reason.argument) == ("use-after-free", 0)
    assert "cuMemFree_v2" in reason.text and reason.root and reason.root.call == "cuMemFree_v2"


def test_an_access_past_the_end_of_freed_memory_is_a_use_of_it(cuda: CudaWorld, tmp_path: Path) -> None:
    """A pool grew, and a structure kept the pointer to the memory from before: the first access of the new part is past its end."""
    other, memory = cuda.alloc(4096, at=BASE - (1 << 26)), cuda.alloc(4096, at=BASE)
    cuda.free(memory)
    launched(cuda, "_Z4fill4Viewi", [16, 4], [memory.to_bytes(8, "little") + other.to_bytes(8, "little"), 10])
    reason = asked(cuda, tmp_path, BASE + 5000, kind="write", width=4)
    assert reason and reason.cause == "use-after-free" and "the pointer at byte 0 of argument 0, after" in reason.text
    assert any("904 bytes past its end" in one.text for one in reason.evidence)


def test_freed_memory_beside_is_not_blamed_for_a_missed_live_buffer(cuda: CudaWorld, tmp_path: Path) -> None:
    gone, memory = cuda.alloc(4096, at=BASE), cuda.alloc(4096, at=BASE + (1 << 26))
    cuda.free(gone)
    launched(cuda, "_Z4fillPfS_i", [8, 8, 4], [gone, memory, 10])
    reason = asked(cuda, tmp_path, memory + 4096, kind="write", width=4)
    assert reason and reason.cause != "use-after-free"


def test_memory_freed_after_the_launch_is_not_blamed(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096, at=BASE)
    launched(cuda, "_Z4fillPfi", [8, 4], [memory, 10])
    cuda.free(memory)
    reason = asked(cuda, tmp_path, BASE + 4096, kind="write", width=4)
    assert reason and reason.cause == "out-of-bounds-access"


def test_an_index_that_passed_2_to_the_31(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(3_000_000_000, at=BASE)
    launched(cuda, "_Z4markPhii", [8, 4, 4], [memory, 59_999, 50_000])
    meant = 59_999 * 50_000
    reason = asked(cuda, tmp_path, BASE + meant - (1 << 32), kind="write", width=1)
    assert reason and (reason.cause, reason.argument) == ("index-overflow", 0)
    assert f"{meant:,}" in reason.text and "59,999" in reason.evidence[0].text


def test_a_stride_that_wrapped_on_the_host(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(2_804_000_000, at=BASE)
    launched(cuda, "_Z4axpyPhii", [8, 4, 4], [memory, 2_800_000_000 - (1 << 32), 4_000_000])
    reason = asked(cuda, tmp_path, BASE + 2_800_000_000 - (1 << 32), kind="read", width=1)
    assert reason and reason.cause == "index-overflow"


def test_an_access_before_the_start_without_large_numbers_is_no_overflow(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(1 << 20, at=BASE)
    launched(cuda, "_Z4markPfii", [8, 4, 4], [memory, 640, 480])
    reason = asked(cuda, tmp_path, BASE - 4, kind="read", width=4)
    assert reason and reason.cause == "out-of-bounds-access" and "before the start" in reason.text


def test_a_legal_index_past_2_to_the_31_is_not_accused_of_wrapping(cuda: CudaWorld, tmp_path: Path) -> None:
    """The launch has large numbers, and the access is past the end by a few bytes: its index did not wrap."""
    memory = cuda.alloc(3_000_000_000, at=BASE)
    launched(cuda, "_Z4markPhii", [8, 4, 4], [memory, 60_000, 50_000])
    reason = asked(cuda, tmp_path, BASE + 3_000_000_000, kind="write", width=1)
    assert reason and reason.cause != "index-overflow"


def test_an_index_past_2_to_the_31_that_was_read_from_memory(cuda: CudaWorld, tmp_path: Path) -> None:
    """No numbers of the launch make the index: the buffer has more elements than it can count, and the access was meant for one of them."""
    memory = cuda.alloc(2_457_600_000, at=BASE)
    launched(cuda, "_Z5embedPKhPKii", [8, 8, 4], [memory, cuda.alloc(4096), 4096], grid=64, block=128)
    meant = 532_000 * 4096
    reason = asked(cuda, tmp_path, BASE + meant - (1 << 32), kind="read", width=1)
    assert reason and (reason.cause, reason.argument) == ("index-overflow", 0) and f"element {meant:,} of" in reason.text
    assert "2,457,600,000 elements" in reason.evidence[0].text
    reason = asked(cuda, tmp_path, BASE + meant - (1 << 32), within=4096)
    assert reason and reason.cause == "index-overflow" and f"an element near {meant:,} of" in reason.text


@pytest.mark.parametrize("before", [4, 1 << 20, 1_800_000_000])
def test_an_index_below_zero_of_a_large_buffer_is_no_overflow(cuda: CudaWorld, tmp_path: Path, before: int) -> None:
    """Adding 2^32 leads past the end of the buffer: no index into it became this one."""
    memory = cuda.alloc(2_457_600_000, at=BASE)
    launched(cuda, "_Z5embedPKhPKii", [8, 8, 4], [memory, cuda.alloc(4096), 4096], grid=64, block=128)
    reason = asked(cuda, tmp_path, BASE - before, kind="read", width=1)
    assert reason is None or reason.cause != "index-overflow"


def test_a_buffer_that_was_allocated_for_other_numbers(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(1024 * 11008 * 4, at=BASE)
    launched(cuda, "_Z4gemmPfii", [8, 4, 4], [memory, 1024, 14336], grid=1024)
    reason = asked(cuda, tmp_path, BASE + 1024 * 11008 * 4, kind="write", width=4)
    assert reason and (reason.cause, reason.argument) == ("undersized-buffer", 0)
    assert "14,680,064" in reason.text and "11,272,192" in reason.text


def test_a_buffer_that_was_allocated_for_one_row(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(500 * 4, at=BASE)
    launched(cuda, "_Z6scoresPfii", [8, 4, 4], [memory, 24, 500])
    reason = asked(cuda, tmp_path, BASE + 4096, within=4096)
    assert reason and (reason.cause, reason.argument) == ("undersized-buffer", 0)
    assert "holds 500 elements" in reason.text and "element 1,024 or a later one" in reason.text and "12,000" in reason.text


def test_an_index_below_zero_is_no_overflow_where_products_are_large(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(3_000_000_000, at=BASE)
    launched(cuda, "_Z4markPhii", [8, 4, 4], [memory, 60_000, 50_000])
    reason = asked(cuda, tmp_path, BASE - 4, kind="read", width=1)
    assert reason is None or reason.cause != "index-overflow"


@pytest.mark.parametrize("seen", [{"kind": "read", "width": 4}, {"within": 4096}])
def test_a_row_that_is_only_read_may_be_meant_for_all_rows(cuda: CudaWorld, tmp_path: Path, seen: dict[str, object]) -> None:
    """A bias has one value per column: it is the index that is wrong, not the size."""
    memory = cuda.alloc(500 * 4, at=BASE)
    launched(cuda, "_Z4biasPKfii", [8, 4, 4], [memory, 24, 500])
    reason = asked(cuda, tmp_path, BASE + 4096, **seen)
    assert reason is None or reason.cause != "undersized-buffer"


def test_a_missing_bounds_check_has_both_numbers(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(262_100 * 4, at=BASE)
    launched(cuda, "_Z5scalePff", [8, 4], [memory, 0x40000000], grid=1024)
    reason = asked(cuda, tmp_path, BASE + 262_100 * 4, kind="write", width=4)
    assert reason and reason.cause == "out-of-bounds-access"
    assert "262,144 threads" in reason.text and "262,100 elements" in reason.text


def test_two_buffers_about_as_near_are_not_told_apart(cuda: CudaWorld, tmp_path: Path) -> None:
    one, two = cuda.alloc(1 << 20, at=BASE), cuda.alloc(1 << 20, at=BASE + (1 << 26))
    launched(cuda, "_Z4pickPfS_", [8, 8], [one, two])
    assert asked(cuda, tmp_path, BASE + (1 << 25), kind="read", width=4) is None


def test_a_write_is_not_blamed_on_a_pointer_to_const(cuda: CudaWorld, tmp_path: Path) -> None:
    read, written = cuda.alloc(4096, at=BASE), cuda.alloc(4096, at=BASE + (1 << 24))
    launched(cuda, "_Z4copyPKfPf", [8, 8], [read, written])
    reason = asked(cuda, tmp_path, BASE + 4096, kind="write", width=4)
    assert reason is None or reason.argument != 0


def test_stack_overflow_is_named_by_the_tools_words(cuda: CudaWorld, tmp_path: Path) -> None:
    launched(cuda, "_Z4walkPii", [8, 4], [cuda.alloc(64), 5])
    reason = asked(cuda, tmp_path, None, exception="Stack overflow")
    assert reason and reason.cause == "device-stack-overflow"
    assert asked(cuda, tmp_path, None, exception="Invalid __global__ read of size 4 bytes") is None


def shared(world: CudaWorld, dynamic: int, static: int = 0) -> None:
    kernel = world.kernel("_Z4sortPji", [8, 4], shared=static)
    world.launch(kernel, [world.alloc(1 << 20), 8192], grid=(32, 1, 1), block=(512, 1, 1), shared=dynamic)


def test_shared_memory_that_is_too_small_says_what_the_launch_was_passed(schema: str, tmp_path: Path) -> None:
    cuda = CudaWorld(schema, device={"capability_major": 9})
    shared(cuda, 32768)
    more = {"kind": "write", "width": 4, "space": "shared", "block": (8, 0, 0), "thread": (32, 0, 0)}
    reason = asked(cuda, tmp_path, 1024 + 32768 + 128, **more)
    assert reason and reason.cause == "out-of-bounds-access" and "32,900 bytes" in reason.steps[0]
    assert "was passed 32,768 bytes of dynamic shared memory, and the access was at byte 32,896 of it in thread (32,0,0)" in reason.text


@pytest.mark.parametrize(("address", "dynamic"), [(1024 + 4096 - 4, 4096), (1024 + 512, 0)])
def test_shared_memory_within_the_dynamic_part_or_without_one_is_not_explained(
    schema: str, tmp_path: Path, address: int, dynamic: int
) -> None:
    cuda = CudaWorld(schema, device={"capability_major": 9})
    shared(cuda, dynamic)
    assert asked(cuda, tmp_path, address, width=4, space="shared") is None


def read_index(world: CudaWorld, folder: Path, view: bytes) -> Reason | None:
    """A launch whose index into its second argument came from a pointer in a structure."""
    pool = world.alloc(1 << 20, at=BASE + (1 << 32))
    kernel = world.kernel("_Z2qk4ViewPKf", [16, 8])
    world.launch(kernel, [view, pool], grid=(48, 1, 1), block=(128, 1, 1))
    source = "a value read through the pointer at byte 8 of argument 0 was the index"
    origin = Origin(1, unit=4, index=1 << 40, source=source, read_through=(0, 8))
    return asked(world, folder, BASE + (1 << 32) + (1 << 42), kind="read", width=4, origin=origin)


def test_an_index_from_a_part_of_an_arena_names_the_copy_and_the_part_in_front_of_it(cuda: CudaWorld, tmp_path: Path) -> None:
    arena = cuda.alloc(4 << 20, at=BASE)
    cuda.call("cuMemcpyHtoD_v2", dst=arena + 98_304, src=0x5555_0000_0000, size=4608)
    reason = read_index(cuda, tmp_path, (arena + 24_576).to_bytes(8, "little") + (arena + 98_304).to_bytes(8, "little"))
    assert reason and reason.argument == 1 and "comes from memory #1, byte 98,304 or later" in reason.text
    said = [one.text for one in reason.evidence]
    assert any("cuMemcpyHtoD_v2 (call " in text and "was the last copy or fill of these bytes" in text for text in said)
    part = "this launch was passed the pointer at byte 0 of argument 0 to the same memory #1, at byte 24,576: a write 73,728"
    assert any(part in text for text in said)
    assert any("size the part at byte 24,576 of memory #1" in step for step in reason.steps)


def test_an_index_from_a_buffer_of_its_own_blames_no_other_part(cuda: CudaWorld, tmp_path: Path) -> None:
    other, table = cuda.alloc(4096, at=BASE), cuda.alloc(4096, at=BASE + (1 << 24))
    reason = read_index(cuda, tmp_path, other.to_bytes(8, "little") + table.to_bytes(8, "little"))
    assert reason and "it comes from memory #2" in reason.text and "or later" not in reason.text
    assert not any("changes the index" in one.text for one in reason.evidence) and not any("overwritten:" in s for s in reason.steps)


def test_a_buffer_that_is_much_smaller_than_the_launch_shows_both_products(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4 * 4096 * 256, at=BASE)
    kernel = cuda.kernel("_Z6linearPfii", [8, 4, 4])
    cuda.launch(kernel, [memory, 4096, 8192], grid=(512, 256, 1), block=(16, 16, 1))
    reason = asked(cuda, tmp_path, BASE + 4 * 4096 * 256 + 384, kind="write", width=4)
    assert reason and reason.cause == "undersized-buffer" and reason.root is not None
    assert "holds 4,096 x 256 = 1,048,576 elements" in reason.text and "4,096 x 8,192 = 33,554,432" in reason.text


def test_a_launch_of_another_size_does_not_make_a_buffer_undersized(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4 * 4096 * 256, at=BASE)
    kernel = cuda.kernel("_Z6linearPfii", [8, 4, 4])
    cuda.launch(kernel, [memory, 4096, 8192], grid=(500, 256, 1), block=(16, 16, 1))
    reason = asked(cuda, tmp_path, BASE + 4 * 4096 * 256 + 384, kind="write", width=4)
    assert reason and reason.cause == "out-of-bounds-access"


def test_memory_that_the_launch_was_not_given(cuda: CudaWorld, tmp_path: Path) -> None:
    given, other = cuda.alloc(4096, at=BASE), cuda.alloc(1 << 20, at=BASE + (1 << 45))
    launched(cuda, "_Z4fillPfi", [8, 4], [given, 10])
    reason = asked(cuda, tmp_path, other + 64, kind="write", width=4)
    assert reason and "which the launch was not passed" in reason.text


def test_an_unsigned_index_below_zero(cuda: CudaWorld, tmp_path: Path) -> None:
    source, target = cuda.alloc(1 << 20, at=BASE), cuda.alloc(1 << 20, at=BASE + (1 << 20))
    launched(cuda, "_Z7diffusePfPKfj", [8, 8, 4], [target, source, 1 << 18], grid=1024)
    reason = asked(cuda, tmp_path, BASE + ((1 << 32) - 1) * 4, kind="read", width=4)
    assert reason and (reason.cause, reason.argument) == ("out-of-bounds-access", 1)
    assert "-1 became 4,294,967,295" in reason.text


def test_a_far_address_that_is_no_small_negative_index_is_not_called_one(cuda: CudaWorld, tmp_path: Path) -> None:
    launched(cuda, "_Z7diffusePfj", [8, 4], [cuda.alloc(1 << 20, at=BASE), 1 << 18], grid=1024)
    reason = asked(cuda, tmp_path, BASE + (1 << 33), kind="read", width=4)
    assert reason is None or "below zero" not in reason.text


def test_an_upper_half_that_is_the_next_argument(cuda: CudaWorld, tmp_path: Path) -> None:
    source, target = cuda.alloc(1 << 23, at=BASE), cuda.alloc(1 << 20)
    launched(cuda, "gather_stride", [8, 8, 8, 8], [source, target, 0x8_00020000, 0x1_00000008])
    reason = asked(cuda, tmp_path, 0x27C4_4008_FE7C0, width=8)
    assert reason and (reason.cause, reason.argument) == ("argument-size", 2)
    assert "8 x 2^32 + 131,072" in reason.text and "argument 3" in reason.text


@pytest.mark.parametrize(
    ("count", "stride"),
    [
        (0x20000, 8),  # both fit
        (0x8_00020000, 9),  # a large number whose upper half is nobody's
        (0x3FB999999999999A, 8),  # a double
    ],
)
def test_wide_numbers_of_their_own_are_not_called_narrow(cuda: CudaWorld, tmp_path: Path, count: int, stride: int) -> None:
    source, target = cuda.alloc(1 << 23, at=BASE), cuda.alloc(1 << 20)
    launched(cuda, "gather_stride", [8, 8, 8, 8], [source, target, count, stride])
    reason = asked(cuda, tmp_path, 0x27C4_4008_FE7C0, width=8)
    assert reason is None or reason.cause != "argument-size"


def test_a_lower_half_that_counts_the_elements_of_what_was_missed(cuda: CudaWorld, tmp_path: Path) -> None:
    """What lies behind the host's variable is passed nowhere else."""
    memory, other = cuda.alloc(20_000, at=BASE), cuda.alloc(4096, at=BASE + (1 << 40))
    launched(cuda, "ramp", [8, 8, 8], [memory, other, 0x3_00001388])
    reason = asked(cuda, tmp_path, BASE + 20_480, width=4)
    assert reason and (reason.cause, reason.argument) == ("argument-size", 2)
    assert "3 x 2^32 + 5,000" in reason.text and reason.steps[0].endswith("for argument 2.")


@pytest.mark.parametrize("numbers", [(0x3_00001380, 1), (0x3_00001388, 0x5_00001388), (5000, 1)])
def test_a_lower_half_that_counts_something_else(cuda: CudaWorld, tmp_path: Path, numbers: tuple[int, int]) -> None:
    """Another number of elements; two numbers that both fit; no upper half."""
    memory = cuda.alloc(20_000, at=BASE)
    launched(cuda, "ramp", [8, 8, 8], [memory, *numbers])
    reason = asked(cuda, tmp_path, BASE + 20_480, width=4)
    assert reason is None or reason.cause != "argument-size"


def test_an_access_inside_a_buffer_is_not_explained_by_a_width(cuda: CudaWorld, tmp_path: Path) -> None:
    source, target = cuda.alloc(1 << 23, at=BASE), cuda.alloc(1 << 20)
    launched(cuda, "gather_stride", [8, 8, 8, 8], [source, target, 0x8_00020000, 8])
    reason = asked(cuda, tmp_path, BASE + 64, width=8)
    assert reason is None or reason.cause != "argument-size"


ROWS, LENGTH = 6000, 8000


def strided(cuda: CudaWorld, *numbers: int, size: int = ROWS * LENGTH * 4, grid: int = 5800, more: int = 4096) -> None:
    """A kernel of a float matrix, of another buffer, and of these numbers: rows, columns, stride."""
    memory, other = cuda.alloc(size, at=BASE), cuda.alloc(more, at=BASE + (1 << 40))
    launched(cuda, "row_stats", [8, 4, 4, 8, 8], [memory, *numbers, other], grid=grid, block=128)


@pytest.mark.parametrize(("row", "column"), [(1500, 0), (1501, 6959), (5799, 12)])
def test_a_stride_in_bytes(cuda: CudaWorld, tmp_path: Path, row: int, column: int) -> None:
    strided(cuda, 5800, 6960, 4 * LENGTH)
    reason = asked(cuda, tmp_path, BASE + 4 * (row * 4 * LENGTH + column), kind="read", width=4)
    assert reason and (reason.cause, reason.argument) == ("out-of-bounds-access", 0)
    assert "argument 3 = 32,000 is 8,000 x 4" in reason.text and "5,800 rows (argument 1)" in reason.text
    assert reason.steps[0].startswith("Pass argument 3 in elements (8,000)")


def test_a_stride_in_bytes_of_memory_of_a_pool_where_only_the_page_is_known(cuda: CudaWorld, tmp_path: Path) -> None:
    """Its size is rounded up, rows are blocks, and other memory is about as near."""
    size = -(-60000 * 3000 * 4 // (2 << 20)) * (2 << 20)
    memory, weights = cuda.alloc(size, at=BASE), cuda.alloc(2 << 20, at=BASE + size)
    launched(cuda, "rms_rows", [8, 8, 4, 4], [memory, weights, 12000, 3000], grid=60000, block=128)
    page = (BASE + 4 * 15505 * 12000) & ~4095
    reason = asked(cuda, tmp_path, page, within=4096)
    assert reason and reason.argument == 0 and "argument 2 = 12,000 is 3,000 x 4" in reason.text
    assert "60,000 rows (blocks in x)" in reason.text


@pytest.mark.parametrize(
    ("numbers", "more", "at"),
    [
        ((5800, 6960, 4 * LENGTH), 4 * LENGTH * 4, 1500 * 4 * LENGTH),  # other memory has rows of this length: the number counts elements
        ((5800, 200, 4 * LENGTH), 4096, 1500 * 4 * LENGTH),  # nothing says that a row has 8,000
        ((5800, 6960, 4 * LENGTH), 4096, 1500 * 4 * LENGTH + 9000),  # outside of every row
        ((200, 6960, 4 * LENGTH), 4096, 1500 * 4 * LENGTH),  # too few rows
        ((5800, 6960, LENGTH), 4096, 6000 * LENGTH),  # in elements
    ],
)
def test_other_strides_are_not_called_bytes(cuda: CudaWorld, tmp_path: Path, numbers: tuple[int, ...], more: int, at: int) -> None:
    strided(cuda, *numbers, more=more, grid=100)
    reason = asked(cuda, tmp_path, BASE + 4 * at, kind="read", width=4)
    assert reason is None or "in bytes" not in reason.text
