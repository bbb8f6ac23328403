"""What a framework was doing when a call was made: its operator, module and backward step.

PyTorch's operators need no help from inside the program: each goes through a function of its own, at::_ops::NAME::call or
::redispatch, and each generated backward step through torch::autograd::generated::NAME::apply (torchgen/gen.py and
tools/autograd/gen_autograd_functions.py of PyTorch), and both are in a recorded stack. The module and the line of the forward pass
come from gpudx's code inside the program (gpudx/preload_python).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from gpudx.model import Framework
from gpudx.text import printable
from gpudx.trace import Trace

OPERATOR = re.compile(r"at::_ops::(\w+)::(?:call|redispatch)\b")
NODE = re.compile(r"torch::autograd::(?:generated::)?(\w+)::apply\b")
OF_PYTHON = "PyNode"  # steps that the program wrote itself (torch.autograd.Function)
INTERPRETER = "_PyEval_EvalFrameDefault"
OVERLOAD = re.compile(r"_[A-Z]\w*$")  # add_Tensor: the overload "Tensor" of add
BACKWARD = re.compile(r"Backward\d*$")

Forward = Callable[[int, str], str]  # the line of the forward pass that a step of this number and name is of; "": not known


def framework_of(native: Iterable[str], scope: str = "", forward: Forward = lambda number, node: "") -> Framework | None:
    """From the native frames of a stack, innermost first, and what the program's side said."""
    operator, node = operator_of(native)
    said = dict(line.split("=", 1) for line in map(printable, scope.split("\n")) if "=" in line)
    line = ""
    if node == OF_PYTHON or (node and said.get("node") in (node, f"torch::autograd::{node}")):
        node = said.get("node", node)
        line = forward(int(said["sequence"]), node) if said.get("sequence", "").isdecimal() else ""
    found = Framework(
        operator=f"aten::{OVERLOAD.sub('', operator)}" if operator else "",
        module=said.get("module", ""),
        node=node,
        forward=line,
    )
    return found if found != Framework() else None


def operator_of(native: Iterable[str]) -> tuple[str, str]:
    """The outermost operator that the innermost Python line, or the step of a backward pass, called; and that step. It is the
    operator that users know: aten::linear, not the aten::addmm inside it."""
    operator = ""
    for line in native:
        if (found := OPERATOR.match(line)) is not None:
            operator = found[1]
        elif (step := NODE.match(line)) is not None:
            return operator, step[1]
        elif operator and line.startswith(INTERPRETER):
            break
    return operator, ""


def is_forward_of(operators: Iterable[str], node: str) -> bool:
    """Was one of these operators the forward pass of a step? MulBackward0 is that of mul_Tensor, NllLossBackward0 of
    nll_loss_forward."""
    wanted = BACKWARD.sub("", node).lower()
    return bool(wanted) and any(name.replace("_", "").lower().startswith(wanted) for name in operators)


@dataclass(frozen=True)
class Told:
    """Something that gpudx's code inside the program found out, at this position of the record."""

    position: int
    kind: str
    fields: dict[str, object]

    def text(self, name: str) -> str:
        """A field for people; "" where there is none."""
        value = self.fields.get(name)
        return printable(str(value)) if value is not None else ""

    def number(self, name: str) -> int | None:
        value = self.fields.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


class Tellings:
    """All of them, in order of time."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def every(self) -> tuple[Told, ...]:
        return tuple(self._read())

    def of(self, kind: str) -> list[Told]:
        return [one for one in self.every if one.kind == kind]

    def line_of(self, kernel: str) -> str:
        """The line of the Python function that a kernel was compiled from: its name is that of the function, or has it in C++'s way."""
        for one in self.of("kernel"):
            name, line = one.text("name"), one.number("line")
            if line is not None and (name == kernel or (kernel.startswith("_Z") and f"{len(name)}{name}" in kernel)):
                return f"{one.text('file')}:{line}"
        return ""

    def _read(self) -> Iterator[Told]:
        for at in self._trace.named("note_told").tolist():
            try:
                fields = json.loads(self._trace.text(at, "text2"))
            except ValueError:
                continue  # cut off: it was too long
            if isinstance(fields, dict):
                yield Told(at, self._trace.text(at), fields)
