// Random draws by rejection, with the same steps as on the host: each element has its own block of bits, and as many
// further ones as it needs. Words: elements of the result, elements to validate, out, key, first block, status, address
// and length of each parameter, twice; outcomes.
#define PI 3.141592653589793
#define MOST_TRIALS 9e15

struct Source {
    u64 key, block;
    u32 made, words[4];
    int used;
    __device__ u64 bits() {
        if (used == 4) {
            philox(key, block, made, words);
            ++made;
            used = 0;
        }
        const u32 low = used == 0 ? words[0] : words[2], high = used == 0 ? words[1] : words[3];
        used += 2;
        return (u64)high << 32 | low;
    }
    __device__ double uniform() { return (double)(bits() >> 11) * 0x1p-53; }
    __device__ double open() { return (double)((bits() >> 11) + 1) * 0x1p-53; }
};

DEV Source source_of(const P& p, u64 i) { return {p.w[3], p.w[4] + i, 0, {0, 0, 0, 0}, 4}; }

// A parameter has one value for all elements, or one per element. Reports the first invalid value; those of the first
// parameter take precedence.
DEV double parameter(const P& p, int which, u64 i) {
    const double* const values = (const double*)p.w[6 + 2 * which];
    return values[p.w[7 + 2 * which] == 1 ? 0 : i];
}
DEV void complain(const P& p, int which, u64 i, double value) {
    if (p.w[7 + 2 * which] == 1 && i > 0) return;
    raise((u64*)p.w[5], (u64)which << 48 | i, __double_as_longlong(value));
}
DEV bool is_count(double n) { return n >= 0.0 && n <= MOST_TRIALS && n == trunc(n); }
DEV bool is_share(double p) { return p >= 0.0 && p <= 1.0; }

DEV double log_factorial(double k) {
    if (k < 16.0) {
        double product = 1.0;
        for (int i = 2; i <= (int)k; ++i) product *= i;
        return log(product);
    }
    const double x = k + 1.0, square = 1.0 / (x * x);
    return (x - 0.5) * log(x) - x + 0.5 * log(2.0 * PI) + (1.0 / 12.0 - (1.0 / 360.0 - square / 1260.0) * square) / x;
}

DEV double normal(Source& s) {
    const double u = s.open(), v = s.uniform();
    return sqrt(-2.0 * log(u)) * cos(2.0 * PI * v);
}

// The method of Marsaglia and Tsang.
DEV double gamma(Source& s, double alpha) {
    if (alpha == 0.0 || isinf(alpha)) return alpha;
    double small = 1.0;
    const bool below = alpha < 1.0;
    if (below) {
        small = pow(s.open(), 1.0 / alpha);
        alpha += 1.0;
    }
    const double d = alpha - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        const double x = normal(s), t = 1.0 + c * x, v = t * (t * t), u = s.open();
        if (v > 0.0 && log(u) < 0.5 * x * x + d - d * v + d * log(v)) return below ? d * v * small : d * v;
    }
}

// Products of uniform numbers for a small mean, Hörmann's transformed rejection for a large one.
DEV double poisson(Source& s, double lam) {
    if (lam < 10.0) {
        const double least = exp(-lam);
        double product = s.uniform(), count = 0.0;
        while (product > least) {
            product *= s.uniform();
            count += 1.0;
        }
        return count;
    }
    const double b = 0.931 + 2.53 * sqrt(lam), a = -0.059 + 0.02483 * b;
    const double inverse = 1.1239 + 1.1328 / (b - 3.4), most = 0.9277 - 3.6224 / (b - 2.0);
    for (;;) {
        const double u = s.uniform() - 0.5, v = s.open(), us = 0.5 - fabs(u);
        const double k = floor((2.0 * a / us + b) * u + lam + 0.43);
        if (us >= 0.07 && v <= most) return k;
        if (k < 0.0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse) - log(a / (us * us) + b) <= k * log(lam) - lam - log_factorial(k)) return k;
    }
}

