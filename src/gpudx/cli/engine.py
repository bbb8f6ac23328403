"""Options of commands that can make their runs on a Ray cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from gpudx.cli.declare import Option
from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.lab.ray_cluster import Share


class Engine(StrEnum):
    """Where runs are made."""

    local = "local"
    ray = "ray"


EngineOption = Annotated[Engine, Option(help="Run here, or on the nodes of a Ray cluster.")]
Address = Annotated[str | None, Option(metavar="HOST:PORT", help="Address of the Ray cluster. [the local one]")]
PerTrialGpus = Annotated[
    float | None, Option(min=0, metavar="N", help="GPUs for each run. [1 if the cluster has GPUs]")
]
PerTrialCpus = Annotated[float | None, Option(min=0, metavar="N", help="CPUs for each run. [1]")]


def share(engine: Engine, address: str | None, gpus: float | None, cpus: float | None) -> Share | None:
    """What a run gets of a cluster; None: runs are made here."""
    if engine is Engine.ray:
        from gpudx.lab.ray_cluster import Share

        return Share(address or "auto", gpus, 1.0 if cpus is None else cpus)
    if (address, gpus, cpus) != (None, None, None):
        raise UserError("--address, --per-trial-gpus and --per-trial-cpus are only for a cluster: add --engine ray.")
    return None
