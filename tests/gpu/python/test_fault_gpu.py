"""A fault of an NVIDIA device: the device is lost, the host continues."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from forerun import npx

if npx.num_gpus() == 0 or os.environ.get("FORERUN_SIM_GPUS"):
    pytest.skip("there is no NVIDIA device", allow_module_level=True)

PROGRAM = """
import time

import cupy

from forerun import np, npx

host = np.arange(5)
x = np.ones((4,), ctx=npx.gpu(0))
x.wait_to_read()
kernel = cupy.RawKernel('extern "C" __global__ void run(float* p) { p[1ull << 44] = 1; }', "run")
kernel((1,), (1,), (0,))
begun = time.perf_counter()
try:
    for _ in range(10):
        x = x + 1
        x.wait_to_read()
        time.sleep(0.01)
    print("no error")
except RuntimeError as error:
    print(error)
print("seen within a second:", time.perf_counter() - begun < 1)
try:
    (x + 1).asnumpy()
    print("no error")
except RuntimeError as error:
    print("lost" if "is lost" in str(error) else error)
print((host + 1).asnumpy().tolist())
"""


def test_a_faulted_device_is_lost_and_the_host_goes_on() -> None:
    pytest.importorskip("cupy")
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100, check=False)
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr
    assert "gpu(0) is lost" in lines[0]
    assert lines[-3:] == ["seen within a second: True", "lost", "[1, 2, 3, 4, 5]"]
