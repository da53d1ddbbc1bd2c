"""Worker processes and threads of loaders: same batches as without, errors, deaths, timeouts, and nothing left over."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import random
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy
import pytest

from forerun import autograd, gluon, no_sync, np
from forerun.gluon import data
from forerun.gluon.data import batchify
from forerun.gluon.data.vision import transforms

if TYPE_CHECKING:
    from conftest import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

KINDS: list[dict[str, Any]] = [
    {},
    {"num_workers": 1, "thread_pool": True},
    {"num_workers": 3, "thread_pool": True},
    {"num_workers": 1},
    {"num_workers": 2},
    {"num_workers": 2, "prefetch": 1},
    {"num_workers": 2, "prefetch": 20},
]
IDS = ["none", "thread", "threads", "process", "processes", "one ahead", "many ahead"]


def pictures(count: int = 11) -> data.Dataset:
    pixels = numpy.random.RandomState(0).randint(0, 256, (count, 8, 9, 3)).astype("uint8")
    change = transforms.Compose(
        [
            transforms.RandomCrop(8, pad=2),
            transforms.RandomFlipLeftRight(),
            transforms.RandomApply([transforms.RandomFlipTopBottom(p=1)]),
            transforms.RandomBrightness(0.5),
            transforms.ToTensor(),
            transforms.Normalize((0.5, 0.4, 0.3), 0.2),
        ]
    )
    return data.ArrayDataset(np.array(pixels), list(range(count))).transform_first(change)


def told(loader: data.DataLoader) -> list[Any]:
    return [(x.tolist(), y.tolist()) for x, y in loader]


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_batches_do_not_depend_on_workers(kind: dict[str, Any]) -> None:
    loader = data.DataLoader(pictures(), 3, shuffle=True, seed=5, **kind)
    plain = data.DataLoader(pictures(), 3, shuffle=True, seed=5)
    first, second = told(loader), told(loader)
    assert [first, second] == [told(plain), told(plain)]
    assert first != second
    assert sorted(label for _, labels in first for label in labels) == list(range(11))
    assert told(data.DataLoader(pictures(), 3, shuffle=True, seed=6)) != first


class Noise(data.Dataset):
    """Draws from every global generator."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        return np.random.uniform(size=(2,)), random.random(), numpy.random.rand()


def test_global_generators_are_seeded_in_processes() -> None:
    one, two = (data.DataLoader(Noise(), 2, seed=3, num_workers=count) for count in (1, 2))
    first = [[part.tolist() for part in batch] for batch in one]
    assert first == [[part.tolist() for part in batch] for batch in two]
    assert len({str(batch) for batch in first}) == 3
    assert first != [[part.tolist() for part in batch] for batch in one]
    # Forerun's generator is the thread's, so it is seeded everywhere, and left as it was.
    np.random.seed(1)
    drawn = np.random.uniform(size=(2,)).tolist()
    np.random.seed(1)
    for kind in KINDS[:3]:
        loader = data.DataLoader(Noise(), 2, seed=3, **kind)
        assert [batch[0].tolist() for batch in loader] == [batch[0] for batch in first]
    assert np.random.uniform(size=(2,)).tolist() == drawn


def test_a_seed_is_drawn_by_numpy() -> None:
    def order() -> list[Any]:
        numpy.random.seed(4)
        return told(data.DataLoader(pictures(), 3, shuffle=True))

    assert order() == order()


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
@pytest.mark.parametrize("last_batch", ["keep", "rollover"])
def test_an_epoch_is_resumed(kind: dict[str, Any], last_batch: str) -> None:
    def made(**options: Any) -> data.DataLoader:
        return data.DataLoader(pictures(), 3, shuffle=True, last_batch=last_batch, **options)

    whole = made(seed=9)
    epochs = [told(whole) for _ in range(3)]
    loader = made(seed=9, **kind)
    for epoch in range(2):
        states = [loader.state_dict()]
        for _ in loader:
            states.append(loader.state_dict())
        if epoch == 1:
            for position, state in enumerate(states):
                resumed = made(**kind)
                resumed.load_state_dict(json.loads(json.dumps(state)))
                assert resumed.state_dict() == state
                assert told(resumed) == epochs[1][position:]
                assert told(resumed) == epochs[2]
    after = made(**kind)
    after.load_state_dict(loader.state_dict())
    assert told(after) == epochs[2]


