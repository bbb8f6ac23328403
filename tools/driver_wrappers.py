"""One recording wrapper per exported name of a driver: reserve, fill, commit, call the driver, patch."""

from __future__ import annotations

from typing import Any

import driver_endings
from driver_header import entries, per_thread, prototype
from driver_model import Api, DriverCall, DriverParam, calls_of
from schema_model import Call

HEAD = "/* Made by tools/generate.py. */\n#define _GNU_SOURCE\n#include <errno.h>\n"
# Memory that is not watched, by family, and why.
UNWATCHED = {
    "managed": "managed memory, which the program can write at any time",
    "host": "host memory",
    "registered": "host memory",
    "mapped": "mapped physical memory, which other processes may have too",
    "graphics": "memory of a graphics API",
}
FLAGGED = "memory with flags, which the host may write"


def as_word(call: DriverCall, expression: str, base: str, depth: int) -> str:
    """A C expression widened to the 64-bit word that is recorded."""
    assert call.types
    if base in call.driver.words and depth == 0:
        return f"{call.driver.words[base]}({expression})"
    if depth or call.types.wide(base):
        return f"(uint64_t)(uintptr_t){expression}"
    return f"(uint64_t)(int64_t){expression}" if base in call.driver.signed else f"(uint64_t){expression}"


def array_line(call: DriverCall, index: int, param: DriverParam) -> str:
    """Records the content an array parameter points to."""
    count = call.arrays[param.name]
    if count == "text":
        return f"gdx_put_text(&open, {index}, {param.name});"
    if count.endswith(" bytes"):
        return f"gdx_put(&open, {index}, {param.name}, {count.removesuffix(' bytes')});"
    size = "1" if param.base == "void" and param.depth == 1 else f"sizeof *{param.name}"
    assert call.types
    if later := call.types.since.get(param.base):
        size = f"(gdx_{call.driver.short}_is_later() ? {later} : {size})"
    return f"gdx_put_array(&open, {index}, {param.name}, {count}, {size});"


def value_of(call: DriverCall, param: DriverParam, own_thread: bool) -> str:
    if param.how == "out":
        return "0"
    if param.base == call.driver.queue and param.depth == 0:
        return f"gdx_{call.driver.short}_queue({param.name}, {int(own_thread)})"
    return as_word(call, param.name, param.base, param.depth)


def fill_lines(call: DriverCall, own_thread: bool) -> list[str]:
    """Stores the parameters, before the driver sees them: first what they are, then what they point to."""
    lines, arrays, word = [], [], 0
    for index, param in enumerate(call.params):
        assert isinstance(param, DriverParam)
        if param.name in call.arrays:
            arrays.append(array_line(call, index, param))
        elif call.recorded(param):
            lines.append(f"open.slot->w[{word}] = {value_of(call, param, own_thread)};")
            word += 1
    if call.default_queue:
        lines.append(f"open.slot->w[{word}] = gdx_{call.driver.short}_queue(NULL, {int(own_thread)});")
    return [*lines, *(["gdx_show(&open);"] if arrays else []), *arrays]


def patch_lines(call: DriverCall) -> list[str]:
    """Stores what the driver gave back, where the program wanted it."""
    recorded = [p for p in call.params if call.recorded(p)]
    lines = []
    for word, param in enumerate(recorded):
        assert isinstance(param, DriverParam)
        if param.how == "out":
            value = as_word(call, f"*{param.name}", param.base, param.depth - 1)
            lines += [f"if ({param.name})", f"    open.slot->w[{word}] = {value};"]
    return lines


def arguments(call: Call) -> str:
    return ", ".join(p.name for p in call.params)


def queue_of(call: DriverCall) -> str | None:
    """The stream parameter that receives the work, if there is one."""
    wanted = [p.name for p in call.params if p.type == call.driver.queue and p.name == "queue"]
    return wanted[0] if wanted else None


def hook_call(call: DriverCall, when: str) -> list[str]:
    if not getattr(call, when):
        return []
    given = [*(["status"] if when == "after" else []), *(p.name for p in call.params)]
    return [f"gdx_{call.driver.short}_{when}_{call.name}({', '.join(given)});"]


