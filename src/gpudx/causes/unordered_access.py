"""Two operations use one buffer, one of them writes, and nothing orders them.

Queues run beside each other, and so do the commands of a queue that is out of order. An order that a program needs, and
did not ask for, is there by luck: until the device, the load or the length of a kernel changes.
"""

from gpudx.causes import Cause
from gpudx.causes._kinds import UNORDERED

CAUSE = Cause(
    id="unordered-access",
    title="Two operations race for one buffer",
    refutes_if="With an event between the two calls named, or with both in one queue, the failure would stay.",
    fix=(
        "Record an event after the first call in its queue, and let the second call's queue wait for it.",
        "Or put both into one queue, if they need not run beside each other.",
    ),
    predicts=(
        (
            "recorded",
            "two operations use the same bytes, one writes, and no event, barrier or wait stands between them",
        ),
        ("serialised", "the failure is gone or rarer; this alone says only that time or order matters"),
    ),
    settled_by="gpudx investigate --perturb: runs with the first call's work held back, and with the missing order as well",
    kind=UNORDERED,
)
