//! A compiled program: its code, and how it is called.

use super::function;
use super::lower;
use super::memory::Code;
use super::registers::RegisterMap;
use super::stats;
use crate::simd::Isa;
use forerun_plan::Program;

/// A function of a program: the slots' addresses, and a number of elements.
type Function = unsafe extern "sysv64" fn(slots: *const *mut u8, count: usize);

/// More slots than this stay with the interpreter.
const MOST_SLOTS: usize = 128;

/// A program as machine code.
#[derive(Debug)]
pub(crate) struct Compiled {
    code: Code,
    plain: usize,
    streaming: Option<usize>,
    lanes: usize,
    /// The slots whose addresses move: size of an element, whether it is written.
    moving: Box<[(u16, u8, bool)]>,
    slots: usize,
    /// Whether the functions do whole vectors only.
    whole: bool,
}

impl Compiled {
    /// Code for a program with that many slots; `None` if something in it has none, or the system refuses the memory.
    /// With `streaming` there is a function whose outputs pass by the cache.
    pub(crate) fn new(
        isa: Isa,
        program: &Program,
        slots: usize,
        registers: &RegisterMap<'_>,
        streaming: bool,
    ) -> Option<Compiled> {
        let compiled = Compiled::build(isa, program, slots, registers, streaming);
        stats::count(compiled.is_some());
        compiled
    }

    fn build(
        isa: Isa,
        program: &Program,
        slots: usize,
        registers: &RegisterMap<'_>,
        streaming: bool,
    ) -> Option<Compiled> {
        if isa == Isa::Baseline || slots > MOST_SLOTS {
            return None;
        }
        let lowered = lower::lower(isa, program, registers)?;
        let functions = function::emit(isa, &lowered, streaming);
        Some(Compiled {
            code: Code::new(&functions.bytes)?,
            plain: functions.plain,
            streaming: functions.streaming,
            lanes: lowered.lanes,
            moving: lowered.moving.into_boxed_slice(),
            slots,
            whole: isa != Isa::Avx512,
        })
    }

    /// Runs the program over `count` elements from where the slots point.
    ///
    /// # Safety
    /// Slots that move must have `count` elements; the others copies of theirs. To pass by the cache, outputs must be
    /// aligned to 64 bytes. The processor must have the instruction set that this was made for.
    #[inline]
    pub(crate) unsafe fn run(&self, slots: &[*mut u8], count: usize, streaming: bool) {
        let start = self.streaming.filter(|_| streaming).unwrap_or(self.plain);
        // SAFETY: a function of that type was put there.
        let function = unsafe { std::mem::transmute::<*const u8, Function>(self.code.address(start)) };
        let rest = if self.whole { count % self.lanes } else { 0 };
        // SAFETY: the caller's promise; the function touches these elements and no others.
        unsafe {
            if count > rest {
                function(slots.as_ptr(), count - rest);
            }
            if rest > 0 {
                self.run_rest(slots, count - rest, rest);
            }
        }
    }

    /// The elements after the last whole vector, in a vector made of copies of them.
    #[inline(never)]
    unsafe fn run_rest(&self, slots: &[*mut u8], done: usize, rest: usize) {
        // SAFETY: a function of that type was put there.
        let function = unsafe { std::mem::transmute::<*const u8, Function>(self.code.address(self.plain)) };
        let mut near = [std::ptr::null_mut(); MOST_SLOTS];
        near[..self.slots].copy_from_slice(&slots[..self.slots]);
        let mut vectors = [[0u64; 8]; MOST_SLOTS];
        // SAFETY: `rest` is less than a vector, which is at most 64 bytes; the elements are those the caller promises.
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
