"""One recording wrapper per OpenCL entry: reserve, fill, commit, call the driver, patch."""

from __future__ import annotations

import re

from opencl_header import opencl_calls, prototype
from schema_model import HANDLES, Call, Param

ANEW = ("num_waits", "waits", "event")  # what an experiment at a call may give the driver in place of the program's
LEFT_ALONE = {"image": "an image", "pipe": "a pipe", "svm": "shared virtual memory"}


def as_word(expression: str, param_type: str) -> str:
    """A C expression widened to the 64-bit word that is recorded."""
    if param_type in HANDLES or param_type.endswith(("*", "_callback", "_native_kernel")):
        return f"(uint64_t)(uintptr_t){expression}"
    if param_type.startswith("CLegl") or param_type == "cl_GLsync":
        return f"(uint64_t)(uintptr_t){expression}"
    return f"(uint64_t)(int64_t){expression}" if param_type in ("cl_int", "cl_GLint") else f"(uint64_t){expression}"


def array_line(call: Call, index: int, param: Param) -> str:
    """Records the content an array parameter points to."""
    count = call.arrays[param.name]
    if count == "text":
        return f"gdx_put_text(&open, {index}, {param.name});"
    if count == "zero-ended":
        return f"gdx_put_properties(&open, {index}, {param.name});"
    if count == "2 words":
        return f"gdx_put(&open, {index}, {param.name}, 2 * sizeof(size_t));"
    if param.type.count("void") and "**" not in param.type:
        return f"gdx_put(&open, {index}, {param.name}, {count});"
    return f"gdx_put(&open, {index}, {param.name}, (size_t){count} * sizeof *{param.name});"


def fill_lines(call: Call) -> list[str]:
    """Stores the parameters, before the driver sees them: first what they are, then what they point to."""
    lines, arrays, word = [], [], 0
    for index, param in enumerate(call.params):
        if param.name in call.arrays:
            arrays.append(array_line(call, index, param))
        elif call.recorded(param):
            value = "0" if call.is_out_event(param) else as_word(param.name, param.type)
            lines.append(f"open.slot->w[{word}] = {value};")
            word += 1
    if ("stack", "stack") in call.fields:
        lines.append(f"open.slot->w[{len(call.fields) - 1}] = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();")
    return [*lines, *(["gdx_show(&open);"] if arrays else []), *arrays]


def patch_lines(call: Call) -> list[str]:
    """Stores what the driver gave back."""
    lines = []
    for word, (name, _) in enumerate(call.fields):
        if name == "result":
            lines.append(f"open.slot->w[{word}] = (uint64_t)(uintptr_t)result;")
        elif name == "event" and any(call.is_out_event(p) for p in call.params):
            # A driver that refuses the call writes nothing there, and the pointer may be as wrong as the rest.
            lines.append(f"open.slot->w[{word}] = event && {succeeded(call)} ? (uint64_t)(uintptr_t)*event : 0;")
    return lines


def succeeded(call: Call) -> str:
    return "*errcode == CL_SUCCESS" if call.has_errcode else "result == CL_SUCCESS"


def status_of(call: Call) -> str:
    if call.has_errcode:
        return "*errcode"
    if call.returns == "cl_int":
        return "result"
    return "result ? 0 : GDX_STATUS_NULL" if call.returns_object else "0"


def arguments(call: Call) -> str:
    return ", ".join(p.name for p in call.params)


def waits(call: Call) -> bool:
    """Has its command a wait list and an event? Those are sites for native/opencl/sites.h."""
    return has(call, "queue") and all(has(call, name) for name in ANEW)


def arguments_at_site(call: Call) -> str:
    """What the driver is given."""
    return ", ".join(f"site.{p.name}" if waits(call) and p.name in ANEW else p.name for p in call.params)


def site_before(call: Call) -> list[str]:
    given = f'queue, "{call.name}", NULL, {", ".join(ANEW)}'
    transfer = ["gdx_cl_transfer_begins(&site, blocking);"] if has(call, "blocking") else []
    return [f"gdx_cl_site_begins(&site, {given});", *transfer] if waits(call) else []


def site_after(call: Call) -> list[str]:
    ends = ["transfer", "site"] if has(call, "blocking") else ["site"]
    return [f"gdx_cl_{what}_ends(&site, queue, {succeeded(call)});" for what in ends] if waits(call) else []


def driver(call: Call) -> str:
    return f"gdx_cl_{call.through}_{call.name}" if call.through else f"gdx_cl_next.{call.name}"


