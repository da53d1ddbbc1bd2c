// Linear algebra on stacks of matrices in row-major order: elimination with partial pivoting, and Cholesky factors. A
// large matrix takes two launches per step; a small one is handled by a single block. Words: number of matrices, rows,
// columns of the right-hand side, matrices, right-hand sides, step, status, failures (one byte per matrix), parity of
// row exchanges (one byte per matrix), flags, out.
#define N_ROWS ((i64)p.w[1])
#define N_BESIDE ((i64)p.w[2])
#define MATRIX(m) ((T*)p.w[3] + (m) * N_ROWS * N_ROWS)
#define BESIDE(m) ((T*)p.w[4] + (m) * N_ROWS * N_BESIDE)
#define FAILED ((u8*)p.w[7])
#define ODD ((u8*)p.w[8])

DEV void exchange(T* a, T* b) {
    const T other = *a;
    *a = *b;
    *b = other;
}

#if CHOLESKY
// The square root of the pivot, and the column below divided by it. Works on the lower triangle.
DEV void prepare(const P& p, u64 m, i64 k) {
    const i64 n = N_ROWS;
    T* const a = MATRIX(m);
    const T pivot = a[k * n + k], root = sqrt(pivot);
    __syncthreads();
    if (threadIdx.x == 0) {
        if (!(pivot > 0 && root - root == 0)) FAILED[m] = 1;
        a[k * n + k] = root;
    }
    for (i64 i = k + 1 + threadIdx.x; i < n; i += blockDim.x) a[i * n + k] /= root;
    __syncthreads();
}
DEV i64 width(const P& p, i64 k) { return N_ROWS - k - 1; }
DEV void take_away(const P& p, u64 m, i64 k, i64 row, i64 column) {
    const i64 n = N_ROWS, i = k + 1 + row, j = k + 1 + column;
    T* const a = MATRIX(m);
    if (j <= i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
}
DEV i64 height(const P& p, i64 k) { return N_ROWS - k - 1; }
#else
// Moves the pivot row into place and divides it by the pivot; the pivot itself stays.
DEV void prepare(const P& p, u64 m, i64 k) {
    __shared__ T largest[1024];
    __shared__ i64 where[1024];
    const i64 n = N_ROWS, beside = N_BESIDE;
    T* const a = MATRIX(m);
    T* const b = BESIDE(m);
    const int t = threadIdx.x;
    T best = -1;
    i64 at = k;
    for (i64 i = k + t; i < n; i += blockDim.x) {
        const T size = fabs(a[i * n + k]);
        if (size > best) {
            best = size;
            at = i;
        }
    }
    largest[t] = best;
    where[t] = at;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            const bool more = largest[t + half] > largest[t], same = largest[t + half] == largest[t];
            if (more || (same && where[t + half] < where[t])) {
                largest[t] = largest[t + half];
                where[t] = where[t + half];
            }
        }
        __syncthreads();
    }
    const i64 from = where[0];
    const T pivot = a[from * n + k];
    __syncthreads();
    if (t == 0) {
        if (pivot == 0) FAILED[m] = 1;
        if (from != k) {
            ODD[m] ^= 1;
            exchange(a + k * n + k, a + from * n + k);
        }
    }
    const T by = pivot == 0 ? (T)1 : pivot;
    for (i64 j = k + 1 + t; j < n; j += blockDim.x) {
        if (from != k) exchange(a + k * n + j, a + from * n + j);
        a[k * n + j] /= by;
    }
    for (i64 j = t; j < beside; j += blockDim.x) {
        if (from != k) exchange(b + k * beside + j, b + from * beside + j);
        b[k * beside + j] /= by;
    }
    __syncthreads();
}
DEV i64 width(const P& p, i64 k) { return N_ROWS - k - 1 + N_BESIDE; }
// With a right-hand side, eliminate all other rows; otherwise those below.
DEV i64 height(const P& p, i64 k) { return p.w[9] ? N_ROWS - 1 : N_ROWS - k - 1; }
DEV void take_away(const P& p, u64 m, i64 k, i64 row, i64 column) {
    const i64 n = N_ROWS, i = p.w[9] ? row + (row >= k) : k + 1 + row, j = k + 1 + column;
    T* const a = MATRIX(m);
    const T factor = a[i * n + k];
    if (j < n) {
        a[i * n + j] -= factor * a[k * n + j];
    } else {
        T* const b = BESIDE(m);
        b[i * N_BESIDE + j - n] -= factor * b[k * N_BESIDE + j - n];
    }
}
#endif

