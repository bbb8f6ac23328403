"""A kernel was given memory of another device.

Whether it works depends on the machine's links and on what was enabled.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="wrong-device-pointer",
    title="A kernel was given memory of another device",
    refutes_if="The devices would have access to each other's memory.",
    fix=(
        "Set the device at the beginning of each thread, before its first call: a new thread is on device 0.",
        "Allocate on the device that launches, or enable peer access.",
    ),
    predicts=(("recorded", "the memory's device is not that of the launch"),),
    kind=FIXED,
)
