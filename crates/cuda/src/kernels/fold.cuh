// The fold operation of a reduction, and the reduction's own words, which follow those of the program that feeds it.
#define OUT p.w[OWN]
#define PARTIALS p.w[OWN + 1]
#define OUTER (i64)p.w[OWN + 2]
#define REDUCED (i64)p.w[OWN + 3]
#define INNER (i64)p.w[OWN + 4]
#define BLOCKS (i64)p.w[OWN + 5]
#define CHUNKS (i64)p.w[OWN + 6]
#define STEPS (i64)p.w[OWN + 7]
#define SPAN_LOG (int)p.w[OWN + 8]
#define TILES (i64)p.w[OWN + 9]

#if INDEXED
struct A { E value; i64 at; };
typedef i64 R;
DEV A start() { return A{START, 0x7fffffffffffffffLL}; }
DEV A lift(E value, i64 at) { return A{value, at}; }
DEV bool wins(E n, E o) { return LESS(o, n) | (n_nan(n) & !n_nan(o)); }
DEV A fold(A a, A b) {
    const bool second = wins(b.value, a.value) || (!wins(a.value, b.value) && b.at < a.at);
    return second ? b : a;
}
DEV R result(A a) { return a.at; }
#else
typedef E A;
typedef E R;
DEV A start() { return START; }
DEV A lift(E value, i64) { return value; }
DEV A fold(A a, A b) { return FOLD(a, b); }
DEV R result(A a) { return a; }
#endif

// The partial result of the thread `by` further on, within groups of `width` threads. All threads must call it.
template <class T> DEV T shifted(T v, int by, int width) { return __shfl_down_sync(0xffffffffu, v, by, width); }
DEV bool shifted(bool v, int by, int width) { return __shfl_down_sync(0xffffffffu, (int)v, by, width) != 0; }
#if INDEXED
DEV A from_below(A a, int by, int width) { return A{shifted(a.value, by, width), shifted(a.at, by, width)}; }
#else
DEV A from_below(A a, int by, int width) { return shifted(a, by, width); }
#endif
