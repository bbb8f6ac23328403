"""Why an access left its buffer, by the numbers of the index: on real drivers, and for indexes without one."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

from gpudx.diagnose import index_reasons
from gpudx.kernel_checks import values
from gpudx.kernel_checks.options import Device
from gpudx.kernel_checks.rewriting import rewrite
from gpudx.kernel_checks.values import World

__all__ = ["platform"]

# kernel: cause, part of the sentence, part of the first step
REASONS = {
    "tail": ("out-of-bounds-access", "1,024 work-items, and `o` has 1,000 elements (n is 1,000)", "`i` is not less than `n`"),
    "rows": ("out-of-bounds-access", "48 work-items in dimension 1, and `o` has 37 rows of 45 elements (h", "`y` is not less than `h`"),
    "before": ("out-of-bounds-access", "-1: the index is negative", "clamp it to 0"),
    "echoed": ("out-of-bounds-access", "the remainder of a negative number is negative", "Add the modulus: `(i - late[0] + cap) % cap`"),
    "leftmost": ("out-of-bounds-access", "the index is negative", "Handle the work-items where"),  # the modulus would not help
    "below": ("out-of-bounds-access", "`i - 1` is 0 - 1 = -1, which becomes 4,294,967,295", "negative"),
    "hashed": ("index-overflow", "53,100 * 40,503 = 2,150,709,300, which is more than 2,147,483,647", "64 bits"),
    "taken": ("out-of-bounds-access", "is 500, and `t` has 500 rows of 16 elements", "`ids`"),
    "sums": ("undersized-buffer", "`o` needs 32 (work-groups) x 8 = 256 bytes; 128 are allocated, 4 for each", "Allocate 256 bytes"),
    "heavy": ("undersized-buffer", "`r` needs 1,000 (n) x 16 = 16,000 bytes; 12,000 are allocated, 12 for each", "has 16"),
    "turned": ("argument-order", "Arguments 1 and 2 look swapped: with w = 96 and h = 40", "Swap arguments 1 (w) and 2 (h)"),
    "crossed": (
        "out-of-bounds-access",
        "one for each of 96 x 40 work-items, if `x` is multiplied by 40 (h); the index multiplies it by 96 (w)",
        "Multiply `x` by `h` instead of `w`.",
    ),
    "inclusive": ("out-of-bounds-access", "`k <= n`, which includes 25, and `c` has 25 elements (n is 25)", "`k < n`"),
    "pitched": ("out-of-bounds-access", "stride is 448, and `o` has 60 rows (h) of 112 elements", "in elements (112)"),
    "next": ("out-of-bounds-access", "`i + 1` is 999 + 1 = 1,000, and `p` has 1,000 elements, as many as n", "n + 1 (4,004 bytes)"),
    "staged": ("undersized-buffer", "64 work-items per group, and `t` has 32 elements", "local size of 256 bytes"),
    "narrow": ("index-overflow", "becomes", "Keep the index in an int"),
    "binned": ("index-overflow", "`ticks * bins` in bin_of() (reasons.py:50) is 2,100,000 * 1,024 = 2,150,400,000, which", "64 bits"),
    "placed": ("out-of-bounds-access", "48 work-items in dimension 1, and `o` has 37 rows of 45 elements (h", "`row` is not less than `h`"),
    "passed": ("out-of-bounds-access", "of argument 1 `b`", ""),
    "spread": ("out-of-bounds-access", "right past the end of argument 1 `o`", ""),
    "grouped": ("undersized-buffer", "and `o` has 2 rows of 4 elements: n / 64 = 190 / 64, rounded down", "Allocate 48 bytes"),
    "shifted": ("out-of-bounds-access", "get_global_id(0) starts at 500, the global offset of the launch", "Pass 0 for `first`"),
    "lit": ("struct-layout", "`l` has 20 bytes for each of 30 elements (lights), and `Light` has 32 bytes", "`radius` is at byte 16"),
    "smoothed": (
        "argument-order",
        "Arguments 0 and 1 look swapped: `p` got 68 bytes and needs 4,064, `w` got 4,064 bytes and needs 68",
        "Swap arguments 0 (`p`) and 1 (`w`)",
    ),
    "blown": (
        "argument-order",
        "Arguments 0 and 1 look swapped: `wind` got 3,840 bytes and needs 15,360, `pinned` got 15,360 bytes and needs 3,840",
        "Swap arguments 1 (`wind`) and 0 (`pinned`)",
    ),
    "unpadded": ("out-of-bounds-access", "and `p` has 1,000 elements", "Clamp"),
    "pooled": ("undersized-buffer", "`i` goes up to 999 (n is 1,000), and `p` has 500 elements", "Allocate 4,064 bytes"),
    "grown": ("undersized-buffer", "`i` goes up to 399 (n is 400), and `p` has 300 elements", "Allocate 1,600 bytes for `p`"),
    "shuffled": ("index-overflow", "`i * d.factor` in dealt() (reasons.py:137) is 44,489 * 48,271 = 2,147,528,519", "in 64 bits"),
    "decked": ("undersized-buffer", "d.n is 500, and `o` has 400 elements", "Allocate 2,000 bytes"),
    "reversed": ("undersized-buffer", "goes up to element 127 in a group of 64 work-items", "512 bytes for `t` (128 x 4)"),
    "pushed": ("undersized-buffer", "then reads this buffer as `front`: count is 400, and `front` has 300", "Allocate 1,600 bytes"),
    "stale": ("out-of-bounds-access", "n is 400, and `o` has 300 elements", "Pass 300 for argument 2 `n`"),
    "sparse": ("undersized-buffer", "as many as rows", "fill rows + 1 elements (260 bytes)"),
    "atmost": ("out-of-bounds-access", "the largest allowed index is 999", "Compare with `i >= n` instead of `i > n`"),
    "halved": ("out-of-bounds-access", "`k < lights`, which is up to 29, and `l` has 15 elements", "960 bytes"),
    "curved": ("argument-type", "`i < n` does not stop it: argument 2 `n` is 1,072,064,102 (the bits of the float 1.8)", "whole number"),
    "leading": ("out-of-bounds-access", "6,500 elements, rows x columns = 130 x 50, and", "Pass 50 (columns) for argument 4 `ld`"),
    "kept": ("out-of-bounds-access", "by row = 128, and kernel scored (launch", "32 fits the buffer, 128 for argument 1 `row` does not"),
    "planes": ("out-of-bounds-access", "1,024 work-items, and plane is 1,000: a bounds check is missing", "`i` is not less than `plane`"),
    "banked": ("undersized-buffer", "goes up to element 66 in a group of 64 work-items", "local size of 268 bytes for `t` (67 x 4)"),
    "paired": ("out-of-bounds-access", "has 128 work-items, and `o` has room for 64, half as many: ids from 64", "Launch 64 work-items"),
    "cut": ("undersized-buffer", "w x h = 320 x 240 = 76,800, of which 16 bits hold 11,264", "in size_t: 76,800 bytes"),
    "gathered": ("argument-order", "and was `ptr` of kernel counted", "Swap arguments 0 (`ptr`) and 1 (`idx`)"),
    "chunk": ("out-of-bounds-access", "begins at id 768 and has 256 work-items, up to id 1,023; `o` has 1,000 elements", "Launch 232"),
}  # fmt: skip


@pytest.fixture(scope="module")
def wrong(platform: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """What is found in all the kernels that leave their buffers."""
    case = tmp_path_factory.mktemp("reasons") / "case"
    sanitized(case, str(HERE / "programs/reasons.py"), "wrong", env=platform)
    return [one for one in findings(case) if one["id"] == "kernel-check-bounds"]


@pytest.mark.timeout(600)
def test_each_reason_is_named(wrong: list[dict[str, object]]) -> None:
    for kernel, (cause, sentence, step) in REASONS.items():
        mine = [one for one in wrong if one["site"]["kernel"] == kernel]  # type: ignore[index]
        assert mine, kernel
        assert mine[0]["causes"][0] == cause, mine[0]  # type: ignore[index]
        assert sentence in str(mine[0]["message"]), mine[0]["message"]
        assert step in " ".join(mine[0].get("steps") or ()), mine[0]  # type: ignore[arg-type, call-overload]


def facts_of(found: list[dict[str, object]], kernel: str) -> str:
    one = next(one for one in found if one["site"]["kernel"] == kernel)  # type: ignore[index]
    return " ".join(line["text"] for line in one["evidence"])  # type: ignore[attr-defined]


@pytest.mark.timeout(600)
def test_an_index_in_a_helper_function_is_followed_to_the_arguments_of_the_kernel(
    wrong: list[dict[str, object]],
) -> None:
    at = re.search(r"`at = row \* pitch \+ column` is (\d+) \* 45 \+ (\d+) = ([\d,]+)", facts_of(wrong, "placed"))
    assert at is not None and int(at[1]) * 45 + int(at[2]) == int(at[3].replace(",", ""))
    assert "`pitch` is argument 2 `w` = 45" in facts_of(wrong, "placed")
    assert "`first + at` is 100 + 64 = 164, where `at = i * many` is 32 * 2 = 64" in facts_of(wrong, "passed")
    assert "`o` has room for 400 elements" in facts_of(wrong, "grown")
    assert "argument 4 `ld` is 130" in facts_of(wrong, "leading")
    assert "uses `cache[t * row + i]` on the same buffer with row = 32, which fits" in facts_of(wrong, "kept")
    assert "passed n = 200 with the same buffer" in facts_of(wrong, "grown")
    assert "`radius` is at byte 12 then, and at byte 16 in the kernel" in facts_of(wrong, "lit")



# ---- trees of indexes, without a device ----


def index(body: str, parameters: str = "int w, int h", helper: str = "") -> tuple[list[object], str]:
    """The tree of the only access to `a`, and its hint."""
    source = f"{helper}\n__kernel void k(__global float *a, __global const int *ids, {parameters}) {{\n{body}\n}}\n"
    sites = [one for one in rewrite(source, "", Device()).rewritten.sites if one.kind == "access" and one.argument == 0]
    return json.loads(sites[0].index), sites[0].hint


IDS = {("get_global_id", 0): 3, ("get_global_id", 1): 7, ("get_global_size", 0): 64}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a[get_global_id(1) * w + get_global_id(0)] = 0;", 73),
        ("int x = get_global_id(0); int y = x + 1; a[max(y - 9, 0) + h] = 0;", 20),
        ("size_t i = get_global_id(0); a[i - 4] = 0;", (1 << 64) - 1),
        ("int i = get_global_id(0); a[i - 4] = 0;", -1),
        ("uint i = get_global_id(0); a[i - 4] = 0;", (1 << 32) - 1),
        ("__global float *row = a + w * 2; row[get_global_id(0)] = 0;", 23),
        ("a[(int)get_global_id(0) % -2] = 0;", 1),
        ("a[-(int)get_global_id(0) / 2] = 0;", -1),
        ("a[get_global_id(0) > 2 ? w : h] = 0;", 10),
        ("char c = w * 20; a[c] = 0;", -56),
    ],
)
def test_an_index_is_computed_as_the_kernel_does(body: str, expected: int) -> None:
    tree, _ = index(body)
    world = World(IDS, {2: 10, 3: 20})
    assert values.value(tree, world) == expected
    assert values.solved(tree, values.fit(expected, "i64"), world) is world  # addresses wrap


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("vstore4((float4)(0), get_global_id(0) + 1, a + 2);", 18),
        ("float3 v = vload3(get_global_id(0), a);", 9),
        ("vstore_half(1.0f, w, (__global half *)a);", None),
        ("View v = { w, a + 4 }; v.p[get_global_id(0)] = 0;", 7),
        ("View v; v.p = a; v.p += 1; v.p[2] = 0;", None),
        ("put((View){ w, a + 4 }, h);", None),
        ("View v = { w, a + 4 }; put(v, h);", 24),
    ],
)
def test_vectors_and_pointers_in_structs_have_an_index(body: str, expected: int | None) -> None:
    helper = "typedef struct { int n; __global float *p; } View;\nvoid put(View v, int i) { v.p[i] = 0; }"
    source = f"{helper}\n__kernel void k(__global float *a, __global const int *ids, int w, int h) {{\n{body}\n}}\n"
    sites = [one for one in rewrite(source, "", Device()).rewritten.sites if one.kind == "access"]
    found = [one.index or next((way.index for way in one.ways), "") for one in sites]
    index = next(filter(None, found), None)
    assert (values.value(json.loads(index), World(IDS, {2: 10, 3: 20})) if index else None) == expected


@pytest.mark.parametrize(("access", "expected"), [("t[get_global_id(0)][w]", 3 * 16 + 10), ("c[1][get_global_id(0)][2]", 16 + 14)])
def test_subscripts_of_several_dimensions_are_one_index(access: str, expected: int) -> None:
    source = f"__kernel void k(__global float *o, int w) {{ __local float t[8][16]; float c[2][4][4]; o[0] = {access}; }}\n"
    sites = [one for one in rewrite(source, "", Device()).rewritten.sites if one.kind == "access" and one.text == access]
    assert values.value(json.loads(sites[0].index), World(IDS, {1: 10})) == expected


def test_what_the_source_leaves_open_is_found_from_the_index() -> None:
    tree, hint = index("for (int k = 0; k < h; ++k) a[get_global_id(1) * w + k] = 0;")
    world = values.solved(tree, 75, World(IDS, {2: 10, 3: 20}))
    assert world is not None and world.open == {"k": 5} and not hint
    assert values.solved(tree, 95, World(IDS, {2: 10, 3: 20})) is None, "k is never 25"


def test_an_element_of_another_buffer_is_found_from_the_index() -> None:
    tree, hint = index("a[ids[get_global_id(0)] * w + 2] = 0;")
    world = values.solved(tree, 72, World(IDS, {2: 10, 3: 20}))
    assert world is not None and list(world.open.values()) == [7] and not hint


def test_two_counters_that_fit_in_more_than_one_way_are_not_guessed() -> None:
    tree, _ = index("for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) a[i + j] = 0;")
    assert values.solved(tree, 3, World(IDS, {2: 10, 3: 20})) is None


def test_a_number_that_does_not_follow_from_the_index_is_reported_by_the_kernel() -> None:
    tree, hint = index("a[ids[get_global_id(0)] % w] = 0;")
    assert hint == "ids[get_global_id(0)]"
    assert values.solved(tree, 5, World(IDS, {2: 10, 3: 20}, {hint: 35})) is not None
    assert values.solved(tree, 5, World(IDS, {2: 10, 3: 20}, {hint: 36})) is None


def test_a_variable_that_changes_is_open() -> None:
    tree, hint = index("int at = 5; while (at < w) { a[at] = 0; at *= 2; }")
    assert tree[0] == "open" and not hint


def test_a_helper_function_that_is_called_in_two_ways_is_not_guessed() -> None:
    source = """
