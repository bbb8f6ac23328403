"""The accuracy measure: headers of the planted programs, and how a case is judged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path[:0] = [str(BENCHMARKS / "accuracy"), str(BENCHMARKS)]

import accuracy  # noqa: E402
import judging  # noqa: E402
import planted  # noqa: E402

HEADER = {
    "class": '"A1"',
    "cause": '["out-of-bounds-access"]',
    "kernel": '"scale"',
    "launch": "2",
    "argument": "0",
    "plain": '"exit"',
    "fault": '"One too far."',
}


def program(folder: Path, mark: str = " // FAULT", **changed: str | None) -> planted.Planted:
    """A program whose header differs in these keys; None leaves a key out."""
    keys = {key: value for key, value in {**HEADER, **changed}.items() if value is not None}
    path = folder / "opencl" / "one.c"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "".join(f"//: {key} = {value}\n" for key, value in keys.items()) + f"int main(void) {{ return 1; }}{mark}\n"
    )
    return planted.read(path)


def entry(
    cause: str = "out-of-bounds-access", status: str = "confirmed", text: str = "", **guilty: Any
) -> dict[str, Any]:
    """An entry of a case's diagnosis."""
    return {"cause": cause, "status": status, "summary": text, "guilty": {"call": "clEnqueueNDRangeKernel", **guilty}}


def result(one: planted.Planted, *entries: dict[str, Any], twin: bool = False) -> str:
    return judging.judge(one, {"diagnosis": list(entries)}, twin).result


RIGHT = {"kernel": "scale", "launch": 2, "argument": 0}


def test_all_headers_can_be_read_and_there_are_enough_programs() -> None:
    counts = {(api, group): 0 for api in planted.APIS for group in ("general", "order")}
    for one in planted.programs():
        counts[one.api, one.group] += 1
    assert counts["cuda", "general"] >= 75 and counts["opencl", "general"] >= 55
    assert counts["cuda", "order"] >= 30 and counts["opencl", "order"] >= 30


def test_every_program_differs_from_its_twin() -> None:
    for one in planted.programs():
        text = one.path.read_text()
        assert not one.has_fault or one.arch or ("TWIN" in text if one.path.suffix != ".py" else '"twin"' in text), (
            one.path
        )


def test_right_needs_cause_kernel_launch_and_argument(tmp_path: Path) -> None:
    one = program(tmp_path)
    assert result(one, entry(**RIGHT)) == "right"
    assert result(one, entry("missing-bounds-check", **RIGHT)) == "right"
    assert result(one, entry(kernel="void ns::scale<float>(float*, int)", launch=2, argument=0)) == "right"
    assert result(one, entry(kernel="scale", launch=2)) == "partial"
    assert result(one, entry(status="inconclusive", **RIGHT)) == "partial"


def test_one_of_several_arguments_is_enough(tmp_path: Path) -> None:
    one = program(tmp_path, argument="[0, 2]")
    assert result(one, entry(**{**RIGHT, "argument": 2})) == "right"
    assert result(one, entry(**{**RIGHT, "argument": 1})) == "wrong"
    assert result(one, entry(kernel="scale", launch=2)) == "partial"


def test_another_culprit_is_wrong(tmp_path: Path) -> None:
    one = program(tmp_path)
    assert result(one, entry("use-after-free", **RIGHT)) == "wrong"
    assert result(one, entry(**{**RIGHT, "kernel": "fill"})) == "wrong"
    assert result(one, entry(**{**RIGHT, "launch": 3})) == "wrong"
    assert result(one, entry(**{**RIGHT, "argument": 1})) == "wrong"
    assert result(one, entry(**RIGHT), entry("use-after-free", status="likely")) == "wrong"


def test_unsure_or_refuted_entries_are_never_wrong(tmp_path: Path) -> None:
    one = program(tmp_path)
    assert result(one, entry("use-after-free", status="inconclusive")) == "silent"
    assert result(one, entry("use-after-free", status="refuted"), entry(**RIGHT)) == "right"
    assert result(one) == "silent"


