"""When a line was written, as far as it says so. Stamps of different clocks are not compared."""

from __future__ import annotations

import re
from datetime import UTC, datetime

LONGEST = 120  # bytes of a line in which its stamp stands
_ISO = re.compile(rb"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,6})\d*)?(Z|[+-]\d\d:?\d\d)?")
_DMESG_T = re.compile(rb"\[\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})\]")
_SYSLOG = re.compile(rb"^(\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d)")
_UPTIME = re.compile(rb"\[ *(\d{1,8}\.\d{3,6})\]")
_DAY = re.compile(rb"^\[?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\]? ")
NONE = ("", 0.0)
NO_YEAR = 2000  # syslog leaves it out; a leap year, so that every day exists


def stamp(line: bytes) -> tuple[str, float]:
    """The clock and its seconds: "world" (with a zone), "local", "syslog" (without a year), "uptime", "day"; "" where there is none."""
    head = line[:LONGEST]
    try:
        return _iso(head) or _dmesg(head) or _syslog(head) or _relative(head) or NONE
    except (ValueError, OverflowError):
        return NONE


def _iso(head: bytes) -> tuple[str, float] | None:
    found = _ISO.search(head)
    if found is None:
        return None
    zone = (found[4] or b"").replace(b"Z", b"+00:00").decode()
    when = datetime.fromisoformat(f"{found[1].decode()}T{found[2].decode()}{zone}")
    part = float(f"0.{(found[3] or b'0').decode()}")
    return ("world", when.timestamp() + part) if zone else ("local", when.replace(tzinfo=UTC).timestamp() + part)


def _dmesg(head: bytes) -> tuple[str, float] | None:
    found = _DMESG_T.search(head)
    if found is None:
        return None
    return "local", _named(found[1], found[2], found[3], int(found[4]))


def _syslog(head: bytes) -> tuple[str, float] | None:
    found = _SYSLOG.match(head)
    return ("syslog", _named(found[1], found[2], found[3], NO_YEAR)) if found else None


def _named(month: bytes, day: bytes, time: bytes, year: int) -> float:
    text = f"{year} {month.decode()} {day.decode()} {time.decode()}"
    return datetime.strptime(text, "%Y %b %d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def _relative(head: bytes) -> tuple[str, float] | None:
    if found := _UPTIME.search(head):
        return "uptime", float(found[1])
    if found := _DAY.match(head):
        hours, minutes, seconds = (int(found[i]) for i in (1, 2, 3))
        return "day", hours * 3600 + minutes * 60 + seconds + float(f"0.{(found[4] or b'0').decode()}")
    return None
