//! The tile interpreter: runs a pointwise program over a few hundred elements at a time, so that intermediates stay in
//! the L1 cache.
//!
//! Invariant: dense inputs and outputs are accessed in place; everything else is gathered into scratch on the stack,
//! and nothing is allocated. Results do not depend on how the iteration space is split.

use crate::gather::Walk;
use crate::jit::{MachineCode, RegisterMap, Tier};
use crate::loops::{self, Loop, LoopInput, VectorLoop};
use crate::nontemporal::{self, NontemporalCopy};
use crate::pairs;
use crate::simd::Isa;
use crate::target::Target;
use crate::weight::weight;
use forerun_base::DType;
use forerun_ops::Class;
use forerun_plan::{Io, Program, Reg};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Elements per tile. (256 and 1024 are both slower: more loop overhead, or too large for the L1 cache.)
pub(crate) const TILE: usize = 512;

/// Bytes of a broadcast scalar or constant input: 16 elements of up to 8 bytes, or 8 of 16 bytes.
pub(crate) const SPLAT: usize = 128;

/// A compiled program.
#[derive(Debug)]
pub(crate) struct Tiles {
    code: Box<[Step]>,
    inputs: Box<[Input]>,
    /// Element sizes of the scalars and of the outputs.
    scalars: Box<[u8]>,
    outputs: Box<[u8]>,
    temps: usize,
    /// The size of the widest element in bytes, at least 8.
    widest: usize,
    /// Elements of the iteration space, and of a tile.
    pub(crate) size: usize,
    pub(crate) tile: usize,
    /// Scratch bytes of a machine.
    scratch: usize,
    /// Whether the whole program is one tile with all operands in place.
    pub(crate) small: bool,
    /// The cost of an element, in units of the cheapest instruction.
    pub(crate) weight: usize,
    /// If set, full output tiles are computed in scratch and copied with non-temporal stores.
    nontemporal: Option<NontemporalCopy>,
    /// The panels in which inputs with contiguous columns are gathered.
    panel_shape: Option<PanelShape>,
    /// The machine code for `code`.
    tier: Tier,
}

/// A panel: several rows that are gathered at a time.
#[derive(Clone, Copy, Debug)]
struct PanelShape {
    /// Elements of a row of the iteration space, and of a panel row.
    length: usize,
    width: usize,
    /// Whether a panel is processed at once, without passing through scratch tiles.
    at_once: bool,
}

#[derive(Debug)]
struct Step {
    run: Loop,
    to: u16,
    from: [u16; 3],
    steps: [u32; 3],
}

#[derive(Debug)]
struct Input {
    size: u8,
    access: Access,
}

#[derive(Debug)]
enum Access {
    Dense,
    /// One broadcast element; its copies are in scratch.
    Constant,
    Strided(Box<Walk>),
}

impl Tiles {
    /// Compiles a program. `watched` is a register that the caller reads after each tile; it must not be a scalar.
    pub(crate) fn new(target: Target, program: &Program, watched: Option<Reg>) -> Tiles {
        Tiles::interpreted(target, program, watched).emitted(target, program, watched)
    }

    /// Like [`Tiles::new`], with non-temporal stores for outputs that exceed the cache.
    pub(crate) fn with_nontemporal_stores(target: Target, program: &Program) -> Tiles {
        Tiles::interpreted(target, program, None).use_nontemporal_stores(target).emitted(target, program, None)
    }

