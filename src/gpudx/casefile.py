"""`case.json`: a Case as JSON and back. The only place that knows the file's name, layout and schema number.

The layout is that of the dataclasses in `gpudx.model`, field by field; findings and the case also carry their
fingerprints, so that a reader in another language need not compute it. `case.schema.json` beside this file is made from the same
dataclasses by tools/case_schema.py. Fields that this version does not know are ignored when reading.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import json
import math
import numbers
import os
import sys
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpudx.errors import UserError
from gpudx.model import SCHEMA, Allocation, Case, Finding, Interval, Observation
from gpudx.model.finding import as_written
from gpudx.model.fingerprint import fingerprint

NAME = "case.json"
FAMILY, NUMBER = SCHEMA.split("/")
ALWAYS = ("scope", "certainty", "attribution")  # fields of every finding, though they came later

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


class DamagedCase(ValueError):
    """The JSON is readable but is not a case; the text says where."""


def now() -> str:
    """For a case's `created`."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def to_json(case: Case) -> dict[str, JsonValue]:
    """The case as plain JSON values."""
    value = encode(case)
    assert isinstance(value, dict)
    return value


def to_text(case: Case) -> str:
    """The content of `case.json`."""
    return json.dumps(to_json(case), indent=1, allow_nan=False) + "\n"


RENAMED = {
    "the failure did not come back": "the failure did not reproduce"
}  # values of cases that earlier versions wrote


def _current(data: object) -> object:
    """The same with the values that are written today."""
    state = data.get("investigation") if isinstance(data, dict) else None
    if isinstance(state, dict) and isinstance(state.get("stopped"), str):
        state["stopped"] = RENAMED.get(state["stopped"], state["stopped"])
    return data


def from_json(data: object) -> Case:
    """The case in `data`. Raises DamagedCase when a field is missing or has the wrong type."""
    case = decode(Case, _current(data), "case")
    assert isinstance(case, Case)
    return case


def write(case: Case, directory: Path) -> Path:
    """Write `case.json` into `directory`: readers see the old file or the new one, never a part."""
    path = directory / NAME
    write_whole(path, to_text(case))
    return path


