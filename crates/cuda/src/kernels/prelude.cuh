// The number traits in CUDA C: each function is a method of the catalogue's traits, with the bits of the reference.
// Compiled without contraction: a fused multiply-add occurs only where a body has one. A paragraph is a part: a source
// begins with the first part, followed by those whose functions it uses. A part uses earlier ones only.
typedef signed char i8;
typedef short i16;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
#define DEV static __device__ __forceinline__
// Half floats are moved and cast; arithmetic uses a carrier.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
// Complex numbers are split into and joined from their parts.
struct alignas(8) c64 { float re, im; };
struct alignas(16) c128 { double re, im; };
struct alignas(16) w16 { u64 low, high; };
#define SINGLE(name) name##f
#define DOUBLE(name) name
#define INTEGERS(OF) OF(bool) OF(i8) OF(i16) OF(int) OF(i64) OF(u8) OF(u16) OF(u32) OF(u64)

#define COMPARE(T) \
    DEV bool n_eq(T a, T b) { return a == b; } \
    DEV bool n_lt(T a, T b) { return a < b; } \
    DEV bool n_le(T a, T b) { return a <= b; } \
    DEV T n_select(bool m, T a, T b) { return m ? a : b; }
COMPARE(bool)
COMPARE(int)
COMPARE(i64)
COMPARE(u64)
COMPARE(float)
COMPARE(double)

#define RING(T, U) \
    DEV T n_add(T a, T b) { return (T)((U)a + (U)b); } \
    DEV T n_sub(T a, T b) { return (T)((U)a - (U)b); } \
    DEV T n_mul(T a, T b) { return (T)((U)a * (U)b); }
RING(int, u32)
RING(i64, u64)
RING(u64, u64)
RING(float, float)
RING(double, double)
DEV bool n_add(bool a, bool b) { return a | b; }
DEV bool n_mul(bool a, bool b) { return a & b; }
DEV c64 n_add(c64 a, c64 b) { return c64{a.re + b.re, a.im + b.im}; }
DEV c128 n_add(c128 a, c128 b) { return c128{a.re + b.re, a.im + b.im}; }

#define FIELD(T, X) \
    DEV T n_div(T a, T b) { return a / b; } \
    DEV T n_muladd(T a, T b, T c) { return X(fma)(a, b, c); } \
    DEV T n_sqrt(T a) { return X(sqrt)(a); } \
    DEV T n_copysign(T a, T b) { return X(copysign)(a, b); }
FIELD(float, SINGLE)
FIELD(double, DOUBLE)

#define INTEGER_ORDER(T) \
    DEV T n_max(T a, T b) { return a > b ? a : b; } \
    DEV T n_min(T a, T b) { return a < b ? a : b; }
INTEGER_ORDER(int)
INTEGER_ORDER(i64)
INTEGER_ORDER(u64)
#define FLOAT_ORDER(T) \
    DEV T n_max(T a, T b) { return a > b || a != a ? a : b; } \
    DEV T n_min(T a, T b) { return a < b || a != a ? a : b; } \
    DEV T n_lesser(T a, T b) { return a < b ? a : b; } \
    DEV T n_greater(T a, T b) { return a > b ? a : b; }
FLOAT_ORDER(float)
FLOAT_ORDER(double)
DEV bool n_max(bool a, bool b) { return a | b; }
DEV bool n_min(bool a, bool b) { return a & b; }

#define INTEGER_SIGN(T, U) \
    DEV T n_neg(T a) { return (T)(0 - (U)a); } \
    DEV T n_abs(T a) { return a < 0 ? n_neg(a) : a; }
INTEGER_SIGN(int, u32)
INTEGER_SIGN(i64, u64)
#define FLOAT_SIGN(T, X) \
    DEV T n_neg(T a) { return -a; } \
    DEV T n_abs(T a) { return X(fabs)(a); }
FLOAT_SIGN(float, SINGLE)
FLOAT_SIGN(double, DOUBLE)
DEV u64 n_neg(u64 a) { return 0 - a; }
DEV u64 n_abs(u64 a) { return a; }
DEV bool n_abs(bool a) { return a; }

#define BITS(T) \
    DEV T n_bitand(T a, T b) { return a & b; } \
    DEV T n_bitor(T a, T b) { return a | b; } \
    DEV T n_bitxor(T a, T b) { return a ^ b; }
