// Words: elements, base, indices, out, status, number of indices, extent of the axis, elements per row, stride of the
// axis; then the walks over the dimensions before the axis, over those after it, and over the indices.
struct P { u64 w[9 + 3 * WALK]; };

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const I n = (I)p.w[0], count = (I)p.w[5], each = (I)p.w[7], step = (I)gridDim.x * (256 * PACK);
    const i64 extent = (i64)p.w[6];
    for (I at = ((I)blockIdx.x * 256 + threadIdx.x) * PACK; at < n; at += step) {
        const I row = at / each, j = at - row * each, outer = row / count, i = row - outer * count;
        const i64 index = (i64)((const N*)p.w[2])[walk(p.w + 9 + 2 * WALK, i)];
        i64 place = position(index, extent);
        if (place < 0) {
            if (j == 0 && outer == 0) raise((u64*)p.w[4], i, index);
            place = index < 0 ? 0 : extent - 1;
        }
        const i64 from = walk(p.w + 9, outer) + place * (i64)p.w[8] + walk(p.w + 9 + WALK, j);
        T row_part[PACK];
        load<PACK>((const T*)p.w[1] + from, PACK, row_part);
        store<PACK>((T*)p.w[3] + at, PACK, row_part);
    }
}
