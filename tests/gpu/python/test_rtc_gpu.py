"""Kernels in CUDA C, given as text, on an NVIDIA device."""

from __future__ import annotations

import os
import pathlib

import numpy
import pytest

from forerun import autograd, np, npx, rtc

if npx.num_gpus() == 0 or os.environ.get("FORERUN_SIM_GPUS"):
    pytest.skip("there is no NVIDIA device", allow_module_level=True)

GPU = npx.gpu(0)
LINE = pathlib.Path(__file__).name
SOURCE = r"""
extern "C" __global__ void axpy(const float *x, float *y, float alpha, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] += alpha * x[i];
}
extern "C" __global__ void split(const double *x, float *low, long long *high, bool negate, short shift, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    double v = negate ? -x[i] : x[i];
    high[i] = ((long long)v) + shift;
    low[i] = (float)(v - (long long)v);
}
extern "C" __global__ void where(int *place) {
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    place[thread + block * blockDim.x * blockDim.y * blockDim.z] = 1000 * block + thread;
}
extern "C" __global__ void turn(float *x) {
    extern __shared__ float kept[];
    kept[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}
"""
AXPY = "const float *x, float *y, float alpha, int n"


@pytest.fixture(scope="module")
def module() -> rtc.CudaModule:
    return rtc.CudaModule(SOURCE)


def arange(n: int, dtype: str = "float32") -> np.ndarray:
    return np.arange(n, dtype=dtype, ctx=GPU)


def test_a_kernel_is_ordered_with_the_ops_around_it(module: rtc.CudaModule) -> None:
    kernel, n = module.get_kernel("axpy", AXPY), 1000
    x, y = arange(n), np.zeros((n,), ctx=GPU)
    want = numpy.zeros(n, "float32")
    # More launches than one batch holds, so that some are submitted as graphs.
    for step in range(600):
        x = x * 1
        before = y.copy()
        kernel.launch([x, y, float(step % 3), n], GPU, (4, 1, 1), (256, 1, 1))
        want += numpy.float32(step % 3) * numpy.arange(n, dtype="float32")
        y = y + (before - before)
    numpy.testing.assert_array_equal(y.asnumpy(), want)


def test_what_was_read_before_a_launch_is_not_changed(module: rtc.CudaModule) -> None:
    kernel = module.get_kernel("axpy", AXPY)
    x, y = arange(8), np.zeros((8,), ctx=GPU)
    copy, view = y.copy(), y[2:5]
    kernel.launch([x, y, 2.0, 8], GPU, (1,), (32,))
    assert copy.asnumpy().tolist() == [0] * 8
    assert view.asnumpy().tolist() == [4, 6, 8]
    # Views are read and written as arrays of their own.
    kernel.launch([x[::-2], y[1::2], 1.0, 4], GPU, (1,), (4,))
    assert y.asnumpy().tolist() == [0, 2 + 7, 4, 6 + 5, 8, 10 + 3, 12, 14 + 1]


def test_an_array_that_is_read_and_written_has_two_values(module: rtc.CudaModule) -> None:
    x = arange(8)
    module.get_kernel("axpy", AXPY).launch([x, x, 1.0, 8], GPU, (1,), (8,))
    assert x.asnumpy().tolist() == [2 * i for i in range(8)]


def test_several_arrays_are_written(module: rtc.CudaModule) -> None:
    kernel = module.get_kernel("split", "const double *x, float *low, long long *high, bool negate, short shift, int n")
    host = numpy.array([1.5, 2.25, -7.75])
    low, high = np.zeros((3,), ctx=GPU), np.zeros((3,), dtype="int64", ctx=GPU)
    kernel.launch([np.array(host, ctx=GPU), low, high, True, -100, 3], GPU, (1,), (32,))
    numpy.testing.assert_array_equal(high.asnumpy(), numpy.trunc(-host).astype("int64") - 100)
    numpy.testing.assert_array_equal(low.asnumpy(), -host - numpy.trunc(-host))


def test_grids_and_blocks_have_three_dimensions(module: rtc.CudaModule) -> None:
    place = np.zeros((2 * 3 * 4, 5 * 3 * 2), dtype="int32", ctx=GPU)
    module.get_kernel("where", "int *place").launch([place], GPU, (2, 3, 4), (5, 3, 2))
    want = 1000 * numpy.arange(24)[:, None] + numpy.arange(30)
    numpy.testing.assert_array_equal(place.asnumpy(), want)


