//! Windows: the records that one thread submitted and that are not planned yet, and the nodes they name.
//!
//! Each frontend thread owns one window. It publishes records to the window's ring one by one; any thread that holds
//! the planner's lock may take them out. Windows are never freed: the next thread that starts adopts the window of a
//! thread that ended, with its remaining records. Until then any thread can still plan it.

use crate::array::wait;
use crate::runtime::intern_gc::{self, RecipeRefs};
use crate::runtime::node::Node;
use crate::runtime::planner::Planner;
use crate::runtime::random_streams::RandomStream;
use crate::runtime::recipe::Recipe;
use crate::runtime::recipe_memo;
use crate::runtime::record::Record;
use crate::runtime::retired_slots::Retired;
use crate::runtime::runtime;
use crate::runtime::sync::{AtomicPtr, AtomicU64, Ordering};
use forerun_base::{DType, fail_point};
use forerun_cpu::Pool;
use forerun_engine::{Padded, Ring};
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// Default number of records in a window. A submitter that finds it full helps to run them.
pub(crate) const CAPACITY: usize = 16384;
/// Minimum capacity: some ops submit many records at once.
pub(crate) const LEAST_CAPACITY: usize = 1024;
/// Number of nodes allocated at a time.
const SLAB: usize = 256;
/// Number of slots reclaimed at a time.
const SWEEP: usize = 128;
/// Entries of the inference memo.
const MEMO: usize = 1024;
/// Maximum capacity: 64 MiB of records.
pub(crate) const MOST_CAPACITY: usize = 1 << 20;
/// Number of windows in one chunk of the list.
const PART: usize = if cfg!(test) { 4 } else { 4096 };
/// Number of chunks: enough for more threads than Linux allows.
const PARTS: usize = 1025;

/// One thread's window.
pub(crate) struct Window {
    /// The records.
    pub(crate) ring: Ring<Record>,
    /// Records before this index are done.
    completed: Padded<AtomicU64>,
    /// Nodes that other threads retired, for the owner to reclaim.
    retired_elsewhere: Padded<Retired<Node>>,
    owner: UnsafeCell<Owner>,
    planner: Padded<UnsafeCell<PlannerSide>>,
    /// The number of the window, which selects the random stream of its thread.
    pub(crate) number: usize,
}

// SAFETY: only the owning thread accesses `owner`, and `planner` is accessed only under the planner's lock; the rest is
// atomic.
unsafe impl Sync for Window {}
// SAFETY: as above; adoption transfers the owner's part through the registry's lock.
unsafe impl Send for Window {}

/// The part that only the owning thread accesses.
pub(crate) struct Owner {
    /// Number of slots.
    made: usize,
    free: Vec<*const Node>,
    retired: VecDeque<*const Node>,
    memo: Box<[MemoSlot]>,
    /// The same for ops whose attributes are a list.
    listed: recipe_memo::ListMemo,
    /// Recipes that the records of this window refer to.
    recipe_refs: RecipeRefs,
    /// Index of the next record.
    pub(crate) next: u64,
    pub(crate) random: RandomStream,
    /// Whether an observer is interested in what this thread submits.
    pub(crate) observed: bool,
}

