"""What-if experiments on CUDA calls: the driver gets what the experiment asks for, the record keeps what the program asked for, and the
program's own memory stays as it is. Nothing here ran on a GPU."""

from __future__ import annotations

import pytest
from cuda_kit import WAYS, Kit, decode, of, values

from gpudx.facts import derive

PLAIN = {
    "sum": "11 22 33 44 1 1 1 1",
    "saved": "11 22 33 44 1 1 1 1",
    "filled": "0 0 1 1 1 1 1 1",
    "rows": "1 2 3, 5 6 7",
}
NUMBER, EXCHANGE, REDIRECT = "GPUDX_OTHER_NUMBER", "GPUDX_EXCHANGE", "GPUDX_REDIRECT"
CHANGES = {
    "number": (NUMBER, "add:3:4:6", {"sum": "11 22 33 44 55 66 1 1", "saved": "11 22 33 44 55 66 1 1"}),
    "exchange": (EXCHANGE, "add:0:2", {"sum": "1 1 1 1 1 1 1 1", "saved": "1 1 1 1 1 1 1 1", "rows": "11 21 31, 5 6 7"}),
    "argument": (REDIRECT, "add=1=argument1:2>3", {"sum": "2 3 4 5 1 1 1 1", "saved": "2 3 4 5 1 1 1 1"}),
    "memory": (REDIRECT, "cuMemcpyDtoH_v2=1=0:4>2", {"sum": "10 20 30 40 50 60 70 80"}),
    "direction": (REDIRECT, "cuMemcpyDtoD_v2=all=exchange", {"saved": "1 1 1 1 1 1 1 1"}),
    "size": (REDIRECT, "cuMemsetD8_v2=all=size:8>32", {"filled": "0 0 0 0 0 0 0 0"}),
    "pitch": (REDIRECT, "cuMemcpy2D_v2=all=pitch0:16>12", {"rows": "1 2 3, 4 5 6"}),
}
ELSEWHERE = {  # what is asked for is not there
    "another kernel": (NUMBER, "sub:3:4:6"),
    "another value": (NUMBER, "add:3:5:6"),
    "another call": (REDIRECT, "cuMemcpyDtoH_v2=9=0:4>2"),
    "another pitch": (REDIRECT, "cuMemcpy2D_v2=all=pitch0:20>12"),
    "no such argument": (EXCHANGE, "add:3:9"),
    "sizes that differ": (EXCHANGE, "add:0:3"),
    "nonsense": (REDIRECT, "cuMemsetD8_v2=all=sizes"),
    "no number": (NUMBER, "add"),
}


def printed(text: str) -> dict[str, str]:
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_one_thing_is_changed(kit: Kit, change: str, way: str) -> None:
    variable, wish, differs = CHANGES[change]
    ran = kit.run([kit.program("what_if", way=way)], env={variable: wish})
    assert ran.returncode == 0 and printed(ran.stdout) == PLAIN | differs, ran.stdout


@pytest.mark.parametrize("change", ["number", "exchange", "argument"])
def test_packed_arguments_are_changed_in_a_copy(kit: Kit, change: str) -> None:
    variable, wish, differs = CHANGES[change]
    ran = kit.run([kit.program("what_if"), "packed"], env={variable: wish})
    assert ran.returncode == 0 and printed(ran.stdout) == PLAIN | differs, ran.stdout


def test_the_record_keeps_what_the_program_asked_for(kit: Kit) -> None:
    trace = kit.run([kit.program("what_if")], env={NUMBER: CHANGES["number"][1]}).trace()
    (launch,) = of(decode(trace), "cuLaunchKernel")
    assert values(trace, launch.position)[3][2] == (4).to_bytes(4, "little")
    trace = kit.run([kit.program("what_if")], env={REDIRECT: CHANGES["size"][1]}).trace()
    (fill,) = of(decode(trace), "cuMemsetD8_v2")
    assert fill.words["count"] == 8


@pytest.mark.parametrize("wish", ELSEWHERE)
def test_nothing_else_is_changed(kit: Kit, wish: str) -> None:
    variable, text = ELSEWHERE[wish]
    ran = kit.run([kit.program("what_if")], env={variable: text})
    assert ran.returncode == 0 and printed(ran.stdout) == PLAIN


def test_without_an_experiment_nothing_is_changed(kit: Kit) -> None:
    plain, recorded = kit.both([kit.program("what_if")])
    assert printed(plain.stdout) == printed(recorded.stdout) == PLAIN
    assert not derive(recorded.trace()).trace.gaps
