"""Contracts over synthetic processes: broken, held, and not checked are three different things, and each is told."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stating import facts_of, held
from support.cuda_world import CudaWorld
from support.synthetic import GLOBAL, LOCAL, Arg, World
from support.typed import label, size

from gpudx.contracts.checking import BROKEN, NOT_CHECKED, Checked
from gpudx.contracts.evaluate import answer
from gpudx.contracts.language import LAUNCHES, parse
from gpudx.contracts.launches import Argument, launches_like
from gpudx.diagnose import diagnose
from gpudx.diagnose.findings import merge
from gpudx.model import Evidence, Finding, Outcome, Symptom

NAMES = "names = { x = 0, rows = 1, heads = 2, head_dim = 3, base = 4 }"
ROPE = "_Z8rope_f32Pfiiif"


def single(value: float) -> bytes:
    return struct.pack("<f", value)


def rope(schema: str, *launches: tuple[int, int, int, float], memory: int = 4096) -> tuple[CudaWorld, int]:
    """A process that launches RoPE with (rows, heads, head_dim, base)."""
    world = CudaWorld(schema)
    x, kernel = world.alloc(memory), world.kernel(ROPE, [8, 4, 4, 4, 4])
    for rows, heads, dim, base in launches:
        world.launch(kernel, [x, rows, heads, dim, single(base)])
    return world, x


def broken(checked: Checked) -> Finding:
    (found,) = [finding for finding in checked.findings if finding.id == BROKEN]
    return found


def clean(checked: Checked) -> bool:
    return checked.findings == () and checked.instrument.state == "live" and checked.complete and not checked.broken


def reason(checked: Checked) -> str:
    """Why the only thing that was found could not be checked."""
    (found,) = checked.findings
    assert found.id == NOT_CHECKED and not checked.broken and not checked.complete
    return found.message


# ---- broken and held ----


def test_a_broken_contract_is_told_with_launch_argument_and_buffer(schema: str, tmp_path: Path) -> None:
    world, _ = rope(schema, (8, 4, 16, 1e4), (8, 4, 15, 1e4), (64, 4, 16, 1e4), (8, 4, 15, 1e4))
    rules = ("head_dim % 2 == 0", "base > 0", "bytes(x) >= rows * heads * head_dim * 4")
    checked = held(tmp_path, facts_of(world, tmp_path), "rope_*", *rules, more=f'why = "it works on pairs."\n{NAMES}')
    found = broken(checked)
    assert found.severity == "error" and found.count == 3 and found.causes == ("contract-violated",)
    assert found.message == (
        'Launch 2 of kernel rope_f32 breaks its contract "head_dim % 2 == 0" (1 is not == 0): it works on pairs.'
    )
    assert found.site is not None and (found.site.launch, found.site.kernel) == (2, "rope_f32")
    told = [one.text for one in found.evidence]
    assert told[0] == (
        "launch 2 was passed x = memory #1 (4,096 bytes), rows = 8, heads = 4, head_dim = 15, base = 10000"
    )
    assert told[1] == '"head_dim % 2 == 0" is false at 2 of 4 launches: launches 2, 4 (1 is not == 0)'
    assert '"bytes(x) >= rows * heads * head_dim * 4" is false at 1 of 4 launches: launch 3' in told[2]
    assert told[3] == "the contract is in contracts.toml line 1"
    assert checked.instrument.saw == "1 contract with 3 requirements checked against 4 launches; 1 broken."


def test_the_buffer_that_is_too_small_is_named(schema: str, tmp_path: Path) -> None:
    world, _ = rope(schema, (64, 4, 16, 1e4))
    found = broken(held(tmp_path, facts_of(world, tmp_path), "rope_f32", "bytes(x) >= rows * 256", more=NAMES))
    assert found.site is not None and found.site.argument == 0
    assert (label(found), size(found)) == ("memory #1", 4096)
    assert "(4,096 is not >= 16,384)" in found.message


def test_a_contract_that_holds_is_silent(schema: str, tmp_path: Path) -> None:
    world, _ = rope(schema, (8, 4, 16, 1e4), (16, 4, 16, 1e4))
    rules = ("head_dim % 2 == 0", "base > 0", "bytes(x) >= rows * heads * head_dim * 4", "block.x == 32")
    checked = held(tmp_path, facts_of(world, tmp_path), "rope_*", *rules, more=NAMES)
    assert (
        clean(checked) and checked.instrument.saw == "1 contract with 4 requirements checked against 2 launches; 0 broken."
    )


def test_where_leaves_launches_out(schema: str, tmp_path: Path) -> None:
    world, _ = rope(schema, (0, 4, 15, 1e4), (8, 4, 16, 1e4))
    facts = facts_of(world, tmp_path)
    assert clean(held(tmp_path, facts, "rope_*", "head_dim % 2 == 0", more=f'where = "rows > 0"\n{NAMES}'))
    assert broken(held(tmp_path, facts, "rope_*", "head_dim % 2 == 0", more=NAMES)).count == 1


def test_two_processes_are_one_finding(schema: str, tmp_path: Path) -> None:
    both = [facts_of(rope(schema, (8, 4, 15, 1e4))[0], tmp_path, f"{n}.gdx") for n in range(2)]
    (found,) = merge(held(tmp_path, both, "rope_*", "head_dim % 2 == 0", more=NAMES).findings)
    assert found.count == 2


@pytest.mark.parametrize(
    "pattern", ["rope_f32", "rope_*", "*", "_Z8rope*", "rope_f32(float*, int, int, int, float)", "r?pe*"]
)
def test_patterns(schema: str, tmp_path: Path, pattern: str) -> None:
    assert clean(held(tmp_path, facts_of(rope(schema, (8, 4, 16, 1.0))[0], tmp_path), pattern, "arg3 == 16"))


# ---- not checked ----


def test_a_kernel_that_was_not_launched_is_said(schema: str, tmp_path: Path) -> None:
    checked = held(tmp_path, facts_of(rope(schema, (8, 4, 16, 1.0))[0], tmp_path), "rope_f23", "arg1 > 0")
    assert reason(checked) == (
        "No launch of a kernel named rope_f23 was recorded, but of rope_f32 there was: its contract was not checked "
        "(contracts.toml line 1)."
    )
    assert checked.instrument.state == "not live"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            "headdim > 0",
            "kernel rope_f32 has no argument headdim; did you mean head_dim? (it has x, rows, heads, head_dim, base)",
        ),
        ("arg9 > 0", "kernel rope_f32 takes 5 arguments, counted from arg0, so arg9 is none of them"),
        ("bytes(rows) > 0", "rows is a number (int), not memory"),
        ("rows % (heads - 4) == 0", "it divides by zero"),
        ("base ** 2 > 1", "powers, shifts and & are of whole numbers only"),
    ],
)
def test_what_cannot_be_evaluated_is_said(schema: str, tmp_path: Path, rule: str, says: str) -> None:
    checked = held(tmp_path, facts_of(rope(schema, (8, 4, 16, 1.0))[0], tmp_path), "rope_*", rule, more=NAMES)
    assert says in reason(checked) and "1 of 1 launch of kernel rope_f32 could not be checked" in reason(checked)


def test_names_and_types_that_no_declaration_gives(schema: str, tmp_path: Path) -> None:
    """A kernel with C linkage: its symbol says nothing of its parameters."""
    world = CudaWorld(schema)
    memory, kernel = world.alloc(64), world.kernel("plain", [8, 4, 4])
    world.launch(kernel, [memory, 8, single(0.5)])
    facts = facts_of(world, tmp_path)
    assert "the argument names of kernel plain are not known: write names = { n = 0 }" in reason(
        held(tmp_path, facts, "plain", "n > 0")
    )
    unknown = held(tmp_path, facts, "plain", "n > 0", more="names = { n = 1 }")
    assert 'the type of n is not known: write names = { n = "float arg1" } with its type' in reason(unknown)
    typed = 'names = { n = "int arg1", f = "float arg2", x = 0 }'
    assert clean(held(tmp_path, facts, "plain", "n == 8", "f == 0.5", "bytes(x) == 64", more=typed))
    assert "was set with another size" in reason(
        held(tmp_path, facts, "plain", "n > 0", more='names = { n = "long arg1" }')
    )


def test_an_argument_that_was_never_set(schema: str, tmp_path: Path) -> None:
    world = World(schema)
    kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL), Arg("int", "n")])
    world.set_arg(kernel, 0, world.buffer(64))
    world.launch(kernel, (16,), (16,))
    world.set_arg(kernel, 1, 16, 4)
    world.launch(kernel, (16,), (16,))
    checked = held(tmp_path, facts_of(world, tmp_path), "scale", "bytes(data) >= n * 4")
    assert reason(checked).startswith("1 of 2 launches of kernel scale could not be checked")
    assert "n was never set, or was not recorded" in reason(checked)
    assert checked.instrument.state == "live" and "1 launch could not be checked" in checked.instrument.saw


@pytest.mark.parametrize("flag", ["unreadable", "cut"])
def test_an_argument_that_could_not_be_read(schema: str, tmp_path: Path, flag: str) -> None:
    world = World(schema)
    kernel = world.kernel("scale", [Arg("int", "n")])
    world._held[kernel].arguments[0] = (1 | world.schema.argument_flags[flag], 4, 0, 1)
    world.launch(kernel, (16,), (16,))
    assert "n could not be read" in reason(held(tmp_path, facts_of(world, tmp_path), "scale", "n > 0"))


def test_a_known_side_is_enough(schema: str, tmp_path: Path) -> None:
    """What is not known makes a launch unchecked only where it matters; a broken part breaks the whole."""
    world = World(schema)
    kernel = world.kernel("scale", [Arg("int", "n"), Arg("int", "m")])
    world.set_arg(kernel, 0, 5, 4)
    world.launch(kernel, (16,), (16,))
    facts = facts_of(world, tmp_path)
    assert clean(held(tmp_path, facts, "scale", "n > 0 or m > 0"))
    assert broken(held(tmp_path, facts, "scale", "n < 0 and m > 0"))
    assert [f.id for f in held(tmp_path, facts, "scale", "n < 0", "m > 0").findings] == [BROKEN]
    assert clean(held(tmp_path, facts, "scale", "n > 0", more='where = "m > 0"'))
    assert "m was never set" in reason(held(tmp_path, facts, "scale", "n < 0", more='where = "m > 0"'))


def test_gaps_are_not_clean(schema: str, tmp_path: Path) -> None:
    world, _ = rope(schema, (8, 4, 16, 1.0))
    world.header["dropped"] = 3
    checked = held(tmp_path, facts_of(world, tmp_path), "rope_*", "arg1 == 8")
    assert reason(checked) == "Launches that are missing from the record could not be checked."
    assert "3 calls" in checked.findings[0].evidence[0].text


def test_graphs_made_by_hand_are_said(schema: str, tmp_path: Path) -> None:
    world, x = rope(schema, (8, 4, 16, 1.0))
    made = world.graph(world.kernel(ROPE, [8, 4, 4, 4, 4]), [x, 1, 1, 1, single(1)])
    world.call("cuGraphLaunch", graph_exec=made, queue=world.queue)
    assert "nodes added in other ways were not" in reason(
        held(tmp_path, facts_of(world, tmp_path), "rope_*", "arg1 == 8")
    )


# ---- values ----


@pytest.mark.parametrize(
    ("symbol", "size", "data", "rule"),
    [
        ("_Z1ki", 4, struct.pack("<i", -5), "arg0 == -5"),
        ("_Z1kj", 4, struct.pack("<I", 0xFFFFFFFB), "arg0 == 4294967291"),
        ("_Z1kx", 8, struct.pack("<q", -(1 << 62)), "arg0 * 4 == -2**64 and arg0 < 0"),
        ("_Z1ky", 8, struct.pack("<Q", (1 << 64) - 1), "arg0 == 18446744073709551615 and arg0 * arg0 > 2**63 * 2**64"),
        ("_Z1kh", 1, b"\xff", "arg0 == 255"),
        ("_Z1ka", 1, b"\xff", "arg0 == -1"),
        ("_Z1ks", 2, struct.pack("<h", -2), "arg0 == -2"),
        ("_Z1kb", 1, b"\x01", "arg0"),
        ("_Z1kf", 4, struct.pack("<f", 0.25), "arg0 == 0.25"),
        ("_Z1kd", 8, struct.pack("<d", 1e300), "arg0 == 1e300"),
        ("_Z1k6__half", 2, struct.pack("<e", 1.5), "arg0 == 1.5"),
        ("_Z1k13__nv_bfloat16", 2, struct.pack("<f", 1.5)[2:], "arg0 == 1.5"),
    ],
)
def test_values_are_read_as_they_are_declared(
    schema: str, tmp_path: Path, symbol: str, size: int, data: bytes, rule: str
) -> None:
    world = CudaWorld(schema)
    world.launch(world.kernel(symbol, [size]), [data])
    facts = facts_of(world, tmp_path)
    assert clean(held(tmp_path, facts, "k", rule))
    assert broken(held(tmp_path, facts, "k", f"not ({rule})"))


def test_pointers(schema: str, tmp_path: Path) -> None:
    world = CudaWorld(schema)
    memory, freed = world.alloc(4096), world.alloc(512)
    kernel = world.kernel("_Z1kPfS_S_", [8, 8, 8])
    world.free(freed)
    world.launch(kernel, [memory + 96, 0, freed])
    facts = facts_of(world, tmp_path)
    rules = (
        "bytes(arg0) == 4000",
        "size(arg0) == 4096",
        "offset(arg0) == 96",
        "not is_null(arg0)",
        "aligned(arg0, 32)",
    )
    assert clean(held(tmp_path, facts, "k", *rules, "not aligned(arg0, 64)", "arg0 != arg1"))
    assert clean(held(tmp_path, facts, "k", "is_null(arg1)", "bytes(arg1) == 0", "is_null(arg1) or bytes(arg1) > 0"))
    assert "does not point into live memory" in reason(held(tmp_path, facts, "k", "bytes(arg2) > 0"))
    assert "divides by zero" in reason(held(tmp_path, facts, "k", "aligned(arg0, 0)"))


def test_mapped_memory_has_no_known_end(schema: str, tmp_path: Path) -> None:
    """The next mapping may go on where this one ends."""
    world = CudaWorld(schema)
    memory = world.create("cuMemMap", result=0x7F55_0000_0000, size=4096)
    world.launch(world.kernel("_Z1kPf", [8]), [memory])
    facts = facts_of(world, tmp_path)
    assert "the end of the memory that arg0 points to is not known" in reason(held(tmp_path, facts, "k", "bytes(arg0) >= 4096"))
    assert clean(held(tmp_path, facts, "k", "not is_null(arg0)"))


def opencl(schema: str) -> tuple[World, int]:
    world = World(schema)
    kernel = world.kernel(
        "sum", [Arg("float*", "data", GLOBAL), Arg("float*", "room", LOCAL), Arg("uint", "n"), Arg("float4", "v")]
    )
    world.set_arg(kernel, 0, world.buffer(4096))
    world.set_arg(kernel, 1, 0, 256, local=True)
    world.set_arg(kernel, 2, 7, 4)
    return world, kernel


def test_buffers_that_are_named_by_handles(schema: str, tmp_path: Path) -> None:
    world, kernel = opencl(schema)
    world.launch(kernel, (100, 3), (32, 1))
    facts = facts_of(world, tmp_path)
    rules = (
        "bytes(data) == 4096",
        "size(data) == 4096",
        "offset(data) == 0",
        "bytes(room) == 256",
        "shared == 256",
        "n == 7",
    )
    assert clean(held(tmp_path, facts, "sum", *rules, "not is_null(data)", "queue == 1", "launch == 1"))
    shape = (
        "grid.x == 4",
        "block.x == 32",
        "threads.x == 100",
        "grid.y == 3",
        "threads.y == 3",
        "grid.z * block.z * threads.z == 1",
    )
    assert clean(held(tmp_path, facts, "sum", *shape))
    assert "named by a handle" in reason(held(tmp_path, facts, "sum", "aligned(data, 16)"))
    assert "v is a float4, which is not a plain number" in reason(held(tmp_path, facts, "sum", "v > 0"))


def test_groups_that_the_driver_chose(schema: str, tmp_path: Path) -> None:
    world, kernel = opencl(schema)
    world.launch(kernel, (100,))
    facts = facts_of(world, tmp_path)
    assert clean(held(tmp_path, facts, "sum", "threads.x >= n"))
    assert "the driver chose the size of its groups" in reason(held(tmp_path, facts, "sum", "grid.x * block.x >= n"))


def test_shapes_of_a_grid(schema: str, tmp_path: Path) -> None:
    world = CudaWorld(schema)
    other = world.create("cuStreamCreate", flags=0)
    kernel = world.kernel("_Z1kv", [])
    world.launch(kernel, [], (4, 2, 1), (32, 4, 2), shared=1024, queue=other)
    world.launch(kernel, [], (1, 1, 1), (1, 1, 1), queue=0)
    facts = facts_of(world, tmp_path)
    first = (
        "grid.x == 4",
        "block.y == 4",
        "threads.x == 128",
        "threads.y == 8",
        "threads.z == 2",
        "shared == 1024",
        "queue == 2",
    )
    assert clean(held(tmp_path, facts, "k", *first, more='where = "launch == 1"'))
    assert clean(held(tmp_path, facts, "k", "queue == 0 and threads.x == 1", more='where = "launch == 2"'))


# ---- all at once is one by one ----

RULES = (
    "bytes(x) >= rows * heads * 4", "rows % heads == 0", "base > rows / heads", "min(rows, heads) * max(rows, head_dim) > 2**40",
    "rows * rows * rows * heads * heads * head_dim >= 2**60 * 1024", "offset(x) // 4 == rows", "aligned(x, 8) and not is_null(x)",
    "rows << 3 > heads or launch > 2", "abs(rows - heads) < base",
)  # fmt: skip
NUMBERS = st.one_of(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-3, 3))


GIVEN = st.tuples(st.integers(0, 1000), NUMBERS, NUMBERS, NUMBERS, st.floats(width=32))


def test_all_launches_at_once_are_as_each_alone(schema: str, tmp_path: Path) -> None:
    """Against Python's own evaluation of the same text with the values that the launches were given."""

    @settings(max_examples=40, deadline=None)
    @given(st.lists(GIVEN, min_size=1, max_size=8))
    def compare(launches: list[tuple[Any, ...]]) -> None:
        world = CudaWorld(schema)
        memory, kernel = world.alloc(4096), world.kernel(ROPE, [8, 4, 4, 4, 4])
        for offset, rows, heads, dim, base in launches:
            world.launch(kernel, [memory + offset, rows, heads, dim, single(base)])
        places = {name: Argument(place) for place, name in enumerate(("x", "rows", "heads", "head_dim", "base"))}
        (table,) = launches_like(facts_of(world, tmp_path), "rope_f32", places)
        for rule in RULES:
            told = answer(parse(rule, LAUNCHES), table)
            for place, values in enumerate(launches):
                wanted = alone(rule, memory, place + 1, values)
                assert (bool(told.true[place]), bool(told.false[place])) == (wanted is True, wanted is False), (
                    rule,
                    values,
                )

    compare()


