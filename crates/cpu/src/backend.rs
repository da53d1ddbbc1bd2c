//! The CPU as a backend: each kernel of a plan becomes one of this crate's executables.

use crate::fill::Filler;
use crate::need::reserved;
use crate::place::{Joiner, Overwrite, Rearrange, Transfer};
use crate::pointwise::Pointwise;
use crate::product::Multiply;
use crate::reduce::Reducer;
use crate::routine;
use crate::rows::{Adder, Gatherer};
use crate::simd::Isa;
use crate::target::Target;
use forerun_plan::{Backend, Executable, Kernel};
use std::sync::Arc;

/// Compiles kernels for the host.
#[derive(Clone, Copy, Debug)]
pub struct CpuBackend {
    target: Target,
}

impl CpuBackend {
    /// The backend for the best instruction set here, or a plainer one if the environment asks for it.
    pub fn new() -> CpuBackend {
        CpuBackend { target: Target::new(Isa::detect()) }
    }

    /// The backend for one instruction set.
    pub fn with_isa(isa: Isa) -> CpuBackend {
        CpuBackend { target: Target::new(isa) }
    }

    /// The same backend, but that pointwise programs over at least so many elements become machine code where there is
    /// some for them. `usize::MAX` leaves all of them to the interpreter.
    pub fn emit_from(mut self, elements: usize) -> CpuBackend {
        self.target.emit_from = elements;
        self
    }

    /// The instruction set that kernels are compiled for.
    pub fn isa(&self) -> Isa {
        self.target.isa
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        CpuBackend::new()
    }
}

impl Backend for CpuBackend {
    fn compile(&self, kernel: &Kernel) -> Arc<dyn Executable> {
        match kernel {
            Kernel::Pointwise(program) => match Rearrange::new(program) {
                Some(copy) => Arc::new(copy),
                None => Arc::new(Pointwise::new(self.target, program)),
            },
            Kernel::Reduce(reduce) => Arc::new(Reducer::new(self.target, reduce)),
            Kernel::Product(product) => reserved(Arc::new(Multiply::new(self.target, product)), kernel),
            Kernel::Concat(concat) => Arc::new(Joiner::new(concat)),
            Kernel::Update(update) => Arc::new(Overwrite::new(self.isa(), update)),
            Kernel::Take(rows) => Arc::new(Gatherer::new(rows)),
            Kernel::ScatterAdd(rows) => Arc::new(Adder::new(rows)),
            Kernel::Fill(fill) => Arc::new(Filler::new(self.isa(), fill)),
            Kernel::Routine(call) => reserved(routine::compile(call, self.target.isa), kernel),
            Kernel::Transfer(bytes) => Arc::new(Transfer(*bytes)),
        }
    }
}
