//! A lane: a queue of commands and the thread that executes them in order, each after its latency.

use crate::memory::Memory;
use forerun_base::{Error, Solo};
use forerun_plan::{DeviceBlock, Executable, Io};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A command of a lane.
pub(crate) enum Command {
    /// Run a kernel on these addresses.
    Run { kernel: Arc<dyn Executable>, inputs: Vec<Address>, outputs: Vec<(Address, usize)>, scalars: Vec<u64> },
    /// Copy bytes.
    Copy { from: Address, to: Address, bytes: usize },
    /// Wait until that lane has passed the ticket. Takes no ticket itself.
    Wait { lane: usize, ticket: u64 },
    /// Free bytes that no later command uses. Takes no ticket itself.
    Discard(DeviceBlock),
}

/// An address in the simulated device or in the host.
#[derive(Clone, Copy)]
pub(crate) struct Address(pub(crate) *mut u8);

// SAFETY: an address is only a number; code that dereferences it follows the order of the lanes.
unsafe impl Send for Address {}

/// State shared by all lanes of a device.
pub(crate) struct Shared {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) memory: Memory,
    latency: Duration,
    jitter: Duration,
    progress: Mutex<Progress>,
    passed: Condvar,
}

#[derive(Default)]
struct Progress {
    nudged: bool,
    lost: bool,
}

/// One lane.
pub(crate) struct Lane {
    last_ticket: AtomicU64,
    passed: AtomicU64,
    queue: Mutex<Queue>,
    called: Condvar,
}

#[derive(Default)]
struct Queue {
    commands: VecDeque<(u64, Command)>,
    failures: Vec<(u64, Error)>,
    has_thread: bool,
    draw: u64,
}

impl Lane {
    fn new(seed: u64) -> Lane {
        Lane {
            last_ticket: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            queue: Mutex::new(Queue { draw: seed, ..Queue::default() }),
            called: Condvar::new(),
        }
    }

    pub(crate) fn last_ticket(&self) -> u64 {
        self.last_ticket.load(Ordering::Acquire)
    }

    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Acquire)
    }
}

impl Shared {
    pub(crate) fn new(lanes: usize, latency: Duration, jitter: Duration, seed: u64, memory: Memory) -> Arc<Shared> {
        let lanes = (0..lanes as u64).map(|lane| Lane::new(seed.wrapping_mul(31).wrapping_add(lane + 1))).collect();
        Arc::new(Shared {
            lanes,
            memory,
            latency,
            jitter,
            progress: Mutex::new(Progress::default()),
            passed: Condvar::new(),
        })
    }

    /// Enqueues a command on a lane. The lane's thread starts with the first command.
    pub(crate) fn enqueue(self: &Arc<Shared>, lane: usize, command: Command) {
        let this = &self.lanes[lane];
        let mut queue = this.queue.lock();
        let takes_ticket = !matches!(command, Command::Wait { .. } | Command::Discard(_));
        let ticket = this.last_ticket() + takes_ticket as u64;
        queue.commands.push_back((ticket, command));
        this.last_ticket.store(ticket, Ordering::Release);
        if !queue.has_thread {
            queue.has_thread = true;
            let shared = Arc::clone(self);
            let body = move || shared.work(lane);
            let started = std::thread::Builder::new().name(format!("forerun-sim-{lane}")).spawn(body);
            started.expect("a simulated lane needs its thread");
        }
        this.called.notify_one();
    }

    /// The error of a command that has passed.
    pub(crate) fn outcome(&self, lane: usize, ticket: u64) -> Result<(), Error> {
        let failures = &mut self.lanes[lane].queue.lock().failures;
        match failures.iter().position(|(at, _)| *at == ticket) {
            Some(at) => Err(failures.swap_remove(at).1),
            None => Ok(()),
        }
    }

    /// Blocks until a lane passes its ticket, a nudge, or the end of the time.
    pub(crate) fn block(&self, tickets: &[u64], at_most: Duration) {
        let deadline = Instant::now() + at_most;
        let has_passed =
            || tickets.iter().zip(&self.lanes).any(|(ticket, lane)| *ticket > 0 && lane.passed() >= *ticket);
        let mut progress = self.progress.lock();
        while !has_passed() && !progress.nudged {
            if self.passed.wait_until(&mut progress, deadline).timed_out() {
                break;
            }
        }
        progress.nudged = false;
    }

    pub(crate) fn nudge(&self) {
        self.progress.lock().nudged = true;
        self.passed.notify_all();
    }

    /// Marks the device as lost in a forked child, where its threads are gone.
    pub(crate) fn lose(&self) {
        self.progress.lock().lost = true;
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.progress.lock().lost
    }

    /// The main loop of a lane's thread.
    fn work(&self, lane: usize) {
        let this = &self.lanes[lane];
        let mut queue = this.queue.lock();
        loop {
            let Some((ticket, command)) = queue.commands.pop_front() else {
                this.called.wait(&mut queue);
                continue;
            };
            let pause = self.pause(&mut queue);
            drop(queue);
            let takes_ticket = !matches!(command, Command::Wait { .. } | Command::Discard(_));
            if takes_ticket && !pause.is_zero() {
                std::thread::sleep(pause);
            }
            let result = self.execute(command);
            queue = this.queue.lock();
            if let Err(error) = result {
                queue.failures.push((ticket, error));
            }
            if takes_ticket {
                this.passed.store(ticket, Ordering::Release);
                drop(self.progress.lock());
                self.passed.notify_all();
            }
        }
    }

    /// The delay before the next command: the latency plus a random part.
    fn pause(&self, queue: &mut Queue) -> Duration {
        if self.jitter.is_zero() {
            return self.latency;
        }
        queue.draw = queue.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Half of the commands begin immediately, so that lanes overtake each other.
        let share = (queue.draw >> 33) as u32 % 512;
        self.latency + if share < 256 { Duration::ZERO } else { self.jitter * (share - 256) / 256 }
    }

    fn execute(&self, command: Command) -> Result<(), Error> {
        match command {
            Command::Run { kernel, inputs, outputs, scalars } => {
                let from: Vec<*const u8> = inputs.iter().map(|a| a.0.cast_const()).collect();
                let to: Vec<*mut u8> = outputs.iter().map(|(a, _)| a.0).collect();
                let io = Io { inputs: &from, outputs: &to, scalars: &scalars };
                // SAFETY: the caller that enqueued the command guaranteed that the addresses are valid when the lane
                // reaches it.
                if let Err(error) = unsafe { kernel.check(io) } {
                    for (address, bytes) in outputs {
                        // SAFETY: as above. A donated input is lost with the output, as on a real device.
                        unsafe { std::ptr::write_bytes(address.0, 0xee, bytes) };
                    }
                    return Err(error);
                }
                // SAFETY: as for `check` above.
                unsafe { kernel.attempt(io, &Solo) }?;
            }
            // SAFETY: as above: the addresses are valid when the lane reaches the command.
            Command::Copy { from, to, bytes } => unsafe { std::ptr::copy_nonoverlapping(from.0, to.0, bytes) },
            Command::Wait { lane, ticket } => {
                let mut progress = self.progress.lock();
                while self.lanes[lane].passed() < ticket {
                    self.passed.wait(&mut progress);
                }
            }
            Command::Discard(block) => self.memory.give_up(block),
        }
        Ok(())
    }
}
