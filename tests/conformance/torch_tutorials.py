"""Run PyTorch's beginner tutorials on `forerun.torch` with only their imports changed, and print what ran.

Usage::

    python tests/conformance/torch_tutorials.py MIRROR [--commit HASH] [--only NAME ...] [--timeout 600]
        [--keep FOLDER] [--out docs/conformance]

MIRROR is a git directory of pytorch/tutorials or of a fork of it; ``--commit`` names a commit of the original. The
interpreter must have forerun, numpy, pandas, matplotlib, requests and ipython, which the tutorials import.

Only lines that import ``torch`` or ``torchvision`` are changed; everything else runs as it is written. The data sets
are generated files in the published formats: IDX files for FashionMNIST and MNIST, the binary version of CIFAR-10, a
pickled tuple for ``nn_tutorial``, and weights in the safetensors format. Classes are patterns with noise: losses fall.
``--out`` writes ``torch-tutorials.md`` to that folder. The script fails if one of the first six does not run.
"""

from __future__ import annotations

import argparse
import gzip
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy

SOURCE = "beginner_source"
# The tutorials of "Learn the Basics", numbered as in its table of contents, basics/qs_toc.txt. The first is
# number 0, the quick start; the first six are 0 to 5.
BASICS = (
    "basics/quickstart_tutorial",
    "basics/tensorqs_tutorial",
    "basics/data_tutorial",
    "basics/transforms_tutorial",
    "basics/buildmodel_tutorial",
    "basics/autogradqs_tutorial",
    "basics/optimization_tutorial",
    "basics/saveloadrun_tutorial",
)
FIRST = 6
# Further programs. The sources of some were read while the dialect was written, and two led to names that were missing.
MORE = (
    "nn_tutorial",
    "examples_tensor/polynomial_tensor",
    "examples_autograd/polynomial_autograd",
    "examples_autograd/polynomial_custom_function",
    "examples_nn/polynomial_nn",
    "examples_nn/polynomial_optim",
    "examples_nn/polynomial_module",
    "examples_nn/dynamic_net",
    "blitz/tensor_tutorial",
    "blitz/autograd_tutorial",
    "blitz/neural_networks_tutorial",
    "blitz/cifar10_tutorial",
    "introyt/introyt1_tutorial",
    "introyt/tensors_deeper_tutorial",
    "introyt/autogradyt_tutorial",
    "introyt/modelsyt_tutorial",
    "introyt/trainingyt",
    "nlp/pytorch_tutorial",
    "nlp/deep_learning_tutorial",
    "nlp/word_embeddings_tutorial",
    "nlp/sequence_models_tutorial",
    "nlp/advanced_tutorial",
)
# Why a program cannot run, if it is for a reason of its own.
REASONS = {
    "introyt/trainingyt": "writes logs for TensorBoard",
    "introyt/autogradyt_tutorial": "uses `torch.autograd.profiler`; `forerun.trace()` records a timeline",
}
LOSS = re.compile(r"(?:loss[:=]?|Avg loss:)\s*\(?(-?\d+\.\d+(?:e[-+]?\d+)?)", re.IGNORECASE)
EPOCH = re.compile(r"^(\d+) (\d+\.\d+(?:e[-+]?\d+)?)$", re.MULTILINE)


class Outcome(NamedTuple):
    """What became of a tutorial."""

    name: str
    ran: bool
    changed: int
    lines: int
    seconds: float
    losses: str
    problem: str


