//! Signatures: what a record says apart from its values. Metas (dtype, layout, device) and signatures (op, metas of the
//! inputs, attributes, meta of the result) are interned: they live as long as the process and are named by 4-byte ids,
//! so that records stay small and plan-cache keys are short.

use forerun_base::{DType, Device, Layout, Shape, WordHash};
use forerun_ops::{Beyond, Given, Op};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// A dtype, a layout and a device, interned: equal metas have equal addresses.
#[derive(Debug)]
pub struct Meta {
    /// The interned number; below [`Meta::SCALARS`].
    pub id: u32,
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
}

impl Meta {
    /// Ids from here on stand for scalar arguments in signature keys.
    pub const SCALARS: u32 = 0xffff_fff0;

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.layout.shape
    }

    /// The meta with this dtype, layout and device.
    pub fn of(dtype: DType, layout: Layout, device: Device) -> &'static Meta {
        let mut tables = tables();
        if let Some(meta) = tables.metas.get(&(dtype, layout, device)) {
            return meta;
        }
        let size = layout.shape.size();
        let meta: &'static Meta = Box::leak(Box::new(Meta {
            id: tables.metas.len() as u32,
            dtype,
            layout,
            device,
            size,
            bytes: size * dtype.size(),
            dense: layout.is_dense(),
        }));
        tables.metas.insert((dtype, layout, device), meta);
        meta
    }

    /// The meta of a dense array. Each thread remembers some: whoever makes arrays asks for a few of them again and again.
    pub fn dense(dtype: DType, shape: Shape, device: Device) -> &'static Meta {
        let mix = |mixed: usize, extent: &usize| mixed.wrapping_mul(31).wrapping_add(*extent);
        let place = shape.iter().fold(dtype as usize, mix) % REMEMBERED;
        DENSE.with(|known| match known[place].get() {
            Some(meta) if meta.dtype == dtype && meta.layout.shape == shape && meta.device == device => meta,
            _ => {
                let meta = Meta::of(dtype, Layout::dense(shape), device);
                known[place].set(Some(meta));
                meta
            }
        })
    }
}

/// How many dense metas a thread remembers.
const REMEMBERED: usize = 64;

thread_local! {
    static DENSE: [Cell<Option<&'static Meta>>; REMEMBERED] = const { [const { Cell::new(None) }; REMEMBERED] };
}

/// What an op needs to know beyond its inputs.
#[expect(clippy::large_enum_variant, reason = "part of signatures, which are interned")]
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
        batch: Shape,
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
    /// The words of a routine.
    Words(Box<[i64]>),
    /// An update of this region; the value is a scalar if there is no second input.
    Update(Layout),
}

/// Op, inputs, attributes and result of a record, interned.
#[derive(Debug)]
pub struct Signature {
    /// The interned number.
    pub id: u32,
    /// The op.
    pub op: Op,
    /// Metas of the array inputs.
    pub inputs: Box<[&'static Meta]>,
    /// The rest.
    pub attrs: Attrs,
    /// The result.
    pub out: &'static Meta,
}

impl Signature {
    /// The signature with these parts.
    pub fn of(op: Op, inputs: &[&'static Meta], attrs: Attrs, out: &'static Meta) -> &'static Signature {
        let mut tables = tables();
        let key = (op, inputs.iter().map(|m| m.id).collect::<Box<[u32]>>(), attrs.clone(), out.id);
        if let Some(signature) = tables.signatures.get(&key) {
            return signature;
        }
        let id = tables.signatures.len() as u32;
        let signature: &'static Signature =
            Box::leak(Box::new(Signature { id, op, inputs: inputs.into(), attrs, out }));
        tables.signatures.insert(key, signature);
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
            Attrs::Matmul { batch, m, n, k } => batch.size().saturating_mul(m * n).saturating_mul(1 + k / 32),
            // Of a large table, only the rows that are named are read.
            Attrs::Rows { .. } if self.op == Op::Take => self.inputs[1].size.saturating_add(self.out.size * 2),
            Attrs::Words(ref words) if let Op::Routine(routine) = self.op => {
                let given: Vec<Given> = self.inputs.iter().map(|m| (m.dtype, m.shape())).collect();
                routine.cost(&given, &(self.out.dtype, self.out.shape()), words)
            }
            _ => self.inputs.iter().map(|m| m.size).fold(self.out.size, usize::saturating_add),
        }
    }
}

type SignatureKey = (Op, Box<[u32]>, Attrs, u32);

#[derive(Default)]
struct Tables {
    metas: HashMap<(DType, Layout, Device), &'static Meta, WordHash>,
    signatures: HashMap<SignatureKey, &'static Signature, WordHash>,
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
        assert!(std::ptr::eq(a, b));
        assert_ne!(a.id, Meta::dense(DType::F64, shape, host).id);
        assert_ne!(a.id, Meta::dense(DType::F32, shape, Device::Gpu(0)).id);
        let s = Signature::of(Op::Matmul, &[a, b], Attrs::None, a);
        assert!(std::ptr::eq(s, Signature::of(Op::Matmul, &[a, b], Attrs::None, a)));
    }
}
