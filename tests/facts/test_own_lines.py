"""The line of a call that a toolkit's header or a generated stub made is that of its caller in the program."""

from __future__ import annotations

import pytest

from gpudx.facts.callers import own_places
from gpudx.facts.symbols import Place
from gpudx.text.places import is_installed, shortest

CUDA = "/usr/local/cuda-13.0/targets/x86_64-linux/include"


def place(function: str, source: str) -> Place:
    return Place("/home/me/app", 0, function, 0, source)


STACK = [
    place("cudaLaunchKernel", ""),  # of the runtime, which has no lines
    place("__cudaLaunchKernel_helper", f"{CUDA}/crt/device_functions.h:2963"),
    place("_ZL26__device_stub__Z4scalePfiPfi", "/home/me/scale.cu:12"),
    place("_Z5scalePfi", "/home/me/scale.cu:12"),
    place("_Z3runv", "/home/me/scale.cu:55"),
    place("main", "/home/me/scale.cu:80"),
]


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/a/b/c/case", "case"), ("/a/b/case", "../case"), ("/case", "/case"), ("/x/y/z/case", "/x/y/z/case")],
)
def test_a_path_is_shown_the_shorter_way(monkeypatch: pytest.MonkeyPatch, path: str, shown: str) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/a/b/c")
    assert shortest(path) == shown


def own_line(places: list[Place]) -> str | None:
    """The first known line of the program, of a launch of scale."""
    own = [one.source for one in own_places(places, "scale") if one.source]
    return next((line for line in own if not is_installed(line)), None)


def test_a_launch_has_the_line_of_its_caller() -> None:
    assert own_line(STACK) == "/home/me/scale.cu:55"


@pytest.mark.parametrize(
    "header",
    [
        f"{CUDA}/cuda_runtime.h:879",
        "/opt/rocm-6.2/include/hip/hip_runtime_api.h:5",
        "/venv/lib/python3.12/site-packages/nvidia/cu13/include/cuda_runtime.h:9",
    ],
)
def test_a_template_of_a_toolkit_is_passed_over(header: str) -> None:
    assert own_line([place("cudaMalloc<float>", header), STACK[-2]]) == "/home/me/scale.cu:55"
    assert own_line([place("cudaMalloc<float>", header)]) is None


def test_own_headers_are_not_a_toolkit() -> None:
    for folder in ("/home/me/cuda-project/include", "/home/me/include"):
        assert own_line([place("alloc", f"{folder}/alloc.h:7"), STACK[-1]]) == f"{folder}/alloc.h:7"
