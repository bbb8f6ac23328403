"""What the recorder leaves of a launch, record by record: which launches become capsules, and what is in them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gpudx.capsule import raw
from gpudx.lab import captured_launch

HIP, CODE_OBJECT = 2, 7


def record(kind: int, data: bytes = b"", a: int = 0, b: int = 0) -> bytes:
    return raw.HEAD.pack(raw.MAGIC, kind, a, b, 0, len(data)) + data


def collected(folder: Path, kernel: str, ended: int = 0) -> captured_launch.Written:
    """A HIP launch with two addresses as parameters, the first of which is memory of 16 bytes."""
    (folder / captured_launch.NAME).mkdir(parents=True)
    (folder / captured_launch.NAME / "launch-1.raw").write_bytes(
        record(raw.BEGIN, kernel.encode(), HIP, 1)
        + record(raw.DEVICE, b"a device\ngfx90a\nHIP 6.4")
        + record(raw.CODE, b"\177ELF", CODE_OBJECT)
        + record(raw.GEOMETRY, struct.pack("<7Q", 2, 1, 1, 64, 1, 1, 0))
        + record(raw.ARGUMENT, struct.pack("<Q", 0x700000), 0, raw.VALUE)
        + record(raw.BUFFER, struct.pack("<4Q", 0, 0, 0x700000, 0), 0, 16)
        + record(raw.ARGUMENT, struct.pack("<Q", 0x900000), 1, raw.VALUE)
        + record(raw.LAUNCHED)
        + record(raw.ENDED, a=ended)
    )
    (found,) = captured_launch.collect(folder)
    return found


def test_a_hip_launch(tmp_path: Path) -> None:
    held = collected(tmp_path, "_Z1kPfPKf").capsule
    assert held and (held.api, held.codes[0].kind, held.geometry.global_) == ("hip", "code object", (128, 1, 1))
    assert [one.type for one in held.arguments] == ["float*", "float const*"] and held.device.title == "a device (HIP 6.4)"
    assert held.outcome.ending == "completed" and held.buffers[0].after is not None


def test_a_launch_that_failed_has_no_results(tmp_path: Path) -> None:
    held = collected(tmp_path, "_Z1kPfPKf", ended=700).capsule
    assert held and (held.outcome.ending, held.outcome.status) == ("failed", 700) and held.buffers[0].after is None


@pytest.mark.parametrize(("type_", "what"), [("P13__hip_texture", "texture"), ("P13__hip_surface", "surface")])
def test_textures_and_surfaces_by_their_type(tmp_path: Path, type_: str, what: str) -> None:
    found = collected(tmp_path, f"_Z1kPf{type_}")
    assert found.capsule is None
    assert found.problem == f"argument 1 is a {what} object, and capsules do not hold textures and surfaces"
