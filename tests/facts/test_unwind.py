"""Real crashes under the real recorder: every frame, name and line of the recovered stack is checked."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.opencl import Loader, OpenCL, find_loader
from support.simulated import SLOW

from gpudx.elf.image import Image
from gpudx.facts.symbols import Symbols
from gpudx.facts.unwind import CUT, frames_of, host_stack, unwind
from gpudx.native import PACKAGED
from gpudx.trace import Trace, open_trace
from gpudx.trace.last_words import LastWords

ROOT = Path(__file__).resolve().parents[2]
INCIDENT = ROOT / "incidents/opencl-set-rows-q4_0"
pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="stacks are recovered on x86-64 only"),
]

LIBRARY = """\
__attribute__((noipa)) int through(int (*callback)(int *), int *p)
{
    int v = callback(p); /* through */
    __asm__ volatile("");
    return v + 1;
}
__attribute__((noipa)) int library_fault(int *p)
{
    return *p + 1; /* library_fault */
}
"""
PROGRAM = """\
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int clGetPlatformIDs(unsigned, void *, unsigned *);
int clGetDeviceIDs(void *, unsigned long, unsigned, void *, unsigned *);
void *clCreateContext(void *, unsigned, void *, void *, void *, int *);
void *clCreateBuffer(void *, unsigned long, size_t, void *, int *);
int through(int (*)(int *), int *);
int library_fault(int *);
#define REAL __attribute__((noipa)) static
static volatile int sink;

