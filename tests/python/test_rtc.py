"""Kernels in CUDA C without an NVIDIA device: signatures, and errors that say why. tests/gpu/python runs kernels."""

from __future__ import annotations

import pytest

from forerun import _forerun, np, npx, rtc
from forerun.rtc import _parse

SOURCE = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


def test_signatures() -> None:
    signature = (
        "const float *x, double* __restrict__ y,unsigned   long long * z, const int n, const half* const w, float a"
    )
    assert [tuple(parameter) for parameter in _parse(signature)] == [
        ("x", "float32", True, False),
        ("y", "float64", True, True),
        ("z", "uint64", True, True),
        ("n", "int32", False, False),
        ("w", "float16", True, False),
        ("a", "float32", False, False),
    ]
    assert _parse(" ") == []


@pytest.mark.parametrize(
    ("signature", "kind", "text"),
    [
        ("float", ValueError, "'float' is no parameter; expected, for example, 'const float"),
        ("float *x,", ValueError, "'' is no parameter"),
        ("float **x", ValueError, r"'float \*\*x' is no parameter"),
        ("float x[3]", ValueError, "is no parameter"),
        ("complex *x", TypeError, "has the type complex; expected one of bool, char"),
        ("__nv_bfloat16 x", TypeError, "passes bfloat16 by value"),
    ],
)
def test_bad_signatures(signature: str, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match="get_kernel: .*" + text):
        _parse(signature)


def test_without_an_nvidia_device_the_error_says_so() -> None:
    if npx.num_gpus() == 0:
        with pytest.raises(RuntimeError, match=r"no device gpu\(0\): 0 GPUs are present"):
            rtc.CudaModule(SOURCE)
    elif "simulated" in _forerun.gpu_stats(npx.gpu(0))["description"]:
        with pytest.raises(RuntimeError, match=r"simulated.* cannot run kernels in CUDA C"):
            rtc.CudaModule(SOURCE)
    with pytest.raises(ValueError, match=r"cpu\(0\) is the host"):
        rtc.CudaModule(SOURCE, ctx=npx.cpu())


def test_arguments_of_a_module() -> None:
    with pytest.raises(TypeError, match="options must be a sequence of strings, got '-G'"):
        rtc.CudaModule(SOURCE, "-G")
    with pytest.raises(ValueError, match="exports must be empty; declare kernels extern"):
        rtc.CudaModule(SOURCE, exports=["twice"])
    with pytest.raises(ValueError, match="zero byte"):
        rtc.CudaModule("\0")


def test_kernels_that_do_not_exist_are_refused_by_number() -> None:
    how = {"parameters": [0, 0], "grid": [1, 1, 1], "block": [1, 1, 1], "shared": 0, "written": 1}
    for number in (0, -1, 2**62):
        with pytest.raises(ValueError, match=f"user_kernel: there is no kernel {number}"):
            _forerun.routine("user_kernel", [np.ones((3,))], kernel=number, **how)
    assert (np.ones((3,)) + 1).tolist() == [2, 2, 2]
