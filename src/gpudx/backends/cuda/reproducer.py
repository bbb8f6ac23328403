"""A captured CUDA launch as one C file that needs nothing of gpudx and no CUDA toolkit: cc repro.c -o repro -ldl -lm."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from gpudx.capsule.as_c import HELPERS, c_type, comment, literal, nonfinite, numbers, repeated, tables
from gpudx.capsule.model import Capsule, Code
from gpudx.errors import UserError

MOST_CODE = 4 << 20
HEAD = """\
/* {title}
 *
 * Build and run:  cc {name} -o repro -ldl -lm && ./repro [DEVICE]
 * DEVICE: its number, 0 without it. The CUDA driver is all that it needs. Exit status: 1 if the launch fails, makes a NaN or an
 * infinity, or writes past the end of a block; 0 if it does none of these; 2 if it cannot run.
 *
{says} */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

{code}
"""
RUN = """\
/* Memory that the launch reaches: at `address` in the program, at `place` here. Words that point into it are moved with it. */
static struct block {{
    const char *name, *symbol;
    uint64_t address;
    size_t bytes;
    const unsigned char *data;
    size_t data_bytes, times;  /* the data, so often */
    uint64_t place;
}} blocks[] = {{
{blocks}    {{ 0 }}
}};
enum {{ BLOCKS = {count} }};

/* Functions of the driver are known by cuda.h's types, of which these have the sizes. */
static void *must(void *driver, const char *name)
{{
    void *found = dlsym(driver, name);
    if (!found) {{
        fprintf(stderr, "the driver has no %s\\n", name);
        exit(2);
    }}
    return found;
}}
#define FIND(name, ...) int (*name)(__VA_ARGS__) = (int (*)(__VA_ARGS__))(uintptr_t)must(driver, #name)
#define CHECK(call) do {{ int s_ = (call); if (s_) {{ fprintf(stderr, "%s: %d\\n", #call, s_); exit(2); }} }} while (0)

static void move(unsigned char *data, size_t bytes)
{{
    for (size_t at = 0; at + 8 <= bytes; at += 8) {{
        uint64_t word;
        memcpy(&word, data + at, 8);
        for (int i = 0; i < BLOCKS; i++)
            if (blocks[i].address && word >= blocks[i].address && word - blocks[i].address < blocks[i].bytes) {{
                word = word - blocks[i].address + blocks[i].place;
                memcpy(data + at, &word, 8);
                break;
            }}
    }}
}}

int main(int argc, char **argv)
{{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {{
        fprintf(stderr, "there is no CUDA driver (libcuda.so.1)\\n");
        return 2;
    }}
    FIND(cuInit, unsigned);
    FIND(cuDeviceGet, int *, int);
    FIND(cuDevicePrimaryCtxRetain, void **, int);
    FIND(cuCtxSetCurrent, void *);
    FIND(cuCtxSynchronize, void);
    FIND(cuModuleLoadData, void **, const void *);
    FIND(cuModuleGetFunction, void **, void *, const char *);
    FIND(cuMemAlloc_v2, uint64_t *, size_t);
    FIND(cuMemcpyHtoD_v2, uint64_t, const void *, size_t);
    FIND(cuMemcpyDtoH_v2, void *, uint64_t, size_t);
    FIND(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    void *context, *module, *kernel;
    int device, status, bad = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, argc > 1 ? atoi(argv[1]) : 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&kernel, module, {kernel}));
{before}
    for (int i = 0; i < BLOCKS; i++)
        if (!blocks[i].place)
            CHECK(cuMemAlloc_v2(&blocks[i].place, blocks[i].bytes + GUARD));
    unsigned char *host[BLOCKS + 1];
    for (int i = 0; i < BLOCKS; i++) {{
        size_t guard = blocks[i].symbol ? 0 : GUARD;
        host[i] = calloc(1, blocks[i].bytes + GUARD);
        memset(host[i] + blocks[i].bytes, 0xa5, GUARD);
        if (blocks[i].data)
            fill(host[i], blocks[i].data_bytes * blocks[i].times, blocks[i].data, blocks[i].data_bytes);
        move(host[i], blocks[i].bytes);
        CHECK(cuMemcpyHtoD_v2(blocks[i].place, host[i], blocks[i].bytes + guard));
    }}
{values}
    printf("launching\\n");
    fflush(stdout);
    status = cuLaunchKernel(kernel, {shape}, NULL, {given}, NULL);
    if (status) {{
        printf("cuLaunchKernel: %d\\n", status);
        return 1;
    }}
    status = cuCtxSynchronize();
    if (status) {{
        printf("cuCtxSynchronize: %d\\n", status);
        return 1;
    }}
    for (int i = 0; i < BLOCKS; i++)
        CHECK(cuMemcpyDtoH_v2(host[i], blocks[i].place, blocks[i].bytes + (blocks[i].symbol ? 0 : GUARD)));
{after}    return bad;
}}
"""
SYMBOL = """\
    FIND(cuModuleGetGlobal_v2, uint64_t *, size_t *, void *, const char *);
    for (int i = 0; i < BLOCKS; i++)  /* a variable of another module has only its address here */
        if (blocks[i].symbol && cuModuleGetGlobal_v2(&blocks[i].place, NULL, module, blocks[i].symbol)) {
            blocks[i].place = 0;
            blocks[i].symbol = NULL;
        }
