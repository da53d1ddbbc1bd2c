//! Copiers: the threads behind the lanes of copies. Memory of the host that the driver does not know goes through pinned
//! pieces, and that takes a thread of the host; so it is not the one that tells the device what to compute.
//!
//! How far a lane has come is a number in pinned memory. Other lanes wait for it on the device, and the host reads it: nobody has to
//! know when the copier got round to a copy. A copier sleeps while it has nothing to do.

use crate::gpu::Gpu;
use crate::lanes::Lane;
use forerun_base::{Error, Result, Solo};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// What a copier is told.
enum Order {
    /// Copies bytes; takes the next ticket.
    Copy { from: usize, to: usize, bytes: usize },
    /// What follows comes after another lane's word has come to this.
    After(&'static AtomicU32, u32),
}

#[derive(Default)]
struct Queue {
    orders: VecDeque<Order>,
    has_thread: bool,
    failures: Vec<(u64, Error)>,
}

/// One lane of copies.
pub(crate) struct Copier {
    lane: Lane,
    told: AtomicU64,
    /// The last ticket that was passed, in pinned memory: its low half, which the device compares and the host reads.
    word: &'static AtomicU32,
    queue: Mutex<Queue>,
    called: Condvar,
}

impl Copier {
    pub(crate) fn new(lane: Lane, word: &'static AtomicU32) -> Copier {
        Copier { lane, told: AtomicU64::new(0), word, queue: Mutex::default(), called: Condvar::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// The last ticket that was passed: never further behind what was told than half the range of the word.
    pub(crate) fn passed(&self) -> u64 {
        let told = self.told();
        told - told.wrapping_sub(self.word.load(Ordering::Acquire) as u64) as u32 as u64
    }

    /// The word that other lanes wait on.
    pub(crate) fn word(&self) -> &'static AtomicU32 {
        self.word
    }

    pub(crate) fn outcome(&self, ticket: u64) -> Result<()> {
        let failures = &mut self.queue().failures;
        match failures.iter().position(|(at, _)| *at == ticket) {
            Some(at) => Err(failures.swap_remove(at).1),
            None => Ok(()),
        }
    }

    /// What is told from now on comes after another lane's word has come to this.
    pub(crate) fn after(self: &Arc<Copier>, gpu: &Arc<Gpu>, word: &'static AtomicU32, value: u32) {
        self.tell(gpu, Order::After(word, value));
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
        let mut ticket = self.told() - orders.iter().filter(|o| matches!(o, Order::Copy { .. })).count() as u64;
        for order in orders {
            self.follow(gpu, order, &mut ticket);
        }
    }

    fn work(&self, gpu: &Arc<Gpu>) {
        let mut ticket = 0;
        let mut queue = self.queue();
        loop {
            let Some(order) = queue.orders.pop_front() else {
                queue = self.called.wait(queue).unwrap_or_else(|e| e.into_inner());
                continue;
            };
            drop(queue);
            self.follow(gpu, order, &mut ticket);
            queue = self.queue();
        }
    }

    fn follow(&self, gpu: &Arc<Gpu>, order: Order, ticket: &mut u64) {
        let result = match order {
            Order::After(word, value) => gpu.wait_for_word(self.lane, word, value),
            Order::Copy { from, to, bytes } => {
                *ticket += 1;
                // SAFETY: whoever told the copier promised what the copies ask for.
                let copied = unsafe { self.copy_now(gpu, from, to, bytes) };
                match (&copied, self.lane) {
                    // The device says when it is there.
                    (Ok(()), Lane::ToDevice) => gpu.write_word(self.lane, self.word, *ticket as u32),
                    _ => {
                        self.pass(*ticket);
                        copied
                    }
                }
            }
        };
        if let Err(error) = result {
            self.queue().failures.push((*ticket, error));
            self.pass(*ticket);
        }
    }

    fn pass(&self, ticket: u64) {
        self.word.store(ticket as u32, Ordering::Release);
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
