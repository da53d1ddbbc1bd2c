//! Pieces of a running task, shared between the thread that splits (the owner) and those that join in.
//!
//! | field | meaning | who writes |
//! |---|---|---|
//! | next | the first piece nobody has taken; past the end when all are taken | everyone, by adding one |
//! | helpers | how many others are inside; a bit if the owner sleeps for them | joiners, under the lock; leavers |
//!
//! A job lies on its owner's stack. It is on the list while it may be joined; joining happens under the list's lock,
//! so once the owner has taken the job off, only those counted in `helpers` can touch it. A helper's last access is
//! its subtraction: afterwards it only uses the owner's parker, of which it holds a reference. All pieces are done
//! when all are taken and nobody is inside any more.
//!
//! Nothing here knows tasks: a piece is a call with a number.

use crate::parker::Parker;
use crate::stats::{Counter, ParkCounters};
use crate::sync::{Arc, AtomicU32, AtomicUsize, Mutex, Ordering, Padded, spin_loop};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

type Piece<'a> = dyn Fn(usize) + Sync + 'a;

/// Set in `helpers` when the owner sleeps until the others have left.
const OWNER_SLEEPS: u32 = 1 << 31;

/// Looks at the stragglers before the owner sleeps: some ten microseconds.
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
    /// Runs pieces until none is left or `most` are done; says how many.
    fn run(&self, most: usize) -> usize {
        let mut done = 0;
        while done < most {
            #[cfg(not(loom))]
            crate::gate::checkpoint();
            // Relaxed: a number is all that is handed out; the job itself was seen through the list's lock.
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.pieces {
                break;
            }
            // SAFETY: the owner stays in `split` until every piece taken is done, and the closure outlives that.
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

// SAFETY: jobs are made of Sync parts (the closure is Sync), and the pointer is used under the rules of the module.
unsafe impl Send for JobPtr {}

/// The jobs that may be joined.
pub(crate) struct Jobs {
    open: Padded<AtomicUsize>,
    list: Mutex<Vec<JobPtr>>,
}

impl Jobs {
    pub(crate) fn new() -> Jobs {
        Jobs { open: Padded(AtomicUsize::new(0)), list: Mutex::new(Vec::new()) }
    }

    /// Whether there may be something to join.
    #[inline]
    pub(crate) fn any_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) != 0
    }

    /// Runs `piece(0..pieces)` together with whoever joins, and returns when all are done; `call` is run once the
    /// job can be joined. A panic in a piece goes on from here after all pieces are done.
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
            // SAFETY: only the lifetime changes; this function returns when nobody can call the closure any more.
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
        // Joiners take finished jobs off as well, to spare the others the look.
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

    /// In a forked child: the owners of all jobs are gone.
    #[cfg(not(loom))]
    pub(crate) fn forget(&self) {
        self.list.lock().clear();
        self.open.store(0, Ordering::Relaxed);
    }

    /// The lock, held for a fork.
    #[cfg(not(loom))]
    pub(crate) fn lock_for_fork(&'static self) -> Box<dyn Any> {
        Box::new(self.list.lock())
    }

    /// Joins the oldest job that has pieces left and runs at most so many; `joined` is called before the first and
    /// told whether there is more than one. Says how many it ran, or that there was nothing to join.
    pub(crate) fn help(
        &self,
        most: usize,
        pieces: &Counter,
        counters: &ParkCounters,
        joined: impl FnOnce(bool),
    ) -> Option<usize> {
        let mut list = self.list.lock();
        let before = list.len();
        // SAFETY: jobs on the list are alive while the lock is held: owners take them off before they return.
        list.retain(|job| unsafe { (*job.0).has_pieces() });
        if before != list.len() {
            self.open.fetch_sub(before - list.len(), Ordering::Relaxed);
        }
        let &JobPtr(job) = list.first()?;
        // SAFETY: as above; from here on the count keeps the owner from returning.
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
