"""The device stopped a kernel.

The kind of exception, the kernel and the instruction are known from the device's own record; what led there is for the
reader to see in the named line and the launch's arguments.
"""

from gpudx.causes import Cause

CAUSE = Cause(
    id="device-exception",
    title="The device stopped a kernel",
    refutes_if="The device's record would name another kernel or no exception at all.",
    fix=("Look at the named line with the arguments of the launch shown.",),
    predicts=(("recorded", "the device reports this exception in this launch"),),
)
