"""What a destructor released is told of the object that ended: loud where it was used afterwards, silent elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudx.diagnose.destructors import told
from gpudx.model import Allocation, Evidence, Finding, Site

STACK = ("Field::drop at field.cpp:12 (app)", "lib::Field::~Field at field.cpp:9 (app)", "step at field.cpp:17 (app)")


def finding(stack: tuple[str, ...] = STACK, cause: str = "use-of-released-object", api: str = "opencl") -> Finding:
    freed = Site("clReleaseMemObject", 30, 1, 1, api, source="/src/field.cpp:12", host_stack=stack)
    return Finding(
        "value-is-not-a-handle", "error", "It was used.", (Evidence("first"),), Site("clSetKernelArg", 32, 1, 1, api),
        allocation=Allocation("buffer #2", 64, "released", freed=freed), causes=(cause,),
    )  # fmt: skip


@pytest.mark.parametrize("cause", ["use-of-released-object", "released-while-bound"])
def test_the_object_that_ended_is_named(cause: str) -> None:
    (found,) = told([finding(cause=cause)])
    assert found.evidence[0].text == "the destructor of lib::Field (field.cpp:9) made call 30, in step (field.cpp:17)"
    assert "retain the handle in the copy constructor and in operator=" in found.steps[0] and "objects of Field" in found.steps[0]


def test_memory_without_references_is_not_retained() -> None:
    (found,) = told([finding(cause="use-after-free", api="cuda")])
    assert "retain" not in found.steps[0] and "cl" not in found.steps[0].split()


def test_classes_of_libraries_are_not_changed() -> None:
    (found,) = told([finding(("std::unique_ptr::~unique_ptr at memory.h:9 (app)", "main at main.cpp:3 (app)"))])
    assert not found.steps and "std::unique_ptr" in found.evidence[0].text


@pytest.mark.parametrize(
    "other",
    [
        finding(("Field::drop at field.cpp:12 (app)", "step at field.cpp:17 (app)")),
        finding(cause="null-pointer"),
        replace(finding(), severity="warning"),
        replace(finding(), allocation=None),
        finding((*("f at f.cpp:1 (app)",) * 4, "Field::~Field at field.cpp:9 (app)")),
    ],
)
def test_others_stay_as_they_are(other: Finding) -> None:
    assert told([other]) == (other,)
