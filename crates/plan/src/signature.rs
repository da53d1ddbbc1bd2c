//! Signatures: everything in a record except its values. Metas (dtype, layout, device) and signatures (op, metas of the
//! inputs, attributes, meta of the result) are interned: equal ones have equal addresses while they are held. Ids are
//! never reused, so a cache may keep an id longer than the entry it names.
//!
//! The tables hold one reference to each entry. Whenever they have doubled, they request a collection (see
//! [`on_growth`]), which drops the entries that only the tables hold ([`forget_unheld`]).

use forerun_base::{DType, Device, Layout, Shape, WordHash};
use forerun_ops::{Beyond, Given, Op};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

/// An interned dtype, layout and device: equal metas have equal addresses.
#[derive(Debug)]
pub struct Meta {
    /// The interned id, never reused; below [`Meta::SCALARS`].
    pub id: u64,
    /// Element type.
    pub dtype: DType,
    /// Shape and strides.
    pub layout: Layout,
    /// The device of the elements.
    pub device: Device,
    /// Number of elements.
    pub size: usize,
    /// Bytes of a dense array of these elements.
    pub bytes: usize,
    /// Whether the layout is row-major without gaps.
    pub dense: bool,
    /// Number of times an uncounted pointer was copied: see [`Meta::note_copy`].
    copies: AtomicU32,
    /// Itself, for [`Meta::share`].
    own: Weak<Meta>,
}

impl Meta {
    /// Ids from here on stand for scalar arguments in signature keys.
    pub const SCALARS: u64 = u64::MAX - 15;

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.layout.shape
    }

    /// The meta with this dtype, layout and device. Each thread caches some, because the same views recur.
    pub fn of(dtype: DType, layout: Layout, device: Device) -> Arc<Meta> {
        let mix = |mixed: usize, word: usize| mixed.wrapping_mul(31).wrapping_add(word);
        let place = layout.shape.iter().copied().fold(dtype as usize, mix);
        let place = layout.strides().iter().fold(place, |mixed, stride| mix(mixed, *stride as usize)) % REMEMBERED;
        // A thread that is ending has no cache.
        let found = STRIDED.try_with(|known| match &mut known.borrow_mut()[place] {
            Some(meta) if meta.dtype == dtype && meta.layout == layout && meta.device == device => meta.clone(),
            other => other.insert(Meta::intern(dtype, layout, device)).clone(),
        });
        found.unwrap_or_else(|_| Meta::intern(dtype, layout, device))
    }

    fn intern(dtype: DType, layout: Layout, device: Device) -> Arc<Meta> {
        let mut tables = tables();
        if let Some(Interned(meta)) = tables.metas.get(&(dtype, &layout, device) as &dyn MetaKey) {
            return meta.clone();
        }
        let size = layout.shape.size();
        let id = tables.next_id();
        let meta = Arc::new_cyclic(|own| Meta {
            id,
            dtype,
            layout,
            device,
            size,
            bytes: size * dtype.size(),
            dense: layout.is_dense(),
            copies: AtomicU32::new(0),
            own: own.clone(),
        });
        tables.metas.insert(Interned(meta.clone()));
        tables.unlock_and_collect();
        meta
    }

    /// The meta of a dense array. Each thread caches some, because the same shapes recur.
    pub fn dense(dtype: DType, shape: Shape, device: Device) -> Arc<Meta> {
        let mix = |mixed: usize, extent: &usize| mixed.wrapping_mul(31).wrapping_add(*extent);
        let place = shape.iter().fold(dtype as usize, mix) % REMEMBERED;
        let find = || Meta::intern(dtype, Layout::dense(shape), device);
        // A thread that is ending has no cache.
        let found = DENSE.try_with(|known| match &mut known.borrow_mut()[place] {
            Some(meta) if meta.dtype == dtype && meta.layout.shape == shape && meta.device == device => meta.clone(),
            other => other.insert(find()).clone(),
        });
        found.unwrap_or_else(|_| find())
    }

    /// Bytes of the elements that a reader touches: those of a broadcast dimension count once.
    pub fn touched(&self) -> usize {
        let extents = self.layout.shape.iter().zip(self.layout.strides().iter());
        extents.map(|(extent, stride)| if *stride == 0 { 1 } else { *extent }).product::<usize>() * self.dtype.size()
    }

    /// A counted reference to a meta that is already held.
    pub fn share(&self) -> Arc<Meta> {
        self.own.upgrade().expect("the meta is held")
    }

    /// Notes that another uncounted pointer to this meta was copied from one that may go away. A collection that
    /// scanned the new location too early and the old one too late then keeps the meta. Called after the new pointer
    /// was written.
    pub fn note_copy(&self) {
        self.copies.fetch_add(1, Ordering::AcqRel);
    }
}

