"""Names of 100 KB, markup and terminal escapes are harmless in every format."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from sample_cases import DIAGNOSIS, FINDING, FULL
from test_report import EVIL, poisoned

from gpudx.model import Case
from gpudx.model.fingerprint import fingerprint
from gpudx.report import formats, render, streamed

LONG = "k" * 100_000


def long_names() -> Case:
    assert DIAGNOSIS.guilty and FINDING.site
    guilty = replace(DIAGNOSIS.guilty, kernel=LONG, source=LONG, host_stack=(LONG,), argument_name=LONG)
    finding = replace(FINDING, message=f"Kernel {LONG} is bad.", site=replace(FINDING.site, kernel=LONG, source=LONG))
    return replace(FULL, diagnosis=(replace(DIAGNOSIS, guilty=guilty),), findings=(finding,), command=(LONG,))


@pytest.mark.parametrize("format", sorted(formats()))
def test_no_escape_gets_through(format: str) -> None:
    text = render(poisoned(), format)
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(text)
    if format in ("sarif", "json"):
        json.loads(text)


@pytest.mark.parametrize("format", sorted(set(formats()) - {"json"}))
def test_long_names_are_shortened(format: str) -> None:
    assert len(render(long_names(), format)) < 60_000


def test_streams_and_fingerprints_take_them_too() -> None:
    for case in (poisoned(), long_names()):
        out = io.BytesIO()
        streamed()["perfetto"](case, [], out)
        assert EVIL.encode("utf-8", "replace") not in out.getvalue() and len(out.getvalue()) < 60_000
        assert len(fingerprint(case)) == 18
