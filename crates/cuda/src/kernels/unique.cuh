// Groups of equal neighbours.
#if GROUPS
// Words after those of flags: rows, elements per row, out, whether NaN equals NaN.
DEV bool flag(const P& p, u64 i) {
    if (i == 0) return false;
    const u64 width = p.w[6];
    const T* const row = (const T*)p.w[5] + i * width;
    for (u64 k = 0; k < width; ++k) {
        const C a = WIDE(row[(i64)k - (i64)width]), b = WIDE(row[k]);
        if (!(a == b || (p.w[8] && n_nan(a) && n_nan(b)))) return true;
    }
    return false;
}
DEV void hand_out(const P& p, u64 i, u64 rank, bool set) { ((i64*)p.w[7])[i] = (i64)rank + set; }
#else
// Words: elements, group numbers, out, groups, status. A group starts where the number increases, always by one, from
// -1.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64* const groups = (const i64*)p.w[1];
    const i64 count = (i64)p.w[3];
    EACH(i, p.w[0]) {
        const i64 group = groups[i], before = i == 0 ? -1 : groups[i - 1];
        const bool next = group != before, good = !next || (group == before + 1 && group < count);
        if (next && good) ((i64*)p.w[2])[group] = (i64)i;
        if (!good || (i + 1 == p.w[0] && group + 1 != count)) raise((u64*)p.w[4], i, group);
    }
}
#endif