    fn interpreted(Target { isa, .. }: Target, program: &Program, watched: Option<Reg>) -> Tiles {
        let lanes = loops::lanes(isa);
        let inputs: Box<[Input]> = program
            .inputs
            .iter()
            .enumerate()
            .map(|(i, input)| {
                let walk = Walk::new(&input.layout);
                let watched = watched == Some(Reg::Input(i as u8));
                let access = if walk.is_constant() && !watched {
                    Access::Constant
                } else if input.layout.is_dense() {
                    Access::Dense
                } else {
                    Access::Strided(Box::new(walk))
                };
                Input { size: input.dtype.size() as u8, access }
            })
            .collect();
        let place = Places { inputs: inputs.len(), scalars: program.scalars.len(), outputs: program.outputs.len() };
        let moves = |reg: Reg| moves(&inputs, reg);
        let step = |VectorLoop { run, lanes }: VectorLoop, dst: Reg, args: [Reg; 3], dtypes: [DType; 3]| Step {
            run,
            to: place.of(dst),
            from: args.map(|reg| place.of(reg)),
            steps: std::array::from_fn(|n| if moves(args[n]) { (lanes * dtypes[n].size()) as u32 } else { 0 }),
        };
        let mut code = Vec::with_capacity(program.code.len());
        let mut left = &program.code[..];
        while let [instr, rest @ ..] = left {
            if let Some(pair) = pairs::join(isa, left, watched) {
                code.push(step(VectorLoop { run: pair.run, lanes }, pair.dst, pair.args, [instr.dtype; 3]));
                left = &rest[1..];
                continue;
            }
            let found = loops::find(isa, instr.op, instr.dtype, instr.out)
                .unwrap_or_else(|| panic!("{}: no loop for {}", instr.op, instr.dtype));
            let chooser = if instr.op.row().class == Class::Select { DType::Bool } else { instr.dtype };
            code.push(step(found, instr.dst, instr.args, [chooser, instr.dtype, instr.dtype]));
            left = rest;
        }
        let weight = weight(program);
        let temps = program.temps as usize;
        let constants = program.scalars.len() + inputs.iter().filter(|i| matches!(i.access, Access::Constant)).count();
        let strided = inputs.iter().filter(|i| matches!(i.access, Access::Strided(_))).count();
        let widest = program.code.iter().flat_map(|i| [i.dtype, i.out]).map(DType::size).max().unwrap_or(8).max(8);
        // A caller that watches a register visits tiles in its own order.
        let length = transposed_rows(&inputs, program.shape.size()).filter(|_| watched.is_none());
        let at_once = code.len() == 1 && inputs.iter().all(Input::is_dense_or_transposed);
        let panels = |width: usize| inputs.iter().map(|input| input.panel(width)).sum::<usize>();
        let panel_shape = length.map(|length| {
            let width = [PANEL_WIDTH, 256, 64].into_iter().find(|width| panels(*width) <= LARGE / 2).unwrap_or(16);
            PanelShape { length, width: width.min(length), at_once }
        });
        let panels = panel_shape.map_or(0, |panel_shape| panels(panel_shape.width));
        let mut tile = TILE;
        while tile > 64 && (temps + strided) * tile * widest > LARGE - 64 * 1024 {
            tile /= 2;
        }
        let scratch = constants * SPLAT + (temps + strided) * tile * widest + panels;
        let panel_shape = panel_shape.filter(|_| scratch <= LARGE);
        let scratch = if panel_shape.is_some() { scratch } else { scratch - panels };
        let size = program.shape.size();
        Tiles {
            code: code.into_boxed_slice(),
            scalars: program.scalars.iter().map(|d| d.size() as u8).collect(),
            outputs: program.outputs.iter().map(|d| d.size() as u8).collect(),
            temps,
            widest,
            size,
            tile,
            scratch,
            small: size <= tile && strided == 0 && scratch <= SMALL && place.count(temps) <= SMALL_SLOTS,
            weight,
            nontemporal: None,
            panel_shape,
            tier: Tier::default(),
            inputs,
        }
    }

    fn use_nontemporal_stores(mut self, target: Target) -> Tiles {
        let bytes: usize = self.outputs.iter().map(|size| self.size * *size as usize).sum();
        // The copy uses aligned loads, so scratch tiles must be aligned.
        let scratch = self.scratch.next_multiple_of(64) + self.outputs.len() * self.tile * self.widest;
        if bytes >= nontemporal::WORTH && self.tile == TILE && self.panel_shape.is_none() && scratch <= MEDIUM {
            self.nontemporal = nontemporal::find(target.isa);
            self.scratch = scratch;
        }
        self
    }

