//! Pieces of a running task, shared between the thread that splits it (the owner) and threads that join.
//!
//! | field | meaning | writers |
//! |---|---|---|
//! | next | the first piece that is not taken; past the end when all are taken | all, by adding one |
//! | helpers | other threads inside; a flag bit if the owner sleeps | joiners, under the lock; leavers |
//!
//! A job is stored on its owner's stack. It is on the list while threads may join it. Joining takes the list's lock, so
//! once the owner has removed the job, only the threads counted in `helpers` can access it. A helper's last access is
//! its decrement; afterwards it only uses the owner's parker, to which it holds a reference. All pieces are done when
//! all are taken and no helper is inside.
//!
//! This module does not know tasks: a piece is a call with an index.

use crate::parker::Parker;
use crate::stats::{Counter, ParkCounters};
use crate::sync::{Arc, AtomicU32, AtomicUsize, Mutex, Ordering, Padded, spin_loop};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

type Piece<'a> = dyn Fn(usize) + Sync + 'a;

/// Flag in `helpers`: the owner sleeps until the other threads have left.
const OWNER_SLEEPS: u32 = 1 << 31;

/// Polls of the remaining helpers before the owner sleeps: about ten microseconds.
#[cfg(not(loom))]
const LOOKS: u32 = 400;
#[cfg(loom)]
const LOOKS: u32 = 0;

struct Job {
    next: AtomicUsize,
    pieces: usize,
    helpers: AtomicU32,
    piece: *const Piece<'static>,
    owner: Arc<Parker>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job {
    /// Runs pieces until none is left or `most` are done; returns how many it ran.
    fn run(&self, most: usize) -> usize {
        let mut done = 0;
        while done < most {
            #[cfg(not(loom))]
            crate::gate::checkpoint();
            // Relaxed: only an index is handed out; the list's lock made the job itself visible.
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.pieces {
                break;
            }
            // SAFETY: the owner stays in `split` until every taken piece is done, and the closure outlives `split`.
            let piece = AssertUnwindSafe(|| unsafe { (*self.piece)(index) });
            if let Err(panic) = catch_unwind(piece) {
                self.panic.lock().get_or_insert(panic);
            }
            done += 1;
        }
        done
    }

    fn has_pieces(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.pieces
    }
}

struct JobPtr(*const Job);

// SAFETY: a job consists of Sync parts (the closure is Sync), and the pointer follows the rules of the module.
unsafe impl Send for JobPtr {}

/// The jobs that threads may join.
pub(crate) struct Jobs {
    open: Padded<AtomicUsize>,
    list: Mutex<Vec<JobPtr>>,
}

impl Jobs {
    pub(crate) fn new() -> Jobs {
        Jobs { open: Padded(AtomicUsize::new(0)), list: Mutex::new(Vec::new()) }
    }

    /// Whether there may be a job to join.
    #[inline]
    pub(crate) fn any_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) != 0
    }

    /// Runs `piece(0..pieces)` together with the threads that join, and returns when all pieces are done. `call` runs
    /// once the job can be joined. A panic in a piece is resumed here after all pieces are done.
    pub(crate) fn split(
        &self,
        pieces: usize,
        piece: &Piece<'_>,
        parker: &Arc<Parker>,
        counters: &ParkCounters,
        call: impl FnOnce(),
    ) {
        let borrowed: *const Piece<'_> = piece;
        let job = Job {
            next: AtomicUsize::new(0),
            pieces,
            helpers: AtomicU32::new(0),
            // SAFETY: only the lifetime changes; this function returns after the last possible call of the closure.
            piece: unsafe { std::mem::transmute::<*const Piece<'_>, *const Piece<'static>>(borrowed) },
            owner: Arc::clone(parker),
            panic: Mutex::new(None),
        };
        let address: *const Job = &job;
        self.list.lock().push(JobPtr(address));
        self.open.fetch_add(1, Ordering::Relaxed);
        call();
        job.run(usize::MAX);
        let mut list = self.list.lock();
        // Joiners remove finished jobs too, so the job may be gone.
        if let Some(at) = list.iter().position(|other| other.0 == address) {
            list.remove(at);
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        drop(list);
        wait_for_helpers(&job, parker, counters);
        let panic = job.panic.lock().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Clears the list in a forked child, where the owners of all jobs are gone.
    #[cfg(not(loom))]
    pub(crate) fn forget(&self) {
        self.list.lock().clear();
        self.open.store(0, Ordering::Relaxed);
    }

    /// Takes the lock before a fork.
    #[cfg(not(loom))]
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn Any> {
        Box::new(self.list.lock())
    }

    /// Joins the oldest job with remaining pieces and runs at most `most` of them. `joined` is called before the first
    /// piece and gets whether more than one remains. Returns how many pieces ran, or `None` if there was no job.
    pub(crate) fn help(
        &self,
        most: usize,
        pieces: &Counter,
        counters: &ParkCounters,
        joined: impl FnOnce(bool),
    ) -> Option<usize> {
        let mut list = self.list.lock();
        let before = list.len();
        // SAFETY: jobs on the list are alive while the lock is held, because owners remove them before they return.
        list.retain(|job| unsafe { (*job.0).has_pieces() });
        if before != list.len() {
            self.open.fetch_sub(before - list.len(), Ordering::Relaxed);
        }
        let &JobPtr(job) = list.first()?;
        // SAFETY: as above; from here on the count in `helpers` keeps the owner from returning.
        let job = unsafe { &*job };
        job.helpers.fetch_add(1, Ordering::Relaxed);
        drop(list);
        joined(job.next.load(Ordering::Relaxed) + 1 < job.pieces);
        let owner = Arc::clone(&job.owner);
        let done = job.run(most);
        pieces.add(done as u64);
        // Release: the owner sees what the pieces wrote. This is the last access to the job.
        if job.helpers.fetch_sub(1, Ordering::AcqRel) == OWNER_SLEEPS | 1 {
            counters.woke(owner.unpark());
        }
        Some(done)
    }
}

fn wait_for_helpers(job: &Job, parker: &Arc<Parker>, counters: &ParkCounters) {
    for _ in 0..LOOKS {
        if job.helpers.load(Ordering::Acquire) == 0 {
            return;
        }
        spin_loop();
    }
    if job.helpers.fetch_or(OWNER_SLEEPS, Ordering::AcqRel) == 0 {
        return;
    }
    while job.helpers.load(Ordering::Acquire) != OWNER_SLEEPS {
        counters.parked();
        parker.park(None);
    }
}
