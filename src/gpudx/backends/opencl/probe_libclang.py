"""Is libclang here, which reads OpenCL kernels for the checks inside them? Run as a program of its own by `gpudx doctor`."""

from __future__ import annotations

import sys


def main() -> int:
    """Print what was found; 3: nothing."""
    try:
        from clang.cindex import Config, Index
    except ImportError:
        return 3
    Index.create()  # loads the library
    print("libclang", Config.library_path or Config().get_filename())
    return 0


if __name__ == "__main__":
    sys.exit(main())
