//! Matrix products: floats with cuBLASLt, other dtypes with a plain kernel; then the program that follows. Both
//! multiply and sum half floats as float32 and round once; half floats with a layout that cuBLASLt cannot read use the
//! plain kernel.
//!
//! Invariant: one algorithm per shape, selected at first use and kept, so a product always gives the same bits.

use super::kernel::Run;
use super::mover::Mover;
use super::pointwise::Pointwise;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::sys::{Blas, Heuristic, blas_code as code};
use crate::text::{Collapsed, product_text};
use forerun_base::{DType, Error, ErrorKind, Layout, Result, Shape};
use forerun_plan::Lane;
use forerun_plan::Product;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

/// The cuBLASLt handle and its workspace. Products of a device run one after another, so they share it.
pub(crate) struct Products {
    blas: Blas,
    handle: *mut c_void,
    workspace: u64,
}

// SAFETY: any thread may use the library's handle.
unsafe impl Send for Products {}
// SAFETY: any thread may use the library's handle.
unsafe impl Sync for Products {}

/// Workspace bytes: the library's recommendation for large devices.
const WORKSPACE: usize = 32 << 20;

impl Products {
    pub(crate) fn new(gpu: &Gpu, blas: Blas) -> Result<Products> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to a local handle, the only memory that the call writes.
        check(unsafe { (blas.create)(&mut handle) }, "cublasLtCreate")?;
        Ok(Products { blas, handle, workspace: gpu.memory.scratch(WORKSPACE)? })
    }
}

fn check(status: i32, call: &str) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Runtime, format!("{call} failed with status {status}")))
}

/// The layout of an operand for the library, which is column-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    /// Whether the operand's rows are the library's columns, so that it is read without a transpose. The library then
    /// sees the transposed operand, which a product of transposes needs.
    by_rows: bool,
    /// The leading dimension, in elements.
    lead: usize,
}

/// The layout of a matrix, if the library can read it: contiguous in one dimension, with lines that do not overlap in
/// the other.
fn side(rows: usize, columns: usize, (row, column): (isize, isize)) -> Option<Side> {
    let lines = |count: usize, step: isize, length: usize| match count {
        1 => Some(length.max(1)),
        _ => usize::try_from(step).ok().filter(|step| *step >= length.max(1)),
    };
    if (column == 1 || columns == 1)
        && let Some(lead) = lines(rows, row, columns)
    {
        return Some(Side { by_rows: true, lead });
    }
    let adjacent = row == 1 || rows == 1;
    let lead = lines(columns, column, rows).filter(|_| adjacent)?;
    Some(Side { by_rows: false, lead })
}

/// An operand that is copied to a dense buffer first: the copy, and the size of the buffer.
struct Dense {
    mover: Mover,
    bytes: usize,
}

/// A product.
pub(super) struct Multiply {
    dtype: DType,
    m: usize,
    n: usize,
    k: usize,
    matrices: usize,
    library: Option<Library>,
    plain: Option<Plain>,
    dense: [Option<Dense>; 2],
    tail: Option<Pointwise>,
}

/// Products by the library: its plans by alignment and precision; `None` where it has none.
struct Library {
    sides: [Side; 2],
    stack: Stack,
    plans: Mutex<HashMap<(u64, bool), Option<Plan>>>,
}

/// Products by the plain kernel.
struct Plain {
    unit: Arc<Unit>,
    words: Vec<u64>,
    grid: usize,
}

/// Batches: the number of matrices that one call multiplies, and the offsets in A and B of every such group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stack {
    count: usize,
    strides: [isize; 2],
    offsets: Vec<[isize; 2]>,
}

