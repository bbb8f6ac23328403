"""Checks inside OpenCL kernels: the source is rewritten before the program's own driver compiles it (docs/decisions)."""
