// Prefix counts of flags: counts in chunks, a scan over the chunks, then distribution. Words: flags, counts of the
// chunks followed by the total, chunks, status, the expected total plus one (or 0).
#define CHUNK 2048

#if PART == 0
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    for (u64 chunk = blockIdx.x; chunk < p.w[2]; chunk += gridDim.x) {
        int set = 0;
        for (int round = 0; round < CHUNK / 256; ++round) {
            const u64 i = chunk * CHUNK + round * 256 + threadIdx.x;
            set += __syncthreads_count(i < p.w[0] && flag(p, i));
        }
        if (threadIdx.x == 0) ((u64*)p.w[1])[chunk] = set;
    }
}
#elif PART == 1
extern "C" __global__ void __launch_bounds__(1024) run(const __grid_constant__ P p) {
    __shared__ u64 sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u64* const counts = (u64*)p.w[1];
    u64 before = 0;
    for (u64 first = 0; first < p.w[2]; first += 1024) {
        const u64 chunk = first + threadIdx.x, own = chunk < p.w[2] ? counts[chunk] : 0;
        u64 sum = own;
        for (int step = 1; step < 32; step *= 2) {
            const u64 other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        u64 all = 0;
        for (int w = 0; w < 32; ++w) {
            if (w == warp) sum += all;
            all += sums[w];
        }
        if (chunk < p.w[2]) counts[chunk] = before + sum - own;
        before += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        counts[p.w[2]] = before;
        if (p.w[4] && before + 1 != p.w[4]) raise((u64*)p.w[3], 0, (i64)before);
    }
}
#else
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    __shared__ int sums[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u64 chunk = blockIdx.x; chunk < p.w[2]; chunk += gridDim.x) {
        u64 before = ((const u64*)p.w[1])[chunk];
        for (int round = 0; round < CHUNK / 256; ++round) {
            const u64 i = chunk * CHUNK + round * 256 + threadIdx.x;
            const bool set = i < p.w[0] && flag(p, i);
            const u32 mates = __ballot_sync(ALL, set);
            if (lane == 0) sums[warp] = __popc(mates);
            __syncthreads();
            u64 rank = before + __popc(mates & ((1u << lane) - 1));
            for (int w = 0; w < 8; ++w) {
                if (w < warp) rank += sums[w];
                before += sums[w];
            }
            if (i < p.w[0]) hand_out(p, i, rank, set);
            __syncthreads();
        }
    }
}
#endif
