//! The function around the passes: addresses into registers, a loop over several vectors at once, one over single
//! vectors, and what is left.
//!
//! A function is called with the array of addresses and a number of elements. With AVX-512 it does them all, the last
//! ones under a mask; with AVX2 it does whole vectors, and its caller sees to the rest.

use super::atoms::{Atom, Id, What};
use super::encode::{Address, Assembler, Detail, Encoding, Gpr, RegMem, When};
use super::lower::Lowered;
use super::pass::{self, Frame, PLACE, Pass, Pointers, TAIL};
use super::schedule::{Turn, by_need, in_order, most_waiting};
use super::table::Insn;
use crate::simd::Isa;

/// Registers for addresses: those a function may use, then those it must give back as it found them.
const FREE: [Gpr; 4] = [Gpr(8), Gpr(9), Gpr(10), Gpr(11)];
const KEPT: [Gpr; 5] = [Gpr::RBX, Gpr(12), Gpr(13), Gpr(14), Gpr(15)];

/// Code for a program, and where its functions begin.
pub(super) struct Functions {
    pub(super) bytes: Vec<u8>,
    pub(super) plain: usize,
    /// The one whose outputs pass by the cache.
    pub(super) streaming: Option<usize>,
}

/// The functions of a program.
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

/// What is decided before the first byte: how many vectors at once, and what stays in registers.
struct Shape {
    copies: usize,
    /// The order of a pass with the copies, and of one without.
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
        // As measured: few instructions wait for memory, many for each other, and very many are long without copies. An
        // instruction may need two constants in registers, and a place for its result.
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
                // Where memory cannot be named, a register saves an instruction.
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
        // RSI is the last index from which a whole pass can be made; RCX is the index.
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
