"""The checks inside kernels, by name. A module of its own: every run reads the names, few runs rewrite kernels."""

# Every check, and those of a plain --sanitize: the rest reports what correct programs do, too, or needs a limit.
ALL = ("bounds", "align", "uninit", "races", "barriers", "overflow", "div", "loops", "nan")
USUAL = frozenset(ALL) - {"loops", "nan"}
