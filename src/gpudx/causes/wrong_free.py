"""Memory was freed by an address that is not its beginning, or with the call for another kind of memory."""

from gpudx.causes import Cause
from gpudx.causes._kinds import FIXED

CAUSE = Cause(
    id="wrong-free",
    title="Memory was freed by an address or with a call that does not fit it",
    refutes_if="The address would be the one that an allocation of this call's kind gave, and be freed for the first time.",
    fix=("Keep the address and the kind of each allocation, and free it once with the call for that kind.",),
    predicts=(("recorded", "the driver refuses the free, and the memory stays allocated"),),
    kind=FIXED,
)
