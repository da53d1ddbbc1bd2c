"""Libraries that accept foreign arrays: array-api-compat, einops, SciPy and scikit-learn, if they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import pytest

from forerun import np

if TYPE_CHECKING:
    from conftest import Run


def peer(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


def table() -> tuple[np.ndarray, numpy.ndarray]:
    sample = numpy.random.default_rng(0).normal(size=(60, 3)).astype("float32")
    return np.array(sample), sample


def test_array_api_compat_knows_our_arrays() -> None:
    compat = peer("array_api_compat")
    x = np.arange(12, dtype="float32").reshape(3, 4)
    assert compat.is_array_api_obj(x) and compat.array_namespace(x) is np
    assert compat.device(x) == x.device and compat.size(x) == 12
    assert compat.to_device(x, "cpu").device == np.ones((1,), device="cpu").device  # type: ignore[arg-type]


def test_einops() -> None:
    einops = peer("einops.array_api")
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    a = x.asnumpy()
    for made, expected in [
        (einops.rearrange(x, "a b c -> c (a b)"), a.transpose(2, 0, 1).reshape(4, 6)),
        (einops.rearrange(x, "a b (c d) -> a (b c) d", d=2), a.reshape(2, 6, 2)),
        (einops.reduce(x, "a b c -> b", "sum"), a.sum((0, 2))),
        (einops.reduce(x, "a b c -> a c", "max"), a.max(1)),
        (einops.repeat(x, "a b c -> a b c d", d=2), numpy.repeat(a[..., None], 2, -1)),
    ]:
        assert isinstance(made, np.ndarray)
        numpy.testing.assert_array_equal(made.asnumpy(), expected)


def test_scipy_reads_our_arrays() -> None:
    peer("scipy")
    import scipy.linalg
    import scipy.ndimage
    import scipy.optimize
    import scipy.sparse
    import scipy.spatial
    import scipy.stats

    x, a = table()
    numpy.testing.assert_allclose(scipy.linalg.svdvals(x), scipy.linalg.svdvals(a), rtol=1e-6)
    numpy.testing.assert_array_equal(scipy.ndimage.gaussian_filter(x, 1), scipy.ndimage.gaussian_filter(a, 1))
    numpy.testing.assert_array_equal(scipy.spatial.distance.cdist(x, x), scipy.spatial.distance.cdist(a, a))
    assert scipy.sparse.csr_matrix(x).nnz == 180
    numpy.testing.assert_allclose(scipy.stats.zscore(x, axis=0), scipy.stats.zscore(a, axis=0), rtol=1e-5, atol=1e-6)
    found = scipy.optimize.minimize(lambda p: ((np.array(p) - 1) ** 2).sum().item(), [0.0, 3.0])
    numpy.testing.assert_allclose(found.x, [1, 1], atol=1e-3)


def test_scipy_gives_our_arrays_back_where_it_follows_the_standard(run: Run, once: None) -> None:
    peer("scipy.special")
    done = run(
        """
        import numpy, scipy.special
        from forerun import np
        x = np.linspace(-2, 2, 5)
        y = scipy.special.expit(x)
        print(type(y) is np.ndarray, numpy.allclose(y.asnumpy(), 1 / (1 + numpy.exp(-x.asnumpy()))))
        """,
        SCIPY_ARRAY_API="1",
    )
    assert done.stdout == "True True\n", done.stderr


def test_scikit_learn_fits_our_arrays() -> None:
    peer("sklearn")
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.metrics import accuracy_score
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    x, a = table()
    y = (x[:, 0] > 0).astype("int64")
    numpy.testing.assert_allclose(LinearRegression().fit(x, x @ np.array([1.0, 2.0, 3.0])).coef_, [1, 2, 3], rtol=1e-4)
    assert LogisticRegression().fit(x, y).score(x, y) > 0.9
    numpy.testing.assert_allclose(StandardScaler().fit_transform(x), StandardScaler().fit_transform(a), atol=1e-6)
    assert abs(PCA(2).fit_transform(x)).shape == (60, 2)
    assert RandomForestClassifier(5, random_state=0).fit(x, y).predict(x).shape == (60,)
    assert KMeans(2, n_init=1, random_state=0).fit(x).inertia_ > 0
    assert accuracy_score(y, y) == 1
    assert len(train_test_split(x, y)) == 4
