// Binary search in sorted arrays.
#if PART == 0
// Words: length minus one, array, flag that it does not increase, followed by the flag that it does not decrease.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const T* const numbers = (const T*)p.w[1];
    EACH(i, p.w[0]) {
        const T a = numbers[i], b = numbers[i + 1];
        if (joined(a, false) > joined(b, false)) ((volatile u64*)p.w[2])[0] = 1;
        if (joined(a, true) > joined(b, true)) ((volatile u64*)p.w[2])[1] = 1;
    }
}
#else
// Words: values, sorted array, its flags or 0, its length, values, out, whether equal elements go before, status.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const T* const numbers = (const T*)p.w[1];
    bool right = p.w[6] != 0, descending = false;
    if (p.w[2]) {
        // Decreasing edges are searched from the end, and a value on an edge belongs to the other side.
        descending = ((const u64*)p.w[2])[0] != 0;
        right ^= !descending;
        if (descending && ((const u64*)p.w[2])[1]) {
            if (blockIdx.x == 0 && threadIdx.x == 0) raise((u64*)p.w[7], 0, 0);
            return;
        }
    }
    EACH(i, p.w[0]) {
        const K x = joined(((const T*)p.w[4])[i], descending);
        u64 low = 0, high = p.w[3];
        while (low < high) {
            const u64 middle = (low + high) / 2;
            const K s = joined(numbers[middle], descending);
            if (s < x || (right && s == x)) low = middle + 1;
            else high = middle;
        }
        ((i64*)p.w[5])[i] = (i64)low;
    }
}
#endif