"""
SHARED = """\
    FIND(cuFuncSetAttribute, void *, int, int);
    CHECK(cuFuncSetAttribute(kernel, 8, {shared}));  /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
"""


def c_source(capsule: Capsule, name: str, says: tuple[str, ...]) -> str:
    """The file. UserError where a capsule has what C source cannot hold."""
    code, shape = capsule.code("ptx", "cubin", "fatbin"), capsule.geometry
    if code is None:
        raise UserError("The capsule has no CUDA code: a reproducer in C needs it.")
    if len(code.data) > MOST_CODE:
        raise UserError(
            f"The {code.kind} of the kernel's module has {len(code.data):,} bytes, too many for C source: give the capsule itself."
        )
    head = HEAD.format(
        title=comment(f"{capsule.kernel}: made by {capsule.made_by or 'gpudx'} from one launch on {capsule.device.title}"),
        name=name,
        says="".join(f" * {comment(one)}\n" for one in says),
        code=_image(code),
    )
    before = SYMBOL if any(one.symbol for one in capsule.buffers) else ""
    before += SHARED.format(shared=shape.shared) if shape.shared > 48 << 10 else ""
    grid = [g // b for g, b in zip(shape.global_, shape.local, strict=True)]
    constants, rows = "", ""
    for one in capsule.buffers:
        constant = repeated(one.before) if one.before is not None else b"\0"
        data, size, times = f"data_{one.number}", f"sizeof data_{one.number}", 1
        if constant is not None:
            data, size, times = f"constant_{one.number}", str(len(constant)), one.size // len(constant)
            constants += f"static const unsigned char {data}[] = {{ {', '.join(map(str, constant))} }};\n"
        symbol = json.dumps(one.symbol) if one.symbol else "NULL"
        title = json.dumps(capsule.title_of(one.number))
        rows += f"    {{ {title}, {symbol}, {one.address:#x}ull, {one.size}, {data}, {size}, {times}, 0 }},\n"
    body = RUN.format(
        blocks=rows,
        count=len(capsule.buffers),
        kernel=json.dumps(capsule.kernel),
        before=before,
        values="".join(_values(capsule)),
        shape=", ".join(map(str, (*grid, *shape.local, shape.shared))),
        given="params" if capsule.arguments else "NULL",
        after="".join(_after(capsule)),
    )
    return head + tables(capsule) + constants + "\n" + HELPERS + nonfinite(capsule) + body


def _image(code: Code) -> str:
    """PTX stays readable."""
    if code.kind == "ptx":
        return f"static const char image[] =\n{literal(code.data.decode(errors='replace').rstrip(chr(0)))};\n"
    data = np.frombuffer(code.data, dtype=np.uint8)
    return f"static const _Alignas(16) unsigned char image[] = {{{numbers(data)}}};  /* {code.kind} */\n"


def _values(capsule: Capsule) -> Iterator[str]:
    for one in capsule.arguments:
        values = ", ".join(map(str, one.value))
        yield f"    _Alignas(16) unsigned char value_{one.index}[] = {{ {values} }};  /* {comment(one.title)} */\n"
        yield f"    move(value_{one.index}, sizeof value_{one.index});\n"
    if capsule.arguments:
        yield f"    void *params[] = {{ {', '.join(f'value_{one.index}' for one in capsule.arguments)} }};\n"


def _after(capsule: Capsule) -> Iterator[str]:
    for one in capsule.buffers:
        at = one.number
        kind = c_type(capsule, at)
        yield f"    show(blocks[{at}].name, host[{at}], {one.size});\n"
        yield f"    bad |= show_{kind}(host[{at}], {one.size});\n" if kind else ""
        yield f'    printf("\\n");\n    bad |= damaged(blocks[{at}].name, host[{at}], {one.size});\n'