def end_line(call: DriverCall, own_thread: bool) -> str:
    queue, short = queue_of(call), call.driver.short
    if queue and call.verb not in ("release", "begin_capture") and call.does != "create graph":
        return f"gdx_{short}_end_on(&open, {queue}, {int(own_thread)}, status);"
    return f"gdx_{short}_end(&open, status);"


def submits(call: DriverCall) -> bool:
    """Does it give work to a queue?"""
    quiet = ("release", "begin_capture", "wait", "poll", "query")
    return call.verb in ("copy", "fill") or (queue_of(call) is not None and call.verb not in quiet)


def has_crumb(call: DriverCall) -> bool:
    """Does a crumb stand behind it (native/core/crumbs.h)? Not where the call returns only when the work is done."""
    if not call.driver.crumbs or call.in_ledger:
        return False
    return call.verb in ("fill", "launch_graph") or (call.verb == "copy" and queue_of(call) is not None)


def crumb_before(call: DriverCall) -> list[str]:
    if call.driver.crumbs and call.does == "release queue":
        return [f"gdx_{call.driver.short}_crumbs_leaving(queue);"]
    return [f"gdx_{call.driver.short}_crumbs_ready();"] if has_crumb(call) and call.verb == "launch_graph" else []


def crumb_within(call: DriverCall, own_thread: bool) -> list[str]:
    if not has_crumb(call):
        return []
    return [f"gdx_{call.driver.short}_crumb(&open, {queue_of(call) or 'NULL'}, {int(own_thread)}, status);"]


def site_before(call: DriverCall, own_thread: bool) -> list[str]:
    """What native/driver/sites.h may do at this call, before it is written down."""
    if not call.driver.sites or not submits(call):
        return []
    queue = queue_of(call) or "NULL"
    return [f'unsigned site = gdx_{call.driver.short}_site_begins("{call.name}", {queue}, {int(own_thread)});']


def site_after(call: DriverCall, own_thread: bool) -> list[str]:
    """The same behind it."""
    queue = queue_of(call) or "NULL"
    ends = f"gdx_{call.driver.short}_site_ends(site, {queue}, {int(own_thread)}, status);"
    return [ends] if site_before(call, own_thread) else []


def transfers(call: DriverCall) -> bool:
    """May it return while it still reads or writes host memory? Copies that stay on devices are no transfers."""
    stays = any(part in call.name for part in ("DtoD", "DtoA", "AtoD", "AtoA", "Peer"))
    return call.verb == "copy" and queue_of(call) is not None and not stays


def graph_after(call: DriverCall, own_thread: bool) -> list[str]:
    """The launch of a graph is waited for where all launches are."""
    if call.verb != "launch_graph":
        return []
    short = call.driver.short
    return [
        f"if (GDX_UNLIKELY(gdx_waits_setting == GDX_WAITS_ALL) && status == {call.driver.success})",
        f"    gdx_{short}_wait_at(GDX_WAITS_AFTER, NULL, queue, {int(own_thread)});",
        *([f"gdx_{short}_checked_collect(&open);"] if short == "cu" else []),
    ]


def transfer_after(call: DriverCall, own_thread: bool) -> list[str]:
    """The wait of core/transfers.h."""
    if not transfers(call):
        return []
    return [f"gdx_{call.driver.short}_transfer_ends({queue_of(call)}, {int(own_thread)}, status);"]


def sources_before(call: DriverCall) -> list[str]:
    """The program waits: what copies may still read is compared (native/core/sources.h)."""
    return ["gdx_sources_look();"] if call.verb == "wait" or (call.verb == "copy" and not queue_of(call)) else []


HOST_DATA = 16  # bytes of a host function's data that are looked at: nobody says how many there are


def sources_after(call: DriverCall) -> list[str]:
    """A copy may still read host memory, or a host function its data."""
    if call.name.startswith("cuMemcpyHtoDAsync"):
        given = "src, size"
    elif call.name.startswith("cuLaunchHostFunc"):
        given = f"user_data, {HOST_DATA}"
    else:
        return []
    return [f"if (status == {call.driver.success})", f"    gdx_source_given({given});"]


def watch(call: DriverCall, what: str, *given: str) -> str:
    """Tells native/cuda/watch.h, or its like, something."""
    return f"gdx_{call.driver.short}_watch_{what}({', '.join(given)});"