def after_lines(call: Call) -> list[str]:
    """What native/opencl/buffers.c is told: that the program has waited, and what was made without us."""
    if call.verb == "wait":
        return ["gdx_cl_waited();"]
    if has(call, "blocking"):
        return ["if (blocking)", "    gdx_cl_waited();"]
    if call.verb == "create" and call.object in LEFT_ALONE:
        said = f'(result, {"size" if has(call, "size") else "0"}, "{LEFT_ALONE[call.object]}");'
        return [f"gdx_cl_not_fenced{said}", *([] if call.through else [f"gdx_cl_not_poisoned{said}"])]
    return []


def has(call: Call, name: str) -> bool:
    return any(p.name == name for p in call.params)


def submits(call: Call) -> bool:
    """Does it put a command into a queue?"""
    return has(call, "queue") and call.verb not in ("create", "retain", "release", "query", "wait", "flush", "other")


def sources_before(call: Call) -> list[str]:
    """The program waits: what copies may still read is compared (native/core/sources.h)."""
    if call.verb == "wait":
        return ["gdx_sources_look();"]
    return ["if (blocking)", "    gdx_sources_look();"] if has(call, "blocking") else []


def host_after(call: Call) -> list[str]:
    """Memory that the host can write while a kernel works on it (native/opencl/host_args.h)."""
    told = ""
    if call.does == "create buffer" and has(call, "host_ptr") and has(call, "size"):
        told = "gdx_cl_host_memory(flags & CL_MEM_USE_HOST_PTR ? result : NULL, host_ptr, size);"
    elif call.name == "clEnqueueMapBuffer":
        told = "gdx_cl_host_memory(buffer, result, size);"
    elif call.does == "create svm":
        told = "gdx_cl_host_memory(result, result, size);"
    return ["if (gdx_host_args())", f"    {told}"] if told else []


def contents_within(call: Call) -> list[str]:
    """What the program uploads looks like (native/opencl/contents.h)."""
    if call.name == "clEnqueueWriteBuffer":
        return ["gdx_cl_contents(&open, ptr, size);"]
    if call.does == "create buffer" and has(call, "host_ptr") and has(call, "size"):
        return ["gdx_cl_contents(&open, host_ptr, size);"]
    return []


def contents_back(call: Call) -> list[str]:
    """What the program reads back looks like, once it is there."""
    wanted = call.name == "clEnqueueReadBuffer"
    return [f"if (blocking && {succeeded(call)})", "    gdx_cl_contents_back(&open, ptr, size);"] if wanted else []


def read_back_after(call: Call) -> list[str]:
    """What the program reads back is looked at once it is there (native/opencl/read_back.h)."""
    if call.name == "clEnqueueReadBuffer":
        return [f"if (gdx_cl_read_back() && {succeeded(call)})", "    gdx_cl_read_back_is(buffer, ptr, size, blocking);"]
    if call.name == "clEnqueueMapBuffer":
        reads = "flags & CL_MAP_READ && gdx_cl_read_back()"
        return [f"if ({reads} && {succeeded(call)})", "    gdx_cl_read_back_is(buffer, result, size, blocking);"]
    return ["if (gdx_cl_read_back())", "    gdx_cl_read_back_waited();"] if call.verb == "wait" else []


def sources_after(call: Call) -> list[str]:
    """A copy may still read host memory."""
    if call.name != "clEnqueueWriteBuffer":
        return []
    return [f"if (!blocking && {succeeded(call)})", "    gdx_source_given(ptr, size);"]


def watch_before(call: Call) -> list[str]:
    """What native/opencl/watch.c and crumbs.c are told before the driver is called."""
    leaving = ["gdx_cl_watch_leaving(queue);", "gdx_cl_crumbs_leaving(queue);"]
    return leaving if call.does == "release queue" else []


def watch_within(call: Call) -> list[str]:
    """What it is told before the end of the call is recorded."""
    return [f"gdx_cl_watch_submitted(queue, {succeeded(call)});"] if submits(call) else []


def watch_after(call: Call) -> list[str]:
    """What it is told of memory."""
    if call.does == "create buffer" and has(call, "size"):
        properties = "properties" if has(call, "properties") else "NULL"
        return [f"gdx_cl_watch_made(result, context, {properties}, flags, size);"]
    if call.verb == "create" and call.object in LEFT_ALONE:
        return [f'gdx_cl_watch_cannot(result, {"size" if has(call, "size") else "0"}, "{LEFT_ALONE[call.object]}");']
    if call.does == "create buffer":
        return ['gdx_cl_watch_cannot(result, 0, "memory of a graphics API");']
    if call.does == "release mem":
        return ["gdx_cl_watch_released(mem);"]
    if call.name == "clGetContextInfo":
        return ["gdx_cl_context_asked(context, what, result, value);"]
    return ["gdx_cl_watch_asked(mem, what, result, value);"] if call.name == "clGetMemObjectInfo" else []