def test_shared_memory(module: rtc.CudaModule) -> None:
    x = arange(64)
    module.get_kernel("turn", "float *x").launch([x], GPU, (1,), (64,), 64 * 4)
    assert x.asnumpy().tolist() == list(range(63, -1, -1))


def test_a_function_gives_a_kernel_a_gradient(module: rtc.CudaModule) -> None:
    kernel = module.get_kernel("axpy", AXPY)

    class Scale(autograd.Function):
        def forward(self, x: np.ndarray) -> np.ndarray:
            y = np.zeros_like(x)
            kernel.launch([x, y, 3.0, x.size], GPU, (1,), (32,))
            return y

        def backward(self, grad: np.ndarray) -> np.ndarray:
            return grad * 3

    x = arange(4)
    x.attach_grad()
    with autograd.record():
        y = (Scale()(x) * x).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 6, 12, 18]


def test_a_source_that_does_not_compile_is_an_error_with_the_log() -> None:
    with pytest.raises(RuntimeError, match=r'kernel.cu\(2\): error: identifier "nothing" is undefined'):
        rtc.CudaModule('extern "C" __global__ void f(float *x) {\n*x = nothing; }')
    with pytest.raises(RuntimeError, match="error"):
        rtc.CudaModule(SOURCE, options=["--no-such-option"])


def test_a_signature_that_differs_from_the_source_is_an_error(module: rtc.CudaModule) -> None:
    for wrong in ["float *x, float *y, float alpha, int n", "const float *x, float *y", AXPY + ", int m"]:
        with pytest.raises(RuntimeError, match="axpy"):
            module.get_kernel("axpy", wrong)
    with pytest.raises(RuntimeError, match="cuModuleGetFunction lacking"):
        module.get_kernel("lacking", "float *x")
    # A kernel that is fine works afterwards.
    y = np.zeros((8,), ctx=GPU)
    module.get_kernel("axpy", AXPY).launch([arange(8), y, 1.0, 8], GPU, (1,), (8,))
    assert y.asnumpy().tolist() == list(range(8))


def test_a_refused_launch_names_its_line() -> None:
    # The launch bound forbids more than 64 threads.
    source = 'extern "C" __global__ void __launch_bounds__(64) f(float *x) { x[threadIdx.x] = 1; }'
    kernel = rtc.CudaModule(source).get_kernel("f", "float *x")
    x = np.zeros((1024,), ctx=GPU)
    kernel.launch([x], GPU, (1,), (1024,))  # refused
    line = next(n for n, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if "# refused" in text)
    with pytest.raises(RuntimeError, match=rf"(?s)user_kernel: cuLaunchKernel.*{LINE}:{line}"):
        x.asnumpy()
    y = np.zeros((64,), ctx=GPU)
    kernel.launch([y], GPU, (1,), (64,))
    assert y.asnumpy().tolist() == [1] * 64


def test_arguments_are_checked(module: rtc.CudaModule) -> None:
    kernel = module.get_kernel("axpy", AXPY)
    x, y = arange(4), np.zeros((4,), ctx=GPU)
    near = np.zeros((4,), ctx=npx.cpu())
    sizes = (GPU, (1,), (4,))
    with pytest.raises(ValueError, match=r"axpy: takes 4 arguments .*, got 2"):
        kernel.launch([x, y], *sizes)
    with pytest.raises(TypeError, match="axpy: x must be an array, not float"):
        kernel.launch([1.0, y, 1.0, 4], *sizes)
    with pytest.raises(TypeError, match=r"axpy: y must be float32, got float64 \(4,\)"):
        kernel.launch([x, y.astype("float64"), 1.0, 4], *sizes)
    with pytest.raises(ValueError, match=r"axpy: y \(4,\) is on cpu\(0\), not gpu\(0\)"):
        kernel.launch([x, near, 1.0, 4], *sizes)
    with pytest.raises(TypeError, match="axpy: n must be a number that fits int32, got 2147483648"):
        kernel.launch([x, y, 1.0, 2**31], *sizes)
    with pytest.raises(ValueError, match=r"axpy: grid_dims must be .* got \(0,\)"):
        kernel.launch([x, y, 1.0, 4], GPU, (0,), (4,))
    with pytest.raises(ValueError, match="axpy: a block has at most 1024 threads"):
        kernel.launch([x, y, 1.0, 4], GPU, (1,), (64, 64))
    with pytest.raises(ValueError, match="axpy: shared_mem must be"):
        kernel.launch([x, y, 1.0, 4], *sizes, 1 << 20)
    assert y.asnumpy().tolist() == [0] * 4
