"""The code of the section "Asynchronous Computation" of *Dive into Deep Learning*, the MXNet tab
of the Turkish edition.

By Aston Zhang, Zachary C. Lipton, Mu Li, Alexander J. Smola and contributors (https://d2l.ai). The book's text is
licensed under CC BY-SA 4.0, its code under MIT-0. Only the imports are changed.
"""

# %% 1
from forerun.d2l import mxnet as d2l
import numpy, os, subprocess
from forerun import autograd, gluon, np, npx
from forerun.gluon import nn
npx.set_np()

# %% 2
with d2l.Benchmark('numpy'):
    for _ in range(10):
        a = numpy.random.normal(size=(1000, 1000))
        b = numpy.dot(a, a)

with d2l.Benchmark('mxnet.np'):
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000))
        b = np.dot(a, a)

# %% 3
with d2l.Benchmark():
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000))
        b = np.dot(a, a)
    npx.waitall()

# %% 4
x = np.ones((1, 2))
y = np.ones((1, 2))
z = x * y + 2
z

# %% 5
with d2l.Benchmark('waitall'):
    b = np.dot(a, a)
    npx.waitall()

with d2l.Benchmark('wait_to_read'):
    b = np.dot(a, a)
    b.wait_to_read()

# %% 6
with d2l.Benchmark('numpy conversion'):
    b = np.dot(a, a)
    b.asnumpy()

with d2l.Benchmark('scalar conversion'):
    b = np.dot(a, a)
    b.sum().item()

# %% 7
with d2l.Benchmark('synchronous'):
    for _ in range(10000):
        y = x + 1
        y.wait_to_read()

with d2l.Benchmark('asynchronous'):
    for _ in range(10000):
        y = x + 1
    npx.waitall()
