//! Random numbers by rejection: each element tries with random bits of its own until it has its number, as on the host.

use super::job::{Job, Plan};
use crate::text::{PHILOX, define, routine_text};
use forerun_base::Result;
use forerun_ops::{Draw, Routine};
use forerun_plan::RoutineCall;

const TEXT: &str = include_str!("../../kernels/draw.cuh");

pub(super) fn plan(routine: Draw, _: &RoutineCall) -> Plan {
    let kind = match routine {
        Draw::Bits => 0,
        Draw::Gamma => 1,
        Draw::Poisson => 2,
        Draw::Binomial => 3,
        Draw::Multinomial => 4,
        Draw::Order => unreachable!("{} is done by the host", Routine::Draw(routine).name()),
    };
    Plan { texts: vec![routine_text(&define("KIND", kind), &[PHILOX, TEXT])], scratch: 0, steps }
}

fn steps(job: &Job<'_>) -> Result<()> {
    let (shape, io) = (job.call.out.1, &job.io);
    let (size, outcomes) = (shape.size(), shape.last().copied().unwrap_or(1));
    let given = |i: usize| job.call.inputs.get(i).map_or(0, |(_, shape)| shape.size());
    // Parameters are looked at even where nothing is drawn.
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
