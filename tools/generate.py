"""Makes everything that follows from schema/*.toml, so that nothing is typed twice.

usage: generate.py SCHEMA_DIR OUT_DIR

    gdx_abi.h        structures and numbers of the trace format (native/core)
    gdx_schema.c     the schema text that is stored at the head of every trace
    cl_abi.h         OpenCL types, constants, prototypes and the dispatch table (native/opencl)
    cl_wrappers.c    one recording wrapper per OpenCL entry, and the layer's table
    cl_exports.c     the same entries as exported symbols, for loaders without layers
    cl.h             our own OpenCL header, installed as CL/cl.h for machines without the vendor's
    cu_abi.h         CUDA driver types, constants and the table of its functions (native/cuda)
    cu_endings.h     how calls of the CUDA driver end, and waits of our own: what it has in one shape with HIP
    cu_launches.h    the wrappers of its launches that have one shape with those of HIP
    cu_wrappers.c    one recording wrapper per entry of the CUDA driver
    cu.h             our own header of the CUDA driver, for tests on machines without the vendor's
    hip_abi.h, hip_endings.h, hip_launches.h, hip_wrappers.c, hip.h    the same of HIP (native/hip)
    schema.json      the schema text, for `gpudx doctor -v`
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import driver_endings
import driver_header
import driver_launches
import driver_what_if
import driver_wrappers
from driver_model import Api, calls_of, load_driver
from opencl_header import abi_header, public_header
from opencl_wrappers import exports, wrappers
from schema_model import Call, load_calls

C_TYPES = {"u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "i32": "int32_t", "char": "char"}
DRIVERS = ("cuda", "hip")
SIZES = {"u16": 2, "u32": 4, "u64": 8, "i32": 4, "char": 1}


def split_type(text: str) -> tuple[str, int]:
    """("u64[9]") -> ("u64", 9); a plain type counts once."""
    base, _, count = text.rstrip("]").partition("[")
    return base, int(count) if count else 1


def layout_offsets(fields: list[list[str]]) -> list[tuple[str, str, int, int]]:
    """(name, base type, count, offset) of each field; offsets are running sums."""
    rows, offset = [], 0
    for name, kind in fields:
        base, count = split_type(kind)
        rows.append((name, base, count, offset))
        offset += SIZES[base] * count
    return rows


def layout_size(fields: list[list[str]]) -> int:
    return sum(SIZES[base] * count for _, base, count, _ in layout_offsets(fields))


def c_struct(name: str, fields: list[list[str]]) -> str:
    lines = [f"struct gdx_{name} {{"]
    checks = []
    for field, base, count, offset in layout_offsets(fields):
        lines.append(f"    {C_TYPES[base]} {field}{f'[{count}]' if count > 1 else ''};")
        checks.append(f'_Static_assert(offsetof(struct gdx_{name}, {field}) == {offset}, "{name}.{field}");')
    checks.append(f'_Static_assert(sizeof(struct gdx_{name}) == {layout_size(fields)}, "{name}");')
    return "\n".join([*lines, "};", *checks])


def enum(prefix: str, values: dict[str, int]) -> str:
    body = ",\n".join(f"    GDX_{prefix}{name} = {value}" for name, value in values.items())
    return f"enum {{\n{body}\n}};"


def trace_schema(events: dict[str, Any], calls: list[Call], errors: dict[str, dict[str, int]]) -> dict[str, Any]:
    """What a trace carries about itself."""
    layouts = {
        name: {"size": layout_size(fields), "fields": [list(row) for row in layout_offsets(fields)]}
        for name, fields in events["layout"].items()
    }
    return {
        "version": events["version"],
        "unit_bytes": events["unit_bytes"],
        "chunk_magic": events["chunk_magic"],
        "layout": layouts,
        "parts": events["parts"],
        "flags": events["flags"],
        "argument_flags": events["argument_flags"],
        "recorder_errors": events["recorder_errors"],
        "crumbs": events["crumbs"],
        "errors": errors,
        "calls": [call.as_json() for call in calls],
    }


def abi_h(events: dict[str, Any], calls: list[Call]) -> str:
    ids = {call.name: number for number, call in enumerate(calls)}
    ledger = ", ".join("1" if call.in_ledger else "0" for call in calls)
    return "\n\n".join(
        [
            "/* Made by tools/generate.py from schema/. Edit those. */\n#pragma once\n"
            "#include <stddef.h>\n#include <stdint.h>",
            f'#define GDX_VERSION {events["version"]}\n#define GDX_MAGIC "{events["magic"]}"\n'
            f"#define GDX_UNIT_BYTES {events['unit_bytes']}u\n#define GDX_HEADER_BYTES {events['header_bytes']}u\n"
            f"#define GDX_CHUNK_MAGIC {events['chunk_magic']:#x}ull\n#define GDX_WORDS {events['words']}",
            *(c_struct(name, fields) for name, fields in events["layout"].items()),
            enum("PART_", events["parts"]),
            enum("FLAG_", events["flags"]),
            enum("ARG_", events["argument_flags"]),
            enum("ERROR_", events["recorder_errors"]),
            enum("CRUMBS_", events["crumbs"]),
            enum("CALL_", ids),
            f"#define GDX_CALLS {len(calls)}",
            "/* Does the record go to the ledger, which is never overwritten? Known when compiled, for a call that is. */\n"
            "static inline unsigned gdx_in_ledger(uint32_t call)\n{\n"
            f"    static const uint8_t table[] = {{ {ledger} }};\n    return table[call];\n}}",
            "extern const unsigned char gdx_schema_text[];\nextern const unsigned gdx_schema_bytes;\n",
        ]
    )


def bytes_c(text: str) -> str:
    """The schema as a C array: a string literal would pass the length that ISO C guarantees."""
    data = text.encode()
    rows = [", ".join(map(str, data[i : i + 24])) for i in range(0, len(data), 24)]
    return (
        '/* Made by tools/generate.py. */\n#include "gdx_abi.h"\n'
        "const unsigned char gdx_schema_text[] = {\n" + ",\n".join(rows) + "\n};\n"
        f"const unsigned gdx_schema_bytes = {len(data)};\n"
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main(schema_dir: Path, out: Path) -> None:
    events = tomllib.loads((schema_dir / "events.toml").read_text())
    opencl = tomllib.loads((schema_dir / "opencl.toml").read_text())
    drivers = [tomllib.loads((schema_dir / f"{name}.toml").read_text()) for name in DRIVERS]
    calls = [*load_calls(events, opencl), *(call for driver in drivers for call in load_driver(events, driver))]
    errors = {"opencl": opencl["errors"], **{driver["api"]["name"]: driver["errors"] for driver in drivers}}
    text = json.dumps(trace_schema(events, calls, errors), separators=(",", ":"))
    write(out / "gdx_abi.h", abi_h(events, calls))
    write(out / "gdx_schema.c", bytes_c(text))
    write(out / "schema.json", text)
    write(out / "cl_abi.h", abi_header(opencl, calls))
    write(out / "cl_wrappers.c", wrappers(calls))
    write(out / "cl_exports.c", exports(calls))
    write(out / "cl.h", public_header(opencl, calls))
    for driver in drivers:
        short = driver["api"]["short"]
        write(out / f"{short}_abi.h", driver_header.abi_header(driver, calls))
        write(out / f"{short}_endings.h", driver_endings.header(Api.load(driver["api"])))
        write(out / f"{short}_launches.h", driver_launches.header(calls_of(driver, calls)))
        write(out / f"{short}_what_if.h", driver_what_if.header(calls_of(driver, calls)))
        write(out / f"{short}_wrappers.c", driver_wrappers.wrappers(driver, calls))
        write(out / f"{short}.h", driver_header.public_header(driver, calls))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
