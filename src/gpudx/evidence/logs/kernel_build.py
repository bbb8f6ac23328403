"""Kernels that were not built: the messages of OpenCL, HIP, Level Zero, Metal, Vulkan and JIT compilers that name no source line.

Messages with file and line are read as compilers'. Here are link errors with the missing symbol, crashes of a driver's compiler, and
programs that say only that a build failed. The build log above or below such a line has the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpudx.evidence.logs import _next, unrecognised
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import clipped

FORMAT = "kernel-build"
GENERIC = 2
ANY_CASE = True
MARKS = (
    "failed to build",
    "build failed",
    "build failure",
    "build error",
    "build program",
    "failed to compile",
    "compilation failed",
    "compile failed",
    "compile error",
    "compiling",
    "could not compile",
    "couldn't compile",
    "internal compiler error",
    "backend compiler",
    "cannot find symbol",
    "symbols not found",
    "undefined symbol",
    "undefined hidden symbol",
    "undefined reference",
    "unresolved extern",
    "linking failed",
    "error(s) while linking",
    "link error",
    "llvm error",
    "nir validation",
    "cl_build_error",
    "cannot select",
    "ptxas fatal",
    "ptx input",
    "lld: error",
    "clang: error",
    "ld.lld",
    "spir-v",
    "spirv",
    "codegen",
    "compiler frontend",
    "program build",
    "kernel build",
    "not built",
    "in the compilation of",
    "error: ",
    "adding symbols",
    "hiprtc",
    "nvrtc",
    "comgr",
    "program_source",
    "shader",
    "loading file",
    "jit session",
    "unsupported gpu arch",
    "cannot execute",
    "can't execute",
    "compute pipeline",
    "ptxas error",
    "codegen error",
    "parsing wgsl",
    "parsing glsl",
    "parsing hlsl",
    " module",
    "failed to create",
    "failed to load",
    "offload-arch",
    "clc:",
    "unsupported target",
    "no kernel named",
)
_SYMBOL = re.compile(
    r"(?:Cannot find symbol|undefined (?:hidden |protected )?symbol:?|undefined reference to|unresolved extern(?:al)? (?:function"
    r"|symbol):?|Symbols not found:)"
    r"\s*[`'\"\[]*\s*([\w$.:@~<>]+)",
    re.IGNORECASE,
)
_UNNAMED = re.compile(r"\bno kernel named ['\"]?(\S{1,120}?)['\"]? (?:was |is )?found", re.IGNORECASE)
_CRASH = re.compile(
    r"internal compiler error|(PTXAS error: Internal .{0,60}?codegen error)|(NIR validation failed.*)"
    r"|LLVM ERROR: (.+)|Cannot select: (.+)|compiler (?:crashed|segfault)|PLEASE submit a bug "
    r"report",
    re.IGNORECASE,
)
_WHAT = (
    r"(?:program|kernel|shader|module|executable|source|\S+\.(?:cl|cu|hip|metal|wgsl|comp|spv)\W?"
    r"|OpenCL|CUDA|HIP|pipeline|code|library|device code)"
)
_CODE = (
    r"(?:\bprogram\b(?! Files)|kernel\b|shader|(?:compute|graphics|render\w*|ray\w*) pipeline|code object|executable"
    r"|\S+\.(?:cl|spv|cubin|hsaco|ptx|metallib)\b|(?:CUDA|HIP|GPU|device|cu|hip)\w* module|device code)"
)
_NOT = r"(?:failed|unable|could not|couldn't|cannot|can't|error|not able)"
_FAILED = re.compile(
    r"\bCL_BUILD_ERROR\b|program (?:was )?not (?:been )?built|\b[1-9]\d* errors? detected in the compilation|"
    rf"{_NOT}(?: to| while| when|:)? (?:re)?(?:build|compil|link)\w*.{{0,60}}{_WHAT}"
    rf"|{_NOT}(?: to| while| when|:)? (?:re)?(?:creat|load)\w*.{{0,40}}{_CODE}"
    rf"|{_NOT} to load module\b.{{0,60}}\b(?:for device|GPU|context|PTX)\b"
    rf"|{_WHAT}.{{0,60}}(?:build|compil\w+|link\w*)\W*(?:has )?(?:fail|error|not success)|\b(?:build|compilation|compile|link(?:ing"
    rf"|age)?)\W*(?:has |step )?(?:failed|failure|error)"
    r"|error: (?:backend compiler failed|linking failed|Compiler frontend failed)|(?:nvrtc|hiprtc|comgr)\S*.{0,60}(?:fail|error)|ptxas "
    r"fatal|ld\.lld: error|lld: error"
    r"|clang(?:\+\+)?(?:-\d+)?: error: |error: (?:unsupported GPU arch|unknown target (?:CPU|device|triple))"
    r"|PassManager::run failed|processing an MLIR pass pipeline|error(?:\(s\))? while linking|llvm-link: error"
    r"|error while parsing (?:WGSL|SPIR-?V|GLSL|HLSL)|Can't execute .{0,200}clang",
    re.IGNORECASE,
)
_PTX = re.compile(r"ptx input, line (\d+); (error|fatal)\s*: (.+)")
_SPIRV = re.compile(
    r"(?:SPIR-?V|shader).{0,40}(?:invalid|error|fail)|spirv-val.{0,80}error|error: line \d+: ", re.IGNORECASE
)
_ASSERTED = re.compile(r"\bassert\w*\b.{0,80}\bfail", re.IGNORECASE)  # is read as a check
_FINE = re.compile(r"successfully|warning|without errors?|\b0 (?:errors?|failed)|BUILD SUCCESS", re.IGNORECASE)
_KERNEL = re.compile(
    r"kernel|program|OpenCL|CUDA|HIP|\.cl\b|\.cu\b|shader|WGSL|GLSL|HLSL|SPIR|ptx|nvrtc|hiprtc|comgr|GPU|device", re.IGNORECASE
)
# A compiler's error without a place; other programs print "error:" as well, so that the words must be a compiler's.
_BARE = re.compile(
    r"(?:^|Log: ?|\.\w+: )(?:fatal )?error:? .{0,80}\b(?:register|constraint|argument type|undeclared|undefined|expected|identifier"
    r"|built-in function"
    r"|address space|adding symbols|wrong format|redefinition|template|attribute|unable to execute command|frontend command failed)",
    re.IGNORECASE,
)
# Linkers of device code; the same words come from linkers of host programs.
_LINKED = re.compile(
    r"hidden symbol|kernel library|comgr|called by kernel|JIT session|\.bc\b|nvlink|unresolved extern", re.IGNORECASE
)
_LINUX = re.compile(r"kernel (?:modules?|headers?|sources?)\b|\w\.ko\b|\bdkms\b", re.IGNORECASE)  # a driver, no device code
_LOADED = re.compile(  # the words of the dynamic loader
    r"\.so[\w.]*: undefined symbol|(?:open|load)\w* .{0,60}(?:library|module|plugin)", re.IGNORECASE
)
_TOOL = re.compile(r"(hipcc)|\bnvcc\b|crt/host_config\.h|NVIDIA GPU Computing Toolkit")
_HRESULT = re.compile(r"\b0x8007[0-9a-fA-F]{4}\b")  # a call of Windows says what was wrong, and it was no compiler
_WRAPS = re.compile(r"(?:^|-)(?:build|compil|compilation)(?:-|$)")  # kinds of events that say no more than that a build failed
LONGEST = 160
TOGETHER = "Install libraries that were built for each other: the one that was loaded does not have the symbol."


def read(near: Near) -> Iterator[Event]:
    text = " ".join(near.text.split())
    if _HRESULT.search(text) or _LINUX.search(text) or _FINE.search(text) or _ASSERTED.search(text) or unrecognised.leads_on(text, near):
        return
    if found := _SYMBOL.search(text):
        kernel = _LINKED.search(" ".join((text, *near.after(2))))
        loaded = "symbol lookup error" in text or bool(_LOADED.search(text))
        what = "A kernel was not linked" if kernel else "A library could not be loaded" if loaded else "A link step failed"
        notes = (
            "two libraries of different versions or builds were mixed"
            if loaded and not kernel
            else "a declared function has no definition in what was linked",
        )
        made = _event("symbol-missing", f"{what}: the symbol {found[1][:120]} is not defined.", found[1][:120], notes)
        yield replace(made, next=_next.DOCTOR, fix=(TOGETHER,)) if loaded and not kernel else made
    elif found := _UNNAMED.search(text):
        said = f"The program's device code has no kernel {found[1]}: it was not built in, or has another name."
        yield replace(_event("kernel-not-found", said, found[1]), causes=("kernel-not-found",), next=_next.DOCTOR)
    elif found := _PTX.search(text):
        yield _event(
            "build-failed",
            f"ptxas refused line {found[1]} of the PTX: {found[3][:LONGEST].rstrip('.')}.",
            found[3][:80],
        )
    elif found := _CRASH.search(text):
        detail = next(filter(None, found.groups()), "")
        said = f"The device compiler itself failed{f': {detail[:LONGEST].rstrip(chr(46))}' if detail else ''}."
        yield _event(
            "compiler-crashed",
            said,
            detail[:80],
            ("a fault of the compiler, or code that it cannot translate for this device",),
        )
    elif _FAILED.search(text) or _SPIRV.search(text) or _BARE.search(text):
        what = "A kernel was not built" if _KERNEL.search(text) else "A build step failed"
        tool = _TOOL.search(text)  # a build on the command line: no program has run yet
        step = f"{'hipcc' if tool[1] else 'nvcc'} --version" if tool else _next.RECORD
        yield replace(_event("build-failed", f"{what}: {clipped(text)}", text[:80]), next=step)


def wraps(event: Event) -> bool:
    """Does an event say only that a build failed, so that a compiler's own line says more?"""
    return event.role == "refusal" and bool(event.causes) and bool(_WRAPS.search(event.kind))


def _event(kind: str, message: str, fact: str, notes: tuple[str, ...] = ()) -> Event:
    return Event(
        kind,
        "refusal",
        message,
        (("said", fact),),
        notes,
        ("failed-call",),
        _next.RECORD,
        sure=kind == "symbol-missing",
    )