float at(__global const float *p, int i) { return p[i]; }
__kernel void k(__global const float *a, __global float *o, int n) { o[0] = at(a, n) + at(a + 1, n * 2); }
"""
    (site,) = [one for one in rewrite(source, "", Device()).rewritten.sites if one.ways]
    assert [one.kernel for one in site.ways] == ["k", "k"] and not site.index
    sums = sorted(values.value(json.loads(one.index), World({}, {2: 10})) for one in site.ways)
    assert sums == [10, 21]


def test_variables_of_the_same_name_in_a_helper_function_are_kept_apart() -> None:
    tree, _ = index(
        "int i = get_global_id(0); a[twice(i + 1, w) + i] = 0;",
        helper="int twice(int x, int w) { int i = x * 2; return i + w; }",
    )
    assert values.value(tree, World(IDS, {2: 10, 3: 20})) == (3 + 1) * 2 + 10 + 3


@pytest.mark.parametrize(("ticks", "expected"), [(-5, 0), (7, 3), (100, 9)])
def test_a_helper_function_with_several_returns_is_followed(ticks: int, expected: int) -> None:
    helper = "int part(int t) { if (t < 0) return 0; else if (t > 50) { int most = 9; return most; } return t / 2; }"
    tree, hint = index("a[part(ids[0])] = 0;", helper=helper)
    assert values.value(tree, World(IDS, {2: 10, 3: 20}, {hint: ticks})) == expected


def test_a_helper_function_with_a_loop_is_left_open() -> None:
    helper = "int root(int t) { for (int i = 0; ; ++i) if (i * i >= t) return i; return 0; }"
    tree, _ = index("a[root(w)] = 0;", helper=helper)
    assert tree[0] == "open"


def test_a_helper_function_that_calls_itself_is_left_alone() -> None:
    source = "int f(__global int *p, int n) { return n ? f(p, n - 1) : p[n]; }\n__kernel void k(__global int *p) { p[0] = f(p, 3); }"
    assert not any(one.ways for one in rewrite(source, "", Device()).rewritten.sites)


def test_unsigned_wrapping_below_a_remainder_is_a_hash() -> None:
    tree, hint = index("a[((uint)ids[0] * 2654435761u) % 11] = 0;")
    world = values.solved(tree, 2027808452 % 11, World(IDS, {2: 10, 3: 20}, {hint: 4}))
    assert world is not None and values.wraps(tree, world) is None


@pytest.mark.parametrize(
    ("offset", "held", "named"),
    [
        (-1_950_351_360, 2_348_810_240, True),
        (-1_950_351_360, 2_000_000_000, False),  # not inside with 2^32 more either
        (-8, 2_348_810_240, False),  # simply negative
        (-1_950_351_360 - (1 << 32), 2_348_810_240, False),  # no number of 32 bits
    ],
)
def test_an_argument_that_the_host_computed_in_32_bits(offset: int, held: int, named: bool) -> None:
    numbers = SimpleNamespace(
        tree=["argument", 1, "offset"],
        solved=SimpleNamespace(arguments={1: offset}),
        index=offset,
        held=held,
        name="`volume`",
        setter=lambda _: None,
    )
    found = index_reasons._wrapped_on_host(numbers)  # type: ignore[arg-type]
    assert (found is not None and found.cause == "index-overflow" and f"{offset + (1 << 32):,}" in found.text) is named
