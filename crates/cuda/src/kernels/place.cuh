// Flat positions from index arrays, and writes to rows at such positions.
//
// A hash table tells which of several equal positions is the last: a slot holds the one-based number of the last
// position in it, and all positions in one slot are equal.
DEV u64 slot_of(i64 position, u64 mask) {
    const u64 mixed = (u64)position * 0x9e3779b97f4a7c15ull;
    return (mixed ^ mixed >> 32) & mask;
}

DEV u64 last_of(const i64* positions, const u64* table, u64 mask, i64 position) {
    for (u64 slot = slot_of(position, mask);; slot = (slot + 1) & mask) {
        const u64 last = table[slot];
        if (last == 0 || positions[last - 1] == position) return last;
    }
}

#if PART == 0
// Words: positions, out, status, first position; then, per axis: indices, whether they are 32-bit, extent, stride,
// walk.
#define AXIS (4 + WALK)
struct Q { u64 w[4 + AXES * AXIS]; };

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ Q p) {
    EACH(i, p.w[0]) {
        u64 sum = p.w[3];
        for (int k = 0; k < AXES; ++k) {
            const u64* axis = p.w + 4 + k * AXIS;
            const i64 from = walk(axis + 4, i), extent = (i64)axis[2];
            i64 index = axis[1] ? (i64)((const int*)axis[0])[from] : ((const i64*)axis[0])[from];
            if (index >= extent || index < -extent) {
                raise((u64*)p.w[2], (u64)k << 48 | i, index);
                // Continue with a valid position, so that this index is the only reason for a failure.
                index = 0;
            }
            sum += (u64)(index < 0 ? index + extent : index) * axis[3];
        }
        ((i64*)p.w[1])[i] = (i64)sum;
    }
}
#elif PART == 1
// Words: number of positions, positions, table or 0, slots minus one, status, whether to validate, the least and the
// largest valid position, address of the flag for an invalid one.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64* const positions = (const i64*)p.w[1];
    EACH(i, p.w[0]) {
        const i64 position = positions[i];
        if (p.w[5] && (position < (i64)p.w[6] || position > (i64)p.w[7])) {
            raise((u64*)p.w[4], i, position);
            *(volatile u64*)p.w[8] = 1;
            continue;
        }
        if (p.w[2] == 0) continue;
        for (u64 slot = slot_of(position, p.w[3]);; slot = (slot + 1) & p.w[3]) {
            u64* const to = (u64*)p.w[2] + slot;
            u64 seen = *(volatile u64*)to;
            if (seen == 0) seen = atomicCAS(to, 0ull, i + 1);
            if (seen == 0) break;
            if (positions[seen - 1] == position) {
                if (seen < i + 1) atomicMax(to, i + 1);
                break;
            }
        }
    }
}
#elif PART == 2
// Words: number of positions, positions, table, slots minus one, out.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64* const positions = (const i64*)p.w[1];
    EACH(i, p.w[0]) {
        ((u8*)p.w[4])[i] = last_of(positions, (const u64*)p.w[2], p.w[3], positions[i]) == i + 1;
    }
}
#else
// Words: elements, positions, table or 0, slots minus one, out, values, whether one value is written everywhere,
// elements per row, address of the flag for an invalid position; then the walk over a row.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    if (*(const u64*)p.w[8]) return;
    const i64* const positions = (const i64*)p.w[1];
    EACH(at, p.w[0]) {
        const u64 i = at / p.w[7];
        const i64 position = positions[i];
        if (p.w[2] && last_of(positions, (const u64*)p.w[2], p.w[3], position) != i + 1) continue;
        ((T*)p.w[4])[position + walk(p.w + 9, at % p.w[7])] = ((const T*)p.w[5])[p.w[6] ? 0 : at];
    }
}
#endif
