"""Kernels in CUDA C, given as text, on NVIDIA GPUs.

A :class:`CudaModule` compiles a source, and :meth:`CudaModule.get_kernel` returns a kernel of it. A launch is an op
like any other: it returns at once, it runs after the ops that compute its arguments, and ops that read what it writes
run after it.

Examples
--------
>>> from forerun import np, npx, rtc
>>> source = r'''
... extern "C" __global__ void axpy(const float *x, float *y, float alpha, int n) {
...     int i = threadIdx.x + blockIdx.x * blockDim.x;
...     if (i < n) y[i] += alpha * x[i];
... }
... '''
>>> def run(x, y):
...     kernel = rtc.CudaModule(source).get_kernel("axpy", "const float *x, float *y, float alpha, int n")
...     kernel.launch([x, y, 3.0, x.size], npx.gpu(0), (x.size // 256 + 1, 1, 1), (256, 1, 1))
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from forerun import _forerun
from forerun._forerun import Device, ndarray
from forerun._missing import module_getattr as _module_getattr

__all__ = ["CudaKernel", "CudaModule"]

# The dtype of each type of CUDA C.
_DTYPES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "int8_t": "int8",
    "unsigned char": "uint8",
    "uint8_t": "uint8",
    "short": "int16",
    "int16_t": "int16",
    "unsigned short": "uint16",
    "uint16_t": "uint16",
    "int": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "uint32_t": "uint32",
    "long": "int64",
    "long long": "int64",
    "int64_t": "int64",
    "unsigned long": "uint64",
    "unsigned long long": "uint64",
    "uint64_t": "uint64",
    "size_t": "uint64",
    "half": "float16",
    "__half": "float16",
    "__nv_bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "float2": "complex64",
    "double2": "complex128",
}
# How scalars are packed.
_FORMATS = {
    "bool": "<?",
    "int8": "<b",
    "uint8": "<B",
    "int16": "<h",
    "uint16": "<H",
    "int32": "<i",
    "uint32": "<I",
    "int64": "<q",
    "uint64": "<Q",
    "float16": "<e",
    "float32": "<f",
    "float64": "<d",
}
_PARAMETER = re.compile(
    r"(const\b)?\s*([\w\s]*?\w)\s*(\*)?\s*(?:const\b)?\s*(?:__restrict__\b|__restrict\b)?\s*\b(\w+)"
)
# The limits of every GPU.
_MOST_THREADS = (1024, 1024, 64)
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_SHARED = 48 << 10


class _Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    dtype: str
    is_array: bool
    is_written: bool


def _parse(signature: str) -> list[_Parameter]:
    """Return the parameters of a signature."""
    parameters = []
    for text in signature.split(",") if signature.strip() else []:
        found = _PARAMETER.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"get_kernel: {text.strip()!r} is no parameter; expected, for example, 'const float *x'")
        constant, named, star, name = found.groups()
        dtype = _DTYPES.get(" ".join(named.split()))
        if dtype is None:
            raise TypeError(f"get_kernel: {text.strip()!r} has the type {named}; expected one of {', '.join(_DTYPES)}")
        if star is None and dtype not in _FORMATS:
            raise TypeError(f"get_kernel: {text.strip()!r} passes {dtype} by value; pass an array of one element")
        parameters.append(_Parameter(name, dtype, star is not None, star is not None and constant is None))
    return parameters


def _sizes(name: str, what: str, given: Sequence[int], most: tuple[int, int, int]) -> list[int]:
    """Check the dimensions of a grid or block."""
    sizes = [int(size) for size in given]
    if not 1 <= len(sizes) <= 3 or any(not 1 <= size <= limit for size, limit in zip(sizes, most, strict=False)):
        raise ValueError(f"{name}: {what} must be up to three numbers from 1 to {most}, got {tuple(sizes)}")
    return sizes + [1] * (3 - len(sizes))


class CudaKernel:
    """A kernel of a :class:`CudaModule`; see :meth:`CudaModule.get_kernel`."""

    def __init__(self, module: CudaModule, name: str, signature: str) -> None:
        self._module = module
        self._name = name
        self._signature = signature
        self._parameters = _parse(signature)
        if not any(parameter.is_written for parameter in self._parameters):
            raise ValueError(f"get_kernel: {name} writes no array: all pointers of ({signature}) are const")
        # The number of the compiled kernel for each device.
        self._numbers: dict[Device, int] = {}

    def __repr__(self) -> str:
        """Return its name and signature."""
        return f"CudaKernel({self._name}({self._signature}))"

    def _number(self, device: Device) -> int:
        number = self._numbers.get(device)
        if number is None:
            # Compares the signature with the source: a kernel that takes other parameters would read memory that is
            # not there.
            declared = f'#line 1 "signature"\nextern "C" __global__ void {self._name}({self._signature});\n'
            text = f"{self._module._source}\n{declared}"
            number = _forerun.user_kernel(text, list(self._module._options), self._name, device)
            self._numbers[device] = number
        return number

    def _input(self, parameter: _Parameter, value: Any, device: Device) -> ndarray:
        """Check an argument that is an array."""
        if not isinstance(value, ndarray):
            raise TypeError(f"{self._name}: {parameter.name} must be an array, not {type(value).__name__}")
        if str(value.dtype) != parameter.dtype:
            raise TypeError(
                f"{self._name}: {parameter.name} must be {parameter.dtype}, got {value.dtype} {value.shape}"
            )
        if value.device != device:
            raise ValueError(f"{self._name}: {parameter.name} {value.shape} is on {value.device}, not {device}")
        return value

    def _scalar(self, parameter: _Parameter, value: Any) -> list[int]:
        """Return the size and the bits of a number."""
        try:
            packed = struct.pack(_FORMATS[parameter.dtype], value)
        except (struct.error, OverflowError, TypeError) as error:
            text = f"{self._name}: {parameter.name} must be a number that fits {parameter.dtype}, got {value!r}"
            raise TypeError(text) from error
        return [len(packed), int.from_bytes(packed, "little", signed=len(packed) == 8)]

    def launch(
        self,
        args: Sequence[Any],
        ctx: Device,
        grid_dims: Sequence[int],
        block_dims: Sequence[int],
        shared_mem: int = 0,
    ) -> None:
        """Launch the kernel on its arguments; returns at once.

        The kernel reads arrays that are ``const`` in the signature, and updates the others. If an array is passed
        twice, each parameter has a copy of its own, and the last one that is written counts. A launch has no gradient;
        give it one by an :class:`forerun.autograd.Function`.

        A launch that the device refuses, for example because a block needs too many registers, raises ``RuntimeError``
        where a written array is read. An access outside of the arrays makes the device unusable, as in every CUDA
        program.

        Parameters
        ----------
        args
            An array for each pointer, a number for each other parameter. Arrays are on ``ctx``; views are copied.
        ctx
            The GPU.
        grid_dims, block_dims
            The number of blocks, and of threads of a block, along up to three axes.
        shared_mem
            Bytes of dynamic shared memory, at most 49,152.
        """
        name, parameters = self._name, self._parameters
        if len(args) != len(parameters):
            raise ValueError(f"{name}: takes {len(parameters)} arguments ({self._signature}), got {len(args)}")
        grid = _sizes(name, "grid_dims", grid_dims, _MOST_BLOCKS)
        block = _sizes(name, "block_dims", block_dims, _MOST_THREADS)
        if block[0] * block[1] * block[2] > _MOST_THREADS[0]:
            raise ValueError(f"{name}: a block has at most {_MOST_THREADS[0]} threads, got {tuple(block)}")
        if not 0 <= shared_mem <= _MOST_SHARED:
            raise ValueError(f"{name}: shared_mem must be from 0 to {_MOST_SHARED} bytes, got {shared_mem}")
        pairs = list(zip(parameters, args, strict=True))
        arrays = [(p, self._input(p, value, ctx)) for p, value in pairs if p.is_array]
        # Written arrays come first.
        order = sorted(range(len(arrays)), key=lambda n: not arrays[n][0].is_written)
        inputs = [arrays[n][1] for n in order]
        places = {n: place for place, n in enumerate(order)}
        nexts = iter(range(len(arrays)))
        words: list[int] = []
        for parameter, value in pairs:
            words += [0, places[next(nexts)]] if parameter.is_array else self._scalar(parameter, value)
        written = sum(parameter.is_written for parameter in parameters)
        made = _forerun.routine(
            "user_kernel" if written == 1 else "user_kernel_packed",
            inputs,
            kernel=self._number(ctx),
            parameters=words,
            grid=grid,
            block=block,
            shared=int(shared_mem),
            written=written,
        )
        if written == 1:
            inputs[0][...] = made
            return
        offset = 0
        for array in inputs[:written]:
            array[...] = _forerun.routine("user_kernel_output", [made, array], offset=offset)
            # As `packed_offsets` of the engine's catalogue places them.
            offset += -(-array.size * array.dtype.itemsize // 256) * 256


class CudaModule:
    """A source in CUDA C, compiled for a GPU.

    Parameters
    ----------
    source
        The text. Kernels are declared ``extern "C" __global__ void``.
    options
        Options of NVRTC, for example ``("-I/usr/local/cuda/include",)``. The source is compiled as C++17
        unless they differ.
    exports
        For compatibility with MXNet; must be empty, because kernels are found by their names in C.
    ctx
        The GPU that the source is compiled for at once; the first one by default. Kernels compile for others at their
        first launch there.

    Raises
    ------
    RuntimeError
        If the source does not compile, with the compiler's log, or if there is no NVIDIA GPU.

    Examples
    --------
    >>> from forerun import rtc
    >>> try:
    ...     rtc.CudaModule("no kernel")
    ... except RuntimeError:
    ...     print("the source does not compile, or there is no GPU")
    the source does not compile, or there is no GPU
    """

    def __init__(
        self, source: str, options: Sequence[str] = (), exports: Sequence[str] = (), ctx: Device | None = None
    ) -> None:
        if isinstance(options, str):
            raise TypeError(f"CudaModule: options must be a sequence of strings, got {options!r}")
        if exports:
            raise ValueError('CudaModule: exports must be empty; declare kernels extern "C" __global__ void')
        if "\0" in source:
            raise ValueError("CudaModule: the source contains a zero byte")
        self._source = source
        self._options = tuple(options)
        self._device = Device("gpu", 0) if ctx is None else ctx
        _forerun.user_kernel(source, list(self._options), "", self._device)

    def get_kernel(self, name: str, signature: str) -> CudaKernel:
        """Return a kernel of the source.

        Parameters
        ----------
        name
            The name of the function.
        signature
            The parameters as in the source: ``"const float *x, float *y, int n"``. A pointer without ``const`` is
            an array that the kernel writes. A signature that differs from the source is an error.

        Returns
        -------
        CudaKernel
            The kernel, compiled.
        """
        kernel = CudaKernel(self, name, signature)
        kernel._number(self._device)
        return kernel


# Type checkers must report missing names.
if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
