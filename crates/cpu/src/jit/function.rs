//! The function around the passes: loads addresses into registers, then runs a loop over several vectors per iteration,
//! a loop over single vectors, and the tail.
//!
//! A function takes the array of addresses and a number of elements. With AVX-512 it processes all of them and masks
//! the tail; with AVX2 it processes full vectors, and the caller handles the tail.

use super::atoms::{Atom, Id, What};
use super::encode::{Address, Assembler, Detail, Encoding, Gpr, RegMem, When};
use super::lower::Lowered;
use super::pass::{self, Frame, PLACE, Pass, Pointers, TAIL};
use super::schedule::{Turn, by_need, in_order, most_waiting};
use super::table::Insn;
use crate::simd::Isa;

/// Registers for addresses: caller-saved ones first, then callee-saved ones.
const FREE: [Gpr; 4] = [Gpr(8), Gpr(9), Gpr(10), Gpr(11)];
const KEPT: [Gpr; 5] = [Gpr::RBX, Gpr(12), Gpr(13), Gpr(14), Gpr(15)];

/// The code of a program and the offsets of its functions.
pub(super) struct Functions {
    pub(super) bytes: Vec<u8>,
    pub(super) plain: usize,
    /// The function with non-temporal stores.
    pub(super) streaming: Option<usize>,
}

/// Emits the functions of a program.
pub(super) fn emit(isa: Isa, lowered: &Lowered, streaming: bool) -> Functions {
    let encoding = if isa.is_avx512() { Encoding::Evex } else { Encoding::Vex };
    let mut asm = Assembler::new(encoding, lowered.lanes);
    let shape = Shape::of(isa, lowered);
    write(&mut asm, isa, lowered, &shape, false);
    let streaming = streaming.then(|| {
        asm.align_loop();
        let start = asm.here();
        write(&mut asm, isa, lowered, &shape, true);
        start
    });
    Functions { bytes: asm.finish(), plain: 0, streaming }
}

/// Decisions made before code is emitted: the number of vectors per iteration, and the values that stay in registers.
struct Shape {
    copies: usize,
    /// The schedule of a pass with several copies, and of one with a single copy.
    turns: Vec<Turn>,
    single: Vec<Turn>,
    pins: Vec<(Id, u8)>,
}

impl Shape {
    fn of(isa: Isa, lowered: &Lowered) -> Shape {
        let atoms = &lowered.atoms;
        let work = atoms.iter().filter(|atom| !atom.is_at_hand()).count();
        let registers = Frame::registers(isa) as usize;
        let takes_register =
            |atom: &Atom| !(atom.is_at_hand() || atom.is_store() || isa.is_avx512() && atom.type_.is_truth());
        let single = in_order(atoms, 1);
        let waiting = most_waiting(atoms, &single, 1, &takes_register);
        // Measured: short programs wait for memory and long ones for latencies; very long ones have enough parallelism
        // without copies. An instruction may need two constants in registers, plus its result.
        let wanted = match work {
            0..=16 => 4,
            17..=160 => 3,
            _ => 1,
        };
        let copies = (2..=wanted).rev().find(|copies| copies * waiting + 3 <= registers).unwrap_or(1);
        let turns = if isa.is_avx512() && copies == 3 {
            by_need(atoms, copies, registers - 12, &takes_register)
        } else {
            in_order(atoms, copies)
        };
        let room = registers.saturating_sub(most_waiting(atoms, &turns, copies, &takes_register) + 3);
        let mut counts = vec![0u32; atoms.len()];
        for atom in atoms {
            for (n, &arg) in atom.args().iter().enumerate() {
                // An operand that cannot be a memory operand benefits from a register.
                let named = n + 1 == atom.arity as usize && n > 0 || matches!(atom.what, What::MulAdd);
                counts[arg as usize] += if named { 1 } else { 4 };
            }
        }
        let mut wanted: Vec<Id> = (0..atoms.len() as Id).filter(|&id| atoms[id as usize].is_at_hand()).collect();
        wanted.sort_by_key(|&id| std::cmp::Reverse(counts[id as usize]));
        wanted.truncate(room);
        let pins = wanted.into_iter().enumerate().map(|(n, id)| (id, (registers - 1 - n) as u8)).collect();
        Shape { copies, turns, single, pins }
    }
}

fn write(asm: &mut Assembler, isa: Isa, lowered: &Lowered, shape: &Shape, streaming: bool) {
    let mut slots: Vec<u16> = lowered.moving.iter().map(|(slot, ..)| *slot).collect();
    slots.sort_unstable();
    slots.dedup();
    let held: Vec<(u16, Gpr)> = slots.into_iter().zip(FREE.into_iter().chain(KEPT)).collect();
    let pushed: Vec<Gpr> = KEPT.into_iter().filter(|reg| held.iter().any(|(_, h)| h == reg)).collect();
    let pointers = Pointers { slots: Gpr::RDI, scratch: Gpr::RDX, held, index: Gpr::RCX };
    let frame = Frame { isa, lanes: lowered.lanes, atoms: &lowered.atoms, pointers: &pointers, pins: &shape.pins };

    asm.push(Gpr::RBP);
    asm.copy(Gpr::RBP, Gpr::RSP);
    pushed.iter().for_each(|&reg| asm.push(reg));
    asm.subtract_number(Gpr::RSP, 0);
    let room = asm.here() - 4;
    asm.and_number(Gpr::RSP, -(PLACE as i32));
    for &(slot, reg) in &pointers.held {
        asm.load(reg, Address::At(Gpr::RDI, slot as i32 * 8));
    }
    pass::write_pins(asm, frame);
    asm.clear(Gpr::RCX);
    let mut places = 0;
    let mut passes = vec![(shape.copies, &shape.turns)];
    if shape.copies > 1 {
        passes.push((1, &shape.single));
    }
    for (copies, turns) in passes {
        let step = (copies * lowered.lanes) as i32;
        // RSI is the last index at which a full pass may start; RCX is the current index.
        asm.subtract_number(Gpr::RSI, step);
        let none = asm.jump(When::Below);
        asm.compare(Gpr::RCX, Gpr::RSI);
        let over = asm.jump(When::Above);
        asm.align_loop();
        let top = asm.here();
        places = places.max(pass::write(asm, frame, Pass { copies, turns, masked: false, streaming }));
        asm.add_number(Gpr::RCX, step);
        asm.compare(Gpr::RCX, Gpr::RSI);
        asm.jump_back(When::BelowOrEqual, top);
        asm.land(none);
        asm.land(over);
        asm.add_number(Gpr::RSI, step);
    }
    if isa.is_avx512() {
        asm.subtract(Gpr::RSI, Gpr::RCX);
        let done = asm.jump(When::Equal);
        asm.low_bits_of_rsi();
        asm.vector(Insn::KmovD, TAIL, 0, RegMem::Register(Gpr::RAX.0), Detail::default());
        places = places.max(pass::write(
            asm,
            frame,
            Pass { copies: 1, turns: &shape.single, masked: true, streaming: false },
        ));
        asm.land(done);
    }
    let bytes = (places as usize * PLACE) as i32;
    asm.bytes[room..room + 4].copy_from_slice(&bytes.to_le_bytes());
    asm.load_address(Gpr::RSP, Address::At(Gpr::RBP, -8 * pushed.len() as i32));
    pushed.iter().rev().for_each(|&reg| asm.pop(reg));
    asm.pop(Gpr::RBP);
    asm.leave();
}