    /// Adds machine code, if the target enables it and the program can be compiled: at once for many elements,
    /// otherwise after enough runs.
    fn emitted(mut self, target: Target, program: &Program, watched: Option<Reg>) -> Tiles {
        // Truth values are bytes in the interpreter, but 4-byte lanes in machine code, so programs of truth values
        // alone are interpreted.
        let numbers = program.code.iter().any(|instr| instr.dtype != DType::Bool || instr.out != DType::Bool);
        if !numbers {
            return self;
        }
        if self.size >= target.emit_from {
            self.tier = Tier::now(self.emit(target.isa, program, watched));
            if let (Some(panel_shape), Some(_)) = (&mut self.panel_shape, self.tier.code()) {
                panel_shape.at_once = self.inputs.iter().all(Input::is_dense_or_transposed);
            }
        } else if target.emits() && program.code.len() > 1 && !self.small {
            self.tier = Tier::later(target.isa, program, watched);
        }
        self
    }

    /// Compiles the program to machine code, if possible.
    fn emit(&self, isa: Isa, program: &Program, watched: Option<Reg>) -> Option<MachineCode> {
        let (places, inputs) = (self.places(), &self.inputs);
        let map = RegisterMap { of: &|reg| places.of(reg), moves: &|reg| moves(inputs, reg), watched };
        MachineCode::new(isa, program, places.count(self.temps), &map, self.nontemporal.is_some())
    }

    /// Whether the program has no outputs: the caller reads a register after each tile, and may stop early.
    pub(crate) fn stores_nothing(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Elements per piece, approximately `about`: a multiple of a panel, if there are panels.
    pub(crate) fn piece(&self, about: usize) -> usize {
        self.panel_shape.map_or(about, |panel_shape| about.next_multiple_of(PANEL_ROWS * panel_shape.length))
    }

    /// The maximum length of a panel row.
    fn panel_width(&self) -> usize {
        self.panel_shape.map_or(0, |panel_shape| panel_shape.width)
    }

    /// Whether an input may need gathering.
    fn gathers(&self) -> bool {
        self.inputs.iter().any(|input| matches!(input.access, Access::Strided(_)))
    }

    /// Whether nothing passes through scratch: machine code or a single instruction, with all operands in place.
    fn is_in_place(&self) -> bool {
        !self.gathers() && (self.tier.code().is_some() || self.code.len() == 1 && self.nontemporal.is_none())
    }

    fn places(&self) -> Places {
        Places { inputs: self.inputs.len(), scalars: self.scalars.len(), outputs: self.outputs.len() }
    }

    /// Runs the program over elements `start .. end` of the iteration space.
    ///
    /// # Safety
    /// As for [`forerun_plan::Executable::run`], for these elements.
    pub(crate) unsafe fn run(&self, io: Io<'_>, start: usize, end: usize) {
        // SAFETY: the caller's guarantee covers every tile.
        unsafe {
            self.with_machine(io, |machine| {
                let mut at = start;
                if let Some(panel_shape) = self.panel_shape {
                    at = self.run_panels(machine, start, end, panel_shape);
                }
                let most = if self.is_in_place() { usize::MAX } else { self.tile };
                while at < end {
                    let count = most.min(end - at);
                    machine.tile(at, count);
                    at += count;
                }
            });
            if self.nontemporal.is_some() {
                nontemporal::fence();
            }
        }
    }

    /// Runs the program over the full rows of a range, one panel at a time; returns where they end. Elements before the
    /// first full row are run separately.
    ///
    /// # Safety
    /// As for [`Tiles::run`].
    unsafe fn run_panels(&self, machine: &mut Machine<'_>, start: usize, end: usize, panel_shape: PanelShape) -> usize {
        let PanelShape { length, width, at_once } = panel_shape;
        let (first, last) = (start.div_ceil(length), end / length);
        if last < first + PANEL_ROWS {
            return start;
        }
        // SAFETY: the caller's guarantee covers every tile.
        unsafe {
            for at in (start..first * length).step_by(self.tile) {
                machine.tile(at, self.tile.min(first * length - at));
            }
            for row in (first..last).step_by(PANEL_ROWS) {
                let rows = row..last.min(row + PANEL_ROWS);
                for column in (0..length).step_by(width) {
                    let width = width.min(length - column);
                    machine.gather_panels(rows.clone(), column, width);
                    // Full rows are consecutive in the iteration space and in the panel.
                    let runs = if width == length { 1 } else { rows.len() };
                    let run = width * rows.len() / runs;
                    let step = if at_once { run } else { self.tile };
                    for i in 0..runs {
                        for at in (0..run).step_by(step) {
                            machine.panel = Some(i * run + at);
                            machine.tile((row + i) * length + column + at, step.min(run - at));
                        }
                    }
                }
            }
        }
        machine.panel = None;
        last * length
    }

    /// Runs a program whose iteration space is one tile.
    ///
    /// # Safety
    /// As for [`forerun_plan::Executable::run`]; `small` must hold.
    #[inline]
    pub(crate) unsafe fn run_small(&self, io: Io<'_>) {
        let mut scratch = Scratch::<SMALL>(MaybeUninit::uninit());
        let mut slots = [std::ptr::null_mut(); SMALL_SLOTS];
        // SAFETY: the scratch is large enough, since `small` holds, and the caller guarantees the rest.
        unsafe {
            let mut machine = Machine::new(self, io, scratch.0.as_mut_ptr().cast(), &mut slots);
            machine.tile(0, self.size);
        }
    }

    /// Calls `work` with a machine for this program, with scratch on the stack.
    ///
    /// # Safety
    /// As for [`forerun_plan::Executable::run`], for the elements that `work` runs.
    pub(crate) unsafe fn with_machine<R>(&self, io: Io<'_>, work: impl FnOnce(&mut Machine<'_>) -> R) -> R {
        self.tier.count(self.size, |later| self.emit(later.isa, &later.program, later.watched));
        if self.scratch <= MEDIUM && self.places().count(self.temps) <= 64 {
            // SAFETY: the scratch and the slots are large enough.
            unsafe { self.with_sizes::<MEDIUM, 64, R>(io, work) }
        } else {
            // SAFETY: register numbers are bytes, so there are at most 1024 slots, and `new` shrinks the tile until the
            // scratch fits.
            unsafe { self.with_sizes::<LARGE, 1024, R>(io, work) }
        }
    }

