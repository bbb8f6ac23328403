"""The outline of a comparison of two runs: the first difference in one line, then how many of each kind."""

from __future__ import annotations

from gpudx.model.comparison import Aspect, Comparison, Difference
from gpudx.report.blocks import Block, Bullets, Outline, Paragraph, Rows, Section, Table
from gpudx.text import plural

TITLES: dict[Aspect, str] = {
    "processes": "processes",
    "allocations": "allocations",
    "kernels": "launches, by kernel",
    "geometry": "geometry of launches",
    "arguments": "launches with other arguments",
    "errors": "failing calls",
    "environment": "command, environment, devices",
    "objects": "loaded objects",
    "ending": "how it ended",
}
SAME = "same"


def comparison(made: Comparison) -> Outline:
    """For `terminal.show` and `markdown.show`."""
    head = f"first difference: {_line(made.first)}" if made.first else _same(made)
    sections = [Section("Differences", (_table(made),))]
    sections += [Section(TITLES[aspect].capitalize(), _told(made, aspect)) for aspect in TITLES if _of(made, aspect)]
    if made.notes:
        sections.append(Section("How far this goes", (Bullets(made.notes),)))
    sections.append(Section("Runs", (Rows((("GOOD", made.good), ("BAD", made.bad))),)))
    return Outline("SAME" if made.same else "DIFFERENT", "good" if made.same else "unsure", head, tuple(sections))


def _same(made: Comparison) -> str:
    what = "no difference" if made.same else "no differences, except in what is left out"
    return f"{what} in {plural(made.launches[0], 'launch', 'launches')}"


def _line(one: Difference | None) -> str:
    return one.text if one else ""


def _table(made: Comparison) -> Block:
    rows = [(TITLES[aspect], _count(made.counts[aspect])) for aspect in TITLES if aspect in made.counts]
    return Table(("compared", "different"), tuple(rows))


def _count(number: int) -> str:
    return f"{number:,}" if number else SAME


def _of(made: Comparison, aspect: Aspect) -> list[Difference]:
    return [one for one in made.shown if one.aspect == aspect]


def _told(made: Comparison, aspect: Aspect) -> tuple[Block, ...]:
    shown = _of(made, aspect)
    # Of a launch each argument that differs is shown, and the launch is counted.
    calls = {(one.process, one.good, one.bad) for one in shown}
    rest = made.counts[aspect] - (len(calls) if aspect == "arguments" else len(shown))
    more = (Paragraph(f"... and {rest:,} more{' launches' if aspect == 'arguments' and rest > 1 else ''}."),) if rest > 0 else ()
    return (Bullets(tuple(_line(one) + _calls(one) for one in shown)), *more)


def _calls(one: Difference) -> str:
    """The calls, as `gpudx show CASE calls` numbers them."""
    told = [f"{name} call {at}" for name, at in (("GOOD", one.good), ("BAD", one.bad)) if at is not None]
    return f" [{', '.join(told)}]" if told else ""
