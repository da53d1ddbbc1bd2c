// The second phase of a reduction: folds up to FAN chunks of a row or column into one; the last fold is the result.
// Words: out, partial results, destination of folded ones, rows, columns, chunks, remaining chunks.
struct P { u64 w[7]; };

// Folds up to N partial results, `stride` apart, of which `count` exist.
template <int N> DEV A tree(const A* from, i64 stride, i64 count) {
    if constexpr (N == 1) {
        return *from;
    } else {
        if (N <= 32 && count >= N) {
            A all[N];
#pragma unroll
            for (int n = 0; n < N; ++n) all[n] = from[n * stride];
#pragma unroll
            for (int half = 1; half < N; half *= 2)
#pragma unroll
                for (int n = 0; n < N; n += 2 * half) all[n] = fold(all[n], all[n + half]);
            return all[0];
        }
        A left = tree<N / 2>(from, stride, count);
        return count > N / 2 ? fold(left, tree<N / 2>(from + N / 2 * stride, stride, count - N / 2)) : left;
    }
}

#if COLUMNS
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64 columns = (i64)p.w[4], chunks = (i64)p.w[5], left = (i64)p.w[6];
    const i64 at = (i64)blockIdx.x * 256 + threadIdx.x, column = at % columns;
    const i64 outer = at / columns / left, first = at / columns % left * FAN;
    if (outer >= (i64)p.w[3]) return;
    const i64 count = chunks - first < FAN ? chunks - first : FAN;
    const A all = tree<FAN>((const A*)p.w[1] + (outer * chunks + first) * columns + column, columns, count);
    if (left == 1) ((R*)p.w[0])[at] = result(all);
    else ((A*)p.w[2])[at] = all;
}
#else
extern "C" __global__ void __launch_bounds__(1024) run(const __grid_constant__ P p) {
    __shared__ A shared[16][64];
    const i64 chunks = (i64)p.w[5], left = (i64)p.w[6];
    const i64 outer = blockIdx.x / left, first = blockIdx.x % left * FAN;
    const int group = threadIdx.x / 64, t = threadIdx.x % 64;
    const i64 mine = first + group * (FAN / 16), last = chunks < first + FAN ? chunks : first + FAN;
    A acc = start();
    if (mine < last) acc = tree<FAN / 16>((const A*)p.w[1] + (outer * chunks + mine) * 64 + t, 64, last - mine);
    for (int s = 1; s < 16; s *= 2) {
        if ((group & (2 * s - 1)) == s) shared[group][t] = acc;
        __syncthreads();
        if ((group & (2 * s - 1)) == 0 && mine + s * (FAN / 16) < last) acc = fold(acc, shared[group + s][t]);
    }
    if (left > 1) {
        if (group == 0) ((A*)p.w[2])[(i64)blockIdx.x * 64 + t] = acc;
        return;
    }
    if (group == 0) shared[0][t] = acc;
    __syncthreads();
    if (threadIdx.x < 32) {
        acc = fold(shared[0][t], shared[0][t + 32]);
#pragma unroll
        for (int half = 16; half > 0; half /= 2) acc = fold(acc, from_below(acc, half, 32));
        if (t == 0) ((R*)p.w[0])[outer] = result(acc);
    }
}
#endif
