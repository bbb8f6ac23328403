"""schema/opencl.toml against the Khronos headers, and our own CL/cl.h against real programs."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from native_kit import ROOT, Kit, cc

from opencl_header import BITFIELDS, POINTER_WIDE, used_types
from schema_model import HANDLES, Call, load_calls

KHRONOS = Path("/usr/include/CL/cl_icd.h")
needs_khronos = pytest.mark.skipif(not KHRONOS.exists(), reason="the Khronos OpenCL headers are not installed")

HEAD = """
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <stddef.h>
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_egl.h>
#include <CL/cl_icd.h>
typedef void (CL_CALLBACK *cl_context_callback)(const char *, const void *, size_t, void *);
typedef void (CL_CALLBACK *cl_program_callback)(cl_program, void *);
typedef void (CL_CALLBACK *cl_context_release_callback)(cl_context, void *);
typedef void (CL_CALLBACK *cl_event_callback)(cl_event, cl_int, void *);
typedef void (CL_CALLBACK *cl_mem_callback)(cl_mem, void *);
typedef void (CL_CALLBACK *cl_svm_free_callback)(cl_command_queue, cl_uint, void **, void *);
typedef void (CL_CALLBACK *cl_native_kernel)(void *);
"""


def tables() -> tuple[dict[str, Any], list[Call]]:
    events = tomllib.loads((ROOT / "schema/events.toml").read_text())
    opencl = tomllib.loads((ROOT / "schema/opencl.toml").read_text())
    return opencl, [c for c in load_calls(events, opencl) if c.api == "opencl"]


def comparison(call: Call, place: int) -> list[str]:
    """C lines that compile only if the entry is where and what the Khronos table says."""
    lines = [
        f'_Static_assert(offsetof(struct _cl_icd_dispatch, {call.name}) == {place} * sizeof(void *), "{call.name}");'
    ]
    if call.skip:
        return lines
    params = ", ".join(p.type for p in call.params) or "void"
    theirs = f"__typeof__(((struct _cl_icd_dispatch *)0)->{call.name})"
    lines.append(f"typedef {call.returns} (CL_API_CALL *our_{call.name})({params});")
    lines.append(f'_Static_assert(__builtin_types_compatible_p(our_{call.name}, {theirs}), "{call.name}");')
    return lines


@needs_khronos
def test_every_prototype_is_the_khronos_one(tmp_path: Path) -> None:
    _, calls = tables()
    text = HEAD + "\n".join(line for place, call in enumerate(calls) for line in comparison(call, place))
    text += f'\n_Static_assert(sizeof(struct _cl_icd_dispatch) >= {len(calls)} * sizeof(void *), "table");\n'
    source = tmp_path / "prototypes.c"
    source.write_text(text)
    cc("-std=gnu11", "-Wno-deprecated-declarations", "-fsyntax-only", source)


@needs_khronos
def test_every_constant_is_the_khronos_one(tmp_path: Path) -> None:
    opencl, _ = tables()
    rows = [
        f'#ifdef {name}\n_Static_assert({name} == {value}, "{name}");\n#else\nstatic int missing_{name};\n#endif'
        for name, value in (opencl["errors"] | opencl["constants"]).items()
    ]
    source = tmp_path / "constants.c"
    source.write_text(HEAD + "\n".join(rows))
    done = subprocess.run(
        ["cc", "-std=gnu11", "-fsyntax-only", "-Wunused-variable", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    missing = [line for line in done.stderr.splitlines() if "missing_" in line and "warning" in line]
    assert len(missing) < 40, missing  # extensions that these headers do not have


def type_facts(calls: list[Call]) -> str:
    """A C program that prints size and sign of every scalar type, and the layout of every structure."""
    scalars = sorted(
        t
        for t in used_types(calls)
        if not t.endswith(("_callback", "_native_kernel", "_format", "_desc")) and t not in HANDLES
    )
    lines = [f'    printf("{t} %zu %d\\n", sizeof({t}), ({t})-1 < 0);' for t in [*scalars, *BITFIELDS, *POINTER_WIDE]]
    structures = {
        "cl_image_format": ["image_channel_order", "image_channel_data_type"],
        "cl_image_desc": [
            "image_type",
            "image_width",
            "image_height",
            "image_depth",
            "image_array_size",
            "image_row_pitch",
            "image_slice_pitch",
            "num_mip_levels",
            "num_samples",
            "buffer",
        ],
        "cl_buffer_region": ["origin", "size"],
    }
    for name, fields in structures.items():
        lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'    printf("{name}.{f} %zu\\n", offsetof({name}, {f}));' for f in fields]
    return "#include <stdio.h>\n#include <stddef.h>\nint main(void)\n{\n" + "\n".join(lines) + "\n    return 0;\n}\n"


@needs_khronos
def test_every_type_has_the_khronos_layout(kit: Kit, tmp_path: Path) -> None:
    _, calls = tables()
    facts = type_facts([c for c in calls if not c.skip])
    printed = []
    for name, head, include in (
        ("khronos", HEAD, "/usr/include"),
        ("ours", '#include "cl_abi.h"\n', str(kit.generated)),
    ):
        source, program = tmp_path / f"{name}.c", tmp_path / name
        source.write_text(head + facts)
        cc("-std=gnu11", "-w", "-I", include, "-o", program, source)
        printed.append(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    assert printed[0] == printed[1]


def opencl_incidents() -> list[Path]:
    files = sorted((ROOT / "incidents").glob("*/incident.toml"))
    compiled = [f for f in files if any(f.parent.glob("*.c"))]
    return [f.parent for f in compiled if tomllib.loads(f.read_text())["backend"] == "opencl"]


@pytest.mark.parametrize("incident", opencl_incidents(), ids=lambda p: p.name)
@pytest.mark.parametrize("variant", ["flags", "twin_flags"])
def test_our_header_compiles_the_incidents(kit: Kit, incident: Path, variant: str, tmp_path: Path) -> None:
    described = tomllib.loads((incident / "incident.toml").read_text())
    for source in described["sources"]:
        headers = tmp_path / "headers"
        cc(
            "-std=gnu11",
            "-Wall",
            "-Werror",
            "-I",
            kit.generated,
            *described.get(variant, ()),
            "-fsyntax-only",
            incident / source,
        )
        cc("-std=gnu11", "-I", kit.generated, *described.get(variant, ()), "-M", "-MF", headers, incident / source)
        assert "/usr/include/CL" not in headers.read_text()
