# peers: torch torchvision pillow
"""Images per second of a DataLoader over 32 x 32 JPEG files, beside PyTorch's with torchvision.

``cargo xtask bench loader --release [ROUNDS] [WORKLOAD ...]``. 4,000 files in ten folders, batches of 128 in random
order. ``plain``: decoded and converted to floats. ``augmented``: padded, cropped, mirrored and normalised as well. The
number is that of worker processes, the same for both; they stay alive between epochs. Every batch is waited for. A run
is one epoch.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _harness import Bench, Run, main, measure, show

now = time.perf_counter
COUNT, CLASSES, BATCH = 4000, 10, 128
MEAN, STD = (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)
FOLDER = Path(tempfile.gettempdir()) / f"forerun-bench-loader-{COUNT}"


def files() -> str:
    """Write the files once: smooth noise, which compresses about as photographs do."""
    import numpy
    from PIL import Image

    done = FOLDER / "done"
    if not done.exists():
        random = numpy.random.default_rng(0)
        for number in range(COUNT):
            folder = FOLDER / "images" / str(number % CLASSES)
            folder.mkdir(parents=True, exist_ok=True)
            small = random.integers(0, 256, (8, 8, 3), dtype="uint8")
            Image.fromarray(small).resize((32, 32), Image.Resampling.BICUBIC).save(folder / f"{number}.jpg", quality=90)
        done.touch()
    return str(FOLDER / "images")


def epoch(loader: Any, wait: Callable[[Any], Any]) -> Run:
    def run() -> float:
        start, seen = now(), 0
        for x, _ in loader:
            wait(x)
            seen += len(x)
        assert seen == COUNT
        # Seconds for a thousand images.
        return (now() - start) / COUNT * 1000

    run()
    return run


def forerun(augmented: bool, workers: int) -> Run:
    from forerun.gluon.data import DataLoader
    from forerun.gluon.data.vision import ImageFolderDataset, transforms

    steps: list[Any] = [transforms.ToTensor()]
    if augmented:
        first = [transforms.RandomCrop(32, pad=4), transforms.RandomFlipLeftRight()]
        steps = [*first, *steps, transforms.Normalize(MEAN, STD)]
    images = ImageFolderDataset(files()).transform_first(transforms.Compose(steps))
    return epoch(DataLoader(images, BATCH, shuffle=True, num_workers=workers), lambda x: x.wait_to_read())


def torch(augmented: bool, workers: int) -> Run:
    import torch as peer
    from torchvision import datasets, transforms

    peer.set_num_threads(2)
    steps: list[Any] = [transforms.ToTensor()]
    if augmented:
        first = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip()]
        steps = [*first, *steps, transforms.Normalize(MEAN, STD)]
    images = datasets.ImageFolder(files(), transforms.Compose(steps))
    loader = peer.utils.data.DataLoader(
        images, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    return epoch(loader, lambda x: None)


WORKLOADS = {
    f"{name} {workers}": (augmented, workers)
    for workers in (0, 1, 2)
    for name, augmented in (("plain", False), ("augmented", True))
}
BENCH: Bench = {
    name: {"forerun": lambda case=case: forerun(*case), "torch": lambda case=case: torch(*case)}  # type: ignore[misc]
    for name, case in WORKLOADS.items()
}


def report(rounds: int) -> None:
    asked = sys.argv[2:] if sys.argv[1:2] and sys.argv[1].isdigit() else sys.argv[1:]
    files()
    for workload in BENCH:
        if asked and workload.split()[0] not in asked and workload.split()[1] not in asked:
            continue
        results = measure(__file__, BENCH, workload, rounds)
        show(workload, results, 1e-3, "ms per 1,000 images")


if __name__ == "__main__":
    main(__file__, BENCH, report)