def alone(rule: str, memory: int, launch: int, values: tuple[Any, ...]) -> bool | None:
    """What Python says of one launch; None where it divides by zero."""
    offset, rows, heads, dim, base = values
    scope = {
        "rows": rows, "heads": heads, "head_dim": dim, "base": base, "launch": launch, "x": offset, "abs": abs, "min": min,
        "max": max, "bytes": lambda x: 4096 - x, "offset": lambda x: x, "is_null": lambda x: False,
        "aligned": lambda x, n: (memory + x) % n == 0,
    }  # fmt: skip
    try:
        return bool(eval(rule, {"__builtins__": {}}, scope))
    except ZeroDivisionError:
        return None


# ---- what becomes of it ----


def test_in_a_run_that_passed_it_stands(schema: str, tmp_path: Path) -> None:
    checked = held(tmp_path, facts_of(rope(schema, (8, 4, 15, 1.0))[0], tmp_path), "rope_*", "arg3 % 2 == 0")
    (told,) = diagnose(checked.findings, Outcome("passed", "The program ended."))
    assert (told.status, told.cause) == ("confirmed", "contract-violated")
    assert told.guilty is not None and told.guilty.launch == 1 and told.fix


def test_the_same_fault_has_the_same_fingerprint(schema: str, tmp_path: Path) -> None:
    prints = set()
    for run in range(2):
        world = CudaWorld(schema)
        for _ in range(run * 3):
            world.alloc(128)
        world.launch(world.kernel(ROPE, [8, 4, 4, 4, 4]), [world.alloc(64), run, 1, 3, single(1)])
        prints.add(
            broken(held(tmp_path, facts_of(world, tmp_path, f"{run}.gdx"), "rope_*", "arg3 % 2 == 0")).fingerprint
        )
    assert len(prints) == 1


