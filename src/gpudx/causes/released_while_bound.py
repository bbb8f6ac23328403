"""A buffer was released while a kernel still held it, and the kernel was launched.

Setting a memory object as an argument does not keep it alive (OpenCL 1.2 specification, 5.7.2). The launch then works on
memory that may belong to somebody else.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import LIFETIME

CAUSE = Cause(
    id="released-while-bound",
    title="A buffer was released while a kernel still held it, and the kernel was launched",
    refutes_if=(
        "The argument would have been set again between the release and the launch, or a reference would have"
        " been left."
    ),
    fix=(
        (
            "Release the buffer after the last launch that uses it has completed, or set the argument to another "
            "buffer before launching."
        ),
    ),
    predicts=(("recorded", "a launch follows the release without a new setting of the argument"),),
    kind=LIFETIME,
)
