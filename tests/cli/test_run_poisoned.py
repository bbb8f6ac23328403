"""gpudx run --poison: the words of the command line, and what the program finds in its environment."""

from __future__ import annotations

import pytest
from cli_kit import Gpudx

SHOW = 'echo "$GPUDX_POISON,$GPUDX_FENCE,$PYTORCH_CUDA_ALLOC_CONF" "$@"'
ASYNC = "backend:cudaMallocAsync"


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--"], ",,"),
        (["--poison"], f"cb,,{ASYNC}"),
        (["--poison", "--"], f"cb,,{ASYNC}"),
        (["--poison=nan", "-q", "--"], f"nan,,{ASYNC}"),
        (["--poison", "--fence=red"], f"cb,red,{ASYNC}"),
        (["--fence", "--poison=cb", "--serialise"], f"cb,high,{ASYNC}"),
    ],
)
def test_the_pattern_and_the_command(gpudx_cli: Gpudx, words: list[str], given: str) -> None:
    done = gpudx_cli("run", *words, "sh", "-c", SHOW, "sh", "--poison", "nan")
    assert done.stdout.split() == [given, "--poison", "nan"] and done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--poison=ff"], "no pattern 'ff': give --poison, or --poison=NAME with one of cb, nan, 4b, zero"),
        (["--poison", "--sanitize=initcheck"], "exclude each other"),
    ],
)
def test_words_that_make_no_sense(gpudx_cli: Gpudx, words: list[str], says: str) -> None:
    done = gpudx_cli("run", *words, "--", "echo", "ran")
    assert done.returncode != 0 and says in " ".join(done.stderr.split()) and "ran" not in done.stdout
