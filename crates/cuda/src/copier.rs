//! Copiers: the threads behind the lanes of copies. Memory of the host that the driver does not know goes through pinned
//! pieces, and that takes a thread of the host; so it is not the one that tells the device what to compute.
//!
//! A copy to the device has its place in the lane once the copier has staged it: whoever must come after it waits for that, which is a
//! matter of the host's memory alone. A copier sleeps while it has nothing to do.

use crate::gpu::Gpu;
use crate::lanes::{Lane, Ticket};
use forerun_base::{Error, Result, Solo};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// What a copier is told.
enum Order {
    /// Copies bytes; takes the next ticket.
    Copy { from: usize, to: usize, bytes: usize },
    /// What follows comes after that mark of the compute lane.
    AfterCompute(u64),
    /// What follows comes after that ticket of another copier.
    After(Arc<Copier>, u64),
}

#[derive(Default)]
struct Queue {
    orders: VecDeque<Order>,
    has_thread: bool,
    /// Copies that have their place in the lane.
    staged: u64,
    failures: Vec<(u64, Error)>,
}

/// One lane of copies.
pub(crate) struct Copier {
    lane: Lane,
    told: AtomicU64,
    /// Copies to the host that are there.
    arrived: AtomicU64,
    queue: Mutex<Queue>,
    called: Condvar,
    staged: Condvar,
}

impl Copier {
    pub(crate) fn new(lane: Lane) -> Arc<Copier> {
        Arc::new(Copier {
            lane,
            told: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            queue: Mutex::default(),
            called: Condvar::new(),
            staged: Condvar::new(),
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// The last ticket that was passed.
    pub(crate) fn passed(&self, gpu: &Gpu) -> Result<u64> {
        match self.lane {
            Lane::FromDevice => Ok(self.arrived.load(Ordering::Acquire)),
            _ => gpu.passed(self.lane).map(|ticket| ticket.0),
        }
    }

    pub(crate) fn outcome(&self, ticket: u64) -> Result<()> {
        let failures = &mut self.queue().failures;
        match failures.iter().position(|(at, _)| *at == ticket) {
            Some(at) => Err(failures.swap_remove(at).1),
            None => Ok(()),
        }
    }

    /// What is told from now on comes after that mark of the compute lane.
    pub(crate) fn after_compute(self: &Arc<Copier>, gpu: &Arc<Gpu>, mark: u64) {
        self.tell(gpu, Order::AfterCompute(mark));
    }

    /// What is told from now on comes after that ticket of another copier.
    pub(crate) fn after(self: &Arc<Copier>, gpu: &Arc<Gpu>, other: &Arc<Copier>, ticket: u64) {
        self.tell(gpu, Order::After(other.clone(), ticket));
    }

    /// Lets another lane wait, on the device, until a copy to the device is there.
    pub(crate) fn hold_back(&self, gpu: &Gpu, lane: Lane, ticket: u64) -> Result<()> {
        let mut queue = self.queue();
        while queue.staged < ticket {
            queue = self.staged.wait(queue).unwrap_or_else(|e| e.into_inner());
        }
        drop(queue);
        gpu.wait(lane, self.lane, Ticket(ticket))
    }

    /// Copies bytes between the host and the device, in the copier's direction.
    ///
    /// # Safety
    /// Both addresses must reach so many bytes, which nobody else changes until the ticket is passed.
    pub(crate) unsafe fn copy(self: &Arc<Copier>, gpu: &Arc<Gpu>, from: usize, to: usize, bytes: usize) {
        self.tell(gpu, Order::Copy { from, to, bytes });
    }

    fn tell(self: &Arc<Copier>, gpu: &Arc<Gpu>, order: Order) {
        let mut queue = self.queue();
        if matches!(order, Order::Copy { .. }) {
            self.told.fetch_add(1, Ordering::AcqRel);
        }
        queue.orders.push_back(order);
        if !queue.has_thread {
            let (copier, gpu) = (Arc::clone(self), Arc::clone(gpu));
            let started =
                std::thread::Builder::new().name("forerun-copier".to_owned()).spawn(move || copier.work(&gpu));
            queue.has_thread = started.is_ok();
        }
        if queue.has_thread {
            self.called.notify_one();
            return;
        }
        // Without a thread whoever tells does it.
        let orders = std::mem::take(&mut queue.orders);
        drop(queue);
        for order in orders {
            self.follow(gpu, order);
        }
    }

    fn work(&self, gpu: &Arc<Gpu>) {
        let mut queue = self.queue();
        loop {
            let Some(order) = queue.orders.pop_front() else {
                queue = self.called.wait(queue).unwrap_or_else(|e| e.into_inner());
                continue;
            };
            drop(queue);
            self.follow(gpu, order);
            queue = self.queue();
        }
    }

    fn follow(&self, gpu: &Gpu, order: Order) {
        let (result, copies) = match order {
            Order::AfterCompute(mark) => (gpu.wait(self.lane, Lane::Compute, Ticket(mark)), false),
            Order::After(other, ticket) => (other.hold_back(gpu, self.lane, ticket), false),
            Order::Copy { from, to, bytes } => {
                // SAFETY: whoever told the copier promised what the copies ask for.
                let copied = unsafe { self.copy_now(gpu, from, to, bytes) };
                // A copy that failed has its place in the lane too: its ticket has to be passed.
                let marked = match self.lane {
                    Lane::FromDevice => Ok(()),
                    _ => gpu.record(self.lane).map(drop),
                };
                (copied.and(marked), true)
            }
        };
        let mut queue = self.queue();
        if let Err(error) = result {
            // What cannot wait for another lane fails with the copy that had to.
            let ticket = queue.staged + 1;
            queue.failures.push((ticket, error));
        }
        if copies {
            queue.staged += 1;
            self.arrived.store(queue.staged, Ordering::Release);
            self.staged.notify_all();
        }
    }

    /// # Safety
    /// As for [`Copier::copy`].
    unsafe fn copy_now(&self, gpu: &Gpu, from: usize, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise is this one.
        unsafe {
            match self.lane {
                Lane::FromDevice => {
                    gpu.copy_out(from as u64, std::slice::from_raw_parts_mut(to as *mut u8, bytes), &Solo)
                }
                _ => gpu.copy_in(std::slice::from_raw_parts(from as *const u8, bytes), to as u64, &Solo),
            }
        }
    }
}
