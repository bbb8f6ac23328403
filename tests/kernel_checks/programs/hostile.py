"""Sources that no rewriter expects; prints what the driver says to each, and the result of the kernel where there is one.

    hostile.py FOLDER       for headers
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pyopencl as cl

# PoCL builds from a file with a random name; Intel's driver counts the programs of a process, ours as well.
NUMBERED = re.compile(r"(?<!\S)\S*/tempfile_\w+\.cl|^\d+(?=:\d)|(?<=from )\d+(?=:\d)", re.M)
GOOD = "__kernel void k(__global int *a, int n) { int i = get_global_id(0); if (i < n) a[i] += 1 + __LINE__; }\n"


def sources(folder: Path) -> dict[str, str]:
    (folder / "itself.h").write_text('#include "itself.h"\n')
    (folder / "guarded.h").write_text('#ifndef G\n#define G\n#include "guarded.h"\n#define ONE 1\n#endif\n')
    return {
        "good": GOOD,
        "empty": "",
        "unbalanced": GOOD + "}" * 1000 + "{" * 1000,
        "a megabyte": "/* x */\n" * 140_000 + GOOD,
        "includes itself": '#include "itself.h"\n' + GOOD,
        "includes itself once": '#include "guarded.h"\n' + GOOD.replace("1 +", "ONE +"),
        "includes nothing": '#include "not there.h"\n' + GOOD,
        "lines": '#line 70 "elsewhere.cl"\n' + GOOD + '#line 1 "\\""\n',
        "wrong lines": '#line 0\n#line 99999999999\n#line "x"\n' + GOOD,
        "an error behind #line": '#line 500 "far.cl"\n' + GOOD.replace("+=", "+=="),
        "trigraphs": "??=define TWO 2\n" + GOOD,
        "digraphs": "__kernel void k(__global int *a, int n) <% a<:0:> = n; %>\n",
        "names": GOOD.replace("n)", "größe)").replace("< n", "< größe"),
        "spliced": GOOD.replace("get_global_id", "get_\\\nglobal_id"),
        "pasted": "#define GLUE(a, b) a##b\n" + GOOD.replace("get_global_id", "GLUE(get_glo, bal_id)"),
        "strings": GOOD.replace("{ int", '{ printf("}%c{[", 47); /* " */ int'),
        "our names": GOOD.replace("int i", "int gdx, i").replace("i < n", "(gdx = i) < n"),
        "macro bomb": "".join(f"#define M{at} M{at + 1} M{at + 1}\n" for at in range(40)) + "#ifdef NEVER\nM0\n#endif\n" + GOOD,
        "unfinished": '__kernel void k(__global char *a) { a[0] = "',
        "null": GOOD.replace("if (", "\0if ("),
        "backslash": GOOD + "\\",
        "deep": "__constant int deep = " + "(" * 200 + "1" + ")" * 200 + ";\n" + GOOD.replace("1 +", "deep +"),
    }


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    for name, source in sources(folder).items():
        program = cl._cl._Program(context, source.encode())
        try:
            program._build(f"-I {folder}".encode(), context.devices)
            kernel = cl._cl.Kernel(program, "k")
        except cl.Error as error:
            log = program.get_build_info(device, cl.program_build_info.LOG)
            print(name, error.code, NUMBERED.sub("", log)[:2000], flush=True)
            continue
        data = np.arange(8, dtype=np.int32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
        kernel.set_arg(0, buffer)
        kernel.set_arg(1, np.int32(8))
        cl.enqueue_nd_range_kernel(queue, kernel, (8,), None)
        cl.enqueue_copy(queue, data, buffer)
        print(name, data.tolist(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
