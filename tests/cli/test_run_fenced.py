"""gpudx run --fence: the words of the command line, and what the program finds in its environment."""

from __future__ import annotations

import pytest
from cli_kit import Gpudx

SHOW = 'echo "$GPUDX_FENCE,$GPUDX_FENCE_ALIGN,$PYTORCH_CUDA_ALLOC_CONF" "$@"'
ASYNC = "backend:cudaMallocAsync"


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--"], ",,"),
        (["--fence"], f"high,,{ASYNC}"),
        (["--fence", "--"], f"high,,{ASYNC}"),
        (["--fence=high", "-q", "--"], f"high,,{ASYNC}"),
        (["--fence=low", "--"], f"low,,{ASYNC}"),
        (["--fence=red", "--"], f"red,,{ASYNC}"),
        (["--timeout", "60", "--fence", "-q"], f"high,,{ASYNC}"),
        (["--fence-align", "16", "--fence", "-q", "--"], f"high,16,{ASYNC}"),
    ],
)
def test_the_edge_the_alignment_and_the_command(gpudx_cli: Gpudx, words: list[str], given: str) -> None:
    done = gpudx_cli("run", *words, "sh", "-c", SHOW, "sh", "--fence=low", "low")
    assert done.stdout.split() == [given, "--fence=low", "low"] and done.returncode == 0, done.stderr


def test_what_the_user_set_stays(gpudx_cli: Gpudx) -> None:
    done = gpudx_cli("run", "--fence", "sh", "-c", SHOW, PYTORCH_CUDA_ALLOC_CONF="0")
    assert done.stdout.strip() == "high,,0"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--fence=middle"], "no fence 'middle': give --fence, --fence=high, --fence=low or --fence=red"),
        (["--fence", "--fence-align", "0"], "not an alignment"),
        (["--fence", "--fence-align", "48"], "not an alignment"),
        (["--fence-align", "16"], "add --fence"),
        (["--fence", "--sanitize"], "exclude each other"),
    ],
)
def test_words_that_make_no_sense(gpudx_cli: Gpudx, words: list[str], says: str) -> None:
    done = gpudx_cli("run", *words, "--", "echo", "ran")
    assert done.returncode != 0 and says in " ".join(done.stderr.split()) and "ran" not in done.stdout
