"""What mkdocs needs and GitHub does not: pages are written for both.

Links that leave docs/ lead to files that are not on the site, and become plain text. Lists may follow a line without a blank one.
The theme's search dialog gets the name that screen readers announce.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)")
DECISIONS = "decisions/"  # for people who change gpudx: the search shows other pages first
SEARCH = 'data-md-component="search" role="dialog"'
LIST = re.compile(r"(- |\d{1,2}\. )")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Called by mkdocs for each page."""
    if page.file.src_uri.startswith(DECISIONS):
        page.meta["search"] = {"boost": 0.2}
    folder = posixpath.dirname(page.file.src_uri)
    return LINK.sub(lambda found: _inside(found, folder), "\n".join(_with_blanks(markdown.splitlines())))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Called by mkdocs for each page that was made."""
    return _named(output)


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Called by mkdocs for pages without a source: 404.html, which has the search too."""
    return _named(output_content)


def _named(html: str) -> str:
    return html.replace(SEARCH, f'{SEARCH} aria-label="Search"')


def _inside(found: re.Match[str], folder: str) -> str:
    place = posixpath.normpath(posixpath.join(folder, found[2]))
    return f"{found[1]} (`{place.removeprefix('../')}`)" if place.startswith("../") else found[0]


def _with_blanks(lines: list[str]) -> list[str]:
    """The lines, with a blank one before each list that has none; code stays as it is."""
    out: list[str] = []
    fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        begins = LIST.match(line) and not fenced and out and out[-1].strip()
        if begins and not LIST.match(out[-1]) and not out[-1].startswith(" "):
            out.append("")
        out.append(line)
    return out