def write_whole(path: Path, text: str) -> None:
    """Replace a file of the case at once."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write_through(draft, text)
        os.replace(draft, path)
    except OSError as error:
        _remove(draft)
        raise UserError(_why_not_written(path, error)) from error


def read(place: Path) -> Case:
    """Read the case in `place`: a case directory, or the `case.json` in it."""
    path = place / NAME if place.is_dir() else place
    data = _parse(path, _read_text(path))
    _check_schema(path, data)
    try:
        return from_json(data)
    except DamagedCase as error:
        raise UserError(f"{path} is damaged ({error}): run `gpudx run` again to make a new case.") from error


def _write_through(path: Path, text: str) -> None:
    """Write and hand to the disk before the rename: a rename may reach the disk before the content does."""
    with path.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _why_not_written(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"There is no room to write {path}: free some space, or put the case elsewhere with --case DIR."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{path} cannot be written (no permission): put the case elsewhere with --case DIR."
    return f"{path} cannot be written ({error.strerror}): put the case elsewhere with --case DIR."


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"There is no case at {path}: give the directory that `gpudx run` named.") from None
    except PermissionError:
        raise UserError(f"{path} cannot be read: ask its owner for permission, or copy the case.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a gpudx case: give the directory that `gpudx run` named.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): copy the case to another disk and retry.") from None


def _parse(path: Path, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        whole = text.rstrip().endswith("}")
        what = "is not valid JSON" if whole else "ends in the middle"
        raise UserError(f"{path} {what}: run `gpudx run` again to make a new case.") from None


def _check_schema(path: Path, data: object) -> None:
    name = data.get("schema") if isinstance(data, Mapping) else None
    family, _, number = name.partition("/") if isinstance(name, str) else ("", "", "")
    if family != FAMILY or not number.isdecimal():
        raise UserError(f"{path} is not a gpudx case: give the directory that `gpudx run` named.")
    if int(number) > int(NUMBER):
        raise UserError(f'{path} was written by a newer gpudx (schema "{name}"): update gpudx to read it.')


def encode(value: object) -> JsonValue:
    """Dataclasses of the model, and what they hold, as plain JSON values."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _valid_text(value)
    if dataclasses.is_dataclass(value):
        return _encode_dataclass(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, numbers.Integral):  # numpy integers too
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {_valid_text(str(key)): encode(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} has no place in a case")


def _encode_dataclass(value: Any) -> dict[str, JsonValue]:
    if isinstance(value, type):
        raise TypeError(f"{value.__name__} has no place in a case")
    every, spares = _fields(value.__class__)
    left_out = {name for name, default in spares if getattr(value, name) == default}
    fields = {name: encode(getattr(value, name)) for name in every if name not in left_out}
    if isinstance(value, Finding):
        fields["fingerprint"] = value.fingerprint
    if isinstance(value, Case):
        fields["fingerprint"] = fingerprint(value)
    return fields


@cache
def _fields(of: type) -> tuple[tuple[str, ...], tuple[tuple[str, object], ...]]:
    """Of a dataclass: all fields; and those that most findings do not have, with their defaults, at which they are left out."""
    fields = dataclasses.fields(of)
    spare = issubclass(of, Finding | Allocation)
    return tuple(one.name for one in fields), tuple(
        (one.name, one.default) for one in fields if spare and one.metadata and one.name not in ALWAYS
    )


def _valid_text(text: str) -> str:
    """File names may hold bytes that are no text; JSON may not. They are written as \\xNN and stay so when read."""
    return as_written(text) if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


# ---- cases of earlier versions ----


def _older_finding(value: dict[str, Any]) -> dict[str, Any]:
    """Findings had a free `details` object, and only the label of an allocation."""
    details = value.get("details")
    if not isinstance(details, dict):
        return value
    found = {**value, **_older_symptom(value.get("id"), details)}
    if isinstance(memory := value.get("allocation"), str):
        size, state = details.get("allocation_size"), details.get("state")
        size = size if isinstance(size, int) else None
        found["allocation"] = {"id": memory, "size": size, "state": str(state or "live")}
    if details.get("hold"):
        found["pair"] = {"hold": details["hold"], "edge": details.get("edge", "")}
    return found


def _older_symptom(name: object, details: dict[str, Any]) -> dict[str, Any]:
    if name not in SYMPTOMS:
        return {}
    symptom: dict[str, Any] = {"kind": SYMPTOMS[name], "decoded": details.get("decoded") or ""}
    if "ended_before" in details:
        known = {field.name: details.get(field.name) for field in dataclasses.fields(Interval)}
        symptom["interval"] = {key: item for key, item in known.items() if item is not None}
    return {"scope": "symptom", "symptom": symptom}


def _older_observation(value: dict[str, Any]) -> dict[str, Any]:
    """How a run was made was a phrase: "memcheck and fenced"."""
    name = value.get("experiment")
    if "ways" in value or not isinstance(name, str):
        return value
    words = {*name.split(" and ")}
    check = next((word for word in CHECKS if word in words), "")
    ways = {
        "check": check,
        "fence": "high" if "fenced" in words else "",
        "poison": "cb" if "poisoned" in words else "",
        "watch": "watched" in words,
        "serialise": "serialised" in words,
    }
    return {**value, "ways": ways}


SYMPTOMS: dict[object, str] = {
    "crash-in-call": "crash in call",
    "device-error-reported": "device error",
    "crash-outside-calls": "crash",
    "hang": "hang",
    "failed-call": "failed call",
}
CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
OLDER: dict[type, Callable[[dict[str, Any]], dict[str, Any]]] = {
    Finding: _older_finding,
    Observation: _older_observation,
}


@cache
def field_types(cls: type) -> dict[str, Any]:
    """The resolved type of every field of a dataclass of the model."""
    return typing.get_type_hints(cls, {**_parts_of_some_cases(), **vars(sys.modules[cls.__module__])})


def _parts_of_some_cases() -> dict[str, type]:
    """The types that `gpudx.model.case` does not import: a case is often written without any of them."""
    from gpudx.model.bisection import Bisection
    from gpudx.model.flake import Flake
    from gpudx.model.identity import Identity
    from gpudx.model.investigation import Investigation
    from gpudx.model.occupancy import Built
    from gpudx.model.verification import Verification

    return {one.__name__: one for one in (Bisection, Built, Flake, Identity, Investigation, Verification)}


def decode(kind: Any, value: object, where: str) -> Any:
    """`value` as the type `kind`; one of the forms that occur in the model."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(typing.cast(type, kind), value, where)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(inner, value, where)
    if origin is tuple:
        return _decode_tuple(inner, value, where)
    if origin is dict:
        return _decode_dict(inner[1], value, where)
    if origin is typing.Literal:
        return _expect(value in inner, value, where, " or ".join(map(str, inner)))
    return _decode_plain(kind, value, where)


def _decode_dataclass(cls: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise DamagedCase(f"{where} should be an object")
    hints, value = field_types(cls), OLDER.get(cls, dict)(value)
    present = {
        field.name: decode(hints[field.name], value[field.name], f"{where}.{field.name}")
        for field in dataclasses.fields(cls)
        if field.name in value
    }
    try:
        return cls(**present)
    except (TypeError, ValueError) as error:  # a required field is missing, or a finding has no evidence
        raise DamagedCase(f"{where}: {error}") from error


def _decode_union(kinds: tuple[Any, ...], value: object, where: str) -> object:
    if value is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind is not type(None)]
    for kind in others[:-1]:
        try:
            return decode(kind, value, where)
        except DamagedCase:
            continue
    return decode(others[-1], value, where)


def _decode_tuple(kinds: tuple[Any, ...], value: object, where: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise DamagedCase(f"{where} should be a list")
    if kinds[-1] is Ellipsis:
        return tuple(decode(kinds[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if len(value) != len(kinds):
        raise DamagedCase(f"{where} should have {len(kinds)} entries")
    return tuple(decode(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _decode_dict(kind: Any, value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DamagedCase(f"{where} should be an object")
    return {key: decode(kind, item, f"{where}.{key}") for key, item in value.items()}


def _decode_plain(kind: type, value: object, where: str) -> object:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return _expect(right, value, where, kind.__name__)


def _expect(right: bool, value: object, where: str, wanted: str) -> object:
    if not right:
        raise DamagedCase(f"{where} should be {wanted}")
    return value
