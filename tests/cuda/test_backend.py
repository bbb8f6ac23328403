"""The Python side of CUDA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cuda_kit import Kit

from gpudx import native
from gpudx.backends import cuda


@pytest.fixture(autouse=True)
def forget() -> None:
    cuda.error_names.cache_clear()


def test_preloading_is_all_it_takes() -> None:
    assert cuda.environment(Path("/x/libgpudx.so")) == {}


def test_errors_have_the_names_of_the_schema(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "data", lambda name: kit.generated / name)
    assert cuda.error_name(700) == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert cuda.error_name(12345) == "CUDA error 12345"
    assert len(cuda.error_names()) == len(json.loads((kit.generated / "schema.json").read_text())["errors"]["cuda"])


def test_without_an_installed_schema_numbers_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "data", lambda name: None)
    assert cuda.error_name(700) == "CUDA error 700"
