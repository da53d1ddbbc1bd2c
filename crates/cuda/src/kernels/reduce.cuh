// A reduction. The order of folds is the host's: rows in blocks of 512 into 64 lanes, columns in blocks of 8, blocks in
// a binary tree by their number, lanes in halves. The assignment of blocks to threads does not affect the bits.
//
// A group of threads folds STEPS adjacent blocks into WIDTH partial results; the groups of a span form a chunk, and
// chunks form a row. All are powers of two of blocks, hence subtrees. The program is inlined wherever a block is
// folded, full or partial, alone or among others: a short program four times, which is faster, a long one once, to
// limit compile time.
#define WIDTH (THREADS * EACH)
#define GROUPS (256 / THREADS)
#define LEVELS 20

// The index, among the WIDTH partial results, of a thread's n-th one.
DEV int lane(int t, int n) { return (n / PACK * THREADS + t) * PACK + n % PACK; }

#if COLUMNS
#define LENGTH 8
DEV void fold_row(const P& p, i64 unit, i64 row, int t, A* acc) {
    const i64 column = unit % TILES * WIDTH, outer = unit / TILES;
#pragma unroll
    for (int j = 0; j < EACH / PACK; ++j) {
        const i64 c = column + lane(t, j * PACK);
        if (c < INNER) {
            E r[PACK];
            // The row length is a multiple of the vector width, so there are no partial vectors.
            eval(p, (I)((outer * REDUCED + row) * INNER + c), PACK, r);
#pragma unroll
            for (int e = 0; e < PACK; ++e) acc[j * PACK + e] = fold(acc[j * PACK + e], lift(r[e], row));
        }
    }
}

DEV void fold_block(const P& p, i64 unit, i64 block, int t, A* acc) {
#pragma unroll
    for (int n = 0; n < EACH; ++n) acc[n] = start();
    const i64 next = (block + 1) * LENGTH;
#if UNROLL > 1
    if (next <= REDUCED) {
#pragma unroll UNROLL
        for (int k = 0; k < LENGTH; ++k) fold_row(p, unit, block * LENGTH + k, t, acc);
        return;
    }
#endif
#pragma unroll 1
    for (i64 row = block * LENGTH; row < next && row < REDUCED; ++row) fold_row(p, unit, row, t, acc);
}
#else
#define LENGTH 512
DEV void fold_part(const P& p, i64 unit, i64 first, int t, bool whole, A* acc) {
#pragma unroll
    for (int j = 0; j < EACH / PACK; ++j) {
        const i64 i = first + lane(t, j * PACK), left = REDUCED - i;
        if (whole || left > 0) {
            E r[PACK];
            const int count = whole || left >= PACK ? PACK : (int)left;
            eval(p, (I)(unit * REDUCED + i), count, r);
#pragma unroll
            for (int e = 0; e < PACK; ++e)
                if (e < count) acc[j * PACK + e] = fold(acc[j * PACK + e], lift(r[e], i + e));
        }
    }
}

DEV void fold_block(const P& p, i64 unit, i64 block, int t, A* acc) {
#pragma unroll
    for (int n = 0; n < EACH; ++n) acc[n] = start();
    const i64 next = (block + 1) * LENGTH;
#if UNROLL > 1
    if (next <= REDUCED) {
#pragma unroll UNROLL
        for (int k = 0; k < LENGTH / WIDTH; ++k) fold_part(p, unit, block * LENGTH + k * WIDTH, t, true, acc);
        return;
    }
#endif
#pragma unroll 1
    for (i64 first = block * LENGTH; first < next && first < REDUCED; first += WIDTH) fold_part(p, unit, first, t, false, acc);
}
#endif

#if !COLUMNS
// Folds the 64 lanes of a row in the group's first thread: lane i with lane i + 32, then i + 16, and so on.
DEV A fold_group(A* acc) {
#pragma unroll
    for (int half = EACH / 2; half >= PACK; half /= 2)
#pragma unroll
        for (int n = 0; n < half; ++n) acc[n] = fold(acc[n], acc[n + half]);
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2)
#pragma unroll
        for (int n = 0; n < PACK; ++n) acc[n] = fold(acc[n], from_below(acc[n], half, THREADS));
