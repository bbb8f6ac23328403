"""The file that ran is not the one that its sources would give: an old build, a committed copy, or a build that went elsewhere."""

from gpudx.causes import Cause
from gpudx.causes._kinds import PROGRAM

CAUSE = Cause(
    id="stale-executable",
    title="What ran was not built from the sources as they are",
    refutes_if="A fresh build of the same sources would have the same build id, or their checksums would be those that were compiled.",
    fix=(
        "Build again, from clean, and run the file that this build names.",
        "Compare its build id with `gpudx show CASE identity`; let scripts end when a build fails (set -e).",
    ),
    predicts=(("recorded", "the same old file runs in every run"),),
    settled_by="a run of a fresh build (gpudx investigate --rebuild CMD), or a text that only the sources have (--probe TEXT)",
    kind=PROGRAM,
)
