# peers: numpy pillow
"""Decoding JPEG files to NumPy arrays, in images per second, with one and two Python threads, against Pillow.

``cargo xtask bench images --release [ROUNDS]``.
"""

from __future__ import annotations

import functools
import io
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

from _harness import Bench, Make, Run, main, measure

# Height, width and the number of files in a run.
SIZES = {"32x32": (32, 32, 4000), "375x500": (375, 500, 80)}
THREADS = (1, 2)


def files(height: int, width: int, count: int) -> list[bytes]:
    """Return files with colours at half resolution, as cameras write them; the pixels are smooth with some noise."""
    import numpy
    from PIL import Image

    made = []
    dice = numpy.random.default_rng(0)
    for _ in range(min(count, 50)):
        coarse = dice.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3)).astype("uint8")
        smooth = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
        noisy = numpy.asarray(smooth).astype("int32") + dice.integers(-6, 7, (height, width, 3))
        file = io.BytesIO()
        Image.fromarray(noisy.clip(0, 255).astype("uint8")).save(file, "JPEG", quality=90)
        made.append(file.getvalue())
    return [made[number % len(made)] for number in range(count)]


def forerun() -> Callable[[bytes], Any]:
    from forerun import image

    return lambda file: image.imdecode(file).asnumpy()


def pillow() -> Callable[[bytes], Any]:
    import numpy
    from PIL import Image

    return lambda file: numpy.asarray(Image.open(io.BytesIO(file)).convert("RGB"))


def make(prepare: Callable[[], Callable[[bytes], Any]], size: str, threads: int) -> Run:
    decode = prepare()
    given = files(*SIZES[size])
    parts = [given[number::threads] for number in range(threads)]

    def work(part: list[bytes]) -> None:
        for file in part:
            decode(file)

    def run() -> float:
        started = time.perf_counter()
        workers = [threading.Thread(target=work, args=(part,)) for part in parts[1:]]
        for worker in workers:
            worker.start()
        work(parts[0])
        for worker in workers:
            worker.join()
        return (time.perf_counter() - started) / len(given)

    return run


def peers(size: str, threads: int) -> dict[str, Make]:
    return {name: functools.partial(make, prepare, size, threads) for name, prepare in PREPARE.items()}


PREPARE = {"forerun": forerun, "pillow": pillow}
BENCH: Bench = {f"{size} threads={threads}": peers(size, threads) for size in SIZES for threads in THREADS}


def report(rounds: int) -> None:
    for workload in BENCH:
        results = measure(__file__, BENCH, workload, rounds)
        median = {peer: statistics.median(samples[""]) for peer, samples in results.items()}
        rates = "   ".join(f"{peer} {1 / seconds:9,.0f} images/s" for peer, seconds in median.items())
        print(f"JPEG {workload:18} {rates}   time {median['forerun'] / median['pillow']:.2f} of Pillow's")


if __name__ == "__main__":
    main(__file__, BENCH, report)
