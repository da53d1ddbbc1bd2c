"""Every public name is in a table that tells whether it may wait, and the table is correct.

The table is ``blocking.txt``: one name and word per line. The test fails for a new name until it is added.

| word | meaning |
|---|---|
| never | it submits ops or reads shapes |
| waits | it reads a value |
| may | it reads a value for some kinds of arguments, which the line names after a colon |
| plain | it is unrelated to arrays: a constant, a type, a module, a device |

Where a number is expected, such as an axis or an extent, an array is read: the blocker is then ``__index__`` or
``__float__``, not the function.
"""

from __future__ import annotations

import base64
import inspect
import itertools
import pathlib
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import blockers
import numpy
import pytest

import forerun._pointwise
import forerun._pointwise_npx
from forerun import autograd, gluon, image, np, npx, onnx, recordio

WORDS = {"never", "waits", "may", "plain"}
ROOTS = {
    "np": np, "np.fft": np.fft, "np.linalg": np.linalg, "np.random": np.random, "np.testing": np.testing,
    "np.polynomial": np.polynomial, "np.polynomial.polynomial": np.polynomial.polynomial,
    "np.lib.stride_tricks": np.lib.stride_tricks, "npx": npx, "npx.image": npx.image, "autograd": autograd,
    "gluon": gluon, "gluon.rnn": gluon.rnn, "gluon.nn": gluon.nn, "gluon.loss": gluon.loss, "gluon.data": gluon.data,
    "gluon.data.vision": gluon.data.vision, "gluon.data.vision.transforms": gluon.data.vision.transforms,
    "gluon.utils": gluon.utils, "gluon.metric": gluon.metric, "gluon.probability": gluon.probability,
    "image": image, "recordio": recordio,
    "gluon.model_zoo.vision": gluon.model_zoo.vision, "gluon.model_zoo.model_store": gluon.model_zoo.model_store,
    "onnx": onnx,
}  # fmt: skip
# Slots of every object that are unrelated to arrays.
COMMON = {
    *dir(object),
    "__init_subclass__",
    "__subclasshook__",
    "__getstate__",
    "__array_priority__",
    # From Python 3.12 on; test_protocols.py checks that it waits.
    "__buffer__",
    "__release_buffer__",
    # Only for arrays on NVIDIA devices.
    "__cuda_array_interface__",
    "__delitem__",
    "__module__",
}
READ = {"__repr__", "__str__", "__format__"}


def public() -> Iterator[tuple[str, Any]]:
    """Return every public name with its object."""
    seen: set[int] = set()
    for root, module in ROOTS.items():
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{root}.{name}", thing
            if inspect.isclass(thing) and thing.__module__.startswith("forerun.gluon") and id(thing) not in seen:
                seen.add(id(thing))
                for method, member in vars(thing).items():
                    if not method.startswith("_") and callable(member):
                        yield f"{root}.{name}.{method}", member
    for name in dir(np.ndarray):
        if name in READ or name not in COMMON:
            yield f"ndarray.{name}", getattr(np.ndarray, name)


