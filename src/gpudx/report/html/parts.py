"""Blocks of an outline as HTML. Every text goes through `escape`."""

from __future__ import annotations

import importlib
import re
from html import escape
from pathlib import PurePosixPath
from urllib.parse import quote

from gpudx.model import Case
from gpudx.report import Page
from gpudx.report.blocks import Block, Bullets, Code, Paragraph, Picture, Rows, Table
from gpudx.report.investigation import SAYS
from gpudx.report.languages import spoken

IN_BACKQUOTES = re.compile(r"`([^`'\n]+)`")  # not `quoted' as C compilers do


def block(one: Block, case: Case, page: Page) -> str:
    """One block."""
    if isinstance(one, Paragraph):
        return f"<p>{sentence(one.text)}</p>"
    if isinstance(one, Rows):
        return _rows(one)
    if isinstance(one, Bullets):
        return _bullets(one, page)
    if isinstance(one, Code):
        return _code(one, page)
    return _table(one, page) if isinstance(one, Table) else _picture(one, case, page)


def sentence(text: str) -> str:
    """Text, what is in backquotes as code."""
    return IN_BACKQUOTES.sub(r"<code>\1</code>", escape(text))


def _rows(rows: Rows) -> str:
    lines = (f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in rows.rows)
    return f"<dl>{''.join(lines)}</dl>"


def _bullets(bullets: Bullets, page: Page) -> str:
    files = bullets.files or ("",) * len(bullets.items)
    items = (f"<li>{_linked(text, file, page)}</li>" for text, file in zip(bullets.items, files, strict=True))
    kind = "ol" if bullets.numbered else "ul"
    return f"<{kind}>{''.join(items)}</{kind}>"


def _linked(text: str, file: str, page: Page) -> str:
    """The text, with the name of a file in it as a link to that file."""
    address = link(file, page)
    before, found, after = text.rpartition(file) if address else (text, "", "")
    if not found:
        return sentence(text)
    return f'{escape(before)}<a href="{escape(address)}">{escape(found)}</a>{escape(after)}'


def link(file: str, page: Page) -> str:
    """The address of a file of the case; "" for none, and for what does not lie in it."""
    place = PurePosixPath(file)
    if not file or page.files is None or place.is_absolute() or ".." in place.parts:
        return ""
    return quote(f"./{PurePosixPath(page.files, place)}", errors="replace")


def _code(code: Code, page: Page) -> str:
    """Lines as they are; the one that an arrow marks stands out. It can be scrolled, so it can be reached by key."""
    lines = (f"<mark>{escape(line)}</mark>" if line.startswith("> ") else escape(line) for line in code.lines)
    inner = "\n".join(lines)
    label = escape(spoken("Code", page.language))
    return f'<pre tabindex="0" role="group" aria-label="{label}"><code>{inner}</code></pre>'


def _table(table: Table, page: Page) -> str:
    """Roles are given by name: on a phone rows are shown as cards, and what is shown so loses the roles it has by itself."""
    heads = "".join(f'<th role="columnheader" scope="col">{escape(name)}</th>' for name in table.columns)
    weights = {spoken(text, page.language): f' class="{weight}"' for weight, text in SAYS.items()}
    rows = (zip(table.columns, row, strict=True) for row in table.rows)
    body = "".join(f'<tr role="row">{"".join(_cell(*cell, weights) for cell in row)}</tr>' for row in rows)
    label = escape(f"{spoken('Table', page.language)}: {', '.join(table.columns)}")
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="{label}"><table role="table">'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead><tbody role="rowgroup">{body}</tbody></table></div>'
    )


def _cell(head: str, text: str, weights: dict[str, str]) -> str:
    return f'<td role="cell" data-head="{escape(head)}"{weights.get(text, "")}>{escape(text)}</td>'


def _picture(picture: Picture, case: Case, page: Page) -> str:
    drawn: str = importlib.import_module(f"gpudx.report.html.pictures.{picture.name}").draw(case, page)
    return f"<figure>{drawn}<figcaption>{escape(picture.caption)}</figcaption></figure>"
