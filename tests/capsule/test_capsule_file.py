"""The file format: what is written is read back, and what a stranger may have written is refused in one sentence."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudx.capsule import file
from gpudx.capsule.compare import value_text
from gpudx.capsule.model import Argument, Buffer, Capsule, Code, Device, Geometry, Outcome
from gpudx.errors import UserError


def sample(size: int = 100_000) -> Capsule:
    before = np.zeros(size, dtype=np.uint8)
    before[5000:9000] = np.arange(4000) % 251
    after = before.copy()
    after[-3:] = 7
    return Capsule(
        api="opencl",
        kernel="blur",
        launch=2,
        codes=(Code("source", b"kernel void blur() {}"),),
        geometry=Geometry((64, 2), (8, 1), (1, 0)),
        arguments=(
            Argument(0, "buffer", buffer=0, type="float*", name="x"),
            Argument(1, "value", value=b"\x01\x02", type="short", name="n"),
            Argument(2, "local", size=256),
            Argument(3, "buffer", buffer=1),
        ),
        buffers=(Buffer(0, size, 1, before=before, after=after), Buffer(1, 128, 1, parent=0, offset=256)),
        options="-DX=1",
        device=Device("gpu", "OpenCL 3.0", "1.2", "platform"),
        outcome=Outcome("completed"),
        made_by="test",
    )


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.gpucapsule"
    size = file.write(sample(), path)
    read, given = file.read(path), sample()
    for one, other in zip(read.buffers, given.buffers, strict=True):
        assert (one.before is None) == (other.before is None)
        if one.before is not None and other.before is not None and one.after is not None:
            assert (one.before == other.before).all() and (one.after == other.after).all()  # type: ignore[attr-defined]
    assert read.without_data() == given.without_data()
    assert size < 8000, "zeros and unchanged blocks take no room"


def test_data_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.gpucapsule"
    file.write(sample().without_data(), path)
    assert not [name for name in zipfile.ZipFile(path).namelist() if name.startswith("data/")]
    assert not file.read(path).has_data


def rewritten(path: Path, change: Callable[[dict[str, Any]], None], entries: dict[str, bytes] | None = None) -> Path:
    """The sample with another manifest, or other entries."""
    file.write(sample(), path)
    with zipfile.ZipFile(path) as old:
        kept = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(kept[file.MANIFEST])
    change(manifest)
    kept[file.MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in {**kept, **(entries or {})}.items():
            new.writestr(name, data)
    return path


def put(place: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one value; `place`: keys and numbers with dots between them."""

    def change(manifest: dict[str, Any]) -> None:
        *way, last = place.split(".")
        at: Any = manifest
        for key in way:
            at = at[int(key) if key.isdigit() else key]
        at[int(last) if last.isdigit() else last] = value

    return change


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("format", "zip"),
        ("version", 99),
        ("api", "vulkan"),
        ("kernel", ""),
        ("kernel", 5),
        ("launch", -1),
        ("arguments", [{}] * 5000),
        ("arguments", "none"),
        ("arguments.0.buffer", 7),
        ("arguments.0.offset", 1 << 40),
        ("arguments.1.value", "xyz"),
        ("arguments.1.index", 9),
        ("arguments.1.kind", "image"),
        ("buffers.0.size", 1 << 61),
        ("buffers.0.size", -1),
        ("buffers.0.size", 10**30),
        ("buffers.0.before.extents", [[0, 1 << 50]]),
        ("buffers.0.before.extents", [[4096, 8192], [-5, 3]]),
        ("buffers.0.before.extents", [[0, 100_000]] * 3),
        ("buffers.0.before.sha256", "0" * 64),
        ("buffers.1.parent", 1),
        ("buffers.1.offset", 1 << 40),
        ("code.0.kind", "../../etc/passwd"),
        ("code.0.sha256", "0"),
        ("geometry.global", [1, 2, 3, 4]),
        ("geometry.global", []),
        ("geometry.local", [1]),
        ("outcome.ending", "fine"),
        ("outcome.status", 1.5),
        ("device", None),
    ],
)
def test_a_claim_that_cannot_be_is_refused(tmp_path: Path, place: str, value: Any) -> None:
    path = rewritten(tmp_path / "a.gpucapsule", put(place, value))
    with pytest.raises(UserError) as caught:
        file.read(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = rewritten(tmp_path / "a.gpucapsule", lambda manifest: None, {"code/source": b"\0" * (file.MOST_CODE + 1)})
    with pytest.raises(UserError, match="larger than"):
        file.read(bomb)
    deep = rewritten(tmp_path / "b.gpucapsule", lambda manifest: None, {file.MANIFEST: b"[" * 100_000})
    with pytest.raises(UserError):
        file.read(deep)


def test_memory_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.gpucapsule"
    file.write(sample(), path)
    with pytest.raises(UserError, match="more memory"):
        file.read(path, most_memory=150_000)


def test_what_is_no_zip_or_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "a.gpucapsule"
    path.write_bytes(b"hello")
    with pytest.raises(UserError, match="not a whole capsule"):
        file.read(path)
    file.write(sample(), path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError):
            file.read(path)
    for at in range(0, len(whole), 53):  # a changed byte is seen, or changes nothing
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert file.read(path).without_data() == sample().without_data()
        except UserError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("type_", "value", "says"),
    [
        ("int", b"\xe8\x03\x00\x00", "1,000"),
        ("const float", b"\x00\x00\x00\xbf", "-0.5"),
        ("params_t", b"\xe8\x03\x00\x00", "e8030000"),  # a structure, or any type that the program named
        ("float4", b"\x00" * 16, "00" * 16),
        ("long", b"\xe8\x03\x00\x00", "e8030000"),  # too short to be one
        ("uchar*", b"\x01" * 8, "01" * 8),
    ],
)
def test_a_value_is_a_number_only_if_its_type_is_known(type_: str, value: bytes, says: str) -> None:
    assert value_text(Argument(0, "value", value=value, type=type_)) == says
