//! Instruction scheduling within a pass: list scheduling on a simple CPU model. Among atoms with ready operands, the
//! one with the longest critical path goes first.
//!
//! Invariant: an atom follows its operands, and the stores of a copy follow all its loads, because an output may alias
//! an input.

use super::atoms::{Atom, What};
use super::table::Insn::*;

/// A scheduled item: an atom of one of the copies.
pub(super) type Turn = (u32, u8);

/// An execution unit. With 64-byte vectors there is one of each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Multiply,
    Add,
    Divide,
    Any,
}

/// The execution unit of an atom, and its latency in cycles.
fn cost(atom: &Atom) -> (Unit, u32) {
    match atom.what {
        What::MulAdd => (Unit::Multiply, 4),
        What::Load(_) | What::LoadBytes(..) => (Unit::Any, 7),
        What::Do(insn, _) => match insn {
            Vdivps | Vdivpd | Vsqrtps | Vsqrtpd => (Unit::Divide, 12),
            Vmulps | Vmulpd | Vpmulld | Vpmullq | Vpmuludq => (Unit::Multiply, 4),
            Vcmpps | Vcmppd | Vpcmpd | Vpcmpq | Vptestmd => (Unit::Multiply, 4),
            Vscalefps | Vscalefpd => (Unit::Add, 6),
            Vminps | Vminpd | Vmaxps | Vmaxpd => (Unit::Add, 2),
            Vaddps | Vaddpd | Vsubps | Vsubpd | Vroundps | Vroundpd => (Unit::Add, 3),
            Vcvtdq2ps | Vcvttps2dq | Vcvtdq2pd | Vcvttpd2dq | Vcvtps2pd | Vcvtpd2ps => (Unit::Add, 4),
            _ => (Unit::Any, 1),
        },
        _ => (Unit::Any, 1),
    }
}

/// Cycles between two divisions.
const DIVISION: u32 = 6;

/// The program order, with each atom for all copies in turn.
pub(super) fn in_order(atoms: &[Atom], copies: usize) -> Vec<Turn> {
    let all = atoms.iter().enumerate().filter(|(_, atom)| !atom.is_at_hand());
    all.flat_map(|(i, _)| (0..copies).map(move |copy| (i as u32, copy as u8))).collect()
}

/// The maximum number of live values, among those that `counts` selects.
pub(super) fn most_waiting(atoms: &[Atom], turns: &[Turn], copies: usize, counts: &dyn Fn(&Atom) -> bool) -> usize {
    let mut state = Waiting::new(atoms, copies, counts);
    let mut most = 0;
    for &turn in turns {
        state.take(turn);
        most = most.max(state.waiting);
    }
    most
}

/// Tracks the number of live values.
struct Waiting<'a> {
    atoms: &'a [Atom],
    copies: usize,
    counts: &'a dyn Fn(&Atom) -> bool,
    /// The remaining uses of each value.
    uses: Vec<u32>,
    waiting: usize,
}

impl<'a> Waiting<'a> {
    fn new(atoms: &'a [Atom], copies: usize, counts: &'a dyn Fn(&Atom) -> bool) -> Waiting<'a> {
        let mut uses = vec![0; atoms.len() * copies];
        for atom in atoms {
            for &arg in atom.args() {
                (0..copies).for_each(|copy| uses[arg as usize * copies + copy] += 1);
            }
        }
        Waiting { atoms, copies, counts, uses, waiting: 0 }
    }

    /// Whether an item increases the number of live values.
    fn grows(&self, (i, copy): Turn) -> bool {
        let atom = &self.atoms[i as usize];
        let ends = |arg: u32| {
            self.uses[arg as usize * self.copies + copy as usize] == 1 && (self.counts)(&self.atoms[arg as usize])
        };
        (self.counts)(atom) && !atom.args().iter().any(|&arg| ends(arg))
    }

    fn take(&mut self, (i, copy): Turn) {
        let atom = &self.atoms[i as usize];
        for &arg in atom.args() {
            let left = &mut self.uses[arg as usize * self.copies + copy as usize];
            *left -= 1;
            self.waiting -= (*left == 0 && (self.counts)(&self.atoms[arg as usize])) as usize;
        }
        self.waiting += (self.counts)(atom) as usize;
    }
}

