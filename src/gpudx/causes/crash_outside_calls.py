"""The program crashed outside any recorded GPU call.

The thread that crashed was not inside the API: the fault is in the program's own code, in a kernel that runs on the host
processor, or in a driver thread.
"""

from gpudx.causes import Cause

CAUSE = Cause(
    id="crash-outside-calls",
    title="The program crashed outside any recorded GPU call",
    refutes_if="A recorded call of the same thread would have been in flight.",
    fix=(
        (
            "Read the stack shown. If it is a driver thread or a kernel on a CPU device, look at the last "
            "launches and their arguments."
        ),
    ),
    predicts=(("recorded", "no call of the crashing thread is in flight"),),
)