/// Number of dense metas that a thread caches, and of those with any layout.
const REMEMBERED: usize = 64;

thread_local! {
    static DENSE: RefCell<[Option<Arc<Meta>>; REMEMBERED]> = const { RefCell::new([const { None }; REMEMBERED]) };
    static STRIDED: RefCell<[Option<Arc<Meta>>; REMEMBERED]> = const { RefCell::new([const { None }; REMEMBERED]) };
}

/// Attributes of an op beyond its inputs.
///
/// Large attributes of rare ops are boxed, because a program over many shapes has a signature or two for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attrs {
    /// Nothing.
    None,
    /// A pointwise op: the computation dtype, and which arguments are scalars.
    Point {
        /// Operands are cast to this first.
        compute: DType,
        /// Bit i: argument i is a scalar, stored in the record.
        scalars: u8,
        /// The number of arguments, scalars included.
        arity: u8,
    },
    /// A reduction: the reduced axes, and the computation dtype.
    Reduce {
        /// One bit per dimension.
        mask: u32,
        /// The input is cast to this first.
        compute: DType,
    },
    /// A product of batched matrices.
    Matmul {
        /// Batch dimensions.
        batch: Box<Shape>,
        /// Rows.
        m: usize,
        /// Columns.
        n: usize,
        /// The extent that is summed over.
        k: usize,
    },
    /// A concatenation along this axis.
    Concat(usize),
    /// Rows along this axis, selected by the second input.
    Rows {
        /// The axis that the indices count along.
        axis: usize,
        /// How an index out of bounds is handled.
        beyond: Beyond,
    },
    /// The attributes of a routine, encoded as integers.
    Routine(Box<[i64]>),
    /// An update of this region; the value is a scalar if there is no second input.
    Update(Box<Layout>),
}

/// Op, inputs, attributes and result of a record, interned.
#[derive(Debug)]
pub struct Signature {
    /// The interned id, never reused.
    pub id: u64,
    /// The op.
    pub op: Op,
    /// Metas of the array inputs.
    pub inputs: Box<[Arc<Meta>]>,
    /// The attributes.
    pub attrs: Attrs,
    /// The meta of the result.
    pub out: Arc<Meta>,
}

impl Signature {
    /// Interns the signature with these parts.
    pub fn of(op: Op, inputs: &[&Meta], attrs: Attrs, out: &Meta) -> Arc<Signature> {
        let mut tables = tables();
        if let Some(Interned(signature)) = tables.signatures.get(&(op, inputs, &attrs, out) as &dyn SignatureKey) {
            return signature.clone();
        }
        let inputs = inputs.iter().map(|meta| meta.share()).collect();
        let signature = Arc::new(Signature { id: tables.next_id(), op, inputs, attrs, out: out.share() });
        tables.signatures.insert(Interned(signature.clone()));
        tables.unlock_and_collect();
        signature
    }

    /// The device on which a record of this signature runs: that of its result, except for a transfer to the host,
    /// which the source device runs.
    pub fn runs_on(&self) -> Device {
        match self.op {
            Op::Transfer if self.out.device.is_host() => self.inputs[0].device,
            _ => self.out.device,
        }
    }

    /// Number of scalars in a record of this signature.
    pub fn scalars(&self) -> usize {
        match self.attrs {
            Attrs::Point { scalars, .. } => scalars.count_ones() as usize,
            Attrs::Update(_) => 3 - self.inputs.len(),
            _ => match self.op {
                Op::Fill(forerun_ops::FillKind::Full | forerun_ops::FillKind::Eye) => 1,
                Op::Fill(_) => 2,
                Op::Routine(routine) => routine.scalars(),
                _ => 0,
            },
        }
    }

    /// Approximate work in elements touched, about a nanosecond each; decides whether a task is worthwhile.
    pub fn cost(&self) -> usize {
        match self.attrs {
            // A core does about thirty multiply-adds per nanosecond.
            Attrs::Matmul { ref batch, m, n, k } => batch.size().saturating_mul(m * n).saturating_mul(1 + k / 32),
            // Of a large table, only the selected rows are read.
            Attrs::Rows { .. } if self.op == Op::Take => self.inputs[1].size.saturating_add(self.out.size * 2),
            Attrs::Routine(ref encoded) if let Op::Routine(routine) = self.op => {
                routine.cost(&self.given(), &(self.out.dtype, self.out.shape()), encoded)
            }
            // A boolean is one byte, and a scan for one usually ends early, so it costs less than a task.
            Attrs::Reduce { compute: DType::Bool, .. } => (self.inputs[0].size / 8).min(SCAN).max(self.out.size),
            _ => self.inputs.iter().map(|m| m.size).fold(self.out.size, usize::saturating_add),
        }
    }

