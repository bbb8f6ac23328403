"""Damaged and hostile traces: refused with a sentence or read with gaps, in little time and little memory."""

from __future__ import annotations

import copy
import json
import os
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exercise import exercise
from support.simulated import times
from support.synthetic import World

from gpudx.trace.reader import HEAD

SLOWEST_S = 20.0
MOST_MEMORY = 200 << 20


@pytest.fixture(params=["crashed", "threaded"])
def original(request: pytest.FixtureRequest) -> bytes:
    path: Path = request.getfixturevalue(request.param)
    return path.read_bytes()


def read_damaged(data: bytes | bytearray, tmp_path: Path) -> bool:
    """Is the file read (and not refused)? Fails on any other end."""
    path = tmp_path / "damaged.gdx"
    path.write_bytes(data)
    begin = time.process_time()
    trace = exercise(path)
    assert time.process_time() - begin < SLOWEST_S
    return trace is not None


def head_of(data: bytes) -> np.ndarray:
    return np.frombuffer(data[: HEAD.itemsize], HEAD).copy()


def with_head(data: bytes, **fields: int) -> bytes:
    head = head_of(data)
    for name, value in fields.items():
        head[name] = value
    return head.tobytes() + data[HEAD.itemsize :]


def schema_of(data: bytes) -> dict[str, Any]:
    head = head_of(data)[0]
    begin = int(head["schema_offset"])
    loaded: dict[str, Any] = json.loads(data[begin : begin + int(head["schema_bytes"])])
    return loaded


def with_schema(data: bytes, schema: object) -> bytes:
    """The trace with another description, which is put at its end."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    return with_head(data, schema_offset=len(data), schema_bytes=len(text)) + text


def test_cut_at_every_page(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.gdx"
    path.write_bytes(small.read_bytes())
    first_unit = int(head_of(small.read_bytes())[0]["first_unit"])
    for size in range(path.stat().st_size // 4096 * 4096, -1, -4096):
        os.truncate(path, size)
        trace = exercise(path, all_calls=size % 65536 == 0)
        assert (trace is not None) == (size >= first_unit)
        assert (
            trace is None
            or (size - first_unit) % trace.schema.unit_bytes == 0
            or "cut-file" in {g.kind for g in trace.gaps}
        )


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes(original: bytes, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    first_unit = int(head_of(original)[0]["first_unit"])
    ends = [HEAD.itemsize, 4096, first_unit, len(original)]
    for round_ in range(times(240)):
        data = bytearray(original)
        for _ in range(rng.choice([1, 3, 50])):
            data[rng.randrange(ends[round_ % 4])] = rng.randrange(256)
        read_damaged(data, tmp_path)


@pytest.mark.parametrize("seed", range(2))
def test_blocks_of_nonsense(original: bytes, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(times(240)):
        data = bytearray(original)
        for _ in range(rng.choice([1, 5])):
            size = rng.choice([8, 128, 4096, 65536])
            begin = rng.randrange(0, len(data) - size)
            filler = rng.choice([bytes(size), b"\xff" * size, rng.randbytes(size), bytes(data[:size])])
            data[begin : begin + size] = filler
        read_damaged(data, tmp_path)


@pytest.mark.parametrize("seed", range(2))
def test_slots_of_nonsense(original: bytes, tmp_path: Path, seed: int) -> None:
    """The sequence numbers stay right, so every record is believed; all the rest is noise."""
    rng = np.random.default_rng(seed)
    first_unit = int(head_of(original)[0]["first_unit"])
    for _ in range(times(60)):
        data = np.frombuffer(original, np.uint8).copy()
        rows = data[first_unit : first_unit + (len(data) - first_unit) // 128 * 128].reshape(-1, 128)
        noise = rng.integers(0, 256, rows.shape, np.uint8)
        chosen = rng.random(rows.shape) < rng.choice([0.001, 0.02, 0.3])
        chosen[:, :8] = False
        chosen[:: 262144 // 128] = False
        rows[chosen] = noise[chosen]
        assert read_damaged(data.tobytes(), tmp_path)


EXTREMES = [0, 1, 7, 63, 4096, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, (1 << 64) - 1]


@pytest.mark.parametrize("field", ["header_bytes", "schema_offset", "schema_bytes", "unit_bytes", "first_unit"])
def test_hostile_sizes_in_the_header(original: bytes, tmp_path: Path, field: str) -> None:
    for value in EXTREMES:
        fits = value if field != "header_bytes" else value & 0xFFFFFFFF
        read_damaged(with_head(original, **{field: fits}), tmp_path)


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in the schema, except that of the calls only the first few are visited."""
    yield path
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _paths(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node[:8]):
            yield from _paths(value, (*path, index))


HOSTILE_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    3,
    1 << 16,
    1 << 31,
    1 << 63,
    1 << 70,
    1e300,
    float("nan"),
    "",
    "u64",
    "x" * 100,
    [],
    [[]],
    {},
    [1, 2, 3, 4],
    {"size": 8, "fields": []},
    [["a", "u64", 1 << 40, 0]],
    [["a", "char", -5, 0]],
]


