"""Make src/gpudx/case.schema.json from the dataclasses of gpudx.model.

    python tools/case_schema.py            write the file
    python tools/case_schema.py --check    exit with 1 if the file is not what would be written

Objects stay open for fields that later versions add. The fields of the first version are required, because every writer of
"gpudx.case/1" writes all of them; later ones are not, so that files of the first version stay valid.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/gpudx/case.schema.json"
sys.path.insert(0, str(ROOT / "src"))

from gpudx import model  # noqa: E402
from gpudx.casefile import field_types  # noqa: E402
from gpudx.model import SCHEMA, Case, Finding  # noqa: E402
from gpudx.model.fields import LATER  # noqa: E402

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
Schema = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Write or check the file; the exit status."""
    text = schema_text()
    if "--check" in arguments:
        current = TARGET.exists() and TARGET.read_text() == text
        print("current" if current else f"{TARGET.name} is not current: run python tools/case_schema.py")
        return 0 if current else 1
    TARGET.write_text(text)
    return 0


def schema_text() -> str:
    """The JSON Schema of `case.json`, as the file holds it."""
    definitions: dict[str, Schema] = {}
    top = _of(Case, definitions)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:" + SCHEMA.replace(".", ":").replace("/", ":"),
        "title": "gpudx case",
        "description": "One failure under investigation. Made from gpudx.model by tools/case_schema.py.",
    }
    return json.dumps({**head, **top, "$defs": dict(sorted(definitions.items()))}, indent=1) + "\n"


def _of(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of one type; dataclasses are put into `definitions` and referred to."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _reference(typing.cast(type, kind), definitions)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_of(one, definitions) for one in inner]}
    if origin is tuple:
        return _of_tuple(inner, definitions)
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(inner[1], definitions)}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    return {"type": PLAIN[kind]}


def _of_tuple(inner: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    if inner[-1] is Ellipsis:
        return {"type": "array", "items": _of(inner[0], definitions)}
    parts = [_of(one, definitions) for one in inner]
    return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}


def _reference(cls: type, definitions: dict[str, Schema]) -> Schema:
    name = _name(cls)
    if name not in definitions:
        definitions[name] = {}  # holds the place: a type may contain itself
        definitions[name] = _object(cls, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _name(cls: type) -> str:
    """Types of different modules share names (a Cell of an investigation, a Cell of a flake study)."""
    known = getattr(model, cls.__name__, cls)
    return cls.__name__ if known is cls else f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"


def _object(cls: type, definitions: dict[str, Schema]) -> Schema:
    hints = field_types(cls)
    properties = {field.name: _of(hints[field.name], definitions) for field in dataclasses.fields(cls)}
    if cls is Case:
        properties["schema"] = {"const": SCHEMA}
    if cls is Finding:
        properties["fingerprint"] = {"type": "string", "pattern": "^[0-9]+:[0-9a-f]+$"}
        properties["evidence"]["minItems"] = 1
        properties["allocation"]["anyOf"].append({"type": "string"})  # the label alone, in cases of earlier versions
    late = {field.name for field in dataclasses.fields(cls) if field.metadata == LATER}
    if cls is Case:
        properties["fingerprint"] = {"type": "string", "pattern": "^[0-9]+:[0-9a-f]+$"}
        late.add("fingerprint")
    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    required = [name for name in properties if name not in late]
    return {"type": "object", "description": text, "properties": properties, "required": required}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
