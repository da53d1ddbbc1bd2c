"""``mxnet.np.random``: ``forerun.np.random``."""

from forerun.np.random import normal, rand, randint, randn, seed, uniform

__all__ = ["normal", "rand", "randint", "randn", "seed", "uniform"]