#if PART == 0
// One block per matrix.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    for (u64 m = blockIdx.x; m < p.w[0]; m += gridDim.x) {
        for (i64 k = 0; k < N_ROWS; ++k) {
            prepare(p, m, k);
            const i64 across = width(p, k), down = height(p, k);
            for (i64 at = threadIdx.x; at < across * down; at += 256) take_away(p, m, k, at / across, at % across);
            __syncthreads();
        }
    }
}
#elif PART == 1
// The pivot of one step, one block per matrix.
extern "C" __global__ void __launch_bounds__(1024) run(const __grid_constant__ P p) {
    for (u64 m = blockIdx.x; m < p.w[0]; m += gridDim.x) prepare(p, m, (i64)p.w[5]);
}
#elif PART == 2
// The rest of one step.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64 k = (i64)p.w[5];
    const u64 across = width(p, k), each = across * height(p, k);
    EACH(at, p.w[0] * each) take_away(p, at / each, k, at % each / across, at % across);
}
#elif PART == 3
// Initial values: the identity as right-hand side, or the triangle of a symmetric matrix that is read.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const u64 n = p.w[1];
    EACH(at, p.w[0] * n * n) {
        const u64 m = at / (n * n), i = at / n % n, j = at % n;
#if CHOLESKY
        ((T*)p.w[3])[at] = ((const T*)p.w[4])[p.w[9] ? m * n * n + j * n + i : at];
#else
        ((T*)p.w[4])[at] = i == j;
#endif
    }
}
#elif PART == 4
// Reports failures, and writes the factor if requested; NaN for a singular matrix if that is allowed.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const u64 n = p.w[1], each = n * p.w[2];
    EACH(at, p.w[0]) {
        if (FAILED[at] && !p.w[5]) raise((u64*)p.w[6], at, CHOLESKY);
    }
#if CHOLESKY
    EACH(at, p.w[0] * n * n) {
        const u64 m = at / (n * n), i = at / n % n, j = at % n;
        const u64 from = p.w[9] ? m * n * n + j * n + i : at;
        ((T*)p.w[10])[at] = (p.w[9] ? i <= j : j <= i) ? ((const T*)p.w[3])[from] : (T)0;
    }
#else
    EACH(at, p.w[0] * each) {
        if (FAILED[at / each]) ((T*)p.w[4])[at] = (T)__longlong_as_double(0x7ff8000000000000ll);
    }
#endif
}
#elif PART == 5
// Determinants, or their signs followed by the logarithms of their absolute values.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64 n = N_ROWS;
    EACH(m, p.w[0]) {
        const T* const a = MATRIX(m);
        T product = 1, sign = ODD[m] ? -1 : 1, sum = 0;
        for (i64 k = 0; k < n; ++k) {
            const T pivot = a[k * n + k];
            product *= pivot;
            if (p.w[5] && pivot == 0) {
                sign = 0;
                sum = log((T)0);
                break;
            }
            sign *= pivot < 0 ? -1 : pivot > 0 ? 1 : pivot;
            sum += log(fabs(pivot));
        }
        ((T*)p.w[10])[m] = p.w[5] ? sign : ODD[m] ? -product : product;
        if (p.w[5]) ((T*)p.w[10])[p.w[0] + m] = sum;
    }
}
#else
// Triangular solve by substitution, 32 columns per block. The matrix is not changed; the right-hand side becomes the
// solution. Flags, as bits: lower, transposed, unit.
extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    const i64 n = N_ROWS, beside = N_BESIDE;
    const u64 tiles = (p.w[2] + 31) / 32;
    const bool lower = p.w[9] & 1, transposed = p.w[9] & 2, unit = p.w[9] & 4, forward = lower != transposed;
    const i64 down = transposed ? 1 : n, right = transposed ? n : 1;
    for (u64 work = blockIdx.x; work < p.w[0] * tiles; work += gridDim.x) {
        const u64 m = work / tiles;
        const T* const a = MATRIX(m);
        const i64 first = (i64)(work % tiles) * 32, count = beside - first < 32 ? beside - first : 32;
        T* const b = BESIDE(m) + first;
        bool zero = false;
        for (i64 i = threadIdx.x; i < n && !unit; i += 256) zero |= a[i * n + i] == 0;
        if (__syncthreads_or(zero)) {
            if (threadIdx.x == 0) raise((u64*)p.w[6], m, 0);
            continue;
        }
        for (i64 step = 0; step < n; ++step) {
            const i64 k = forward ? step : n - 1 - step;
            if (threadIdx.x < count && !unit) b[k * beside + threadIdx.x] /= a[k * n + k];
            __syncthreads();
            for (i64 at = threadIdx.x; at < (n - 1 - step) * 32; at += 256) {
                const i64 i = forward ? k + 1 + at / 32 : at / 32, column = at % 32;
                if (column < count) b[i * beside + column] -= a[i * down + k * right] * b[k * beside + column];
            }
            __syncthreads();
        }
    }
}
#endif
