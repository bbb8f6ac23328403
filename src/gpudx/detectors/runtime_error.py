"""The CUDA runtime refused a call before it reached the driver.

The runtime checks some values before it calls the driver: the direction of a copy, pitches, device numbers, attributes of
functions. A refused call does nothing and returns an error, which is easily missed: the next calls succeed, and a kernel that
was never launched leaves its output unchanged.

Example:

    size_t host_pitch = width * sizeof(float);                        // the image holds double
    cudaMemcpy2D(image, pitch, host, host_pitch, width * sizeof(double), height, cudaMemcpyHostToDevice);

Fix it by checking the status of each call and by passing values that the call takes.

Seen only in runs under CUPTI, which `gpudx investigate` makes. Errors of queries, and those that earlier work left, are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from gpudx.detectors import Run
from gpudx.detectors._failures import only_tidied
from gpudx.facts import Facts
from gpudx.facts.runtime_errors import RuntimeFailure
from gpudx.model import Evidence, Finding, Symptom

ID = "runtime-error"


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per function, error and line; repeats are counted. Refused work is a fault whatever the exit status."""
    same = sorted(facts.runtime_failures, key=lambda one: (_key(one), one.site.number))
    for _, group in groupby(same, _key):
        failures = list(group)
        yield _finding(facts, run, failures[0], len(failures))


def _key(failure: RuntimeFailure) -> tuple[str, str, str]:
    site = failure.site
    return site.call, site.status or "", site.source or ""


def _finding(facts: Facts, run: Run, failure: RuntimeFailure, count: int) -> Finding:
    site = failure.site
    of = f" of kernel {site.kernel}" if site.kernel else ""
    given = f": {', '.join(failure.said)}" if failure.said else ""
    undone = " and did nothing" if failure.command else ""
    evidence = [Evidence(f"{site.call}{of} returned {site.status}{given}", (site.number,))]
    wrong = [Evidence(text, (site.number,)) for text in _wrong(facts, failure)]
    evidence += wrong
    settled = bool(wrong) and failure.command and run.outcome.kind == "exit" and only_tidied(facts, site.number - 1, site.tid)
    if settled:
        evidence.append(Evidence(f"after {site.call}, its thread made only cleanup calls", (site.number,)))
    evidence.append(Evidence("no driver call failed in it: the runtime refused it", (site.number,)))
    return Finding(
        id=ID,
        severity="error" if failure.command or run.failed else "warning",
        message=f"{site.call}{of} returned {site.status}{undone}{given}.",
        evidence=tuple(evidence),
        site=site,
        count=count,
        causes=(failure.cause,),
        facts=(("call", site.call), ("status", site.status or "?"), ("kernel", site.kernel or "")),
        certainty="observed" if settled else "recorded",
        symptom=Symptom("failed call") if settled else None,
        attribution="this" if failure.command else "probable",
        because=f"{site.call} was refused for the numbers that it was passed, and the program ended after it."
        if settled
        else f"{site.call} was refused, so its work was never done."
        if failure.command
        else "It is a call that failed before the program did.",
    )


def _wrong(facts: Facts, failure: RuntimeFailure) -> Iterator[str]:
    """Which of the values cannot be right, as far as the numbers show it."""
    given = failure.parameters
    if "width" in given:
        for side, what in (("dpitch", "destination"), ("spitch", "source")):
            if given["width"] > given[side]:
                yield f"a row of {given['width']:,} bytes does not fit into the {what}'s pitch of {given[side]:,} bytes"
    if "block_x" in given:
        yield from _too_large(facts, given)
    if "device" in given:
        known = len(facts.kernels.devices)
        if known and given["device"] >= known:
            yield f"device {given['device']} was asked for; the program sees {known}"


def _too_large(facts: Facts, given: Mapping[str, int]) -> Iterator[str]:
    """Only what no kernel may have: what this one opted in for is not known here (launch-refused compares that)."""
    threads = given["block_x"] * given["block_y"] * given["block_z"]
    most = max((device.max_work_group_size for device in facts.kernels.devices.values()), default=0)
    if most and threads > most:
        yield f"a block of {threads:,} threads is more than the {most:,} that the device allows"
    shared = max(
        (device.numbers.get("shared_per_block_optin", 0) for device in facts.kernels.devices.values()), default=0
    )
    if shared and given["shared"] > shared:
        yield f"{given['shared']:,} bytes of shared memory are more than the {shared:,} that a block can have"