impl Stack {
    fn new(batch: Shape, a: &Layout, b: &Layout) -> Stack {
        let rank = batch.rank();
        let part = |layout: &Layout| Layout::strided(batch, &layout.strides()[..rank]);
        let space = Collapsed::new(batch, &[part(a), part(b)]);
        let last = space.rank() - 1;
        let strides = [space.strides[0][last], space.strides[1][last]];
        let mut offsets = vec![[0, 0]];
        for d in 0..last {
            let (extent, steps) = (space.extents[d] as isize, [space.strides[0][d], space.strides[1][d]]);
            offsets = offsets
                .iter()
                .flat_map(|[a, b]| (0..extent).map(move |i| [a + i * steps[0], b + i * steps[1]]))
                .collect();
        }
        Stack { count: space.inner(), strides, offsets }
    }
}

impl Multiply {
    pub(super) fn new(gpu: &Gpu, product: &Product) -> Multiply {
        let (m, n, k) = (product.m, product.n, product.k);
        let matrices = product.batch.size();
        let mut made = Multiply {
            dtype: product.dtype,
            m,
            n,
            k,
            matrices,
            library: None,
            plain: None,
            dense: [None, None],
            tail: product.tail.as_ref().map(|program| Pointwise::new(gpu, program)),
        };
        if !matches!(product.dtype, DType::F32 | DType::F64) {
            made.plain = Some(Plain::new(gpu, product));
        }
        let floats = [DType::F32, DType::F64, DType::F16, DType::BF16];
        if floats.contains(&product.dtype) && matrices * m * n * k > 0 {
            let mut layouts = [product.a, product.b];
            let mut sides = [Side { by_rows: true, lead: 1 }; 2];
            let extents = [(m, k), (k, n)];
            for i in 0..2 {
                let rank = product.batch.rank();
                let strides = layouts[i].strides();
                let forward = strides[..rank].iter().all(|s| *s >= 0);
                let found = side(extents[i].0, extents[i].1, (strides[rank], strides[rank + 1])).filter(|_| forward);
                sides[i] = found.unwrap_or_else(|| {
                    let dense = Layout::dense(layouts[i].shape);
                    let mover = Mover::new(gpu, product.dtype.size(), &layouts[i], &dense);
                    made.dense[i] = Some(Dense { mover, bytes: dense.shape.size() * product.dtype.size() });
                    layouts[i] = dense;
                    Side { by_rows: true, lead: extents[i].1 }
                });
            }
            let stack = Stack::new(product.batch, &layouts[0], &layouts[1]);
            made.library = Some(Library { sides, stack, plans: Mutex::default() });
        }
        made
    }