BITS(bool)
BITS(int)
BITS(i64)
BITS(u64)
DEV bool n_bitnot(bool a) { return !a; }
DEV int n_bitnot(int a) { return ~a; }
DEV i64 n_bitnot(i64 a) { return ~a; }
DEV u64 n_bitnot(u64 a) { return ~a; }

#define INTEGER_WHOLE(T) \
    DEV T n_floor(T a) { return a; } \
    DEV T n_ceil(T a) { return a; } \
    DEV T n_trunc(T a) { return a; } \
    DEV T n_rint(T a) { return a; }
INTEGER_WHOLE(int)
INTEGER_WHOLE(i64)
INTEGER_WHOLE(u64)
#define FLOAT_WHOLE(T, X) \
    DEV T n_floor(T a) { return X(floor)(a); } \
    DEV T n_ceil(T a) { return X(ceil)(a); } \
    DEV T n_trunc(T a) { return X(trunc)(a); } \
    DEV T n_rint(T a) { return X(rint)(a); }
FLOAT_WHOLE(float, SINGLE)
FLOAT_WHOLE(double, DOUBLE)

DEV bool n_nan(bool) { return false; }
DEV bool n_nan(int) { return false; }
DEV bool n_nan(i64) { return false; }
DEV bool n_nan(u64) { return false; }
DEV bool n_nan(float a) { return a != a; }
DEV bool n_nan(double a) { return a != a; }

#define NEXT(T, X) DEV T n_nextafter(T a, T b) { return a == b ? b : X(nextafter)(a, b); }
NEXT(float, SINGLE)
NEXT(double, DOUBLE)

#define EXPONENT(T, S, U, MANTISSA, BIAS, TWO_THIRDS, AS_BITS, AS_FLOAT, TO_INT) \
    DEV T n_scale(T a, T n) { \
        S e = TO_INT(n), half = e >> 1; \
        return a * AS_FLOAT((S)((U)(half + BIAS) << MANTISSA)) * AS_FLOAT((S)((U)(e - half + BIAS) << MANTISSA)); \
    } \
    DEV S split_exponent(T a) { return (S)((U)AS_BITS(a) - (U)TWO_THIRDS) >> MANTISSA; } \
    DEV T n_mantissa(T a) { return AS_FLOAT((S)((U)AS_BITS(a) - ((U)split_exponent(a) << MANTISSA))); } \
    DEV T n_exponent(T a) { return (T)split_exponent(a); }
EXPONENT(float, int, u32, 23, 127, 0x3f2aaaab, __float_as_int, __int_as_float, __float2int_rz)
EXPONENT(double, i64, u64, 52, 1023, 0x3fe5555555555555LL, __double_as_longlong, __longlong_as_double, __double2ll_rz)

#define INTEGER_DIVISION(T) \
    DEV T n_floordiv(T a, T b) { \
        if (b == 0) return 0; \
        if (b == -1) return n_neg(a); \
        T q = a / b, r = a % b; \
        return r != 0 && (r < 0) != (b < 0) ? q - 1 : q; \
    } \
    DEV T n_remainder(T a, T b) { \
        if (b == 0 || b == -1) return 0; \
        T r = a % b; \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r; \
    } \
    DEV T n_fmod(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; }
INTEGER_DIVISION(int)
INTEGER_DIVISION(i64)
DEV u64 n_floordiv(u64 a, u64 b) { return b == 0 ? 0 : a / b; }
DEV u64 n_remainder(u64 a, u64 b) { return b == 0 ? 0 : a % b; }
DEV u64 n_fmod(u64 a, u64 b) { return b == 0 ? 0 : a % b; }
#define FLOAT_DIVISION(T, X) \
    DEV T n_fmod(T a, T b) { return X(fmod)(a, b); } \
    DEV T n_floordiv(T a, T b) { \
        if (b == 0) return a / b; \
        T r = X(fmod)(a, b), q = (a - r) / b; \
        if (r != 0 && (r < 0) != (b < 0)) q -= 1; \
        if (q == 0) return X(copysign)((T)0, a / b); \
        T f = X(floor)(q); \
        return q - f > (T)0.5 ? f + 1 : f; \
    } \
    DEV T n_remainder(T a, T b) { \
        T r = X(fmod)(a, b); \
        if (r == 0) return X(copysign)((T)0, b); \
        return (r < 0) != (b < 0) ? r + b : r; \
    }
