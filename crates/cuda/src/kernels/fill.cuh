// Values computed from parameters. Words: elements, out, two scalars, rows, columns, whether the output is aligned to
// vectors.
struct P { u64 w[7]; };

DEV float uniform(u32 word) { return (float)(int)(word >> 8) * 0x1p-24f; }
DEV float open_uniform(u32 word) { return ((float)(int)(word >> 8) + 1.0f) * 0x1p-24f; }
DEV double bits53(u32 low, u32 high) { return (double)(i64)((((u64)high << 32) | low) >> 11); }
DEV double uniform(u32 low, u32 high) { return bits53(low, high) * 0x1p-53; }
DEV double open_uniform(u32 low, u32 high) { return (bits53(low, high) + 1.0) * 0x1p-53; }

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const u64 n = p.w[0], step = (u64)gridDim.x * 256;
    T* const out = (T*)p.w[1];
    for (u64 pack = (u64)blockIdx.x * 256 + threadIdx.x; pack * PACK < n; pack += step) {
        const u64 at = pack * PACK;
        T made[PACK];
        make(p, pack, at, made);
        if (p.w[6] && n - at >= PACK) {
            store<PACK>(out + at, PACK, made);
        } else {
#pragma unroll
            for (int e = 0; e < PACK; ++e) if (at + e < n) out[at + e] = made[e];
        }
    }
}
