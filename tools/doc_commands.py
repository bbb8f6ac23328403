"""A page for each command: what its help says, its options, and an example that was run (tools/examples.py); and all exit statuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from doc_reference import MADE

EXAMPLES = Path(__file__).resolve().parent / "examples"
STATUS = "Exit status: "
UNFOLDED = "\b"  # of click: the paragraph is left as it is


def pages() -> dict[str, str]:
    """docs/commands/ and docs/exit-codes.md, by their path below docs/."""
    commands = _commands()
    made = {f"commands/{name}.md": MADE + page(name, command) for name, command in commands.items()}
    return {"commands/index.md": MADE + index(commands), **made, "exit-codes.md": MADE + exit_codes(commands)}


def _commands() -> dict[str, Any]:
    from gpudx.cli import make_app

    return dict(sorted(make_app().commands.items()))


def index(commands: dict[str, Any]) -> str:
    rows = [f"| [{name}]({name}.md) | {_lead(command)} |" for name, command in commands.items()]
    lead = "`gpudx COMMAND --help` says the same. Exit statuses of all: [exit-codes](../exit-codes.md)."
    return "\n".join(["# Commands\n", lead, "\n| command | does |\n| --- | --- |", *rows]) + "\n"


def page(name: str, command: Any) -> str:
    """What `gpudx NAME --help` says, and the example."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join(["gpudx", name, *(["[OPTIONS]"] if options else []), *map(_word, arguments)])
    rows = [f"| `{_cell(_word(one))}` | {_meaning(one)} |" for one in (*arguments, *options)]
    table = ["| argument or option | meaning |\n| --- | --- |", *rows, ""]
    return "\n".join([f"# gpudx {name}\n", f"    {usage}\n", _prose(command), "", *table, *_example(name)])


def _example(name: str) -> list[str]:
    kept = EXAMPLES / f"{name}.txt"
    return ["## Example\n", kept.read_text(encoding="utf-8")] if kept.is_file() else []


def exit_codes(commands: dict[str, Any]) -> str:
    rows = [f"| [{name}](commands/{name}.md) | {_cell(status(name, command))} |" for name, command in commands.items()]
    lead = (
        "Taken from each command's help. What cannot be done as asked (a file that is not there, options that exclude each other) "
        "ends every\ncommand with 2 and one line on stderr."
    )
    plugin = "\n`pytest --gpudx` leaves pytest's own; with `--gpudx-strict` a run that passed with faults ends with 1."
    return "\n".join(["# Exit statuses\n", lead, "\n| command | exit status |\n| --- | --- |", *rows, plugin]) + "\n"


def status(name: str, command: Any) -> str:
    """What the help says of it. Every command has to."""
    text = re.split(r"\n\s*\n", command.help)
    said = [part.partition(STATUS)[2] for part in text if STATUS in part]
    assert len(said) == 1, f"gpudx {name} --help has no sentence that begins with {STATUS!r}"
    return " ".join(said[0].split())


def _prose(command: Any) -> str:
    """The help, with the examples in it as code."""
    parts = []
    for part in re.split(r"\n\s*\n", command.help):
        lines = part.splitlines()
        if lines[0].strip() == UNFOLDED:
            lines = ["    " + line.strip() if not line.startswith("    ") else line for line in lines[1:]]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _lead(command: Any) -> str:
    return _cell(" ".join(command.help.partition("\n\n")[0].split()))


def _word(one: Any) -> str:
    """How an option or argument is written."""
    if one.param_type_name == "argument":
        return str(one.label)
    separator = "" if (one.metavar or "").startswith("[=") else " "
    value = "" if one.is_flag else separator + (one.metavar or one.name.upper())
    return ", ".join(sorted(one.opts, key=len)) + value


def _meaning(one: Any) -> str:
    default = one.default if isinstance(one.default, int | float | str) and not isinstance(one.default, bool) else None
    text = one.explained if one.param_type_name == "argument" else one.help
    return _cell(text or "") + (f" Default: `{default}`." if default not in (None, "") else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
