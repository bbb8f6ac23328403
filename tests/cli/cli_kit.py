"""Names that the tests of the command line share."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from gpudx.cli import main

HERE = Path(__file__).resolve().parent

Gpudx = Callable[..., "subprocess.CompletedProcess[str]"]
# These start no program whose output or signals a test looks at, so that they can be called in this process.
IN_PROCESS = {"audit", "bundle", "cases", "explain", "gate", "lint", "open", "report", "rule", "show"}


def in_process(
    words: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What `gpudx WORDS` does in a process of its own, a few times as fast."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with _as_if(["gpudx", *words], folder, environment), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code
        except BaseException:  # Python itself would print this, and end with 1
            traceback.print_exc()
            status = 1
    said = [one.buffer.getvalue().decode() for one in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(list(words), status if isinstance(status, int) else int(bool(status)), *said)


@contextmanager
def _as_if(argv: list[str], folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    before = Path.cwd()
    with mock.patch.object(sys, "argv", argv), mock.patch.dict(os.environ, environment, clear=True):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
