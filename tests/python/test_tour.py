"""The tour runs from beginning to end without a terminal, and its arithmetic is right."""

from __future__ import annotations

import subprocess
import sys

from forerun.tour import page
from forerun.tour.increments import Parts


def test_the_tour_runs_into_a_pipe() -> None:
    shown = subprocess.run([sys.executable, "-m", "forerun.tour"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    titles = [line for line in shown.stdout.splitlines() if line[:2] in {"1.", "2.", "3.", "4.", "5."}]
    assert len(titles) == 5
    assert "\x1b" not in shown.stdout


def test_the_slower_side_sets_the_pace() -> None:
    engine = Parts(submit=1.0, execute=2.0, give_back=0.5)
    assert engine.backend_bound(1000)
    assert engine.predicted(1000) == 1.0 + 1000 * 2.0 + 0.5
    program = Parts(submit=2.0, execute=1.0, give_back=0.5)
    assert not program.backend_bound(1000)
    assert program.predicted(1000) == 1000 * 2.0 + 1.0 + 0.5


def test_durations_choose_their_unit() -> None:
    assert [page.seconds(t) for t in (2.0, 0.0125, 3.4e-6, 5e-9)] == ["2.00 s", "12.50 ms", "3.40 us", "5 ns"]
