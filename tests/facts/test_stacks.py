"""Recorded stacks: which call they belong to, which Python line is the program's own, and damaged ones."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from support.synthetic import Arg, World

from gpudx.facts import derive
from gpudx.facts.stacks import PythonFrame, Stack
from gpudx.trace import Trace

FRAMES = b"/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\x001518\0_call_impl\0/home/me/train.py\x0041\0step\0"


def frames(*files: str) -> Stack:
    return Stack((), tuple(PythonFrame(file, 10 + i, "f") for i, file in enumerate(files)))


@pytest.mark.parametrize("installed", [
    "/venv/lib/python3.11/site-packages/torch/functional.py",
    "/usr/lib/python3/dist-packages/numpy/core.py",
    "/opt/conda/lib/python3.12/threading.py",
    "/usr/lib64/python3.9/concurrent/futures/thread.py",
    "/usr/lib/python311.zip/runpy.py",
    "<frozen importlib._bootstrap>",
    "<generated: 'pyopencl invoker for 'scale'-a227cce72c1a583d'>",
    "<eval_with_key>.5",
])  # fmt: skip
def test_the_programs_own_line_is_named(installed: str) -> None:
    assert frames(installed, "/home/me/train.py", "/home/me/main.py").source == "/home/me/train.py:11"
    assert frames(installed).source == f"{installed}:10"


@pytest.mark.parametrize("own", [
    "train.py", "<stdin>", "<string>", "<ipython-input-3-a1b2>", "<python-input-0>", "/tmp/ipykernel_7/1.py",
    "/srv/python/lib/app.py",
])  # fmt: skip
def test_code_that_is_not_installed_is_the_programs_own(own: str) -> None:
    assert frames("/usr/lib/python3.11/threading.py", own).source == f"{own}:11"


def test_lines_for_people() -> None:
    assert PythonFrame("/home/me/train.py", 41, "step").text == "train.py:41 in step (python)"
    assert Stack((), (), python_busy=True).python_lines == (
        "... (Python frames are missing: the interpreter was busy)",
    )
    assert Stack(()).source is None


# ---- joining ----


def note(world: World, of: int, python: bytes = FRAMES, answer: int = 1) -> None:
    parts = [(world.schema.parts["frames"], struct.pack("<2Q", 0x1000, 0x2000))]
    parts += [(world.schema.parts["python"], python)] if python else []
    world.call("note_stack", parts=parts, of=of, python=answer)


def with_note(schema: str, path: Path, *, before: bool = False, python: bytes = FRAMES) -> tuple[Trace, int]:
    """A launch and its note (or one that stood there before it), and the launch's position."""
    place = 0
    for _ in range(2):  # the first time, to see where the launch is written
        world = World(schema)
        kernel = world.kernel("scale", [Arg("int", "n")])
        if before:
            note(world, place, python)
        position = world.launch(kernel, (64,))
        if not before:
            note(world, place, python)
        trace = world.write(path)
        (place,) = trace.slot_address(np.array([position])).tolist()
    return trace, position


def test_a_launch_that_did_not_fail_has_its_stack(schema: str, tmp_path: Path) -> None:
    trace, position = with_note(schema, tmp_path / "1.gdx")
    stack = derive(trace).stacks.at(position)
    assert stack and stack.addresses == (0x1000, 0x2000)
    assert [frame.line for frame in stack.python] == [1518, 41]
    site = derive(trace).sites.at(position)
    assert site.source == "/home/me/train.py:41"
    assert site.host_stack[:2] == ("module.py:1518 in _call_impl (python)", "train.py:41 in step (python)")
    assert len(site.host_stack) == 4


def test_a_note_that_is_older_than_the_call_is_about_another(schema: str, tmp_path: Path) -> None:
    """The ring reuses places."""
    trace, position = with_note(schema, tmp_path / "1.gdx", before=True)
    assert derive(trace).stacks.at(position) is None
    assert derive(trace).sites.at(position).host_stack == ()


@pytest.mark.parametrize(("python", "lines"), [
    (b"", []),
    (b"a.py\x007\0f", []),  # cut
    (b"a.py\x007\0f\0b.py\0eight\0g\0c.py\x009\0h\0", [7, 9]),
    (b"\x1b[2J\x007\0\xff\0", [7]),
    ("a.py\0\N{SUPERSCRIPT TWO}\0f\0".encode(), []),
])  # fmt: skip
def test_damaged_frames_are_left_out(schema: str, tmp_path: Path, python: bytes, lines: list[int]) -> None:
    trace, position = with_note(schema, tmp_path / "1.gdx", python=python)
    stack = derive(trace).stacks.at(position)
    assert stack and [frame.line for frame in stack.python] == lines
    assert "\x1b" not in "".join(stack.python_lines)


def test_traces_from_before_there_were_python_frames(schema: str, tmp_path: Path) -> None:
    old = json.loads(schema)
    del old["parts"]["python"]
    (row,) = [call for call in old["calls"] if call["name"] == "note_stack"]
    row["fields"] = row["fields"][:1]
    _, position = with_note(schema, tmp_path / "1.gdx", python=b"")
    text = json.dumps(old, separators=(",", ":"))
    data = (tmp_path / "1.gdx").read_bytes()
    (tmp_path / "1.gdx").write_bytes(data.replace(schema.encode(), text.encode().ljust(len(schema.encode()))))
    stack = derive(Trace(tmp_path / "1.gdx")).stacks.at(position)
    assert stack == Stack((0x1000, 0x2000))