def test_states_are_checked() -> None:
    loader = data.DataLoader(range(4), 2)
    state = loader.state_dict()
    for name, value in [("seed", "1"), ("epoch", -1), ("position", 1.5), ("position", True), ("sampler", None)]:
        with pytest.raises(ValueError, match=f"load_state_dict: {name} must be"):
            loader.load_state_dict({**state, name: value})
    with pytest.raises(ValueError, match="load_state_dict: seed must be"):
        loader.load_state_dict([])  # type: ignore[arg-type]


def test_epochs_may_overlap() -> None:
    plain = data.DataLoader(pictures(), 3, shuffle=True, seed=2)
    first, second = told(plain), told(plain)
    for kind in KINDS:
        loader = data.DataLoader(pictures(), 3, shuffle=True, seed=2, **kind)
        both = list(zip(loader, loader, strict=True))
        assert [x.tolist() for (x, _), _ in both] == [x for x, _ in first]
        assert [x.tolist() for _, (x, _) in both] == [x for x, _ in second]


class Unlike(data.Dataset):
    """Samples of many kinds."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return {"name": f"n{index}", "x": np.full((2, 1 + index), index, dtype="float16"), "n": numpy.arange(index)}


def test_any_batch_comes_back() -> None:
    def listed(samples: Any) -> Any:
        return [*samples, numpy.ones((300, 300), "F")[:, ::2], np.ones((0, 3)), None, np.ones((2,), dtype="bfloat16")]

    for kind in KINDS:
        (batch,) = data.DataLoader(Unlike(), 3, batchify_fn=listed, **kind)
        assert [type(part).__name__ for part in batch] == ["dict"] * 3 + ["ndarray", "ndarray", "NoneType", "ndarray"]
        assert [sample["name"] for sample in batch[:3]] == ["n0", "n1", "n2"]
        assert [str(sample["x"].dtype) for sample in batch[:3]] == ["float16"] * 3
        assert batch[2]["x"].tolist() == [[2.0] * 3] * 2
        assert type(batch[2]["n"]) is numpy.ndarray
        assert batch[2]["n"].tolist() == [0, 1]
        batch[2]["n"][:] = 5
        assert (batch[3].shape, batch[3].sum()) == ((300, 150), 45000)
        assert batch[4].shape == (0, 3)
        assert str(batch[6].dtype) == "bfloat16"


@pytest.mark.parametrize("size", [10, 40_000, 400_000])
def test_memory_is_used_again(size: int) -> None:
    """Batches of changing size, kept by the program, in memory that later batches use too."""

    class Growing(data.Dataset):
        def __len__(self) -> int:
            return 24

        def __getitem__(self, index: int) -> Any:
            return numpy.full(size * (1 + index // 8), index, "int32")

    kept = list(data.DataLoader(Growing(), 1, num_workers=2))
    for index, batch in enumerate(kept):
        assert (batch == index).all(), index
        assert batch.shape == (1, size * (1 + index // 8))


class Bad(data.Dataset):
    """Fails at one index."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        if index == 5:
            failing(self.how)
        return index