REAL int fault(int *p)
{
    int v = *p + 1; /* fault */
    sink = v;
    return v;
}
REAL int middle(int *p)
{
    int v = fault(p) + sink; /* middle */
    sink = v;
    return v;
}
static inline __attribute__((always_inline)) int inlined(int *p)
{
    return middle(p) + sink; /* inlined */
}
REAL int outer(int *p)
{
    int v = inlined(p); /* outer */
    sink = v;
    return v;
}
REAL int wild(int (*function)(void))
{
    int v = function(); /* wild */
    sink = v;
    return v;
}
REAL int aborts(void)
{
    abort(); /* aborts */
}
static void handler(int number)
{
    sink = number;
    sink = fault(NULL); /* handler */
}
REAL int interrupted(void)
{
    raise(SIGUSR1); /* interrupted */
    sink = 1;
    return 1;
}
static int compare(const void *a, const void *b)
{
    (void)a, (void)b;
    sink = fault(NULL); /* compare */
    return sink;
}
REAL int sorts(void)
{
    int numbers[4] = { 4, 3, 2, 1 };
    qsort(numbers, 4, sizeof *numbers, compare); /* sorts */
    return numbers[sink & 3];
}
static void *thread(void *p)
{
    sink = middle(p); /* thread */
    return NULL;
}
REAL int realigned(int n, int *p)
{
    alignas(64) char table[64];
    char sized[n];
    memset(table, n, sizeof table);
    memset(sized, n, (size_t)n);
    int v = fault(p) + table[n & 63] + sized[0]; /* realigned */
    sink = v;
    return v;
}
REAL int large(int *p)
{
    volatile char room[100 << 10];
    room[sink] = 1;
    int v = fault(p) + room[0]; /* large */
    sink = v;
    return v;
}
REAL int generated(const char *code, size_t size)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, size);
    int v = ((int (*)(void))at)(); /* generated */
    sink = v;
    return v;
}
REAL int deep(int n)
{
    int v = n ? deep(n - 1) : fault(NULL); /* deep */
    sink = v;
    return v;
}
REAL int failing_call(void)
{
    void *platform = NULL, *device = NULL;
    int status = 0;
    clGetPlatformIDs(1, &platform, NULL);
    if (!platform || clGetDeviceIDs(platform, 0xFFFFFFFF, 1, &device, NULL))
        return 0;
    void *context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    clCreateBuffer(context, 1, 0, NULL, &status); /* failing_call */
    sink = status;
    return status;
}
int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    unsigned count;
    pthread_t other;
    clGetPlatformIDs(0, NULL, &count);
    if (!strcmp(mode, "plain"))
        sink = outer(NULL); /* main plain */
    else if (!strcmp(mode, "null call"))
        sink = wild(NULL); /* main null call */
    else if (!strcmp(mode, "wild call"))
        sink = wild((int (*)(void))0x48008); /* main wild call */
    else if (!strcmp(mode, "abort"))
        sink = aborts(); /* main abort */
    else if (!strcmp(mode, "handler"))
        signal(SIGUSR1, handler), sink = interrupted(); /* main handler */
    else if (!strcmp(mode, "sort"))
        sink = sorts(); /* main sort */
    else if (!strcmp(mode, "library"))
        sink = library_fault(NULL) + sink; /* main library */
    else if (!strcmp(mode, "callback"))
        sink = through(middle, NULL); /* main callback */
    else if (!strcmp(mode, "realigned"))
        sink = realigned(argc + 7, NULL); /* main realigned */
    else if (!strcmp(mode, "large"))
        sink = large(NULL); /* main large */
    else if (!strcmp(mode, "generated"))
        sink = generated("\\x55\\x48\\x89\\xe5\\x53\\x31\\xc0\\x8b\\x00\\xc3", 10); /* main generated */
    else if (!strcmp(mode, "generated leaf"))
        sink = generated("\\x31\\xc0\\x8b\\x00\\xc3", 5); /* main generated leaf */
    else if (!strcmp(mode, "generated, no frame"))
        sink = generated("\\x50\\x31\\xed\\x31\\xc0\\x8b\\x00\\xc3", 8); /* main generated, no frame */
    else if (!strcmp(mode, "deep"))
        sink = deep(200); /* main deep */
    else if (!strcmp(mode, "failing"))
        return failing_call() == 0; /* main failing */
    else if (!strcmp(mode, "thread"))
        pthread_create(&other, NULL, thread, NULL), pthread_join(other, NULL);
    return sink + 1;
}
"""


def library() -> Path | None:
    """The recorder: GPUDX_LIB, else that of the installed package, else that of the build."""
    named = os.environ.get("GPUDX_LIB")
    candidates = [Path(named)] if named else [PACKAGED / "libgpudx.so", ROOT / "build/native/libgpudx.so"]
    return next((path.resolve() for path in candidates if path.is_file()), None)


def loader() -> Loader:
    found = find_loader()
    if found is None:
        pytest.skip('no OpenCL loader and device: pip install "pyopencl[pocl]"')
    return found


def cc(*arguments: str | Path) -> None:
    done = subprocess.run(["gcc", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def recorded(program: Path, *arguments: str) -> Trace:
    """The trace of one run under the recorder."""
    lib = library()
    if lib is None:
        pytest.skip("no recorder: set GPUDX_LIB to a libgpudx.so, or build it into build/native")
    folder = program.parent / "traces"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    ours = {"GPUDX_DIR": str(folder), "LD_PRELOAD": str(lib), "OPENCL_LAYERS": str(lib)}
    env = {**os.environ, **loader().environment, **ours}
    subprocess.run([program, *arguments], env=env, capture_output=True, timeout=120)
    traces = list(folder.glob("*.gdx"))
    if not traces:
        pytest.skip("the OpenCL loader of this system does not load layers, so nothing was recorded")
    return open_trace(traces[0])


def build(folder: Path, *flags: str) -> Path:
    """folder/app and folder/libother.so, both with `flags`. Calls on different lines are kept apart."""
    (folder / "other.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM)
    cc(*flags, "-shared", "-fPIC", "-o", folder / "libother.so", folder / "other.c")
    cc(
        *flags,
        "-fno-crossjumping",
        "-fno-tree-tail-merge",
        "-o",
        folder / "app",
        folder / "program.c",
        folder / "libother.so",
        f"-Wl,-rpath,{folder}",
        *loader().link,
        "-lpthread",
    )
    return folder / "app"


def line_of(marker: str) -> tuple[str, int]:
    for name, source in (("program.c", PROGRAM), ("other.c", LIBRARY)):
        for number, line in enumerate(source.split("\n"), 1):
            if line.endswith(f"/* {marker} */"):
                return name, number
    raise KeyError(marker)


def frame(marker: str) -> str:
    """The text of the frame at a marker. The function is the marker's first word."""
    file, line = line_of(marker)
    return f"{marker.split()[0]} at {file}:{line} ({'app' if file == 'program.c' else 'libother.so'})"


