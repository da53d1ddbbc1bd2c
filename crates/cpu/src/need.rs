//! How much scratch memory a kernel takes at the most: a bound over what it allocates itself and what the libraries under it
//! do. Declared once here, held while the kernel runs (see [`crate::reserve`]).

use crate::pool;
use crate::reserve::{Reserve, SMALL};
use forerun_base::{DType, Error, ErrorKind, Result, Team};
use forerun_ops::{Routine, Search};
use forerun_plan::{Executable, Io, Kernel, Product, RoutineCall};
use std::sync::Arc;

/// What a library packs of both operands at a time, about: it goes by the caches.
const PACKED: usize = 4 << 20;
/// What a panel of an operand that is brought into another order takes.
const PANELS: usize = 20 << 20;
/// Bytes beside the elements: counts, tables, lists of pieces.
const BESIDE: usize = 1 << 20;

/// A kernel that holds its scratch memory while it runs.
struct Reserved {
    kernel: Arc<dyn Executable>,
    /// What one thread takes.
    bytes: usize,
    /// What each further thread adds at the most.
    more: usize,
}

impl Reserved {
    fn hold(&self, threads: usize) -> Result<Reserve> {
        let bytes = self.more.saturating_mul(threads - 1).saturating_add(self.bytes);
        let held = Reserve::hold(bytes).or_else(|| {
            pool::trim_all();
            Reserve::hold(bytes)
        });
        held.ok_or_else(|| Error::new(ErrorKind::Memory, format!("cannot allocate {bytes} bytes of scratch memory")))
    }
}

impl Executable for Reserved {
    unsafe fn check(&self, io: Io<'_>) -> Result<()> {
        let _held = self.hold(1)?;
        // SAFETY: the caller's promise is this one.
        unsafe { self.kernel.check(io) }
    }

    unsafe fn run(&self, io: Io<'_>, team: &dyn Team) {
        let _held = self.hold(team.width());
        // SAFETY: the caller's promise is this one.
        unsafe { self.kernel.run(io, team) }
    }

    unsafe fn attempt(&self, io: Io<'_>, team: &dyn Team) -> Result<()> {
        let _held = self.hold(team.width())?;
        // SAFETY: the caller's promise is this one.
        unsafe { self.kernel.attempt(io, team) }
    }
}

/// The kernel, with its scratch memory held while it runs if that is not little.
pub(crate) fn reserved(kernel: Arc<dyn Executable>, of: &Kernel) -> Arc<dyn Executable> {
    let needs = |threads: usize| match of {
        Kernel::Product(product) => of_product(product, threads),
        Kernel::Routine(call) => of_routine(call, threads),
        _ => 0,
    };
    // A further thread never adds more than the second one does.
    let (bytes, both) = (needs(1), needs(2));
    if both < SMALL { kernel } else { Arc::new(Reserved { kernel, bytes, more: both - bytes }) }
}

/// Whether all prime factors of a length are small.
fn is_smooth(mut length: usize) -> bool {
    for factor in [2, 3, 5, 7, 11, 13] {
        while length > 1 && length.is_multiple_of(factor) {
            length /= factor;
        }
    }
    length <= 1
}

fn of_product(product: &Product, threads: usize) -> usize {
    let Product { m, n, k, .. } = *product;
    let operands = (m.saturating_add(n)).saturating_mul(k).saturating_mul(product.dtype.size().max(4));
    // Small ones are not packed, or packed whole.
    operands.saturating_mul(3).min(threads * (PACKED + PANELS))
}

fn of_routine(call: &RoutineCall, threads: usize) -> usize {
    let sizes = || call.inputs.iter().map(|(_, shape)| shape.size());
    let (most, out) = (sizes().max().unwrap_or(0), call.out.1.size());
    if out == 0 {
        return 0;
    }
    let first = call.inputs.first();
    let axis = |extents: &[usize]| {
        let rank = extents.len() as i64;
        let word = call.words.first().copied().unwrap_or(0);
        usize::try_from(if word < 0 { word + rank } else { word }).ok().and_then(|axis| extents.get(axis).copied())
    };
    let times = usize::saturating_mul;
    let bytes = match call.routine {
        Routine::Linalg(_) => {
            let Some((dtype, shape)) = first else { return 0 };
            let [.., rows, columns] = shape[..] else { return BESIDE };
            let (side, size) = (rows.max(columns), 2 * dtype.size().max(8));
            let matrices = (most / (rows * columns).max(1)).min(threads);
            let widened =
                if matches!(dtype, DType::C64) { times(32, sizes().sum::<usize>().saturating_add(out)) } else { 0 };
            times(times(8, times(side, side)), size).saturating_add(PACKED).saturating_mul(matrices) + widened
        }
        Routine::Fft(_) => {
            let given = axis(&call.out.1).unwrap_or(0);
            let length = first.and_then(|(_, shape)| axis(shape)).unwrap_or(0).max(given);
            let lines = (most.max(out) / length.max(1)).min(threads);
            let size = 2 * first.map_or(8, |(dtype, _)| dtype.carrier().size().min(8));
            // A length with a large prime factor is done by way of one of up to four times as many points.
            let points = if is_smooth(length) { 8 + 6 * lines } else { 24 + 12 * lines };
            times(length, times(size, points))
        }
        Routine::Order(_) | Routine::Unique(_) | Routine::Draw(_) => {
            let length = first.and_then(|(_, shape)| axis(shape)).unwrap_or(0);
            let lines = (most / length.max(1)).clamp(1, threads);
            times(56, most.max(out).min(times(length.max(1), lines)).max(length))
        }
        Routine::Place(_) => times(48, call.inputs.get(1).map_or(0, |(_, shape)| shape.size())),
        // Halves are widened.
        Routine::Convolve(_) if first.is_some_and(|(dtype, _)| dtype.size() == 2) => {
            times(4, sizes().sum::<usize>().saturating_add(out))
        }
        Routine::Convolve(_) => 0,
        Routine::Along(_) => times(8, call.inputs.get(1).map_or(0, |(_, shape)| shape.size())),
        // A table for each thread.
        Routine::Count(_) => times(16, out).saturating_mul(threads),
        // The others in order.
        Routine::Search(Search::Among) => times(16, sizes().fold(0, usize::saturating_add)),
        // A line of the input and one of the result for each thread.
        Routine::Choose(_) | Routine::Normalise(_) | Routine::Scan(_) | Routine::Search(_) => {
            let length = first.and_then(|(_, shape)| axis(shape)).unwrap_or(0);
            times(32, length).saturating_mul(threads).min(times(32, most))
        }
    };
    if most.max(out) < 1024 { bytes } else { bytes.saturating_add(BESIDE) }
}
