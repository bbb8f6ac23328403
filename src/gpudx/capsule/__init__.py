"""Capsules: one launch of a program, taken out of it: code, geometry, arguments, and the memory it can reach.

    raw.py       what the recorder left of a captured launch -> Capsule
    model.py     Capsule and its parts
    file.py      .gpucapsule files: written, and read as input from a stranger
    compare.py   two contents of a buffer: equal, or how they differ
    shrink.py    a smaller capsule that fails in the same way
    as_c.py      parts of a capsule as C, for reproducers
    bench.py     variants of a kernel: interleaved times, with intervals
    nan.py       the first launch that made a NaN or an infinity

Nothing here starts a process or calls a driver: players are in backends/, and gpudx.lab.replay starts them.
"""
