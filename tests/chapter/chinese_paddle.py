"""The code of the section "Asynchronous Computation" of *Dive into Deep Learning*, the Paddle tab
of the Chinese edition.

By Aston Zhang, Zachary C. Lipton, Mu Li, Alexander J. Smola and contributors (https://d2l.ai). The book's text is
licensed under CC BY-SA 4.0, its code under MIT-0. Only the imports are changed.
"""

# %% 1
import os
import subprocess
import numpy
from forerun import paddle
from forerun.paddle import nn
from forerun.d2l import paddle as d2l

# %% 2
# GPU计算热身
a = paddle.randn(shape=(1000, 1000))
b = paddle.mm(a, a)

with d2l.Benchmark('numpy'):
    for _ in range(10):
        a = numpy.random.normal(size=(1000, 1000))
        b = numpy.dot(a, a)

with d2l.Benchmark('飞桨'):
    for _ in range(10):
        a = paddle.randn(shape=(1000, 1000))
        b = paddle.mm(a, a)

# %% 3
with d2l.Benchmark():
    for _ in range(10):
        a = paddle.randn(shape=(1000, 1000))
        b = paddle.mm(a, a)
    paddle.device.cuda.synchronize()

# %% 4
x = paddle.ones((1, 2))
y = paddle.ones((1, 2))
z = x * y + 2
z