FLOAT_DIVISION(float, SINGLE)
FLOAT_DIVISION(double, DOUBLE)

#define DIVISORS(T, U) \
    DEV U magnitude(T a) { return a < 0 ? 0 - (U)a : (U)a; } \
    DEV T n_gcd(T a, T b) { \
        U x = magnitude(a), y = magnitude(b); \
        while (y != 0) { U r = x % y; x = y; y = r; } \
        return (T)x; \
    } \
    DEV T n_lcm(T a, T b) { \
        U d = (U)n_gcd(a, b); \
        return d == 0 ? 0 : (T)(magnitude(a) / d * magnitude(b)); \
    }
DIVISORS(int, u32)
DIVISORS(i64, u64)
DEV u64 n_gcd(u64 a, u64 b) {
    while (b != 0) { u64 r = a % b; a = b; b = r; }
    return a;
}
DEV u64 n_lcm(u64 a, u64 b) {
    u64 d = n_gcd(a, b);
    return d == 0 ? 0 : a / d * b;
}

#define SHIFTS(T, U) \
    DEV T n_shiftleft(T a, T b) { return b >= 0 && b < (T)(8 * sizeof(T)) ? (T)((U)a << b) : 0; } \
    DEV T n_shiftright(T a, T b) { return a >> (b >= 0 && b < (T)(8 * sizeof(T)) ? b : (T)(8 * sizeof(T) - 1)); }
SHIFTS(int, u32)
SHIFTS(i64, u64)
DEV u64 n_shiftleft(u64 a, u64 b) { return b < 64 ? a << b : 0; }
DEV u64 n_shiftright(u64 a, u64 b) { return b < 64 ? a >> b : 0; }

#define INTEGER_POWER(T) \
    DEV T n_power(T a, T b) { \
        if (b < 0) return a == 1 ? 1 : a == -1 ? 1 - 2 * (b & 1) : 0; \
        T result = 1, base = a; \
        for (T left = b; left != 0; left >>= 1) { \
            if (left & 1) result = n_mul(result, base); \
            base = n_mul(base, base); \
        } \
        return result; \
    }
INTEGER_POWER(int)
INTEGER_POWER(i64)
DEV u64 n_power(u64 a, u64 b) {
    u64 result = 1, base = a;
    for (u64 left = b; left != 0; left >>= 1) {
        if (left & 1) result *= base;
        base *= base;
    }
    return result;
}

// Argument reduction: the quadrant of an angle, and the remainder as an unevaluated sum of two, with the steps of the
// reference.
template <class T> struct Turns { T quadrant, rest, low; };
DEV double modulo_four(double n) { return n - 4.0 * floor(n * 0.25); }

// For doubles. Far angles use the integer product with the bits of 2/pi, in a function that is not inlined.
static __device__ const u64 two_over_pi[20] = {
    0xa2f9836e4e441529ULL, 0xfc2757d1f534ddc0ULL, 0xdb6295993c439041ULL, 0xfe5163abdebbc561ULL, 0xb7246e3a424dd2e0ULL,
    0x06492eea09d1921cULL, 0xfe1deb1cb129a73eULL, 0xe88235f52ebb4484ULL, 0xe99c7026b45f7e41ULL, 0x3991d639835339f4ULL,
    0x9c845f8bbdf9283bULL, 0x1ff897ffde05980fULL, 0xef2f118b5a0a6d1fULL, 0x6d367ecf27cb09b7ULL, 0x4f463f669e5fea2dULL,
    0x7527bac7ebe5f17bULL, 0x3d0739f78a5292eaULL, 0x6bfb5fb11f8d5d08ULL, 0x56033046fc7b6babULL, 0xf0cfbc209af4361dULL};