def rewrite(text: str) -> tuple[str, int]:
    """Replace the imports of torch and torchvision; return the program and the number of changed lines."""
    rules = [
        (r"^(\s*)import torch\.([\w.]+) as (\w+)", r"\1import forerun.torch.\2 as \3"),
        (r"^(\s*)import torch\.([\w.]+)\s*(#.*)?$", r"\1from forerun import torch; import forerun.torch.\2"),
        (r"^(\s*)import torch\s*(#.*)?$", r"\1from forerun import torch"),
        (r"^(\s*)from torch\b(\.[\w.]+)? import", r"\1from forerun.torch\2 import"),
        (r"^(\s*)import torchvision\.([\w.]+) as (\w+)", r"\1import forerun.torch.vision.\2 as \3"),
        (r"^(\s*)import torchvision\s*(#.*)?$", r"\1from forerun.torch import vision as torchvision"),
        (r"^(\s*)from torchvision\b(\.[\w.]+)? import", r"\1from forerun.torch.vision\2 import"),
    ]
    lines, changed = [], 0
    for line in text.splitlines():
        new = line
        for pattern, replacement in rules:
            new = re.sub(pattern, replacement, new)
            if new != line:
                break
        changed += new != line
        lines.append(new)
    return "\n".join(lines) + "\n", changed


