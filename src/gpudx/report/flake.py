"""The wording of a study of flaky tests: the verdict of each test, the heat map, causes against tests, and mitigations apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpudx.model import Case
from gpudx.model.flake import EVERY, MOST_TOLD, PROCESS, Blame, Cell, Flake, FlakyTest
from gpudx.report.blocks import Block, Bullets, Code, Paragraph, Picture, Rows, Section, Table
from gpudx.report.verdict import Tone
from gpudx.text import plural

MOST_ROWS = 25
MOST_WORDS = 12  # tests with sentences
FEWEST = 4  # runs that are shown with an interval
HEADS = {
    "as-is": "as-is",
    "one-thread": "1 thr",
    "parallel": "paral",
    "shuffled": "shuff",
    "reversed": "rever",
    "alone": "alone",
    "busy": "busy",
    "serialised": "seria",
    "perturbed": "pertu",
}
HEAT = (
    "Failed/runs of each test that failed, causes first, then those that failed most often; an empty cell was not run."
)
SHADES = "·░▒▓█"


def verdict(flake: Flake) -> tuple[str, Tone, str]:
    """What stands on top."""
    if not flake.results:
        return "NO TEST FAILED", "good", flake.quiet
    counts = Counter(test.kind for test in flake.results)
    counts["cascade"] = sum(flake.followers.values()) or counts["cascade"]
    told = ", ".join(f"{number:,} {kind}" for kind, number in counts.most_common() if number)
    some = sum(counts.values())
    text = f"{plural(some, 'test')} of {flake.tests:,} failed at least once in {plural(flake.runs, 'run')}: {told}."
    causes = [f" The cause {blame.cause} explains {len(blame.explains)} of them." for blame in flake.blames[:1]]
    flaky = any(test.kind != "deterministic" for test in flake.results)
    return "FLAKY TESTS" if flaky else "FAILING TESTS", "bad", text + "".join(causes)


def first(case: Case) -> Iterator[Section]:
    """Before the story of a single run: what decides for each test."""
    flake = case.flake
    if flake is None or not flake.results:
        return
    yield Section("Tests against conditions (failed/runs)", _heat(flake))
    yield Section("What the failures depend on", tuple(_tests(flake)))
    for number, blame in enumerate(flake.blames):
        yield Section("Does the cause explain every test?" if not number else "Another cause", tuple(_blame(blame)))
    yield Section("Not explained by any cause that was found", tuple(_unexplained(flake)))
    if flake.mitigations:
        head = Paragraph("These hide the failure until it is fixed. They do not show its cause.")
        yield Section("Mitigations, not causes", (head, Code(flake.mitigations)))


def rest(case: Case) -> Iterator[Section]:
    """How it was found out."""
    flake = case.flake
    if flake is None:
        return
    stopped = f"Stopped after {plural(flake.runs, 'run')}, {flake.seconds:.0f} s of tests: {flake.stopped}."
    sure = f"Statements hold for each test with {100 * flake.confidence:g}% confidence."
    yield Section("The study", (Paragraph(f"{stopped} {sure}"), _conditions(flake)))
    if flake.results:
        yield Section("Failure rates", (_rates(flake),))
    yield Section(
        "Conditions that were not run",
        (Bullets(tuple(f"{name}: {why}" for name, why in flake.missing)),) if flake.missing else (),
    )


def _heat(flake: Flake) -> tuple[Block, ...]:
    """A row for each test, causes before followers; k/n for each condition, with a colour or a shade."""
    names = [cell.condition for cell in flake.conditions]
    rows = [(test.name, *(_shaded(test, name) for name in names)) for test in heads(flake)[:MOST_ROWS]]
    table = Table(("test", *(HEADS.get(name, name) for name in names)), tuple(rows))
    return (Picture("heat_map", HEAT, (table, *_bullets(_more(flake, MOST_ROWS)))),)


def heads(flake: Flake) -> list[FlakyTest]:
    """Tests that failed, without those that only follow another."""
    return [test for test in flake.results if test.kind != "cascade" or not flake.followers]


def unlisted(flake: Flake) -> list[str]:
    """What a map of the tests that failed leaves out, counted."""
    failed = sum(test.name != PROCESS for test in heads(flake)) + sum(flake.followers.values())
    rest = flake.tests - failed
    passed = [f"{plural(rest, 'other test')} never failed."] if rest > 0 and len(flake.results) < MOST_TOLD else []
    return [*_more(flake, len(flake.results)), *passed]


def _more(flake: Flake, shown: int) -> list[str]:
    hidden = len(heads(flake)) - shown
    more = [f"... and {plural(hidden, 'more test')} that failed"] if hidden > 0 else []
    return more + [
        f"... and {plural(n, 'test')} that only follow{'s' if n == 1 else ''} {name}"
        for name, n in flake.followers.items()
    ]


def _bullets(lines: list[str]) -> tuple[Bullets, ...]:
    return (Bullets(tuple(lines)),) if lines else ()


def _shaded(test: FlakyTest, name: str) -> str:
    cell = next((one for one in test.cells if one.condition == name), None)
    if cell is None:
        return ""
    shade = SHADES[0] if not cell.failures else SHADES[min(4, 1 + int(4 * cell.failures / cell.runs))]
    return f"{shade} {cell.failures}/{cell.runs}"


def _tests(flake: Flake) -> Iterator[Block]:
    """Each in a sentence; those that a cause explains as one, after the first of them."""
    shown = [test for test in flake.results if test.kind != "cascade"] or list(flake.results)
    alike = [test for test in shown if test.cause and not test.because]
    single = [test for test in shown if test not in alike]
    for test in single[:MOST_WORDS]:
        yield Bullets((_sentence(test),))
        if test.because:
            yield Rows(tuple(("", line) for line in test.because))
    for cause in dict.fromkeys(test.cause for test in alike):
        yield Bullets((_together(cause, [test for test in alike if test.cause == cause]),))
    if len(single) > MOST_WORDS:
        yield Bullets((f"and {len(single) - MOST_WORDS} more; case.json has them all",))
    for name, number in flake.followers.items():
        follow = "only follows" if number == 1 else "only follow"
        yield Bullets((f"{plural(number, 'test')} {follow} {name}: one cause, not {number + 1}.",))


def _sentence(test: FlakyTest) -> str:
    error = f" Its results are {test.error}." if test.error else ""
    said = f" It printed: {test.said}" if test.said and not test.error else ""
    return f"{test.name}: {test.kind}. {test.summary}{error}{said}"


def _together(cause: str, tests: list[FlakyTest]) -> str:
    names = _names(tuple(f"{test.name} ({test.error})" if test.error else test.name for test in tests))
    return f"{plural(len(tests), 'more test')} of the same kind, explained by {cause}: {names}."


def _blame(blame: Blame) -> Iterator[Block]:
    yield Paragraph(f"{blame.cause} ({blame.status}): {blame.summary}")
    if blame.shared:
        where = (
            f"Used by several threads in the run of {' and '.join(blame.pair)}"
            if blame.pair
            else "Used by several threads"
        )
        yield Paragraph(f"{where}: {'; '.join(blame.shared)}.")
    lines = [f"explains {len(blame.explains)}: {_names(blame.explains)}"] if blame.explains else ["explains none"]
    if blame.unexplained:
        why = (
            f", which never use kernel {blame.kernel}"
            if len(blame.unexplained) > 1
            else f", which never uses kernel {blame.kernel}"
        )
        lines.append(f"cannot explain {len(blame.unexplained)}: {_names(blame.unexplained)}{why}")
    if blame.unknown:
        lines.append(f"cannot be checked against {len(blame.unknown)}: {_names(blame.unknown)}")
    yield Bullets(tuple(lines))


def _unexplained(flake: Flake) -> Iterator[Block]:
    """Tests without a cause, each with its own next step."""
    rest = [test for test in flake.results if not test.cause and test.kind != "cascade" and test.next_step]
    for test in rest[:MOST_WORDS]:
        yield Bullets((f"{test.name} ({test.kind}). Next:",))
        yield Code((test.next_step,))


def _conditions(flake: Flake) -> Table:
    rows = tuple(
        (one.condition, EVERY[one.condition].what, f"{one.failures} of {one.runs}") for one in flake.conditions
    )
    return Table(("condition", "what it is", "runs with a failure"), rows)


def _rates(flake: Flake) -> Table:
    shown = [test for test in flake.results if test.kind != "cascade" or not flake.followers][:MOST_WORDS]
    rows = [(test.name if cell is _told(test)[0] else "", *_row(cell)) for test in shown for cell in _told(test)]
    return Table(("test", "condition", "failed", f"failure rate ({100 * flake.confidence:g}% interval)"), tuple(rows))


def _told(test: FlakyTest) -> tuple[Cell, ...]:
    """Conditions with more than a glance; all of them are in case.json."""
    return tuple(cell for cell in test.cells if cell.runs >= FEWEST) or test.cells


def _row(cell: Cell) -> tuple[str, str, str]:
    return cell.condition, f"{cell.failures} of {cell.runs}", f"{cell.low:.0%} to {cell.high:.0%}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:MOST_WORDS]) + (f" and {len(names) - MOST_WORDS} more" if len(names) > MOST_WORDS else "")