def check_before(call: Call) -> list[str]:
    """What native/opencl/checks.h is told: memory that the call writes, parts that it makes of a buffer, programs it cannot read."""
    if call.does == "release mem":
        return ["if (gdx_checks())", "    gdx_cl_check_mem_released(mem);", "gdx_cl_capture_released(mem);"]
    if call.does == "release queue":
        return ["if (gdx_checks())", "    gdx_cl_check_queue_leaves(queue);"]
    if call.does == "native_kernel":
        return ["if (gdx_checks())", "    gdx_cl_check_wrote_all(num_mems, mems);"]
    target = call.extra.get("writes") or call.extra.get("maps") or ""
    name, _, rest = target.partition("@")
    offset, _, size = rest.partition("+")
    if not any(p.name == name and p.type == "cl_mem" for p in call.params):
        return []
    side = next((word for word in ("buffer", "dst") if has(call, f"{word}_row_pitch")), "")
    if side:
        pitches = f"{side}_row_pitch, {side}_slice_pitch"
        return ["if (gdx_checks())", f"    gdx_cl_check_wrote_rows({name}, {side}_origin, region, {pitches});"]
    return ["if (gdx_checks())", f"    gdx_cl_check_wrote({name}, {offset or '0'}, {size or 'SIZE_MAX'});"]


def capture_after(call: Call) -> list[str]:
    """Handles of memory, for native/opencl/capture.h."""
    return ["gdx_cl_capture_made(result);"] if call.verb == "create" and call.returns == "cl_mem" else []


MADE_FROM = {
    "clCreateProgramWithBinary": "a binary",
    "clCreateProgramWithIL": "IL",
    "clCreateProgramWithBuiltInKernels": "built-in kernels of the driver",
}


PARTS = (  # of struct gdx_cl_parts: the parameters that are one, and their type
    ("offset", "offset", "size_t"),
    ("row", "row_pitch", "size_t"),
    ("slice", "slice_pitch", "size_t"),
    ("origin", "origin", "const size_t *"),
)


def parts(call: Call, name: str, kind: str) -> str:
    """The parameters of this name of a call's source and destination, as an initializer; "" where it has none."""
    found = [p.name for p in call.params if re.fullmatch(rf"(\w+_)?{name}", p.name) and p.type == kind]
    return f"{{ {', '.join(f'&{one}' for one in found)} }}" if found else ""


def redirect_before(call: Call) -> list[str]:
    """What native/opencl/redirect.h may change, once the call is written down."""
    if call.verb == "unmap" and has(call, "mem"):
        return ["if (gdx_cl_redirects())", "    gdx_cl_redirect_unmapped(mapped, &mem);"]
    if call.verb not in ("copy", "map") or not has_memory(call):
        return []
    mem = ", ".join(f"&{p.name}" for p in call.params if p.type == "cl_mem")
    given = [f".{field} = {found}" for field, name, kind in PARTS if (found := parts(call, name, kind))]
    told = f'gdx_cl_redirect_call("{call.name}", &(struct gdx_cl_parts){{ .mem = {{ {mem} }}, {", ".join(given)} }});'
    asked = [f"cl_mem asked = {memory_of(call)};"] if call.verb == "map" else []
    return [*asked, "if (gdx_cl_redirects())", f"    {told}"]


def redirect_after(call: Call) -> list[str]:
    if call.verb == "create" and call.returns == "cl_mem":
        return ["if (gdx_cl_redirects())", "    gdx_cl_redirect_made(result);"]
    mapped = call.verb == "map" and has_memory(call)
    return ["if (gdx_cl_redirects())", f"    gdx_cl_redirect_mapped(result, {memory_of(call)}, asked);"] if mapped else []


def has_memory(call: Call) -> bool:
    return any(p.type == "cl_mem" for p in call.params)


def memory_of(call: Call) -> str:
    return next(p.name for p in call.params if p.type == "cl_mem")


