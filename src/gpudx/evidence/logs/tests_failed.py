"""Summaries of test runs: pytest, cargo test, ctest, googletest, Boost.Test.

They say that something failed, seldom why: it reads the counts and the first names. If the same pytest command, or
as many tests of cargo, passed and failed in one log, the failure depends on order, timing or uninitialized memory, and the report
shows this; so it does where one test passed and failed, by its name, a rerun or a count. What a run prints in which no test failed
is no failure by its words alone. If a signal killed the test process, the tests behind it did not run: their number is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs._statuses import event as status_event
from gpudx.evidence.logs._statuses import numbered

FORMAT = "tests"
MARKS = (
    " passed",
    " failed",
    "... FAILED",
    "[  FAILED  ]",
    "tests failed out of",
    "process didn't exit successfully",
    "***Exception",
    "***Failed",
    "***Timeout",
    "FAILED in",
    "FAILED ",
    "TIMEOUT in",
    "FAIL: ",
    ": Failure",
    ": error: Expected",
    "FAIL [",
    "SIGABRT [",
    "SIGSEGV [",
    "ollowing tests",
    "Failed Test",
    "&&&& FAILED",
    "[FAIL",
    "[ERROR]",
    "ests ran",
    "est ran",
    "ests run",
    "E   ",
    " FAILED",
    " FAIL",
    "FAILED*",
    "tests passed",
    ': error: in "',
    '): error: in "',
    "Test Failed at",
    "(Failed)",
    "(Subprocess ",
    "(Timeout)",
    "(Bus error)",
    "TIMEOUT: //",
    "FAILED: //",
    "(SEGFAULT)",
    "(Not Run)",
    "Testing",
    "TRY ",
    "Fail (",
    "Error (",
    "--- FAIL: ",
    "--- PASS: ",
    "PASS [",
    "Test #",
    "Test  #",
    "Test   #",
    "Test    #",
    "Checking",
    "Verifying",
    "elf-test",
    "elftest",
    " PASSED",
    "PASSED ",
    " RERUN",
    "RERUN ",
    "FLAKY",
    "[       OK ]",
    "... ok",
    "   Passed ",
    " iterations",
    " attempts",
    " runs ",
    " repetitions",
    "[==========] Running",
    "[  PASSED  ]",
    "Test project ",
    "test session starts",
)
MOST_READ = 100_000
# How one test ended, by its name: pytest, googletest, cargo, CTest.
_ONE_ENDED = re.compile(
    r"^(?P<pytest>\S+\.py::\S.{0,200}?) (?P<how_pytest>PASSED|FAILED|RERUN)\b|^(?P<how_short>PASSED|FAILED|RERUN) (?P<short>\S+\.py::\S+)"
    r"|^\[ +(?P<how_gtest>OK|FAILED) +\] (?P<gtest>[\w./]+)(?=[ ,]|$)|^test (?P<cargo>[\w:]+) \.\.\. (?P<how_cargo>ok|FAILED)\b"
    r"|^\s*(?:\d+/\d+ )?Test +#\d+: (?P<ctest>\S+) [ .]*(?P<how_ctest>Passed|\*\*\*(?:Failed|Timeout|Exception))"
    r"|^\s*(?:TRY \d+ )?(?P<how_nextest>PASS|FAIL|SIGABRT|SIGSEGV|TIMEOUT) +\[ *[\d.]+s\] (?:\([ \d/]+\) )?(?P<nextest>\S.{1,200}?)\s*$"
    r"|^\s*--- (?P<how_go>PASS|FAIL): (?P<go>\S+)"
)
_PASSED = ("PASSED", "OK", "ok", "Passed", "PASS")
# "18 of 20 iterations passed", "failed in 3 of 10 runs", Bazel's "FLAKY, failed in 1 out of 3", pytest's "1 rerun".
_REPEATS = r"(?:iteration|attempt|run|repetition|trie|time)s"
_SOME = re.compile(
    rf"\b(\d{{1,9}}) (?:out )?of (\d{{1,9}}) {_REPEATS} (?:have |had |has )?(?:passed|failed)\b"
    rf"|\b(?:passed|failed) (?:in |on )?(\d{{1,9}}) (?:out )?of (\d{{1,9}}) {_REPEATS}\b"
    r"|\bFLAKY, failed in (\d{1,9}) out of (\d{1,9})\b"
)
_RERUN = re.compile(r"\b[1-9]\d* passed\b.*, [1-9]\d* rerun in [\d.]+s")
# Where a run of many tests begins, and where it ends without a failed one.
_BEGINS = re.compile(r"^\[=+\] Running \d+ tests?\b|^Test project \S|^=+ test session starts =+$")
_ALL_PASSED = re.compile(
    r"^\[  PASSED  \] [1-9]\d* tests?\."
    r"|^100% tests passed, 0 tests failed out of [1-9]|^=+ [1-9]\d* passed(?:, \d+ (?!failed|error)\w+)* in "
)
_PYTEST = re.compile(r"(?:=+ )?(?:(\d+) failed)?(?:, )?(?:(\d+) passed)?(?:, \d+ \w+)* in [\d.]+s")
_CARGO_SUM = re.compile(r"\b(ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed")
_CARGO = re.compile(r"test ([\w:]+) \.\.\. FAILED")
_CARGO_DIED = re.compile(r"process didn't exit successfully: `([^`]{1,400})`? \((.+?)\)")
_CTEST = re.compile(
    r"(\d+)% tests passed, (\d+) tests? failed out of (\d+)|Test +#\d+: (\S+) [ .]*(Subprocess \w+|Child \w+)?.*?\*\*\*(?:Exception: "
    r")?([A-Za-z]\w*)?"
)
_BAZEL = re.compile(r"^\s*//(\S+) +(?:\(cached\) )?(FAILED|TIMEOUT|FAILED TO BUILD|NO STATUS)\b")
_BAZEL_SUMMARY = re.compile(r"^(FAIL|TIMEOUT): //(\S+) \((?:Summary|shard|see)\b")
_PYTEST_ONE = re.compile(r"^(?:FAILED|ERROR) (\S+\.py::[^\s]+(?:\[.*?\])?)(?: - (.{1,160}))?")
_SAMPLE = re.compile(r"^&&&& FAILED (\S.{0,80}?)(?: #|$)")  # NVIDIA's samples and trtexec
_FAILED_LIST = re.compile(r"^\s*Failed Tests? ?(?:\(\d+\))? ?:\s*$")
_LIT_NAME = re.compile(r"^\s+(\S+ :: \S+)\s*$")
_LIT = re.compile(r"^(?:FAIL|TIMEOUT|UNRESOLVED): (.{2,120}?)(?: \(\d+ of \d+\))?$")
_MESON = re.compile(r"^\s*\d+/\d+ +(\S+(?: / \S+)?) +(FAIL|TIMEOUT|ERROR) +[\d.]+s\b")
_DEQP = re.compile(r"^\s+(?:Fail|ResourceError|InternalError|Crash|Timeout) \((.+)\)\s*$")
_DEQP_NAME = re.compile(r"^Test case '([^']+)'\.\.")
_GO = re.compile(r"^\s*--- FAIL: (\S+)")
_NEXTEST = re.compile(r"^\s*(?:TRY \d+ )?(?:FAIL|SIGABRT|SIGSEGV|TIMEOUT) +\[ *[\d.]+s\] (?:\([ \d/]+\) )?(.{2,300})$")
# "MUL_MAT(m=16,n=2): [MUL_MAT] NMSE = 0.04 > 0.0005 FAIL": what was compared, with its limit.
_LIMIT = re.compile(r"^\s*(\S.{0,300}?): (?:\[\w+\] )?(\w[\w ]{0,30} = [\d.e+-]+ > [\d.e+-]+)\s+FAIL(?:ED)?\s*$")
# Browsers' platform tests: "FAIL [expected PASS] subtest: name".
_EXPECTED = re.compile(r"^\s*(?:FAIL|CRASH|TIMEOUT|ERROR) \[expected \w+\] (?:(?:sub)?test:? )?(.{1,120})")
_CHECK = re.compile(r"^(\S+\.\w+)[:(](\d+)\)?: (?:Failure|error: (?:Expected|Value of))")
# "  cudaDeviceSynchronize()", "    Which is: 700" and "  cudaSuccess" under a failed comparison of googletest.
_CALL = re.compile(r"^\s+((?:cuda|hip|cu)[A-Z]\w+)\(")
_VALUE = re.compile(r"^\s+Which is: ([1-9]\d{0,4})\b")
_EXPECTED_STATUS = re.compile(r"^\s+(?:cudaSuccess|hipSuccess|CUDA_SUCCESS)\s*$")
_BOOST = re.compile(r'^(\S+?)\((\d+)\): (?:fatal )?error: in "([^"]{1,200})": (.{1,200})')
_RUN = re.compile(r"\[ RUN +\] ([\w./]+)")
_GTEST = re.compile(r"\[  FAILED  \] (\d+) tests?, listed below|\[  FAILED  \] ([\w./]+)")
# Other frameworks, by words: "Test 'A::b()' failed", "24: Clamp  FAILED (testsuite.at:264)", "The following tests FAILED".
_ANY = re.compile(
    r"^\s*[Tt]est(?:case)?s?\b[ :#]+['\"`]?(?P<a>[\w:./()<>\[\]-]{2,80})['\"`]?\W{1,40}(?:has |have )?(?i:failed|failure)\b"
    r"|^\s*(?P<d>\S[\w./ -]{1,60}?)(?: \([^()]{1,40}\))*:? +(?:\*\*|RUNTIME )?FAIL(?:ED)?(?:\*\*)?\.?\s*$"
    r"|^(?:FAILED|FAIL):? +(?P<e>\S+\.(?:py|ipynb|sh|js|ts|rs|jl|cc|cpp|cu|cl|m|swift)\b\S*)\s*$"
    r"|^\s*(?P<g>\S.{0,78}?): Test Failed at \S"  # Julia
    r"|^\s*\d+[:.)] +(?P<b>\S.{1,78}?)\s*\.*\s+FAILED\b|^E +(?P<c>assert .{2,100})"
)
_LISTED = re.compile(r"^\s*\d+ - (\S+) \((?:Failed|SEGFAULT|Timeout|Subprocess \w+|ILLEGAL|BAD_COMMAND|Not Run|Exit code .+?|[A-Z]{4,})\)")
_COUNTED = re.compile(r"[Nn]umber of (?:FAILED|failed) +tests?\W+([1-9]\d*)\b|\b(\d+) out of (\d+) tests? passed"
    r"|^\s*([1-9]\d*) failed, \d+ passed\b|\b[Tt]ests? (?:ran|run|total)\W{1,3}\d+\b.{0,40}\b[Ff]ail(?:ed|ures)\W{1,3}([1-9]\d*)")
# "Running test: fold ........ [FAILED]", "fold .... FAIL".
_DOTTED = re.compile(r"^\s*(?:[Rr]unning )?(?:[Tt]est:? )?(?P<f>[\w./:<>\[\]-]{2,80})\s*[ .]{3,}\s*\[ ?(?:FAILED|FAIL|ERROR) ?\]")
# A list of CTest without its headline, and Bazel's messages beside its table.
_ALONE = re.compile(
    r"^\s*\d+ - (\S[^()]{1,160}?) \((?:Failed|Timeout|Not Run|Child \w+|Subprocess \w+|Bus error|Exit code 0x\w+|SEGFAULT|ILLEGAL"
    r"|NUMERICAL)\)$"
    r"|^(?:TIMEOUT|FAILED|FLAKY): (//\S+)"
)
# "Testing: md5 [OpenCL]... FAILED (cmp_all(0))": the runner's own reason stands behind it.
_TESTING = re.compile(
    r"^\s*(?:Testing|Checking|Verifying|Self[- ]?test(?:ing)?|Benchmarking):? +(?P<name>\S.{1,78}?) ?\.{2,} ?(?:FAIL(?:ED)?"
    r"|ERROR|Error)\b,? ?"
    r"(?P<why>[^\n]{0,60})"
)
_LIST = re.compile(r"[Tt]he following tests (?:have )?(?i:failed)")
LONGEST = 120
LEAST_TESTS = 10  # so many of a run are taken for the same tests as those of another run with as many
FLAKY = "test-flaky"
CAUSES = {FLAKY: ("order-or-timing",), "test-process-died": ("crash-outside-calls",)}


def reader() -> Tests:
    return Tests()


class Tests:
    """Remembers what the same command did before."""

    def __init__(self) -> None:
        self._ended: set[str] = set()
        self._totals: dict[int, set[str]] = {}  # how runs of so many tests ended
        self._runs = 0
        self._outcomes: dict[str, set[bool]] = {}  # of a test: has it passed, has it failed
        self._begun = 0  # the line in which a run began of which no test has failed yet
        self.passed: list[range] = []  # the lines of runs in which no test failed

    def read(self, near: Near) -> Iterator[Event]:
        ended = 0
        for event in self._told(near):
            ended += event.kind != FLAKY
            yield event
        if _BEGINS.match(near.text):
            self._begun = near.line
        elif ended:
            self._begun = 0
        elif self._begun and _ALL_PASSED.match(near.text):
            self.passed.append(range(self._begun, near.line + 1))
            self._begun = 0
        yield from self._flaky(near.text)

    def _flaky(self, text: str) -> Iterator[Event]:
        """One test that passed and failed."""
        if found := _ONE_ENDED.match(text):
            named = found.groupdict()
            name = next(named[key] for key in ("pytest", "short", "gtest", "cargo", "ctest", "nextest", "go") if named[key])
            how = next(value for key, value in named.items() if key.startswith("how_") and value)
            ends = self._outcomes.setdefault(name, set())
            known = len(ends)
            ends.add(how in _PASSED)
            if known == 1 and len(ends) == 2:
                why = "it depends on order, timing, chance, or an option in which the runs differ"
                said = f"The test {name} passed and failed in this log: {why}."
                yield _event(FLAKY, said, name, _next.FLAKE)
        elif found := _SOME.search(text):
            some, all_ = (int(one) for one in found.groups() if one)
            if 0 < some < all_:
                how = "passed" if "passed" in found[0] else "failed"
                said = f"A test {how} in {some:,} of {all_:,} runs: it depends on order, timing or chance."
                yield _event(FLAKY, said, "some of the runs", _next.FLAKE)
        elif _RERUN.search(text):
            said = "A test failed and passed when it was run again: it depends on order, timing or chance."
            yield _event(FLAKY, said, "rerun", _next.FLAKE)

    def _told(self, near: Near) -> Iterator[Event]:
        text = near.text
        if summary := _BAZEL_SUMMARY.match(text):
            yield _of_bazel(summary[2], summary[1])
        elif found := _BAZEL.search(text):
            yield _of_bazel(found[1], found[2])
        elif found := _PYTEST_ONE.search(text):
            why = f" ({found[2].strip().rstrip('.')})" if found[2] else ""
            step = _next.HANG if "imeout" in why else _next.RECORD
            yield _event("test-failed", f"The test {found[1]} failed{why}.", found[1], step)
        elif found := _PYTEST.search(text):
            yield from self._pytest(int(found[1] or 0), int(found[2] or 0))
        elif found := _CARGO_SUM.search(text):
            yield from self._cargo(found[1], int(found[2]), int(found[3]))
        elif found := _CARGO_DIED.search(text):
            yield _event(
                "test-process-died",
                f"A test process died ({found[2]}); the tests after the one that ran were not run.",
                found[2],
            )
        elif found := _CARGO.search(text):
            yield _event("test-failed", f"The test {found[1]} failed.", found[1])
        elif (found := _CTEST.search(text)) and found[2] != "0":
            name = found[4] or f"{found[2]} of {found[3]} tests"
            how = found[5] or found[6] or ""
            yield _event(
                "test-failed",
                f"{'The test ' if found[4] else ''}{name} failed{f' ({how})' if how and how != 'Failed' else ''}.",
                name,
            )
        elif found := _CHECK.match(text):
            at = source(f"{found[1]}:{found[2]}") or found[1]
            run = next((hit[1] for hit in map(_RUN.search, near.before(30)) if hit), "")
            yield _event("test-failed", f"{f'The test {run}' if run else 'A test'} failed at {at}.", run or at)
            yield from _compared(near.after(6))
        elif found := _BOOST.match(text):
            at = source(f"{found[1]}:{found[2]}") or found[1]
            yield _event("test-failed", f"The test {found[3]} failed at {at}: {found[4].rstrip('.')}.", found[3])
        elif (found := _DEQP.match(text)) and (name := next(filter(None, map(_DEQP_NAME.match, near.before(3))), None)):
            yield _event("test-failed", f"The test {name[1]} failed ({found[1][:LONGEST].rstrip('.')}).", name[1])
        elif found := _MESON.match(text):
            late = found[2] == "TIMEOUT"
            said = f"The test {found[1]} {'ran out of time' if late else 'failed'}."
            yield _event("test-failed", said, found[1], _next.HANG if late else _next.RECORD)
        elif found := _LIMIT.match(text):
            yield _event("test-failed", f"The test {found[1][:LONGEST]} failed ({found[2]}).", found[1], _next.INVESTIGATE)
        elif found := _SAMPLE.match(text) or _EXPECTED.match(text) or _LIT.match(text.strip()) or _NEXTEST.match(text) or _GO.match(text):
            yield _event("test-failed", f"The test {found[1].strip()[:LONGEST]} failed.", found[1])
        elif found := _GTEST.search(text):
            name = found[2] or f"{found[1]} tests"
            yield _event("test-failed", f"{'The test ' if found[2] else ''}{name} failed.", name)
        else:
            yield from _in_words(near)

    def _pytest(self, failed: int, passed: int) -> Iterator[Event]:
        self._runs += bool(failed or passed)
        self._ended |= {"failed"} if failed else {"passed"} if passed else set()
        if failed:
            yield _event("test-failed", "A pytest run has failing tests.", "pytest")
        if len(self._ended) == 2:
            text = "Runs of pytest in this log passed and failed: for the same command, it depends on order, timing or chance."
            yield _event(FLAKY, text, "pytest", _next.FLAKE)


    def _cargo(self, how: str, passed: int, failed: int) -> Iterator[Event]:
        """Programs of one workspace have different tests, so that only runs of as many tests are compared."""
        total = passed + failed
        ended = self._totals.setdefault(total, set())
        ended.add(how)
        if failed:
            yield _event("test-failed", "A run of cargo test has failing tests.", "cargo")
        if len(ended) == 2 and total >= LEAST_TESTS:
            text = (
                f"Runs of the same {total:,} tests in this log passed and failed: it depends on order, timing, chance, or an option "
                "in which the runs differ."
            )
            yield _event(FLAKY, text, f"cargo {total}", _next.FLAKE)


def _of_bazel(name: str, how: str) -> Event:
    late = how == "TIMEOUT"
    said = f"Bazel's test //{name} {'ran out of time' if late else 'failed'}."
    return _event("test-failed", said, name, _next.HANG if late else _next.RECORD)


def _compared(below: list[str]) -> Iterator[Event]:
    """What a status means that googletest compared with success: it prints the call, and its value as a number."""
    call, value = (next(filter(None, map(one.search, below)), None) for one in (_CALL, _VALUE))
    status = numbered(int(value[1])) if call and value and any(_EXPECTED_STATUS.search(line) for line in below) else None
    if call and status:
        yield status_event(status, "hip" if call[1].startswith("hip") else "cuda", call[1])


def _in_words(near: Near) -> Iterator[Event]:
    if found := _ALONE.search(near.text):
        name = found[1] or found[2]
        step = _next.HANG if "timeout" in near.text.lower() else _next.RECORD
        yield _event("test-failed", f"The test {name} {'ran out of time' if step == _next.HANG else 'failed'}.", name, step)
        return
    if found := _TESTING.search(near.text):
        why = found["why"].strip(" .")
        why = why[1:-1] if why.startswith("(") and why.endswith(")") else why
        name = found["name"].strip()
        yield _event("test-failed", f"The test {name} failed{f' ({why})' if why else ''}.", name)
    elif found := _DOTTED.search(near.text):
        yield _event("test-failed", f"The test {found['f']} failed.", found["f"])
    elif found := _ANY.search(near.text):
        name = next(filter(None, found.groups())).strip()
        said = f"A test failed because {name} was false." if found["c"] else f"The test {name} failed."
        yield _event("test-failed", "A test failed." if name.lower() in ("test", "tests") else said, name)
    elif (found := _COUNTED.search(near.text)) and (found[1] or found[4] or found[5] or int(found[2][:9]) < int(found[3][:9])):
        many = found[1] or found[4] or found[5]
        said = f"{many} {'test' if many == '1' else 'tests'} failed." if many else f"{found[2]} of {found[3]} tests passed."
        yield _event("test-failed", said, said)
    elif _LIST.search(near.text) or _FAILED_LIST.match(near.text):
        names = [hit[1] for line in near.after(20) if (hit := _LISTED.match(line) or _LIT_NAME.match(line))]
        if names:
            said = f"{'The test' if len(names) == 1 else 'Tests'} {', '.join(names[:5])}{' and more' if len(names) > 5 else ''} failed."
            yield _event("test-failed", said, names[0])


def _event(kind: str, message: str, name: str, command: str = _next.RECORD) -> Event:
    causes = CAUSES.get(kind, ())
    return Event(kind, "ending", message, (("name", name[:200]),), causes=causes, next=command)
