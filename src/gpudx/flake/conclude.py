"""The result of a study: a sentence for each test that failed, and each proposed cause against all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudx.evidence.reading import error_size
from gpudx.flake.asking import Records
from gpudx.flake.kinds import kinds, strangers
from gpudx.flake.ledger import WRONG
from gpudx.flake.pairs import Company
from gpudx.flake.poison import Poisoned
from gpudx.flake.study import Study, explained_by, touched
from gpudx.flake.ways import in_sequence, together
from gpudx.model.flake import ALONE, BUSY, EVERY, MOST_TOLD, PROCESS, Accused, Blame, Cell, Flake, FlakyTest, Kind
from gpudx.model.rates import Rate
from gpudx.text import plural

BEST = ("confirmed", "likely")
Command = Callable[[Sequence[int], bool], str]  # the words that run these tests, at the same time or not


def conclude(records: Records, found: Study, stopped: str, command: Command) -> Flake:
    """What is known now."""
    told = kinds(records, found.poisoned)
    blames = tuple(_blames(records, found, told))
    teller = _Teller(records, found, told, blames, command)
    shown = _shown(records, told)
    ledger = records.ledger
    return Flake(
        runner=records.suite.runner,
        tests=ledger.tests,
        confidence=records.suite.confidence,
        runs=len(ledger.batches),
        seconds=sum(batch.seconds for batch in ledger.batches),
        stopped=stopped,
        conditions=tuple(_any_failed(records, name) for name in _columns(records)),
        results=tuple(teller.tell(test) for test in shown[:MOST_TOLD]),
        followers=_followers(records, found),
        blames=blames,
        missing=records.suite.missing,
        quiet="" if told else _quiet(records),
    )


def _columns(records: Records) -> list[str]:
    return [name for name in EVERY if records.ledger.count(name)]


def _any_failed(records: Records, name: str) -> Cell:
    rows = records.ledger.matrix(name)
    return _cell(name, int((rows == WRONG).any(axis=1).sum()), len(rows), records.suite.confidence)


def _cell(name: str, failures: int, runs: int, confidence: float) -> Cell:
    fits = Rate(failures, runs).interval_always(confidence)
    return Cell(name, failures, runs, fits.low, fits.high)


def _shown(records: Records, told: dict[int, Kind]) -> list[int]:
    """Causes before their followers, those that fail most often first."""
    total = records.ledger.failures(*records.ledger.conditions())
    return sorted(told, key=lambda t: (told[t] == "cascade", -int(total[t]), t))


def _followers(records: Records, found: Study) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found.poisoned.values():
        if one.fails_itself and not one.needs:
            name = _names(records, one.by)[0]
            counts[name] = counts.get(name, 0) + 1
    return counts


def _quiet(records: Records) -> str:
    runs = sum(records.ledger.count(name) for name in records.ledger.conditions())
    high = Rate(0, runs).interval_always(records.suite.confidence).high
    return (
        f"No test failed in {plural(runs, 'run')} of the suite. A test that fails in less than {high:.0%} of its runs may still be"
        " among them: give more --runs or --budget to see rarer ones."
    )


def _names(records: Records, tests: Sequence[int]) -> tuple[str, ...]:
    return tuple(PROCESS if t == records.ledger.process else records.suite.tests[t] for t in tests)


# ---- causes against tests ----


def _blames(records: Records, found: Study, told: dict[int, Kind]) -> list[Blame]:
    """Each cause that a company's run shows, best first, with the tests that it explains and those that it cannot.

    One that explains no test beyond those before it is most likely a consequence, and is left to the run's own report.
    """
    beside = [t for t, kind in told.items() if kind == "concurrency-dependent"]
    made: list[Blame] = []
    for one in found.companies.values():
        for accused in _accused(one):
            blame = _blame(records, one, accused, beside)
            known = {name for earlier in made for name in earlier.explains}
            if not made or set(blame.explains) - known:
                made.append(blame)
    return made


def _accused(company: Company) -> list[Accused]:
    """What names a kernel can be held against tests; where nothing does, the best cause is told all the same."""
    every = [one for one in (company.run.look.accused if company.run.look else ()) if one.status in BEST]
    return [one for one in every if one.kernel] or every[:1]


def _blame(records: Records, company: Company, accused: Accused, beside: Sequence[int]) -> Blame:
    kernel, process = accused.kernel, records.ledger.process
    known = {t: touched(records, t) for t in beside if t != process}
    explains = [t for t, kernels in known.items() if kernel and kernel in kernels]
    blank = [t for t in beside if t != process and not _recorded(records, t)]
    explains += [process] if process in beside and process in explained_by(records, company, beside) else []
    rest = [t for t in beside if t not in explains and t not in blank]
    look = company.run.look
    return Blame(
        cause=accused.cause,
        status=accused.status,
        summary=accused.summary,
        kernel=kernel,
        pair=_names(records, [t for t in (company.test, *company.beside) if t != process]),
        shared=look.shared if look else (),
        explains=_names(records, explains),
        unexplained=_names(records, rest if kernel else []),
        unknown=_names(records, blank if kernel else [*rest, *blank]),
    )


def _recorded(records: Records, test: int) -> bool:
    """Is it known what the test does alone?"""
    return any(batch.look for batch in records.ledger.asked.get(f"alone {test}", ()))


# ---- the sentence for a test ----


class _Teller:
    """Words for one test at a time."""

    def __init__(
        self, records: Records, found: Study, told: dict[int, Kind], blames: tuple[Blame, ...], command: Command
    ) -> None:
        self._records, self._found, self._told, self._command = records, found, told, command
        self._blames = blames
        self._names = records.suite.tests
        self._texts: dict[int, list[str]] = {}
        for batch in records.ledger.batches:
            for number, text in batch.texts.items():
                self._texts.setdefault(int(number), []).append(text)
        ledger = records.ledger
        self._counts = {name: (ledger.failures(name), ledger.runs(name)) for name in _columns(records)}

    def tell(self, test: int) -> FlakyTest:
        kind, name = self._told[test], _names(self._records, (test,))[0]
        poison, company = self._found.poisoned.get(test), self._found.companies.get(test)
        partners = poison.by if poison else company.beside if company else ()
        cause = next((blame.cause for blame in self._blames if name in blame.explains), "")
        texts = self._texts.get(test, [])
        return FlakyTest(
            name=name,
            kind=kind,
            summary=self._summary(test, kind, poison, company),
            cells=tuple(self._cells(test)),
            partners=_names(self._records, partners),
            because=tuple(self._because(test, kind, company)),
            error=error_size(texts),
            said=_first_line(texts[0]) if texts else "",
            cause=cause,
            next_step="" if cause else self._next(test, kind, partners),
        )

    def _cells(self, test: int) -> list[Cell]:
        confidence = self._records.suite.confidence
        return [
            _cell(name, int(failures[test]), int(runs[test]), confidence)
            for name, (failures, runs) in self._counts.items()
            if runs[test]
        ]

    def _of(self, test: int, *names: str) -> str:
        cells = [(int(self._counts[n][0][test]), int(self._counts[n][1][test])) for n in names if n in self._counts]
        return f"{sum(k for k, _ in cells)} of {sum(n for _, n in cells)}"

    def _summary(self, test: int, kind: Kind, poison: Poisoned | None, company: Company | None) -> str:
        failures, runs = (sum(int(of[i][test]) for of in self._counts.values()) for i in (0, 1))
        alone = (
            f", {self._of(test, ALONE.name)} alone" if self._counts.get(ALONE.name) and test < len(self._names) else ""
        )
        crowd = self._of(test, *together(self._records))
        needed = "needs" if poison and poison.needs else kind
        return SENTENCES[needed].format(
            by=_list(_names(self._records, poison.by)) if poison else "",
            crowd=crowd,
            together="" if crowd.endswith(" of 0") else f", {crowd} at the same time",
            one=f"{self._of(test, *in_sequence(self._records))} one at a time{alone}",
            busy=self._of(test, BUSY.name),
            alone=self._of(test, ALONE.name) if alone else self._of(test, *in_sequence(self._records)),
            strangers=_list(strangers(self._records)[0]) if kind == "environment" else "",
            beside=f"; seen to fail {_company(self._records, company)}" if company else "",
            failures=failures,
            runs=plural(runs, "run"),
        )

    def _because(self, test: int, kind: Kind, company: Company | None) -> list[str]:
        lines = []
        if kind == "concurrency-dependent" and company and company.run.look:
            shared = company.run.look.shared
            lines.append(f"Several threads used in that run: {'; '.join(shared)}." if shared else NOTHING_SHARED)
        if kind == "concurrency-dependent" and test in self._found.searched:
            lines.append("It failed only when all tests ran.")
        return [*lines, *(self._by_itself(test) if kind in ("deterministic", "random") else ())]

    def _by_itself(self, test: int) -> list[str]:
        """What the record of a failing run of it alone shows."""
        ledger = self._records.ledger
        runs = [b for b in ledger.asked.get(f"alone {test}", ()) if b.look and ledger.failed(b, test)]
        shown = [one for b in runs if b.look for one in b.look.accused if one.status in BEST]
        return [f"The record of its run alone shows {one.cause} ({one.status}): {one.summary}" for one in shown[:1]]

    def _next(self, test: int, kind: Kind, partners: Sequence[int]) -> str:
        chosen = [t for t in (*partners, test) if t != self._records.ledger.process]
        beside = kind in ("concurrency-dependent", "resource-dependent")
        if kind == "not settled":
            return ""  # more runs: the report knows the case
        if kind == "environment":
            return "Run it on a GPU that is not in use."
        return f"gpudx investigate -- {self._command(chosen, beside)}"


SENTENCES = {
    "needs": "It fails alone and passes only after {by}, which leaves something behind that it needs.",
    "cascade": "It fails only after {by} has failed in the same process, and passes without it: a follower, not a separate fault.",
    "order-dependent": "It fails after {by}, which passes, in the same process; it passes alone.",
    "deterministic": "It failed in all of {runs}, in every condition, so it is not flaky.",
    "concurrency-dependent": "It fails while other tests run at the same time ({crowd}), never alone ({one}){beside}.",
    "resource-dependent": "It fails while a second copy of the suite runs ({busy}), not otherwise ({one}): it depends on load, on"
    " memory, or on something outside the process.",
    "environment": "It failed only while other programs had the GPU open ({strangers}).",
    "random": "It passes and fails alone in fresh processes ({alone} failed): it depends on nothing that was varied here.",
    "not settled": "It failed in {failures} of {runs}; what it depends on is not known ({one}{together}).",
}
NOTHING_SHARED = "Its threads used no GPU object in common in that run: what they share is on the host (variables, files, environment)."


def _company(records: Records, company: Company) -> str:
    if not company.beside:
        return "with only its own threads"
    names = _names(records, company.beside)
    return f"beside {_list(names)} alone" if company.test != records.ledger.process else f"with {_list(names)} alone"


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith("E ") or "panicked" in line or "xpected" in line), "")
    return (told.removeprefix("E ").strip() or (lines[0] if lines else ""))[:200]
