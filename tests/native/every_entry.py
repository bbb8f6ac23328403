"""A C program that calls every OpenCL entry with values of its own, made from schema/opencl.toml, and what a trace of it
must show. The driver behind it is the fake one, so entries that no driver at hand supports are called too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fake_opencl import FAKE_ERRNO, opencl_calls
from support.builds import once

from schema_model import HANDLES, Call, Param

COUNT = 2  # elements in every array that has a count
DATA = bytes((7 * i + 3) % 251 for i in range(8192))
LIST = (11, 22)  # a list that ends with zero

HEAD = f"""
#include <CL/cl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static unsigned char data[{len(DATA)}], scratch[8192];
static const intptr_t list[] = {{ {LIST[0]}, {LIST[1]}, 0 }};
static const char *strings[] = {{ "source" }};
static cl_int err;
static cl_event event;

static void check(const char *name, unsigned long long result)
{{
    if (errno != {FAKE_ERRNO} + !strncmp(name, "clGet", 5))
        printf("%s changed errno to %d\\n", name, errno);
    printf("%s %llx %d\\n", name, result, err);
    errno = 5;
    err = 0;
}}
"""


@dataclass(frozen=True)
class Value:
    """An argument: its C text, and the recorded word if it is known beforehand."""

    c: str
    word: int | None = None


def value_of(call: Call, number: int, index: int, param: Param, again: bool) -> Value:
    """What `call` gets for one parameter. The second time, everything optional is left out."""
    unique = number * 16 + index
    if special := SPECIAL.get((call.name, param.name)):
        return special
    if param.name == "errcode" or call.is_out_event(param):
        return Value("NULL" if again else ("&err" if param.name == "errcode" else "&event"))
    if param.name in call.arrays:
        return Value(
            f"({param.type})" + {"text": f'"text-{number}"', "zero-ended": "list"}.get(call.arrays[param.name], "data")
        )
    if param.name in call.arrays.values():
        return Value(str(COUNT), COUNT)
    if param.pointer:
        return Value(f"({param.type})scratch")
    if param.type in HANDLES or param.type.startswith("CLegl") or param.type in ("cl_GLsync",) or _is_function(param):
        return Value(f"({param.type})(size_t){0x7000000 + unique * 16:#x}", 0x7000000 + unique * 16)
    return Value(f"({param.type}){1000 + unique}", 1000 + unique)


def _is_function(param: Param) -> bool:
    return param.type.endswith(("_callback", "_native_kernel"))


SPECIAL = {
    ("clCreateProgramWithSource", "count"): Value("1", 1),
    ("clCreateProgramWithSource", "strings"): Value("strings"),
    ("clCreateProgramWithSource", "lengths"): Value("NULL", 0),
    ("clCreateKernelsInProgram", "num_kernels"): Value("1", 1),
    ("clEnqueueNDRangeKernel", "work_dim"): Value("3", 3),
    ("clEnqueueNDRangeKernel", "global_work_size"): Value("(size_t[]){ 5, 6, 7 }"),
    ("clEnqueueNDRangeKernel", "local_work_size"): Value("(size_t[]){ 1, 2, 3 }"),
}


def arguments(call: Call, number: int, again: bool = False) -> dict[str, Value]:
    return {p.name: value_of(call, number, i, p, again) for i, p in enumerate(call.params)}


def _lines(call: Call, number: int, again: bool) -> list[str]:
    text = f"{call.name}({', '.join(v.c for v in arguments(call, number, again).values())})"
    if call.returns == "void":
        return [f"    {text};", f'    check("{call.name}", 0);']
    cast = "(unsigned long long)(size_t)"
    return [f'    check("{call.name}", {cast}{text});']


def program() -> str:
    """The C source."""
    body = [
        "    for (unsigned i = 0; i < sizeof data; i++)",
        "        data[i] = (unsigned char)((7 * i + 3) % 251);",
        "    errno = 5;",
    ]
    for number, call in enumerate(opencl_calls()):
        body += _lines(call, number, False) + _lines(call, number, True)
    return HEAD + "\nint main(void)\n{\n" + "\n".join([*body, "    return 0;"]) + "\n}\n"


def every_entry(shared: Path) -> Path:
    """The C source as a file."""
    return once(shared / "every_entry.c", lambda place: place.write_text(program()))


def known_words(call: Call, number: int) -> dict[str, int]:
    """The recorded words whose values follow from the arguments."""
    if call.verb == "launch":
        handles = {k: v.word for k, v in arguments(call, number).items() if k in ("queue", "kernel")}
        sizes = (5, 6, 7, 1, 2, 3) if call.name == "clEnqueueNDRangeKernel" else (1, 0, 0, 1, 0, 0)
        names = ("global_x", "global_y", "global_z", "local_x", "local_y", "local_z")
        return {k: v for k, v in handles.items() if v is not None} | dict(zip(names, sizes, strict=True))
    values = arguments(call, number)
    known = {name: values[name].word for name, _ in call.fields if name in values}
    return {name: word for name, word in known.items() if word is not None}


def array_content(call: Call, number: int, name: str) -> bytes:
    """What the recorded content of an array begins with."""
    kind = call.arrays[name]
    if kind == "text":
        return f"text-{number}".encode()
    if kind == "zero-ended":
        return b"".join(v.to_bytes(8, "little") for v in LIST)
    return DATA