def check_after(call: Call) -> list[str]:
    if call.does == "create buffer" and has(call, "size"):
        properties = "properties" if has(call, "properties") else "NULL"
        return ["if (gdx_checks())", f"    gdx_cl_check_made(result, {properties}, flags, size);"]
    if call.does == "create image" and has(call, "desc"):
        return ["if (gdx_checks() && result)", "    gdx_cl_check_image(desc);"]
    if "function_name" in call.arrays:
        return ["if (gdx_checks() && result)", "    gdx_cl_check_function(function_name);"]
    if call.name == "clCreateSubBuffer":
        return ["if (gdx_checks())", "    gdx_cl_check_part(buffer);"]
    if call.does == "create program" and not call.by_hand and not call.through:
        return ["if (gdx_checks())", f'    gdx_cl_check_cannot(result, "it is made from {MADE_FROM[call.name]}, not from source");']
    return []


def wrapper(call: Call) -> str:
    void = call.returns == "void"
    keep = "" if void else f"{call.returns} result = "
    errcode = ["cl_int own_errcode = 0;", "if (!errcode) errcode = &own_errcode;"] if call.has_errcode else []
    patch = [*patch_lines(call), *contents_back(call)]
    lines = [
        f"{'GDX_HOT ' if call.hot else ''}static {prototype(call, 'rec_' + call.name)}",
        "{",
        *(f"    {line}" for line in errcode),
        "    struct gdx_open open;",
        *(["    struct gdx_cl_site site;"] if waits(call) else []),
        f"    if (gdx_begin(&open, GDX_CALL_{call.name}, __builtin_return_address(0))) {{",
        *(f"        {line}" for line in fill_lines(call)),
        "        gdx_commit(&open);",
        *(["        gdx_stack_of_work(&open);"] if call.has_stack else []),
        *(f"        {line}" for line in contents_within(call)),
        *(["        gdx_first_stack(&open);"] if call.has_first_stack else []),
        "    }",
        *(f"    {line}" for line in redirect_before(call)),
        *(f"    {line}" for line in (*sources_before(call), *watch_before(call), *check_before(call), *site_before(call))),
        f"    {keep}{driver(call)}({arguments_at_site(call)});",
    ]
    if patch:
        lines += ["    if (gdx_still_open(&open)) {", *(f"        {line}" for line in patch), "    }"]
    quiet = "gdx_end_quiet" if call.verb == "query" else "gdx_end"
    lines += [*(f"    {line}" for line in watch_within(call)), f"    {quiet}(&open, {status_of(call)});"]
    after = (*sources_after(call), *site_after(call), *after_lines(call), *watch_after(call), *check_after(call))
    after = (*after, *capture_after(call), *host_after(call), *redirect_after(call), *read_back_after(call))
    lines += [f"    {line}" for line in after]
    lines += [*([] if void else ["    return result;"]), "}"]
    return "\n".join(lines)


def wrappers(calls: list[Call]) -> str:
    own = opencl_calls(calls)
    parts = [
        '/* Made by tools/generate.py. */\n#include "cl_abi.h"\n#include "core/sources.h"\n#include "core/stacks.h"\n'
        '#include "opencl/capture.h"\n'
        '#include "opencl/contents.h"\n'
        '#include "opencl/crumbs.h"\n#include "opencl/host_args.h"\n#include "opencl/hooks.h"\n'
        '#include "opencl/read_back.h"\n#include "opencl/redirect.h"\n#include "opencl/sites.h"\n'
    ]
    parts += [wrapper(c) for c in own if not c.by_hand and not c.skip]
    rows = [f"    .{c.name} = rec_{c.name}," for c in own if not c.skip]
    parts.append("const struct cl_dispatch gdx_cl_recording = {\n" + "\n".join(rows) + "\n};\n")
    return "\n\n".join(parts)


def export(call: Call) -> str:
    give = "" if call.returns == "void" else "return "
    return "\n".join(
        [
            f"GDX_EXPORT {prototype(call, call.name)}",
            "{",
            f"    {give}gdx_cl_entry(__builtin_return_address(0))->{call.name}({arguments(call)});",
            "}",
        ]
    )


def exports(calls: list[Call]) -> str:
    own = [c for c in opencl_calls(calls) if not c.skip]
    names = ",\n".join(f'    {{ "{c.name}", offsetof(struct cl_dispatch, {c.name}) }}' for c in own)
    head = '/* Made by tools/generate.py. */\n#include "cl_abi.h"\n#include "opencl/hooks.h"\n'
    table = f"const struct gdx_cl_name gdx_cl_names[] = {{\n{names},\n    {{ NULL, 0 }}\n}};\n"
    return "\n\n".join([head, table, *(export(c) for c in own)])
