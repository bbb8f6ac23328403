"""Data for the script: JSON that no text in it can end, with columns of numbers in few bytes."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from gpudx.model.drawing import Column

LEVEL = 6
# Inside <script> only "</script" and "<!--" mean something (HTML, "restrictions for contents of script elements"); without
# any "<" neither can occur.
HARMLESS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def data(value: Any) -> str:
    """A data block; the script finds it inside the figure it belongs to."""
    text = json.dumps(value, default=_column, separators=(",", ":"), ensure_ascii=True)
    return f'<script type="application/json">{text.translate(HARMLESS)}</script>'


def _column(column: Column) -> list[object]:
    """Width, and the compressed bytes. First bytes of all numbers come first, then all second ones: these repeat."""
    planes = b"".join(column.data[k :: column.width] for k in range(column.width))
    return [column.width, base64.b64encode(zlib.compress(planes, LEVEL)).decode()]
