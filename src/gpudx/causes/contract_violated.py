"""A launch was given values that the kernel's own contract forbids."""

from gpudx.causes import Cause

CAUSE = Cause(
    id="contract-violated",
    title="A launch breaks a contract that was stated for its kernel",
    refutes_if="Every requirement of the contract would be true at this launch.",
    fix=(
        "Follow the values named above back to where the program computes them, and mend them there.",
        "If the kernel can do with these values, the contract is wrong: correct it in its file.",
    ),
    predicts=(("recorded", "the requirement is false at the launches named"),),
)
