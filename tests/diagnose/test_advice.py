"""Advice fits the program: what names a function or a tool of one API is shown to programs of that API only."""

from __future__ import annotations

import re

import pytest

from gpudx.causes import every
from gpudx.diagnose import diagnose
from gpudx.model import Cause, Evidence, Finding, Outcome, Site

# What only one API has. Causes of detectors that look at one API only may name it anywhere.
ONLY = {
    "cuda": re.compile(r"\bcu(da)?[A-Z]\w+|CUDA|nvcc|PTX|sanitize|--dump|initcheck|racecheck|memcheck|synccheck|__sync\w+|\bwarp"),
    "hip": re.compile(r"\bhip[A-Z]\w+|HIP|hipcc|gfx|__syncthreads|wavefront"),
    "opencl": re.compile(r"\bcl[A-Z]\w+|\bCL[A-Z]*_\w+|OpenCL|barrier\(|work-item"),
}
# Of these every instance is about OpenCL: no other API sets arguments of kernel objects, or makes buffers by handles.
OPENCL_ONLY = {"host-pointer-as-buffer", "kernel-shared-by-threads"}
CAUSES = every()


@pytest.mark.parametrize("name", sorted(set(CAUSES) - OPENCL_ONLY))
def test_general_advice_names_no_api(name: str) -> None:
    cause = CAUSES[name]
    for text in (*cause.fix, cause.settled_by, cause.refutes_if, cause.title):
        assert not any(pattern.search(text) for pattern in ONLY.values()), text
        assert not re.search(r"\b(named|shown|listed) (above|below)\b|\b(above|below)[.,]", text), text


@pytest.mark.parametrize("name", sorted(CAUSES))
@pytest.mark.parametrize("api", ["cuda", "hip", "opencl"])
def test_advice_for_one_api_names_no_other(name: str, api: str) -> None:
    own = [text for of, text in (*CAUSES[name].fix_of, *CAUSES[name].settled_of) if of == api]
    for text in own:
        foreign = [found for other in ONLY if other != api for found in ONLY[other].findall(ONLY[api].sub("", text))]
        assert not foreign, text


@pytest.mark.parametrize("api", ["cuda", "hip", "opencl", ""])
def test_a_diagnosis_has_the_steps_of_its_api(api: str) -> None:
    cause = Cause("x", "X", "It would not.", ("Look.",), fix_of=(("cuda", "Use cudaFoo."), ("opencl", "Use clFoo.")))
    assert cause.steps(api) == ("Look.", *{"cuda": ("Use cudaFoo.",), "opencl": ("Use clFoo.",)}.get(api, ()))
    site = Site(call="launch", number=1, pid=1, tid=1, api=api, kernel="k", launch=1)
    finding = Finding("launch-refused", "error", "Refused.", (Evidence("seen"),), site, causes=("launch-refused",), pid=1)
    (entry,) = diagnose([finding], Outcome("exit", "It exited with status 1.", 1))
    names = {"cuda": "cudaFuncGetAttributes", "hip": "hipFuncGetAttributes", "opencl": "clGetKernelWorkGroupInfo"}
    assert [name for name, function in names.items() if function in " ".join(entry.fix)] == ([api] if api else [])