static __device__ __noinline__ Turns<double> far_turns(double x) {
    const u64 bits = (u64)__double_as_longlong(x);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1075;
    const bool minus = bits >> 63 != 0;
    if (exponent == 0x7ff - 1075) return {0.0, x - x, x - x};
    const u64 mantissa = (bits & ((1ULL << 52) - 1)) | 1ULL << 52;
    const int skip = exponent > 2 ? exponent - 2 : 0, word = skip / 64, shift = skip % 64;
    u64 digits[3];
    for (int i = 0; i < 3; ++i) {
        digits[i] = shift == 0 ? two_over_pi[word + i] : two_over_pi[word + i] << shift | two_over_pi[word + i + 1] >> (64 - shift);
    }
    u64 limbs[4];
    limbs[0] = mantissa * digits[2];
    u64 carry = __umul64hi(mantissa, digits[2]), product = mantissa * digits[1];
    limbs[1] = product + carry;
    carry = __umul64hi(mantissa, digits[1]) + (limbs[1] < product);
    product = mantissa * digits[0];
    limbs[2] = product + carry;
    limbs[3] = __umul64hi(mantissa, digits[0]) + (limbs[2] < product);
    const int down = exponent < 2 ? 2 - exponent : 0;
    if (down > 0) {
        for (int i = 0; i < 3; ++i) limbs[i] = limbs[i] >> down | limbs[i + 1] << (64 - down);
    }
    u64 turned = limbs[2] >> 62;
    u64 rest[3] = {limbs[0] << 2, limbs[1] << 2 | limbs[0] >> 62, limbs[2] << 2 | limbs[1] >> 62};
    const bool below = rest[2] >> 63 != 0;
    if (below) {
        for (int i = 0; i < 3; ++i) rest[i] = ~rest[i];
        if (++rest[0] == 0 && ++rest[1] == 0) ++rest[2];
        turned += 1;
    }
    const int zeros = rest[2] != 0 ? __clzll((i64)rest[2]) : 64 + __clzll((i64)rest[1]);
    const int from = zeros < 64 ? 2 : 1, by = zeros % 64;
    const u64 before = from == 2 ? rest[0] : 0;
    const u64 first = by == 0 ? rest[from] : rest[from] << by | rest[from - 1] >> (64 - by);
    const u64 second = by == 0 ? rest[from - 1] : rest[from - 1] << by | before >> (64 - by);
    const double part = (double)(first >> 11) * __longlong_as_double((i64)(1023 - (zeros + 53)) << 52);
    const double next = (double)((first << 53 | second >> 11) >> 11) * __longlong_as_double((i64)(1023 - (zeros + 106)) << 52);
    const double half_pi = 1.5707963267948966, half_pi_low = 6.123233995736766e-17;
    const double whole = part * half_pi;
    const double lost = fma(part, half_pi, -whole) + (part * half_pi_low + next * half_pi);
    const double high = whole + lost, low = (whole - high) + lost, sign = below != minus ? -1.0 : 1.0;
    return {modulo_four(minus ? -(double)turned : (double)turned), sign * high, sign * low};
}
DEV Turns<double> turns_f64(double x) {
    if (fabs(x) > 1048576.0) return far_turns(x);
    const double n = rint(x * 0.6366197723675814);
    const double a = x - n * 1.5707963267341256, b = n * 6.077100506303966e-11;
    const double s = a - b, t = s - a;
    const double lost = (a - (s - t)) - (b + t) - n * 2.0222662487959506e-21;
    const double high = s + lost;
    return {modulo_four(n), high, (s - high) + lost};
}

// For singles. Far angles use the host's table of 2/pi as bits: sums of three, one row per eight exponents.
static __device__ const i64 single_turns[14][3] = {
    {0x3fe45f3060000000, 0x3e5b939000000000, 0x3d1054a7f09d5f48},
    {0x3f87cc1b70000000, 0x3dd3910400000000, 0x3c94a7f09d5f47d5},
    {0x3f39836e4e000000, 0x3d51054a00000000, 0x3bffc2757d1f534e},
    {0x3e8b727220000000, 0x3cb529f800000000, 0x3b909d5f47d4d377},
    {0x3e2c9c882a000000, 0x3c44fe1000000000, 0x3b1d5f47d4d37703},
    {0x3dac882a52000000, 0x3bef84ea00000000, 0x3a9f47d4d377036e},
    {0x3d1054a7f0000000, 0x3b43abe800000000, 0x39ff534ddc0db629},
    {0x3cb529fc27000000, 0x3ad5f47c00000000, 0x3994d377036d8a56},
    {0x3c23f84eae000000, 0x3a6a3ea600000000, 0x391377036d8a5665},
    {0x3bbc2757d1000000, 0x39eea69b00000000, 0x3897036d8a5664f1},
    {0x3b1d5f47d4000000, 0x394a6ee000000000, 0x37eb6c52b3278872},
    {0x3ab7d1f534000000, 0x38ebb81b00000000, 0x378b14acc9e21c82},
    {0x3a31f534dd000000, 0x38681b6c00000000, 0x3704acc9e21c8210},
    {0x39b534ddc0000000, 0x37eb6c5200000000, 0x369664f10e4107f9}};