/// The key of a signature: the op, and metas or scalar kinds of the arguments.
pub(crate) type MemoKey = (u16, [u64; 3]);
/// A recipe and the dtype of its scalars.
pub(crate) type MemoEntry = (&'static Recipe, DType);
/// The same, as inference returns it.
pub(crate) type Made = (Arc<Recipe>, DType);

/// A memo entry, on one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct MemoSlot(Option<(MemoKey, MemoEntry)>);

const _: () = assert!(size_of::<MemoSlot>() == 64);

/// The planner's notes about a window.
#[derive(Clone, Copy)]
pub(crate) struct PlannerSide {
    pub(crate) seen_tail: u64,
    pub(crate) seen_at: Option<Instant>,
}

impl Window {
    fn new(number: usize, capacity: usize) -> Window {
        Window {
            ring: Ring::new(capacity),
            completed: Padded(AtomicU64::new(0)),
            retired_elsewhere: Padded(Retired::new()),
            owner: UnsafeCell::new(Owner {
                made: 0,
                free: Vec::with_capacity(2 * SLAB),
                retired: VecDeque::with_capacity(2 * capacity),
                memo: vec![MemoSlot(None); MEMO].into_boxed_slice(),
                listed: recipe_memo::ListMemo::default(),
                recipe_refs: RecipeRefs::default(),
                next: 0,
                random: RandomStream::default(),
                observed: false,
            }),
            planner: Padded(UnsafeCell::new(PlannerSide { seen_tail: 0, seen_at: None })),
            number,
        }
    }

    /// The owner's part.
    ///
    /// # Safety
    /// Only the owning thread, and only one reference at a time.
    #[allow(clippy::mut_from_ref, reason = "exclusive by ownership of the window, as the caller promises")]
    #[inline]
    pub(crate) unsafe fn owner(&self) -> &mut Owner {
        debug_assert!(std::ptr::eq(self, current()), "a window is used by a thread that does not own it");
        // SAFETY: the caller guarantees that this is the owning thread and the only reference.
        unsafe { &mut *self.owner.get() }
    }

    /// The planner's part, while the planner is borrowed; a caller that has the planner holds its lock.
    pub(crate) fn planner_side<'a>(&'a self, _planner: &'a mut Planner) -> &'a mut PlannerSide {
        // SAFETY: there is one planner in the process, and it is borrowed exclusively while the reference lives.
        unsafe { &mut *self.planner.get() }
    }

    /// Notes that records before `index` are done.
    pub(crate) fn set_completed(&self, index: u64) {
        self.completed.0.store(index, Ordering::Release);
    }

    /// Index before which all records are done.
    pub(crate) fn completed(&self) -> u64 {
        self.completed.0.load(Ordering::Acquire)
    }

    /// Takes a slot for a new value.
    ///
    /// # Safety
    /// Only the owning thread.
    pub(crate) unsafe fn take_node(&self) -> &'static Node {
        // SAFETY: the caller is the owning thread, as this function requires.
        let owner = unsafe { self.owner() };
        let node = match owner.free.pop() {
            Some(node) => node,
            None => self.sweep(owner).unwrap_or_else(|| self.wait_for_slots()),
        };
        // SAFETY: nodes are never freed.
        unsafe { &*node }
    }

    /// Reclaims retired slots, or allocates new ones.
    #[cold]
    fn sweep(&self, owner: &mut Owner) -> Option<*const Node> {
        self.reclaim(owner, SWEEP);
        owner.free.pop().or_else(|| self.grow(owner))
    }

    /// Reclaims retired slots, examining at most `most`.
    fn reclaim(&self, owner: &mut Owner, most: usize) {
        // SAFETY: nodes are never freed.
        owner.retired.extend(unsafe { self.retired_elsewhere.0.take_all() }.map(|n| n as *const Node));
        let completed = self.completed();
        owner.recipe_refs.release(completed);
        for _ in 0..owner.retired.len().min(most) {
            let Some(node) = owner.retired.pop_front() else { break };
            // SAFETY: nodes are never freed.
            if unsafe { &*node }.is_reclaimable(completed) {
                owner.free.push(node);
            } else {
                owner.retired.push_back(node);
            }
        }
    }

    /// Allocates new slots, if there is memory for them.
    fn grow(&self, owner: &mut Owner) -> Option<*const Node> {
        fail_point!("slots.grow", _error => return None);
        let mut slab = Vec::new();
        slab.try_reserve_exact(SLAB).ok()?;
        slab.extend((0..SLAB).map(|_| Node::new(self)));
        let slab: &'static [Node] = slab.leak();
        intern_gc::add_slab(slab);
        owner.made += SLAB;
        owner.free.extend(slab.iter().rev().map(|n| n as *const Node));
        owner.free.pop()
    }

    /// Waits for slots of finished records when there is no memory for new ones. A program whose arrays use all slots
    /// has to end, as it would for lack of any other small allocation.
    #[cold]
    fn wait_for_slots(&self) -> *const Node {
        wait::finish_all();
        // SAFETY: the owning thread; its part is not borrowed while it waits.
        let owner = unsafe { self.owner() };
        self.reclaim(owner, usize::MAX);
        let found = owner.free.pop().or_else(|| self.grow(owner));
        found.unwrap_or_else(|| panic!("no memory for another array descriptor"))
    }

    /// Holds a recipe until the records that name it are done, if the calling thread submits them right away.
    pub(crate) fn keep(&self, recipe: Arc<Recipe>) -> &'static Recipe {
        let named = recipe.submitted();
        self.keep_alive(&recipe);
        named
    }

    /// Holds an object that records just submitted by the calling thread refer to, until they are done.
    pub(crate) fn keep_alive<T: Send + Sync + 'static>(&self, recipe_refs: &Arc<T>) {
        // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
        unsafe { self.owner() }.keep(recipe_refs);
    }

    /// Retires a slot whose cell is dead and whose value is closed: the owner may reuse it once its records are done.
    pub(crate) fn retire(node: &Node) {
        let window = node.window();
        if window == current() {
            // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
            unsafe { (*window).owner() }.retired.push_back(node);
            return;
        }
        // SAFETY: windows are never freed.
        unsafe { &*window }.retired_elsewhere.0.push(node);
    }
}

