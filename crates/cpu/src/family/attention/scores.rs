//! Passes over one row of scores.

use crate::product::{Vector, load, store};
use crate::reduce::{Element, Fold, Largest, Sum, WIDTH, tree_of};
use crate::simd::Work;
use forerun_ops::{Body, bodies};
use std::marker::PhantomData;

/// Scales scores and adds a mask; the last ones, which a query does not see, become minus infinity. Gives the largest.
pub(super) struct Prepare<V: Vector> {
    pub(super) scores: *mut V::Elem,
    pub(super) count: usize,
    pub(super) seen: usize,
    pub(super) scale: f64,
    pub(super) mask: *const V::Elem,
    pub(super) kind: PhantomData<V>,
}

/// Takes exponentials of scores less a number; gives their sum.
pub(super) struct Exponentials<V: Vector> {
    pub(super) scores: *mut V::Elem,
    pub(super) count: usize,
    pub(super) less: V::Elem,
    pub(super) kind: PhantomData<V>,
}

/// Scales a row.
pub(super) struct Scaled<V: Vector> {
    pub(super) row: *mut V::Elem,
    pub(super) count: usize,
    pub(super) by: V::Elem,
    pub(super) kind: PhantomData<V>,
}

/// `p (dp - delta) scale`, in the place of `dp`.
pub(super) struct Slopes<V: Vector> {
    pub(super) p: *const V::Elem,
    pub(super) dp: *mut V::Elem,
    pub(super) count: usize,
    pub(super) delta: V::Elem,
    pub(super) scale: f64,
    pub(super) kind: PhantomData<V>,
}

/// The sum of the products of two rows.
pub(super) struct Inner<V: Vector> {
    pub(super) a: *const V::Elem,
    pub(super) b: *const V::Elem,
    pub(super) count: usize,
    pub(super) kind: PhantomData<V>,
}

/// Folds vectors in 64 virtual lanes.
struct Lanes<V: Vector, F> {
    held: [V; 8],
    kind: PhantomData<F>,
}

impl<V: Vector, F: Fold> Lanes<V, F> {
    /// # Safety
    /// The processor must have the features of the vector's set.
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller promises the features.
        Lanes { held: [unsafe { V::splat(F::start()) }; 8], kind: PhantomData }
    }

    /// Folds the vector that begins with element `at`; of `left` elements if that is less than a vector.
    #[inline(always)]
    fn push(&mut self, x: V, at: usize, left: usize) {
        let held = &mut self.held[at / V::LANES % (WIDTH / V::LANES)];
        if left < V::LANES {
            let mut part = [F::start::<V::Elem>(); WIDTH];
            // SAFETY: the lanes have room for a vector; `x` exists, so the processor has the features.
            unsafe {
                x.store_first(part.as_mut_ptr(), left);
                *held = F::fold(*held, V::load(part.as_ptr()));
            }
        } else {
            *held = F::fold(*held, x);
        }
    }

    #[inline(always)]
    fn finish(self) -> V::Elem {
        let mut lanes = [F::start::<V::Elem>(); WIDTH];
        for (n, held) in self.held[..WIDTH / V::LANES].iter().enumerate() {
            // SAFETY: vectors of the lanes.
            unsafe { held.store(lanes.as_mut_ptr().add(n * V::LANES)) };
        }
        // SAFETY: `new` made the vectors, and its caller promised the features.
        unsafe { tree_of::<V, F>(&lanes) }
    }
}

impl<V: Vector> Work for Prepare<V> {
    type Out = V::Elem;
    #[inline(always)]
    unsafe fn run(self) -> V::Elem {
        // SAFETY: the caller promises the features.
        let (scale, mut most) = (V::constant(self.scale), unsafe { Lanes::<V, Largest>::new() });
        // SAFETY: whoever made it promised `count` scores and as many elements of the mask; the caller promises the features.
        unsafe {
            for at in (0..self.seen).step_by(V::LANES) {
                let left = (self.seen - at).min(V::LANES);
                let mut x = load::<V>(self.scores.add(at), left).mul(scale);
                if !self.mask.is_null() {
                    x = x.add(load::<V>(self.mask.add(at), left));
                }
                store(x, self.scores.add(at), left);
                most.push(x, at, left);
            }
            for at in self.seen..self.count {
                self.scores.add(at).write(V::Elem::LOWEST);
            }
        }
        most.finish()
    }
}

impl<V: Vector> Work for Exponentials<V> {
    type Out = V::Elem;
    #[inline(always)]
    unsafe fn run(self) -> V::Elem {
        // SAFETY: the caller promises the features.
        let (less, mut sum) = unsafe { (V::splat(self.less), Lanes::<V, Sum>::new()) };
        for at in (0..self.count).step_by(V::LANES) {
            let left = (self.count - at).min(V::LANES);
            // SAFETY: whoever made it promised the elements, and the caller promises the features.
            unsafe {
                let x = load::<V>(self.scores.add(at), left).sub(less);
                let x = <bodies::Exp as Body<(V,)>>::apply((x,));
                store(x, self.scores.add(at), left);
                sum.push(x, at, left);
            }
        }
        sum.finish()
    }
}

impl<V: Vector> Work for Scaled<V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the caller promises the features.
        let by = unsafe { V::splat(self.by) };
        for at in (0..self.count).step_by(V::LANES) {
            let left = (self.count - at).min(V::LANES);
            // SAFETY: whoever made it promised the elements, and the caller promises the features.
            unsafe { store(load::<V>(self.row.add(at), left).mul(by), self.row.add(at), left) };
        }
    }
}

impl<V: Vector> Work for Slopes<V> {
    type Out = ();
    #[inline(always)]
    unsafe fn run(self) {
        // SAFETY: the caller promises the features.
        let (delta, scale) = (unsafe { V::splat(self.delta) }, V::constant(self.scale));
        for at in (0..self.count).step_by(V::LANES) {
            let left = (self.count - at).min(V::LANES);
            // SAFETY: whoever made it promised the elements, and the caller promises the features.
            unsafe {
                let off = load::<V>(self.dp.add(at), left).sub(delta);
                store(load::<V>(self.p.add(at), left).mul(off).mul(scale), self.dp.add(at), left);
            }
        }
    }
}

impl<V: Vector> Work for Inner<V> {
    type Out = V::Elem;
    #[inline(always)]
    unsafe fn run(self) -> V::Elem {
        // SAFETY: the caller promises the features.
        let mut sum = unsafe { Lanes::<V, Sum>::new() };
        for at in (0..self.count).step_by(V::LANES) {
            let left = (self.count - at).min(V::LANES);
            // SAFETY: whoever made it promised the elements, and the caller promises the features.
            let product = unsafe { load::<V>(self.a.add(at), left).mul(load::<V>(self.b.add(at), left)) };
            sum.push(product, at, left);
        }
        sum.finish()
    }
}
