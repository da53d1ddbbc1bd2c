//! A program of one instruction that one thread runs whole: without a machine, which takes longer to set up than a short
//! program takes to run.
//!
//! Invariant: the loop is the one that the tile interpreter would run, so the bits are the same.

use crate::gather::Walk;
use crate::loops::{self, Found, Loop, Operand};
use crate::simd::Isa;
use crate::tile::{SPLAT, Scratch, splat};
use forerun_base::DType;
use forerun_ops::Class;
use forerun_plan::{Io, Program, Reg};
use std::mem::MaybeUninit;

/// One instruction, compiled.
pub(crate) struct Alone {
    run: Loop,
    from: [Source; 3],
    size: usize,
}

/// Where an operand comes from.
#[derive(Clone, Copy)]
enum Source {
    /// The instruction takes no more.
    None,
    /// An input, where it lies, and how far it moves from one vector to the next.
    Input(u8, u32),
    /// One element of an input, for all.
    Constant(u8, u8),
    /// A scalar, for all.
    Scalar(u8, u8),
}

impl Alone {
    /// Compiles a program, if it is one of these.
    pub(crate) fn new(isa: Isa, program: &Program) -> Option<Alone> {
        let ([instr], [_]) = (&program.code[..], &program.outputs[..]) else { return None };
        let size = program.shape.size();
        if instr.dst != Reg::Out(0) {
            return None;
        }
        let Found { run, lanes } = loops::find(isa, instr.op, instr.dtype, instr.out)?;
        let arity = instr.op.row().arity;
        let mut from = [Source::None; 3];
        for (n, (source, arg)) in from.iter_mut().zip(instr.args).enumerate().take(arity) {
            let chooses = n == 0 && instr.op.row().class == Class::Select;
            let bytes = if chooses { DType::Bool } else { instr.dtype }.size();
            *source = match arg {
                Reg::Scalar(i) => Source::Scalar(i, bytes as u8),
                Reg::Input(i) => {
                    let layout = &program.inputs[i as usize].layout;
                    if layout.is_dense() {
                        Source::Input(i, (lanes * bytes) as u32)
                    } else if Walk::new(layout).is_constant() {
                        Source::Constant(i, bytes as u8)
                    } else {
                        return None;
                    }
                }
                Reg::Temp(_) | Reg::Out(_) => return None,
            };
        }
        Some(Alone { run, from, size })
    }

    /// Runs it.
    ///
    /// # Safety
    /// As for [`forerun_plan::Executable::run`].
    #[inline]
    pub(crate) unsafe fn run(&self, io: Io<'_>) {
        let mut splats = Scratch::<{ 3 * SPLAT }>(MaybeUninit::uninit());
        let copies = splats.0.as_mut_ptr().cast::<u8>();
        // Only addresses are taken out of `io`, which was written a moment ago, word by word: a copy of its slices, two words at a
        // time, would wait until those are written.
        let (inputs, scalars) = (io.inputs.as_ptr(), io.scalars.as_ptr());
        // SAFETY: each operand has a splat of its own, below the end of the scratch; `io` is as the program asks for, which is the
        // caller's promise, as are the addresses in it and their extent. Written out: a loop over so few would be most of the work.
        unsafe {
            let operands = [
                self.from[0].operand(inputs, scalars, copies),
                self.from[1].operand(inputs, scalars, copies.add(SPLAT)),
                self.from[2].operand(inputs, scalars, copies.add(2 * SPLAT)),
            ];
            (self.run)(*io.outputs.as_ptr(), &operands, self.size);
        }
    }
}

impl Source {
    /// The operand, with copies of its element made where that is the same for all.
    ///
    /// # Safety
    /// There must be the input or the scalar, and room for a splat, aligned to 64.
    unsafe fn operand(self, inputs: *const *const u8, scalars: *const u64, copies: *mut u8) -> Operand {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Source::None => Operand::NONE,
                Source::Input(i, step) => Operand { from: *inputs.add(i as usize), step: step as usize },
                Source::Constant(i, size) => {
                    splat(*inputs.add(i as usize), size, copies);
                    Operand { from: copies, step: 0 }
                }
                Source::Scalar(i, size) => {
                    splat([*scalars.add(i as usize), 0].as_ptr().cast(), size, copies);
                    Operand { from: copies, step: 0 }
                }
            }
        }
    }
}
