"""Where the fields of a kernel's struct lie, and where they lie on a host that declares arrays in place of vectors.

In OpenCL C a vector of three elements takes the room of four, and every vector is aligned to its size (OpenCL C 3.0, 6.3.5 Alignment of
Types). `float pos[3]` on the host takes 12 bytes and is aligned to 4: the same list of fields, other places.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from gpudx.kernel_checks.cl_types import plain

VECTOR = re.compile(r"([a-z]+)(2|3|4|8|16)")
VECTORS = ("VECTOR", "EXTVECTOR")


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    offset: int
    on_host: int  # with arrays in place of vectors


@dataclass(frozen=True)
class Layout:
    name: str
    size: int
    host_size: int
    fields: tuple[Field, ...]

    @property
    def moved(self) -> Field | None:
        """The first field that lies elsewhere on such a host."""
        return next((one for one in self.fields if one.offset != one.on_host), None)

    @property
    def vector(self) -> str:
        """The type of the first vector of three elements, else of the first vector."""
        kinds = [one.type for one in self.fields if VECTOR.fullmatch(one.type)]
        return next((one for one in kinds if one.endswith("3")), kinds[0] if kinds else "")

    @property
    def array(self) -> str:
        """What a host declares in place of that vector: float[3]."""
        match = VECTOR.fullmatch(self.vector)
        return f"{match[1]}[{match[2]}]" if match else ""


def of(kind: Any) -> str:
    """The layout of a struct as JSON; "" for other types."""
    canonical = kind.get_canonical()
    if canonical.kind.name != "RECORD":
        return ""
    fields, at, most = [], 0, 1
    for one in canonical.get_fields():
        size, align = _on_host(one.type)
        at = -(-at // align) * align
        fields.append(Field(one.spelling, _written(one.type), max(0, canonical.get_offset(one.spelling)) // 8, at))
        at, most = at + size, max(most, align)
    whole = Layout(plain(kind), canonical.get_size(), -(-at // most) * most, tuple(fields))
    return json.dumps(asdict(whole)) if whole.fields else ""


def read(text: str) -> Layout | None:
    data = json.loads(text) if text else None
    return Layout(**{**data, "fields": tuple(Field(**one) for one in data["fields"])}) if data else None


def _written(kind: Any) -> str:
    return plain(kind)


def _on_host(kind: Any) -> tuple[int, int]:
    """Size and alignment with arrays in place of vectors."""
    canonical = kind.get_canonical()
    if canonical.kind.name in (*VECTORS, "CONSTANTARRAY"):
        size, align = _on_host(canonical.element_type)
        return size * int(canonical.element_count), align
    if canonical.kind.name == "RECORD":
        at, most = 0, 1
        for one in canonical.get_fields():
            size, align = _on_host(one.type)
            at, most = -(-at // align) * align + size, max(most, align)
        return -(-at // most) * most, most
    return max(1, int(canonical.get_size())), max(1, int(canonical.get_align()))
