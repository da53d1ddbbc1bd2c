// Reads and updates elements along an axis by index. An invalid index reads and changes nothing.
#if PART == 0
// Words: elements, array, indices, out, status, extent of the axis, indices of a line, elements after the axis.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64 extent = (i64)p.w[5];
    const u64 count = p.w[6], inner = p.w[7];
    EACH(at, p.w[0]) {
        const i64 index = index_of(((const N*)p.w[2])[at]), place = position(index, extent);
        if (place < 0) raise((u64*)p.w[4], at, index);
        const u64 from = (at / (count * inner) * (u64)extent + (u64)place) * inner + at % inner;
        ((T*)p.w[3])[at] = place < 0 ? T() : ((const T*)p.w[1])[from];
    }
}
#elif PART == 3
// Integers, whose additions may happen in any order. Words: number of updates, then as below.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64 extent = (i64)p.w[5];
    const u64 count = p.w[6], inner = p.w[7];
    EACH(at, p.w[0]) {
        const i64 index = index_of(((const N*)p.w[2])[at]), place = position(index, extent);
        if (place < 0) {
            raise((u64*)p.w[4], at, index);
            continue;
        }
        const u64 to = (at / (count * inner) * (u64)extent + (u64)place) * inner + at % inner;
        atomicAdd((T*)p.w[3] + to, ((const T*)p.w[1])[at]);
    }
}
#else
// Words: units, updates, indices, out, status, extent of the axis, indices per line, elements after the axis, number of
// position parts minus one (a power of two minus one), column tiles.
//
// Each warp owns some of the positions and reads all indices. So no two warps write one element, and updates keep their
// order.
#if ADD
#define WITH(old, update) NARROW(n_add(WIDE(old), WIDE(update)))
#else
#define WITH(old, update) (update)
#endif

extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    const u64 unit = (u64)blockIdx.x * 4 + threadIdx.x / 32;
    if (unit >= p.w[0]) return;
    const T* const updates = (const T*)p.w[1];
    const N* const indices = (const N*)p.w[2];
    T* const out = (T*)p.w[3];
    const i64 extent = (i64)p.w[5], mask = (i64)p.w[8];
    const u64 count = p.w[6], inner = p.w[7], rest = unit / (p.w[8] + 1);
    const i64 part = (i64)unit & mask;
    const int lane = threadIdx.x % 32;
#if PART == 1
    // Lanes are neighbours along the line: lanes with the same position take turns.
    const u64 outer = rest / inner, i = rest % inner;
    for (u64 first = 0; first < count; first += 32) {
        const u64 at = (outer * count + first + lane) * inner + i;
        i64 place = -1;
        if (first + lane < count) {
            const i64 index = index_of(indices[at]);
            place = position(index, extent);
            if (place < 0 && part == 0) raise((u64*)p.w[4], at, index);
        }
        const bool mine = place >= 0 && (place & mask) == part;
        if (__ballot_sync(ALL, mine) == 0) continue;
        const u32 same = __match_any_sync(ALL, mine ? place : -1 - (i64)lane);
        T* const to = out + (outer * (u64)extent + (u64)(mine ? place : 0)) * inner + i;
#if ADD
        const int turn = __popc(same & ((1u << lane) - 1));
        for (int t = 0; __any_sync(ALL, mine && turn >= t); ++t) {
            if (mine && turn == t) *to = WITH(*to, updates[at]);
            __syncwarp();
        }
#else
        if (mine && 31 - __clz(same) == lane) *to = updates[at];
        __syncwarp();
#endif
    }
#else
    // Lanes are adjacent lines.
    const u64 column = rest % p.w[9] * 32 + lane, outer = rest / p.w[9];
    if (column >= inner) return;
    for (u64 k = 0; k < count; ++k) {
        const u64 at = (outer * count + k) * inner + column;
        const i64 index = index_of(indices[at]), place = position(index, extent);
        if (place < 0 && part == 0) raise((u64*)p.w[4], at, index);
        if (place >= 0 && (place & mask) == part) {
            T* const to = out + (outer * (u64)extent + (u64)place) * inner + column;
            *to = WITH(*to, updates[at]);
        }
    }
#endif
}
#endif
