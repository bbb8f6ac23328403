"""gpudx run --poison: the words of the command line, and what the program finds in its environment."""

from __future__ import annotations

import pytest
from cli_kit import Gpudx

SHOW = 'echo "$GPUDX_POISON,$GPUDX_FENCE,$PYTORCH_NO_CUDA_MEMORY_CACHING" "$@"'


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--"], ",,"),
        (["--poison"], "cb,,1"),
        (["--poison", "--"], "cb,,1"),
        (["--poison=nan", "-q", "--"], "nan,,1"),
        (["--poison", "--fence=red"], "cb,red,1"),
        (["--fence", "--poison=cb", "--serialise"], "cb,high,1"),
    ],
)
def test_the_pattern_and_the_command(gpudx_cli: Gpudx, words: list[str], given: str) -> None:
    done = gpudx_cli("run", *words, "sh", "-c", SHOW, "sh", "--poison", "nan")
    assert done.stdout.split() == [given, "--poison", "nan"] and done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--poison=zero"], "no pattern 'zero': give --poison, --poison=cb or --poison=nan"),
        (["--poison", "--sanitize=initcheck"], "exclude each other"),
    ],
)
def test_words_that_make_no_sense(gpudx_cli: Gpudx, words: list[str], says: str) -> None:
    done = gpudx_cli("run", *words, "--", "echo", "ran")
    assert done.returncode != 0 and says in " ".join(done.stderr.split()) and "ran" not in done.stdout