    /// Multiplies with the library; returns false if it cannot and the plain kernel is available.
    ///
    /// # Safety
    /// As for [`Run::run`], with these addresses.
    unsafe fn by_library(&self, gpu: &Gpu, library: &Library, [a, b]: [u64; 2], c: u64) -> Result<bool> {
        let Library { sides, stack, plans } = library;
        let products = match gpu.products() {
            Err(_) if self.plain.is_some() => return Ok(false),
            products => products?,
        };
        let size = self.dtype.size();
        let tf32 = gpu.tf32() && self.dtype == DType::F32;
        let mut addresses = a | b | c;
        for [x, y] in &stack.offsets {
            addresses |= ((x.unsigned_abs() | y.unsigned_abs()) * size) as u64;
        }
        if stack.offsets.len() > 1 {
            addresses |= (stack.count * self.m * self.n * size) as u64;
        }
        let alignment = 1u64 << addresses.trailing_zeros().min(8);
        let mut plans = plans.lock().unwrap_or_else(|e| e.into_inner());
        let plan = match plans.entry((alignment, tf32)) {
            std::collections::hash_map::Entry::Occupied(found) => found.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(Plan::new(products, self, sides, stack, alignment as u32, tf32)?)
            }
        };
        let plan = match plan {
            Some(plan) => plan,
            None if self.plain.is_some() => return Ok(false),
            None => {
                let text = format!("no algorithm for {} x {} times {} x {}", self.m, self.k, self.k, self.n);
                return Err(Error::new(ErrorKind::Runtime, text).in_op("matmul"));
            }
        };
        for (i, [x, y]) in stack.offsets.iter().enumerate() {
            let at = |first: u64, elements: isize| first.wrapping_add_signed((elements * size as isize) as i64);
            let to = c + (i * stack.count * self.m * self.n * size) as u64;
            // SAFETY: the caller guarantees the batch, and these matrices are part of it.
            unsafe { plan.run(gpu, products, self.dtype, [at(a, *x), at(b, *y)], to)? };
        }
        Ok(true)
    }

    /// Multiplies with the library, after copying operands to dense buffers where necessary. If there is no memory for
    /// these, the plain kernel reads the operands in place.
    ///
    /// # Safety
    /// As for [`Run::run`].
    unsafe fn run_library(&self, gpu: &Gpu, library: &Library, io: DeviceIo<'_>) -> Result<bool> {
        let mut operands = [io.inputs[0], io.inputs[1]];
        let mut held = Vec::new();
        let mut done = Ok(true);
        for (operand, dense) in operands.iter_mut().zip(&self.dense) {
            if let Some(dense) = dense {
                match gpu.memory.scratch(dense.bytes) {
                    Ok(copy) => {
                        held.push((copy, dense.bytes));
                        // SAFETY: the caller guarantees the operand, and the scratch has room for it.
                        done = done.and_then(|fits| unsafe { dense.mover.run(gpu, *operand, copy) }.map(|()| fits));
                        *operand = copy;
                    }
                    // (During a capture the error kind differs: the capture is abandoned, and the next launch uses the
                    // same kernel as always.)
                    Err(error) if self.plain.is_some() && error.kind() == ErrorKind::Memory => {
                        done = done.map(|_| false)
                    }
                    Err(error) => done = done.and(Err(error)),
                }
            }
        }
        let done = match done {
            // SAFETY: the caller guarantees the operands; copies have the same elements.
            Ok(true) => unsafe { self.by_library(gpu, library, operands, io.outputs[0]) },
            done => done,
        };
        for (address, bytes) in held {
            gpu.memory.give_scratch(address, bytes)?;
        }
        done
    }
}

impl Plain {
    fn new(gpu: &Gpu, product: &Product) -> Plain {
        let rank = product.batch.rank();
        let signed = |value: isize| value as i64 as u64;
        let (a, b) = (product.a.strides(), product.b.strides());
        let tiles = (product.m.div_ceil(16), product.n.div_ceil(16));
        let mut words = vec![0, 0, 0, product.m as u64, product.n as u64, product.k as u64];
        words.extend([signed(a[rank]), signed(a[rank + 1]), signed(b[rank]), signed(b[rank + 1])]);
        words.extend([tiles.0 as u64, tiles.1 as u64, rank as u64]);
        for d in 0..rank {
            words.extend([product.batch[d] as u64, signed(a[d]), signed(b[d])]);
        }
        words.resize(13 + 3 * 6, 0);
        let grid = tiles.0 * tiles.1 * product.batch.size();
        Plain { unit: gpu.compiler.unit(product_text(product.dtype)), words, grid }
    }
}

impl Run for Multiply {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        let size = self.matrices * self.m * self.n;
        if size == 0 {
            return Ok(());
        }
        let c = io.outputs[0];
        let multiplied = match &self.library {
            // SAFETY: the elements of the output, which the caller guarantees.
            _ if self.k == 0 => unsafe { gpu.set_bytes(c, 0, size * self.dtype.size()).map(|()| true)? },
            // SAFETY: the caller guarantees the addresses.
            Some(library) => unsafe { self.run_library(gpu, library, io)? },
            None => false,
        };
        if let Some(Plain { unit, words, grid }) = self.plain.as_ref().filter(|_| !multiplied) {
            let mut words = words.clone();
            words[..3].copy_from_slice(&[io.inputs[0], io.inputs[1], c]);
            // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
            unsafe { gpu.launch_kernel(unit, *grid, 256, &words)? };
        }
        let Some(tail) = &self.tail else { return Ok(()) };
        let inputs: Vec<u64> = std::iter::once(c).chain(io.inputs[2..].iter().copied()).collect();
        // SAFETY: the product is the first input of the tail; the caller guarantees the rest.
        unsafe { tail.run(gpu, DeviceIo { inputs: &inputs, ..io }) }
    }

    fn is_ready(&self) -> bool {
        self.plain.as_ref().is_none_or(|plain| plain.unit.is_ready()) && self.tail.as_ref().is_none_or(Run::is_ready)
    }
}

