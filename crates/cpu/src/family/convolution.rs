//! Convolutions of images. Half floats are computed in single precision and rounded once.

use crate::convolution::{Images, Stored, Vector, Weights, images_scratch, weights_scratch};
use crate::routine::call::{Args, Body, HostKernel};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Baseline, Isa, Set};
use forerun_base::{BFloat16, DType, Float16, Result, Team};
use forerun_ops::Convolution;
use forerun_ops::convolution::{Geometry, Window};
use forerun_plan::RoutineCall;

impl HostKernel for Convolution {
    fn body(&self) -> Body {
        match self {
            Convolution::Forward => |args, team| run(Convolution::Forward, args, team),
            Convolution::Transpose => |args, team| run(Convolution::Transpose, args, team),
            Convolution::Weight => |args, team| run(Convolution::Weight, args, team),
        }
    }

    fn scratch(&self, call: &RoutineCall, threads: usize) -> usize {
        let geometry = geometry(*self, call);
        match self {
            Convolution::Forward => images_scratch(&geometry, false, threads),
            Convolution::Transpose => images_scratch(&geometry, true, threads),
            Convolution::Weight => weights_scratch(&geometry, threads),
        }
    }
}

fn geometry(kind: Convolution, call: &RoutineCall) -> Geometry {
    kind.geometry(&call.inputs, &call.attributes::<Window>()).expect("inference accepted the call").0
}

fn run(kind: Convolution, args: &Args<'_>, team: &dyn Team) -> Result<()> {
    let geometry = geometry(kind, args.call);
    match args.dtype(0) {
        DType::F32 => singles::<f32>(kind, geometry, args, team),
        DType::F16 => singles::<Float16>(kind, geometry, args, team),
        DType::BF16 => singles::<BFloat16>(kind, geometry, args, team),
        DType::F64 => doubles(kind, geometry, args, team),
        dtype => unreachable!("inference refuses {dtype}"),
    }
    Ok(())
}

/// Dispatches with the tile width that fills the registers of the instruction set: sums take 24 of 32 registers, or 12
/// of 16.
fn singles<E: Stored<Wide = f32>>(kind: Convolution, geometry: Geometry, args: &Args<'_>, team: &dyn Team) {
    match args.isa {
        Isa::Baseline => with::<E, _, <Baseline as Set>::F32, 1>(Baseline, kind, geometry, args, team),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(set) => with::<E, _, <Avx2 as Set>::F32, 2>(set, kind, geometry, args, team),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(set) => with::<E, _, <Avx512 as Set>::F32, 4>(set, kind, geometry, args, team),
        #[cfg(not(target_arch = "x86_64"))]
        _ => with::<E, _, <Baseline as Set>::F32, 1>(Baseline, kind, geometry, args, team),
    }
}

/// The same for float64, whose vectors take two registers each.
fn doubles(kind: Convolution, geometry: Geometry, args: &Args<'_>, team: &dyn Team) {
    match args.isa {
        Isa::Baseline => with::<f64, _, <Baseline as Set>::F64, 1>(Baseline, kind, geometry, args, team),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(set) => with::<f64, _, <Avx2 as Set>::F64, 1>(set, kind, geometry, args, team),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(set) => with::<f64, _, <Avx512 as Set>::F64, 2>(set, kind, geometry, args, team),
        #[cfg(not(target_arch = "x86_64"))]
        _ => with::<f64, _, <Baseline as Set>::F64, 1>(Baseline, kind, geometry, args, team),
    }
}

fn with<E: Stored, S: Set, V: Vector<Elem = E::Wide>, const WIDEST: usize>(
    set: S,
    kind: Convolution,
    geometry: Geometry,
    args: &Args<'_>,
    team: &dyn Team,
) {
    let to = args.output::<E>();
    if to.is_empty() {
        return;
    }
    let (a, b) = (args.input::<E>(0), args.input::<E>(1));
    if geometry.work() == 0 {
        // Sums without terms are zero.
        return to.fill(E::default());
    }
    match kind {
        Convolution::Forward => Images::new(geometry, false, a, b).run::<S, V, WIDEST>(set, to, team),
        Convolution::Transpose => Images::new(geometry, true, a, b).run::<S, V, WIDEST>(set, to, team),
        Convolution::Weight => Weights::new(geometry, a, b).run::<S, V, WIDEST>(set, to, team),
    }
}
