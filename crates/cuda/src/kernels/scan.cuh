// Cumulative ops along an axis, in the same runs as on the host: each run is folded separately, and the total of
// earlier runs is folded with each of its results. Words: units, elements, out, elements per line, elements after the
// axis, elements per run, runs per line, totals of the runs, totals before each run, factors.
#if KIND == 2
struct A { T value; i64 at; };
DEV A lift(const T* from, u64 at, u64 k) { return {from[at], (i64)k}; }
// The later one of equal elements, and of several NaN.
DEV A fold(A a, A b) {
    const C x = WIDE(b.value), best = WIDE(a.value);
    return n_nan(x) || x == best || (LARGEST ? x > best : x < best) ? b : a;
}
typedef i64 R;
DEV R result(A a) { return a.at; }
#else
typedef T A;
DEV A lift(const T* from, u64 at, u64) { return from[at]; }
DEV A fold(A a, A b) {
#if KIND == 0
    return NARROW(n_add(WIDE(a), WIDE(b)));
#else
    return NARROW(n_mul(WIDE(a), WIDE(b)));
#endif
}
typedef T R;
DEV R result(A a) { return a; }
#endif

#if LINEAR
DEV T linear(T x, T factor, T before) {
    const T product = NARROW(n_mul(WIDE(factor), WIDE(before)));
    return NARROW(n_add(WIDE(x), WIDE(product)));
}
#endif

#if PART == 0 || PART == 2
extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    const T* const __restrict__ from = (const T*)p.w[1];
    const u64 count = p.w[3], inner = p.w[4], run = p.w[5], runs = p.w[6];
    EACH(unit, p.w[0]) {
        const u64 i = unit % inner, r = unit / inner % runs, outer = unit / inner / runs;
        const u64 first = r * run, last = count < first + run ? count : first + run;
        const u64 line = outer * count * inner + i;
        A all = lift(from, line + first * inner, first);
#if PART == 0
#pragma unroll 8
        for (u64 k = first + 1; k < last; ++k) all = fold(all, lift(from, line + k * inner, k));
        ((A*)p.w[7])[unit] = all;
#else
        R* const __restrict__ out = (R*)p.w[2];
        const bool cut = r > 0;
        const A before = cut ? ((const A*)p.w[8])[unit] : all;
        out[line + first * inner] = result(cut ? fold(before, all) : all);
#pragma unroll 8
        for (u64 k = first + 1; k < last; ++k) {
            all = fold(all, lift(from, line + k * inner, k));
            out[line + k * inner] = result(cut ? fold(before, all) : all);
        }
#endif
    }
}
#elif PART == 1
// The totals before each run. A unit is a line.
extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    const A* const __restrict__ folds = (const A*)p.w[7];
    A* const __restrict__ before = (A*)p.w[8];
    const u64 inner = p.w[4], runs = p.w[6];
    EACH(unit, p.w[0]) {
        const u64 first = unit / inner * runs * inner + unit % inner;
        A all = folds[first];
#pragma unroll 16
        for (u64 r = 1; r < runs; ++r) {
            before[first + r * inner] = all;
            all = fold(all, folds[first + r * inner]);
        }
    }
}
#elif PART == 3
// One thread per line, sequentially.
extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    const T* const __restrict__ from = (const T*)p.w[1];
    const T* const __restrict__ factors = (const T*)p.w[9];
    T* const __restrict__ out = (T*)p.w[2];
    const u64 count = p.w[3], inner = p.w[4];
    EACH(line, p.w[0]) {
        const u64 start = line / inner * count * inner + line % inner;
        T so_far = from[start];
        out[start] = so_far;
#pragma unroll 8
        for (u64 k = 1; k < count; ++k) {
            so_far = linear(from[start + k * inner], factors[start + k * inner], so_far);
            out[start + k * inner] = so_far;
        }
    }
}
#else
// One block per line, computed sequentially by one thread, because a split would change the rounding. The other threads
// move the data.
#define TILE 1024
extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    __shared__ T near[TILE];
#if LINEAR
    __shared__ T factor[TILE];
#endif
    const T* const from = (const T*)p.w[1];
    T* const out = (T*)p.w[2];
    const u64 count = p.w[3], inner = p.w[4];
    for (u64 line = blockIdx.x; line < p.w[0]; line += gridDim.x) {
        const u64 start = line / inner * count * inner + line % inner;
        T so_far = T();
        for (u64 first = 0; first < count; first += TILE) {
            const int here = (int)(count - first < TILE ? count - first : TILE);
            for (int k = threadIdx.x; k < here; k += 128) {
                near[k] = from[start + (first + k) * inner];
#if LINEAR
                factor[k] = ((const T*)p.w[9])[start + (first + k) * inner];
#endif
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                int k = 0;
                if (first == 0) {
                    so_far = near[0];
                    k = 1;
                }
#pragma unroll 8
                for (; k < here; ++k) {
#if LINEAR
                    so_far = linear(near[k], factor[k], so_far);
#else
                    so_far = fold(so_far, near[k]);
#endif
                    near[k] = so_far;
                }
            }
            __syncthreads();
            for (int k = threadIdx.x; k < here; k += 128) out[start + (first + k) * inner] = near[k];
            __syncthreads();
        }
    }
}
#endif
