"""What the recorder is asked for, as variables of the program's environment."""

from __future__ import annotations

from collections.abc import Mapping

from gpudx.lab import captured_launch, fenced, inside, poisoned, watched
from gpudx.model.how import How

__all__ = ["How", "variables"]

SERIALISE = "GPUDX_SERIALISE"  # native/core/serialise.c
STACKS = "GPUDX_STACKS"  # native/core/stacks.c
CRUMBS = "GPUDX_CRUMBS"  # native/core/crumbs.c
READ_BACK = "GPUDX_READ_BACK"  # native/opencl/read_back.h


def variables(how: How, base: Mapping[str, str]) -> dict[str, str]:
    """`base` is the environment without them."""
    parts = [*([inside.WORDS] if how.stacks or how.indices else []), *([inside.INDICES] if how.indices else [])]
    found = inside.environment(base, *parts)
    return {
        **found,
        **({SERIALISE: "1"} if how.serialise or _reads_reports(how) else {}),
        **({STACKS: "1"} if how.stacks or how.indices else {}),
        **({READ_BACK: "1"} if how.read_back else {}),
        **({CRUMBS: crumbs} if (crumbs := _crumbs(how)) else {}),
        **(fenced.environment(how.fence, {**base, **found}) if how.fence else {}),
        **(poisoned.environment(how.poison, {**base, **found}) if how.poison else {}),
        **(watched.environment(how.watch, {**base, **found}) if how.watch else {}),
        **captured_launch.environment(how, {**base, **found}),
    }


def _reads_reports(how: How) -> bool:
    """What a kernel of CUDA reports is read behind its launch, so that the launch is known."""
    return how.kernel_checks is not None and how.kernel_checks.language == "ptx"


def _crumbs(how: How) -> str:
    """A fault that fences or poison provoke must name its launch; a sanitizer does so itself."""
    if how.crumbs or how.sanitizer:
        return how.crumbs or "off"
    return "all" if how.fence or how.poison else ""
