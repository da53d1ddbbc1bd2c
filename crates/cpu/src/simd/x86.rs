//! The common part of the float vectors of x86 sets: each row of [`x86_float!`] names the instruction of a method.
//!
//! Methods are safe because a vector is itself the proof that the processor has the set's features: one comes from `load` or `splat`,
//! whose callers promise them, or from other vectors. Bodies make constants, but only bodies that have vectors to apply them to.

/// Implements the number traits for a register of floats; small functions provide the parts that differ between sets.
macro_rules! x86_float {
    (
        $vector:ident($register:ty) of $lanes:literal $elem:ident, mask $mask:ident, format $format:ty;
        $($method:ident = $instruction:expr;)*
    ) => {
        /// A register of floats.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $vector(pub(crate) $register);

        impl $vector {
            #[inline(always)]
            fn lanes(self) -> [$elem; $lanes] {
                // SAFETY: the register and the array have the same size, and every bit pattern is a valid float.
                unsafe { std::mem::transmute(self.0) }
            }

            #[inline(always)]
            fn from_lanes(lanes: [$elem; $lanes]) -> Self {
                // SAFETY: the register and the array have the same size, and every bit pattern is a valid float.
                $vector(unsafe { std::mem::transmute::<[$elem; $lanes], $register>(lanes) })
            }

            /// A constant of a body, which is applied to vectors.
            #[inline(always)]
            fn filled(value: $elem) -> Self {
                // SAFETY: whoever applies a body has vectors, and they exist only where the processor has the features.
                unsafe { Self::splat(value) }
            }

            /// The reference, lane by lane, for methods without an instruction.
            #[inline(never)]
            fn each(self, other: Self, f: fn($elem, $elem) -> $elem) -> Self {
                let (a, b) = (self.lanes(), other.lanes());
                Self::from_lanes(collect(|i| f(a[i], b[i])))
            }

            $(x86_float!(@ $vector $register, $mask, $elem, $method, $instruction);)*
        }

        impl Num for $vector {
            type Mask = $mask;
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.raw_add(other) }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self.raw_mul(other) }
            #[inline(always)]
            fn max(self, other: Self) -> Self { Self::raw_select(self.raw_nan(self), self, self.raw_max(other)) }
            #[inline(always)]
            fn min(self, other: Self) -> Self { Self::raw_select(self.raw_nan(self), self, self.raw_min(other)) }
            #[inline(always)]
            fn abs(self) -> Self { self.raw_andnot(Self::filled(-0.0)) }
            #[inline(always)]
            fn eq(self, other: Self) -> $mask { self.raw_eq(other) }
            #[inline(always)]
            fn lt(self, other: Self) -> $mask { self.raw_lt(other) }
            #[inline(always)]
            fn le(self, other: Self) -> $mask { self.raw_le(other) }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self { Self::raw_select(mask, yes, no) }
        }

        impl NumSigned for $vector {
            #[inline(always)]
            fn small(value: i8) -> Self { Self::filled(value as $elem) }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self.raw_sub(other) }
            #[inline(always)]
            fn neg(self) -> Self { self.raw_xor(Self::filled(-0.0)) }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                if divide::is_near(self, other).holds() { divide::floor_div(self, other) } else { self.each(other, <$elem as NumSigned>::floor_div) }
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                if divide::is_near(self, other).holds() { divide::remainder(self, other) } else { self.each(other, <$elem as NumSigned>::remainder) }
            }
            #[inline(always)]
            fn fmod(self, other: Self) -> Self {
                if divide::is_near(self, other).holds() { divide::fmod(self, other) } else { self.each(other, <$elem as NumSigned>::fmod) }
            }
            #[inline(always)]
            fn power(self, other: Self) -> Self {
                // Nearly all vectors are free of special cases.
                if power::is_plain(self, other).holds() { power::plain_power(self, other) } else { power::power(self, other) }
            }
            #[inline(always)]
            fn floor(self) -> Self { self.raw_floor() }
            #[inline(always)]
            fn ceil(self) -> Self { self.raw_ceil() }
            #[inline(always)]
            fn trunc(self) -> Self { self.raw_trunc() }
            #[inline(always)]
            fn rint(self) -> Self { self.raw_rint() }
        }

        impl NumFloat for $vector {
            type Format = $format;
            const BRANCHES: bool = true;
            #[inline(always)]
            fn constant(value: f64) -> Self { Self::filled(value as $elem) }
            #[inline(always)]
            fn div(self, other: Self) -> Self { self.raw_div(other) }
            #[inline(always)]
            fn sqrt(self) -> Self { self.raw_sqrt() }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self { self.raw_fma(b, c) }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self { self.raw_min(other) }
            #[inline(always)]
            fn greater(self, other: Self) -> Self { self.raw_max(other) }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                let bit = Self::filled(-0.0);
                self.raw_andnot(bit).raw_or(sign.raw_and(bit))
            }
            #[inline(always)]
            fn scale(self, n: Self) -> Self { self.raw_scale(n) }
            #[inline(always)]
            fn split(self) -> (Self, Self) {
                // SAFETY: a vector exists only where the processor has the set's features.
                let (m, e) = unsafe { split(self.0) };
                ($vector(m), $vector(e))
            }
            #[inline(always)]
            fn turns(self) -> [Self; 3] {
                let near = turn::near(self);
                if self.abs().le(Self::filled(<$elem as Turn>::NEAR)).holds() {
                    return near;
                }
                with_far_turns(self.lanes(), near.map(Self::lanes)).map(Self::from_lanes)
            }
            #[inline(always)]
            fn next_after(self, other: Self) -> Self { self.each(other, <$elem as NumFloat>::next_after) }
            #[inline(always)]
            fn all(mask: $mask) -> bool { mask.holds() }
        }
    };
    (@ $v:ident $r:ty, $m:ident, $e:ident, eq, $f:expr) => { x86_float!(@compare $v $m raw_eq $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, lt, $f:expr) => { x86_float!(@compare $v $m raw_lt $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, le, $f:expr) => { x86_float!(@compare $v $m raw_le $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, nan, $f:expr) => { x86_float!(@compare $v $m raw_nan $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, sqrt, $f:expr) => { x86_float!(@unary $v raw_sqrt $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, floor, $f:expr) => { x86_float!(@unary $v raw_floor $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, ceil, $f:expr) => { x86_float!(@unary $v raw_ceil $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, trunc, $f:expr) => { x86_float!(@unary $v raw_trunc $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, rint, $f:expr) => { x86_float!(@unary $v raw_rint $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, add, $f:expr) => { x86_float!(@binary $v raw_add $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, sub, $f:expr) => { x86_float!(@binary $v raw_sub $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, mul, $f:expr) => { x86_float!(@binary $v raw_mul $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, div, $f:expr) => { x86_float!(@binary $v raw_div $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, min, $f:expr) => { x86_float!(@binary $v raw_min $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, max, $f:expr) => { x86_float!(@binary $v raw_max $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, and, $f:expr) => { x86_float!(@binary $v raw_and $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, or, $f:expr) => { x86_float!(@binary $v raw_or $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, xor, $f:expr) => { x86_float!(@binary $v raw_xor $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, andnot, $f:expr) => { x86_float!(@binary $v raw_andnot $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, scale, $f:expr) => { x86_float!(@binary $v raw_scale $f); };
    (@ $v:ident $r:ty, $m:ident, $e:ident, fma, $f:expr) => {
        #[inline(always)]
        fn raw_fma(self, b: Self, c: Self) -> Self {
            // SAFETY: a vector exists only where the processor has the set's features.
            $v(unsafe { $f(self.0, b.0, c.0) })
        }
    };
    (@ $v:ident $r:ty, $m:ident, $e:ident, select, $f:expr) => {
        #[inline(always)]
        fn raw_select(mask: $m, yes: Self, no: Self) -> Self {
            // SAFETY: a vector exists only where the processor has the set's features.
            $v(unsafe { $f(mask.0, yes.0, no.0) })
        }
    };
    (@unary $v:ident $name:ident $f:expr) => {
        #[inline(always)]
        fn $name(self) -> Self {
            // SAFETY: a vector exists only where the processor has the set's features.
            $v(unsafe { $f(self.0) })
        }
    };
    (@binary $v:ident $name:ident $f:expr) => {
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            // SAFETY: a vector exists only where the processor has the set's features.
            $v(unsafe { $f(self.0, other.0) })
        }
    };
    (@compare $v:ident $m:ident $name:ident $f:expr) => {
        #[inline(always)]
        fn $name(self, other: Self) -> $m {
            // SAFETY: a vector exists only where the processor has the set's features.
            $m(unsafe { $f(self.0, other.0) })
        }
    };
}

/// Implements [`super::Set`] for an instruction set with these features and vectors.
macro_rules! x86_set {
    ($set:ident, $features:literal, $lanes:literal, masks $masks:literal, $f32:ty, $f64:ty, $philox:path, $interleave:path, $fractions:path) => {
        impl Set for $set {
            const HAS_MASKS: bool = $masks;
            type F32 = $f32;
            type F64 = $f64;
            type I32 = Lanes<i32, $lanes>;
            type I64 = Lanes<i64, $lanes>;
            type Bool = Lanes<bool, $lanes>;

            fn unary<V: Memory, B: Body<(V,), Out: Memory>>(self) -> Loop {
                #[target_feature(enable = $features)]
                unsafe fn run<V: Memory, B: Body<(V,), Out: Memory>>(to: *mut u8, from: &[LoopInput; 3], count: usize) {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { loops::unary::<V, B>(to, from, count) }
                }
                run::<V, B>
            }
            fn binary<V: Memory, B: Body<(V, V), Out: Memory>>(self) -> Loop {
                #[target_feature(enable = $features)]
                unsafe fn run<V: Memory, B: Body<(V, V), Out: Memory>>(
                    to: *mut u8,
                    from: &[LoopInput; 3],
                    count: usize,
                ) {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { loops::binary::<V, B>(to, from, count) }
                }
                run::<V, B>
            }
            fn choice<V: Memory + Num<Mask: Memory>, B: Body<(V::Mask, V, V), Out: Memory>>(self) -> Loop {
                #[target_feature(enable = $features)]
                unsafe fn run<V: Memory + Num<Mask: Memory>, B: Body<(V::Mask, V, V), Out: Memory>>(
                    to: *mut u8,
                    from: &[LoopInput; 3],
                    count: usize,
                ) {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { loops::choice::<V, B>(to, from, count) }
                }
                run::<V, B>
            }
            fn ternary<V: Memory, B: Body<(V, V, V), Out: Memory>>(self) -> Loop {
                #[target_feature(enable = $features)]
                unsafe fn run<V: Memory, B: Body<(V, V, V), Out: Memory>>(
                    to: *mut u8,
                    from: &[LoopInput; 3],
                    count: usize,
                ) {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { loops::ternary::<V, B>(to, from, count) }
                }
                run::<V, B>
            }
            #[inline(always)]
            unsafe fn assume() -> Self {
                // SAFETY: the caller's promise is this one.
                unsafe { $set::assume() }
            }
            #[inline(always)]
            fn philox(self, key: u64, first: u64) -> Words {
                // SAFETY: the set is the proof of its features.
                unsafe { $philox(key, first) }
            }
            #[inline(always)]
            fn interleave(self, words: [[u32; 16]; 4]) -> [u32; 64] {
                // SAFETY: the set is the proof of its features.
                unsafe { $interleave(words) }
            }
            #[inline(always)]
            fn fractions(self, words: [u32; 16]) -> [f32; 16] {
                // SAFETY: the set is the proof of its features.
                unsafe { $fractions(words) }
            }
            fn vectorize<W: Work>(self, work: W) -> W::Out {
                #[target_feature(enable = $features)]
                unsafe fn run<W: Work>(work: W) -> W::Out {
                    // SAFETY: the caller upholds the same contract.
                    unsafe { work.run() }
                }
                // SAFETY: the set is the proof of its features.
                unsafe { run(work) }
            }
        }
    };
}

pub(super) use {x86_float, x86_set};
