"""PyTorch: which module a thread is in, which step of a backward pass, and whether indices fit.

Modules are followed by PyTorch's global hooks for modules, steps of a backward pass by hooks of its nodes. Code that PyTorch compiles
(torch.compile, torch.export) is traced as if there were none of these hooks. From PyTorch 2.1 on; where a piece is missing,
that piece is off.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import threading
import weakref
from typing import Any

import gpudx_recorder

MOST_NODES = 100_000
_local = threading.local()
_names: Any = weakref.WeakKeyDictionary()  # model -> module -> its name


def note_modules(torch: Any) -> None:
    for what, follow in (("modules", _follow_modules), ("backward passes", _follow_backward)):
        try:
            follow(torch)
        except Exception as error:
            atexit.register(_tell_off, what, f"{type(error).__name__}: {error}")


def _tell_off(what: str, why: str) -> None:
    if gpudx_recorder.is_recording():
        gpudx_recorder.tell("off", what=what, why=why)


# ---- modules ----


def _follow_modules(torch: Any) -> None:
    compiling = torch.compiler.is_compiling if hasattr(torch.compiler, "is_compiling") else torch._dynamo.is_compiling

    def before(module: Any, args: Any) -> None:
        if not compiling():
            _enter(module)

    def after(module: Any, args: Any, output: Any) -> None:
        if not compiling():
            _leave()

    hooks = torch.nn.modules.module
    hooks.register_module_forward_hook(after, always_call=True)
    hooks.register_module_forward_pre_hook(before)


def _enter(module: Any) -> None:
    try:
        stack = _stack()
        model = stack[0][0]() if stack else module
        text = f"module={_name(model, module)}".encode()
        stack.append((weakref.ref(module), text))
        gpudx_recorder.scope(text)
    except Exception:
        pass


def _leave() -> None:
    try:
        stack = _stack()
        stack.pop()
        gpudx_recorder.scope(stack[-1][1] if stack else _step())
    except Exception:
        pass


def _stack() -> list[Any]:
    """The modules that this thread is in, outermost first."""
    if not hasattr(_local, "stack"):
        _local.stack = []
    found: list[Any] = _local.stack
    return found


def _name(model: Any, module: Any) -> str:
    """ "layers.7.mlp (GPT)", or "GPT" for the model itself."""
    names = _names.get(model)
    if names is None or module not in names:  # new, or changed since
        names = _names[model] = weakref.WeakKeyDictionary({one: name for name, one in model.named_modules()})
    kind = type(model).__name__
    path = names.get(module)
    return f"{path} ({kind})" if path else kind if module is model else f"{type(module).__name__} ({kind})"


# ---- steps of a backward pass ----


def _follow_backward(torch: Any) -> None:
    """Launches get the number that PyTorch gives the node that it makes meanwhile (ATen/SequenceNumber.h); in the backward pass
    that node says its number, and so its launches are joined with those of the forward pass."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"), mode=os.RTLD_NOLOAD)
    run = torch.autograd._engine_run_backward

    @functools.wraps(run)
    def _engine_run_backward(outputs: Any, *args: Any, **named: Any) -> Any:
        before, handles = _step(), _hooked(outputs)
        try:
            return run(outputs, *args, **named)
        finally:
            for handle in handles:
                handle.remove()
            _end_steps(before)

    torch.autograd._engine_run_backward = _engine_run_backward
    gpudx_recorder.number_launches(ctypes.cast(library._ZN2at15sequence_number4peekEv, ctypes.c_void_p))


def _hooked(outputs: Any) -> list[Any]:
    handles: list[Any] = []
    try:
        seen = set()
        left = [one.grad_fn for one in outputs if getattr(one, "grad_fn", None) is not None]
        while left and len(seen) < MOST_NODES:
            node = left.pop()
            if node in seen:
                continue
            seen.add(node)
            left += [one for one, _ in node.next_functions if one is not None]
            if node.next_functions:  # the others only collect gradients
                text = f"node={node.name()}\nsequence={node._sequence_nr()}".encode()
                handles.append(node.register_prehook(functools.partial(_begin_step, text)))
    except Exception:
        pass
    return handles


def _begin_step(text: bytes, gradients: Any) -> None:
    _local.step = text
    gpudx_recorder.scope(text)


def _end_steps(before: bytes) -> None:
    """The thread that asked for a backward pass goes on where it was."""
    _local.step = before
    stack = _stack()
    gpudx_recorder.scope(stack[-1][1] if stack else before)


def _step() -> bytes:
    found: bytes = getattr(_local, "step", b"")
    return found


# ---- indices ----


def check_indices(torch: Any) -> None:
    """Index arguments are compared with the sizes that they index before each operator that uses them; each look waits for the
    device. Then the operator runs as it would have. Threads of the program's own are not looked at."""
    import gpudx_torch_indices

    gpudx_torch_indices.install(torch, where)


def where(table: Any) -> tuple[str, str]:
    """The module that this thread is in, and the name of a parameter of it."""
    stack = _stack()
    module = stack[-1][0]() if stack else None
    if module is None:
        return "", ""
    owned = (name for name, one in module.named_parameters(recurse=False) if one is table)
    return stack[-1][1].decode().partition("=")[2], next(owned, "")