/// The descriptors and the algorithm of a library product.
struct Plan {
    desc: *mut c_void,
    /// The layouts of B, A and C.
    layouts: [*mut c_void; 3],
    algorithm: Heuristic,
    destroy: (unsafe extern "C" fn(*mut c_void) -> i32, unsafe extern "C" fn(*mut c_void) -> i32),
}

// SAFETY: descriptors are not tied to a thread, and a plan is used under its lock.
unsafe impl Send for Plan {}

impl Plan {
    /// Creates a plan. Arrays are row-major and the library is column-major, so it computes the transpose of C as the
    /// product of the transposes of B and A. `None` if the library has no algorithm.
    fn new(
        products: &Products,
        multiply: &Multiply,
        sides: &[Side; 2],
        stack: &Stack,
        alignment: u32,
        tf32: bool,
    ) -> Result<Option<Plan>> {
        let blas = &products.blas;
        let (m, n, k) = (multiply.m as u64, multiply.n as u64, multiply.k as u64);
        let (kind, scale, compute) = match multiply.dtype {
            DType::F64 => (code::REAL_64, code::REAL_64, code::COMPUTE_64),
            DType::F16 => (code::REAL_16, code::REAL_32, code::COMPUTE_32),
            DType::BF16 => (code::BRAIN_16, code::REAL_32, code::COMPUTE_32),
            _ if tf32 => (code::REAL_32, code::REAL_32, code::COMPUTE_TF32),
            _ => (code::REAL_32, code::REAL_32, code::COMPUTE_32),
        };
        let null = std::ptr::null_mut();
        let mut plan = Plan {
            desc: null,
            layouts: [null; 3],
            algorithm: Heuristic::EMPTY,
            destroy: (blas.desc_destroy, blas.layout_destroy),
        };
        let [a, b] = sides;
        let shape = |side: &Side, rows: u64, columns: u64| if side.by_rows { (columns, rows) } else { (rows, columns) };
        let (b_shape, a_shape) = (shape(b, k, n), shape(a, m, k));
        let all = [
            (b_shape, b.lead as i64, stack.strides[1] as i64),
            (a_shape, a.lead as i64, stack.strides[0] as i64),
            ((n, m), n as i64, (m * n) as i64),
        ];
        let mut preference = null;
        let mut found = 0;
        // SAFETY: every call gets handles that were created above, and values of the size it expects.
        unsafe {
            check((blas.desc_create)(&mut plan.desc, compute, scale), "cublasLtMatmulDescCreate")?;
            for (which, side) in [(code::DESC_TRANS_A, b), (code::DESC_TRANS_B, a)] {
                let turn = !side.by_rows as i32;
                check(
                    (blas.desc_set)(plan.desc, which, (&raw const turn).cast(), 4),
                    "cublasLtMatmulDescSetAttribute",
                )?;
            }
            for (layout, ((rows, columns), lead, stride)) in plan.layouts.iter_mut().zip(all) {
                check((blas.layout_create)(layout, kind, rows, columns, lead), "cublasLtMatrixLayoutCreate")?;
                let count = stack.count as i32;
                let set = blas.layout_set;
                check(set(*layout, code::LAYOUT_BATCH_COUNT, (&raw const count).cast(), 4), "cublasLt batch")?;
                check(set(*layout, code::LAYOUT_BATCH_STRIDE, (&raw const stride).cast(), 8), "cublasLt batch")?;
            }
            check((blas.preference_create)(&mut preference), "cublasLtMatmulPreferenceCreate")?;
            let bytes = WORKSPACE as u64;
            (blas.preference_set)(preference, code::PREFER_WORKSPACE, (&raw const bytes).cast(), 8);
            // Otherwise partial sums may be rounded to half floats before they are added.
            let reduction = code::REDUCTION_AS_COMPUTED;
            let set = (blas.preference_set)(preference, code::PREFER_REDUCTION, (&raw const reduction).cast(), 4);
            for which in code::PREFER_ALIGNMENT {
                (blas.preference_set)(preference, which, (&raw const alignment).cast(), 4);
            }
            let [b, a, c] = plan.layouts;
            let best = &mut plan.algorithm;
            let asked = (blas.heuristic)(products.handle, plan.desc, b, a, c, c, preference, 1, best, &mut found);
            (blas.preference_destroy)(preference);
            check(set, "cublasLtMatmulPreferenceSetAttribute")?;
            if asked == code::NOT_SUPPORTED {
                return Ok(None);
            }
            check(asked, "cublasLtMatmulAlgoGetHeuristic")?;
        }
        Ok((found > 0 && plan.algorithm.state == 0).then_some(plan))
    }

