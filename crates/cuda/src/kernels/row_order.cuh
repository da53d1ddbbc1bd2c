// Sorts the numbers of rows by the rows, stably, with a sorting network over a power of two of them; numbers beyond the
// last row sort last. Words: rows, numbers, elements of the rows, elements per row, out, size and stride of a step.
#define NEAR 1024

DEV bool after(const P& p, u32 a, u32 b) {
    if (a >= p.w[0] || b >= p.w[0]) return a > b;
    const u64 width = p.w[3];
    const T* const x = (const T*)p.w[2] + a * width;
    const T* const y = (const T*)p.w[2] + b * width;
    for (u64 k = 0; k < width; ++k) {
        const K left = joined(x[k], false), right = joined(y[k], false);
        if (left != right) return left > right;
    }
    return a > b;
}

DEV u64 lower(u64 t, u64 stride) { return 2 * t - (t & (stride - 1)); }

#if PART == 0
// All steps within NEAR numbers: of every size up to NEAR if the words give none, otherwise the remaining ones of that
// size.
extern "C" __global__ void __launch_bounds__(NEAR / 2) run(const __grid_constant__ P p) {
    __shared__ u32 near[NEAR];
    const u64 first = (u64)blockIdx.x * NEAR;
    u32* const numbers = (u32*)p.w[1];
    for (int k = threadIdx.x; k < NEAR; k += NEAR / 2) near[k] = p.w[5] ? numbers[first + k] : (u32)(first + k);
    __syncthreads();
    for (u64 size = p.w[5] ? p.w[5] : 2; size <= (p.w[5] ? p.w[5] : NEAR); size *= 2) {
        for (u64 stride = size < NEAR ? size / 2 : NEAR / 2; stride > 0; stride /= 2) {
            const u64 i = lower(threadIdx.x, stride), j = i + stride;
            const bool rising = ((first + i) & size) == 0;
            if (after(p, near[i], near[j]) == rising) {
                const u32 other = near[i];
                near[i] = near[j];
                near[j] = other;
            }
            __syncthreads();
        }
    }
    for (int k = threadIdx.x; k < NEAR; k += NEAR / 2) numbers[first + k] = near[k];
}
#elif PART == 1
// One step across more numbers than that. One thread per pair.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    u32* const numbers = (u32*)p.w[1];
    const u64 i = lower((u64)blockIdx.x * 256 + threadIdx.x, p.w[6]), j = i + p.w[6];
    const u32 a = numbers[i], b = numbers[j];
    if (after(p, a, b) == ((i & p.w[5]) == 0)) {
        numbers[i] = b;
        numbers[j] = a;
    }
}
#else
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    EACH(i, p.w[0]) ((i64*)p.w[4])[i] = ((const u32*)p.w[1])[i];
}
#endif
