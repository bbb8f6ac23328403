"""gpudx.toml, the file of a project: what is suppressed there. Its limits for CI are read by gpudx.gates."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model.suppression import Suppression

NAME = Path("gpudx.toml")
KEYS = ("rule", "kernel", "path", "reason", "expires")


def suppressions(path: Path = NAME) -> tuple[Suppression, ...]:
    """Those of a file; none where there is no file. UserError for what cannot be understood.

    [[suppress]]
    rule = "pageable-copy"
    kernel = "warmup_*"          # optional
    path = "third_party/*"       # optional
    reason = "only at start"
    expires = 2027-01-31         # optional, the last day
    """
    if not path.exists():  # most projects have none: nothing is imported for it
        return ()
    import tomllib

    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check its permissions.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from None
    rows = data.get("suppress", [])
    if not isinstance(rows, list):
        raise UserError(f"{path}: write each suppression as a table [[suppress]].")
    return tuple(_suppression(path, row) for row in rows)


def _suppression(path: Path, row: Any) -> Suppression:
    from gpudx.model.suppression import Suppression

    if not isinstance(row, dict):
        raise UserError(f"{path}: write each suppression as a table [[suppress]].")
    unknown = [key for key in row if key not in KEYS]
    if unknown:
        raise UserError(f"{path}: [[suppress]] has no key {unknown[0]!r}: use {', '.join(KEYS)}.")
    for key in ("rule", "reason"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise UserError(f'{path}: [[suppress]] needs a {key}: write {key} = "...".')
    for key in ("kernel", "path"):
        if not isinstance(row.get(key, ""), str):
            raise UserError(f"{path}: {key} in [[suppress]] must be a string.")
    expires = row.get("expires")
    if expires is not None and not isinstance(expires, date):
        raise UserError(f"{path}: expires in [[suppress]] must be a date without quotes: expires = 2027-01-31.")
    return Suppression(row["rule"], row["reason"], row.get("kernel", ""), row.get("path", ""), expires)
