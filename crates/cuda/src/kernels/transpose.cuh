// A copy whose source is contiguous along rows and whose target is contiguous along columns. It uses tiles in shared
// memory, so that both sides have coalesced accesses. Words: source, target, rows, columns, column stride of the
// source, row stride of the target, tiles along columns, tiles along rows; then, per batch dimension: extent, stride in
// the source, stride in the target.
struct P { u64 w[8 + 3 * STACKED + 1]; };

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    __shared__ T tile[32][33];
    const i64 rows = (i64)p.w[2], columns = (i64)p.w[3];
    u64 left = blockIdx.x;
    const i64 c0 = (i64)(left % p.w[6]) * 32;
    left /= p.w[6];
    const i64 r0 = (i64)(left % p.w[7]) * 32;
    left /= p.w[7];
    i64 from = 0, to = 0;
#pragma unroll
    for (int d = STACKED - 1; d >= 0; --d) {
        const u64 q = left / p.w[8 + 3 * d];
        const i64 x = (i64)(left - q * p.w[8 + 3 * d]);
        from += x * (i64)p.w[9 + 3 * d];
        to += x * (i64)p.w[10 + 3 * d];
        left = q;
    }
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
#pragma unroll
    for (int j = 0; j < 32; j += 8)
        if (r0 + x < rows && c0 + y + j < columns)
            tile[y + j][x] = ((const T*)p.w[0])[from + r0 + x + (c0 + y + j) * (i64)p.w[4]];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 32; j += 8)
        if (r0 + y + j < rows && c0 + x < columns)
            ((T*)p.w[1])[to + (r0 + y + j) * (i64)p.w[5] + c0 + x] = tile[x][y + j];
}
