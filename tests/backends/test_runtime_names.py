"""The runtime's names in sentences about programs of the runtime."""

from __future__ import annotations

import pytest

from gpudx.backends.cuda.runtime_names import told


@pytest.mark.parametrize(
    ("driver", "runtime"),
    [
        ("cuMemcpyHtoDAsync_v2", "cudaMemcpyAsync"),
        ("cuMemcpyDtoH_v2", "cudaMemcpy"),
        ("cuMemcpy2DAsync_v2_ptsz", "cudaMemcpy2DAsync"),
        ("cuMemsetD8Async", "cudaMemsetAsync"),
        ("cuMemsetD32_v2", "cudaMemset"),
        ("cuMemFree_v2", "cudaFree"),
        ("cuCtxSynchronize_v2", "cudaDeviceSynchronize"),
        ("cuLaunchKernel_ptsz", "cudaLaunchKernel"),
        ("cuStreamWaitEvent", "cudaStreamWaitEvent"),
    ],
)
def test_calls_are_told_as_their_author_wrote_them(driver: str, runtime: str) -> None:
    assert told(f"Memory #1 was freed ({driver}, call 25).") == f"Memory #1 was freed ({runtime}, call 25)."


@pytest.mark.parametrize("text", ["cuLibraryGetKernel failed", "cudaMemcpyAsync", "my_cuMemFree", "CUDA_ERROR_ILLEGAL_ADDRESS", "cuMemMap"])
def test_what_the_runtime_has_no_name_for_stays(text: str) -> None:
    assert told(text) == text
