"""gpudx run --watch: the words of the command line, and what the program finds in its environment."""

from __future__ import annotations

import pytest
from cli_kit import Gpudx

SHOW = 'echo "$GPUDX_WATCH,$GPUDX_WATCH_LIMIT,$GPUDX_SERIALISE" "$@"'


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--"], ",,"),
        (["--watch"], "1,,"),
        (["--watch=once", "-q", "--"], "1,,"),
        (["--watch", "--serialise", "--"], "1,,1"),
        (["--watch-limit", "2M", "--watch", "-q"], "1,2097152,"),
    ],
)
def test_what_is_asked_for_and_the_command(gpudx_cli: Gpudx, words: list[str], given: str) -> None:
    done = gpudx_cli("run", *words, "sh", "-c", SHOW, "sh", "--watch=once", "once")
    assert done.stdout.split() == [given, "--watch=once", "once"] and done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--watch=twice"], "no way to watch 'twice': give --watch or --watch=once"),
        (["--watch", "--watch-limit", "lots"], "not a size"),
        (["--watch-limit", "1G"], "add --watch"),
        (["--watch", "--sanitize"], "exclude each other"),
    ],
)
def test_words_that_make_no_sense(gpudx_cli: Gpudx, words: list[str], says: str) -> None:
    done = gpudx_cli("run", *words, "--", "echo", "ran")
    assert done.returncode != 0 and says in " ".join(done.stderr.split()) and "ran" not in done.stdout
