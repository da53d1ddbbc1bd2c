//! Programs of one instruction over few elements, run by one thread without the tile interpreter: setting up a machine
//! takes longer than the loop itself.
//!
//! Invariant: the loop is the one that the tile interpreter would run, so the bits are the same.

use crate::gather::Walk;
use crate::loops::{self, Loop, LoopInput, VectorLoop};
use crate::simd::Isa;
use crate::tile::{SPLAT, Scratch, splat};
use forerun_base::DType;
use forerun_ops::Class;
use forerun_plan::{Io, Program, Reg};
use std::mem::MaybeUninit;

/// A program of one instruction: its loop and where its inputs come from.
pub(crate) struct SingleOp {
    run: Loop,
    inputs: [InputSource; 3],
    size: usize,
}

/// Where an input of the instruction comes from.
#[derive(Clone, Copy)]
enum InputSource {
    /// The instruction has no such input.
    None,
    /// An input of the program, read in place, and the bytes from one vector to the next.
    Input(u8, u32),
    /// An input of the program that is one element, broadcast.
    Constant(u8, u8),
    /// A scalar, broadcast.
    Scalar(u8, u8),
}

impl SingleOp {
    /// Compiles a program of one instruction whose inputs are dense or one element; `None` for any other.
    pub(crate) fn new(isa: Isa, program: &Program) -> Option<SingleOp> {
        let ([instr], [_]) = (&program.code[..], &program.outputs[..]) else { return None };
        let size = program.shape.size();
        if instr.dst != Reg::Out(0) {
            return None;
        }
        let VectorLoop { run, lanes } = loops::find(isa, instr.op, instr.dtype, instr.out)?;
        let arity = instr.op.row().arity;
        let mut inputs = [InputSource::None; 3];
        for (n, (source, arg)) in inputs.iter_mut().zip(instr.args).enumerate().take(arity) {
            let chooses = n == 0 && instr.op.row().class == Class::Select;
            let bytes = if chooses { DType::Bool } else { instr.dtype }.size();
            *source = match arg {
                Reg::Scalar(i) => InputSource::Scalar(i, bytes as u8),
                Reg::Input(i) => {
                    let layout = &program.inputs[i as usize].layout;
                    if layout.is_dense() {
                        InputSource::Input(i, (lanes * bytes) as u32)
                    } else if Walk::new(layout).is_constant() {
                        InputSource::Constant(i, bytes as u8)
                    } else {
                        return None;
                    }
                }
                Reg::Temp(_) | Reg::Out(_) => return None,
            };
        }
        Some(SingleOp { run, inputs, size })
    }

    /// Runs it.
    ///
    /// # Safety
    /// As for [`forerun_plan::Executable::run`].
    #[inline]
    pub(crate) unsafe fn run(&self, io: Io<'_>) {
        let mut splats = Scratch::<{ 3 * SPLAT }>(MaybeUninit::uninit());
        let copies = splats.0.as_mut_ptr().cast::<u8>();
        // Only addresses are read from `io`. The caller has just written it word by word, so a copy of its slices, two
        // words at a time, would stall on store forwarding.
        let (inputs, scalars) = (io.inputs.as_ptr(), io.scalars.as_ptr());
        debug_assert!(io.outputs.len() == 1, "a program of one instruction has one output");
        // SAFETY: each input has its own `SPLAT` bytes of the scratch; the caller guarantees that `io` has the
        // program's inputs, scalars and output, and that they hold its elements. Unrolled: a loop over three inputs
        // would be most of the work.
        unsafe {
            let loop_inputs = [
                self.inputs[0].load(inputs, scalars, copies),
                self.inputs[1].load(inputs, scalars, copies.add(SPLAT)),
                self.inputs[2].load(inputs, scalars, copies.add(2 * SPLAT)),
            ];
            (self.run)(*io.outputs.as_ptr(), &loop_inputs, self.size);
        }
    }
}

impl InputSource {
    /// The input as the loop takes it. Writes a vector of copies to `copies` if the element is broadcast.
    ///
    /// # Safety
    /// The input or the scalar must exist, and `copies` must have [`SPLAT`] bytes, aligned to 64.
    unsafe fn load(self, inputs: *const *const u8, scalars: *const u64, copies: *mut u8) -> LoopInput {
        // SAFETY: the caller guarantees the input or the scalar, and the bytes at `copies`.
        unsafe {
            match self {
                InputSource::None => LoopInput::NONE,
                InputSource::Input(i, step) => LoopInput { from: *inputs.add(i as usize), step: step as usize },
                InputSource::Constant(i, size) => {
                    splat(*inputs.add(i as usize), size, copies);
                    LoopInput { from: copies, step: 0 }
                }
                InputSource::Scalar(i, size) => {
                    splat([*scalars.add(i as usize), 0].as_ptr().cast(), size, copies);
                    LoopInput { from: copies, step: 0 }
                }
            }
        }
    }
}