def watch_before(call: DriverCall) -> list[str]:
    """What is told before the driver is called."""
    if not call.driver.watched:
        return []
    if call.does == "release queue":
        return [watch(call, "leaving", "queue")]
    freed = call.verb in ("release", "free_later") and call.object == "memory"
    return [watch(call, "freeing", f"(uint64_t){call.params[0].name}")] if freed else []


def watch_within(call: DriverCall, own_thread: bool) -> list[str]:
    """What is told before the end of the call is recorded."""
    if not call.driver.watched or not submits(call):
        return []
    return [watch(call, "submitted", queue_of(call) or "NULL", str(int(own_thread)), "status")]


def watch_after(call: DriverCall) -> list[str]:
    """What is told of memory, and that the program has waited."""
    if not call.driver.watched:
        return []
    if call.verb == "wait" or (call.verb == "copy" and queue_of(call) is None):
        return [watch(call, "waited", "status")]
    if call.does == "create global" and not call.name.endswith("Managed"):
        return watch_global(call)
    return watch_memory(call, call.extra["family"]) if call.does == "create memory" else []


def watch_global(call: DriverCall) -> list[str]:
    size = "size ? *size : 0"
    if call.driver.globals_watched:
        return [watch(call, "made", "result", size, "true", "status")]
    return [watch_cannot(call, size, "a variable of a module")]


def watch_cannot(call: DriverCall, size: str, why: str) -> str:
    result = call.params[0]
    assert isinstance(result, DriverParam)
    address = "result ? (uint64_t)*result : 0" if result.how == "out" else "(uint64_t)result"
    return watch(call, "cannot", address, size, f'"{why}"', "status")


def watch_memory(call: DriverCall, family: str) -> list[str]:
    if family in UNWATCHED:
        return [watch_cannot(call, "size ? *size : 0" if family == "graphics" else "size", UNWATCHED[family])]
    size = "pitch ? *pitch * height : 0" if family == "pitched" else "size"
    made = watch(call, "made", "result", size, str(int(family != "async")), "status")
    if any(p.name == "flags" for p in call.params):
        return ["if (flags)", f"    {watch_cannot(call, size, FLAGGED)}", "else", f"    {made}"]
    return [made]


def next_line(call: DriverCall, name: str) -> str:
    return f"{call.driver.result} status = gdx_{call.driver.short}_next.{name}({arguments(call)});"


def next_lines(call: DriverCall, name: str) -> list[str]:
    """The call of the driver. Code that a module is made from may be exchanged for one that checks itself; what the driver refuses
    then is compiled without optimization, and if that fails, too, loaded as it is."""
    if not call.exchanges:
        return [next_line(call, name)]
    api, image = call.driver, call.exchanges
    library = int(name.startswith("cuLibrary"))
    again = f"gdx_{api.short}_next.{name}({arguments(call)})"
    given = ", ".join("checked.image" if p.name == image else p.name for p in call.params)
    ours = f"gdx_{api.short}_checked"
    slow = {image: "checked.image", "options": f"{ours}_option", "values": f"{ours}_level", "option_count": "1"}
    slowly = ", ".join(slow.get(p.name, p.name) for p in call.params)
    loaded = f"gdx_{api.short}_checked_loaded(&checked, status, result, {library})"
    has_options = any(p.name == "options" for p in call.params)
    return [
        f"struct gdx_{api.short}_checked checked = gdx_{api.short}_checked_image({image});",
        f"{api.result} status = gdx_{api.short}_next.{name}({given});",
        f"bool refused = GDX_UNLIKELY(checked.program) && !{loaded};",
        *([f"if (refused && (status = gdx_{api.short}_next.{name}({slowly}), {loaded}))", "    refused = false;"] if has_options else []),
        "if (refused) {",
        f"    gdx_{api.short}_checked_refused(&checked);",
        f"    status = {again};",
        "}",
        f"gdx_{api.short}_capture_loaded({image}, status, result);",
    ]


def size_wanted(call: DriverCall) -> list[str]:
    """The runtime does not ask how large a variable of a module is; the record wants to know."""
    asks = call.does == "create global" and any(p.name == "size" and getattr(p, "how", "") == "out" for p in call.params)
    return ["size_t unasked = 0;", "size = size ? size : &unasked;"] if asks else []


