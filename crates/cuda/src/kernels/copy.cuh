// Copies elements between layouts, with an optional cast. Words: n, source (or the bits of a number), target; then, per
// dimension: extent, divisor, stride in the source, stride in the target.
struct P { u64 w[3 + 4 * RANK]; };

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const I n = (I)p.w[0], step = (I)gridDim.x * (256 * PACK);
    for (I at = ((I)blockIdx.x * 256 + threadIdx.x) * PACK; at < n; at += step) {
        I left = at;
        O from = 0, to = 0;
#pragma unroll
        for (int d = RANK - 1; d >= 0; --d) {
            const I q = d > 0 ? QUOTIENT(left, p.w[4 + 4 * d]) : 0;
            const O x = (O)(left - q * (I)p.w[3 + 4 * d]);
            from += x * (O)p.w[5 + 4 * d];
            to += x * (O)p.w[6 + 4 * d];
            left = q;
        }
        T made[PACK];
#if FROM_SCALAR
        (void)from;
#pragma unroll
        for (int e = 0; e < PACK; ++e) made[e] = scalar<T>(p.w[1]);
#else
        F read[PACK];
        load<PACK>((const F*)p.w[1] + from, PACK, read);
#pragma unroll
        for (int e = 0; e < PACK; ++e) made[e] = CAST(read[e]);
#endif
        store<PACK>((T*)p.w[2] + to, PACK, made);
    }
}
