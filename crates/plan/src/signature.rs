//! Signatures: what a record says apart from its values. Metas (dtype, layout, device) and signatures (op, metas of the
//! inputs, attributes, meta of the result) are interned: equal ones have equal addresses while anybody holds them. Their
//! ids are never used again, so a cache may keep an id longer than what it names.
//!
//! The tables hold one reference to each entry. Whenever they have doubled, they ask for a collection (see
//! [`on_growth`]), which forgets the entries that nobody else holds ([`forget_unheld`]).

use forerun_base::{DType, Device, Layout, Shape, WordHash};
use forerun_ops::{Beyond, Given, Op};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

/// A dtype, a layout and a device, interned: equal metas have equal addresses.
#[derive(Debug)]
pub struct Meta {
    /// The interned number, never used again; below [`Meta::SCALARS`].
    pub id: u64,
    /// Element type.
    pub dtype: DType,
    /// Shape and strides.
    pub layout: Layout,
    /// Where the elements live.
    pub device: Device,
    /// Number of elements.
    pub size: usize,
    /// Bytes of a dense array of these elements.
    pub bytes: usize,
    /// Whether the layout is row-major without gaps.
    pub dense: bool,
    /// How often a pointer that nobody counts was copied: see [`Meta::note_copy`].
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

    /// The meta with this dtype, layout and device. Each thread remembers some: views of one kind are made again and again.
    pub fn of(dtype: DType, layout: Layout, device: Device) -> Arc<Meta> {
        let mix = |mixed: usize, word: usize| mixed.wrapping_mul(31).wrapping_add(word);
        let place = layout.shape.iter().copied().fold(dtype as usize, mix);
        let place = layout.strides().iter().fold(place, |mixed, stride| mix(mixed, *stride as usize)) % REMEMBERED;
        // A thread that is ending remembers nothing.
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

    /// The meta of a dense array. Each thread remembers some: whoever makes arrays asks for a few of them again and again.
    pub fn dense(dtype: DType, shape: Shape, device: Device) -> Arc<Meta> {
        let mix = |mixed: usize, extent: &usize| mixed.wrapping_mul(31).wrapping_add(*extent);
        let place = shape.iter().fold(dtype as usize, mix) % REMEMBERED;
        let find = || Meta::intern(dtype, Layout::dense(shape), device);
        // A thread that is ending remembers nothing.
        let found = DENSE.try_with(|known| match &mut known.borrow_mut()[place] {
            Some(meta) if meta.dtype == dtype && meta.layout.shape == shape && meta.device == device => meta.clone(),
            other => other.insert(find()).clone(),
        });
        found.unwrap_or_else(|_| find())
    }

    /// A counted reference to a meta that is held by somebody else.
    pub fn share(&self) -> Arc<Meta> {
        self.own.upgrade().expect("somebody holds it")
    }

    /// Says that another uncounted pointer to this meta was written, read off one that may go away: a collection that may have
    /// passed the new one before and the old one after keeps the meta. Called after the new pointer was written.
    pub fn note_copy(&self) {
        self.copies.fetch_add(1, Ordering::AcqRel);
    }
}

/// How many dense metas a thread remembers, and how many of any layout.
const REMEMBERED: usize = 64;

thread_local! {
    static DENSE: RefCell<[Option<Arc<Meta>>; REMEMBERED]> = const { RefCell::new([const { None }; REMEMBERED]) };
    static STRIDED: RefCell<[Option<Arc<Meta>>; REMEMBERED]> = const { RefCell::new([const { None }; REMEMBERED]) };
}

/// What an op needs to know beyond its inputs.
///
/// What few ops need and is large is boxed: a program over many shapes has a signature or two for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attrs {
    /// Nothing.
    None,
    /// A pointwise op: the dtype it computes in, and which arguments are scalars (a bit each).
    Point {
        /// Operands are cast to this first.
        compute: DType,
        /// Bit i: argument i is a scalar, held in the record.
        scalars: u8,
        /// The number of arguments, scalars included.
        arity: u8,
    },
    /// A reduction: the axes removed, and the dtype reduced in.
    Reduce {
        /// A bit a dimension.
        mask: u32,
        /// The input is cast to this first.
        compute: DType,
    },
    /// A product of stacked matrices.
    Matmul {
        /// Stacked dimensions.
        batch: Box<Shape>,
        /// Rows.
        m: usize,
        /// Columns.
        n: usize,
        /// Summed over.
        k: usize,
    },
    /// A concatenation along this axis.
    Concat(usize),
    /// Rows along this axis, named by the second input.
    Rows {
        /// The dimension the indices count along.
        axis: usize,
        /// What an index beyond its ends means.
        beyond: Beyond,
    },
    /// The attributes of a routine, as integers.
    Routine(Box<[i64]>),
    /// An update of this region; the value is a scalar if there is no second input.
    Update(Box<Layout>),
}

