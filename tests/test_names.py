"""Long names of templates in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudx.text.names import LEFT_OUT, without_arguments

COPY = (
    "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
    "const::{lambda()#6}::operator()() const::{lambda(double)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "
    "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >"
)
REDUCE = (
    "at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, "
    "unsigned int, float, 4, 4> >"
)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (COPY, "at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda…>"),
        (REDUCE, "at::native::reduce_kernel<…>"),
        (
            f"Kernel {COPY} (call 7) and kernel {REDUCE} do not wait.",
            "Kernel at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda…> (call 7) and kernel at::native::reduce_kernel<…> do"
            " not wait.",
        ),
    ],
)
def test_long_arguments_are_left_out(text: str, short: str) -> None:
    assert without_arguments(text) == short


@pytest.mark.parametrize(
    "text",
    [
        "kernel blur<true> (launch 2) wrote 4 bytes",
        "linear<16, true>",
        "i < n and j > m, with i<n" + " and more" * 20,
        "a<b" + "x" * 100,
        "#include <cuda_runtime.h>",
        "",
    ],
)
def test_other_texts_are_unchanged(text: str) -> None:
    assert without_arguments(text) == text


@given(st.text(alphabet="ab:<>(){}-, operator", max_size=300))
def test_any_text_becomes_no_longer(text: str) -> None:
    assert len(without_arguments(text)) <= len(text)


@given(st.text(alphabet="abc:<>, ", max_size=200))
def test_what_is_left_out_is_marked(text: str) -> None:
    short = without_arguments(text)
    assert short == text or LEFT_OUT in short
