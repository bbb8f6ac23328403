"""kill -9 at random moments while eight threads record: is every committed record read, and nothing else?"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from common import Kit, Result, Row, arguments, finish, native_kit
from killing import THREADS, Outcome, kill_once

KILLS = 500
SMALL_RING = str(512 << 10)


def kill_all(kit: Kit, driver: Path, keep: str, kills: int, seed: int) -> tuple[list[Outcome], list[str]]:
    env = kit.environment("linked", kit.folder, keep)
    rng = random.Random(seed)
    outcomes, broken = [], []
    for number in range(kills):
        try:
            outcomes.append(kill_once(driver, kit.folder / f"{keep}-{number}", env, rng))
        except AssertionError as error:
            broken.append(f"kill {number}, keep {keep}: {error}")
    return outcomes, broken


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    result = Result("kill9", f"kill -9 under {THREADS} writing threads")
    with native_kit() as kit:
        driver = kit.linked("core_driver")
        for name, keep, kills in (
            ("keep all", "all", options.kills // 2),
            ("small ring", SMALL_RING, options.kills - options.kills // 2),
        ):
            outcomes, broken = kill_all(kit, driver, keep, kills, options.seed)
            records = sum(o.records for o in outcomes)
            note = (
                f"{sum(o.opened for o in outcomes)} had a trace, {records:,} records read, "
                f"{sum(o.overwritten for o in outcomes):,} overwritten and counted, {sum(o.in_flight for o in outcomes)} in flight"
            )
            result.rows += [Row(f"{name}: kills", kills, ""), Row(f"{name}: wrong traces", len(broken), "", 0, note)]
            result.remarks += broken
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
