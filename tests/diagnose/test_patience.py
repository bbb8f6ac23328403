"""How long a run may take: what a changed program needs says nothing about the program itself, nor may it take long."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx.investigate.laboratory import LEAST_OF_CHANGE_S, LEAST_PATIENCE_S, Laboratory
from gpudx.lab.experiments import Context
from gpudx.model import Investigation
from gpudx.model.how import How

STATE = Investigation(0.99)


def laboratory(longest: float, timeout: float | None = None) -> Laboratory:
    context = Context(("true",), {}, How(timeout=timeout), redirects=("clEnqueueCopyBuffer=all=exchange",))
    return Laboratory(Path(), context, budget_s=120.0, longest=longest)


@pytest.mark.parametrize(("longest", "most"), [(0.1, LEAST_OF_CHANGE_S), (2.0, 10.0)])
def test_a_changed_program_is_stopped_early(longest: float, most: float) -> None:
    lab = laboratory(longest)
    assert lab.job("redirected:1", STATE).patience_s == most
    assert lab.job("recorded", STATE).patience_s > most


def test_kernels_that_are_compiled_again_get_time_for_it() -> None:
    assert laboratory(0.1).job("edited-kernel:1", STATE).patience_s == LEAST_PATIENCE_S


def test_what_the_user_allows_counts() -> None:
    assert laboratory(0.1, timeout=60.0).job("redirected:1", STATE).patience_s == 60.0