// Sequential summation of probabilities for a small mean, Hörmann's transformed rejection for a large one; p is at most
// 1/2.
DEV double few(Source& s, double n, double p) {
    const double q = 1.0 - p;
    if (n * p < 10.0) {
        const double ratio = p / q;
        for (;;) {
            double u = s.uniform(), probability = exp(n * log1p(-p)), count = 0.0;
            while (u > probability && count <= n) {
                u -= probability;
                count += 1.0;
                probability *= (n + 1.0) * ratio / count - ratio;
            }
            if (count <= n) return count;
        }
    }
    const double spread = sqrt(n * p * q), b = 1.15 + 2.53 * spread;
    const double a = -0.0873 + 0.0248 * b + 0.01 * p, most = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread;
    const double mode = floor((n + 1.0) * p), h = log_factorial(mode) + log_factorial(n - mode);
    for (;;) {
        const double u = s.uniform() - 0.5, v = s.open(), us = 0.5 - fabs(u);
        const double k = floor((2.0 * a / us + b) * u + n * p + 0.5);
        if (!(k >= 0.0 && k <= n)) continue;
        if (us >= 0.07 && v <= most) return k;
        const double bound = h - log_factorial(k) - log_factorial(n - k) + (k - mode) * log(p / q);
        if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
    }
}
DEV double binomial(Source& s, double n, double p) { return p > 0.5 ? n - few(s, n, 1.0 - p) : few(s, n, p); }

extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ P p) {
    EACH(i, p.w[1]) {
#if KIND == 4
        // A line of outcomes: each is a binomial draw from the remaining trials.
        const u64 outcomes = p.w[10], start = i * outcomes;
        const bool row = p.w[9] == outcomes, there = start < p.w[0];
        const double* const shares = (const double*)p.w[8] + (row ? 0 : start);
        bool good = true;
        for (u64 k = 0; k < (p.w[7] == 1 ? 1 : there ? outcomes : 0); ++k) {
            const double n = parameter(p, 0, start + k);
            if (is_count(n)) continue;
            complain(p, 0, start + k, n);
            good = false;
        }
        double sum = 0.0;
        for (u64 k = 0; k < (row || there ? outcomes : 0); ++k) {
            if (!is_share(shares[k])) {
                if (!row || i == 0) complain(p, 1, start + k, shares[k]);
                good = false;
            }
            // The last probability is ignored, because the last outcome gets the remaining trials.
            if (k + 1 < outcomes) sum += shares[k];
        }
        if (!(sum <= 1.0 + 1e-6)) {
            if (!row || i == 0) raise((u64*)p.w[5], 2ull << 48 | start, 0);
            good = false;
        }
        if (!there) continue;
        double left = good ? parameter(p, 0, start) : 0.0, rest = 1.0;
        for (u64 k = 0; k < outcomes; ++k) {
            Source s = source_of(p, start + k);
            const double share = k + 1 == outcomes || shares[k] >= rest ? 1.0 : shares[k] / rest;
            const double count = left > 0.0 ? binomial(s, left, share) : 0.0;
            left -= count;
            rest -= shares[k];
            ((i64*)p.w[2])[start + k] = (i64)count;
        }
#else
        Source s = source_of(p, i);
#if KIND == 0
        ((i64*)p.w[2])[i] = (i64)s.bits();
#else
        const double a = parameter(p, 0, i);
#if KIND == 1
        const bool good = a >= 0.0;
#elif KIND == 2
        const bool good = a >= 0.0 && a <= 9.2e18;
#else
        const bool count = is_count(a);
        const double b = parameter(p, 1, i);
        const bool good = count && is_share(b);
        if (!is_share(b)) complain(p, 1, i, b);
        if (!count) complain(p, 0, i, a);
#endif
#if KIND != 3
        if (!good) complain(p, 0, i, a);
#endif
        if (i >= p.w[0]) continue;
#if KIND == 1
        ((double*)p.w[2])[i] = good ? gamma(s, a) : 0.0;
#elif KIND == 2
        ((i64*)p.w[2])[i] = good ? (i64)poisson(s, a) : 0;
#else
        ((i64*)p.w[2])[i] = good ? (i64)binomial(s, a, b) : 0;
#endif
#endif
#endif
    }
}