class Peculiar(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("peculiar")


def failing(how: str) -> None:
    if how == "raises":
        raise KeyError("no such sample")
    if how == "stops":
        raise StopIteration
    if how == "peculiar":
        raise Peculiar(1, 2)
    if how == "array":
        np.linalg.inv(np.zeros((2, 2))).wait_to_read()
    if how == "exits":
        os._exit(3)
    if how == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "sleeps":
        time.sleep(60)


def test_errors_carry_the_traceback_of_the_worker() -> None:
    loader = data.DataLoader(Bad("raises"), 2, num_workers=2)
    for _ in range(2):
        batches = iter(loader)
        assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
        with pytest.raises(KeyError, match="no such sample") as error:
            next(batches)
        assert "in failing" in str(error.value.__cause__)
        with pytest.raises(StopIteration):
            next(batches)
    for how, expected in (("stops", "StopIteration"), ("peculiar", "Peculiar: peculiar")):
        with pytest.raises(RuntimeError, match=r"DataLoader: a worker failed:[\s\S]*" + expected):
            list(data.DataLoader(Bad(how), 2, num_workers=2))
    with pytest.raises(Exception, match="singular"):
        list(data.DataLoader(Bad("array"), 2, num_workers=1))
    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        list(data.DataLoader(Bad("stops"), 2, num_workers=2, thread_pool=True))
    with pytest.raises(Exception, match="pickle"):
        list(data.DataLoader([1, 2], 1, num_workers=1, batchify_fn=lambda samples: threading.Lock()))


@pytest.mark.parametrize(("how", "code"), [("exits", "3"), ("is killed", r"-9 \(SIGKILL\)")])
def test_a_dead_worker_is_named(how: str, code: str) -> None:
    gc.collect()
    before = children()
    loader = data.DataLoader(Bad(how), 2, num_workers=2)
    expected = rf"worker [01] \(process \d+\) ended with exit code {code} while it made batch 2"
    # The next epoch starts new workers.
    for _ in range(2):
        with pytest.raises(RuntimeError, match=expected):
            list(loader)
        assert children() == before


def test_a_slow_worker_is_ended() -> None:
    gc.collect()
    before = children()
    loader = data.DataLoader(Bad("sleeps"), 2, num_workers=2, timeout=0.3)
    with pytest.raises(TimeoutError, match=r"batch 2 was not ready after 0\.3 seconds; worker [01]"):
        list(loader)
    assert children() == before
    with pytest.raises(TimeoutError, match=r"batch 2 was not ready after 0\.3 seconds"):
        list(data.DataLoader(Bad("sleeps"), 2, num_workers=2, timeout=0.3, thread_pool=True))


def children() -> set[int]:
    """Return the processes whose parent is this one."""
    if not pathlib.Path("/proc/self/stat").exists():
        return set()
    found = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(entry.parent.name))
    return found


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_nothing_is_left_over() -> None:
    gc.collect()
    before, opened = children(), descriptors()
    for _ in range(3):
        loader = data.DataLoader(pictures(), 2, num_workers=2)
        batches = iter(loader)
        next(batches)
        assert len(children() - before) == 2
        del batches
        # The workers serve the next epoch.
        workers = children()
        assert len(list(loader)) == 6
        assert children() == workers
        del loader
        gc.collect()
        assert children() == before
    loader = data.DataLoader(pictures(), 2, num_workers=2)
    batches = iter(loader)
    next(batches)
    loader.close()
    assert children() == before
    with pytest.raises(RuntimeError, match="the workers have ended"):
        list(batches)
    assert len(list(loader)) == 6
    loader.close()
    loader.close()
    del batches, loader
    gc.collect()
    assert descriptors() == opened