/// Op, inputs, attributes and result of a record, interned.
#[derive(Debug)]
pub struct Signature {
    /// The interned number, never used again.
    pub id: u64,
    /// The op.
    pub op: Op,
    /// Metas of the array inputs.
    pub inputs: Box<[Arc<Meta>]>,
    /// The rest.
    pub attrs: Attrs,
    /// The result.
    pub out: Arc<Meta>,
}

impl Signature {
    /// The signature with these parts.
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

    /// Where a record of this signature runs: where its result lives, but for a transfer to the host, which the device it
    /// comes from does.
    pub fn runs_on(&self) -> Device {
        match self.op {
            Op::Transfer if self.out.device.is_host() => self.inputs[0].device,
            _ => self.out.device,
        }
    }

    /// How many scalars a record of this signature holds.
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

    /// A rough count of the work, in elements touched, about a nanosecond each: used to decide what is worth a task.
    pub fn cost(&self) -> usize {
        match self.attrs {
            // A core multiplies and adds some thirty pairs in a nanosecond.
            Attrs::Matmul { ref batch, m, n, k } => batch.size().saturating_mul(m * n).saturating_mul(1 + k / 32),
            // Of a large table, only the rows that are named are read.
            Attrs::Rows { .. } if self.op == Op::Take => self.inputs[1].size.saturating_add(self.out.size * 2),
            Attrs::Routine(ref encoded) if let Op::Routine(routine) = self.op => {
                let given: Vec<Given> = self.inputs.iter().map(|m| (m.dtype, m.shape())).collect();
                routine.cost(&given, &(self.out.dtype, self.out.shape()), encoded)
            }
            // A truth value is a byte, and a scan for one mostly ends early: tasks would take longer than it does.
            Attrs::Reduce { compute: DType::Bool, .. } => (self.inputs[0].size / 8).min(SCAN).max(self.out.size),
            _ => self.inputs.iter().map(|m| m.size).fold(self.out.size, usize::saturating_add),
        }
    }
}

/// The most that a scan of truth values counts as.
const SCAN: usize = 128 * 1024;

/// An entry of a table: found by its content, which the table does not copy. Keys beside the entries would be as large as
/// these, and a table of them that doubles would leave holes of megabytes in the heap.
struct Interned<T>(Arc<T>);

/// What a meta is found by, of the meta itself or of the parts of one that is looked for.
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

/// What a signature is found by, of the signature itself or of the parts of one that is looked for. Metas are compared by
/// their ids.
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

/// Lets a table of entries be asked by the parts of one.
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

/// Entries that the tables may hold before the first collection.
const FEW: usize = 4096;

#[derive(Default)]
struct Tables {
    metas: HashSet<Interned<Meta>, WordHash>,
    signatures: HashSet<Interned<Signature>, WordHash>,
    /// The last id given away.
    last: u64,
    /// More metas or signatures than this ask for a collection.
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

    /// The next collection is asked for when the tables have doubled.
    fn set_most(&mut self) {
        self.most = [2 * self.metas.len(), 2 * self.signatures.len()];
    }
}

/// Ends a change of the tables, with a collection if they have grown much since the last.
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

/// Has this called whenever the tables have doubled, by the thread that grew them. It drops its own references to
/// signatures that nobody needs, and then calls [`forget_unheld`]. Without it the tables keep everything.
pub fn on_growth(collect: fn()) {
    GROWTH.get_or_init(|| collect);
}

/// Forgets the signatures and metas that nobody holds. `pinned` calls back with every meta that an uncounted pointer may
/// name.
///
/// A meta that nobody counts is looked at twice: it is free if no pointer was found between two looks at its counts. Whoever
/// gets hold of one meanwhile either asks the tables, which are locked, or copies an uncounted pointer that the search may
/// miss, and then says so ([`Meta::note_copy`]).
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

/// The lock of the tables of metas and signatures, held for a fork: the child must find it free.
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
    fn what_nobody_holds_is_forgotten_and_ids_stay_unique() {
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
        assert!(meta(3).id > gone_id, "an id is not used again");
        let again = meta(3);
        assert!(Signature::of(Op::Matmul, &[&again], Attrs::None, &again).id > signature_id);
    }
}