    /// The number of floating-point operations of a product of matrices or a convolution; 0 for other ops, whose time
    /// depends on memory or on their values.
    pub fn flops(&self) -> usize {
        match self.attrs {
            Attrs::Matmul { ref batch, m, n, k } => [batch.size(), m, n, k].into_iter().fold(2, usize::saturating_mul),
            Attrs::Routine(ref encoded) if let Op::Routine(routine) = self.op => routine.flops(&self.given(), encoded),
            _ => 0,
        }
    }

    fn given(&self) -> Vec<Given> {
        self.inputs.iter().map(|m| (m.dtype, m.shape())).collect()
    }
}

/// Maximum cost of a scan of booleans.
const SCAN: usize = 128 * 1024;

/// A table entry, looked up by its content without a separate key. Separate keys would be as large as the entries, and
/// a table of them that doubles would leave holes of megabytes in the heap.
struct Interned<T>(Arc<T>);

/// The key of a meta, of an existing one or of the parts to look up.
trait MetaKey {
    fn parts(&self) -> (DType, &Layout, Device);
}

impl MetaKey for (DType, &Layout, Device) {
    fn parts(&self) -> (DType, &Layout, Device) {
        *self
    }
}

impl MetaKey for Interned<Meta> {
    fn parts(&self) -> (DType, &Layout, Device) {
        (self.0.dtype, &self.0.layout, self.0.device)
    }
}

impl PartialEq for dyn MetaKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Hash for dyn MetaKey + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// The key of a signature, of an existing one or of the parts to look up. Metas are compared by id.
trait SignatureKey {
    /// Op, attributes, result, number of inputs.
    fn parts(&self) -> (Op, &Attrs, u64, usize);
    fn input(&self, at: usize) -> u64;
}

impl SignatureKey for (Op, &[&Meta], &Attrs, &Meta) {
    fn parts(&self) -> (Op, &Attrs, u64, usize) {
        (self.0, self.2, self.3.id, self.1.len())
    }

    fn input(&self, at: usize) -> u64 {
        self.1[at].id
    }
}

impl SignatureKey for Interned<Signature> {
    fn parts(&self) -> (Op, &Attrs, u64, usize) {
        (self.0.op, &self.0.attrs, self.0.out.id, self.0.inputs.len())
    }

    fn input(&self, at: usize) -> u64 {
        self.0.inputs[at].id
    }
}

impl PartialEq for dyn SignatureKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts() && (0..self.parts().3).all(|at| self.input(at) == other.input(at))
    }
}

impl Hash for dyn SignatureKey + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
        (0..self.parts().3).for_each(|at| self.input(at).hash(state));
    }
}

/// Allows lookups in a table of entries by the parts of one.
macro_rules! found_by {
    ($entry:ty, $key:ident) => {
        impl Eq for dyn $key + '_ {}

        impl<'a> Borrow<dyn $key + 'a> for Interned<$entry> {
            fn borrow(&self) -> &(dyn $key + 'a) {
                self
            }
        }

        impl PartialEq for Interned<$entry> {
            fn eq(&self, other: &Self) -> bool {
                (self as &dyn $key) == (other as &dyn $key)
            }
        }

        impl Eq for Interned<$entry> {}

        impl Hash for Interned<$entry> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (self as &dyn $key).hash(state);
            }
        }
    };
}

found_by!(Meta, MetaKey);
found_by!(Signature, SignatureKey);

/// Number of entries before the first collection.
const FEW: usize = 4096;

#[derive(Default)]
struct Tables {
    metas: HashSet<Interned<Meta>, WordHash>,
    signatures: HashSet<Interned<Signature>, WordHash>,
    /// The last id assigned.
    last: u64,
    /// More metas or signatures than this trigger a collection.
    most: [usize; 2],
}

impl Tables {
    fn next_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn is_full(&self) -> bool {
        self.metas.len() > self.most[0].max(FEW) || self.signatures.len() > self.most[1].max(FEW)
    }

    /// Sets the threshold of the next collection to twice the current size.
    fn set_most(&mut self) {
        self.most = [2 * self.metas.len(), 2 * self.signatures.len()];
    }
}

