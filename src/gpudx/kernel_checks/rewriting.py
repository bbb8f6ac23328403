"""From a source, as a program hands it to its driver, to one with checks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudx.kernel_checks import base_header, options
from gpudx.kernel_checks.builtins import BARRIERS
from gpudx.kernel_checks.called_kernels import separate
from gpudx.kernel_checks.checks import ALL, USUAL
from gpudx.kernel_checks.errors import Unsupported
from gpudx.kernel_checks.options import Device
from gpudx.kernel_checks.parts import Part
from gpudx.kernel_checks.parts import read as read_parts
from gpudx.kernel_checks.plan import Rewritten
from gpudx.kernel_checks.preprocess import Macro, Preprocessed, Preprocessor, tokens
from gpudx.kernel_checks.rewrite import Rewriter
from gpudx.kernel_checks.syntax import Node, Tree

__all__ = ["ALL", "USUAL", "Done", "rewrite"]

UNROLL = re.compile(
    r"^#pragma (?:clang loop )?unroll.*$|__attribute__\s*\(\(\s*(?:__)?opencl_unroll_hint(?:__)?\s*(?:\(\s*\w+\s*\))?\s*\)\)",
    re.M,
)
OLD_POCL = re.compile("pocl.*pthread", re.I)  # since 4.0 its CPU devices are called "cpu"
OURS = re.compile(r"\bgdx(?:_|\b)")
DIGRAPH, STRING = re.compile("<%|%>|<:|:>"), re.compile(r"\"(?:[^\"\\\n]|\\.)*\"")


@dataclass(frozen=True)
class Done:
    rewritten: Rewritten
    options: str  # for the driver
    checks: frozenset[str] = frozenset()  # those that were made


def rewrite(source: str, build_options: str, device: Device, checks: frozenset[str] = USUAL) -> Done:
    """Raises Unsupported with the reason where the source has to stay as it is."""
    if "\0" in source:
        raise Unsupported("it has a zero byte in it")
    if device.address_bits != 64:
        raise Unsupported(f"the device has addresses of {device.address_bits} bits")
    parts = read_parts(source, build_options)
    given = max((options.read(part.options) for part in parts), key=lambda one: one.version)
    text = _joined([_preprocessed(part, device) for part in parts])
    if DIGRAPH.search(STRING.sub("", text.text)):
        raise Unsupported("it uses digraphs")
    if OURS.search(text.text):
        raise Unsupported("it uses the name gdx, or names that begin with gdx_")
    # Unrolled by the program's wish, accesses with all their checks took PoCL 17 s to compile instead of 1 s.
    text.text = UNROLL.sub(lambda match: " " * len(match[0]), text.text) if {"races", "uninit"} & checks else text.text
    tree = Tree(text.text, given.version, device.address_bits, [])
    separated = separate(text.text, text.lines, tree)
    if separated is not None:
        text.text, text.lines = separated
        tree = Tree(text.text, given.version, device.address_bits, [])
    flat = re.search("pocl.*(pthread|cpu|basic)", device.version, re.I) is not None
    if OLD_POCL.search(device.version) and _parts_at_barriers(tree):
        checks = checks - {"races", "uninit"}
    late = not flat and "intel" in device.vendor.lower()
    return Done(Rewriter(text.text, text.lines, tree, checks, late, flat).run(), given.text, checks)


def _preprocessed(part: Part, device: Device) -> Preprocessed:
    given = options.read(part.options)
    folders = options.folders(given, device)
    preprocessor = Preprocessor(options.macros(given, device), folders, device.vendor, part.headers)
    for name, kind in base_header.macros().items():
        preprocessor.define(name, Macro(tuple(tokens(f"__builtin_astype((x), {kind})")), ("x",)))
    text = preprocessor.run(part.source)
    return Preprocessed(text.text, [(file or part.name, line) for file, line in text.lines])


def _joined(texts: list[Preprocessed]) -> Preprocessed:
    if len(texts) == 1:
        return texts[0]
    out = Preprocessed("", [])
    for one in texts:
        text = one.text if one.text.endswith("\n") else one.text + "\n"
        out.lines += (one.lines + [("", 0)] * text.count("\n"))[: text.count("\n")]
        out.text += text
    return out


def _parts_at_barriers(tree: Tree) -> bool:
    """Does a function return ahead of a barrier, or have one in a branch? PoCL 3.1 then lets work-items run code behind it that is not
    theirs, or with the values of another one (seen with kernels in which whole groups return, or take another branch), so who accessed
    what cannot be told from such a run."""
    for function in tree.declarations:
        inside = list(function.walk()) if function.kind == "FUNCTION_DECL" else []
        barriers = [node for node in inside if node.kind == "CALL_EXPR" and node.name in BARRIERS]
        last = max((node.start for node in barriers), default=-1)
        if any(node.kind == "RETURN_STMT" and node.start < last for node in inside) or any(map(_is_in_branch, barriers)):
            return True
    return False


def _is_in_branch(node: Node) -> bool:
    above = node.parent
    while above is not None and above.kind != "FUNCTION_DECL":
        if above.kind in ("IF_STMT", "SWITCH_STMT", "CONDITIONAL_OPERATOR"):
            return True
        above = above.parent
    return False