impl Owner {
    /// The recipe for a key, from the memo or from `infer`.
    #[inline]
    pub(crate) fn recipe<E>(&mut self, key: MemoKey, infer: impl FnOnce() -> Result<Made, E>) -> Result<MemoEntry, E> {
        let (op, [a, b, c]) = key;
        let mixed = (op as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(a.wrapping_mul(0x85eb_ca6b_c8f6_9b07))
            .wrapping_add(b.wrapping_mul(0xc2b2_ae35_0663_7f4b))
            .wrapping_add(c.wrapping_mul(0x27d4_eb2f_1656_67c5));
        let place = (mixed >> 52) as usize % MEMO;
        if let Some((known, entry)) = &self.memo[place].0
            && *known == key
        {
            return Ok(*entry);
        }
        let (recipe, dtype) = infer()?;
        Ok(self.remember(place, key, recipe, dtype))
    }

    /// The recipe for an op whose attributes are a list, if it is in the memo.
    #[inline]
    pub(crate) fn listed(&self, key: &recipe_memo::ListKey) -> Option<&'static Recipe> {
        self.listed.find(key)
    }

    /// Adds the recipe for an op whose attributes are a list to the memo.
    pub(crate) fn remember_listed(&mut self, key: recipe_memo::ListKey, recipe: &Arc<Recipe>) -> &'static Recipe {
        // The entry comes first, so that a set of held recipes that begins now includes it.
        self.listed.remember(key, recipe.submitted());
        self.keep(recipe);
        recipe.submitted()
    }

    #[cold]
    fn remember(&mut self, place: usize, key: MemoKey, recipe: Arc<Recipe>, dtype: DType) -> MemoEntry {
        let entry = (recipe.submitted(), dtype);
        self.memo[place] = MemoSlot(Some((key, entry)));
        self.keep(&recipe);
        entry
    }

    fn keep<T: Send + Sync + 'static>(&mut self, recipe_refs: &Arc<T>) {
        if self.recipe_refs.add(recipe_refs) {
            return;
        }
        let named = self.memo.iter().filter_map(|memo| memo.0.as_ref()).map(|(_, (recipe, _))| *recipe);
        self.recipe_refs.begin(self.next, named.chain(self.listed.recipes()).map(Recipe::share));
    }
}

thread_local! {
    static CURRENT: Cell<*const Window> = const { Cell::new(std::ptr::null()) };
    static ADOPTABLE: Adoptable = const { Adoptable };
}

/// Returns the thread's window to the registry when the thread ends.
struct Adoptable;

impl Drop for Adoptable {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let window = CURRENT.get();
    if !window.is_null() {
        // SAFETY: windows are never freed.
        let window = unsafe { &*window };
        // SAFETY: still our own window; no other reference to the owner's part is alive.
        unsafe { window.owner() }.observed = false;
        CURRENT.set(std::ptr::null());
        runtime().windows.give_back(window);
    }
}

/// Called by each thread before its first submission.
static ARRIVAL: OnceLock<fn()> = OnceLock::new();

/// Registers a hook that each thread calls before its first submission, so that an interpreter knows which threads must
/// call [`leave`].
pub fn on_arrival(hook: fn()) {
    ARRIVAL.get_or_init(|| hook);
}

/// Returns the calling thread's window and free memory before the thread has ended. An interpreter reports that a
/// thread has ended before the system has torn it down. The next thread would otherwise find neither and get a window,
/// and a random stream, that depend on timing. The thread may still submit.
pub fn leave() {
    give_back();
    Pool::leave();
}

