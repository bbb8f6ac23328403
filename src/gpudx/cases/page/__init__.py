"""One page over all cases, for a browser: grouped by cause, program or fingerprint, with their trend, to be filtered.

The page needs nothing else. The cases lie in it as data, and the script builds only what is looked at, so that ten thousand open at once.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from gpudx import __version__
from gpudx.cases.index import Entry, program_of
from gpudx.report.html.packed import data
from gpudx.report.html.skeleton import policy_head
from gpudx.report.safe import clean
from gpudx.text import plural

NO_CAUSE, NO_FAULT = "no cause found", "no fault found"
PAGE = "report.html"
STATUSES = ("CONFIRMED", "LIKELY", "INCONCLUSIVE", "REFUTED")
STATIC = 100  # cases that are readable without a script


def page(entries: Sequence[Entry], near: Path) -> str:
    """The document; `near` is the folder that it will be in, from which its links lead."""
    rows = [_row(one, near) for one in entries]
    style = _report_file("report.css") + _file("cases.css")
    script = _file("cases.js")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            policy_head("gpudx: cases", style, script),
            "<body>",
            '<a class="skip" href="#cases">Go to the cases</a>',
            f'<header><p class="maker">gpudx {escape(__version__)}</p><h1>Cases</h1><p>{escape(_summary(rows))}</p></header>',
            CONTROLS,
            '<main id="cases"><p id="count" role="status"></p><div id="groups"></div>',
            f"<noscript><p>Groups and filters need JavaScript. The latest cases:</p>{_static(rows)}</noscript></main>",
            data({"columns": COLUMNS, "rows": [list(row.values()) for row in rows]}),
            f"<script>{script}</script>",
            "</body></html>",
        ]
    )


COLUMNS = (
    "created",
    "status",
    "cause",
    "program",
    "command",
    "ending",
    "summary",
    "fingerprint",
    "host",
    "place",
    "link",
)
CONTROLS = """<form class="controls" role="search" aria-label="Cases">
<label>Filter <input id="filter" type="search" placeholder="cause, program, kernel, folder" autocomplete="off"></label>
<label>Status <select id="status"><option value="">all</option></select></label>
<label>Group by <select id="by"><option value="cause">cause</option><option value="program">program</option>
<option value="fingerprint">fingerprint</option></select></label>
<label>Last <select id="since"><option value="">all time</option><option value="1">day</option><option value="7">7 days</option>
<option value="30">30 days</option></select></label>
</form>"""


def _row(one: Entry, near: Path) -> dict[str, str]:
    status, cause = _verdict(one.verdict)
    return {
        "created": clean(one.created),
        "status": status,
        "cause": cause,
        "program": program_of(clean(one.command)),
        "command": clean(one.command),
        "ending": clean(one.ending),
        "summary": clean(one.summary),
        "fingerprint": clean(one.fingerprint),
        "host": clean(one.host),
        "place": clean(one.directory),
        "link": _link(one, near),
    }


def _verdict(text: str) -> tuple[str, str]:
    """ "CONFIRMED leak" is a status and a cause; "NO FAULT FOUND" is only a status."""
    word, _, rest = clean(text).partition(" ")
    if word in STATUSES and rest:
        return word.lower(), rest
    status = clean(text).lower()
    return status, NO_FAULT if status == NO_FAULT else NO_CAUSE


def _link(one: Entry, near: Path) -> str:
    """To the page of the case, else to its folder; none for one that is gone, or on another machine."""
    if one.host != socket.gethostname() or not os.path.isdir(one.directory):
        return ""
    path = os.path.join(one.directory, PAGE)
    target = path if os.path.isfile(path) else one.directory
    return quote(os.path.relpath(target, near), errors="surrogateescape")


def _summary(rows: Sequence[dict[str, str]]) -> str:
    causes = {row["cause"] for row in rows} - {NO_CAUSE, NO_FAULT}
    programs = {row["program"] for row in rows}
    return f"{plural(len(rows), 'case')} of {plural(len(programs), 'program')}, with {plural(len(causes), 'cause')}."


def _static(rows: Sequence[dict[str, str]]) -> str:
    items = (
        f"<li>{escape(row['created'])} {escape(row['program'])}: {escape(row['summary'])}</li>" for row in rows[:STATIC]
    )
    return f"<ul>{''.join(items)}</ul>"


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _report_file(name: str) -> str:
    return files("gpudx.report.html").joinpath(name).read_text(encoding="utf-8")
