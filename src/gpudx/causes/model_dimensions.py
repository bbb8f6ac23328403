"""A program used a default dimension where the model's own file says otherwise.

Dimensions are read from the file in one place and assumed in another: a buffer is sized for the model that the code was written
with. Kernels that go by the file's numbers then leave the buffer; kernels that go by the default leave part of the model out.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FENCES, FIXED
from gpudx.model import Prediction

CAUSE = Cause(
    id="model-dimensions",
    title="A size or number was made from a default dimension, not from the model's file",
    refutes_if="The size would follow from numbers of the file, or the file would say the number that was used.",
    fix=(
        "Find where the program gets the number named above, and read it from the model's file instead.",
        "Search for other uses of the same default: sizes of scratch memory, loops, launch geometry.",
    ),
    predicts=(("recorded", "the size or number follows exactly from the default"),),
    settled_by="a fence behind this memory: `gpudx run --fence`, and `gpudx investigate` where it is a part of a buffer",
    kind=FIXED,
    apart=tuple(
        Prediction(one, "may show", "the launch is stopped at the fence behind this very memory")
        for one in (*FENCES, "parts-fenced")
    ),
)
