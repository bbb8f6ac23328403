"""Is a case valid by the schema that comes with gpudx?"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema

import gpudx


def check(case: object) -> None:
    """Raises jsonschema.ValidationError where it is not."""
    _validator().validate(case)


@cache
def _validator() -> jsonschema.Draft202012Validator:
    """To check the schema itself takes longer than to check a case with it: once is enough."""
    schema = json.loads((Path(gpudx.__file__).parent / "case.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
