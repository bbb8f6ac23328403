"""Device code was compiled when it was loaded: the program has none that is compiled for this device.

It works, but takes time in every run with a cold cache, and the code that runs was made by the driver's compiler, not by the
one that built the program.

Example:

    nvcc -gencode arch=compute_80,code=compute_80 app.cu      // only PTX; run on an sm_90 device

Fix it by building for the device as well.

It is a note, with the time that the loading call took, and reported only if the trace has the whole image and the device. Code
that is loaded when it is first used is compiled then, and its time is not in this number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._words import site_of
from gpudx.facts import Facts, backend_module
from gpudx.model import Evidence, Finding

ID = "code-compiled-at-load"
MOST_LOOKED_AT = 200


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One note for all images of a kind."""
    calls = tuple(info for info in facts.trace.schema.doing("create") if info.object == "program")
    for position in map(int, facts.trace.select(calls)[:MOST_LOOKED_AT]):
        image = facts.images.at(position)
        device = facts.kernels.device_at(position)
        rules = backend_module(facts.trace.info(position).api, "images")
        if image is None or device is None or rules is None or not image.whole:
            continue
        fitting = [code for code in image.codes if code.runs_on(device.numbers)]
        if fitting and not any(code.compiled for code in fitting):
            yield _finding(facts, position, image, rules.device_target(device.numbers))


def _finding(facts: Facts, position: int, image: Any, target: str) -> Finding:
    site, one = site_of(facts, position), np.array([position])
    begin, end = (int(facts.trace.column(name, one)[0]) for name in ("begin", "end"))
    took = (end - begin) / facts.trace.ticks_per_second * 1e3
    return Finding(
        id=ID,
        severity="info",
        scope="note",
        message=f"The driver had to compile what {site.call} loaded ({took:.1f} ms): it has {image.holds}, the device is {target}.",
        evidence=(Evidence(f"the image has {image.holds}; the device is {target}", (site.number,)),),
        site=site,
        facts=(("call", site.call), ("holds", image.holds), ("device", target)),
    )
