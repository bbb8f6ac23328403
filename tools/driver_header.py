"""The types and tables of a driver's API made from its schema file: ours, so that no vendor header is needed to build.

Layouts of structures are facts of the driver's binary interface; a test compares every size with the vendor's header.
"""

from __future__ import annotations

from typing import Any

from driver_model import DriverCall, Types, asked, calls_of
from schema_model import Call


def type_lines(schema: dict[str, Any]) -> list[str]:
    types = Types.load(schema)
    lines = [f"typedef {c} {name};" for name, c in types.scalars.items()]
    lines += [f"typedef struct gdx_{name} *{name};" for name in types.handles if name not in types.scalars]
    lines += [f"typedef unsigned int {name};" for name in types.enums]
    lines += schema["types"]["functions"]
    lines += [f"typedef struct {{ unsigned char bytes[{size}]; }} {name};" for name, size in types.opaque.items()]
    return [*lines, schema["types"]["members"].strip()]


def parameters(call: Call) -> str:
    return ", ".join(p.declaration for p in call.params) or "void"


def prototype(call: Call, name: str) -> str:
    return f"{call.returns} {name}({parameters(call)})"


def preamble(schema: dict[str, Any]) -> str:
    head = f"/* Made by tools/generate.py from schema/{schema['api']['name']}.toml. Edit that. */\n#pragma once\n"
    includes = "#include <stddef.h>\n#include <stdint.h>\n"
    constants = [f"#define {name} {value}" for name, value in (schema["errors"] | schema["constants"]).items()]
    return head + includes + "\n".join([*type_lines(schema), *constants]) + "\n"


def entries(schema: dict[str, Any], calls: list[Call]) -> list[tuple[str, DriverCall | None]]:
    """Every exported name with its prototype (None: only its address is of interest), in the order of strcmp."""
    rows: dict[str, DriverCall | None] = {c.name: None for c in calls_of(schema, calls) if c.skip}
    rows |= {c.name: c for c in asked(schema)}
    rows |= {name: c for c in calls_of(schema, calls) if not c.skip for name in c.names}
    return sorted(rows.items())


def per_thread(call: DriverCall, name: str) -> bool:
    """Does the entry of this name use the calling thread's own default queue?"""
    return name.endswith(call.driver.per_thread)


def hook_lines(call: DriverCall) -> list[str]:
    """What native/ must define for this call."""
    api = call.driver
    lines = [prototype(call, "rec_" + name) + ";" for name in call.names] if call.by_hand or call.shaped_launch else []
    if call.before:
        lines.append(f"void gdx_{api.short}_before_{call.name}({parameters(call)});")
    if call.after:
        rest = f", {parameters(call)}" if call.params else ""
        lines.append(f"void gdx_{api.short}_after_{call.name}({api.result} status{rest});")
    return lines


def abi_header(schema: dict[str, Any], calls: list[Call]) -> str:
    """Types, constants and the table of the driver's functions, for the hooks."""
    names, short = entries(schema, calls), schema["api"]["short"]
    table = [f"    {prototype(call, f'(*{name})') if call else f'void *{name}'};" for name, call in names]
    numbers = ",\n".join(f"    GDX_{short.upper()}_{name}" for name, _ in names)
    hooks = [line for call in calls_of(schema, calls) if not call.skip for line in hook_lines(call)]
    size, count = f"sizeof(struct gdx_{short}_table)", f"GDX_{short.upper()}_NAMES"
    return "\n".join(
        [
            preamble(schema),
            "/* The driver's own functions. The order is that of the names, so a number names a row here too. */",
            f"struct gdx_{short}_table {{\n" + "\n".join(table) + "\n};",
            f"enum {{\n{numbers},\n    {count}\n}};",
            f'_Static_assert({size} == {count} * sizeof(void *), "table");',
            f"extern struct gdx_{short}_table gdx_{short}_driver;",
            "/* What wrappers call: the same, but where something of ours stands in front (fences). */",
            f"extern struct gdx_{short}_table gdx_{short}_next;",
            *hooks,
            "",
        ]
    )


def public_header(schema: dict[str, Any], calls: list[Call]) -> str:
    """A header a program can be built with where the vendor's is not installed."""
    declared = [(name, call) for name, call in entries(schema, calls) if call]
    return preamble(schema) + "\n".join(prototype(call, name) + ";" for name, call in declared) + "\n"
