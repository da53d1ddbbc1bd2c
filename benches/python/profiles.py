# peers: numpy
"""What a profile costs: the training loop of the chapter with and without ``forerun.profile``.

``cargo xtask bench profiles --release [ROUNDS]``. Each round runs the loop three times in one process, in an order that
changes from round to round: without a profile, again without one, and with one. The first ratio shows the noise, the
second the cost. Both come with the interval that holds the median of the ratios with a confidence of 95 % (bootstrap).
The loop is the one of ``training.py``. The time ends when the last batch is done; what the profile does after that to
make its tables is printed apart.
"""

from __future__ import annotations

import random
import statistics
import sys
import time

from training import BATCHES, forerun_step

import forerun
from forerun import npx

now = time.perf_counter
ORDERS = (("off", "again", "on"), ("again", "on", "off"), ("on", "off", "again"))


def interval(ratios: list[float], draws: int = 4000) -> tuple[float, float]:
    """Return the interval of the median with a confidence of 95 %."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[draws // 40], medians[-draws // 40]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 21
    step = forerun_step()

    def loop() -> float:
        start = now()
        for _ in range(BATCHES):
            step()
        npx.waitall()
        return now() - start

    for _ in range(2):
        loop()
    seconds: dict[str, list[float]] = {"off": [], "again": [], "on": []}
    tables: list[float] = []
    events = 0
    for round_ in range(rounds):
        for how in ORDERS[round_ % len(ORDERS)]:
            if how != "on":
                seconds[how].append(loop())
                continue
            with forerun.profile() as p:
                seconds[how].append(loop())
                left = now()
            tables.append(now() - left)
            events = len(p.report.events)
    off = statistics.median(seconds["off"])
    print(f"{rounds} rounds of {BATCHES} batches; without a profile {off * 1e3:.1f} ms a round")
    for how, name in (("again", "without, again"), ("on", "with a profile")):
        ratios = [other / base for other, base in zip(seconds[how], seconds["off"], strict=True)]
        low, high = interval(ratios)
        print(f"  {name:15} / without: median {statistics.median(ratios):.4f}, 95 % interval {low:.4f} to {high:.4f}")
    print(f"  {events} events; the tables take {statistics.median(tables) * 1e3:.1f} ms at the end")


if __name__ == "__main__":
    main()