def test_a_symptom_is_no_cause_but_may_be_at_the_right_place(tmp_path: Path) -> None:
    one = program(tmp_path)
    assert result(one, entry("device-error-reported")) == "silent"
    assert result(one, entry("device-error-reported", kernel="scale")) == "partial"
    assert result(one, entry("device-error-reported", kernel="fill")) == "wrong"
    assert result(one, entry(**RIGHT), entry("crash-in-call", kernel="scale")) == "right"


def test_a_race_needs_both_sites(tmp_path: Path) -> None:
    names = '["produce", "consume"]'
    one = program(tmp_path, cause='["unordered-access"]', kernel=names, other=names, launch=None, argument=None)
    assert (
        result(one, entry("unordered-access", kernel="produce", text="consume reads it on another stream")) == "right"
    )
    assert result(one, entry("unordered-access", kernel="produce", text="produce writes it")) == "partial"


def test_calls_are_known_by_their_driver_names(tmp_path: Path) -> None:
    one = program(tmp_path, cause='["copy-range"]', call='"cudaMemcpyAsync"', kernel=None, launch=None, argument=None)
    assert result(one, entry("copy-range", call="cuMemcpyHtoDAsync_v2")) == "right"
    assert result(one, entry("copy-range", call="cuMemcpyHtoD_v2")) == "partial"
    assert judging.same_call("cudaMalloc", "cuMemAlloc_v2") and not judging.same_call("cudaMalloc", "cudaMallocAsync")


def test_any_confident_entry_on_a_twin_is_an_alarm(tmp_path: Path) -> None:
    one = program(tmp_path)
    assert result(one, entry(**RIGHT), twin=True) == "alarm"
    assert result(one, entry(status="inconclusive", **RIGHT), twin=True) == "clean"
    innocent = program(tmp_path, cause="[]", mark="")
    assert result(innocent, entry(status="likely")) == "alarm"
    assert judging.judge(one, None, twin=True).result == "no case"


def test_the_line_to_change_is_recognised(tmp_path: Path) -> None:
    one = program(tmp_path)
    assert one.fault_line == 8
    named = judging.judge(one, {"diagnosis": [entry(**RIGHT, source="one.c:8")]}, False)
    other = judging.judge(one, {"diagnosis": [entry(**RIGHT, source="one.c:80")]}, False)
    assert named.line_named and not other.line_named


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"plain": '"maybe"'}, "it is one of"),
        ({"fault": None}, "no 'fault'"),
        ({"casue": "[]"}, "unknown key"),
        ({"mark": ""}, "0 lines"),
    ],
)
def test_a_bad_header_is_refused_in_one_sentence(tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    with pytest.raises(planted.BadHeader, match=says):
        program(tmp_path, **changed)


def test_results_of_another_commit_and_broken_lines_are_measured_again(tmp_path: Path) -> None:
    line = '{{"key": "k{0}", "commit": "{1}", "api": "cuda", "program": "p", "family": "A1", "group": "general", "mode": "run",'
    line += ' "twin": false, "result": "{2}", "why": "", "line_named": false, "seconds": 1.0}}\n'
    results = tmp_path / "results.jsonl"
    results.write_text(
        line.format(1, "aa", "right")
        + line.format(2, "bb", "right")
        + line.format(3, "aa", "no case")
        + '{"key": "k4", "com'
    )
    assert list(accuracy.known(results, "aa")) == ["k1"]


def test_the_table_counts_twins_apart() -> None:
    def one(result: str, twin: bool) -> accuracy.Measured:
        return accuracy.Measured(
            f"{result}{twin}", "aa", "opencl", "p", "A1", "general", "run", twin, result, "", False, 2.0
        )

    text = accuracy.table([one("right", False), one("silent", False), one("alarm", True), one("clean", True)], "aa")
    assert "| A1 | 2 | 1 (50 %) | 0 | 1 | 0 | 0 | 0 | 1 of 2 |" in text
    assert "median 2.0 s" in text