def words_of(trace: Trace) -> LastWords:
    assert trace.last_words is not None
    return trace.last_words


FLAGS = [
    ("-g", "-O0"),
    ("-g", "-O2", "-fomit-frame-pointer", "-mavx2"),
    ("-g", "-O3", "-no-pie", "-fno-plt"),
    ("-g", "-O2"),
    ("-g", "-O1", "-fno-omit-frame-pointer"),
    ("-g", "-Os", "-Wl,-z,noseparate-code"),
    ("-g", "-O2", "-fcf-protection=full"),
]
MOST_DIFFERENT = 3


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    return cache(lambda *flags: build(tmp_path_factory.mktemp("app"), *flags))


@pytest.fixture(scope="module", params=FLAGS, ids=" ".join)
def every_app(request: pytest.FixtureRequest, built: Callable[..., Path]) -> Path:
    return built(*request.param)


@pytest.fixture(scope="module", params=FLAGS if SLOW else FLAGS[:MOST_DIFFERENT], ids=" ".join)
def app(request: pytest.FixtureRequest, built: Callable[..., Path]) -> Path:
    return built(*request.param)


@pytest.fixture(scope="module")
def crash(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The plain crash, optimised, with debug information."""
    return recorded(build(tmp_path_factory.mktemp("crash"), "-g", "-O2"), "plain")


# ---- whole stacks ----

WHOLE = {
    "plain": ["fault", "middle", "inlined", "outer", "main plain"],
    "library": ["library_fault", "main library"],
    "callback": ["fault", "middle", "through", "main callback"],
    "realigned": ["fault", "realigned", "main realigned"],
}


@pytest.mark.parametrize("mode", WHOLE)
def test_every_frame_is_named(every_app: Path, mode: str) -> None:
    assert host_stack(recorded(every_app, mode)) == tuple(frame(marker) for marker in WHOLE[mode])


@pytest.mark.parametrize(("mode", "address"), [("null call", 0), ("wild call", 0x48008)])
def test_a_call_through_a_bad_pointer_leads_to_the_caller(app: Path, mode: str, address: int) -> None:
    trace = recorded(app, mode)
    assert words_of(trace).pc == address
    expected = (f"{address:#x} (in no known mapping)", frame("wild"), frame(f"main {mode}"))
    assert host_stack(trace) == expected


def test_abort_leads_through_the_c_library(app: Path) -> None:
    stack = host_stack(recorded(app, "abort"))
    assert stack[-2:] == (frame("aborts"), frame("main abort"))
    assert all("(libc.so.6)" in line or line.startswith("libc.so.6+") for line in stack[:-2])


def test_a_crash_in_a_signal_handler_leads_to_what_was_interrupted(app: Path) -> None:
    stack = host_stack(recorded(app, "handler"))
    assert stack[:2] == (frame("fault"), frame("handler"))
    assert stack[-2:] == (frame("interrupted"), frame("main handler"))
    assert 2 < len(stack) < 9
    assert all("libc.so.6" in line for line in stack[2:-2])


def test_a_callback_from_the_c_library(app: Path) -> None:
    stack = host_stack(recorded(app, "sort"))
    assert stack[:2] == (frame("fault"), frame("compare"))
    assert stack[-2:] == (frame("sorts"), frame("main sort"))
    assert all("libc.so.6" in line for line in stack[2:-2])


def test_a_thread_ends_where_it_began(app: Path) -> None:
    stack = host_stack(recorded(app, "thread"))
    assert stack[:3] == (frame("fault"), frame("middle"), frame("thread"))
    assert 1 <= len(stack[3:]) <= 2
    assert all("libc.so.6" in line for line in stack[3:])


def test_a_stack_that_was_not_kept_in_full_says_so(app: Path) -> None:
    assert host_stack(recorded(app, "large")) == (frame("fault"), frame("large"), CUT)


def test_a_stack_deeper_than_the_limit_says_so(app: Path) -> None:
    trace = recorded(app, "deep")
    assert host_stack(trace) == (frame("fault"), *[frame("deep")] * 63, CUT)
    assert len(unwind(words_of(trace), Symbols(trace.maps), limit=7)) == 7


# ---- code without call frame information ----


def test_generated_code_with_a_frame_pointer(app: Path) -> None:
    trace = recorded(app, "generated")
    stack = host_stack(trace)
    assert stack[0] == f"{words_of(trace).pc:#x} (generated code)"
    assert stack[1:] == (frame("generated"), frame("main generated"))


def test_generated_code_that_has_pushed_nothing(app: Path) -> None:
    trace = recorded(app, "generated leaf")
    stack = host_stack(trace)
    assert stack == (f"{words_of(trace).pc:#x} (generated code)", frame("generated"), frame("main generated leaf"))


def test_generated_code_without_a_frame_ends_the_stack(app: Path) -> None:
    trace = recorded(app, "generated, no frame")
    assert host_stack(trace) == (f"{words_of(trace).pc:#x} (generated code)", CUT)


def test_functions_without_information_are_guessed_once(tmp_path: Path) -> None:
    flags = ["-g", "-O0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    trace = recorded(build(tmp_path, *flags), "plain")
    assert host_stack(trace) == (frame("fault"), frame("middle"), CUT)


# ---- without debug information, without names ----


def test_without_debug_information_functions_are_still_named(tmp_path: Path) -> None:
    stack = host_stack(recorded(build(tmp_path, "-O2", "-fomit-frame-pointer"), "plain"))
    names = [re.fullmatch(r"(\w+)\+0x[0-9a-f]+ \(app\)", line) for line in stack]
    assert [match and match[1] for match in names] == ["fault", "middle", "outer", "main"]


def test_a_stripped_program_has_the_same_frames(tmp_path: Path) -> None:
    app = build(tmp_path, "-O2", "-fomit-frame-pointer")
    before = recorded(app, "callback")
    symbols = Symbols(before.maps)
    addresses = unwind(words_of(before), symbols)
    places = [symbols.locate(address) for address in addresses]
    expected = [f"app+{place.offset:#x}" for place in places if place and place.object == "app"]
    assert len(expected) == 4  # fault, middle, main, _start
    subprocess.run(["strip", "--strip-all", app, tmp_path / "libother.so"], check=True)
    after = host_stack(recorded(app, "callback"))
    assert [line for line in after if line.startswith("app+")] == expected
    assert after[2].startswith("through+0x")
    assert after[2].endswith(" (libother.so)")


# ---- the recorder's own frames ----


def test_a_recorded_error_stack_starts_at_the_program(app: Path) -> None:
    trace = recorded(app, "failing")
    note = trace.schema.by_name("note_stack")
    assert note is not None
    found = trace.select(note)
    if not len(found):
        pytest.skip("no OpenCL device on this machine, so no call can fail in its driver")
    (position,) = found
    addresses = trace.numbers(int(position), "frames")
    symbols = Symbols(trace.maps)
    assert "(libgpudx" in symbols.describe(addresses[0])
    lines = frames_of(trace, addresses)
    assert lines[-2:] == (frame("failing_call"), frame("main failing"))
    assert not any("libgpudx" in line for line in lines)
    assert len(lines) <= 3  # the OpenCL loader may be between


@pytest.mark.parametrize(
    ("mode", "object_", "shown"),
    [
        ("callback", "libother.so", [0, 1, 3]),  # passed a call on: left out
        ("library", "libother.so", [0, 1]),  # died in it
        ("abort", "app", None),  # died in what it called
    ],
)
def test_the_recorder_is_left_out_only_where_it_passed_a_call_on(
    tmp_path: Path, mode: str, object_: str, shown: list[int] | None
) -> None:
    trace = recorded(build(tmp_path, "-g", "-O2"), mode)
    whole = host_stack(trace)
    disguised = tmp_path / f"libgpudx-{object_}"
    shutil.copy(tmp_path / object_, disguised)
    trace.__dict__["maps"] = trace.maps.replace(str(tmp_path / object_), str(disguised))
    expected = [whole[i] for i in shown] if shown else list(whole)
    assert [line.replace("libgpudx-", "") for line in host_stack(trace)] == expected


def test_the_incident_of_a_size_passed_as_a_handle(opencl: OpenCL, tmp_path: Path) -> None:
    sources = [INCIDENT / name for name in ("main.c", "gpu.c", "tensor.c", "reference.c")]
    if not INCIDENT.is_dir():
        pytest.skip("the incidents are not here")
    cc("-g", "-O1", f"-I{opencl.include}", "-o", tmp_path / "app", *sources, *loader().link, "-lpthread", "-lm")
    trace = recorded(tmp_path / "app")
    if trace.last_words is None:
        pytest.skip("no OpenCL device on this machine, or one that survives a wrong handle")

    def at(function: str, text: str, name: str) -> str:
        lines = (INCIDENT / name).read_text().split("\n")
        (number,) = [n for n, line in enumerate(lines, 1) if text in line]
        return f"{function} at {name}:{number} (app)"

    stack = host_stack(trace)
    begin = next(i for i, line in enumerate(stack) if line.startswith("gpu_set"))
    assert begin >= 1
    assert not any("libgpudx" in line for line in stack)
    assert stack[begin : begin + 3] == (
        at("gpu_set", "check(clSetKernelArg(", "gpu.c"),
        at("read_split", "gpu_set(kernel, 1, sizeof(cl_mem), &extra->d);", "tensor.c"),
        at("tensor_read", "read_split(gpu, tensor, staging);", "tensor.c"),
    )
    assert [line.split()[0] for line in stack[begin + 3 :]] == ["read_and_compare", "try_cache", "main"]


# ---- made-up stacks ----


def words(pc: int, sp: int, stack: bytes, **registers: int) -> LastWords:
    kept = [0] * 17
    for name, value in registers.items():
        kept[{"rbx": 3, "rbp": 6}[name]] = value
    kept[7], kept[16] = sp, pc
    return LastWords(11, 1, 1, 0, pc, sp, tuple(kept), stack, 0.0)


@pytest.fixture(scope="module")
def lazy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Symbols, Image, int]:
    """A program whose PLT has entries that push, as if mapped at a known address."""
    folder = tmp_path_factory.mktemp("lazy")
    (folder / "a.c").write_text('#include <stdio.h>\nint main(void) { puts(""); return 0; }\n')
    cc("-g", "-O1", "-Wl,-z,lazy", "-fcf-protection=none", "-o", folder / "a", folder / "a.c")
    image = Image.open(str(folder / "a"))
    assert image is not None
    base = 0x555555554000
    maps = []
    for segment in image.segments[image.segments["type"] == 1]:
        begin, size = int(segment["offset"]) & ~4095, int(segment["filesz"]) + 4096
        start = base + (int(segment["vaddr"]) & ~4095)
        access = "r-xp" if int(segment["flags"]) & 1 else "r--p"
        maps.append(f"{start:x}-{start + (size + 4095) // 4096 * 4096:x} {access} {begin:08x} 08:01 1 {image.path}")
    return Symbols("\n".join(maps) + "\n"), image, base


def call_in_main(image: Image, base: int) -> int:
    """The return address of the call in main."""
    (main,) = [s for s in image._symbols[0] if image.function(int(s["value"])) == ("main", int(s["value"]))]
    code = image.at(int(main["value"]), int(main["size"]))
    return base + int(main["value"]) + code.index(b"\xe8") + 5


def test_inside_the_plt(lazy: tuple[Symbols, Image, int]) -> None:
    symbols, image, base = lazy
    back = call_in_main(image, base)
    plt = base + int(image.sections[".plt"]["addr"])
    sp = 0x7FFE00000000
    # Entry 1: jmp *got (6 bytes), push n (5 bytes), jmp entry 0. Its CFA is an expression over the address itself.
    for into in (16, 22):
        assert unwind(words(plt + into, sp, back.to_bytes(8, "little")), symbols)[:2] == (plt + into, back)
    pushed = (3).to_bytes(8, "little") + back.to_bytes(8, "little")
    assert unwind(words(plt + 27, sp, pushed), symbols)[:2] == (plt + 27, back)
    # Entry 0 is reached with one word pushed, and pushes another.
    assert unwind(words(plt, sp, pushed), symbols)[:2] == (plt, back)
    assert unwind(words(plt + 6, sp, bytes(8) + pushed), symbols)[:2] == (plt + 6, back)


def test_the_first_function_of_a_process_has_no_caller(lazy: tuple[Symbols, Image, int]) -> None:
    symbols, image, base = lazy
    start = base + int(image._header["entry"][0])
    assert unwind(words(start + 1, 0x7FFE00000000, bytes(4096)), symbols) == (start + 1,)


def test_a_bad_pointer_is_not_followed_to_what_no_call_precedes(lazy: tuple[Symbols, Image, int]) -> None:
    symbols, image, base = lazy
    back = call_in_main(image, base)
    for value in (back + 1, back - 1, base, 0, 1, (1 << 64) - 1, 0x48008):
        assert unwind(words(0, 0x7FFE00000000, value.to_bytes(8, "little")), symbols) == (0,)
    assert unwind(words(0, 0x7FFE00000000, back.to_bytes(8, "little")), symbols)[:2] == (0, back)


def test_without_a_stack_or_registers_only_the_place_is_known(crash: Trace) -> None:
    kept, symbols = words_of(crash), Symbols(crash.maps)
    place = (kept.pc,)
    assert unwind(replace(kept, stack=b""), symbols) == place
    assert unwind(replace(kept, stack=kept.stack[:7]), symbols) == place
    assert unwind(replace(kept, registers=()), symbols) == place
    assert unwind(replace(kept, registers=(0,) * 17), symbols) == place
    assert unwind(kept, Symbols("")) == place
    assert unwind(kept, symbols, limit=1) == place


def test_the_same_words_give_the_same_stack(crash: Trace) -> None:
    assert len({unwind(words_of(crash), Symbols(crash.maps)) for _ in range(5)}) == 1


def test_a_trace_of_a_program_that_lived_has_no_stack(tmp_path: Path) -> None:
    assert host_stack(recorded(build(tmp_path, "-O1"), "nothing")) == ()


# ---- garbage ----


def _damage(chance: random.Random, kept: LastWords) -> LastWords:
    stack, registers = bytearray(kept.stack), list(kept.registers)
    for _ in range(chance.choice((0, 1, 30, 3000))):
        stack[chance.randrange(len(stack))] = chance.randrange(256)
    for _ in range(chance.choice((0, 1, 4))):
        registers[chance.randrange(17)] = chance.choice((0, 1, (1 << 64) - 1, kept.sp, kept.pc, chance.getrandbits(64)))
    return replace(
        kept,
        stack=bytes(stack[: chance.choice((len(stack), chance.randrange(len(stack))))]),
        registers=tuple(registers),
        pc=registers[16],
        sp=registers[7],
    )


@pytest.mark.parametrize("seed", range(4))
def test_damaged_words_never_raise(crash: Trace, seed: int) -> None:
    chance, symbols, kept = random.Random(seed), Symbols(crash.maps), words_of(crash)
    for _ in range(400):
        damaged = _damage(chance, kept)
        found = unwind(damaged, symbols)
        assert 1 <= len(found) <= 64
        assert found[0] == damaged.pc
        assert all(symbols.executable(address - 1) or symbols.executable(address) for address in found[1:])


@pytest.mark.parametrize("seed", range(4))
def test_damaged_objects_never_raise(tmp_path: Path, seed: int) -> None:
    app = build(tmp_path, "-O2")
    trace = recorded(app, "callback")
    chance, whole = random.Random(seed), app.read_bytes()
    image = Image.open(str(app))
    assert image is not None
    places = [int(image.sections[name]["offset"]) for name in (".eh_frame", ".eh_frame_hdr", ".text")] + [0, 64]
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 4, 100))):
            at = min(chance.choice(places) + chance.randrange(500), len(data) - 1)
            data[at] = chance.choice((0, 0xFF, 0x80, chance.randrange(256)))
        app.unlink()
        app.write_bytes(data)
        found = unwind(words_of(trace), Symbols(trace.maps))
        assert 1 <= len(found) <= 64
        assert found[0] == words_of(trace).pc
