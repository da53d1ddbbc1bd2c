"""The runnable cells of the section "Asynchronous Computation" of *Dive into Deep Learning*, an English edition
written for MXNet alone.

By Aston Zhang, Zachary C. Lipton, Mu Li, Alexander J. Smola and contributors (https://d2l.ai). The book's text is
licensed under CC BY-SA 4.0, its code under MIT-0. Only the imports are changed.
The cells that train a network are not among these.
"""

# %% 1
import numpy, os, subprocess
from forerun import d2l, np, npx
npx.set_np()

# %% 2
with d2l.benchmark('numpy   : %.4f sec'):
    for _ in range(10):
        a = numpy.random.normal(size=(1000, 1000))
        b = numpy.dot(a, a)

with d2l.benchmark('mxnet.np: %.4f sec'):
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000))
        b = np.dot(a, a)

# %% 3
with d2l.benchmark():
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
with d2l.benchmark('waitall     : %.4f sec'):
    b = np.dot(a, a)
    npx.waitall()

with d2l.benchmark('wait_to_read: %.4f sec'):
    b = np.dot(a, a)
    b.wait_to_read()

# %% 6
with d2l.benchmark('numpy  conversion: %.4f sec'):
    b = np.dot(a, a)
    b.asnumpy()

with d2l.benchmark('scalar conversion: %.4f sec'):
    b = np.dot(a, a)
    b.sum().item()

# %% 7
with d2l.benchmark('Synchronous : %.4f sec'):
    for _ in range(1000):
        y = x + 1
        y.wait_to_read()

with d2l.benchmark('Asynchronous: %.4f sec'):
    for _ in range(1000):
        y = x + 1
    y.wait_to_read()
