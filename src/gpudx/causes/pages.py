"""What the ids in a case mean: a title and a text for each detector and each cause, as they are declared."""

from __future__ import annotations

from functools import cache

from gpudx import causes, detectors
from gpudx.report import Rule


@cache
def every() -> dict[str, Rule]:
    """By id. A detector that has the name of its cause tells what both say."""
    found = {name: _cause(name) for name in causes.every()}
    for module in detectors.every():
        title, _, rest = (module.__doc__ or module.ID).strip().partition("\n")
        mend = found[module.ID].text if module.ID in found else ""
        found[module.ID] = Rule(title, "\n\n".join(filter(None, [f"{title}\n{rest}".strip(), mend])))
    return found


def _cause(name: str) -> Rule:
    cause = causes.every()[name]
    mend = "\n".join(f"- {step}" for step in cause.fix)
    text = [cause.about.strip(), f"Refuted if: {cause.refutes_if}", f"Fix:\n{mend}"]
    return Rule(cause.title, "\n\n".join(filter(None, text)))
