// Elements as unsigned integers with the same order. Both zeros have the same key, and NaN sorts last in both
// directions.
DEV u8 rank_of(bool x) { return x; }
DEV u8 rank_of(u8 x) { return x; }
DEV u16 rank_of(u16 x) { return x; }
DEV u32 rank_of(u32 x) { return x; }
DEV u64 rank_of(u64 x) { return x; }
DEV u8 rank_of(i8 x) { return (u8)(x ^ 0x80); }
DEV u16 rank_of(i16 x) { return (u16)(x ^ 0x8000); }
DEV u32 rank_of(int x) { return (u32)x ^ 0x80000000u; }
DEV u64 rank_of(i64 x) { return (u64)x ^ 0x8000000000000000ull; }
// The order of negative floats is the reverse of that of their bits.
template <class B> DEV B rank_of_bits(B bits) {
    const B sign = (B)((B)1 << (8 * sizeof(B) - 1));
    if (bits == sign) bits = 0;
    return bits & sign ? (B)~bits : (B)(bits | sign);
}
DEV u16 rank_of(f16 x) { return rank_of_bits(x.bits); }
DEV u16 rank_of(bf16 x) { return rank_of_bits(x.bits); }
DEV u32 rank_of(float x) { return rank_of_bits((u32)__float_as_int(x)); }
DEV u64 rank_of(double x) { return rank_of_bits((u64)__double_as_longlong(x)); }

DEV K joined(T x, bool descending) {
    const K rank = rank_of(x);
    return n_nan(WIDE(x)) ? (K)~(K)0 : descending ? (K)~rank : rank;
}