def _replace(schema: Any, path: tuple[Any, ...], value: Any, delete: bool) -> Any:
    changed = copy.deepcopy(schema)
    if not path:
        return value
    node = changed
    for key in path[:-1]:
        node = node[key]
    if delete:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return changed


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_description(crashed: Path, tmp_path: Path, seed: int) -> None:
    data = crashed.read_bytes()
    schema = schema_of(data)
    schema["calls"] = schema["calls"][:40]
    rng = random.Random(seed)
    places = list(_paths(schema))
    for _ in range(times(600)):
        changed = _replace(schema, rng.choice(places), rng.choice(HOSTILE_VALUES), rng.random() < 0.2)
        read_damaged(with_schema(data, changed), tmp_path)


LAYOUT_FIELDS = [(name, field) for name in ("header", "chunk", "slot", "argument") for field in range(40)]


@pytest.mark.parametrize("name", ["header", "chunk", "slot", "part", "argument"])
def test_every_field_of_a_layout_missing_or_moved(crashed: Path, tmp_path: Path, name: str) -> None:
    data = crashed.read_bytes()
    schema = schema_of(data)
    schema["calls"] = schema["calls"][:40]  # the rest takes time and is the same
    for index, (_, kind, count, offset) in enumerate(schema["layout"][name]["fields"]):
        for row in ([], ["other", kind, count, offset], [None, kind, count, offset]):
            changed = copy.deepcopy(schema)
            fields = changed["layout"][name]["fields"]
            if row:
                fields[index] = [row[0] or fields[index][0], *row[1:]]
            else:
                del fields[index]
            read_damaged(with_schema(data, changed), tmp_path)
        for moved in (offset + 1, -8, 1 << 20):
            changed = copy.deepcopy(schema)
            changed["layout"][name]["fields"][index][3] = moved
            read_damaged(with_schema(data, changed), tmp_path)
        for other in ("u16", "u32", "u64", "i32", "char"):
            changed = copy.deepcopy(schema)
            changed["layout"][name]["fields"][index][1] = other
            read_damaged(with_schema(data, changed), tmp_path)
    for size in (1, 8, 16, 64, 96, 256, 4096, 65536, 65537, 1 << 40, -128):
        changed = copy.deepcopy(schema)
        changed["layout"][name]["size"] = size
        read_damaged(with_schema(data, changed), tmp_path)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"layout": {}}', b"[" * 100_000, b"1" * 10_000]
)
def test_a_description_that_is_none(crashed: Path, tmp_path: Path, text: bytes) -> None:
    assert not read_damaged(with_schema(crashed.read_bytes(), text), tmp_path)


@pytest.mark.parametrize("kind", ["units", "lanes", "blobs", "notes"])
def test_memory_stays_small(original: bytes, tmp_path: Path, kind: str) -> None:
    """Numbers in the file cannot make the reader take more memory than the file's own size warrants."""
    head = head_of(original)[0]
    data = np.frombuffer(original, np.uint8).copy()
    chunks = data[int(head["first_unit"]) :: 1]
    words = chunks[: len(chunks) // 8 * 8].view("<u8")
    per_unit = 262144 // 8
    if kind == "units":
        words[1::per_unit] = 0xFFFFFFFF00000001
    if kind == "lanes":
        words[2::per_unit] = 1 << 63
    slots = chunks[: len(chunks) // 128 * 128].reshape(-1, 128)
    real = np.arange(len(slots)) % (262144 // 128) != 0
    if kind == "blobs":
        slots[real, 112:120] = 0xFF
    if kind == "notes":
        slots[real, 112:116] = np.frombuffer((int(head["first_unit"]) // 8).to_bytes(4, "little"), np.uint8)
        slots[real, 116:120] = np.frombuffer((len(original) - int(head["first_unit"])).to_bytes(4, "little"), np.uint8)
    tracemalloc.start()
    read_damaged(data.tobytes(), tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY


@pytest.mark.parametrize("base", range(1560, 1576))
def test_what_a_call_was_passed_is_never_taken_for_a_call(schema: str, tmp_path: Path, base: int) -> None:
    """Numbers in the content of a record can be what a sequence number would be at their place: with one of these bases they are."""
    process = World(schema)
    known = len(process.write(tmp_path / "before.gdx"))
    content = b""
    for row in range(16 * 30):  # the size of a slot, shifted by a word after each 30 of them
        words = [base + row, 0, 0, 0, 5 << 32, *[0] * 11]
        content += np.roll(np.array(words, "<u8"), row // 30).tobytes()
    process.call("clBuildProgram", arrays={"options": content}, program=process.program)
    trace = process.write(tmp_path / "numbers.gdx")
    assert len(trace) == known + 1 and not trace.gaps
