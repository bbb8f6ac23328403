"""What the user calls wrong: --check, --compare and --expect."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx.errors import UserError
from gpudx.lab import criteria
from gpudx.model import Asked


def judged(tmp_path: Path, asked: Asked, printed: str = "sum 42\n") -> str:
    output = tmp_path / "output.txt"
    output.write_text(printed)
    criteria.refuse_nonsense(asked)
    return criteria.wrong(asked, output, {})


def test_nothing_asked_nothing_wrong(tmp_path: Path) -> None:
    assert judged(tmp_path, Asked()) == ""


def test_expect_is_searched_in_what_was_printed(tmp_path: Path) -> None:
    assert judged(tmp_path, Asked(expect=r"^sum \d+$")) == ""
    assert "--expect" in judged(tmp_path, Asked(expect="sum 43"))


def test_compare_with_a_good_copy_of_the_output_or_of_a_file(tmp_path: Path) -> None:
    good, made = tmp_path / "good", tmp_path / "made"
    good.write_text("sum 42\nend\n")
    assert "line 2" in judged(tmp_path, Asked(compare=str(good)))
    assert judged(tmp_path, Asked(compare=str(good)), "sum 42\nend\n") == ""
    assert "did not write" in judged(tmp_path, Asked(compare=f"{made}={good}"))
    made.write_text("sum 42\nend\n")
    assert judged(tmp_path, Asked(compare=f"{made}={good}")) == ""


def test_check_decides_by_its_exit_status_and_sees_the_output(tmp_path: Path) -> None:
    assert judged(tmp_path, Asked(check='grep -q 42 "$GPUDX_OUTPUT"')) == ""
    assert "status 1" in judged(tmp_path, Asked(check='grep -q 43 "$GPUDX_OUTPUT"'))


@pytest.mark.parametrize("asked", [Asked(expect="("), Asked(compare="/there/is/no/such/file")])
def test_nonsense_is_refused_with_what_to_do(tmp_path: Path, asked: Asked) -> None:
    with pytest.raises(UserError, match=r": (escape|there is no file)"):
        judged(tmp_path, asked)
