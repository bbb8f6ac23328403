"""contracts.toml: what each kernel needs from whoever launches it.

[[contract]]
kernel = "rope_*"
require = ["head_dim % 2 == 0", "bytes(x) >= rows * heads * head_dim * 4"]
where = "rows > 0"
why = "the rotation works on pairs"
names = { x = 0, rows = 1, heads = 2, head_dim = 3, base = "float arg4" }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpudx.contracts import source
from gpudx.contracts.language import LAUNCHES, Expression
from gpudx.contracts.launches import Argument

KEYS = {
    "kernel": "pattern of the kernel's name, plain or demangled (`*`, `?`, `[abc]`)",
    "require": "expressions that must be true at every launch",
    "where": "only launches where this is true are checked (optional)",
    "why": "the reason, shown when it is broken (optional)",
    "names": "names for arguments by place, where the kernel's declaration has none (optional)",
}
KIND = "contract"


@dataclass(frozen=True)
class Contract:
    """What the launches of some kernels must be like."""

    kernel: str
    require: tuple[Expression, ...]
    where: Expression | None
    why: str
    names: Mapping[str, Argument]
    path: Path
    line: int

    @property
    def place(self) -> str:
        return f"{self.path.name} line {self.line}"


def read(path: Path) -> tuple[Contract, ...]:
    """All contracts of a file. UserError, with the line, for the first that cannot be understood."""
    return tuple(_contract(entry) for entry in source.read(path, KIND))


def _contract(entry: source.Entry) -> Contract:
    entry.check_keys(tuple(KEYS))
    wanted = entry.values.get("require")
    texts = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(texts, list) or not texts:
        entry.refuse('require must be a list of expressions; write require = ["n > 0"]', "require")
    where = entry.values.get("where")
    return Contract(
        kernel=entry.text("kernel"),
        require=tuple(entry.expression(text, LAUNCHES) for text in texts),
        where=None if where is None else entry.expression(where, LAUNCHES),
        why=entry.text("why", ""),
        names=entry.names(entry.values.get("names", {})),
        path=entry.path,
        line=entry.first,
    )