def table() -> dict[str, str]:
    """Return the table."""
    path = pathlib.Path(__file__).with_name("blocking.txt")
    lines = [line.split(maxsplit=2) for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    # No pointwise op waits.
    points = {"np": forerun._pointwise.__all__, "npx": forerun._pointwise_npx.__all__}
    never = {f"{module}.{name}": "never" for module, names in points.items() for name in names}
    return never | {name: word.rstrip(":") for name, word, *_ in lines}


TABLE = table()


def array(*shape: int) -> np.ndarray:
    return np.ones(shape)


def whole(*shape: int) -> np.ndarray:
    return np.ones(shape, dtype="int32")


# Calls that no_sync rejects: at least one for each name that waits.
def saved(call: Callable[[str], object]) -> Callable[[pathlib.Path], object]:
    return lambda path: call(str(path / "file"))


def network() -> gluon.nn.Dense:
    net = gluon.nn.Dense(2)
    net.initialize()
    net(array(2, 3))
    return net


# A PNG file of one pixel.
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNwAAAAQgBBKTf07wAAAABJRU5ErkJggg==")


def read_pixel() -> np.ndarray:
    with tempfile.NamedTemporaryFile() as file:
        file.write(PIXEL)
        file.flush()
        return image.imread(file.name)


def files_of(path: str) -> tuple[str, str]:
    """Return the files of a network. Only what reads them is to be refused."""
    with forerun.no_sync("warn"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return network().export(path, inputs=[array(3, 3)])


def trained() -> gluon.Trainer:
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with autograd.record():
        loss = net(array(2, 3)).sum()
    loss.backward()
    trainer.step(2)
    return trainer


def measured(name: str, **options: Any) -> gluon.metric.EvalMetric:
    metric = gluon.metric.create(name, **options)
    labels = np.ones((2,)) if name in ("mcc", "f1") else array(2, 3)
    metric.update(np.zeros((2,)) if name == "perplexity" else labels, array(2) if labels.ndim == 1 else array(2, 3))
    return metric


REFUSED: dict[str, Callable[[pathlib.Path], object]] = {
    "gluon.metric.CompositeEvalMetric.get": lambda _: gluon.metric.create([measured("mae")]).get(),
    "gluon.metric.EvalMetric.get": lambda _: measured("mae").get(),
    "gluon.metric.EvalMetric.get_name_value": lambda _: measured("mae").get_name_value(),
    "gluon.metric.F1.get": lambda _: measured("f1").get(),
    "gluon.metric.MCC.get": lambda _: measured("mcc").get(),
    "gluon.metric.PCC.get": lambda _: measured("pcc").get(),
    "gluon.metric.PearsonCorrelation.get": lambda _: measured("pearsonr").get(),
    "gluon.metric.Perplexity.get": lambda _: measured("perplexity").get(),
    "gluon.metric.RMSE.get": lambda _: measured("rmse").get(),
    "image.imdecode": lambda _: image.imdecode(array(2).astype("uint8")),
    "image.imencode": lambda _: image.imencode(".png", array(2, 2, 3).astype("uint8")),
    "recordio.pack": lambda _: recordio.pack((0, array(2), 0, 0), b""),
    "recordio.pack_img": lambda _: recordio.pack_img((0, 1, 0, 0), array(2, 2, 3).astype("uint8")),
    "recordio.unpack_img": lambda _: recordio.unpack_img(recordio.pack((0, 1, 0, 0), PIXEL)),
    "np.allclose": lambda _: np.allclose(array(2), array(2)),
    "np.array_equal": lambda _: np.array_equal(array(2), array(2)),
    "np.array_equiv": lambda _: np.array_equiv(array(2), array(2)),
    "np.array": lambda _: np.array([array(), array()]),
    "np.asarray": lambda _: np.asarray([array(), array()]),
    "np.asanyarray": lambda _: np.asanyarray([array(), array()]),
    "np.ascontiguousarray": lambda _: np.ascontiguousarray([array(), array()]),
    "np.asfortranarray": lambda _: np.asfortranarray([array(), array()]),
    "np.require": lambda _: np.require([array(), array()]),
    "np.asarray_chkfinite": lambda _: np.asarray_chkfinite(array(2)),
    "np.format_float_positional": lambda _: np.format_float_positional(array()),
    "np.format_float_scientific": lambda _: np.format_float_scientific(array()),
    "np.mask_indices": lambda _: np.mask_indices(2, np.triu),
    "np.real_if_close": lambda _: np.real_if_close(array(2) + 0j),
    "np.savetxt": saved(lambda path: np.savetxt(path, array(2))),
    "np.trim_zeros": lambda _: np.trim_zeros(array(2)),
    "np.vectorize": lambda _: np.vectorize(abs)(array(2)),
    "np.polynomial.polynomial.polyroots": lambda _: np.polynomial.polynomial.polyroots(array(3)),
    "np.polynomial.polynomial.polytrim": lambda _: np.polynomial.polynomial.polytrim(array(3)),
    "np.testing.assert_allclose": lambda _: np.testing.assert_allclose(array(2), array(2)),
    "np.testing.assert_almost_equal": lambda _: np.testing.assert_almost_equal(array(2), array(2)),
    "np.testing.assert_array_almost_equal": lambda _: np.testing.assert_array_almost_equal(array(2), array(2)),
    "np.testing.assert_array_equal": lambda _: np.testing.assert_array_equal(array(2), array(2)),
    "np.testing.assert_array_less": lambda _: np.testing.assert_array_less(array(2), array(2) + 1),
    "np.testing.assert_equal": lambda _: np.testing.assert_equal(array(2), array(2)),
    "np.bincount": lambda _: np.bincount(np.arange(3)),
    "np.histogram": lambda _: np.histogram(array(9), "auto"),
    "np.histogram_bin_edges": lambda _: np.histogram_bin_edges(array(9), "auto"),
    "np.intersect1d": lambda _: np.intersect1d(array(2), array(2)),
    "np.roots": lambda _: np.roots(array(3)),
    "np.setdiff1d": lambda _: np.setdiff1d(array(2), array(2)),
    "np.setxor1d": lambda _: np.setxor1d(array(2), array(2)),
    "np.union1d": lambda _: np.union1d(array(2), array(2)),
    "np.unique": lambda _: np.unique(array(2)),
    "np.unique_all": lambda _: np.unique_all(array(2)),
    "np.unique_counts": lambda _: np.unique_counts(array(2)),
    "np.unique_inverse": lambda _: np.unique_inverse(array(2)),
    "np.unique_values": lambda _: np.unique_values(array(2)),
    "np.save": saved(lambda path: np.save(path, array(2))),
    "np.savez": saved(lambda path: np.savez(path, array(2))),
    "np.savez_compressed": saved(lambda path: np.savez_compressed(path, x=array(2))),
    "np.array2string": lambda _: np.array2string(array(2)),
    "np.array_repr": lambda _: np.array_repr(array(2)),
    "np.array_str": lambda _: np.array_str(array(2)),
    "np.frombuffer": lambda _: np.frombuffer(array(2), "float32"),
    "npx.cond": lambda _: npx.cond(array(), lambda: 1, lambda: 2),
    "npx.while_loop": lambda _: npx.while_loop(lambda n: n < 2, lambda n: (n, [n + 1]), [array()], 3),
    "npx.waitall": lambda _: npx.waitall(),
    "npx.save": saved(lambda path: npx.save(path, [array(2)])),
    "npx.savez": saved(lambda path: npx.savez(path, array(2))),
    "npx.nonzero": lambda _: npx.nonzero(array(2)),
    "npx.to_dlpack_for_read": lambda _: npx.to_dlpack_for_read(array(2).as_in_ctx(npx.cpu())),
    "npx.to_dlpack_for_write": lambda _: npx.to_dlpack_for_write(array(2).as_in_ctx(npx.cpu())),
    "gluon.utils.clip_global_norm": lambda _: gluon.utils.clip_global_norm([array(2)], 1.0),
    "gluon.Block.save_parameters": saved(lambda path: network().save_parameters(path)),
    "gluon.Block.save": saved(lambda path: network().save(path)),
    "gluon.HybridBlock.export": saved(lambda path: network().export(path, inputs=[array(3, 3)])),
    "onnx.export": saved(lambda path: onnx.export(network(), path, [array(3, 3)])),
    "onnx.export_model": saved(lambda path: onnx.export_model(*files_of(path), onnx_file_path=path)),
    "gluon.ParameterDict.save": saved(lambda path: network().collect_params().save(path)),
    "gluon.ParameterDict.restore": lambda _: network().collect_params().restore(),
    "gluon.Trainer.restore": lambda _: trained().restore(),
    "gluon.Trainer.save_states": saved(lambda path: trained().save_states(path)),
    "ndarray.item": lambda _: array().item(),
    "ndarray.dumps": lambda _: array(2).dumps(),
    "ndarray.__contains__": lambda _: 1 in array(2),
    "ndarray.tolist": lambda _: array(2).tolist(),
    "ndarray.tobytes": lambda _: array(2).tobytes(),
    "ndarray.tofile": saved(lambda path: array(2).tofile(path)),
    "ndarray.__dlpack__": lambda _: array(2).__dlpack__(dl_device=(1, 0)),
    "ndarray.asnumpy": lambda _: array(2).asnumpy(),
    "ndarray.wait_to_read": lambda _: array(2).wait_to_read(),
    "ndarray.wait_to_write": lambda _: array(2).wait_to_write(),
    "ndarray.restore": lambda _: array(2).restore(),
    "ndarray.__array__": lambda _: numpy.asarray(array(2)),
    "ndarray.__bool__": lambda _: bool(array()),
    "ndarray.__complex__": lambda _: complex(array()),
    "ndarray.__float__": lambda _: float(array()),
    "ndarray.__int__": lambda _: int(array()),
    "ndarray.__index__": lambda _: [1, 2][np.array(1)],
    "np.argwhere": lambda _: np.argwhere(array(2)),
    "np.compress": lambda _: np.compress(array(2) > 0, array(2)),
    "np.extract": lambda _: np.extract(array(2) > 0, array(2)),
    "np.flatnonzero": lambda _: np.flatnonzero(array(2)),
    "np.ix_": lambda _: np.ix_(array(2) > 0),
    "np.nonzero": lambda _: np.nonzero(array(2)),
    "np.repeat": lambda _: np.repeat(array(2), np.array([1, 2])),
    "np.where": lambda _: np.where(array(2) > 0),
    "ndarray.compress": lambda _: array(2).compress(array(2) > 0),
    "ndarray.nonzero": lambda _: array(2).nonzero(),
    "ndarray.repeat": lambda _: array(2).repeat(np.array([1, 2])),
    "ndarray.__getitem__": lambda _: array(2)[array(2) > 0],
    "ndarray.__setitem__": lambda _: array(2, 2).__setitem__((array(2) > 0, np.array([0, 1])), 0),
    "ndarray._repr_html_": lambda _: array(2)._repr_html_(),
    "ndarray._repr_pretty_": lambda _: array(2)._repr_pretty_(None, False),
    "ndarray.__repr__": lambda _: repr(array(2)),
    "ndarray.__str__": lambda _: str(array(2)),
    "ndarray.__format__": lambda _: f"{array():.2f}",
}


def words(word: str) -> list[str]:
    return [name for name, found in TABLE.items() if found == word]


def test_every_public_name_is_in_the_table() -> None:
    names = {name for name, _ in public()}
    assert set(TABLE.values()) <= WORDS
    assert names - TABLE.keys() == set(), "say in blocking.txt whether these may wait"
    assert TABLE.keys() - names == set(), "these are no public names any more"


def test_the_page_has_every_name_that_waits() -> None:
    text = blockers.PAGE.read_text(encoding="utf-8")
    assert text == blockers.page(text), "write the table again: python tests/python/blockers.py"
    assert len(blockers.rows()) == len(words("waits")) + len(words("may"))


def test_what_waits_has_a_call_that_is_refused() -> None:
    assert REFUSED.keys() == {*words("waits"), *words("may")}


@pytest.mark.parametrize("name", REFUSED)
def test_what_waits_is_refused(name: str, tmp_path: pathlib.Path) -> None:
    with forerun.no_sync("error"), pytest.raises(RuntimeError, match="waits inside no_sync"):
        REFUSED[name](tmp_path)


# Arguments to try: most functions accept some of these.
TRIED: list[Callable[[], tuple[Any, ...]]] = [
    lambda: (array(3, 3),),
    lambda: (array(3, 3), array(3, 3)),
    lambda: (array(3, 3), 0),
    lambda: (array(3, 3), 0, 1),
    lambda: (array(3, 3), (3, 3)),
    lambda: (array(3, 3), (9,)),
    lambda: (array(3, 3), array(3, 3), array(3, 3)),
    lambda: (array(3, 3) > 0, array(3, 3), array(3, 3)),
    lambda: (array(3, 3) > 0, array(3, 3) > 0),
    lambda: (array(3, 3) > 0,),
    lambda: (array(2, 3, 3), array(2, 3, 3)),
    lambda: (np.arange(3, dtype="int64"), 3),
    lambda: (array(3, 3), np.zeros((3,), dtype="int64")),
    lambda: (np.zeros((3,), dtype="int64"), array(3, 3)),
    lambda: (array(3, 3), "float64"),
    lambda: (array(3, 3), "relu"),
    lambda: (array(1, 3), (3, 3)),
    lambda: ((3, 3),),
    lambda: (3,),
    lambda: (0, 3),
    lambda: (0.0, 1.0, (3,)),
    lambda: (),
    # NumPy converts nested lists of arrays, which reads them; tried last, for functions that need a list.
    lambda: ([array(3, 3), array(3, 3)],),
]


def recorded() -> tuple[np.ndarray, np.ndarray]:
    x = array(3)
    x.attach_grad()
    with autograd.record():
        y = x * x
    return x, y


def differentiated() -> None:
    x, y = recorded()
    autograd.grad(y, [x])


def marked() -> None:
    autograd.mark_variables([array(3)], [array(3)])


OWN: dict[str, Callable[[], object]] = {
    "np.__array_namespace_info__": lambda: np.__array_namespace_info__().dtypes(),
    "np.fromfunction": lambda: np.fromfunction(lambda i: i * array(3), (3,)),
    "np.fromiter": lambda: np.fromiter([1, 2], "int64"),
    "np.genfromtxt": lambda: np.genfromtxt(["1 2"]),
    "np.loadtxt": lambda: np.loadtxt(["1 2"]),
    "np.bitwise_count": lambda: np.bitwise_count(np.arange(3)),
    "np.fromstring": lambda: np.fromstring("1 2", sep=" "),
    "np.unpackbits": lambda: np.unpackbits(np.ones(2, "u1")),
    "np.random.dirichlet": lambda: np.random.dirichlet(array(3)),
    "np.random.logseries": lambda: np.random.logseries(0.5),
    "np.random.negative_binomial": lambda: np.random.negative_binomial(3, 0.5),
    "np.random.noncentral_f": lambda: np.random.noncentral_f(array(3), 2.0, 1.0),
    "np.random.triangular": lambda: np.random.triangular(0.0, 1.0, 2.0),
    "ndarray.__array_function__": lambda: numpy.concatenate([array(3), array(3)]),
    "ndarray.__array_ufunc__": lambda: numpy.add(array(3), numpy.ones(3)),
    "ndarray.__dlpack_device__": lambda: np.ones((3,), device=npx.cpu()).__dlpack_device__(),
    "ndarray.__deepcopy__": lambda: array(3).__deepcopy__({}),
    "np.arange": lambda: np.arange(3),
    "np.apply_along_axis": lambda: np.apply_along_axis(np.sum, 0, array(3, 3)),
    "np.apply_over_axes": lambda: np.apply_over_axes(np.sum, array(3, 3), 0),
    "np.dsplit": lambda: np.dsplit(array(2, 2, 2), 2),
    "np.full": lambda: np.full((2,), 1),
    "np.full_like": lambda: np.full_like(array(2), 1),
    "np.fft.fftfreq": lambda: np.fft.fftfreq(4),
    "np.fft.rfftfreq": lambda: np.fft.rfftfreq(4),
    "np.polyfit": lambda: np.polyfit(np.arange(4.0), array(4), 1),
    "np.linalg.cholesky": lambda: np.linalg.cholesky(np.eye(3)),
    "np.linalg.inv": lambda: np.linalg.inv(np.eye(3)),
    "np.linalg.matrix_power": lambda: np.linalg.matrix_power(np.eye(3), -2),
    "np.linalg.outer": lambda: np.linalg.outer(array(3), array(2)),
    "np.linalg.solve": lambda: np.linalg.solve(np.eye(3), array(3, 2)),
    "np.linalg.tensorinv": lambda: np.linalg.tensorinv(np.eye(3), 1),
    "np.linalg.tensorsolve": lambda: np.linalg.tensorsolve(np.eye(3), array(3)),
    "np.geomspace": lambda: np.geomspace(1, 8, 4),
    "np.indices": lambda: np.indices((2, 3)),
    "np.interp": lambda: np.interp(array(3), array(3), array(3)),
    "np.random.seed": lambda: np.random.seed(0),
    "np.ravel_multi_index": lambda: np.ravel_multi_index((np.array([1]), np.array([0])), (2, 3)),
    "npx.seed": lambda: npx.seed(0),
    "np.cumulative_prod": lambda: np.cumulative_prod(array(3)),
    "np.cumulative_sum": lambda: np.cumulative_sum(array(3)),
    "np.digitize": lambda: np.digitize(array(3), array(3)),
    "np.histogram2d": lambda: np.histogram2d(array(9), array(9)),
    "np.random.beta": lambda: np.random.beta(array(3), 2.0),
    "np.random.binomial": lambda: np.random.binomial(3, 0.5, (3,)),
    "np.random.choice": lambda: np.random.choice(5, (3,), False, [0.1, 0.2, 0.3, 0.2, 0.2]),
    "np.random.f": lambda: np.random.f(array(3), 2.0),
    "np.random.geometric": lambda: np.random.geometric(0.5, (3,)),
    "np.random.multinomial": lambda: np.random.multinomial(5, [0.5, 0.5], (3,)),
    "np.random.multivariate_normal": lambda: np.random.multivariate_normal(array(2), array(2, 2), (3,)),
    "npx.ctc_loss": lambda: npx.ctc_loss(array(3, 2, 4), np.ones((2, 2), "int64")),
    "npx.foreach": lambda: npx.foreach(lambda x, state: (x, state), array(3, 3), array(3)),
    "npx.rnn": lambda: npx.rnn(array(3, 1, 2), array(12), array(1, 1, 2), mode="rnn_tanh", state_size=2),
    "npx.gather_nd": lambda: npx.gather_nd(array(3, 3), np.zeros((2, 1), "int64")),
    "npx.index_add": lambda: npx.index_add(array(3, 3), np.zeros((2, 1), "int64"), 1),
    "npx.index_update": lambda: npx.index_update(array(3, 3), np.zeros((2, 1), "int64"), 1),
    "npx.sequence_last": lambda: npx.sequence_last(array(3, 3), np.ones((3,), "int64"), True),
    "npx.sequence_mask": lambda: npx.sequence_mask(array(3, 3), np.ones((3,), "int64"), True),
    "npx.sequence_reverse": lambda: npx.sequence_reverse(array(3, 3), np.ones((3,), "int64"), True),
    "np.put_along_axis": lambda: np.put_along_axis(array(3), np.zeros((1,), "int64"), 2, 0),
    "np.searchsorted": lambda: np.searchsorted(array(3), array(3)),
    "ndarray.searchsorted": lambda: array(3).searchsorted(array(3)),
    "np.take_along_axis": lambda: np.take_along_axis(array(3), np.zeros((1,), "int64"), 0),
    "autograd.backward": lambda: autograd.backward([recorded()[1]]),
    "autograd.grad": differentiated,
    "autograd.mark_variables": marked,
    "autograd.set_recording": lambda: autograd.set_recording(autograd.is_recording()),
    "autograd.set_training": lambda: autograd.set_training(autograd.is_training()),
    "ndarray.item_async": lambda: array().item_async().close(),
    "ndarray.backward": lambda: recorded()[1].backward(),
    "npx.batch_norm": lambda: npx.batch_norm(array(3, 3), array(3), array(3), array(3), array(3)),
    "npx.group_norm": lambda: npx.group_norm(array(3, 3), array(3), array(3)),
    "npx.instance_norm": lambda: npx.instance_norm(array(3, 3, 3), array(3), array(3)),
    "npx.rms_norm": lambda: npx.rms_norm(array(3, 3), array(3)),
    "npx.layer_norm": lambda: npx.layer_norm(array(3, 3), array(3), array(3)),
    "npx.adaptive_avg_pool2d": lambda: npx.adaptive_avg_pool2d(array(1, 2, 3, 3), 2),
    "npx.convolution": lambda: npx.convolution(array(1, 2, 3), array(4, 2, 3), array(4), pad=1),
    "npx.deconvolution": lambda: npx.deconvolution(array(1, 2, 3), array(2, 4, 3), array(4), no_bias=False),
    "npx.pooling": lambda: npx.pooling(array(1, 2, 3), 2),
    "npx.set_np_default_dtype": lambda: npx.set_np_default_dtype(npx.is_np_default_dtype()),
    "npx.from_numpy": lambda: npx.from_numpy(numpy.ones(2)),
    "npx.pad": lambda: npx.pad(array(3), pad_width=(1, 1)),
    "npx.box_decode": lambda: npx.box_decode(array(1, 3, 4), array(1, 3, 4)),
    "npx.box_encode": lambda: npx.box_encode(
        array(1, 3), np.zeros((1, 3)), array(1, 3, 4), array(1, 2, 4), array(4), array(4)
    ),
    "npx.box_iou": lambda: npx.box_iou(array(3, 4), array(2, 4)),
    "npx.box_nms": lambda: npx.box_nms(array(3, 6)),
    "npx.multibox_detection": lambda: npx.multibox_detection(array(1, 2, 3), array(1, 12), array(1, 3, 4)),
    "npx.multibox_target": lambda: npx.multibox_target(array(1, 3, 4), array(1, 2, 5), array(1, 2, 3)),
    "npx.roi_align": lambda: npx.roi_align(array(2, 1, 3, 3), array(2, 5), 2, 1.0),
    "npx.roi_pooling": lambda: npx.roi_pooling(array(2, 1, 3, 3), array(2, 5), 2, 1.0),
    "npx.sldwin_atten_context": lambda: npx.sldwin_atten_context(array(1, 3, 2, 3), array(1, 3, 2, 4), whole(2), 1),
    "npx.sldwin_atten_mask_like": lambda: npx.sldwin_atten_mask_like(array(1, 3, 2, 3), whole(2), whole(1), 1),
    "npx.sldwin_atten_score": lambda: npx.sldwin_atten_score(array(1, 3, 2, 4), array(1, 3, 2, 4), whole(2), 1),
    "npx.sync_batch_norm": lambda: npx.sync_batch_norm(array(3, 3), array(3), array(3), array(3), array(3)),
    "npx.interleaved_matmul_encdec_qk": lambda: npx.interleaved_matmul_encdec_qk(array(3, 1, 2), array(3, 1, 4), 1),
    "npx.interleaved_matmul_encdec_valatt": lambda: npx.interleaved_matmul_encdec_valatt(
        array(3, 1, 4), array(1, 3, 3), 1
    ),
    "npx.interleaved_matmul_selfatt_qk": lambda: npx.interleaved_matmul_selfatt_qk(array(3, 1, 6), 1),
    "npx.interleaved_matmul_selfatt_valatt": lambda: npx.interleaved_matmul_selfatt_valatt(
        array(3, 1, 6), array(1, 3, 3), 1
    ),
    "npx.bilinear_resize": lambda: npx.bilinear_resize(array(1, 1, 3, 3), height=2, width=5),
    "npx.bilinear_sampler": lambda: npx.bilinear_sampler(array(1, 1, 3, 3), array(1, 2, 2, 2)),
    "npx.grid_generator": lambda: npx.grid_generator(array(1, 6), "affine", (2, 2)),
    "npx.grid_sample": lambda: npx.grid_sample(array(1, 1, 3, 3), array(1, 2, 2, 2)),
    "npx.spatial_transformer": lambda: npx.spatial_transformer(array(1, 1, 3, 3), array(1, 6), (2, 2)),
    "npx.image.normalize": lambda: npx.image.normalize(array(3, 2, 2)),
    "npx.image.resize": lambda: npx.image.resize(array(3, 2, 3), 2),
    "npx.image.crop": lambda: npx.image.crop(array(3, 2, 3), 0, 0, 1, 1),
    "npx.image.random_brightness": lambda: npx.image.random_brightness(array(3, 2, 3), 0.5, 1.5),
    "npx.image.random_contrast": lambda: npx.image.random_contrast(array(3, 2, 3), 0.5, 1.5),
    "npx.image.random_saturation": lambda: npx.image.random_saturation(array(3, 2, 3), 0.5, 1.5),
    "npx.image.random_lighting": lambda: npx.image.random_lighting(array(3, 2, 3)),
    "npx.image.adjust_lighting": lambda: npx.image.adjust_lighting(array(3, 2, 3), array(3)),
    "npx.image.to_tensor": lambda: npx.image.to_tensor(array(3, 2, 3)),
    "npx.image.flip_left_right": lambda: npx.image.flip_left_right(array(3, 2, 3)),
    "npx.image.flip_top_bottom": lambda: npx.image.flip_top_bottom(array(3, 2, 3)),
    "npx.image.random_flip_left_right": lambda: npx.image.random_flip_left_right(array(3, 2, 3)),
    "npx.image.random_flip_top_bottom": lambda: npx.image.random_flip_top_bottom(array(3, 2, 3)),
    "npx.image.random_color_jitter": lambda: npx.image.random_color_jitter(array(3, 2, 3), 0.1, 0.1, 0.1, 0.1),
    "npx.image.random_crop": lambda: npx.image.random_crop(array(3, 4, 3), width=2, height=2),
    "npx.image.random_hue": lambda: npx.image.random_hue(array(3, 2, 3), 0.1, 0.2),
    "npx.image.random_resized_crop": lambda: npx.image.random_resized_crop(array(3, 4, 3), 2, 2),
    "image.CreateAugmenter": lambda: image.CreateAugmenter((3, 4, 4), rand_mirror=True, mean=True),
    "image.CreateDetAugmenter": lambda: image.CreateDetAugmenter((3, 4, 4), rand_crop=1, rand_pad=1),
    "image.CreateMultiRandCropAugmenter": lambda: image.CreateMultiRandCropAugmenter([0.1, 0.5]),
    "image.center_crop": lambda: image.center_crop(array(4, 4, 3), (2, 2)),
    "image.copyMakeBorder": lambda: image.copyMakeBorder(array(4, 4, 3), 1, 1, 1, 1),
    "image.fixed_crop": lambda: image.fixed_crop(array(4, 4, 3), 0, 0, 2, 2, (3, 3)),
    "image.imread": read_pixel,
    "image.imresize": lambda: image.imresize(array(4, 4, 3), 2, 2),
    "image.imrotate": lambda: image.imrotate(array(3, 4, 4), 10),
    "image.random_crop": lambda: image.random_crop(array(4, 4, 3), (2, 2)),
    "image.random_rotate": lambda: image.random_rotate(array(3, 4, 4), (-10, 10)),
    "image.random_size_crop": lambda: image.random_size_crop(array(4, 4, 3), (2, 2)),
    "image.resize_short": lambda: image.resize_short(array(4, 4, 3), 2),
    "image.scale_down": lambda: image.scale_down((4, 4), (2, 2)),
    "npx.im2col": lambda: npx.im2col(array(1, 1, 3), 2),
    "npx.col2im": lambda: npx.col2im(array(1, 2, 2), 3, 2),
    "npx.deformable_convolution": lambda: npx.deformable_convolution(
        array(1, 1, 3, 3), array(1, 8, 2, 2), array(1, 1, 2, 2)
    ),
    "npx.modulated_deformable_convolution": lambda: npx.modulated_deformable_convolution(
        array(1, 1, 3, 3), array(1, 8, 2, 2), array(1, 4, 2, 2), array(1, 1, 2, 2)
    ),
    "np.choose": lambda: np.choose(np.zeros((3,), dtype="int64"), [array(3), array(3)]),
    "np.copyto": lambda: np.copyto(array(3), array(3), where=array(3) > 0),
    "np.piecewise": lambda: np.piecewise(array(3), [array(3) > 0], [1]),
    "np.place": lambda: np.place(array(3), array(3) > 0, array(2)),
    "np.put": lambda: np.put(array(3), np.zeros((2,), dtype="int64"), array(2)),
    "np.putmask": lambda: np.putmask(array(3), array(3) > 0, array(2)),
    "np.select": lambda: np.select([array(3) > 0], [array(3)]),
    "ndarray.choose": lambda: np.zeros((3,), dtype="int64").choose([array(3), array(3)]),
    "ndarray.put": lambda: array(3).put(np.zeros((2,), dtype="int64"), array(2)),
    "ndarray.as_in_ctx": lambda: array(3).as_in_ctx(npx.cpu(1)),
    "ndarray.as_in_context": lambda: array(3).as_in_context(npx.cpu(1)),
    "ndarray.to_device": lambda: array(3).to_device(npx.cpu(1)),
    "ndarray.copyto": lambda: array(3).copyto(array(3)).copyto(npx.cpu(1)),
    "gluon.checkpoint": lambda: gluon.checkpoint(np.tanh, array(2)),
    "gluon.utils.split_data": lambda: gluon.utils.split_data(array(4, 2), 2),
    "gluon.utils.check_sha1": lambda: gluon.utils.check_sha1(__file__, ""),
    "gluon.utils.download": lambda: gluon.utils.download("https://example.com/x", __file__),
    "gluon.utils.split_rnn_params": lambda: gluon.utils.split_rnn_params(array(32), "rnn_tanh", 1, 2, 4),
    "gluon.utils.split_and_load": lambda: gluon.utils.split_and_load(array(4, 2), [npx.cpu()]),
}
# The training step below calls methods of blocks, parameters and trainers; files have their own tests.
CALLED = [
    name
    for name, thing in public()
    if TABLE.get(name) == "never"
    and name.count(".") < 2 + name.startswith(("gluon.utils", "np.fft", "np.linalg", "npx.image"))
    and not inspect.isclass(thing)
    if name not in ("np.load", "npx.load", "np.fromfile", "onnx.import_model")
]


def test_loading_never_waits(tmp_path: pathlib.Path) -> None:
    npx.save(str(tmp_path / "file"), [array(2)])
    with forerun.no_sync("error"):
        (loaded,) = npx.load(str(tmp_path / "file"))
    assert isinstance(loaded, np.ndarray) and loaded.tolist() == [1.0, 1.0]
    np.save(str(tmp_path / "x.npy"), array(2))
    np.savez(str(tmp_path / "x.npz"), x=array(2))
    with forerun.no_sync("error"):
        both = [np.load(tmp_path / "x.npy"), np.load(tmp_path / "x.npz")["x"]]
    assert [array.tolist() for array in both] == [[1.0, 1.0]] * 2
    path = onnx.export(network(), tmp_path / "net.onnx", [array(3, 3)])
    with forerun.no_sync("error"):
        onnx.import_model(path)(array(3, 3))


@pytest.mark.parametrize("name", CALLED)
def test_what_never_waits_is_let_through(name: str) -> None:
    thing = dict(public())[name]
    if not callable(thing):
        assert isinstance(thing, types.GetSetDescriptorType)
        with forerun.no_sync("error"):
            thing.__get__(array(3, 3))
        return
    calls: list[Callable[[], object]] = [lambda made=made: thing(*made()) for made in TRIED]  # type: ignore[misc]
    if name in OWN:
        calls = [OWN[name]]
    for call in calls:
        try:
            with forerun.no_sync("error"):
                call()
            break
        except (TypeError, ValueError, IndexError, NotImplementedError):
            # Not valid arguments for it.
            continue
    else:
        pytest.fail("no call of it was tried that went through")
    npx.waitall()


# A loss over alignments takes sequences.
LOSSES = [name for name in gluon.loss.__all__ if name not in ("Loss", "CTCLoss")]


@pytest.mark.parametrize("name, hybrid", list(itertools.product(LOSSES, [False, True])))
def test_training_never_waits(name: str, hybrid: bool) -> None:
    with forerun.no_sync("error"):
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(8, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dropout(0.1), gluon.nn.Dense(2))
        net.initialize()
        if hybrid:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        loss = getattr(gluon.loss, name)()
        labels = np.zeros((4,)) if name.startswith("Softmax") else np.zeros((4, 2))
        more = {"TripletLoss": [np.ones((4, 2))], "CosineEmbeddingLoss": [np.ones((4,))]}.get(name, [])
        for _ in range(3):
            x = np.random.normal(size=(4, 3))
            with autograd.record():
                out = loss(net(x), labels, *more)
            out.backward()
            trainer.step(4)
    npx.waitall()