def wrapper(call: DriverCall, name: str) -> str:
    """Writes the call down before the driver sees it."""
    own_thread, api = per_thread(call, name), call.driver
    begin = f"gdx_{api.short}_begin" if call.uses_context else "gdx_begin"
    body = [
        "struct gdx_open open;",
        *size_wanted(call),
        *site_before(call, own_thread),
        *crumb_before(call),
        f"if ({begin}(&open, GDX_CALL_{call.name}, __builtin_return_address(0))) {{",
        *(f"    {line}" for line in fill_lines(call, own_thread)),
        "    gdx_commit(&open);",
        *(["    gdx_stack_of_work(&open);"] if call.has_stack else []),
        *(["    gdx_first_stack(&open);"] if call.has_first_stack else []),
        "}",
        *hook_call(call, "before"),
        *sources_before(call),
        *watch_before(call),
        *next_lines(call, name),
    ]
    if patch := patch_lines(call):
        body += [f"if (status == {api.success} && gdx_still_open(&open)) {{", *(f"    {line}" for line in patch), "}"]
    body += [
        *watch_within(call, own_thread),
        *crumb_within(call, own_thread),
        end_line(call, own_thread),
        *site_after(call, own_thread),
        *graph_after(call, own_thread),
    ]
    body += [*sources_after(call), *transfer_after(call, own_thread)]
    body += [*hook_call(call, "after"), *watch_after(call)]
    return function(call, name, [*body, "return status;"])


def failure_wrapper(call: DriverCall, name: str) -> str:
    """Writes the call down after the driver, and only if it failed (a poll: if it was answered)."""
    poll, api = call.verb == "poll", call.driver
    noted = f"status != {api.not_ready}" if poll else f"GDX_UNLIKELY(gdx_{api.short}_worth_noting(status))"
    begin = "gdx_begin" if call.verb in ("query", "switch") else f"gdx_{api.short}_begin_late"
    body = [
        next_line(call, name),
        f"if ({noted}) {{",
        "    struct gdx_open open;",
        f"    if ({begin}(&open, GDX_CALL_{call.name}, __builtin_return_address(0))) {{",
        *(f"        {line}" for line in fill_lines(call, per_thread(call, name))),
        "        gdx_commit(&open);",
        "    }",
        f"    gdx_{api.short}_{'end_query' if call.verb == 'query' else 'end'}(&open, status);",
        "}",
        *hook_call(call, "after"),
        "return status;",
    ]
    return function(call, name, body)


def function(call: DriverCall, name: str, body: list[str]) -> str:
    return "\n".join([f"static {prototype(call, 'rec_' + name)}", "{", *(f"    {line}" for line in body), "}"])


def _more(api: Api) -> list[str]:
    parts = (("sites", api.sites), ("watch", api.watched), ("crumbs", api.crumbs))
    return [name for name, wanted in parts if wanted]


def includes(api: Api) -> list[str]:
    return [
        '#include "core/sites.h"',
        '#include "core/sources.h"',
        '#include "core/stacks.h"',
        *(f'#include "{api.name}/{part}.h"' for part in ("hooks", *_more(api), *(["capture"] if api.short == "cu" else []))),
    ]


def wrappers(schema: dict[str, Any], calls: list[Call]) -> str:
    api, mine = Api.load(schema["api"]), [c for c in calls_of(schema, calls) if not c.skip]
    own = [(c, name) for c in mine if not (c.by_hand or c.shaped_launch) for name in c.names]
    parts = [failure_wrapper(c, name) if c.only_failures else wrapper(c, name) for c, name in own]
    wrapped = {name: f"(void *)rec_{name}" for c in mine for name in c.names}
    rows = [f'    {{ "{name}", {wrapped.get(name, "NULL")} }},' for name, _ in entries(schema, calls)]
    count = f"GDX_{api.short.upper()}_NAMES"
    table = f"const struct gdx_name gdx_{api.short}_names[{count}] = {{\n" + "\n".join(rows) + "\n};\n"
    return "\n\n".join(["\n".join([HEAD, *includes(api)]), driver_endings.waits(api, mine), *parts, table])