/// A schedule that keeps the CPU busy with about `limit` live values at most.
pub(super) fn by_need(atoms: &[Atom], copies: usize, limit: usize, counts: &dyn Fn(&Atom) -> bool) -> Vec<Turn> {
    let at = |i: u32, copy: u8| i as usize * copies + copy as usize;
    let is_load = |atom: &Atom| matches!(atom.what, What::Load(_) | What::LoadBytes(..));
    let loads = atoms.iter().filter(|atom| is_load(atom)).count() as u32;
    let stores: Vec<u32> = (0..atoms.len() as u32).filter(|&i| atoms[i as usize].is_store()).collect();
    // The users of each atom, the number of operands it waits for, and the length of its critical path.
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); atoms.len()];
    let mut height = vec![0; atoms.len()];
    let mut needs = vec![0; atoms.len()];
    for (i, atom) in atoms.iter().enumerate() {
        for &arg in atom.args() {
            if !atoms[arg as usize].is_at_hand() {
                users[arg as usize].push(i as u32);
                needs[i] += 1;
            }
        }
        if is_load(atom) {
            users[i].extend(&stores);
        }
        needs[i] += if atom.is_store() { loads } else { 0 };
    }
    for i in (0..atoms.len()).rev() {
        height[i] = cost(&atoms[i]).1 + users[i].iter().map(|&user| height[user as usize]).max().unwrap_or(0);
    }
    let mut missing: Vec<u32> = needs.iter().flat_map(|&n| std::iter::repeat_n(n, copies)).collect();
    let mut ready_at = vec![0u32; atoms.len() * copies];
    let mut state = Waiting::new(atoms, copies, counts);
    let mut turns: Vec<Turn> = Vec::with_capacity(atoms.len() * copies);
    let all = in_order(atoms, copies);
    let mut open: Vec<Turn> = all.iter().copied().filter(|&(i, copy)| missing[at(i, copy)] == 0).collect();
    let (mut cycle, mut divider) = (0, 0);
    let mut busy = [false; 2];
    while !open.is_empty() {
        let is_free = |&(i, copy): &Turn| {
            ready_at[at(i, copy)] <= cycle
                && match cost(&atoms[i as usize]).0 {
                    Unit::Multiply => !busy[0],
                    Unit::Divide => !busy[0] && divider <= cycle,
                    Unit::Add => !busy[1],
                    Unit::Any => true,
                }
        };
        let fits = |&turn: &Turn| state.waiting < limit || !state.grows(turn);
        let free = (0..open.len()).filter(|&n| is_free(&open[n]));
        let mut chosen = free.filter(|&n| fits(&open[n])).max_by_key(|&n| height[open[n].0 as usize]);
        if chosen.is_none() && open.iter().all(is_free) {
            // Only the limit on live values blocks progress: continue in program order.
            chosen = (0..open.len()).min_by_key(|&n| open[n]);
        }
        let Some(n) = chosen else {
            cycle += 1;
            busy = [false; 2];
            continue;
        };
        let turn @ (i, copy) = open.swap_remove(n);
        let (unit, latency) = cost(&atoms[i as usize]);
        match unit {
            Unit::Multiply => busy[0] = true,
            Unit::Add => busy[1] = true,
            Unit::Divide => (busy[0], divider) = (true, cycle + DIVISION),
            Unit::Any => {}
        }
        state.take(turn);
        turns.push(turn);
        for &user in &users[i as usize] {
            let user_at = at(user, copy);
            ready_at[user_at] = ready_at[user_at].max(cycle + latency);
            missing[user_at] -= 1;
            if missing[user_at] == 0 {
                open.push((user, copy));
            }
        }
    }
    debug_assert_eq!(turns.len(), all.len());
    turns
}
