//! The simulated accelerator.

use crate::lane::{Address, Command, Shared};
use crate::memory::Memory;
use forerun_base::{Error, ErrorKind, Result};
use forerun_cpu::CpuBackend;
use forerun_plan::{
    Accelerator, Backend, DeviceBlock, Executable, Given, Io, Kernel, Lane, Launchable, Routine, output_bytes,
};
use std::sync::Arc;
use std::time::Duration;

/// Copies of at most this many bytes go to the compute lane: waiting for another lane costs more.
const SMALL_COPY: usize = 4096;

/// Options of a simulated accelerator.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Delay before every command.
    pub latency: Duration,
    /// Maximum additional random delay, which makes lanes overtake each other.
    pub jitter: Duration,
    /// Seed of the random delays.
    pub seed: u64,
    /// Bytes of its memory.
    pub memory: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { latency: Duration::ZERO, jitter: Duration::ZERO, seed: 0, memory: 1 << 30 }
    }
}

/// An accelerator simulated by a few threads of the host.
pub struct Simulated {
    number: usize,
    backend: CpuBackend,
    shared: Arc<Shared>,
}

impl Simulated {
    /// Creates the device with this number.
    pub fn new(number: usize, options: Options) -> Simulated {
        let memory = Memory::new(options.memory);
        let seed = options.seed.wrapping_add(number as u64);
        let shared = Shared::new(Lane::COUNT, options.latency, options.jitter, seed, memory);
        Simulated { number, backend: CpuBackend::new(), shared }
    }

    fn refuse_if_lost(&self) -> Result<()> {
        refuse_if_lost(&self.shared, self.number)
    }

    /// Enqueues a copy on its lane.
    fn copy(&self, direction: Lane, from: *mut u8, to: *mut u8, bytes: usize) -> Result<Lane> {
        self.refuse_if_lost()?;
        let lane = self.copy_lane(direction, bytes);
        self.shared.enqueue(lane as usize, Command::Copy { from: Address(from), to: Address(to), bytes });
        Ok(lane)
    }
}

/// Fails if the device is lost: this is a forked process, where its threads are gone.
fn refuse_if_lost(shared: &Shared, number: usize) -> Result<()> {
    match shared.is_lost() {
        true => Err(Error::new(ErrorKind::Runtime, format!("gpu({number}) cannot be used in a forked process"))),
        false => Ok(()),
    }
}

/// A kernel of the host, run by the compute lane.
struct SimKernel {
    number: usize,
    executable: Arc<dyn Executable>,
    outputs: Vec<usize>,
    shared: Arc<Shared>,
}

impl Launchable for SimKernel {
    unsafe fn launch(&self, io: Io<'_>) -> Result<()> {
        refuse_if_lost(&self.shared, self.number)?;
        let command = Command::Run {
            kernel: Arc::clone(&self.executable),
            inputs: io.inputs.iter().map(|address| Address(address.cast_mut())).collect(),
            outputs: io.outputs.iter().map(|address| Address(*address)).zip(self.outputs.iter().copied()).collect(),
            scalars: io.scalars.to_vec(),
        };
        self.shared.enqueue(Lane::Compute as usize, command);
        Ok(())
    }
}

impl Accelerator for Simulated {
    fn describe(&self) -> String {
        format!("simulated accelerator {}", self.number)
    }

    fn capacity(&self) -> usize {
        self.shared.memory.limit()
    }

    fn alloc(&self, bytes: usize) -> Option<DeviceBlock> {
        self.shared.memory.take(bytes, |block| self.shared.enqueue(Lane::Compute as usize, Command::Discard(block)))
    }

    fn free(&self, block: DeviceBlock) {
        self.shared.memory.give_back(block, self.last_ticket(Lane::Compute));
    }

    fn cached(&self) -> usize {
        self.shared.memory.cached()
    }

    fn empty_cache(&self) {
        self.shared.memory.drain(|block| self.shared.enqueue(Lane::Compute as usize, Command::Discard(block)));
    }

    fn compile(&self, kernel: &Kernel) -> Arc<dyn Launchable> {
        Arc::new(SimKernel {
            number: self.number,
            executable: self.backend.compile(kernel),
            outputs: output_bytes(kernel),
            shared: Arc::clone(&self.shared),
        })
    }

    fn runs(&self, _: Routine, _: &[Given]) -> bool {
        true
    }

    unsafe fn copy_in(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane> {
        self.copy(Lane::In, from.cast_mut(), to, bytes)
    }

    unsafe fn copy_out(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<Lane> {
        self.copy(Lane::Out, from.cast_mut(), to, bytes)
    }

    fn copy_lane(&self, direction: Lane, bytes: usize) -> Lane {
        if bytes <= SMALL_COPY { Lane::Compute } else { direction }
    }

    fn wait(&self, lane: Lane, other: Lane, ticket: u64) {
        self.shared.enqueue(lane as usize, Command::Wait { lane: other as usize, ticket });
    }

    fn last_ticket(&self, lane: Lane) -> u64 {
        self.shared.lanes[lane as usize].last_ticket()
    }

    fn passed(&self, lane: Lane) -> u64 {
        self.shared.lanes[lane as usize].passed()
    }

    fn outcome(&self, lane: Lane, ticket: u64) -> Result<()> {
        self.shared.outcome(lane as usize, ticket)
    }

    fn block(&self, tickets: &[u64], at_most: u64) {
        self.shared.block(tickets, Duration::from_micros(at_most));
    }

    fn nudge(&self) {
        self.shared.nudge();
    }

    fn lose(&self) {
        self.shared.lose();
    }
}
