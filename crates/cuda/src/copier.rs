//! Copiers: the threads of the copy lanes. Copies of pageable host memory are staged through pinned buffers, which
//! occupies a host thread; a separate thread does this, so that it does not delay kernel launches.
//!
//! A copy to the device has its position in the stream once the copier has staged it. A command that must follow it
//! waits for the staging, which depends on host memory alone. A copier sleeps while its queue is empty.

use crate::gpu::Gpu;
use crate::streams::Mark;
use forerun_base::{Error, Result, Solo};
use forerun_plan::Lane;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// A command in a copier's queue.
enum Order {
    /// Copies bytes; takes the next ticket.
    Copy { from: usize, to: usize, bytes: usize },
    /// Makes later commands wait for this mark of the compute stream.
    AfterCompute(u64),
    /// Makes later commands wait for this ticket of another copier.
    After(Arc<Copier>, u64),
}

#[derive(Default)]
struct Queue {
    orders: VecDeque<Order>,
    has_thread: bool,
    /// Copies whose commands are in the stream.
    staged: u64,
    failures: Vec<(u64, Error)>,
}

/// One lane of copies.
pub(crate) struct Copier {
    lane: Lane,
    enqueued: AtomicU64,
    /// Copies to the host that are complete.
    arrived: AtomicU64,
    queue: Mutex<Queue>,
    called: Condvar,
    staged: Condvar,
}

impl Copier {
    pub(crate) fn new(lane: Lane) -> Arc<Copier> {
        Arc::new(Copier {
            lane,
            enqueued: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            queue: Mutex::default(),
            called: Condvar::new(),
            staged: Condvar::new(),
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Acquire)
    }

    /// The last completed ticket.
    pub(crate) fn passed(&self, gpu: &Gpu) -> Result<u64> {
        match self.lane {
            Lane::Out => Ok(self.arrived.load(Ordering::Acquire)),
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

    /// Makes commands enqueued from now on wait for this mark of the compute stream.
    pub(crate) fn after_compute(self: &Arc<Copier>, gpu: &Arc<Gpu>, mark: u64) {
        self.enqueue(gpu, Order::AfterCompute(mark));
    }

    /// Makes commands enqueued from now on wait for this ticket of another copier.
    pub(crate) fn after(self: &Arc<Copier>, gpu: &Arc<Gpu>, other: &Arc<Copier>, ticket: u64) {
        self.enqueue(gpu, Order::After(other.clone(), ticket));
    }

    /// Makes another lane wait, on the device, until a copy to the device is complete.
    pub(crate) fn hold_back(&self, gpu: &Gpu, lane: Lane, ticket: u64) -> Result<()> {
        let mut queue = self.queue();
        while queue.staged < ticket {
            queue = self.staged.wait(queue).unwrap_or_else(|e| e.into_inner());
        }
        drop(queue);
        gpu.wait(lane, self.lane, Mark(ticket))
    }

    /// Copies bytes between the host and the device, in the copier's direction.
    ///
    /// # Safety
    /// Both addresses must be valid for this many bytes, which nobody else changes until the ticket has completed.
    pub(crate) unsafe fn copy(self: &Arc<Copier>, gpu: &Arc<Gpu>, from: usize, to: usize, bytes: usize) {
        self.enqueue(gpu, Order::Copy { from, to, bytes });
    }

    fn enqueue(self: &Arc<Copier>, gpu: &Arc<Gpu>, order: Order) {
        let mut queue = self.queue();
        if matches!(order, Order::Copy { .. }) {
            self.enqueued.fetch_add(1, Ordering::AcqRel);
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
        // If no thread could be started, the caller runs the commands itself.
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
            Order::AfterCompute(mark) => (gpu.wait(self.lane, Lane::Compute, Mark(mark)), false),
            Order::After(other, ticket) => (other.hold_back(gpu, self.lane, ticket), false),
            Order::Copy { from, to, bytes } => {
                // SAFETY: the caller of `Copier::copy` guarantees both addresses until the ticket has completed.
                let copied = unsafe { self.copy_now(gpu, from, to, bytes) };
                // A failed copy still has a position in the lane: its ticket must complete.
                let marked = match self.lane {
                    Lane::Out => Ok(()),
                    _ => gpu.record(self.lane).map(drop),
                };
                (copied.and(marked), true)
            }
        };
        let mut queue = self.queue();
        if let Err(error) = result {
            // If waiting for another lane fails, the copy that needed it fails.
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
        // SAFETY: the caller upholds the same contract.
        unsafe {
            match self.lane {
                Lane::Out => gpu.copy_out(from as u64, std::slice::from_raw_parts_mut(to as *mut u8, bytes), &Solo),
                _ => gpu.copy_in(std::slice::from_raw_parts(from as *const u8, bytes), to as u64, &Solo),
            }
        }
    }
}
