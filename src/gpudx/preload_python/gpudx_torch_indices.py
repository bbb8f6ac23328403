"""Which index of which tensor is out of range, before a kernel finds out: a kernel can only fail as a whole.

All of PyTorch's functions that a Python line calls come by here (torch.overrides.TorchFunctionMode); the table says which of their
arguments are indices, and of what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gpudx_recorder

MOST_TOLD = 8
MOST_SEEN = 1_000_000  # calls that are looked at: after that the run goes on as it would have


class Use:
    """An argument that holds indices: of `table`, along `dim`. Values from `low` to `size` - 1 are valid, and `also`."""

    def __init__(self, name: str, indices: Any, table: Any, dim: int, low: int = 0, also: int | None = None) -> None:
        self.name, self.indices, self.table, self.dim, self.low, self.also = name, indices, table, dim, low, also

    @property
    def size(self) -> int:
        return int(self.table.shape[self.dim])


def _given(args: Any, named: Any, *names: str) -> list[Any]:
    """Arguments by place or by name; None where one was not given."""
    return [args[i] if i < len(args) else named.get(name) for i, name in enumerate(names)]


def _embedding_of_module(args: Any, named: Any) -> Iterator[Use]:
    indices, weight = _given(args, named, "input", "weight")
    yield Use("input", indices, weight, 0)


def _embedding(args: Any, named: Any) -> Iterator[Use]:
    weight, indices = _given(args, named, "weight", "indices")
    yield Use("indices", indices, weight, 0)


def _along(args: Any, named: Any) -> Iterator[Use]:
    """gather, scatter, index_select and their like: (tensor, dim, index, ...)."""
    table, dim, index = _given(args, named, "input", "dim", "index")
    table = named.get("self", table) if table is None else table
    yield Use("index", index, table, dim)


def _classes(args: Any, named: Any) -> Iterator[Use]:
    """cross_entropy, nll_loss: the target names a class of the input, whose classes are in dimension 1 of a batch."""
    scores, target = _given(args, named, "input", "target")
    ignored = named.get("ignore_index", -100)
    yield Use("target", target, scores, 1 if scores.dim() > 1 else 0, also=int(ignored))


def _one_hot(args: Any, named: Any) -> Iterator[Use]:
    classes, count = _given(args, named, "tensor", "num_classes")
    if count is not None and count > 0:
        yield Use("tensor", classes, classes.new_empty((count,)), 0)


def _take(args: Any, named: Any) -> Iterator[Use]:
    table, index = _given(args, named, "input", "index")
    flat = table.reshape(-1)
    yield Use("index", index, flat, 0, low=-flat.shape[0])


def _take_along(args: Any, named: Any) -> Iterator[Use]:
    table, index, dim = _given(args, named, "input", "indices", "dim")
    if dim is not None:
        yield Use("indices", index, table, dim)


def _subscript(args: Any, named: Any) -> Iterator[Use]:
    """tensor[index, ...]: negative indices count from the end."""
    table, index = args[0], args[1]
    parts = list(index) if isinstance(index, tuple) else [index]
    dim, rest = 0, table.dim() - sum(map(_dims, parts))
    for part in parts:
        count = _dims(part)
        if part is Ellipsis:
            dim += rest
        elif count == 1 and hasattr(part, "dtype") and not _is_mask(part) and part.dim() > 0:
            yield Use("index", part, table, dim, low=-int(table.shape[dim]))
        dim += count


def _dims(part: Any) -> int:
    if part is None or part is Ellipsis or part is True or part is False:
        return 0
    return int(part.dim()) if hasattr(part, "dtype") and _is_mask(part) else 1


def _is_mask(tensor: Any) -> bool:
    return str(tensor.dtype) in ("torch.bool", "torch.uint8")


def _put(args: Any, named: Any) -> Iterator[Use]:
    table, indices = _given(args, named, "input", "indices")
    return _subscript((table, tuple(indices)), {})


ALONG = ("gather", "scatter", "scatter_add", "scatter_reduce", "index_select", "index_add", "index_copy", "index_fill", "index_reduce")
TABLE: dict[str, Callable[[Any, Any], Iterator[Use]]] = {
    **{name: _along for one in ALONG for name in (one, f"{one}_")},
    "cross_entropy": _classes,
    "nll_loss": _classes,
    "one_hot": _one_hot,
    "take": _take,
    "take_along_dim": _take_along,
    "__getitem__": _subscript,
    "__setitem__": _subscript,
    "index_put": _put,
    "index_put_": _put,
}


def uses(function: Any, args: Any, named: Any) -> Iterator[Use]:
    name = getattr(function, "__name__", "")
    if name in ("embedding", "embedding_bag"):
        of_module = getattr(function, "__module__", "") == "torch.nn.functional"
        return _embedding_of_module(args, named) if of_module else _embedding(args, named)
    find = TABLE.get(name)
    return find(args, named) if find else iter(())


def install(torch: Any, where: Callable[[Any], tuple[str, str]]) -> None:
    integers = {torch.int64, torch.int32, torch.int16, torch.int8}
    counts = {"told": 0, "seen": 0}

    def look(name: str, use: Use) -> None:
        indices = use.indices
        if indices is None or getattr(indices, "dtype", None) not in integers or not indices.numel():
            return
        if indices.is_meta or (indices.is_cuda and torch.cuda.is_current_stream_capturing()):
            return
        bad = (indices < use.low) | (indices >= use.size)
        if use.also is not None:
            bad &= indices != use.also
        many = int(bad.sum())
        if many:
            counts["told"] += 1
            tell(name, use, bad, many)

    def tell(name: str, use: Use, bad: Any, many: int) -> None:
        position = [int(one) for one in bad.nonzero()[0]]
        module, owned = where(use.table)
        gpudx_recorder.tell(
            "index",
            function=name,
            argument=use.name,
            position=position,
            value=int(use.indices[tuple(position)]),
            low=use.low,
            size=use.size,
            dim=use.dim % max(1, use.table.dim()),
            bad=many,
            shape=list(use.indices.shape),
            dtype=str(use.indices.dtype).replace("torch.", ""),
            table=list(use.table.shape),
            module=module,
            owned=owned,
        )

    class Looking(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            if counts["told"] < MOST_TOLD and counts["seen"] < MOST_SEEN and not torch.compiler.is_compiling():
                try:
                    for use in uses(function, args, named):
                        counts["seen"] += 1
                        look(function.__name__, use)
                except Exception:
                    pass
            return function(*args, **named)

    Looking().__enter__()