    #[inline(never)]
    unsafe fn with_sizes<const BYTES: usize, const SLOTS: usize, R>(
        &self,
        io: Io<'_>,
        work: impl FnOnce(&mut Machine<'_>) -> R,
    ) -> R {
        assert!(self.scratch <= BYTES, "a pointwise program needs too much scratch");
        let mut scratch = Scratch::<BYTES>(MaybeUninit::uninit());
        let mut slots = [std::ptr::null_mut(); SLOTS];
        // SAFETY: the scratch is large enough, and the caller guarantees the rest.
        unsafe { work(&mut Machine::new(self, io, scratch.0.as_mut_ptr().cast(), &mut slots)) }
    }
}

/// Rows, and the maximum number of columns, of a panel. (Half as many columns take a fifth longer, because of loop
/// overhead.)
const PANEL_ROWS: usize = 16;
const PANEL_WIDTH: usize = 1024;

impl Input {
    /// Whether it is gathered in panels.
    fn is_transposed(&self) -> bool {
        matches!(&self.access, Access::Strided(walk) if walk.transposed().is_some())
    }

    fn is_dense_or_transposed(&self) -> bool {
        !matches!(self.access, Access::Strided(_)) || self.is_transposed()
    }

    /// Bytes of a panel of this input; 0 if it is not gathered in panels.
    fn panel(&self, width: usize) -> usize {
        if self.is_transposed() { PANEL_ROWS * width * self.size as usize } else { 0 }
    }
}

/// The row length of the inputs that are gathered in panels, if there are any and they agree.
fn transposed_rows(inputs: &[Input], size: usize) -> Option<usize> {
    let mut lengths = inputs.iter().filter_map(|input| match &input.access {
        Access::Strided(walk) => walk.transposed(),
        _ => None,
    });
    let length = lengths.next()?;
    (size >= LEAST_TRANSPOSED && lengths.all(|other| other == length)).then_some(length)
}

/// Smaller programs gather row by row.
const LEAST_TRANSPOSED: usize = 512;
const SMALL: usize = 4 * 1024;
const SMALL_SLOTS: usize = 16;
const MEDIUM: usize = 40 * 1024;
const LARGE: usize = 320 * 1024;

#[repr(align(64))]
pub(crate) struct Scratch<const BYTES: usize>(pub(crate) MaybeUninit<[u8; BYTES]>);

/// The slot of a register: inputs, then scalars, outputs, temporaries.
#[derive(Clone, Copy)]
struct Places {
    inputs: usize,
    scalars: usize,
    outputs: usize,
}

impl Places {
    fn of(self, reg: Reg) -> u16 {
        (match reg {
            Reg::Input(n) => n as usize,
            Reg::Scalar(n) => self.inputs + n as usize,
            Reg::Out(n) => self.inputs + self.scalars + n as usize,
            Reg::Temp(n) => self.inputs + self.scalars + self.outputs + n as usize,
        }) as u16
    }

