//! The CPU backend: compiles each kernel of a plan to one of this crate's executables.

use crate::fill::Filler;
use crate::place::{Joiner, Overwrite, Rearrange, Transfer};
use crate::pointwise::Pointwise;
use crate::product::Multiply;
use crate::reduce::Reducer;
use crate::routine;
use crate::rows::{Adder, Gatherer};
use crate::scratch_bound::reserved;
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
    /// The backend for the best instruction set of this CPU, or for the one that `FORERUN_ISA` names.
    pub fn new() -> CpuBackend {
        CpuBackend { target: Target::new(Isa::detect()) }
    }

    /// The backend for one instruction set.
    pub fn with_isa(isa: Isa) -> CpuBackend {
        CpuBackend { target: Target::new(isa) }
    }

    /// Compiles pointwise programs over at least `elements` elements to machine code, where possible. `usize::MAX`
    /// disables machine code.
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
