"""Runs inside Python programs under test, where memory pools are to be seen through (gpudx run --fence, --poison).

CuPy's documented switch is a call, cupy.cuda.set_allocator(None) (CuPy user guide, "Memory Management"), so it is made as
soon as the program has imported CuPy. This folder comes first in PYTHONPATH for that; Python imports a module of this name when
it starts (documentation of the module site). The program's own sitecustomize, if there is one, runs as it would have.

It works in any Python 3 and must never fail: what goes wrong here is left as it was, and the pool is then said to be there.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.environ.get("GPUDX_DIR", "")  # lab/environment.py


def leave_word(name: str) -> None:
    """For gpudx/lab/unpooled.py: this process takes its memory block by block."""
    with open(os.path.join(FOLDER, f"{os.getpid()}-{name}.unpooled"), "w"):
        pass


def switch_off(cupy: Any) -> None:
    try:
        cupy.cuda.set_allocator(None)
        leave_word("cupy")
    except Exception:
        pass


class AfterImport:
    """Finds CuPy like everybody else, and is called once it is there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "cupy" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec: Any = importlib.util.find_spec(name)
        run = getattr(spec and spec.loader, "exec_module", None)
        if run is not None:

            def exec_module(module: Any) -> None:
                run(module)
                switch_off(module)

            spec.loader.exec_module = exec_module
        return spec


def run_the_next() -> None:
    """The sitecustomize that this one stands in front of."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if FOLDER:
    sys.meta_path.insert(0, AfterImport())
run_the_next()
