"""One file that needs nothing else: text, drawings and the script that draws them, for any browser of recent years.

The words are the outline's. A picture is a file in `pictures/` with `draw(case, page)`, named by a Picture in the outline;
`report.css` says how all looks, `report.js` draws. Nothing in the file comes from elsewhere, and its policy allows only our
own script and style, so that a name in a trace stays a name.
"""

from __future__ import annotations

from gpudx.model import Case
from gpudx.report import Page
from gpudx.report.html.skeleton import whole
from gpudx.report.outline import outline

DRAWS = True


def render(case: Case, page: Page) -> str:
    """The report as HTML."""
    return whole(outline(case, page.drawing, page.language), case, page)
