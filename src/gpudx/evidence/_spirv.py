"""SPIR-V modules: the kernels of HIP programs that are compiled for no chip in particular, with their parameters.

Layout: Khronos, "SPIR-V Specification", "Physical Layout of a SPIR-V Module" (five words, then instructions whose first word has their
length in its upper and their number in its lower half) and "Instructions". A module says nothing of registers, spills or scratch
memory: those are known once a driver has compiled it. Shared memory is a variable of the module that a kernel, or what it calls, uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gpudx.backends.hip.types import signature
from gpudx.backends.mangling import demangle
from gpudx.evidence._compressed import Unreadable
from gpudx.evidence._device_code import Image, Kernel, Parameter
from gpudx.model.kernel_builds import KernelBuild

MAGIC = b"\x03\x02\x23\x07"
NAME, ENTRY_POINT, EXECUTION_MODE = 5, 15, 16
BOOL, INT, FLOAT, VECTOR, ARRAY, STRUCT, POINTER = 20, 21, 22, 23, 28, 30, 32
CONSTANT, FUNCTION, FUNCTION_PARAMETER, DECORATE = 43, 54, 55, 71
CALL, VARIABLE = 57, 59
IDS = {61: 3, 62: 2, 63: 2, 64: 3, 79: 4, 81: 3, 82: 4}  # loads, stores, parts of values: how many operands come before their literals
KERNEL_MODEL, LOCAL_SIZE, MOST_THREADS, WORKGROUP = 6, 17, 5893, 4  # MaxWorkgroupSizeINTEL, which clang writes for __launch_bounds__
PARAMETER_ATTRIBUTE, BY_VALUE = 38, 2
SPACES = {0: "constant", 4: "local", 5: "global", 7: "private", 8: "generic"}  # storage classes
HEADER_WORDS = 5
MOST_INSTRUCTIONS = 20_000_000
DEEPEST = 16


@dataclass
class _Module:
    """What is needed of a module: its types and constants by their numbers, its kernels, and the parameters of functions."""

    types: dict[int, tuple[int, list[int]]] = field(default_factory=dict)  # instruction and operands
    constants: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    kernels: dict[int, str] = field(default_factory=dict)
    required: dict[int, tuple[int, ...]] = field(default_factory=dict)
    limits: dict[int, tuple[int, ...]] = field(default_factory=dict)
    by_value: set[int] = field(default_factory=set)
    shared: dict[int, int] = field(default_factory=dict)  # variables in shared memory: type of the pointer, by number
    used: dict[int, set[int]] = field(default_factory=dict)  # of these, and of functions, by function
    parameters: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # type and number, by function


def read(data: memoryview, where: str, target: str) -> Image:
    """The image of one module. What cannot be read is said in it."""
    image = Image("SPIR-V", target, "SPIR-V", where)
    try:
        module = _walk(data)
        kernels = tuple(_kernel(module, number, name, image) for number, name in module.kernels.items())
        return replace(image, form=_version(data), kernels=kernels)
    except Unreadable as error:
        return replace(image, unread=str(error))


def _version(data: memoryview) -> str:
    return f"SPIR-V {data[6]}.{data[5]}"


def _walk(data: memoryview) -> _Module:
    words = np.frombuffer(data[: len(data) // 4 * 4], "<u4")
    if len(words) < HEADER_WORDS:
        raise Unreadable("is cut off: a module of SPIR-V has at least 20 bytes")
    module, at, function = _Module(), HEADER_WORDS, 0
    for _ in range(MOST_INSTRUCTIONS):
        if at >= len(words):
            return module
        size, code = int(words[at]) >> 16, int(words[at]) & 0xFFFF
        if not size or at + size > len(words):
            raise Unreadable("is damaged or cut off: an instruction goes past its end")
        if code == FUNCTION:
            function = int(words[at + 2])
        elif code == FUNCTION_PARAMETER:
            module.parameters.setdefault(function, []).append((int(words[at + 1]), int(words[at + 2])))
        elif code in _KEPT:
            _keep(module, code, words[at + 1 : at + size])
        elif function and (module.shared or code == CALL):
            module.used.setdefault(function, set()).update(words[at + 1 : at + 1 + min(size - 1, IDS.get(code, size))].tolist())
        at += size
    raise Unreadable("has an implausible number of instructions")


_KEPT = {NAME, ENTRY_POINT, EXECUTION_MODE, BOOL, INT, FLOAT, VECTOR, ARRAY, STRUCT, POINTER, CONSTANT, DECORATE, VARIABLE}


def _keep(module: _Module, code: int, operands: np.ndarray) -> None:
    given = [int(word) for word in operands]
    if code == NAME and len(given) > 1:
        module.names[given[0]] = _text(operands[1:])
    elif code == ENTRY_POINT and len(given) > 2 and given[0] == KERNEL_MODEL:
        module.kernels[given[1]] = _text(operands[2:])
    elif code == EXECUTION_MODE and len(given) >= 5 and given[1] == LOCAL_SIZE:
        module.required[given[0]] = tuple(given[2:5])
    elif code == EXECUTION_MODE and len(given) >= 5 and given[1] == MOST_THREADS:
        module.limits[given[0]] = tuple(given[2:5])
    elif code == VARIABLE and len(given) >= 3 and given[2] == WORKGROUP:
        module.shared[given[1]] = given[0]
    elif code == CONSTANT and len(given) >= 3:
        module.constants[given[1]] = given[2]
    elif code == DECORATE and given[1:3] == [PARAMETER_ATTRIBUTE, BY_VALUE]:
        module.by_value.add(given[0])
    elif code in (BOOL, INT, FLOAT, VECTOR, ARRAY, STRUCT, POINTER) and given:
        module.types[given[0]] = code, given[1:]


def _text(words: np.ndarray) -> str:
    """A literal: bytes up to the first zero; what follows it are other operands."""
    return words.tobytes().split(b"\0")[0].decode("utf-8", "replace")


# ---- sizes ----


def _size(module: _Module, number: int, depth: int = 0) -> tuple[int, int]:
    """Bytes of a type and the multiple at which it begins, as C has it ("Data Types" of the OpenCL C specification)."""
    code, given = module.types.get(number, (0, []))
    if depth > DEEPEST or not code:
        raise Unreadable("is damaged: a parameter has a type that is not there")
    if code == POINTER:
        return 8, 8
    if code in (BOOL, INT, FLOAT):
        size = given[0] // 8 if given else 1
        return size, size
    if code == VECTOR:
        one, count = _size(module, given[0], depth + 1)[0], given[1]
        whole = one * (4 if count == 3 else count)
        return whole, whole
    if code == ARRAY:
        size, align = _size(module, given[0], depth + 1)
        return size * module.constants.get(given[1], 0), align
    at, most = 0, 1
    for member in given:
        size, align = _size(module, member, depth + 1)
        at, most = _up(at, align) + size, max(most, align)
    return _up(at, most), most


def _up(value: int, multiple: int) -> int:
    return -(-value // max(multiple, 1)) * max(multiple, 1)


# ---- kernels ----


def _shared_bytes(module: _Module, kernel: int) -> int:
    """Of the variables in shared memory that the kernel and the functions it calls use."""
    reached, open_ = set[int](), [kernel]
    while open_:
        function = open_.pop()
        reached.add(function)
        open_ += [one for one in module.used.get(function, ()) if one in module.used and one not in reached]
    mine = {one for function in reached for one in module.used.get(function, ()) if one in module.shared}
    return sum(_size(module, module.types[module.shared[one]][1][1])[0] for one in mine if module.shared[one] in module.types)


def _kernel(module: _Module, number: int, symbol: str, image: Image) -> Kernel:
    parameters = _parameters(module, number, symbol)
    last = parameters[-1] if parameters else None
    required = module.required.get(number) or module.limits.get(number)
    build = KernelBuild(
        kernel=demangle(symbol),
        mangled=symbol,
        arch=image.target,
        max_threads=required[0] * required[1] * required[2] if required else None,
        static_shared_bytes=_shared_bytes(module, number),
        image=image.where,
    )
    return Kernel(build, parameters, last.offset + last.size if last else 0)


def _parameters(module: _Module, function: int, symbol: str) -> tuple[Parameter, ...]:
    given = module.parameters.get(function, [])
    types = [one.type for one in signature(symbol).parameters or ()]
    types = types if len(types) == len(given) else [""] * len(given)
    made: list[Parameter] = []
    at = 0
    for index, (type_, number) in enumerate(given):
        code, operands = module.types.get(type_, (0, []))
        whole = code == POINTER and number in module.by_value
        size, align = _size(module, operands[1] if whole else type_)
        pointer = code == POINTER and not whole
        at = _up(at, align)
        space = SPACES.get(operands[0], "") if pointer else ""
        kind = "global_buffer" if pointer else "by_value"
        made.append(Parameter(index, at, size, types[index], module.names.get(number, ""), kind, space))
        at += size
    return tuple(made)
