// Selection by a mask, with a list of its true positions.
#if LISTING
// Words after those of flags: mask, capacity of the list, list.
DEV bool flag(const P& p, u64 i) { return ((const u8*)p.w[5])[i] != 0; }
DEV void hand_out(const P& p, u64 i, u64 rank, bool set) {
    if (set && rank < p.w[6]) ((u64*)p.w[7])[rank] = i;
}
#elif PART == 0
// Words: positions, list, number of list entries, out, rank, extents.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const u64 there = *(const u64*)p.w[2];
    EACH(n, p.w[0]) {
        u64 left = n < there ? ((const u64*)p.w[1])[n] : 0;
        for (int d = (int)p.w[4] - 1; d >= 0; --d) {
            ((i64*)p.w[3])[d * p.w[0] + n] = (i64)(left % p.w[5 + d]);
            left /= p.w[5 + d];
        }
    }
}
#else
// Words: elements, list, number of list entries, out, array or values, positions, elements of the mask, elements after
// it.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const u64 there = *(const u64*)p.w[2], count = p.w[5], inner = p.w[7];
    EACH(at, p.w[0]) {
        const u64 i = at % inner, row = at / inner, n = row % count, outer = row / count;
        if (n >= there) continue;
        const u64 far = (outer * p.w[6] + ((const u64*)p.w[1])[n]) * inner + i;
#if PART == 1
        ((T*)p.w[3])[at] = ((const T*)p.w[4])[far];
#else
        ((T*)p.w[3])[far] = ((const T*)p.w[4])[at];
#endif
    }
}
#endif