/// Ends a change of the tables, with a collection if they have grown enough since the last.
trait Collect {
    fn unlock_and_collect(self);
}

impl Collect for MutexGuard<'_, Tables> {
    #[inline]
    fn unlock_and_collect(mut self) {
        if self.is_full()
            && let Some(collect) = GROWTH.get()
        {
            self.set_most();
            drop(self);
            collect();
        }
    }
}

/// Called when the tables have doubled.
static GROWTH: OnceLock<fn()> = OnceLock::new();

/// Registers a function that the thread whose insertion doubled the tables calls. It drops its own references to unused
/// signatures and then calls [`forget_unheld`]. Without it the tables keep everything.
pub fn on_growth(collect: fn()) {
    GROWTH.get_or_init(|| collect);
}

/// Drops the signatures and metas that only the tables hold. `pinned` calls back with every meta that an uncounted
/// pointer may refer to.
///
/// An uncounted meta is checked twice: it is free if no pointer to it was found between two reads of its counts. A
/// thread that obtains one meanwhile either uses the tables, which are locked, or copies an uncounted pointer that the
/// scan may miss, and then notes it ([`Meta::note_copy`]).
pub fn forget_unheld(pinned: impl FnOnce(&mut dyn FnMut(*const Meta))) {
    let mut tables = tables();
    tables.signatures.retain(|Interned(signature)| Arc::strong_count(signature) > 1);
    let counts = |meta: &Arc<Meta>| (Arc::strong_count(meta), meta.copies.load(Ordering::Acquire));
    let unheld = tables.metas.iter().map(|Interned(meta)| meta).filter(|meta| Arc::strong_count(meta) == 1);
    let before: HashMap<*const Meta, (usize, u32)> = unheld.map(|meta| (Arc::as_ptr(meta), counts(meta))).collect();
    let mut found = HashSet::new();
    pinned(&mut |meta| _ = found.insert(meta));
    tables.metas.retain(|Interned(meta)| {
        let at = Arc::as_ptr(meta);
        before.get(&at) != Some(&counts(meta)) || found.contains(&at)
    });
    tables.set_most();
    let [metas, signatures] = tables.most.map(|most| most.max(FEW));
    tables.metas.shrink_to(metas);
    tables.signatures.shrink_to(signatures);
}

/// Takes the lock of the tables of metas and signatures before a fork, so that the child finds it free.
pub fn hold_tables() -> Box<dyn std::any::Any> {
    Box::new(tables())
}

fn tables() -> MutexGuard<'static, Tables> {
    static TABLES: OnceLock<Mutex<Tables>> = OnceLock::new();
    TABLES.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interning_is_by_content() {
        let (shape, host) = (Shape::of(&[2, 3]), Device::default());
        let a = Meta::dense(DType::F32, shape, host);
        let b = Meta::dense(DType::F32, shape, host);
        assert!(Arc::ptr_eq(&a, &b));
        assert_ne!(a.id, Meta::dense(DType::F64, shape, host).id);
        assert_ne!(a.id, Meta::dense(DType::F32, shape, Device::Gpu(0)).id);
        let s = Signature::of(Op::Matmul, &[&a, &b], Attrs::None, &a);
        assert!(Arc::ptr_eq(&s, &Signature::of(Op::Matmul, &[&a, &b], Attrs::None, &a)));
    }

    #[test]
    fn unused_entries_are_dropped_and_ids_stay_unique() {
        let meta = |n: usize| Meta::of(DType::F32, Layout::dense(Shape::of(&[77, n])), Device::default());
        let (held, pinned, gone) = (meta(1), meta(2), meta(3));
        let [pinned_id, gone_id] = [&pinned, &gone].map(|meta| meta.id);
        let pointer = Arc::as_ptr(&pinned);
        let signature = Signature::of(Op::Matmul, &[&gone], Attrs::None, &gone);
        let signature_id = signature.id;
        drop((pinned, gone));
        forget_unheld(|found| found(pointer));
        assert!(Arc::ptr_eq(&held, &meta(1)));
        assert_eq!(meta(2).id, pinned_id);
        assert_eq!(signature.out.id, gone_id, "a signature holds its metas");
        drop(signature);
        forget_unheld(|found| found(pointer));
        assert!(meta(3).id > gone_id, "ids are not reused");
        let again = meta(3);
        assert!(Signature::of(Op::Matmul, &[&again], Attrs::None, &again).id > signature_id);
    }
}
