//! Where no machine code is emitted: everything is interpreted.

use super::registers::RegisterMap;
use super::stats;
use crate::simd::Isa;
use forerun_plan::Program;

/// A program as machine code: there is none.
#[derive(Debug)]
pub(crate) enum MachineCode {}

impl MachineCode {
    pub(crate) fn new(_: Isa, _: &Program, _: usize, _: &RegisterMap<'_>, _: bool) -> Option<MachineCode> {
        stats::count(false);
        None
    }

    /// # Safety
    /// None is needed: nobody has one of these.
    pub(crate) unsafe fn run(&self, _: &[*mut u8], _: usize, _: bool) {
        match *self {}
    }
}
