"""Parts of capsules as C: what the reproducers of all APIs have in common."""

from __future__ import annotations

import re

import numpy as np

from gpudx.capsule.compare import element_type
from gpudx.capsule.model import Bytes, Capsule
from gpudx.errors import UserError

MOST_DATA = 1 << 20
HELPERS = """\
static inline void fill(unsigned char *to, size_t bytes, const unsigned char *with, size_t size)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = with[i % size];
}

enum { GUARD = 4096 };  /* bytes with a pattern after each buffer: a launch must not change them */

static int damaged(const char *name, const unsigned char *data, size_t bytes)
{
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < GUARD; i++)
        if (data[bytes + i] != 0xa5 && !bad++)
            first = i;
    if (bad)
        printf("%s: %zu bytes past its end were changed, the first %zu bytes past it\\n", name, bad, first);
    return bad > 0;
}

static void show(const char *name, const unsigned char *data, size_t bytes)
{
    unsigned long long sum = 1469598103934665603ull;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ data[i]) * 1099511628211ull;
    printf("%s: %zu bytes, hash %016llx", name, bytes, sum);
}

"""
NONFINITE = """\
static int show_{c}(const unsigned char *data, size_t bytes)
{{
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < bytes / sizeof({c}); i++) {{
        {c} value;
        memcpy(&value, data + i * sizeof value, sizeof value);
        if (!isfinite(value) && !bad++)
            first = i;
    }}
    if (bad)
        printf(", %zu NaN or infinite, the first at %zu", bad, first);
    return bad > 0;
}}

"""


def nonfinite(capsule: Capsule) -> str:
    """A function for each type of floating-point buffers."""
    floats = {c_type(capsule, one.number) for one in capsule.buffers} - {""}
    return "".join(NONFINITE.format(c=one) for one in sorted(floats))


def comment(text: str) -> str:
    """Text that ends no comment: not by itself, and not where a backslash joins two lines."""
    return re.sub(r"[\\\n\r]", " ", text).replace("*/", "* /")


def literal(text: str) -> str:
    """A C string, line by line."""
    lines = text.splitlines() or [""]
    return "\n".join(f"    {quoted(line)}" for line in lines)


def quoted(line: str) -> str:
    out = "".join(
        c if 32 <= ord(c) < 127 and c not in '"\\?' else f"\\{ord(c):03o}" if ord(c) < 128 else c for c in line
    )
    return f'"{out}\\n"'


def tables(capsule: Capsule) -> str:
    """Contents that are no constant."""
    out, total = [], 0
    for one in capsule.buffers:
        if one.before is None or one.parent is not None or repeated(one.before) is not None:
            continue
        used = np.flatnonzero(one.before)
        last = int(used[-1]) + 1
        total += last
        if total > MOST_DATA:
            raise UserError(
                f"The capsule holds more than {MOST_DATA >> 20} MiB of data that is not constant: shrink it further, or"
                " give the capsule itself."
            )
        out.append(f"static const unsigned char data_{one.number}[] = {{{numbers(one.before[:last])}}};\n")
    return "".join(out) + ("\n" if out else "")


def numbers(data: Bytes) -> str:
    values = [str(one) for one in data.tolist()]
    return "\n" + "\n".join("    " + ",".join(values[at : at + 32]) + "," for at in range(0, len(values), 32)) + "\n"


def repeated(content: Bytes) -> bytes | None:
    """The few bytes that a content consists of, over and over."""
    for size in (1, 4, 8):
        if len(content) >= size and len(content) % size == 0 and bool((content[size:] == content[:-size]).all()):
            return content[:size].tobytes()
    return None


def c_type(capsule: Capsule, number: int) -> str:
    argument = capsule.argument_of(number)
    kind = element_type(argument.type if argument else "")
    return {"f4": "float", "f8": "double"}.get(kind.str[1:], "")
