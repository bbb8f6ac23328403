"""The process died in the recorder itself: then gpudx is to blame."""

from __future__ import annotations

from gpudx.detectors._words import site_of
from gpudx.facts import Facts
from gpudx.facts.unwind import host_stack, recorder_frame
from gpudx.model import Evidence, Finding, Symptom
from gpudx.text import signal_name

FRAMES = 16


def own_crash(facts: Facts, detector: str, position: int | None) -> Finding | None:
    """The finding that says so, where it is so. `position`: the call in flight."""
    words, frame = facts.trace.last_words, recorder_frame(facts.trace)
    if words is None or frame is None:
        return None
    name = signal_name(words.signal)
    site = site_of(facts, position) if position is not None else None
    inside = f" while it recorded {site.call} (call {site.number})" if site else ""
    stack = host_stack(facts.trace)
    return Finding(
        id=detector,
        severity="error",
        message=f"gpudx crashed the program: {name} in {frame}{inside}. "
        "This is a bug in gpudx: run the program without it, and report this case.",
        evidence=(
            Evidence(f"{name} reached thread {words.tid} in {frame}", (site.number,) if site else ()),
            *([Evidence("its stack, innermost first: " + " < ".join(stack[:FRAMES]))] if stack else []),
        ),
        site=site,
        causes=(),
        facts=(("signal", name), ("place", "gpudx")),
        scope="symptom",
        symptom=Symptom("crash in call" if site else "crash"),
    )
