"""Walk through the sections of the tour, in the chapter's order."""

from __future__ import annotations

import os

import forerun
from forerun import npx
from forerun.tour import barriers, blockers, graph, increments, issue, page


def main() -> None:
    """Show every section."""
    page.title(f"Forerun {forerun.__version__}: a tour")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    mode = os.environ.get("FORERUN_ENGINE", "async")
    page.say(f"Engine mode: {mode}. Cores this process may use: {cores}. GPUs: {npx.num_gpus()}.")
    for section in (issue, graph, barriers, blockers, increments):
        section.show()
    page.title("The end")
    page.say(
        "Read on in README.md for the settings, and in ARCHITECTURE.md for how a line of a program travels through "
        "the engine."
    )


if __name__ == "__main__":
    main()
