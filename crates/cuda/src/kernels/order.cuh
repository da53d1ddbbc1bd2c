// Stable sorting along an axis by keys. Words: lines, elements per line, elements after the axis, tiles per line,
// elements, descending, out, number of leading elements to write, source keys and indices, destination keys and
// indices, counts, totals, shift of the digit.
DEV u64 place_of(const P& p, u64 line, u64 k, u64 count) { return (line / p.w[2] * count + k) * p.w[2] + line % p.w[2]; }

DEV T element(const P& p, u64 line, u64 k) { return ((const T*)p.w[4])[place_of(p, line, k, p.w[1])]; }

DEV void hand_out(const P& p, u64 line, u64 k, u64 from) {
    if (k >= p.w[7]) return;
    const u64 to = place_of(p, line, k, p.w[7]);
#if SORT
    T x = element(p, line, from);
    // The host decodes the key of NaN as all ones; the sign bit is clear in ascending order.
    if (n_nan(WIDE(x))) {
        union { T x; K bits; } none;
        none.bits = p.w[5] ? (K)~(K)0 : (K)((K)~(K)0 >> 1);
        x = none.x;
    }
    ((T*)p.w[6])[to] = x;
#else
    ((i64*)p.w[6])[to] = (i64)from;
#endif
}

#if SIZE
// One block per line: a sorting network in shared memory.
#define THREADS (SIZE < 64 ? 32 : SIZE > 2048 ? 1024 : SIZE / 2)
extern "C" __global__ void __launch_bounds__(THREADS) run(const __grid_constant__ P p) {
    __shared__ K keys[SIZE];
    __shared__ u16 at[SIZE];
    for (u64 line = blockIdx.x; line < p.w[0]; line += gridDim.x) {
        for (int k = threadIdx.x; k < SIZE; k += THREADS) {
            keys[k] = k < p.w[1] ? joined(element(p, line, k), p.w[5] != 0) : (K)~(K)0;
            at[k] = (u16)k;
        }
        __syncthreads();
        for (int size = 2; size <= SIZE; size *= 2) {
            for (int stride = size / 2; stride > 0; stride /= 2) {
                for (int t = threadIdx.x; t < SIZE / 2; t += THREADS) {
                    const int i = 2 * t - (t & (stride - 1)), j = i + stride;
                    const K a = keys[i], b = keys[j];
                    const u16 m = at[i], n = at[j];
                    if ((a > b || (a == b && m > n)) == ((i & size) == 0)) {
                        keys[i] = b;
                        keys[j] = a;
                        at[i] = n;
                        at[j] = m;
                    }
                }
                __syncthreads();
            }
        }
        for (int k = threadIdx.x; k < p.w[1]; k += THREADS) hand_out(p, line, k, at[k]);
        __syncthreads();
    }
}
#else
// Radix sort from the lowest digit. The first pass reads elements, the last one writes results.
#define TILE 4096
#define ROUNDS (TILE / 256)

DEV K key_of(const P& p, u64 line, u64 k) {
    return p.w[8] ? ((const K*)p.w[8])[line * p.w[1] + k] : joined(element(p, line, k), p.w[5] != 0);
}
DEV int digit_of(const P& p, K key) { return (int)(key >> p.w[14]) & 255; }

#if PART == 0
// Counts each digit in a tile.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    __shared__ u32 counts[256];
    const u64 line = blockIdx.x / p.w[3], tile = blockIdx.x % p.w[3], first = tile * TILE;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < TILE && first + k < p.w[1]; k += 256) {
        atomicAdd(&counts[digit_of(p, key_of(p, line, first + k))], 1u);
    }
    __syncthreads();
    ((u32*)p.w[12])[(line * 256 + threadIdx.x) * p.w[3] + tile] = counts[threadIdx.x];
}
#elif PART == 1
// One block per digit and line: prefix sums of the counts over tiles, and the total.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    __shared__ u32 sums[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32* const counts = (u32*)p.w[12] + blockIdx.x * p.w[3];
    u32 before = 0;
    for (u64 first = 0; first < p.w[3]; first += 256) {
        const u64 tile = first + threadIdx.x;
        const u32 own = tile < p.w[3] ? counts[tile] : 0;
        u32 sum = own;
        for (int step = 1; step < 32; step *= 2) {
            const u32 other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        u32 all = 0;
        for (int w = 0; w < 8; ++w) {
            if (w == warp) sum += all;
            all += sums[w];
        }
        if (tile < p.w[3]) counts[tile] = before + sum - own;
        before += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) ((u32*)p.w[13])[blockIdx.x] = before;
}
#else
// Moves the items of a tile. A warp has adjacent items, and counts how many with the same digit precede each.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    __shared__ u32 offsets[8][256];
    __shared__ u32 totals[256];
    const u64 line = blockIdx.x / p.w[3], tile = blockIdx.x % p.w[3], count = p.w[1];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, t = threadIdx.x;
    const u64 first = tile * TILE + warp * (TILE / 8) + lane;
    for (int w = 0; w < 8; ++w) offsets[w][t] = 0;
    const u32 own = ((const u32*)p.w[13])[line * 256 + t];
    totals[t] = own;
    __syncthreads();
    K keys[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const u64 k = first + r * 32;
        if (k < count) {
            keys[r] = key_of(p, line, k);
            atomicAdd(&offsets[warp][digit_of(p, keys[r])], 1u);
        }
    }
    for (int step = 1; step < 256; step *= 2) {
        const u32 other = t >= step ? totals[t - step] : 0;
        __syncthreads();
        totals[t] += other;
        __syncthreads();
    }
    u32 next = totals[t] - own + ((const u32*)p.w[12])[(line * 256 + t) * p.w[3] + tile];
    for (int w = 0; w < 8; ++w) {
        const u32 here = offsets[w][t];
        offsets[w][t] = next;
        next += here;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const u64 k = first + r * 32;
        const bool there = k < count;
        const int digit = there ? digit_of(p, keys[r]) : 256 + lane;
        const u32 same = __match_any_sync(ALL, digit);
        u32 to = 0;
        if (there) to = offsets[warp][digit] + __popc(same & ((1u << lane) - 1));
        __syncwarp();
        if (there && 31 - __clz(same) == lane) offsets[warp][digit] = to + 1;
        __syncwarp();
        if (!there) continue;
        const u32 from = p.w[9] ? ((const u32*)p.w[9])[line * count + k] : (u32)k;
        if (p.w[11]) {
            if (p.w[10]) ((K*)p.w[10])[line * count + to] = keys[r];
            ((u32*)p.w[11])[line * count + to] = from;
        } else {
            hand_out(p, line, to, from);
        }
    }
}
#endif
#endif
