"""cargo test, and test binaries that Rust built: libtest. Tests are threads of one process (--test-threads).

Their order is that of their names, and cannot be chosen. Results are the printed lines; while tests run in parallel a test is only
printed when it has ended, so that a process that dies does not say who was running. Tests of the same name in several binaries
are one here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from gpudx.errors import UserError
from gpudx.flake.runners import Results, Selection
from gpudx.flake.runners.gtest import _holds
from gpudx.lab.probe import ask
from gpudx.model.flake import FAILED, NOT_RUN, PASSED

ID = "cargo"
ORDERED = False
SHARES_PROCESS = True
BUILD_S = 1800.0  # the first call builds
MARK = b"RUST_TEST_THREADS"
_LISTED = re.compile(r"^(\S.*): test$", re.M)
_LINE = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (?:.*?)(ok|FAILED|ignored)?(?:,.*)?$")
_SAID = re.compile(r"^---- (.+) stdout ----$")
_DIED = re.compile(r"process didn't exit successfully: .*\(signal: ")
MARKS = {"ok": PASSED, "FAILED": FAILED, "ignored": NOT_RUN}


def fits(words: Sequence[str]) -> bool:
    return _is_cargo(words) or _holds(words[0], MARK)


def _is_cargo(words: Sequence[str]) -> bool:
    return Path(words[0]).name == "cargo" and "test" in words[1:4]


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words for cargo, and those for the test binaries."""
    if not _is_cargo(words):
        return [words[0]], list(words[1:])
    at = words.index("--") if "--" in words else len(words)
    first = list(words[:at])
    first += [] if "--no-fail-fast" in first else ["--no-fail-fast"]
    return first, list(words[at + 1 :])


def _joined(words: Sequence[str], more: Sequence[str]) -> list[str]:
    first, inner = _parted(words)
    return [*first, *(["--"] if _is_cargo(words) else []), *inner, *more]


def tests(words: Sequence[str]) -> list[str]:
    answer = ask(_joined(words, ["--list"]), patience=BUILD_S)
    found = list(dict.fromkeys(_LISTED.findall(answer.out)))
    if answer.problem or not found:
        last = (answer.err.strip().splitlines() or ["it named no tests"])[-1]
        raise UserError(f"The tests cannot be listed ({last}): run `{' '.join(words)}` to see why.")
    return found


def start(words: Sequence[str], selection: Selection) -> list[str]:
    more = []
    if selection.threads is not None:
        words, more = _without_threads(words), [f"--test-threads={selection.threads}"]
    if selection.tests is not None:
        more += ["--exact", *selection.tests]
    return _joined(words, more)


def report(selection: Selection) -> list[str]:
    return []


def _without_threads(words: Sequence[str]) -> list[str]:
    """libtest refuses an option that is given twice."""
    kept = [word for word in words if not word.startswith("--test-threads=")]
    at = kept.index("--test-threads") if "--test-threads" in kept else -1
    return kept if at < 0 else kept[:at] + kept[at + 2 :]


def results(selection: Selection, output: Path) -> Results:
    found, said = Results(), ""  # cargo ends well itself when a test's process dies
    texts: dict[str, list[str]] = {}
    for line in output.read_text(errors="replace").splitlines() if output.is_file() else ():
        match, head = _LINE.match(line), _SAID.match(line)
        if head:
            said = head[1]
        elif match and match[2]:
            found.end(match[1], MARKS[match[2]])
        elif match:
            found.begin(match[1])
        elif _DIED.search(line):
            found.died = True
        elif line in ("failures:", "successes:"):
            said = ""
        elif said:
            texts.setdefault(said, []).append(line)
    found.texts.update({name: "\n".join(lines).strip() for name, lines in texts.items()})
    return found


def runs_parallel(words: Sequence[str]) -> bool:
    said = re.search(r"--test-threads[= ](\d+)", " ".join(words))
    told = said[1] if said else os.environ.get("RUST_TEST_THREADS", "")
    return (int(told) if told.isdecimal() else os.cpu_count() or 1) > 1


def parallel(words: Sequence[str]) -> str:
    return "threads"


def mitigations(words: Sequence[str], kind: str, names: Sequence[str]) -> list[str]:
    if kind == "concurrency-dependent":
        return [
            f"{' '.join(_joined(_without_threads(words), ['--test-threads=1']))}",
            '[env]\nRUST_TEST_THREADS = "1"   # .cargo/config.toml',
        ]
    if kind in ("order-dependent", "cascade"):
        return ["cargo nextest run   # a process for each test"]
    return []
