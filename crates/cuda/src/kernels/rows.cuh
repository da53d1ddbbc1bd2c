// Rows selected by indices. A walk is a rank followed by an extent and a stride per dimension.
#define WALK 17

DEV i64 walk(const u64* w, u64 i) {
    i64 offset = 0;
    for (int d = (int)w[0] - 1; d >= 0; --d) {
        const u64 q = d > 0 ? i / w[1 + 2 * d] : 0;
        offset += (i64)(i - q * w[1 + 2 * d]) * (i64)w[2 + 2 * d];
        i = q;
    }
    return offset;
}

// Records the first invalid index. This is rare, so a lock is sufficient. A status is: flag, index, its position, lock.
static __device__ __noinline__ void raise(u64* status, u64 place, i64 index) {
    volatile u64* seen = status;
    if (status == 0 || (seen[0] && seen[2] <= place)) return;
    u32* lock = (u32*)(status + 3);
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0u, 1u) == 0u) {
            __threadfence();
            if (!seen[0] || place < seen[2]) {
                seen[1] = (u64)index;
                seen[2] = place;
                seen[0] = 1;
            }
            __threadfence();
            atomicExch(lock, 0u);
            done = true;
        }
    }
}

// The position of an index, or -1 if it is invalid.
DEV i64 position(i64 index, i64 extent) {
#if BEYOND == 0
    const i64 at = index < 0 ? index + extent : index;
    return at >= 0 && at < extent ? at : -1;
#elif BEYOND == 1
    return index < 0 ? 0 : index >= extent ? extent - 1 : index;
#elif BEYOND == 2
    const i64 left = index % extent;
    return left < 0 ? left + extent : left;
#else
    return index >= 0 && index < extent ? index : -1;
#endif
}