def test_a_contract_hides_nothing_that_was_found_without_it(schema: str, tmp_path: Path) -> None:
    """The call in which the program died stays in the diagnosis, and so do warnings."""
    world, _ = rope(schema, (8, 4, 15, 1.0))
    checked = held(tmp_path, facts_of(world, tmp_path), "rope_*", "arg3 % 2 == 0")
    proof = (Evidence("It was seen."),)
    crash = Finding("crash-in-call", "error", "It crashed.", proof, causes=("crash-in-call",), scope="symptom",
                    symptom=Symptom("crash in call"))  # fmt: skip
    odd = Finding("undersized-buffer", "warning", "It is small.", proof, causes=("out-of-bounds-access",))
    outcome = Outcome("signal", "The program was killed by SIGSEGV.", signal="SIGSEGV")
    told = diagnose([crash, *checked.findings], outcome)
    assert [(one.cause, one.status) for one in told] == [
        ("contract-violated", "likely"),
        ("crash-in-call", "inconclusive"),
    ]
    told = diagnose([crash, odd, *checked.findings], outcome)
    assert {one.cause for one in told} == {"contract-violated", "out-of-bounds-access"}


def test_an_argument_that_is_called_like_a_word(schema: str, tmp_path: Path) -> None:
    """The word means the launch; the argument is reached by its place, and told with its own value."""
    world = World(schema)
    kernel = world.kernel("k", [Arg("int", "launch"), Arg("double", "shared")])
    world.set_arg(kernel, 0, 77, 4)
    world.set_arg(kernel, 1, struct.unpack("<Q", struct.pack("<d", 2.5))[0])
    world.launch(kernel, (1,), (1,))
    facts = facts_of(world, tmp_path)
    assert clean(held(tmp_path, facts, "k", "launch == 1", "shared == 0", "arg0 == 77", "arg1 == 2.5"))
    assert "passed launch = 77, shared = 2.5" in broken(held(tmp_path, facts, "k", "arg0 == 1")).evidence[0].text
