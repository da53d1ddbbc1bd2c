"""The code of the section "Asynchronous Computation" of *Dive into Deep Learning*, the PyTorch tab
of the Turkish edition.

By Aston Zhang, Zachary C. Lipton, Mu Li, Alexander J. Smola and contributors (https://d2l.ai). The book's text is
licensed under CC BY-SA 4.0, its code under MIT-0. Only the imports are changed.
"""

# %% 1
from forerun.d2l import torch as d2l
import numpy, os, subprocess
from forerun import torch
from forerun.torch import nn

# %% 2
# Warmup for GPU computation
device = d2l.try_gpu()
a = torch.randn(size=(1000, 1000), device=device)
b = torch.mm(a, a)

with d2l.Benchmark('numpy'):
    for _ in range(10):
        a = numpy.random.normal(size=(1000, 1000))
        b = numpy.dot(a, a)

with d2l.Benchmark('torch'):
    for _ in range(10):
        a = torch.randn(size=(1000, 1000), device=device)
        b = torch.mm(a, a)

# %% 3
with d2l.Benchmark():
    for _ in range(10):
        a = torch.randn(size=(1000, 1000), device=device)
        b = torch.mm(a, a)
    torch.cuda.synchronize(device)

# %% 4
x = torch.ones((1, 2), device=device)
y = torch.ones((1, 2), device=device)
z = x * y + 2
z
