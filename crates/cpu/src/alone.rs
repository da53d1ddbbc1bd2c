//! A program of one instruction over few elements, such as a tiny record: without a machine, which takes longer to set up
//! than such a program takes to run.
//!
//! Invariant: the loop is the one that the tile interpreter would run, so the bits are the same.

use crate::gather::Walk;
use crate::loops::{self, Loop, Operand};
use crate::simd::Isa;
use crate::tile::{SPLAT, Scratch, TILE, element, splat};
use forerun_base::DType;
use forerun_ops::Class;
use forerun_plan::{Io, Program, Reg};
use std::mem::MaybeUninit;

/// One instruction, compiled.
pub(crate) struct Alone {
    run: Loop,
    arity: usize,
    from: [Source; 3],
    size: usize,
}

/// Where an operand comes from.
#[derive(Clone, Copy)]
enum Source {
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
        if size > TILE || instr.dst != Reg::Out(0) {
            return None;
        }
        let arity = instr.op.row().arity;
        let mut from = [Source::Scalar(0, 0); 3];
        for (n, (source, arg)) in from.iter_mut().zip(instr.args).enumerate().take(arity) {
            let chooses = n == 0 && instr.op.row().class == Class::Select;
            let bytes = if chooses { DType::Bool } else { instr.dtype }.size();
            *source = match arg {
                Reg::Scalar(i) => Source::Scalar(i, bytes as u8),
                Reg::Input(i) => {
                    let layout = &program.inputs[i as usize].layout;
                    if layout.is_dense() {
                        Source::Input(i, (loops::lanes(isa) * bytes) as u32)
                    } else if Walk::new(layout).is_constant() {
                        Source::Constant(i, bytes as u8)
                    } else {
                        return None;
                    }
                }
                Reg::Temp(_) | Reg::Out(_) => return None,
            };
        }
        Some(Alone { run: loops::find(isa, instr.op, instr.dtype, instr.out)?, arity, from, size })
    }

    /// Runs it.
    ///
    /// # Safety
    /// As for [`forerun_plan::Executable::run`].
    #[inline]
    pub(crate) unsafe fn run(&self, io: Io<'_>) {
        let mut splats = Scratch::<{ 3 * SPLAT }>(MaybeUninit::uninit());
        let mut operands = [Operand::NONE; 3];
        // SAFETY: each splat has its own place; the addresses and their extent are the caller's promise.
        unsafe {
            for (n, (operand, source)) in operands.iter_mut().zip(self.from).enumerate().take(self.arity) {
                let copies = splats.0.as_mut_ptr().cast::<u8>().add(n * SPLAT);
                *operand = match source {
                    Source::Input(i, step) => Operand { from: io.inputs[i as usize], step: step as usize },
                    Source::Constant(i, size) => {
                        splat(element(io.inputs[i as usize], size), size, copies);
                        Operand { from: copies, step: 0 }
                    }
                    Source::Scalar(i, size) => {
                        splat(io.scalars[i as usize], size, copies);
                        Operand { from: copies, step: 0 }
                    }
                };
            }
            (self.run)(io.outputs[0], &operands, self.size);
        }
    }
}
