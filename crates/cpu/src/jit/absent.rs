//! A replacement for platforms without machine code: everything is interpreted.

use super::registers::RegisterMap;
use super::stats;
use crate::simd::Isa;
use forerun_plan::Program;

/// Machine code of a program; never created on this platform.
#[derive(Debug)]
pub(crate) enum MachineCode {}

impl MachineCode {
    pub(crate) fn new(_: Isa, _: &Program, _: usize, _: &RegisterMap<'_>, _: bool) -> Option<MachineCode> {
        stats::count(false);
        None
    }

    /// # Safety
    /// Always safe, since no value of this type exists.
    pub(crate) unsafe fn run(&self, _: &[*mut u8], _: usize, _: bool) {
        match *self {}
    }
}
