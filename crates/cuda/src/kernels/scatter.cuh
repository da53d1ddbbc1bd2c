// Adds rows to the rows that indices select, in the order of the indices. Each warp owns some of the positions and 32
// columns, and reads all indices, so no two threads add to one element. An invalid index adds nothing. Words: units,
// updates, indices, out, status, number of indices, extent of the axis, elements per row, number of position parts
// minus one (a power of two minus one), column tiles; then the walk over the indices.
struct P { u64 w[10 + WALK]; };

extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    const u64 unit = (u64)blockIdx.x * 4 + threadIdx.x / 32;
    if (unit >= p.w[0]) return;
    const i64 count = (i64)p.w[5], extent = (i64)p.w[6], row = (i64)p.w[7], mask = (i64)p.w[8];
    const int lane = threadIdx.x % 32;
    const i64 part = (i64)unit & mask;
    const u64 rest = unit / (u64)(mask + 1);
    const i64 column = (i64)(rest % p.w[9]) * 32 + lane, outer = (i64)(rest / p.w[9]);
    for (i64 first = 0; first < count; first += 32) {
        i64 at = -1;
        if (first + lane < count) {
            const i64 index = (i64)((const N*)p.w[2])[walk(p.w + 10, first + lane)];
            at = position(index, extent);
            if (at < 0 && unit == 0) raise((u64*)p.w[4], first + lane, index);
        }
        u32 mine = __ballot_sync(0xffffffffu, at >= 0 && (at & mask) == part);
        while (mine) {
            const int source = __ffs(mine) - 1;
            mine &= mine - 1;
            const i64 place = __shfl_sync(0xffffffffu, at, source);
            if (column < row) {
                T* to = (T*)p.w[3] + (outer * extent + place) * row + column;
                const T update = ((const T*)p.w[1])[(outer * count + first + source) * row + column];
                *to = NARROW(n_add(WIDE(*to), WIDE(update)));
            }
        }
    }
}
