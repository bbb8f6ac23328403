"""Run a test runner recorded. The tests tell themselves what they found; only if the runner died do we.

Started by the pytest plugin: python -m gpudx.cli.recorded_tests CASE COMMAND..., with an empty CASE for a new one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Ends as the runner ended."""
    from gpudx.cli.cases import new_case
    from gpudx.cli.running import remember, run_and_tell, tell
    from gpudx.cli.speak import complain
    from gpudx.errors import UserError
    from gpudx.lab.recorded import end_like
    from gpudx.model.how import How

    case, *words = sys.argv[1:]
    try:
        with new_case(Path(case) if case else None, "pytest") as directory:
            told = run_and_tell(words, directory, How(), quiet=True)
    except UserError as error:
        complain(error)
        sys.exit(error.exit_code)
    remember(told.case, quiet=False)
    if told.case and told.run.signal and not told.run.interrupted:
        tell(told.case)
    end_like(told.run)


if __name__ == "__main__":
    main()
