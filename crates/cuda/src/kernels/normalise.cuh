// Softmax, log-softmax and layer norm; rows are folded in 64 lanes and then in halves, as on the host. A row has 64
// threads, a block has four rows. Words: rows, elements per row, array, out, gamma, beta, epsilon as a double.
#define LANES 64

struct Add { static __device__ T start() { return 0; } static __device__ T fold(T a, T b) { return n_add(a, b); } };
struct Most {
    static __device__ T start() { return -(T)__longlong_as_double(0x7ff0000000000000ll); }
    static __device__ T fold(T a, T b) { return n_max(a, b); }
};

template <class F> DEV T fold_lanes(T lane) {
    __shared__ T all[4][LANES];
    const int row = threadIdx.x / LANES, t = threadIdx.x % LANES;
    all[row][t] = lane;
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {
        if (t < half) all[row][t] = F::fold(all[row][t], all[row][t + half]);
        __syncthreads();
    }
    const T folded = all[row][0];
    __syncthreads();
    return folded;
}

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const u64 count = p.w[1], t = threadIdx.x % LANES;
    for (u64 first = (u64)blockIdx.x * 4; first < p.w[0]; first += (u64)gridDim.x * 4) {
        const u64 row = first + threadIdx.x / LANES;
        // Threads of a row beyond the last take part without elements.
        const u64 mine = row < p.w[0] ? count : 0;
        const T* const from = (const T*)p.w[2] + row * count;
        T* const to = (T*)p.w[3] + row * count;
#if KIND == 2
        T sum = Add::start();
        for (u64 i = t; i < mine; i += LANES) sum = Add::fold(sum, from[i]);
        const T mean = n_div(fold_lanes<Add>(sum), (T)count);
        T squares = Add::start();
        for (u64 i = t; i < mine; i += LANES) {
            const T off = n_sub(from[i], mean);
            squares = Add::fold(squares, n_mul(off, off));
        }
        const T variance = n_div(fold_lanes<Add>(squares), (T)count);
        const T by = n_div((T)1, n_sqrt(n_add(variance, (T)scalar<double>(p.w[6]))));
        for (u64 i = t; i < mine; i += LANES) {
            const T scaled = n_mul(n_mul(n_sub(from[i], mean), by), ((const T*)p.w[4])[i]);
            to[i] = n_add(scaled, ((const T*)p.w[5])[i]);
        }
#else
        T lane = Most::start();
        for (u64 i = t; i < mine; i += LANES) lane = Most::fold(lane, from[i]);
        const T most = fold_lanes<Most>(lane);
        T sum = Add::start();
        for (u64 i = t; i < mine; i += LANES) {
            const T made = EXP(n_sub(from[i], most));
#if KIND == 0
            to[i] = made;
#endif
            sum = Add::fold(sum, made);
        }
        sum = fold_lanes<Add>(sum);
#if KIND == 0
        const T by = n_div((T)1, sum);
        for (u64 i = t; i < mine; i += LANES) to[i] = n_mul(to[i], by);
#else
        const T log = LOG(sum);
        for (u64 i = t; i < mine; i += LANES) to[i] = n_sub(n_sub(from[i], most), log);
#endif
#endif
    }
}