    fn count(self, temps: usize) -> usize {
        self.inputs + self.scalars + self.outputs + temps
    }
}

/// Whether the address of a register advances, or points to copies of one element.
fn moves(inputs: &[Input], reg: Reg) -> bool {
    match reg {
        Reg::Scalar(_) => false,
        Reg::Input(i) => !matches!(inputs[i as usize].access, Access::Constant),
        Reg::Temp(_) | Reg::Out(_) => true,
    }
}

/// A compiled program bound to addresses and scratch.
pub(crate) struct Machine<'a> {
    tiles: &'a Tiles,
    io: Io<'a>,
    slots: &'a mut [*mut u8],
    /// The first scratch tile of strided inputs.
    gathered: *mut u8,
    /// The offset of the next tile within the panels, if inputs were gathered in panels.
    panel: Option<usize>,
}

impl<'a> Machine<'a> {
    /// # Safety
    /// The scratch must have the bytes that the program needs, `slots` one entry per register, and `io` valid
    /// addresses.
    #[inline]
    unsafe fn new(tiles: &'a Tiles, io: Io<'a>, scratch: *mut u8, slots: &'a mut [*mut u8]) -> Machine<'a> {
        let mut next = scratch;
        let places = tiles.places();
        // SAFETY: the sizes were computed when the program was compiled.
        unsafe {
            for (i, input) in tiles.inputs.iter().enumerate() {
                if let Access::Constant = input.access {
                    splat(io.inputs[i], input.size, next);
                    slots[i] = next;
                    next = next.add(SPLAT);
                }
            }
            for (i, &size) in tiles.scalars.iter().enumerate() {
                let word = [io.scalars[i], 0];
                splat(word.as_ptr().cast(), size, next);
                slots[places.inputs + i] = next;
                next = next.add(SPLAT);
            }
            let first = places.count(0);
            for slot in &mut slots[first..first + tiles.temps] {
                *slot = next;
                next = next.add(tiles.tile * tiles.widest);
            }
        }
        Machine { tiles, io, slots, gathered: next, panel: None }
    }

    /// Gathers rows of the inputs with contiguous columns, `width` elements of each from `column` on.
    ///
    /// # Safety
    /// The elements must be within the iteration space, and the program must gather in panels.
    unsafe fn gather_panels(&mut self, rows: Range<usize>, column: usize, width: usize) {
        let mut panel = self.panels();
        for (input, &base) in self.tiles.inputs.iter().zip(self.io.inputs) {
            if let (Access::Strided(walk), bytes @ 1..) = (&input.access, input.panel(self.tiles.panel_width())) {
                let to = (panel, width);
                // SAFETY: each input has its own panel in scratch; the elements belong to the input.
                unsafe { walk.panel((base, input.size as usize), (rows.start, rows.len()), (column, width), to) };
                panel = panel.wrapping_add(bytes);
            }
        }
    }

    /// The first panel, after one tile for each strided input.
    fn panels(&self) -> *mut u8 {
        let strided = self.tiles.inputs.iter().filter(|input| matches!(input.access, Access::Strided(_))).count();
        self.gathered.wrapping_add(strided * self.tiles.tile * self.tiles.widest)
    }

    /// Runs the program for `count` elements from `start` on. `count` must be at most a tile, unless
    /// [`Tiles::is_in_place`] holds or everything gathered is in panels, and no register is watched.
    ///
    /// # Safety
    /// The elements must be within the iteration space, and nobody else may access them.
    #[inline]
    pub(crate) unsafe fn tile(&mut self, start: usize, count: usize) {
        let mut scratch = self.gathered;
        let mut panel = self.panel.map(|at| (at, self.panels()));
        // SAFETY: addresses of elements within the iteration space, or in a scratch tile.
        unsafe {
            for (i, input) in self.tiles.inputs.iter().enumerate() {
                let size = input.size as usize;
                match &input.access {
                    Access::Dense => self.slots[i] = self.io.inputs[i].add(start * size).cast_mut(),
                    Access::Constant => {}
                    Access::Strided(_) if panel.is_some() && input.is_transposed() => {
                        if let Some((at, first)) = &mut panel {
                            self.slots[i] = first.add(*at * size);
                            *first = first.add(input.panel(self.tiles.panel_width()));
                        }
                        scratch = scratch.add(self.tiles.tile * self.tiles.widest);
                    }
                    Access::Strided(walk) => {
                        self.slots[i] = match walk.in_place(self.io.inputs[i], size, start, count) {
                            Some(address) => address.cast_mut(),
                            None => {
                                walk.gather(self.io.inputs[i], size, start, count, scratch);
                                scratch
                            }
                        };
                        scratch = scratch.add(self.tiles.tile * self.tiles.widest);
                    }
                }
            }
            let first = self.tiles.inputs.len() + self.tiles.scalars.len();
            if let Some(code) = self.tiles.tier.code() {
                let mut past_cache = self.tiles.nontemporal.is_some();
                for (i, &size) in self.tiles.outputs.iter().enumerate() {
                    let to = self.io.outputs[i].add(start * size as usize);
                    past_cache &= is_aligned(to);
                    self.slots[first + i] = to;
                }
                return code.run(self.slots, count, past_cache);
            }
            let nontemporal = self.tiles.nontemporal.filter(|_| count == TILE);
            scratch = scratch.add(scratch.align_offset(64));
            for (i, &size) in self.tiles.outputs.iter().enumerate() {
                let to = self.io.outputs[i].add(start * size as usize);
                self.slots[first + i] = if nontemporal.is_some() && is_aligned(to) {
                    scratch.add(i * TILE * self.tiles.widest)
                } else {
                    to
                };
            }
            for step in &self.tiles.code {
                let operand =
                    |n: usize| LoopInput { from: self.slots[step.from[n] as usize], step: step.steps[n] as usize };
                (step.run)(self.slots[step.to as usize], &[operand(0), operand(1), operand(2)], count);
            }
            if let Some(copy) = nontemporal {
                for (i, &size) in self.tiles.outputs.iter().enumerate() {
                    let to = self.io.outputs[i].add(start * size as usize);
                    if is_aligned(to) {
                        copy(self.slots[first + i], to, TILE * size as usize);
                    }
                }
            }
        }
    }

    /// The address of a register's elements after [`Machine::tile`].
    #[inline]
    pub(crate) fn register(&self, reg: Reg) -> *const u8 {
        self.slots[self.tiles.places().of(reg) as usize]
    }
}

/// Whether an address is aligned to a cache line.
#[inline]
fn is_aligned(address: *const u8) -> bool {
    (address as usize).is_multiple_of(64)
}

/// Writes 16 copies of an element of `size` bytes; 8 copies if it has 16 bytes, 64 if it has 1.
///
/// # Safety
/// The element must be readable, and `to` must have [`SPLAT`] bytes, aligned to 64.
#[inline]
pub(crate) unsafe fn splat(from: *const u8, size: u8, to: *mut u8) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match size {
            1 => to.cast::<[u8; loops::TRUTHS]>().write([from.read(); loops::TRUTHS]),
            2 => to.cast::<[u16; 16]>().write([from.cast::<u16>().read_unaligned(); 16]),
            4 => to.cast::<[u32; 16]>().write([from.cast::<u32>().read_unaligned(); 16]),
            8 => to.cast::<[u64; 16]>().write([from.cast::<u64>().read_unaligned(); 16]),
            _ => to.cast::<[[u64; 2]; 8]>().write([from.cast::<[u64; 2]>().read_unaligned(); 8]),
        }
    }
}
