"""A kernel goes wrong because a -D option of its program has another name than the macro that its source asks for."""

from __future__ import annotations

from gpudx.detectors import option_misspelled
from gpudx.diagnose.access_numbers import Why
from gpudx.diagnose.build_options import WORD
from gpudx.diagnose.kernel_check_reports import Failure

KINDS = ("bounds", "uninitialized", "race", "barrier", "loop")


def why(f: Failure) -> Why | None:
    """None where the kernel does not use the macro that kept its default."""
    launch = f.facts.launches.at_position(f.position)
    if f.kind not in KINDS or launch is None:
        return None
    row, used = int(f.facts.launches.kernel_row[launch]), set(WORD.findall(f.body))
    built = f.facts.kernels.built_at(row, int(f.facts.objects.table["born"][row])) if row >= 0 else None
    for meant in option_misspelled.misspelled(f.facts) if built is not None else ():
        if meant.build.position == built and meant.near in used:
            text = (
                f"The program was built with -D{meant.name}={meant.value}, which no source uses: `{meant.near}`, which this kernel uses, "
                f"{meant.left}."
            )
            return Why(option_misspelled.ID, text, (meant.step,), f.facts.sites.outside_headers(built))
    return None