#pragma unroll
    for (int half = PACK / 2; half > 0; half /= 2)
#pragma unroll
        for (int n = 0; n < half; ++n) acc[n] = fold(acc[n], acc[n + half]);
    return acc[0];
}
#endif

extern "C" __global__ void __launch_bounds__(256) run(const __grid_constant__ P p) {
    __shared__ A shared[GROUPS][WIDTH];
    const int group = threadIdx.x / THREADS, t = threadIdx.x % THREADS;
    const int span_log = SPAN_LOG, span = 1 << span_log, member = group & (span - 1);
    const bool alone = span == GROUPS;
    const i64 unit = alone ? blockIdx.x / CHUNKS : (i64)blockIdx.x * (GROUPS >> span_log) + (group >> span_log);
    const i64 chunk = alone ? blockIdx.x % CHUNKS : 0;
    const i64 first = (chunk * span + member) * STEPS;
    const bool live = unit < OUTER * TILES;
    A acc[EACH];
#pragma unroll
    for (int n = 0; n < EACH; ++n) acc[n] = start();
#if UNROLL > 1
    if (STEPS == 1) {
        if (live && first < BLOCKS) fold_block(p, unit, first, t, acc);
    } else
#endif
    if (live) {
        // A binary counter of partial results: step n is folded with step n ^ 1, pairs with pairs, and so on. A single
        // step is its own result.
        A cascade[LEVELS][EACH];
        int done = 0;
        for (i64 block = first; done < STEPS && block < BLOCKS; ++block, ++done) {
            fold_block(p, unit, block, t, acc);
            if (STEPS == 1) break;
            int level = 0;
            for (int m = done; m & 1; m >>= 1, ++level)
#pragma unroll
                for (int n = 0; n < EACH; ++n) acc[n] = fold(cascade[level][n], acc[n]);
#pragma unroll
            for (int n = 0; n < EACH; ++n) cascade[level][n] = acc[n];
        }
        bool lowest = true;
#pragma unroll 1
        for (int m = done, level = 0; m != 0; m >>= 1, ++level)
            if (m & 1) {
#pragma unroll
                for (int n = 0; n < EACH; ++n) acc[n] = lowest ? cascade[level][n] : fold(cascade[level][n], acc[n]);
                lowest = false;
            }
    }
    for (int s = 1; s < span; s *= 2) {
        if ((member & (2 * s - 1)) == s)
#pragma unroll
            for (int n = 0; n < EACH; ++n) shared[group][lane(t, n)] = acc[n];
        __syncthreads();
        if ((member & (2 * s - 1)) == 0 && first + s * STEPS < BLOCKS)
#pragma unroll
            for (int n = 0; n < EACH; ++n) acc[n] = fold(acc[n], shared[group + s][lane(t, n)]);
    }
#if COLUMNS
    if (live && member == 0)
#pragma unroll
        for (int n = 0; n < EACH; ++n) {
            const i64 c = unit % TILES * WIDTH + lane(t, n), outer = unit / TILES;
            if (c < INNER && CHUNKS > 1) ((A*)PARTIALS)[(outer * CHUNKS + chunk) * INNER + c] = acc[n];
            if (c < INNER && CHUNKS == 1) ((R*)OUT)[outer * INNER + c] = result(acc[n]);
        }
#else
    if (CHUNKS > 1) {
        if (member == 0)
#pragma unroll
            for (int n = 0; n < EACH; ++n) ((A*)PARTIALS)[(unit * CHUNKS + chunk) * WIDTH + lane(t, n)] = acc[n];
        return;
    }
    const A all = fold_group(acc);
    if (live && member == 0 && t == 0) ((R*)OUT)[unit] = result(all);
#endif
}
