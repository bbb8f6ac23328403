"""Launches and their arguments, as a real driver was given them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support.cuda_world import CudaWorld
from support.opencl import OpenCL
from support.synthetic import GLOBAL, LOCAL, Arg, World

from gpudx.facts import Facts, derive


@pytest.fixture(scope="module")
def recorded(opencl: OpenCL) -> Facts:
    return opencl.run("objects").facts


def test_long_arguments_are_whole(recorded: Facts) -> None:
    values = {a["index"]: a for a in recorded.launches.values(0)}
    assert struct.unpack("<4f", values[1]["bytes"]) == (1, 2, 3, 4)
    assert struct.unpack("<2q", values[2]["bytes"]) == (9, 10)
    assert struct.unpack("<4f", values[3]["bytes"]) == (5, 6, 7, 8)
    assert struct.unpack("<d", values[6]["bytes"]) == (12,)


def test_memory_argument_names_its_object(recorded: Facts) -> None:
    values = recorded.launches.values(0)
    assert recorded.objects.label(values[0]["object"]) == "subbuffer #1"
    assert [v["object"] for v in values[1:]] == [-1] * 6


def test_declared_types_and_sizes(recorded: Facts) -> None:
    info = recorded.launches.info(0)
    assert info is not None
    sizes = [(a.type, a.size, a.tail_padding) for a in info.args.values()]
    assert sizes == [
        ("float*", 8, 0),
        ("four_t", 16, 0),
        ("range_t", 16, 4),
        ("float3", 16, 0),
        ("long", 8, 0),
        ("float", 4, 0),
        ("double", 8, 0),
    ]
    assert info.args[0].element == 4


def test_copied_kernel_has_the_arguments_of_its_source(recorded: Facts) -> None:
    if len(recorded.launches) < 2:
        pytest.skip("this driver cannot copy kernels")
    assert recorded.launches.name(1) == "values"
    values = {a["index"]: a["bytes"] for a in recorded.launches.values(1)}
    assert struct.unpack("<f", values[5]) == (14,)
    assert struct.unpack("<4f", values[1]) == (1, 2, 3, 4)


def test_geometry(recorded: Facts) -> None:
    assert recorded.launches.geometry(0) == ((16, 0, 0), (0, 0, 0))


def test_settings_are_joined_to_their_kernels(schema: str, tmp_path: Path) -> None:
    process = World(schema)
    buffer = process.buffer(64)
    kernel = process.kernel("f", [Arg("float*", "data", GLOBAL), Arg("float*", "room", LOCAL), Arg("int", "n")])
    process.set_arg(kernel, 0, buffer)
    process.set_arg(kernel, 1, 0, 256, local=True)
    process.set_arg(kernel, 2, 7, 4)
    process.launch(kernel, (64,), (8,))
    facts = derive(process.write(tmp_path / "1-0.gdx"))
    sets = facts.set_args
    assert sets.declared.get("memory", sets.kernel_row, sets.index).tolist() == [True, False, False]
    assert sets.declared.get("size", sets.kernel_row, sets.index).tolist() == [8, -1, 4]
    assert facts.launches.declared.arguments(facts.launches.kernel_row).tolist() == [3]
    assert [a["size"] for a in facts.launches.values(0)] == [8, 256, 4]
    assert [int(c[0]) for c in facts.launches.sizes(np.array([0]))] == [64, 0, 0, 8, 0, 0]


def test_device_of_a_queue(schema: str, tmp_path: Path) -> None:
    process = World(schema)
    at = process.call("clFlush", queue=process.queue)
    facts = derive(process.write(tmp_path / "1-0.gdx"))
    device = facts.kernels.device_of(process.queue, at)
    assert device is not None and (device.handle, device.name) == (process.device, "a device")
    assert facts.kernels.device_of(0x1234, at) is None


def test_which_launches_a_block_of_parameters_can_be_of(schema: str, tmp_path: Path) -> None:
    """Wherever in the block the values stand; long ones to their last byte, and a short one says nothing."""
    world = CudaWorld(schema)
    kernel, long = world.kernel("_Z4stepPfi8Settingsb", [8, 4, 24, 1]), bytes(range(100, 124))
    for memory, number, settings in (
        (0x7000, 5, long),
        (0x7000, 6, long),
        (0x7000, 5, long[:-1] + b"!"),
        (1 << 40, 5, long),
    ):
        world.launch(kernel, [memory, number, settings, 1])
    launches = derive(world.write(tmp_path / "1-0.gdx")).launches
    block = b"the driver's own " + (0x7000).to_bytes(8, "little") + (5).to_bytes(4, "little") + bytes(4) + long
    newest_first = np.arange(4)[::-1]
    assert launches.within(newest_first, block).tolist() == [0]
    assert launches.within(newest_first, block[:-1]).tolist() == [] == launches.within(newest_first, b"").tolist()
