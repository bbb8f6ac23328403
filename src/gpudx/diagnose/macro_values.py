"""An access whose line uses a macro without parentheses around its value: the index is another one than the source seems to say."""

from __future__ import annotations

from gpudx.diagnose.access_numbers import Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts.bare_macros import bare_macros
from gpudx.facts.build_macros import Builds

CAUSE = "macro-without-parentheses"
KINDS = ("bounds", "race", "uninitialized")


def why(f: Failure) -> Why | None:
    for build in Builds(f.facts).all() if f.kind in KINDS and f.source else []:
        if f.source not in build.text:
            continue
        for one in bare_macros(build):
            if (f.facts.kernel_files.place(build.text, one.line) or ("", one.line)) == (f.site.file, f.site.line):
                given = f"-D{one.name}={one.value}" if one.by_option else f"#define {one.name} {one.value}"
                text = f"{given} has no parentheses around its value, so `{one.used}` is `{one.becomes}`."
                return Why(CAUSE, text[0].upper() + text[1:], (one.step,), f.facts.sites.at(build.position) if one.by_option else None)
    return None