    /// Multiplies one group of matrices.
    ///
    /// # Safety
    /// The addresses must be valid for matrices of the plan's layouts until the stream has completed the product.
    unsafe fn run(&self, gpu: &Gpu, products: &Products, dtype: DType, [a, b]: [u64; 2], c: u64) -> Result<()> {
        let (single, double) = ([1f32, 0.0], [1f64, 0.0]);
        let factors: [*const c_void; 2] = match dtype {
            DType::F64 => [(&raw const double[0]).cast(), (&raw const double[1]).cast()],
            _ => [(&raw const single[0]).cast(), (&raw const single[1]).cast()],
        };
        let [b_layout, a_layout, c_layout] = self.layouts;
        // SAFETY: the caller guarantees the matrices; factors and handles outlive the call.
        let status = unsafe {
            (products.blas.multiply)(
                products.handle,
                self.desc,
                factors[0],
                b,
                b_layout,
                a,
                a_layout,
                factors[1],
                c,
                c_layout,
                c,
                c_layout,
                self.algorithm.algorithm.as_ptr(),
                products.workspace,
                WORKSPACE,
                gpu.streams.get(Lane::Compute),
            )
        };
        check(status, "cublasLtMatmul")
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let (desc, layout) = self.destroy;
        // SAFETY: this value owns the handles.
        unsafe {
            for handle in self.layouts.into_iter().filter(|handle| !handle.is_null()) {
                layout(handle);
            }
            if !self.desc.is_null() {
                desc(self.desc);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_matrices_the_library_reads() {
        let by_rows = |lead| Some(Side { by_rows: true, lead });
        let by_columns = |lead| Some(Side { by_rows: false, lead });
        assert_eq!(side(4, 6, (6, 1)), by_rows(6));
        assert_eq!(side(4, 6, (10, 1)), by_rows(10));
        assert_eq!(side(4, 6, (1, 4)), by_columns(4));
        assert_eq!(side(1, 6, (99, 1)), by_rows(6), "one row");
        assert_eq!(side(4, 1, (3, 7)), by_rows(3), "one column with gaps");
        assert_eq!(side(4, 6, (0, 1)), None, "one row, repeated");
        assert_eq!(side(4, 6, (6, -1)), None, "backwards");
        assert_eq!(side(4, 6, (12, 2)), None, "gaps both ways");
    }

    #[test]
    fn stacks_are_multiplied_in_few_calls() {
        let batch = Shape::of(&[2, 5]);
        let a = Layout::dense(Shape::of(&[2, 5, 3, 4]));
        let b = Layout::dense(Shape::of(&[5, 4, 2])).broadcast_to(Shape::of(&[2, 5, 4, 2])).unwrap();
        let stack = Stack::new(batch, &a, &b);
        assert_eq!(stack, Stack { count: 5, strides: [12, 8], offsets: vec![[0, 0], [60, 0]] });
        let one = Stack::new(Shape::SCALAR, &Layout::dense(Shape::of(&[3, 4])), &Layout::dense(Shape::of(&[4, 2])));
        assert_eq!((one.count, one.offsets.len()), (1, 1));
    }
}
