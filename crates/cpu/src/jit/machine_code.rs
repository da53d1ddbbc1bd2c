//! The machine code of a program, and how it is called.

use super::function;
use super::lower;
use super::memory::Code;
use super::registers::RegisterMap;
use super::stats;
use crate::simd::Isa;
use forerun_plan::Program;

/// The signature of emitted code: the addresses of the slots, and the number of elements.
type Function = unsafe extern "sysv64" fn(slots: *const *mut u8, count: usize);

/// Programs with more slots are interpreted.
const MOST_SLOTS: usize = 128;

/// The machine code of a program.
#[derive(Debug)]
pub(crate) struct MachineCode {
    code: Code,
    plain: usize,
    streaming: Option<usize>,
    lanes: usize,
    /// The slots that advance with the elements: slot, element size, whether it is an output.
    moving: Box<[(u16, u8, bool)]>,
    slots: usize,
    /// Whether the functions handle whole vectors only (AVX2); AVX-512 masks the tail.
    whole: bool,
}

impl MachineCode {
    /// Emits code for a program with that many slots; `None` if an instruction has no code, or the system refuses
    /// executable memory. With `streaming`, also emits a function with non-temporal stores.
    pub(crate) fn new(
        isa: Isa,
        program: &Program,
        slots: usize,
        registers: &RegisterMap<'_>,
        streaming: bool,
    ) -> Option<MachineCode> {
        let compiled = MachineCode::build(isa, program, slots, registers, streaming);
        stats::count(compiled.is_some());
        compiled
    }

    fn build(
        isa: Isa,
        program: &Program,
        slots: usize,
        registers: &RegisterMap<'_>,
        streaming: bool,
    ) -> Option<MachineCode> {
        if isa == Isa::Baseline || slots > MOST_SLOTS {
            return None;
        }
        let lowered = lower::lower(isa, program, registers)?;
        let functions = function::emit(isa, &lowered, streaming);
        Some(MachineCode {
            code: Code::new(&functions.bytes)?,
            plain: functions.plain,
            streaming: functions.streaming,
            lanes: lowered.lanes,
            moving: lowered.moving.into_boxed_slice(),
            slots,
            whole: !isa.is_avx512(),
        })
    }

    /// Runs the program over `count` elements from where the slots point.
    ///
    /// # Safety
    /// Slots of inputs and outputs must have `count` elements; those of scalars a vector of copies. With `streaming`,
    /// outputs must be aligned to 64 bytes. The processor must have the instruction set that the code was emitted for.
    #[inline]
    pub(crate) unsafe fn run(&self, slots: &[*mut u8], count: usize, streaming: bool) {
        debug_assert!(slots.len() >= self.slots, "a slot for each register");
        debug_assert!(!streaming || self.outputs(slots).all(|to| to.addr().is_multiple_of(64)), "aligned outputs");
        let start = self.streaming.filter(|_| streaming).unwrap_or(self.plain);
        // SAFETY: `function::emit` wrote a function of this type at `start`.
        let function = unsafe { std::mem::transmute::<*const u8, Function>(self.code.address(start)) };
        let rest = if self.whole { count % self.lanes } else { 0 };
        // SAFETY: the caller guarantees `count` elements, and the function touches no others.
        unsafe {
            if count > rest {
                function(slots.as_ptr(), count - rest);
            }
            if rest > 0 {
                self.run_rest(slots, count - rest, rest);
            }
        }
    }

    fn outputs<'s>(&'s self, slots: &'s [*mut u8]) -> impl Iterator<Item = *mut u8> + 's {
        self.moving.iter().filter(|(_, _, written)| *written).map(|&(slot, ..)| slots[slot as usize])
    }

    /// Runs the tail: copies the elements after the last whole vector to padded vectors and back.
    /// # Safety
    /// As for [`MachineCode::run`], for elements `done .. done + rest`; `rest` must be less than a vector.
    #[inline(never)]
    unsafe fn run_rest(&self, slots: &[*mut u8], done: usize, rest: usize) {
        // SAFETY: `function::emit` wrote a function of this type at `plain`.
        let function = unsafe { std::mem::transmute::<*const u8, Function>(self.code.address(self.plain)) };
        debug_assert!(rest < self.lanes, "less than a vector");
        let mut near = [std::ptr::null_mut(); MOST_SLOTS];
        near[..self.slots].copy_from_slice(&slots[..self.slots]);
        let mut vectors = [[0u64; 8]; MOST_SLOTS];
        // SAFETY: `rest` is less than a vector, which is at most 64 bytes; the elements are those the caller
        // guarantees.
        unsafe {
            for &(slot, size, written) in &self.moving {
                let (slot, size) = (slot as usize, size as usize);
                near[slot] = vectors[slot].as_mut_ptr().cast();
                if !written {
                    std::ptr::copy_nonoverlapping(slots[slot].add(done * size), near[slot], rest * size);
                }
            }
            function(near.as_ptr(), self.lanes);
            for &(slot, size, written) in &self.moving {
                let (slot, size) = (slot as usize, size as usize);
                if written {
                    std::ptr::copy_nonoverlapping(near[slot], slots[slot].add(done * size), rest * size);
                }
            }
        }
    }
}
