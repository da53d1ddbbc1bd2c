//! Reductions. The program that feeds a reduction is evaluated where it is folded.

use super::kernel::Run;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::text::{Evaluator, ReduceShape, finish_text, partial_size, reduce_text};
use forerun_base::Result;
use forerun_plan::Reduce;
use std::sync::{Arc, OnceLock};

/// A reduction.
pub(super) struct Reducer {
    reduce: Reduce,
    packed: Variant,
    /// For unaligned addresses; created at first use.
    plain: OnceLock<Variant>,
    finish: OnceLock<Arc<Unit>>,
}

struct Variant {
    evaluator: Evaluator,
    shape: ReduceShape,
    unit: Arc<Unit>,
}

impl Variant {
    fn new(gpu: &Gpu, reduce: &Reduce, evaluator: Evaluator) -> Variant {
        let shape = ReduceShape::new(reduce, evaluator.pack);
        let unit = gpu.compiler.unit(reduce_text(reduce, &evaluator, &shape));
        Variant { evaluator, shape, unit }
    }
}

impl Reducer {
    pub(super) fn new(gpu: &Gpu, reduce: &Reduce) -> Reducer {
        Reducer {
            packed: Variant::new(gpu, reduce, Evaluator::of_reduce(reduce)),
            plain: OnceLock::new(),
            finish: OnceLock::new(),
            reduce: reduce.clone(),
        }
    }
}

impl Run for Reducer {
    unsafe fn run(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<()> {
        let reduce = &self.reduce;
        if reduce.outer * reduce.inner == 0 {
            return Ok(());
        }
        let last = io.outputs.len() - 1;
        let bound = DeviceIo { outputs: &io.outputs[..last], ..io };
        let variant = if self.packed.evaluator.takes(bound) {
            &self.packed
        } else {
            self.plain.get_or_init(|| Variant::new(gpu, reduce, Evaluator::plain(&reduce.program)))
        };
        let share = variant.shape.share();
        let (rounds, total) = variant.shape.rounds(&share);
        let (size, out) = (partial_size(reduce), io.outputs[last]);
        let partials = if total > 0 { gpu.memory.scratch(total * size)? } else { 0 };
        let mut words = variant.evaluator.bind(bound);
        words.extend(variant.shape.words(&share, out, partials));
        // SAFETY: the caller guarantees the addresses; the words match the kernel's source.
        let mut done = unsafe { gpu.launch_kernel(&variant.unit, share.grid, 256, &words) };
        for round in &rounds {
            let finish = self.finish.get_or_init(|| gpu.compiler.unit(finish_text(reduce)));
            let words = variant.shape.round_words(round, out, partials, size);
            // SAFETY: as above; partial results are in the scratch.
            done = done.and_then(|()| unsafe { gpu.launch_kernel(finish, round.grid, round.threads, &words) });
        }
        if total > 0 {
            gpu.memory.give_scratch(partials, total * size)?;
        }
        done
    }

    fn is_ready(&self) -> bool {
        self.packed.unit.is_ready()
    }
}
