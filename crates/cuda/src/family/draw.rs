//! Random draws by rejection: each element consumes its own random bits until a candidate is accepted, as on the host.

use crate::gpu::Raised;
use crate::run::{CheckedCall, DeviceKernel, Job, Plan, checked};
use crate::text::{PHILOX, define, routine_text};
use forerun_base::{DType, Error, ErrorKind, Result};
use forerun_ops::draw::Extents;
use forerun_ops::{Draw, Given, List, Routine};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../kernels/draw.cuh");

impl DeviceKernel for Draw {
    fn plan(&self, _: &RoutineCall) -> Plan {
        let kind = match self {
            Draw::Bits => 0,
            Draw::Gamma => 1,
            Draw::Poisson => 2,
            Draw::Binomial => 3,
            Draw::Multinomial => 4,
            Draw::Order => unreachable!("{} runs on the host", Routine::Draw(*self).name()),
        };
        Plan { texts: vec![routine_text(&define("KIND", kind), &[PHILOX, TEXT])], scratch: 0, steps }
    }

    fn runs(&self, given: &[Given]) -> bool {
        match self {
            // A shortcut of the host; on a device, frontends use other ops with the same result.
            Draw::Order => false,
            // The host has no kernel for a single probability with several outcomes either.
            Draw::Multinomial => given[1].1.size() != 1,
            Draw::Bits | Draw::Gamma | Draw::Poisson | Draw::Binomial => true,
        }
    }

    fn complaint(&self, _: &RoutineCall, raised: Raised) -> Error {
        let (number, array) = (f64::from_bits(raised.index as u64), raised.array());
        let text = match (self, array) {
            (Draw::Gamma, _) => format!("alpha must not be negative: {number}"),
            (Draw::Poisson, _) => format!("lam must be neither negative nor too large: {number}"),
            (Draw::Multinomial, 2) => "the sum of p must not exceed 1".to_owned(),
            (Draw::Multinomial, 1) => "p must lie between 0 and 1".to_owned(),
            (_, 1) => format!("p must lie between 0 and 1: {number}"),
            _ => format!("n must be a nonnegative integer: {number}"),
        };
        Error::new(ErrorKind::Value, text)
    }

    fn checked_calls(&self, routine: Routine) -> Vec<CheckedCall> {
        let inputs = routine.row().inputs.len();
        vec![checked(&[(DType::F64, &[3][..]); 2][..inputs], Extents { shape: List::from_slice(&[3]) })]
    }

    fn left_to_host(&self) -> Option<&'static str> {
        (*self == Draw::Multinomial).then_some("one probability")
    }
}

fn steps(job: &Job<'_>) -> Result<()> {
    let (shape, io) = (job.call.out.1, &job.io);
    let (size, outcomes) = (shape.size(), shape.last().copied().unwrap_or(1));
    let given = |i: usize| job.call.inputs.get(i).map_or(0, |(_, shape)| shape.size());
    // Parameters are validated even if nothing is drawn.
    let look = match job.call.routine {
        Routine::Draw(Draw::Multinomial) if size == 0 => 1,
        Routine::Draw(Draw::Multinomial) => size / outcomes,
        Routine::Draw(Draw::Bits) => size,
        _ => size.max(given(0)).max(given(1)),
    };
    let address = |i: usize| io.inputs.get(i).copied().unwrap_or(0);
    let mut words = vec![size as u64, look as u64, io.outputs[0], io.scalars[0], io.scalars[1], io.status];
    words.extend([address(0), given(0) as u64, address(1), given(1) as u64, outcomes as u64]);
    job.blocks(0, look.div_ceil(128).min(1 << 20), 128, &words)
}
