// A plain batched matrix product: k in order, summed in the carrier. Words: a, b, c, m, n, k, strides of a (row,
// column) and of b, tiles down, tiles across, batch rank; then, per batch dimension: extent, stride in a, stride in b.
struct P { u64 w[13 + 3 * 6]; };

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    __shared__ C left[16][17], right[16][17];
    const i64 m = (i64)p.w[3], n = (i64)p.w[4], k = (i64)p.w[5];
    u64 unit = blockIdx.x;
    const i64 column = (i64)(unit % p.w[11]) * 16 + threadIdx.x % 16;
    unit /= p.w[11];
    const i64 row = (i64)(unit % p.w[10]) * 16 + threadIdx.x / 16;
    unit /= p.w[10];
    const i64 matrix = (i64)unit;
    i64 fa = 0, fb = 0;
    for (int d = (int)p.w[12] - 1; d >= 0; --d) {
        const u64 q = unit / p.w[13 + 3 * d];
        const i64 x = (i64)(unit - q * p.w[13 + 3 * d]);
        fa += x * (i64)p.w[14 + 3 * d];
        fb += x * (i64)p.w[15 + 3 * d];
        unit = q;
    }
    const T* const a = (const T*)p.w[0] + fa;
    const T* const b = (const T*)p.w[1] + fb;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    C sum = C();
    for (i64 first = 0; first < k; first += 16) {
        left[ty][tx] = row < m && first + tx < k ? WIDE(a[row * (i64)p.w[6] + (first + tx) * (i64)p.w[7]]) : C();
        right[ty][tx] = first + ty < k && column < n ? WIDE(b[(first + ty) * (i64)p.w[8] + column * (i64)p.w[9]]) : C();
        __syncthreads();
#pragma unroll
        for (int l = 0; l < 16; ++l)
            if (first + l < k) sum = n_add(sum, n_mul(left[ty][l], right[l][tx]));
        __syncthreads();
    }
    if (row < m && column < n) ((T*)p.w[2])[(matrix * m + row) * n + column] = NARROW(sum);
}
