"""gpudx verify: is a fix a fix? Runs the program before and after a change until it can be told."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpudx.cli.declare import Option
from gpudx.cli.options import Budget, NewCase, ResultAsJson
from gpudx.cli.speak import clear_line, complain, follow, paragraph, renew, say
from gpudx.cli.times import duration
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model.verification import Condition, Judgement, Question, Trial, Verification
    from gpudx.verify.rounds import Limits
    from gpudx.verify.tally import Tally

EXIT = {"a fix": 0, "another failure": 2, "inconclusive": 2}  # everything else: 1
CANNOT_BE_TOLD = 2
LINES_SHOWN = 5  # of the output of a failing run
CONFIDENCES = (50.0, 99.9999)  # percent


def command(
    before: Annotated[str | None, Option(metavar="CMD", help="The program without the change; it must fail.")] = None,
    after: Annotated[str | None, Option(metavar="CMD", help="The program with the change; it should pass.")] = None,
    revert: Annotated[
        str | None, Option(metavar="CMD", help="The new build with the change taken out; it should fail again.")
    ] = None,
    confidence: Annotated[float, Option(metavar="PERCENT", help="Confidence of the result.")] = 99,
    runs: Annotated[int, Option(min=1, metavar="N", help="Run each command at most N times.")] = 1000,
    at_least: Annotated[
        int,
        Option(
            min=1,
            metavar="N",
            help="Run each command at least N times, for a tighter bound on the remaining failure rate.",
        ),
    ] = 1,
    budget: Budget = "10m",
    timeout: Annotated[
        float | None, Option(parser=duration, metavar="TIME", help="A run that takes longer fails: 30s, 2m.")
    ] = None,
    case: NewCase = None,
    resume: Annotated[Path | None, Option(metavar="CASE", help="Continue a verification that was stopped.")] = None,
    as_json: ResultAsJson = False,
) -> None:
    """Check whether a fix really fixes a failure: it must fail before, pass after, and fail again when reverted.

    CMD is a command line in quotes, or a script; it may begin with NAME=value. The failure is identified by its
    diagnosis or, without one, by how the program ends. Runs alternate until the result is settled; Ctrl-C keeps what was learned.

    Example: gpudx verify --before ./old --after ./new --revert ./new-undone

    Exit status: 0 for a fix; 1 for a placebo, a mitigation, or a change that is not shown to be the cause; 2 if it is inconclusive, or
    fails in another way.
    """
    from gpudx.cli.cases import new_case
    from gpudx.cli.investigate import budget_seconds
    from gpudx.model.verification import Verification
    from gpudx.verify.rounds import Limits, take_up

    try:
        limits = Limits(runs, budget_seconds(budget))
        if resume is not None:
            place = resume.absolute()
            _refuse_with_resume(before, after, revert, case)
            ended = _verify(replace(take_up(place), judgement=None), place, limits, as_json)
        else:
            asked = _question({"before": before, "after": after, "revert": revert}, confidence, at_least, timeout)
            _check_room(asked, runs)
            with new_case(case, "verify") as place:
                ended = _verify(Verification(asked), place, limits, as_json)
    except UserError as error:
        raise UserError(str(error), CANNOT_BE_TOLD) from None
    raise click.exceptions.Exit(ended)


def _refuse_with_resume(*given: object) -> None:
    if any(one is not None for one in given):
        raise UserError(
            "--resume continues the commands of its case: leave --before, --after, --revert and --case out."
        )


def _question(texts: dict[Condition, str | None], confidence: float, at_least: int, timeout: float | None) -> Question:
    from gpudx.lab import trials
    from gpudx.model.verification import Question

    if not texts["before"] or not texts["after"]:
        raise UserError("Two commands are needed: --before CMD, which fails, and --after CMD, which should not.")
    if not CONFIDENCES[0] <= confidence <= CONFIDENCES[1]:
        raise UserError(f"--confidence {confidence:g} is out of range: give a percentage from 50 to 99.9999.")
    commands = {name: trials.words_of(text) for name, text in texts.items() if text}
    if commands["before"] == commands["after"]:
        raise UserError("--before and --after are the same command: give the program without and with the change.")
    programs = {name: trials.identity(words) for name, words in commands.items()}
    return Question(commands, os.getcwd(), confidence / 100, at_least, timeout, secrets.randbits(32), programs)


def _check_room(asked: Question, runs: int) -> None:
    from gpudx.verify.tally import Tally

    needed = max(Tally(asked, ()).wins_needed, asked.at_least)
    if runs < needed:
        raise UserError(
            f"--runs {runs} is too few: {needed} runs of each command are needed even if every run fails before."
        )


def _verify(state: Verification, place: Path, limits: Limits, as_json: bool) -> int:
    """Run, tell, and give the exit status."""
    from gpudx.cli.running import analyse
    from gpudx.lab.trials import Interrupted
    from gpudx.verify.case import write_case
    from gpudx.verify.rounds import Verifier, Watcher
    from gpudx.verify.sentences import plan
    from gpudx.verify.tally import Tally

    for line in [*plan(Tally(state.question, state.trials)), *_same_file(state.question)]:
        paragraph(line)
    live = Live(place)
    verifier = Verifier(state, place, limits, Watcher(analyse, live.waits, live.ran))
    try:
        ended = verifier.run().judgement
    except (KeyboardInterrupt, Interrupted):
        live.clear()
        say(f"stopped; {_to_continue(place)}")
        ended = None
    except UserError as error:
        live.clear()
        complain(error)
        say(_to_continue(place))
        ended = None
    live.clear()
    status = EXIT.get(ended.answer, 1) if ended else CANNOT_BE_TOLD
    write_case(verifier.state, place, status)
    _tell(verifier.state, verifier.tally(), ended, place, as_json)
    return status


def _to_continue(place: Path) -> str:
    from gpudx.report.brief import near

    return f"to continue: {shlex.join(['gpudx', 'verify', '--resume', near(str(place))])}"


def _same_file(asked: Question) -> list[str]:
    """A change that did not get into the program is an old story."""
    from gpudx.lab.trials import split

    first, second = (split(words)[1][0] for words in (asked.commands["before"], asked.commands["after"]))
    same = first != second and asked.programs["before"] == asked.programs["after"] != ""
    return ["Note: before and after start the same file, byte for byte: check that the change is in it."] if same else []


class Live:
    """How it goes, on stderr: one line that changes on a terminal, now and then a line elsewhere."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def waits(self, what: str, seen: Tally, seconds: float) -> None:
        """Something is running."""
        from gpudx.text import duration

        left, needed = duration(max(0.0, seconds)), seen.wins_needed
        lead = f"lead {min(seen.wins, needed)} of {needed}"
        renew(f"{what}; at most {left} left; {lead}; failed: {_so_far(seen)}")

    def ran(self, trial: Trial, earlier: Sequence[Trial]) -> None:
        """The first failure of its kind is shown with what the program said last."""
        from gpudx.lab.trials import tail
        from gpudx.report.safe import clean

        known = {(t.condition, t.names[0]) for t in earlier}
        if not (trial.failed or trial.faults) or (trial.condition, trial.names[0]) in known:
            return
        self.clear()
        say(f"{trial.condition}, round {trial.round}: {clean(trial.summary)}")
        for line in tail(self._place / trial.folder, LINES_SHOWN):
            follow(f"  | {clean(line)}\n")

    def clear(self) -> None:
        """Take the changing line away."""
        clear_line()


def _so_far(seen: Tally) -> str:
    counts = [seen.count(condition) for condition in seen.question.commands]
    return ", ".join(f"{c.condition} {c.old + c.other}/{c.runs}" for c in counts)


def _tell(state: Verification, seen: Tally, ended: Judgement | None, place: Path, as_json: bool) -> None:
    from gpudx import casefile
    from gpudx.cli.page import paragraph
    from gpudx.report.brief import near

    if as_json:
        print(json.dumps(casefile.encode(state), indent=1))
        return
    if ended:
        print(f"gpudx: {ended.answer.upper()}")
        paragraph(ended.summary)
        print()
    _table(seen)
    if ended:
        print()
        for line in ended.because:
            paragraph(line, "  - ")
    print(f"\n  more: gpudx report   case: {near(str(place))}")


def _table(seen: Tally) -> None:
    from gpudx.cli.page import print_table
    from gpudx.verify.sentences import span

    counts = [seen.count(condition) for condition in seen.question.commands]
    rows = [(c.condition, f"{c.old} of {c.runs}", f"{c.other} of {c.runs}", span(c)) for c in counts]
    sure = f"failure rate ({100 * seen.question.confidence:g}% confidence)"
    print_table(["condition", "failed", "failed in another way", sure], rows)
