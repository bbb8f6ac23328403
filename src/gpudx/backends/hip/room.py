"""The calls whose memory the recorder can make larger than was asked for (native/hip/room.c), which counts them in this order of time."""

from __future__ import annotations

ROOMY = ("hipMalloc", "hipExtMallocWithFlags", "hipMallocManaged", "hipMallocAsync", "hipMallocFromPoolAsync")
