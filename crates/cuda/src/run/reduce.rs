//! Reductions. The program that feeds a reduction is evaluated where it is folded.

use super::kernel::Run;
use super::pointwise::run_generic;
use crate::compile::Unit;
use crate::gpu::{DeviceIo, Gpu};
use crate::text::{Evaluator, ReduceShape, finish_text, partial_size, reduce_text};
use forerun_base::{Layout, Result, Shape};
use forerun_ops::Point;
use forerun_plan::{Instr, Program, ProgramInput, Reduce, Reg};
use std::sync::{Arc, OnceLock};

/// A reduction.
pub(super) struct Reducer {
    reduce: Reduce,
    packed: Variant,
    /// For unaligned addresses; created at first use.
    plain: OnceLock<Variant>,
    finish: OnceLock<Arc<Unit>>,
    /// The replacement while a fused kernel is compiled: the program with one more output, and a reduction of that.
    stand_in: OnceLock<Option<(Program, Box<Reducer>)>>,
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

/// The maximum size of the intermediate array of a replacement, because such memory is kept.
const MOST_BETWEEN: usize = 64 << 20;

impl Reducer {
    pub(super) fn new(gpu: &Gpu, reduce: &Reduce) -> Reducer {
        gpu.generic();
        Reducer {
            packed: Variant::new(gpu, reduce, Evaluator::of_reduce(reduce)),
            plain: OnceLock::new(),
            finish: OnceLock::new(),
            stand_in: OnceLock::new(),
            reduce: reduce.clone(),
        }
    }

    /// Runs the program with the generic kernel, and reduces its result with another kernel. Returns false if one is
    /// not yet compiled.
    ///
    /// # Safety
    /// As for [`Run::run`].
    unsafe fn run_unfused(&self, gpu: &Gpu, io: DeviceIo<'_>) -> Result<bool> {
        let Some((program, reducer)) = self.stand_in.get_or_init(|| stand_in(gpu, &self.reduce)) else {
            return Ok(false);
        };
        if !reducer.packed.unit.is_ready() || !gpu.generic().is_ready() {
            return Ok(false);
        }
        let bytes = program.shape.size() * self.reduce.dtype.size();
        if bytes > MOST_BETWEEN {
            return Ok(false);
        }
        let between = gpu.memory.scratch(bytes)?;
        let last = io.outputs.len() - 1;
        let mut outputs = io.outputs[..last].to_vec();
        outputs.push(between);
        let bound = DeviceIo { outputs: &outputs, ..io };
        // SAFETY: the caller guarantees the addresses, and the scratch has room for the program's result.
        let mut ran = unsafe { run_generic(gpu, program, bound) };
        if let Ok(true) = ran {
            let io = DeviceIo { inputs: &[between], outputs: &io.outputs[last..], scalars: &[], status: 0 };
            // SAFETY: the program's result is in the scratch; the caller guarantees the output.
            ran = unsafe { reducer.run(gpu, io) }.map(|()| true);
        }
        gpu.memory.give_scratch(between, bytes)?;
        ran
    }
}

fn stand_in(gpu: &Gpu, reduce: &Reduce) -> Option<(Program, Box<Reducer>)> {
    if reduce.program.code.is_empty() {
        return None;
    }
    let mut program = reduce.program.clone();
    let dst = Reg::Out(program.outputs.len() as u8);
    let dtype = reduce.dtype;
    program.outputs.push(dtype);
    program.code.push(Instr { op: Point::Copy, dtype, out: dtype, dst, args: [reduce.arg; 3] });
    let shape = Shape::of(&[reduce.outer, reduce.reduced, reduce.inner]);
    let inputs = vec![ProgramInput { dtype, layout: Layout::dense(shape) }];
    let bare = Program { shape, inputs, scalars: vec![], code: vec![], outputs: vec![], temps: 0 };
    let bare = Reduce { program: bare, arg: Reg::Input(0), ..reduce.clone() };
    Some((program, Box::new(Reducer::new(gpu, &bare))))
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
            let watched = Some((reduce.arg, reduce.dtype));
            self.plain.get_or_init(|| Variant::new(gpu, reduce, Evaluator::plain(&reduce.program, watched)))
        };
        // SAFETY: the caller guarantees the addresses.
        if !variant.unit.is_ready() && unsafe { self.run_unfused(gpu, io)? } {
            return Ok(());
        }
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