static __device__ __noinline__ Turns<float> distant_turns(float x) {
    const double wide = x;
    double n = rint(wide * 0.6366197723675814), rest = (wide - n * 1.5707963267341256) - n * 6.077100506506192e-11;
    if (fabsf(x) > 1048576.0f) {
        const i64* row = single_turns[(((u32)__float_as_int(x) >> 23 & 0xff) - 147) / 8];
        const double first = __longlong_as_double(row[0]), second = __longlong_as_double(row[1]);
        const double sum = modulo_four(wide * first) + wide * second, small = wide * __longlong_as_double(row[2]);
        n = rint(sum + small);
        rest = ((sum - n) + small) * 1.5707963267948966;
        // Infinity has quadrant 0, and NaN as remainder.
        if (n != n) n = 0.0;
    }
    const float high = (float)rest;
    return {(float)modulo_four(n), high, (float)(rest - (double)high)};
}
// Near angles stay in single precision.
DEV Turns<float> turns_f32(float x) {
    if (fabsf(x) > 32768.0f) return distant_turns(x);
    const float second = __int_as_float(0xb33bbd2e), third = __int_as_float(0xa6f72ced);
    const float n = rintf(x * __int_as_float(0x3f22f983));
    const float a = fmaf(-n, __int_as_float(0x3fc90fdb), x), b = n * second;
    const float s = a - b, t = s - a;
    const float lost = (a - (s - t)) - (b + t) - fmaf(n, second, -b) - n * third;
    const float high = s + lost;
    return {n - 4.0f * floorf(n * 0.25f), high, (s - high) + lost};
}

