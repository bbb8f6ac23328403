"""Memory that is smaller than a launch's numbers call for: told where other launches show it, silent everywhere else."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, LOCAL, Arg, World
from support.typed import interval

from gpudx.detectors import Run, detect_all
from gpudx.detectors._undersized import shortages
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.facts.pointer_extent import rooms_of
from gpudx.model import Diagnosis, Finding, Outcome

FAILED = Outcome("exit", "The program exited with status 1.", 1)
ADD, GEMM, SCALE = "_Z3addPfPKfi", "_Z4gemmPfPKfS1_iii", "_Z5scalePfi"


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def floats(world: CudaWorld, count: int) -> int:
    return world.alloc(4 * count)


def judged(world: CudaWorld, folder: Path) -> tuple[Finding, Diagnosis]:
    """The report of an illegal address that comes last, and what is made of it."""
    world.sync(status=700)
    found = list(detect_all(derive(world.write(folder / "1-0.gdx")), Run(FAILED)))
    (report,) = [f for f in found if f.id == "device-error-reported"]
    return report, diagnose(found, FAILED)[0]


def add(world: CudaWorld, kernel: int, count: int, *, out: int | None = None, source: int | None = None) -> None:
    memory = [floats(world, count if n is None else n) for n in (out, source)]
    world.launch(kernel, [*memory, count], (-(-count // 256), 1, 1), (256, 1, 1))


# ---- told ----


def test_a_size_that_other_launches_show(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel, other = cuda.kernel(ADD, [8, 8, 4]), cuda.kernel(SCALE, [8, 4])
    for count in (1000, 2000, 5000):
        add(cuda, kernel, count)
    add(cuda, kernel, 3000, out=2500)
    cuda.launch(other, [floats(cuda, 64), 64])
    report, told = judged(cuda, tmp_path)
    assert told.status == "likely" and told.guilty is not None and told.guilty.allocation is not None
    assert (told.guilty.launch, told.guilty.argument, told.guilty.allocation.size) == (4, 0, 10000)
    assert "most likely launch 4 of kernel add" in told.summary
    assert report.evidence[2].text == (
        "launch 4 of kernel add: argument 0 (float*) has room for 2,500 values (10,000 bytes) in memory #7; argument 2 (3,000) "
        "requires 3,000, 2,000 bytes more; in 3 other launches of this kernel the size fits exactly"
    )
    others = {e.text for e in report.evidence[3:7]}
    assert others == {"launch 5 of kernel scale", *(f"launch {n} of kernel add" for n in (1, 2, 3))}, "only named"


@pytest.mark.parametrize("symbol", ["_Z3addP6__halfPKS_i", "_Z3addPaPKai", "_Z3addPdPKdi", "_Z3addP6float4PKS_i"])
def test_any_kind_of_value(cuda: CudaWorld, tmp_path: Path, symbol: str) -> None:
    kernel, size = cuda.kernel(symbol, [8, 8, 4]), {"h": 2, "a": 1, "d": 8, "f": 16}[symbol[6:].lstrip("P6_")[0]]
    for count, out in ((10000, 10000), (20000, 20000), (50000, 40000)):
        cuda.launch(kernel, [cuda.alloc(out * size), cuda.alloc(count * size), count])
    _, told = judged(cuda, tmp_path)
    assert told.guilty is not None and (told.guilty.launch, told.guilty.argument) == (3, 0)
    assert "room for 40,000 values" in told.summary


@pytest.mark.parametrize("short", [0, 1, 2])
def test_three_matrices_of_which_one_is_short(cuda: CudaWorld, tmp_path: Path, short: int) -> None:
    """One other launch is enough: it shows which matrix is which."""
    kernel = cuda.kernel(GEMM, [8, 8, 8, 4, 4, 4])

    def gemm(m: int, n: int, k: int, part: Sequence[float] = (1, 1, 1)) -> None:
        sizes = (m * n, m * k, k * n)
        cuda.launch(kernel, [*(floats(cuda, int(s * p)) for s, p in zip(sizes, part, strict=True)), m, n, k])

    gemm(512, 64, 64)
    gemm(512, 1000, 64, [0.77 if i == short else 1 for i in range(3)])
    _, told = judged(cuda, tmp_path)
    assert told.guilty is not None and (told.guilty.launch, told.guilty.argument) == (2, short)


def test_numbers_that_no_memory_fits_name_the_launch_only(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel = cuda.kernel(ADD, [8, 8, 4])
    for count in (1000, 2000):
        add(cuda, kernel, count)
    add(cuda, kernel, 9000, out=3000, source=3000)
    report, told = judged(cuda, tmp_path)
    assert told.status == "likely" and told.guilty is not None
    assert (told.guilty.launch, told.guilty.argument, told.guilty.allocation) == (3, None, None)
    assert not interval(report).short and "requires 9,000" in report.evidence[2].text


def test_the_only_launch_keeps_its_certainty(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel = cuda.kernel(ADD, [8, 8, 4])
    for count in (1000, 2000):
        add(cuda, kernel, count)
    cuda.sync()
    add(cuda, kernel, 5000, out=4000)
    _, told = judged(cuda, tmp_path)
    assert (told.status, told.cause) == ("confirmed", "out-of-bounds-access") and told.guilty is not None
    assert told.guilty.argument == 0 and "inferred from sizes" in told.reason
    assert "argument 1 (float const*) has room for 5,000 values, exactly argument 2 (5,000)" in [
        e.text for e in told.evidence
    ]


def test_two_launches_with_other_memory_name_neither(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel = cuda.kernel(ADD, [8, 8, 4])
    for count in (1000, 2000, 3000, 4000):
        add(cuda, kernel, count)
    add(cuda, kernel, 6000, out=5000)
    add(cuda, kernel, 8000, out=7000)
    report, told = judged(cuda, tmp_path)
    assert told.status == "inconclusive" and told.guilty is None
    assert [s.launch for s in report.others[:2]] == [5, 6] and interval(report).suspicious == 2


def test_bytes_taken_for_values_are_decoded_and_not_accused(cuda: CudaWorld, tmp_path: Path) -> None:
    """A pitch in bytes is right for a kernel that counts bytes: said of the only launch, as a fact."""
    kernel = cuda.kernel("_Z10to_displayP6float4PKfiii", [8, 8, 4, 4, 4])
    cuda.launch(kernel, [cuda.alloc(32256 * 2048), floats(cuda, 2000 * 2048), 2000, 2048, 32256])
    _, told = judged(cuda, tmp_path)
    assert told.status == "likely" and told.guilty is not None and told.guilty.argument is None
    assert any(
        "argument 3 x argument 4 (2,048 x 32,256) taken as bytes; counted in values of 16 bytes they would require "
        "1,056,964,608 bytes" in e.text
        for e in told.evidence
    )


# ---- silent ----

Program = Callable[[CudaWorld], None]
COUNTS = (1000, 2000, 3000, 5000)


def _each(symbol: str, sizes: Sequence[int], launches: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Program:
    """Launches of one kernel: (floats behind each pointer, numbers)."""

    def program(world: CudaWorld) -> None:
        kernel = world.kernel(symbol, sizes)
        for rooms, numbers in launches:
            memory = [floats(world, n) for n in rooms]
            world.launch(kernel, [*memory, *numbers], (-(-numbers[-1] // 256), 1, 1), (256, 1, 1))

    return program


def _views_of_a_pool(world: CudaWorld) -> None:
    pool, kernel = world.alloc(2 << 20), world.kernel(ADD, [8, 8, 4])
    for n, count in enumerate(COUNTS):
        world.launch(kernel, [pool + n * 40960, pool + n * 40960 + 20480, count])


def _in_place(world: CudaWorld) -> None:
    kernel = world.kernel(ADD, [8, 8, 4])
    for count in COUNTS:
        memory = floats(world, count)
        world.launch(kernel, [memory, memory, count])
    add(world, kernel, 4000)


def _dummy_instead_of_a_mask(world: CudaWorld) -> None:
    """Where there is no mask, the kernel is told so, and gets any pointer."""
    kernel = world.kernel("_Z7softmaxPfPKfS1_ii", [8, 8, 8, 4, 4])
    for count in COUNTS:
        world.launch(kernel, [*(floats(world, count) for _ in range(3)), count, 2])
    for flag in (0, 1, 3):
        world.launch(kernel, [floats(world, 9000), floats(world, 9000), floats(world, 7000), 9000, flag])


def _larger_grids(world: CudaWorld) -> None:
    kernel = world.kernel(ADD, [8, 8, 4])
    for count, groups in zip(COUNTS, (4, 8, 12, 1024), strict=True):
        world.launch(kernel, [floats(world, count), floats(world, count), count], (groups, 1, 1), (256, 1, 1))


def _no_number_and_a_last_block(world: CudaWorld) -> None:
    """The kernel ends by a constant that nobody sees; the last block is not whole."""
    kernel = world.kernel("_Z6squarePfPKf", [8, 8])
    for count in (1024, 2048, 4096, 10000 - 700):
        world.launch(kernel, [floats(world, count), floats(world, count)], (-(-count // 1024), 1, 1), (1024, 1, 1))


def _a_structure(world: CudaWorld) -> None:
    kernel = world.kernel("_Z4maskPfPKf5Rangei", [8, 8, 16, 4])
    for count, room in ((1000, 1000), (2000, 2000), (5000, 4000)):
        world.launch(kernel, [floats(world, room), floats(world, count), bytes(16), count])


def _neighbouring_mappings(world: CudaWorld) -> None:
    kernel = world.kernel(SCALE, [8, 4])
    for count in (1000, 2000):
        world.launch(kernel, [floats(world, count), count])
    base = 0x7E00_0000_0000
    for n in range(2):
        world.create("cuMemMap", size=2 << 20, result=base + n * (2 << 20))
    world.launch(kernel, [base, 600_000])


BIAS, MEAN, SUM = "_Z4biasPfPKfii", "_Z4meanPfPKfii", "_Z3sumPfPKfi"
PITCHED = ((60, 50, 64), (100, 70, 128), (999, 9, 1024))  # width, height, stride
STRIDED = ((1000, 2), (2000, 2), (9000, 3))
QUERIES = ((100, 8, 4), (200, 8, 4), (300, 8, 12))  # queries, values of each, points
TABLES = ((1000, 8000), (2000, 16000), (9000, 40000))
TARGETS = ((1000, 1000), (2000, 2000), (9000, 4000))

SILENT: dict[str, Program] = {
    "correct": _each(ADD, [8, 8, 4], [((n, n), (n,)) for n in COUNTS]),
    "more room than needed": _each(ADD, [8, 8, 4], [((n, n), (n,)) for n in COUNTS] + [((9000, 8000), (7000,))]),
    "some larger, one smaller": _each(
        ADD, [8, 8, 4], [((n, n), (n,)) for n in COUNTS] + [((9000, 8000), (7000,)), ((5000, 6000), (6000,))]
    ),
    "a bias per column": _each(BIAS, [8, 8, 4, 4], [((m * n, n), (m, n)) for m, n in ((64, 64), (128, 128), (500, 90))]),
    "means of rows": _each(MEAN, [8, 8, 4, 4], [((m, m * n), (m, n)) for m, n in ((64, 64), (128, 128), (90, 500))]),
    "a sum": _each(SUM, [8, 8, 4], [((1, n), (n,)) for n in COUNTS]),
    "a sum per block": _each(SUM, [8, 8, 4], [((-(-n // 256), n), (n,)) for n in COUNTS]),
    "a sum into any scratch": _each(SUM, [8, 8, 4], [((s, n), (n,)) for n, s in ((1000, 1000), (2000, 2000), (9000, 256))]),
    "a histogram": _each("_Z4histPfPKfi", [8, 8, 4], [((256, n), (n,)) for n in (256, 1000, 5000)]),
    "a table, and places in it": _each("_Z6gatherPfPKfPKiii", [8, 8, 8, 4, 4], [((n * 8, t, n), (n, 8)) for n, t in TABLES]),
    "places written to": _each("_Z7scatterPfPKfPKji", [8, 8, 8, 4], [((t, n, n), (n,)) for n, t in TARGETS]),
    "pointers to pointers": _each("_Z7batchedPfPPKfi", [8, 8, 4], [((t, n), (n,)) for n, t in TARGETS]),
    "strides": _each("_Z5pitchPfPKfiii", [8, 8, 4, 4, 4], [((s * h, w * h), (w, h, s)) for w, h, s in PITCHED]),
    "a stride of other values": _each("_Z5ratioPfPKfii", [8, 8, 4, 4], [((n, n * s), (n, s)) for n, s in STRIDED]),
    "a triangle": _each("_Z3triPfPKfi", [8, 8, 4], [((n * (n + 1) // 2, n * n), (n,)) for n in (64, 128, 200)]),
    "bits": _each("_Z4bitsPfPKfi", [8, 8, 4], [((n // 32, n), (n,)) for n in (3200, 6400, 96000)]),
    "the best four": _each("_Z4bestPfPKfS1_iii", [8, 8, 8, 4, 4, 4], [((q * 4, q * d, d * p), (q, d, p)) for q, d, p in QUERIES]),
    "two numbers that were the same": _each(
        "_Z3foldPfPKfii", [8, 8, 4, 4], [((m * k, m * n), (m, n, k)[:2]) for m, n, k in ((64, 32, 32), (64, 96, 96), (64, 500, 400))]
    ),
    "one launch": _each(GEMM, [8, 8, 8, 4, 4, 4], [((50 * 96, 64 * 32, 32 * 96), (64, 96, 32))]),
    "three equal sides": _each(
        GEMM, [8, 8, 8, 4, 4, 4], [((4096, 4096, 4096), (64, 64, 64)), ((3200, 4096, 4096), (64, 64, 64))]
    ),
    "a few bytes": _each(ADD, [8, 8, 4], [((n, n), (n,)) for n in COUNTS] + [((7990, 8000), (8000,))]),
    "views of a pool": _views_of_a_pool,
    "in place": _in_place,
    "a dummy instead of a mask": _dummy_instead_of_a_mask,
    "larger grids": _larger_grids,
    "no number, and a last block": _no_number_and_a_last_block,
    "a structure": _a_structure,
    "mappings side by side": _neighbouring_mappings,
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(cuda: CudaWorld, tmp_path: Path, name: str) -> None:
    """The device faulted and nothing is known to have ended well: even then none of these is held against a launch."""
    SILENT[name](cuda)
    report, told = judged(cuda, tmp_path)
    assert interval(report).suspicious == 0, [e.text for e in report.evidence]
    assert told.guilty is None or told.guilty.argument is None


def test_a_launch_like_it_that_ended_well(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel = cuda.kernel(ADD, [8, 8, 4])
    for count in COUNTS:
        add(cuda, kernel, count)
    add(cuda, kernel, 6000, out=5500)
    cuda.sync()
    add(cuda, kernel, 8000, out=7000)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [floats(cuda, 64), 64])
    report, told = judged(cuda, tmp_path)
    assert interval(report).suspicious == 0 and told.status == "inconclusive"


def test_a_run_that_passed_is_not_looked_at(cuda: CudaWorld, look: Look) -> None:
    kernel = cuda.kernel(ADD, [8, 8, 4])
    for count in COUNTS:
        add(cuda, kernel, count)
    add(cuda, kernel, 8000, out=7000)
    cuda.sync()
    assert not look(cuda)


# ---- OpenCL ----


def _opencl(world: World, rooms: Sequence[tuple[int, int]], *, number: bool = True) -> None:
    args = [Arg("float*", "out", GLOBAL), Arg("float*", "in", GLOBAL), Arg("float*", "tile", LOCAL)]
    kernel = world.kernel("smooth", [*args, *([Arg("int", "count")] if number else [])])
    for room, count in rooms:
        world.set_arg(kernel, 0, world.buffer(4 * room))
        world.set_arg(kernel, 1, world.buffer(4 * count))
        world.set_arg(kernel, 2, 0, 1024, local=True)
        if number:
            world.set_arg(kernel, 3, count, 4)
        world.launch(kernel, (count,), (64,))


@pytest.mark.parametrize("number", [True, False])
def test_a_crash_with_a_launch_that_outruns_its_memory(world: Make, look: Look, number: bool) -> None:
    process = world()
    _opencl(process, [(6400, 6400), (12800, 12800), (16000, 64000)], number=number)
    process.header["ended"] = 0
    (one,) = [f for f in look(process, "signal", signal="SIGSEGV") if f.id == "undersized-buffer"]
    assert one.severity == "warning" and one.site is not None and one.causes == ("out-of-bounds-access",)
    assert (one.site.launch, one.site.argument, one.site.argument_name) == (3, 0, "out")
    assert one.message == (
        "Kernel smooth was passed buffer #5 as argument 0 (float* out), which is 192,000 bytes less than its size arguments require."
    )
    name = "count" if number else "the work-items in x"
    assert f"in buffer #5; {name} (64,000) requires 64,000" in one.evidence[0].text


def test_a_crash_after_the_launch_was_done(world: Make, look: Look) -> None:
    process = world()
    _opencl(process, [(6400, 6400), (12800, 12800), (32000, 64000)])
    process.call("clFinish", queue=process.queue)
    process.header["ended"] = 0
    assert "undersized-buffer" not in {f.id for f in look(process, "signal", signal="SIGSEGV")}


def test_correct_kernels_and_other_ends(world: Make, look: Look) -> None:
    process = world()
    _opencl(process, [(6400, 6400), (12800, 12800), (64000, 64000)])
    process.header["ended"] = 0
    assert "undersized-buffer" not in {f.id for f in look(process, "signal", signal="SIGSEGV")}
    wrong = world()
    _opencl(wrong, [(6400, 6400), (12800, 12800), (32000, 64000)])
    for kind, name in (("passed", None), ("exit", None), ("signal", "SIGKILL")):
        assert "undersized-buffer" not in {f.id for f in look(wrong, kind, signal=name)}


# ---- programs by chance ----

NEEDS: tuple[Callable[[int, int, int], int], ...] = (
    lambda m, n, k: m * n, lambda m, n, k: m * k, lambda m, n, k: k * n, lambda m, n, k: m * n * k, lambda m, n, k: m,
    lambda m, n, k: n, lambda m, n, k: 256, lambda m, n, k: 1, lambda m, n, k: m * n // 2 + 1, lambda m, n, k: m + 1,
    lambda m, n, k: -(-m * n // 32), lambda m, n, k: m * (m + 1) // 2, lambda m, n, k: 3 * m, lambda m, n, k: m * 100,
)  # fmt: skip
SIDES = ((16, 32, 64, 128, 256, 512), (64, 64, 64, 128), (50, 96, 640, 1000, 1376, 1792))


@pytest.mark.parametrize("seed", range(40))
def test_correct_programs_and_one_argument_made_smaller(schema: str, tmp_path: Path, seed: int) -> None:
    """Whatever three arguments are for: nothing is said while all fit, and then of no other than the one that does not."""
    chance = random.Random(seed)
    needs, sides = chance.choices(NEEDS, k=3), chance.choice(SIDES)
    shapes = [(*chance.choices(sides, k=2), chance.choice(sides[:2])) for _ in range(chance.randint(3, 9))]
    victim, part = chance.randrange(3), chance.uniform(0.2, 0.95)
    for smaller in (False, True):
        world = CudaWorld(schema)
        kernel = world.kernel(GEMM, [8, 8, 8, 4, 4, 4])
        for number, shape in enumerate(shapes):
            sizes = [need(*shape) for need in needs]
            if smaller and number == len(shapes) - 1:
                sizes[victim] = max(1, int(sizes[victim] * part))
            world.launch(kernel, [*(floats(world, size) for size in sizes), *shape], (chance.randint(1, 9), 1, 1))
        rows = np.arange(len(shapes))
        found = shortages(derive(world.write(tmp_path / f"{smaller}.gdx")), rows, np.zeros(len(rows), bool))
        named = {(launch, short.argument) for launch, several in found.items() for short in several}
        assert named <= ({(len(shapes) - 1, victim)} if smaller else set())


def test_many_launches_are_few_rows(cuda: CudaWorld, tmp_path: Path) -> None:
    """The same launch again and again is looked at once."""
    kernel, memory = cuda.kernel(ADD, [8, 8, 4]), [floats(cuda, n) for n in (1000, 1000, 2000, 2000)]
    for _ in range(300):
        cuda.launch(kernel, [memory[0], memory[1], 1000])
        cuda.launch(kernel, [memory[2], memory[3], 2000])
    facts = derive(cuda.write(tmp_path / "1-0.gdx"))
    table = rooms_of(facts, 0)
    assert table is not None and len(table.launches) == 600 and table.launch.tolist() == [598, 599]
    assert table.rooms[0].tolist() == [4000, 8000] and table.which.tolist() == [0, 1] * 300
    assert not shortages(facts, np.arange(600), np.zeros(600, bool))
