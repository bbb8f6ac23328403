"""Runs inside Python programs under test, where gpudx needs to know what their frameworks do.

This folder comes first in PYTHONPATH; Python imports a module of this name when it starts (documentation of the module site). It
starts one helper for each framework, at the moment when the program has imported it:

    gpudx_cupy      takes memory pools away (gpudx run --fence, --poison)
    gpudx_torch     notes the module, and the forward line of a backward step (gpudx run --stacks), and checks indices
    gpudx_kernels   notes the line of each kernel that Triton or numba compiles (gpudx run --stacks)

The program's own sitecustomize, if there is one, runs as it would have. All of this works in any Python 3 and must never fail: what
goes wrong here is left as it was.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = os.environ.get("GPUDX_INSIDE", "").split(",") if os.environ.get("GPUDX_DIR") else []  # gpudx/lab/inside.py
# Module of a framework -> the helper's file and function that is called with it.
HELPERS = {
    "pools": {"cupy": ("gpudx_cupy", "switch_pool_off")},
    "words": {
        "torch": ("gpudx_torch", "note_modules"),
        "triton.runtime.jit": ("gpudx_kernels", "note_triton"),
        "numba.cuda.dispatcher": ("gpudx_kernels", "note_numba"),
        "numba_cuda.numba.cuda.dispatcher": ("gpudx_kernels", "note_numba"),
    },
    "indices": {"torch": ("gpudx_torch", "check_indices")},  # with "words", for the names of modules
}

USES = {"gpudx_torch": ("gpudx_recorder", "gpudx_torch_indices"), "gpudx_kernels": ("gpudx_recorder",)}  # loaded before it


def helper(name: str) -> Any:
    """A module of this folder, which is not in sys.path any more when a framework is imported."""
    if name not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(name, os.path.join(HERE, f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


def start(helpers: list[tuple[str, str]], framework: Any) -> None:
    for file, function in helpers:
        try:
            for used in USES.get(file, ()):
                helper(used)
            getattr(helper(file), function)(framework)
        except Exception:
            pass


class AfterImport:
    """Finds a framework like everybody else, and starts its helpers once it is there."""

    def __init__(self, wanted: dict[str, list[tuple[str, str]]]) -> None:
        self.wanted = wanted

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        helpers = self.wanted.pop(name, None)
        if helpers is None:
            return None
        if not self.wanted and self in sys.meta_path:
            sys.meta_path.remove(self)
        spec: Any = importlib.util.find_spec(name)
        run = getattr(spec and spec.loader, "exec_module", None)
        if run is not None:

            def exec_module(module: Any) -> None:
                run(module)
                start(helpers, module)

            spec.loader.exec_module = exec_module
        return spec


def run_the_next() -> None:
    """The sitecustomize that this one stands in front of."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def watched() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for part in WANTED:
        for framework, which in HELPERS.get(part, {}).items():
            found.setdefault(framework, []).append(which)
    return found


if watched():
    sys.meta_path.insert(0, AfterImport(watched()))
run_the_next()