// Half floats from singles, rounded to nearest even as on the host, and back.
DEV f16 f16_of(float value) {
    const u32 bits = (u32)__float_as_int(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    const u32 normal = (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13;
    const u32 small = (u32)__float_as_int(__int_as_float((int)size) + 0.5f) - 0x3f000000u;
    const u32 finite = size < 0x38800000u ? small : normal < 0x7c00u ? normal : 0x7c00u;
    return f16{(u16)(sign | (size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ffu) : finite))};
}
DEV bf16 bf16_of(float value) {
    const u32 bits = (u32)__float_as_int(value), near = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return bf16{(u16)(value != value ? bits >> 16 | 0x40u : near)};
}
DEV float wide_of(f16 value) {
    const u32 sign = (value.bits & 0x8000u) << 16, size = (value.bits & 0x7fffu) << 13;
    const u32 small = (u32)__float_as_int(__int_as_float((int)(size + 0x38800000u)) - __int_as_float(0x38800000));
    const u32 large = size + (size < 0x0f800000u ? 0x38000000u : 0x70000000u);
    return __int_as_float((int)(sign | (size < 0x00800000u ? small : large)));
}
DEV float wide_of(bf16 value) { return __int_as_float((int)((u32)value.bits << 16)); }
// Rounds a double to odd: a single whose last bit is set if the conversion is inexact, so that it can be rounded once
// more.
DEV float to_odd(double value) {
    const float near = (float)value;
    const int bits = __float_as_int(near);
    if ((double)near == value || (bits & 1) || value != value) return near;
    return __int_as_float(fabs((double)near) > fabs(value) ? bits - 1 : bits + 1);
}

// Casts. To an integer: integers wrap, floats truncate and saturate, NaN is 0. To bool: whether nonzero. From complex:
// the real part is cast; to bool, whether the number is nonzero.
#define BY_PARTS(R, TO) \
    DEV R TO(c64 a) { return TO(a.re); } \
    DEV R TO(c128 a) { return TO(a.re); }
#define BY_SINGLES(R, TO) \
    DEV R TO(f16 a) { return TO(wide_of(a)); } \
    DEV R TO(bf16 a) { return TO(wide_of(a)); }

#define BOOL_OF(T) DEV bool to_bool(T a) { return a != 0; }
INTEGERS(BOOL_OF)
BOOL_OF(float)
BOOL_OF(double)
BY_SINGLES(bool, to_bool)
DEV bool to_bool(c64 a) { return a.re != 0 || a.im != 0; }
DEV bool to_bool(c128 a) { return a.re != 0 || a.im != 0; }

#define I32_OF(T) DEV int to_i32(T a) { return (int)a; }
INTEGERS(I32_OF)
DEV int to_i32(float a) { return a != a ? 0 : __float2int_rz(a); }
DEV int to_i32(double a) { return a != a ? 0 : __double2int_rz(a); }
BY_SINGLES(int, to_i32)
BY_PARTS(int, to_i32)

#define I64_OF(T) DEV i64 to_i64(T a) { return (i64)a; }
INTEGERS(I64_OF)
DEV i64 to_i64(float a) { return a != a ? 0 : __float2ll_rz(a); }
DEV i64 to_i64(double a) { return a != a ? 0 : __double2ll_rz(a); }
BY_SINGLES(i64, to_i64)
BY_PARTS(i64, to_i64)

#define U32_OF(T) DEV u32 to_u32(T a) { return (u32)a; }
INTEGERS(U32_OF)
DEV u32 to_u32(float a) { return a != a || a < 0 ? 0 : __float2uint_rz(a); }
DEV u32 to_u32(double a) { return a != a || a < 0 ? 0 : __double2uint_rz(a); }
BY_SINGLES(u32, to_u32)
BY_PARTS(u32, to_u32)

#define U64_OF(T) DEV u64 to_u64(T a) { return (u64)a; }
INTEGERS(U64_OF)
DEV u64 to_u64(float a) { return a != a || a < 0 ? 0 : __float2ull_rz(a); }
DEV u64 to_u64(double a) { return a != a || a < 0 ? 0 : __double2ull_rz(a); }
BY_SINGLES(u64, to_u64)
BY_PARTS(u64, to_u64)

DEV int clamped(int a, int low, int high) { return a < low ? low : a > high ? high : a; }

#define I8_OF(T) DEV i8 to_i8(T a) { return (i8)a; }
INTEGERS(I8_OF)
DEV i8 to_i8(float a) { return (i8)clamped(to_i32(a), -128, 127); }
DEV i8 to_i8(double a) { return (i8)clamped(to_i32(a), -128, 127); }
BY_SINGLES(i8, to_i8)
BY_PARTS(i8, to_i8)

#define I16_OF(T) DEV i16 to_i16(T a) { return (i16)a; }
INTEGERS(I16_OF)
DEV i16 to_i16(float a) { return (i16)clamped(to_i32(a), -32768, 32767); }
DEV i16 to_i16(double a) { return (i16)clamped(to_i32(a), -32768, 32767); }
BY_SINGLES(i16, to_i16)
BY_PARTS(i16, to_i16)

#define U8_OF(T) DEV u8 to_u8(T a) { return (u8)a; }
INTEGERS(U8_OF)
DEV u8 to_u8(float a) { return (u8)clamped(to_i32(a), 0, 255); }
DEV u8 to_u8(double a) { return (u8)clamped(to_i32(a), 0, 255); }
BY_SINGLES(u8, to_u8)
BY_PARTS(u8, to_u8)

#define U16_OF(T) DEV u16 to_u16(T a) { return (u16)a; }
INTEGERS(U16_OF)
DEV u16 to_u16(float a) { return (u16)clamped(to_i32(a), 0, 65535); }
DEV u16 to_u16(double a) { return (u16)clamped(to_i32(a), 0, 65535); }
BY_SINGLES(u16, to_u16)
BY_PARTS(u16, to_u16)

#define F16_OF(T) DEV f16 to_f16(T a) { return f16_of(to_odd((double)a)); }
INTEGERS(F16_OF)
DEV f16 to_f16(float a) { return f16_of(a); }
DEV f16 to_f16(double a) { return f16_of(to_odd(a)); }
DEV f16 to_f16(f16 a) { return a; }
DEV f16 to_f16(bf16 a) { return f16_of(wide_of(a)); }
BY_PARTS(f16, to_f16)

#define BF16_OF(T) DEV bf16 to_bf16(T a) { return bf16_of(to_odd((double)a)); }
INTEGERS(BF16_OF)
DEV bf16 to_bf16(float a) { return bf16_of(a); }
DEV bf16 to_bf16(double a) { return bf16_of(to_odd(a)); }
DEV bf16 to_bf16(bf16 a) { return a; }
DEV bf16 to_bf16(f16 a) { return bf16_of(wide_of(a)); }
BY_PARTS(bf16, to_bf16)

#define F32_OF(T) DEV float to_f32(T a) { return (float)a; }
INTEGERS(F32_OF)
F32_OF(float)
F32_OF(double)
DEV float to_f32(f16 a) { return wide_of(a); }
DEV float to_f32(bf16 a) { return wide_of(a); }
BY_PARTS(float, to_f32)

#define F64_OF(T) DEV double to_f64(T a) { return (double)a; }
INTEGERS(F64_OF)
F64_OF(float)
F64_OF(double)
DEV double to_f64(f16 a) { return wide_of(a); }
DEV double to_f64(bf16 a) { return wide_of(a); }
BY_PARTS(double, to_f64)

#define C64_OF(T) DEV c64 to_c64(T a) { return c64{(float)a, 0}; }
INTEGERS(C64_OF)
C64_OF(float)
C64_OF(double)
DEV c64 to_c64(f16 a) { return c64{wide_of(a), 0}; }
DEV c64 to_c64(bf16 a) { return c64{wide_of(a), 0}; }
DEV c64 to_c64(c64 a) { return c64{(float)a.re, (float)a.im}; }
DEV c64 to_c64(c128 a) { return c64{(float)a.re, (float)a.im}; }

#define C128_OF(T) DEV c128 to_c128(T a) { return c128{(double)a, 0}; }
INTEGERS(C128_OF)
C128_OF(float)
C128_OF(double)
DEV c128 to_c128(f16 a) { return c128{wide_of(a), 0}; }
DEV c128 to_c128(bf16 a) { return c128{wide_of(a), 0}; }
DEV c128 to_c128(c64 a) { return c128{(double)a.re, (double)a.im}; }
DEV c128 to_c128(c128 a) { return c128{(double)a.re, (double)a.im}; }

// Elements of a dtype from argument words. The word of a complex128 number is its real part.
#define OF_WORD(T) DEV void unpack(u64 w, T& v) { v = (T)w; }
OF_WORD(i8)
OF_WORD(i16)
OF_WORD(int)
OF_WORD(i64)
OF_WORD(u8)
OF_WORD(u16)
OF_WORD(u32)
OF_WORD(u64)
DEV void unpack(u64 w, bool& v) { v = (w & 0xff) != 0; }
DEV void unpack(u64 w, f16& v) { v.bits = (u16)w; }
DEV void unpack(u64 w, bf16& v) { v.bits = (u16)w; }
DEV void unpack(u64 w, float& v) { v = __int_as_float((int)(u32)w); }
DEV void unpack(u64 w, double& v) { v = __longlong_as_double((i64)w); }
DEV void unpack(u64 w, c64& v) { v = c64{__int_as_float((int)(u32)w), __int_as_float((int)(u32)(w >> 32))}; }
DEV void unpack(u64 w, c128& v) { v = c128{__longlong_as_double((i64)w), 0}; }
template <class T> DEV T scalar(u64 w) { T v; unpack(w, v); return v; }

// Adjacent elements in one access.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };
template <int N, class T> DEV void load(const T* from, int count, T* to) {
    if (count >= N) {
        const Pack<T, N> pack = *(const Pack<T, N>*)from;
#pragma unroll
        for (int e = 0; e < N; ++e) to[e] = pack.at[e];
    } else {
#pragma unroll
        for (int e = 0; e < N; ++e) to[e] = e < count ? from[e] : T();
    }
}
template <int N, class T> DEV void store(T* to, int count, const T* from) {
    if (count >= N) {
        Pack<T, N> pack;
#pragma unroll
        for (int e = 0; e < N; ++e) pack.at[e] = from[e];
        *(Pack<T, N>*)to = pack;
    } else {
#pragma unroll
        for (int e = 0; e < N; ++e) if (e < count) to[e] = from[e];
    }
}

// Strided elements.
template <int N, class T> DEV void gather(const T* from, i64 stride, int count, T* to) {
#pragma unroll
    for (int e = 0; e < N; ++e) to[e] = e < count ? from[e * stride] : T();
}

// Division by a constant for which the host has computed a multiplier and a shift; dividends must be below 2^31.
DEV u32 quotient(u32 n, u64 divisor) { return (__umulhi(n, (u32)divisor) + n) >> (u32)(divisor >> 32); }