def images(count: int, shape: tuple[int, ...], seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return images of ten classes, each a pattern with noise, and their labels."""
    patterns = numpy.random.default_rng(0).integers(0, 200, (10, *shape))
    source = numpy.random.default_rng(seed)
    labels = source.integers(0, 10, count)
    noise = source.integers(0, 56, (count, *shape))
    return (patterns[labels] + noise).astype(numpy.uint8), labels.astype(numpy.uint8)


def idx(path: pathlib.Path, array: numpy.ndarray) -> None:
    """Write a packed IDX file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    with gzip.open(path, "wb", 1) as file:
        file.write(header + array.tobytes())


def generate(folder: pathlib.Path, train: int, test: int) -> None:
    """Write the data sets in their published formats."""
    for name in ("FashionMNIST", "MNIST"):
        for part, count, seed in (("train", train, 1), ("t10k", test, 2)):
            pixels, labels = images(count, (28, 28), seed)
            idx(folder / "data" / name / "raw" / f"{part}-images-idx3-ubyte.gz", pixels)
            idx(folder / "data" / name / "raw" / f"{part}-labels-idx1-ubyte.gz", labels)
    cifar = folder / "data" / "cifar-10-batches-bin"
    cifar.mkdir(parents=True)
    names = [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]
    for seed, name in enumerate(names):
        pixels, labels = images(test if name.startswith("test") else train // 5, (3, 32, 32), seed)
        rows = numpy.concatenate((labels[:, None], pixels.reshape(len(pixels), -1)), axis=1)
        (cifar / name).write_bytes(rows.astype(numpy.uint8).tobytes())
    parts = []
    for count, seed in ((train, 1), (test, 2), (test, 3)):
        pixels, labels = images(count, (784,), seed)
        parts.append((pixels.astype(numpy.float32) / 255, labels.astype(numpy.int64)))
    (folder / "data" / "mnist").mkdir()
    with gzip.open(folder / "data" / "mnist" / "mnist.pkl.gz", "wb", 1) as file:
        pickle.dump(tuple(parts), file)


WEIGHTS = """
import os, sys
from forerun import torch
folder = os.path.join(torch.hub.get_dir(), "checkpoints")
os.makedirs(folder, exist_ok=True)
for name, file in (("vgg16", "vgg16-397923af"), ("resnet18", "resnet18-f37072fd")):
    torch.save(dict(getattr(torch.vision.models, name)().state_dict()), os.path.join(folder, file + ".safetensors"))
"""


def source_of(mirror: str, commit: str, name: str) -> str:
    """Return a tutorial's text."""
    command = ["git", f"--git-dir={mirror}", "show", f"{commit}:{SOURCE}/{name}.py"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def falls(output: str) -> str:
    """Return the first and the last loss that a program printed; of numbered epochs, those of the last training."""
    epochs = EPOCH.findall(output)
    starts = [number for number, (epoch, _) in enumerate(epochs) if epoch == "0"]
    found = LOSS.findall(output) or [loss for _, loss in epochs[starts[-1] if starts else 0 :]]
    return f"{float(found[0]):.4g} to {float(found[-1]):.4g}" if len(found) > 1 else ""


def run(name: str, text: str, folder: pathlib.Path, limit: float) -> Outcome:
    """Run a tutorial in a process of its own."""
    program, changed = rewrite(text)
    path = folder / f"{name.replace('/', '_')}.py"
    path.write_text(program, encoding="utf-8")
    environment = {**os.environ, "MPLBACKEND": "Agg", "TORCH_HOME": str(folder / "home")}
    begin = time.perf_counter()
    try:
        ran = subprocess.run(
            [sys.executable, path.name], cwd=folder, env=environment, capture_output=True, text=True, timeout=limit
        )
        output, problem = ran.stdout, "" if ran.returncode == 0 else last_line(ran.stderr)
    except subprocess.TimeoutExpired:
        output, problem = "", f"did not end in {limit:.0f} s"
    (folder / f"{path.stem}.txt").write_text(output, encoding="utf-8")
    seconds = time.perf_counter() - begin
    return Outcome(name, not problem, changed, len(text.splitlines()), seconds, falls(output), problem)


def last_line(text: str) -> str:
    """Return the last line of a traceback."""
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")]
    return (lines[-1] if lines else "ended with an error")[:160]


def report(outcomes: list[Outcome], commit: str, train: int, test: int) -> list[str]:
    """Return the page."""
    first = [outcome for outcome in outcomes if outcome.name in BASICS[:FIRST]]
    others = [outcome for outcome in outcomes if outcome.name not in BASICS[:FIRST]]
    import forerun

    lines = [
        "# PyTorch's beginner tutorials",
        "",
        f"Programs of pytorch/tutorials at commit `{commit}`, folder `{SOURCE}`, run by "
        "`python tests/conformance/torch_tutorials.py MIRROR`",
        f"with forerun {forerun.__version__} and CPython {sys.version.split()[0]}. Only lines that import `torch` or "
        "`torchvision` are changed.",
        f"Data sets are generated files in the published formats, with {train} images to train and {test} to test; "
        "the weights of networks are random.",
        "",
        "The first six are numbers 0 to 5 of *Learn the Basics*, in the order of its table of contents "
        "(`basics/qs_toc.txt`). Losses are the first and the last that the program printed.",
        "",
        f"Of the first six {sum(outcome.ran for outcome in first)} run; of the others "
        f"{sum(outcome.ran for outcome in others)} of {len(others)}.",
        "",
        "| program | runs | changed lines | seconds | loss | why not |",
        "|---|---|---|---|---|---|",
    ]
    for number, outcome in enumerate(outcomes):
        title = f"{number}. {outcome.name}" if outcome.name in BASICS else outcome.name
        why = "" if outcome.ran else f"{REASONS.get(outcome.name, '')} `{outcome.problem}`".strip().replace("|", "\\|")
        lines.append(
            f"| {title} | {'yes' if outcome.ran else 'no'} | {outcome.changed} of {outcome.lines} | "
            f"{outcome.seconds:.0f} | {outcome.losses} | {why} |"
        )
    return lines


def main() -> None:
    """Run the tutorials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--train", type=int, default=6000)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.keep or pathlib.Path(temporary)).resolve()
        if not (folder / "data").exists():
            folder.mkdir(parents=True, exist_ok=True)
            generate(folder, args.train, args.test)
        outcomes = []
        for name in (*BASICS, *MORE):
            if args.only and name not in args.only:
                continue
            if name in ("basics/saveloadrun_tutorial", "blitz/autograd_tutorial") and not (folder / "home").exists():
                environment = {**os.environ, "TORCH_HOME": str(folder / "home")}
                subprocess.run([sys.executable, "-c", WEIGHTS], env=environment, check=True)
            outcomes.append(run(name, source_of(args.mirror, args.commit, name), folder, args.timeout))
            print(*outcomes[-1], sep=" | ", flush=True)
    page = report(outcomes, args.commit, args.train, args.test)
    if args.out:
        (args.out / "torch-tutorials.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    sys.exit(not all(outcome.ran for outcome in outcomes if outcome.name in BASICS[:FIRST]))


if __name__ == "__main__":
    main()
