"""What the examples have in common: arguments, a table of the loss, and its plot."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable, Iterator
from typing import Any


def main(train: Callable[[int], Iterator[Any]], title: str, steps: int) -> list[float]:
    """Train for as many steps as the arguments say, print the loss ten times, and plot it if a file is given."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--steps", type=int, default=steps, help=f"training steps; default {steps}")
    parser.add_argument("--plot", type=pathlib.Path, help="an SVG file to write")
    given = parser.parse_args()
    every, losses = max(given.steps // 10, 1), []
    for step, loss in enumerate(train(given.steps)):
        losses.append(loss)
        if step % every == 0 or step == given.steps - 1:
            # Only these steps wait; the program submits the others ahead of the computation.
            print(f"step {step:5}  loss {loss.item():.4f}", flush=True)
    numbers = [loss.item() for loss in losses]
    if given.plot:
        given.plot.write_text(plot(numbers, title), encoding="utf-8")
    return numbers


def plot(losses: list[float], title: str) -> str:
    """Return an SVG plot of the loss over steps; of many steps, each point is a mean."""
    width, height, left, right, top, bottom = 480, 280, 52, 14, 34, 40
    size = -(-len(losses) // 160)
    parts = [losses[i : i + size] for i in range(0, len(losses), size)]
    points = [sum(part) / len(part) for part in parts]
    most = max(*points, 1e-9)

    def x(part: int) -> float:
        return left + (width - left - right) * part / max(len(points) - 1, 1)

    def y(loss: float) -> float:
        return height - bottom - (height - top - bottom) * loss / most

    lines, grey = [], 'stroke="#ccc"'
    for tick in range(5):
        loss = most * tick / 4
        lines.append(f'<path d="M{left} {y(loss):.1f}H{width - right}" {grey}/>')
        lines.append(f'<text x="{left - 6}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.2f}</text>')
    for part, name in ((0, "0"), (len(points) - 1, str(len(losses) - 1))):
        lines.append(f'<text x="{x(part):.1f}" y="{height - bottom + 16}" text-anchor="middle">{name}</text>')
    path = " ".join(f"{x(part):.1f},{y(loss):.1f}" for part, loss in enumerate(points))
    middle = (left + width - right) / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
        f'<text x="{middle}" y="20" text-anchor="middle" font-size="13">{title}</text>\n'
        + "\n".join(lines)
        + f'\n<text x="{middle}" y="{height - 8}" text-anchor="middle">training step</text>\n'
        f'<text x="14" y="{(top + height - bottom) / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {(top + height - bottom) / 2})">loss</text>\n'
        f'<polyline points="{path}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>\n</svg>\n'
    )
