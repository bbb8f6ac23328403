"""Readers of model files: every version and byte order, and nothing but one sentence for what is damaged or hostile."""

from __future__ import annotations

import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gguf import content, llama, weights
from support.simulated import times

from gpudx.errors import UserError
from gpudx.evidence.models import is_model, read

WORDS = {"tokenizer__ggml__tokens": ["a", "b", "c"], "llama__attention__head_count_kv": [2, 2, 1]}
WHOLE = content(llama(**WORDS), weights())  # type: ignore[arg-type]
MOST_MEMORY = 32 << 20


def refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        read(path)
    text = str(error.value)
    assert "\n" not in text and text.endswith(".")
    return text


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_and_order(version: int, order: str, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(content(llama(**WORDS), weights(), version=version, order=order))  # type: ignore[arg-type]
    model = read(tmp_path / "m.gguf")
    assert model.architecture == "llama" and model.format.startswith(f"GGUF {version}")
    assert model.fields["feed_forward_length"] == (14336,) and model.fields["attention.key_length"] == (16,)
    assert model.fields["vocab_size"] == (3,) and model.fields["attention.head_count_kv"] == (2, 2, 1)
    assert model.rope_base == 10000 and model.quantisation == "F32"
    assert model.tensors[0].shape == (64, 14336) and model.tensors[0].bytes == 64 * 14336 * 4


def test_quantised_tensors(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(content(llama(), [*weights(kind="Q4_0"), ("odd", (33,), "Q8_0")]))
    model = read(tmp_path / "m.gguf")
    assert [t.bytes for t in model.tensors] == [64 * 14336 // 32 * 18] * 2 + [None]
    assert "mostly Q4_0" in model.summary()


def test_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    for size in range(0, len(WHOLE), 7):
        path.write_bytes(WHOLE[:size])
        assert "cannot be read as a GGUF model" in refused(path)


HOSTILE = {
    "keys": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
    "tensors": b"GGUF" + struct.pack("<IQQ", 3, 1 << 40, 0),
    "long name": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62),
    "long array": b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 4, 1 << 60),
    "many words": b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 8, 1 << 60),
    "deep": b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 9) + struct.pack("<IQ", 9, 1) * 100,
    "no type": b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 99) + bytes(100),
    "dimensions": b"GGUF" + struct.pack("<IQQQ1sI", 3, 1, 0, 1, b"t", 1 << 30) + bytes(100),
    "version": b"GGUF" + struct.pack("<I", 4) + bytes(100),
    "another format": b"PK\3\4" + bytes(100),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(HOSTILE[name])
    tracemalloc.start()
    refused(tmp_path / "m.gguf")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_MEMORY


@settings(deadline=None, max_examples=times(400))
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=9)), min_size=1, max_size=6))
def test_damaged_files_are_read_or_refused(tmp_path_factory: Any, damage: list[tuple[int, bytes]]) -> None:
    data = bytearray(WHOLE)
    for at, put in damage:
        data[at : at + len(put)] = put
    check_any(tmp_path_factory, "m.gguf", bytes(data))


@settings(deadline=None, max_examples=times(200))
@given(st.binary(max_size=300))
def test_any_bytes_behind_the_magic(tmp_path_factory: Any, data: bytes) -> None:
    for order in "<>":
        check_any(tmp_path_factory, "m.gguf", b"GGUF" + struct.pack(f"{order}I", 3) + data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
)
NAMES = st.sampled_from(
    ["hidden_size", "intermediate_size", "vocab_size", "rope_theta", "text_config", "model_type", "w"]
)


@settings(deadline=None, max_examples=times(200))
@given(st.dictionaries(NAMES, JSON, max_size=5), st.binary(max_size=40))
def test_any_json(tmp_path_factory: Any, found: dict[str, Any], tail: bytes) -> None:
    data = json.dumps(found).encode()
    check_any(tmp_path_factory, "config.json", data + tail)
    check_any(tmp_path_factory, "m.safetensors", struct.pack("<Q", len(data)) + data + tail)
    check_any(tmp_path_factory, "n.safetensors", data + tail)


def check_any(tmp_path_factory: Any, name: str, data: bytes) -> None:
    """Read, or refused in a sentence; never anything else."""
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    try:
        assert read(path).summary()
    except UserError as error:
        assert str(error).count("\n") == 0


def test_safetensors_and_its_config(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 14336, "num_attention_heads": 4}
    (tmp_path / "config.json").write_text(json.dumps({**config, "rope_theta": 5e5, "vocab_size": 99}))
    head = json.dumps(
        {"up": {"dtype": "BF16", "shape": [14336, 64], "data_offsets": [0, 1]}, "__metadata__": {}}
    ).encode()
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(head)) + head)
    model = read(tmp_path / "m.safetensors")
    assert model.fields["feed_forward_length"] == (14336,) and model.fields["attention.key_length"] == (16,)
    assert model.rope_base == 5e5 and model.tensors[0].bytes == 14336 * 64 * 2
    assert read(tmp_path / "config.json").fields == model.fields
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", 1 << 40) + head)
    assert "cannot be read as a model" in refused(tmp_path / "m.safetensors")
    (tmp_path / "config.json").write_text("[" * 100_000)
    assert "cannot be read as a model" in refused(tmp_path / "config.json")


def test_names() -> None:
    assert is_model("/a/b.gguf") and is_model("x.safetensors") and is_model("/m/config.json")
    assert not is_model("/etc/my-config.json") and not is_model("gguf")


def test_what_is_not_there_and_what_is_no_file(tmp_path: Path) -> None:
    assert "There is no model at" in refused(tmp_path / "m.gguf")
    (tmp_path / "d.gguf").mkdir()
    assert "There is no model at" in refused(tmp_path / "d.gguf")
