"""How much private memory the arrays of a kernel take, read from its source."""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.errors import UserError
from gpudx.kernel_checks import base_header, options, syntax
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.options import Device
from gpudx.kernel_checks.preprocess import Macro, Preprocessor, tokens
from gpudx.kernel_checks.syntax import Tree

NOT_PRIVATE = ("__local", "__constant", "__global")


@dataclass(frozen=True)
class Arrays:
    """Of one kernel: bytes of all its private arrays, and the largest of them."""

    bytes: int
    largest: str
    largest_bytes: int


def of_kernel(source: str, build_options: str, kernel: str) -> Arrays | None:
    """None where the source cannot be read, has no such kernel, or the kernel has no private array."""
    try:
        syntax.need()
        given = options.read(build_options)
        preprocessor = Preprocessor(options.macros(given, Device()), options.folders(given, Device()), "")
        for name, kind in base_header.macros().items():
            preprocessor.define(name, Macro(tuple(tokens(f"__builtin_astype((x), {kind})")), ("x",)))
        tree = Tree(preprocessor.run(source).text, given.version, 64, [])
    except (Unsupported, UserError):
        return None
    found = [
        (node.type.get_size(), node.name)
        for function in tree.declarations
        if function.kind == "FUNCTION_DECL" and function.name == kernel
        for node in function.walk()
        if node.kind == "VAR_DECL"
        and node.type_kind == "CONSTANTARRAY"
        and not any(word in node.type.spelling for word in NOT_PRIVATE)
    ]
    return Arrays(sum(size for size, _ in found), max(found)[1], max(found)[0]) if found else None
