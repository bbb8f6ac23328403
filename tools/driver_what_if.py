"""Functions of CUDA and HIP that stand between our wrappers and the driver during a what-if experiment (native/driver/what_if.h): launches,
copies, fills, and what makes memory.

By hand, in native/NAME/what_if.c, are `below`, what they call, and copies that a structure describes.
"""

from __future__ import annotations

from driver_header import prototype
from driver_model import DriverCall, DriverParam

HEAD = "/* Made by tools/generate.py. Included by what_if.c, behind what is by hand. */\n#pragma once\n"
COUNTED = ("device", "managed", "host", "async")  # families of memory that experiments count: the same in facts/redirects.py


def _function(call: DriverCall, name: str, body: list[str]) -> str:
    return "\n".join([f"static {prototype(call, 'other_' + name)}", "{", *(f"    {line}" for line in body), "}\n"])


def _below(call: DriverCall, name: str, instead: dict[str, str] | None = None) -> str:
    given = ", ".join((instead or {}).get(p.name, p.name) for p in call.params)
    return f"below.{name}({given})"


def is_launch(call: DriverCall) -> bool:
    return call.verb == "launch" and {"kernel", "params"} <= {p.name for p in call.params}


def launch(call: DriverCall, name: str) -> str:
    short = call.driver.short
    extra = "extra" if any(p.name == "extra" for p in call.params) else "NULL"
    about = f"gdx_{short}_name_of(kernel)"
    groups = _groups(call)
    body = ["struct gdx_passed passed;", f"gdx_what_if_launch({about}, gdx_{short}_layout_of(kernel), params, {extra}, &passed);"]
    if groups:
        body += [f"unsigned int groups[] = {{ {', '.join(groups)} }};", f"gdx_what_if_grid({about}, groups);"]
    back = {one: f"groups[{axis}]" for axis, one in enumerate(groups)} | {"params": "passed.params", "extra": "passed.extra"}
    if "grid.x" in groups:
        back["grid"] = "(dim3){ groups[0], groups[1], groups[2] }"
    return _function(call, name, [*body, f"return {_below(call, name, back)};"])


def _groups(call: DriverCall) -> list[str]:
    """How many groups each dimension has; none where the call is given work-items or a structure."""
    names = {p.name for p in call.params}
    if "grid" in names:
        return [f"grid.{axis}" for axis in "xyz"]
    return [f"grid_{axis}" for axis in "xyz"] if "grid_x" in names else []


def _is_address(call: DriverCall, param: DriverParam) -> bool:
    return param.base in call.driver.addresses if param.depth == 0 else (param.base, param.depth) == ("void", 1)


def parts(call: DriverCall) -> dict[str, str]:
    """Members of struct gdx_transfer by the parameters that they stand for."""
    params = {p.name: p for p in call.params if isinstance(p, DriverParam)}
    ends = [name for name in ("src", "dst") if name in params and _is_address(call, params[name])]
    pitches = [name for name in ("src_pitch", "dst_pitch", "pitch") if name in params]
    sizes = [name for name in ("size", "count", "width") if name in params and params[name].depth == 0]
    found: dict[str, str] = {name: f"memory[{number}]" for number, name in enumerate(ends)}
    found |= {name: f"pitch[{number}]" for number, name in enumerate(pitches)}
    return found | dict.fromkeys(sizes, "bytes") if ends else {}


def transfer(call: DriverCall, name: str) -> str:
    members = parts(call)
    types = {p.name: p.type for p in call.params}
    word = {one: f"(uint64_t)(uintptr_t){one}" if "*" in types[one] else f"(uint64_t){one}" for one in members}
    back = {one: f"({types[one]})(uintptr_t)t.{m}" if "*" in types[one] else f"({types[one]})t.{m}" for one, m in members.items()}
    if any(p.type in call.driver.words for p in call.params) and "kinds" in types:
        back["kinds"] = f"t.backwards ? gdx_{call.driver.short}_backwards(kinds) : kinds"
    given = ", ".join(f".{member} = {word[one]}" for one, member in members.items())
    body = [
        f"struct gdx_transfer t = {{ {given} }};",
        f'gdx_what_if_transfer("{call.name}", &t);',
        f"return {_below(call, name, back)};",
    ]
    return _function(call, name, body)


def is_made(call: DriverCall) -> bool:
    return call.does == "create memory" and call.extra.get("family") in COUNTED and not call.by_hand


def made(call: DriverCall, name: str) -> str:
    body = [
        f"{call.driver.result} status = {_below(call, name)};",
        f"if (status == {call.driver.success} && result)",
        "    gdx_what_if_made((uint64_t)(uintptr_t)*result, size);",
        "return status;",
    ]
    return _function(call, name, body)


def _made_by(call: DriverCall, name: str) -> str:
    if is_launch(call):
        return launch(call, name)
    if is_made(call):
        return made(call, name)
    return transfer(call, name) if call.verb in ("copy", "fill") and not call.by_hand and parts(call) else ""


def header(calls: list[DriverCall]) -> str:
    own = [(call, name, text) for call in calls for name in call.names if (text := _made_by(call, name))]
    short = own[0][0].driver.short
    rows = [f"    {{ GDX_{short.upper()}_{name}, (void *)other_{name} }}," for _, name, _ in own]
    table = [f"static const struct gdx_{short}_stand_in made_from_schema[] = {{", *rows, "    { -1, NULL },", "};", ""]
    return "\n".join([HEAD, *(text for *_, text in own), *table])
