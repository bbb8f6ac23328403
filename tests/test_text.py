"""Numbers, lists and first words of sentences."""

from __future__ import annotations

import pytest

from gpudx.text import capital


@pytest.mark.parametrize("name", ["clEnqueueMapBuffer (call 35)", "cudaMemcpy", "hipFree", "cuMemAlloc", "scale_rows of x"])
def test_names_of_code_keep_their_case(name: str) -> None:
    assert capital(name) == name


@pytest.mark.parametrize(("text", "expected"), [("buffer #1", "Buffer #1"), ("a row", "A row"), ("`n` is 3", "`n` is 3"), ("", "")])
def test_words_get_a_capital_letter(text: str, expected: str) -> None:
    assert capital(text) == expected
