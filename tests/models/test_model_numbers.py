"""A default where the file says otherwise: told only where nothing else explains it. Loud and silent, on runs written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gguf import Value, llama, weights, write
from support.synthetic import GLOBAL, Arg, World
from support.typed import label

from gpudx.diagnose import model_numbers
from gpudx.evidence.models import ModelFile, read
from gpudx.facts import derive
from gpudx.model import Finding

ROWS, E, T, W = 4, 64, 14336, 11008
SIGNATURE = [Arg("float*", "hidden", GLOBAL), Arg("float*", "up", GLOBAL)] + [
    Arg("int", n) for n in ("rows", "n_ff", "n_embd")
]


@pytest.fixture
def model(tmp_path: Path) -> ModelFile:
    return read(write(tmp_path / "m.gguf", llama(E, T), weights(E, T)))


def launched(
    schema: str, folder: Path, model: ModelFile, *, hidden: int, up: int = E * T * 4, rows: int = ROWS, n_ff: int = T
) -> list[Finding]:
    """One launch of a feed-forward kernel, with these bytes and numbers."""
    world = World(schema)
    kernel = world.kernel("ffn_up", SIGNATURE)
    for index, value in enumerate((world.buffer(hidden), world.buffer(up))):
        world.set_arg(kernel, index, value)
    for index, value in enumerate((rows, n_ff, E), start=2):
        world.set_arg(kernel, index, value, 4)
    world.launch(kernel, (n_ff, rows))
    return list(model_numbers.find([model], [derive(world.write(folder / "1.gdx"))]))


def test_a_buffer_for_the_default(schema: str, tmp_path: Path, model: ModelFile) -> None:
    (found,) = launched(schema, tmp_path, model, hidden=ROWS * W * 4)
    assert found.severity == "error" and label(found) == "buffer #1"
    assert found.message == (
        "Kernel ffn_up was passed buffer #1 as argument 0 (hidden), whose 176,128 bytes are sized for "
        "llama.feed_forward_length = 11,008, but m.gguf says 14,336, which needs 229,376 bytes."
    )
    assert "176,128 bytes = 11,008 x 4 values of 4 bytes" in found.evidence[0].text


def test_one_row(schema: str, tmp_path: Path, model: ModelFile) -> None:
    assert launched(schema, tmp_path, model, hidden=W * 4, rows=1)


def test_a_larger_default_is_no_error(schema: str, tmp_path: Path) -> None:
    small = read(write(tmp_path / "m.gguf", llama(E, 5000), weights(E, 5000)))
    (found,) = launched(schema, tmp_path, small, hidden=ROWS * W * 4, up=E * 5000 * 4, n_ff=5000)
    assert found.severity == "warning" and "which needs only 80,000 bytes" in found.message


def test_a_number_beside_memory_for_another(schema: str, tmp_path: Path, model: ModelFile) -> None:
    """The weights came from the file, so they fit it; the launch was told the default."""
    (found,) = launched(schema, tmp_path, model, hidden=ROWS * W * 4, n_ff=W)
    assert found.severity == "warning" and found.site is not None and found.site.argument_name == "n_ff"
    assert found.message == (
        "Kernel ffn_up was passed 11,008 as argument 3 (n_ff), but m.gguf has llama.feed_forward_length = 14,336."
    )
    assert "blk.0.ffn_up.weight is 64x14336 of F32" in found.evidence[1].text


def test_weights_for_the_default(schema: str, tmp_path: Path, model: ModelFile) -> None:
    """Nothing in the run has the file's number: the memory would just be the file's tensor if it had it."""
    (found,) = launched(schema, tmp_path, model, hidden=ROWS * W * 4, up=E * W * 4, n_ff=W)
    assert label(found) == "buffer #2" and "needs 3,670,016 bytes" in found.message


# ---- silent ----


@pytest.mark.parametrize("n_ff", [T, W, 12345, 6144])
def test_a_correct_program_on_any_dimensions(n_ff: int, schema: str, tmp_path: Path) -> None:
    own = read(write(tmp_path / "m.gguf", llama(E, n_ff), weights(E, n_ff)))
    assert not launched(schema, tmp_path, own, hidden=ROWS * n_ff * 4, up=E * n_ff * 4, n_ff=n_ff)


@pytest.mark.parametrize("hidden", [4096, ROWS * E * 4, 1 << 20, ROWS * 11009 * 4, ROWS * W * 4 + 4, 2 * ROWS * T * 4])
def test_other_sizes(hidden: int, schema: str, tmp_path: Path, model: ModelFile) -> None:
    assert not launched(schema, tmp_path, model, hidden=hidden)


def test_the_file_has_the_default_too(schema: str, tmp_path: Path) -> None:
    """A model with experts of another length: 11008 is one of its own numbers."""
    more: dict[str, Value] = {"llama__expert_feed_forward_length": W}
    own = read(write(tmp_path / "m.gguf", llama(E, T, **more), weights(E, T)))
    assert not launched(schema, tmp_path, own, hidden=ROWS * W * 4)


def test_a_second_model_has_the_default(schema: str, tmp_path: Path, model: ModelFile) -> None:
    """A small model drafts, a large one checks."""
    draft = read(write(tmp_path / "draft.gguf", llama(32, W), weights(32, W)))
    world = World(schema)
    kernel = world.kernel("ffn_up", SIGNATURE)
    for index, size in enumerate((ROWS * W * 4, E * T * 4)):
        world.set_arg(kernel, index, world.buffer(size))
    for index, value in enumerate((ROWS, T, E), start=2):
        world.set_arg(kernel, index, value, 4)
    world.launch(kernel, (T, ROWS))
    assert not list(model_numbers.find([model, draft], [derive(world.write(tmp_path / "1.gdx"))]))


def test_the_launch_has_another_reason_for_the_size(schema: str, tmp_path: Path, model: ModelFile) -> None:
    """43 x 256 = 11008: here the rows are 43, and the room is rows x 256 work-items of 16 bytes."""
    world = World(schema)
    kernel = world.kernel(
        "scale", [Arg("float*", "data", GLOBAL), *(Arg("int", n) for n in ("rows", "n_ff", "columns"))]
    )
    world.set_arg(kernel, 0, world.buffer(43 * 256 * 4 * 4))
    for index, value in enumerate((43, T, 1024), start=1):
        world.set_arg(kernel, index, value, 4)
    world.launch(kernel, (43, 1024))
    assert not list(model_numbers.find([model], [derive(world.write(tmp_path / "1.gdx"))]))


def test_a_program_that_does_something_else(schema: str, tmp_path: Path, model: ModelFile) -> None:
    world = World(schema)
    kernel = world.kernel("blur", [Arg("float*", "image", GLOBAL), Arg("int", "width"), Arg("int", "height")])
    world.set_arg(kernel, 0, world.buffer(11008 * 640 * 4))
    world.set_arg(kernel, 1, 11008, 4)
    world.set_arg(kernel, 2, 640, 4)
    world.launch(kernel, (11008, 640))
    assert not list(model_numbers.find([model], [derive(world.write(tmp_path / "1.gdx"))]))


def test_round_numbers_are_never_held_against_anyone() -> None:
    assert all(not model_numbers._is_telling(n) for n in (4096, 2048, 5120, 32000, 8192, 128, 80))
    assert all(model_numbers._is_telling(n) for known in model_numbers.KNOWN.values() for n in known)