def test_workers_do_not_inherit_the_state_of_the_thread() -> None:
    class Recording(data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            return int(autograd.is_recording() or autograd.is_training())

    with autograd.record():
        assert [x.item() for x in data.DataLoader(Recording(), 1, num_workers=2)] == [0] * 4


def test_pending_arrays_reach_forked_workers() -> None:
    x = np.random.normal(size=(300, 300))
    for _ in range(5):
        x = x @ x * 0.01
    rows = data.ArrayDataset(x).transform(lambda row: row * 2)
    made = np.concatenate(list(data.DataLoader(rows, 100, num_workers=2)))
    assert (made == x * 2).all()


def test_arrays_need_no_workers() -> None:
    pairs = data.ArrayDataset(np.arange(10), numpy.arange(10) * 2)
    before = children()
    loader = data.DataLoader(pairs, 4, num_workers=2)
    batches = iter(loader)
    next(batches)
    assert children() == before

    class Changed(data.ArrayDataset):
        def __getitem__(self, index: int) -> Any:
            return -super().__getitem__(index)[1]

    # A subclass that changes its samples is read sample by sample.
    assert [x.tolist() for x in data.DataLoader(Changed(np.arange(4), numpy.arange(4)), 2)] == [[0, -1], [-2, -3]]


def test_batches_are_gathered_without_a_wait() -> None:
    images = data.ArrayDataset(np.ones((10, 4, 4, 3), dtype="uint8"), numpy.arange(10))
    loader = data.DataLoader(images.transform_first(transforms.ToTensor()).take(8), 4, shuffle=True, seed=1)
    with no_sync("error"):
        batches = list(loader)
    assert [x.shape for x, _ in batches] == [(4, 3, 4, 4)] * 2


def test_combining_functions_in_processes() -> None:
    words = data.SimpleDataset([([1, 2], 0, "a"), ([3], 1, "b")])
    group = batchify.Group([batchify.Pad(), batchify.Stack(), batchify.AsList()])
    for kind in KINDS:
        ((x, y, z),) = data.DataLoader(words, 2, batchify_fn=group, **kind)
        assert (x.tolist(), y.tolist(), z) == ([[1, 2], [3, 0]], [0, 1], ["a", "b"])


def test_transforms_with_hooks_and_subclasses_run_as_they_are() -> None:
    seen = []
    watched = transforms.ToTensor()
    watched.register_forward_hook(lambda block, inputs, output: seen.append(output.shape))

    class Doubled(transforms.ToTensor):
        def forward(self, x: Any, *more: Any) -> Any:
            return super().forward(x, *more) * 2

    images = data.ArrayDataset(np.full((2, 2, 2, 3), 255, dtype="uint8"))
    assert [x.max().item() for x in data.DataLoader(images.transform_first(watched), 2)] == [1.0]
    assert seen == [(3, 2, 2)] * 2
    assert [x.max().item() for x in data.DataLoader(images.transform_first(Doubled()), 2)] == [2.0]
    chained = transforms.Compose([Doubled(), lambda x: x + 1, transforms.Cast("float16")])
    (made,) = data.DataLoader(images.transform(chained), 2, num_workers=1)
    assert (str(made.dtype), made.max().item()) == ("float16", 3.0)


def test_the_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    calls = []

    def bar(batches: Any, **options: Any) -> Any:
        calls.append(options)
        return batches

    module = types.ModuleType("tqdm.auto")
    module.tqdm = bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    assert len(list(data.DataLoader(range(5), 2, progress="epoch"))) == 3
    assert calls == [{"total": 3, "initial": 0, "desc": "epoch"}]
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert len(list(data.DataLoader(range(5), 2, progress=True))) == 3


def test_arguments_are_checked() -> None:
    for message, options in [
        ("num_workers must not be negative, got -1", {"num_workers": -1}),
        ("timeout must be positive, got 0", {"timeout": 0}),
        (
            "multiprocessing_context is 'fork', 'spawn' or 'forkserver', not 'thread'",
            {"multiprocessing_context": "thread"},
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            data.DataLoader([1], 1, **options)  # type: ignore[arg-type]


PROGRAM = """
import faulthandler, os, signal, sys, time
faulthandler.dump_traceback_later(50, exit=True)
from forerun import gluon, np
from forerun.gluon import data
from forerun.gluon.data.vision import transforms

class Squares(data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return np.full((3,), index) ** 2, os.getpid()

"""


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_start_methods(run: Run, method: str) -> None:
    program = """
if __name__ == "__main__":
    pixels = np.arange(4 * 2 * 2 * 3).reshape(4, 2, 2, 3).astype("uint8")
    steps = [transforms.RandomFlipLeftRight(), transforms.RandomContrast(0.5), transforms.ToTensor()]
    change = transforms.Compose(steps)
    images = data.ArrayDataset(pixels).transform_first(change)
    plain = [x.tolist() for x in data.DataLoader(images, 2, seed=1)]
    method = sys.argv[1]
    loader = data.DataLoader(images, 2, seed=1, num_workers=2, multiprocessing_context=method)
    assert [x.tolist() for x in loader] == plain
    squares = data.DataLoader(Squares(), 2, num_workers=2, multiprocessing_context=method)
    for _ in range(2):
        found = list(squares)
        assert [x[:, 0].tolist() for x, _ in found] == [[0, 1], [4, 9], [16, 25], [36, 49]], found
        assert os.getpid() not in {pid for _, pids in found for pid in pids.tolist()}
    if method != "fork":
        try:
            list(data.DataLoader(Squares().transform(lambda *x: x), 2, num_workers=1, multiprocessing_context=method))
        except TypeError as error:
            assert "cannot be pickled" in str(error), error
        else:
            raise AssertionError
"""
    result = run(PROGRAM + program, method)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(
    "end", ["pass", "sys.exit(0)", "raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGKILL)"]
)
@pytest.mark.parametrize("kind", ["num_workers=2", "num_workers=2, thread_pool=True"])
def test_workers_end_with_the_program(run: Run, end: str, kind: str) -> None:
    program = f"""
class Slow(Squares):
    def __getitem__(self, index):
        if index > 3:
            time.sleep(100)
        return index, os.getpid()

loader = data.DataLoader(Slow(), 1, {kind})
batches = iter(loader)
print(*(next(batches)[1].item() for _ in range(4)), flush=True)
{end}
"""
    started = time.monotonic()
    result = run(PROGRAM + program)
    assert time.monotonic() - started < 45
    assert ("Traceback" in result.stderr) == ("Interrupt" in end), result.stderr
    for pid in set(map(int, result.stdout.split())):
        gone(pid)


def gone(pid: int) -> None:
    """Wait until a process has ended."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is left over")


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("kind", ["num_workers=2", "num_workers=2, thread_pool=True"])
def test_an_interrupt_leaves_a_loader_usable(run: Run, kind: str) -> None:
    program = f"""
class Slow(Squares):
    def __getitem__(self, index):
        if index > 3 and os.path.exists(sys.argv[1]):
            time.sleep(0.3)
        return index

loader = data.DataLoader(Slow(), 1, {kind})
open(sys.argv[1], "w").close()
batches = iter(loader)
for _ in range(4):
    next(batches)
signal.setitimer(signal.ITIMER_REAL, 0.05)
signal.signal(signal.SIGALRM, lambda number, frame: os.kill(0, signal.SIGINT))
try:
    list(batches)
except KeyboardInterrupt:
    print("interrupted")
os.remove(sys.argv[1])
print(len(list(loader)))
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        # A group of its own, because the program interrupts its whole group.
        result = run("import os; os.setpgid(0, 0)\n" + PROGRAM + program, os.path.join(folder, "slow"))
    assert (result.stdout, result.stderr) == ("interrupted\n8\n", "")


def test_training_from_processes() -> None:
    x = numpy.random.RandomState(0).normal(size=(64, 4)).astype("float32")
    y = (x @ numpy.array([1, -2, 3, 0.5], "float32"))[:, None]
    rows = data.ArrayDataset(x, y).transform(lambda a, b: (a * 1, b))
    net = gluon.nn.Dense(1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = gluon.loss.L2Loss()
    loader = data.DataLoader(rows, 16, shuffle=True, seed=1, num_workers=2)
    means = []
    for _ in range(8):
        total = np.zeros(())
        for a, b in loader:
            with autograd.record():
                step = loss(net(a), b)
            step.backward()
            trainer.step(len(a))
            total += step.mean()
        means.append(total.item())
    assert means[-1] < means[0] / 20