/// The calling thread's window, or null if it never submitted.
#[inline]
pub(crate) fn current() -> *const Window {
    CURRENT.get()
}

/// The calling thread's window, created if needed.
#[inline]
pub(crate) fn window() -> &'static Window {
    let window = CURRENT.get();
    if window.is_null() {
        return attach();
    }
    // SAFETY: windows are never freed.
    unsafe { &*window }
}

/// Number of descriptor slots of the calling thread's window, and how many are in use by arrays and pending values. For
/// leak detection.
pub fn slots() -> SlotStats {
    let window = window();
    // SAFETY: the calling thread owns this window, and no other reference to the owner's part is alive.
    let owner = unsafe { window.owner() };
    window.reclaim(owner, usize::MAX);
    SlotStats { made: owner.made, live: owner.made - owner.free.len() }
}

/// Descriptor slots of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotStats {
    /// Number of slots.
    pub made: usize,
    /// Number of slots in use.
    pub live: usize,
}

#[cold]
fn attach() -> &'static Window {
    let window = runtime().windows.take();
    CURRENT.set(window);
    // A thread that is already ending cannot return its window; the window stays in the list, and any thread can plan
    // it.
    let _ = ADOPTABLE.try_with(|_| ());
    if let Some(hook) = ARRIVAL.get() {
        hook();
    }
    window
}

/// A chunk of the list of windows.
type Chunk = Box<[AtomicPtr<Window>]>;

/// All windows: those of living threads and those waiting for a new owner.
pub(crate) struct Windows {
    all: Box<[OnceLock<Chunk>]>,
    count: AtomicUsize,
    unowned: Mutex<Vec<&'static Window>>,
    /// Capacity of each window in records.
    capacity: usize,
}

impl Windows {
    pub(crate) fn new(capacity: usize) -> Windows {
        Windows {
            all: (0..PARTS).map(|_| OnceLock::new()).collect(),
            count: AtomicUsize::new(0),
            unowned: Mutex::new(Vec::new()),
            capacity: capacity.next_power_of_two(),
        }
    }

    /// Every window there is.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Window> {
        (0..self.count()).filter_map(|number| self.get(number))
    }

    /// Number of windows.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// The window with this number, which must be below the count.
    pub(crate) fn get(&self, number: usize) -> Option<&'static Window> {
        let part = self.all[number / PART].get()?;
        // SAFETY: entries below the count are set and never freed; the others are null.
        unsafe { part[number % PART].load(Ordering::Relaxed).as_ref() }
    }

    fn take(&self) -> &'static Window {
        let mut unowned = self.unowned.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(window) = unowned.pop() {
            return window;
        }
        let number = self.count.load(Ordering::Relaxed);
        let part = self.all.get(number / PART).expect("no machine has as many threads");
        let window: &'static Window = Box::leak(Box::new(Window::new(number, self.capacity)));
        let part = part.get_or_init(|| (0..PART).map(|_| AtomicPtr::new(null_mut())).collect());
        part[number % PART].store(window as *const Window as *mut Window, Ordering::Relaxed);
        self.count.store(number + 1, Ordering::Release);
        window
    }

    /// Takes the lock before a fork.
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn Any> {
        Box::new(self.unowned.lock().unwrap_or_else(|e| e.into_inner()))
    }

    fn give_back(&self, window: &'static Window) {
        self.unowned.lock().unwrap_or_else(|e| e.into_inner()).push(window);
    }

    /// Whether any window holds records.
    pub(crate) fn any_pending(&self) -> bool {
        self.iter().any(|w| !w.ring.is_empty())
    }

    /// The current tail of each window.
    pub(crate) fn tails(&self) -> Vec<(&'static Window, u64)> {
        self.iter().map(|w| (w, w.ring.tail())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_windows_as_threads() {
        let windows = Windows::new(LEAST_CAPACITY);
        let taken: Vec<&Window> = (0..3 * PART + 1).map(|_| windows.take()).collect();
        assert_eq!(windows.count(), taken.len());
        assert!(windows.iter().zip(&taken).all(|(found, taken)| std::ptr::eq(found, *taken)));
        windows.give_back(windows.get(PART).unwrap());
        assert_eq!(windows.take().number, PART, "a window without an owner is adopted");
    }
}
