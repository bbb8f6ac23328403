"""gpudx run --fence: the words of the command line."""

from __future__ import annotations

import pytest
from cli_kit import Gpudx

SAY = 'echo "$GPUDX_FENCE" "$@"'


@pytest.mark.parametrize(
    ("words", "side"),
    [
        (["--fence", "--"], "high"),
        (["--fence"], "high"),
        (["--fence=high", "-q", "--"], "high"),
        (["--fence=low", "--"], "low"),
        (["--timeout", "60", "--fence", "-q"], "high"),
        (["--"], ""),
    ],
)
def test_the_side_and_the_command(gpudx_cli: Gpudx, words: list[str], side: str) -> None:
    done = gpudx_cli("run", *words, "sh", "-c", SAY, "sh", "--fence=low", "low")
    assert done.stdout.split() == [*([side] if side else []), "--fence=low", "low"] and done.returncode == 0, (
        done.stderr
    )


def test_a_side_that_does_not_exist(gpudx_cli: Gpudx) -> None:
    done = gpudx_cli("run", "--fence=left", "--", "true")
    assert done.returncode != 0 and "give --fence, --fence=high or --fence=low" in done.stderr
