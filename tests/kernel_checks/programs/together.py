"""Runs programs of this folder, each as `NAME.py HOW`, one after the other in one process and one context: together.py HOW NAME..."""

from __future__ import annotations

import functools
import runpy
import sys
from pathlib import Path

import pyopencl as cl

# PoCL reads its library of built-in functions once for each context, which takes longer than all the kernels of a program.
cl.create_some_context = functools.cache(cl.create_some_context)
how, *names = sys.argv[1:]
for name in names:
    program = Path(__file__).with_name(f"{name}.py")
    sys.argv = [str(program), how]
    runpy.run_path(str(program), run_name="__main__")
    print("ended:", name)
