//! Recipes: a signature and how to run a single record with it. There is one per signature while it is in use.
//!
//! A record names its recipe by a plain pointer, written here as `&'static Recipe`. It is valid until the record is
//! done, because the window of the record holds the recipe until then (see [`crate::runtime::intern_gc`]). Code that
//! keeps a recipe for longer, such as captures and traces, counts it: [`Recipe::share`].

use crate::runtime::devices::{self, OwnDevice};
use crate::runtime::lower::{CompiledKernel, compile};
use crate::runtime::runtime;
use forerun_base::{Result, Team, WordHash};
use forerun_ops::{Op, Point};
use forerun_plan::{Executable, Fate, Io, Operand, PlanOptions, SegmentRecord, Signature, Source, plan};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

/// A record without its values, and how to run it on its own.
pub(crate) struct Recipe {
    pub(crate) signature: Arc<Signature>,
    /// Approximate number of elements touched.
    pub(crate) cost: usize,
    /// The accelerator it runs on.
    pub(crate) device: Option<&'static OwnDevice>,
    single: OnceLock<SingleKernel>,
    /// Itself, for [`Recipe::share`].
    own: Weak<Recipe>,
}

/// A compiled kernel for one record, and the inputs and immediates of the record that it uses.
pub(crate) struct SingleKernel {
    pub(crate) kernel: CompiledKernel,
    /// For each kernel input, the index of the record's input.
    pub(crate) inputs: Box<[u8]>,
    /// For each scalar, the index of the record's immediate.
    pub(crate) scalars: Box<[u8]>,
}

impl SingleKernel {
    /// The kernel of a record that runs on the host.
    pub(crate) fn host(&self) -> &dyn Executable {
        match &self.kernel {
            CompiledKernel::Host(executable) => &**executable,
            CompiledKernel::Device(_) | CompiledKernel::Transfer(_) => {
                unreachable!("records of a device are enqueued, not run")
            }
        }
    }

    /// Runs one record on the host. `address` says where each input of the record lies.
    ///
    /// # Safety
    /// Each input holds what its meta states; `target` has room for the result and no other thread accesses it.
    #[inline]
    pub(crate) unsafe fn run(
        &self,
        address: impl Fn(usize) -> *const u8,
        immediates: &[u64; 2],
        target: *mut u8,
        team: &dyn Team,
    ) -> Result<()> {
        // SAFETY: as the caller promised.
        self.with_io(address, immediates, target, |io| unsafe { self.host().check_and_run(io, team) })
    }

    /// Calls `f` with the addresses and scalars of one record.
    #[inline]
    pub(crate) fn with_io<R>(
        &self,
        address: impl Fn(usize) -> *const u8,
        immediates: &[u64; 2],
        target: *mut u8,
        f: impl FnOnce(Io<'_>) -> R,
    ) -> R {
        let (mut few, mut many) = ([std::ptr::null::<u8>(); 3], Vec::new());
        let inputs = if self.inputs.len() <= few.len() {
            for (to, from) in few.iter_mut().zip(&self.inputs) {
                *to = address(*from as usize);
            }
            &few[..self.inputs.len()]
        } else {
            many.extend(self.inputs.iter().map(|from| address(*from as usize)));
            &many
        };
        debug_assert!(self.scalars.len() <= immediates.len(), "a scalar is an immediate");
        let mut scalars = [0u64; 2];
        for (to, from) in scalars.iter_mut().zip(&self.scalars) {
            *to = immediates[*from as usize];
        }
        f(Io { inputs, outputs: &[target], scalars: &scalars[..self.scalars.len()] })
    }
}

type Table = HashMap<u64, Arc<Recipe>, WordHash>;

fn table() -> MutexGuard<'static, Table> {
    static TABLE: OnceLock<Mutex<Table>> = OnceLock::new();
    TABLE.get_or_init(Default::default).lock().unwrap_or_else(|e| e.into_inner())
}

/// Takes the table's lock before a fork.
pub(crate) fn lock_for_fork() -> Box<dyn Any> {
    Box::new(table())
}

/// Drops the recipes that only the table holds.
pub(crate) fn forget_unheld() {
    // Kernels are dropped after the lock is released.
    let unheld: Vec<Arc<Recipe>> = {
        let mut table = table();
        let unheld = table.extract_if(|_, recipe| Arc::strong_count(recipe) == 1).map(|(_, recipe)| recipe).collect();
        let most = 2 * table.len();
        table.shrink_to(most);
        unheld
    };
    drop(unheld);
}

impl Recipe {
    /// The recipe of a signature.
    pub(crate) fn of(signature: Arc<Signature>) -> Arc<Recipe> {
        let make = || {
            let (cost, device) = (signature.cost(), devices::of(signature.runs_on()));
            let single = OnceLock::new();
            Arc::new_cyclic(|own| Recipe { signature: signature.clone(), cost, device, single, own: own.clone() })
        };
        table().entry(signature.id).or_insert_with(make).clone()
    }

    /// A counted reference.
    pub(crate) fn share(&self) -> Arc<Recipe> {
        self.own.upgrade().expect("the recipe is held")
    }

    /// The recipe as a record names it. The caller ensures that the window holds it until the record is done.
    pub(crate) fn submitted(&self) -> &'static Recipe {
        // SAFETY: recipes live in an `Arc`, and the caller ensures that one is held while the record is accessible.
        unsafe { &*std::ptr::from_ref(self) }
    }

    pub(crate) fn op(&self) -> Op {
        self.signature.op
    }

    /// The index of the input that is the previous value of the written cell: the first, except for a select, where it
    /// is the last.
    #[inline]
    pub(crate) fn rewritten(&self) -> usize {
        match self.signature.op {
            Op::Point(Point::Where) => self.signature.inputs.len() - 1,
            _ => 0,
        }
    }

    /// The kernel that runs one record of this signature on its own.
    pub(crate) fn single(&self) -> &SingleKernel {
        self.single.get_or_init(|| {
            let inputs = (0..self.signature.inputs.len() as u16)
                .map(|i| Operand { source: Source::External(i), view: None })
                .collect();
            let record = SegmentRecord { signature: &self.submitted().signature, inputs, fate: Fate::Seen };
            let made = plan(&[record], PlanOptions { fuse: false, drop_dead: false });
            let group = &made.groups[0];
            SingleKernel {
                kernel: compile(runtime(), group),
                inputs: group
                    .inputs
                    .iter()
                    .map(|o| match o.source {
                        Source::External(i) => i as u8,
                        Source::Record(_) => unreachable!("a single record reads no other"),
                    })
                    .collect(),
                scalars: group.scalars.iter().map(|(_, word)| *word).collect(),
            }
        })
    }
}
