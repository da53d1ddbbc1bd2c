//! The work of a task: allocates when it starts, runs the kernel, publishes the outputs and releases the inputs.

use crate::observe::trace;
use crate::runtime::buffer::Buffer;
use crate::runtime::device_task::EnqueuedOn;
use crate::runtime::devices::{self, OwnDevice};
use crate::runtime::last_good::LastGood;
use crate::runtime::lower::{CachedPlan, CompiledKernel};
use crate::runtime::memory::no_memory;
use crate::runtime::node::Node;
use crate::runtime::runtime;
use crate::runtime::segment::Submitted;
use forerun_base::{Error, ErrorKind, Loc, Solo, Team, fail_point};
use forerun_engine::{Enqueued, Status, Work};
use forerun_plan::Io;
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A kernel bound to values. Its lists are usually short and stored inline: one thread creates it and another drops it,
/// which is the slowest case for a general heap.
pub(crate) struct KernelTask {
    /// The plan that contains the kernel, and the kernel's index.
    pub(crate) plan: Arc<CachedPlan>,
    pub(crate) group: usize,
    /// The records it was planned from.
    pub(crate) segment: Arc<Vec<Submitted>>,
    pub(crate) inputs: SmallVec<[BoundInput; 4]>,
    pub(crate) outputs: SmallVec<[BoundOutput; 2]>,
    pub(crate) scalars: SmallVec<[u64; 4]>,
    pub(crate) releases: Releases,
    /// Whether it is too long for an interruptible waiter.
    pub(crate) heavy: bool,
    pub(crate) settled: AtomicBool,
    /// The accelerator it runs on.
    pub(crate) device: Option<&'static OwnDevice>,
    /// Where and when it was enqueued.
    pub(crate) enqueued: OnceLock<EnqueuedOn>,
}

/// An input: a value and a byte offset.
pub(crate) struct BoundInput {
    pub(crate) node: &'static Node,
    pub(crate) bytes: usize,
}

/// An output, with the op and line for its errors.
pub(crate) struct BoundOutput {
    pub(crate) node: &'static Node,
    pub(crate) generation: u32,
    pub(crate) bytes: usize,
    /// Whether it has a buffer.
    pub(crate) large: bool,
    pub(crate) op: &'static str,
    pub(crate) loc: Loc,
}

/// The releases of a task.
pub(crate) type Releases = SmallVec<[Release; 6]>;

/// Uses of a value that end with a task.
pub(crate) struct Release {
    pub(crate) node: &'static Node,
    large: bool,
    pub(crate) count: u32,
    foreign: u32,
}

impl Release {
    /// Adds one use of a value.
    pub(crate) fn add(releases: &mut Releases, node: &'static Node, foreign: bool) {
        match releases.iter_mut().find(|r| std::ptr::eq(r.node, node)) {
            Some(release) => {
                release.count += 1;
                release.foreign += foreign as u32;
            }
            None => releases.push(Release { node, large: node.is_large(), count: 1, foreign: foreign as u32 }),
        }
    }

    /// Ends the uses.
    pub(crate) fn apply(&self) {
        self.node.done(self.large, self.count, self.foreign);
    }
}

/// Addresses of inputs or outputs.
pub(crate) type Addresses<P> = SmallVec<[P; 6]>;

/// Buffers that belong to no value yet, by output; released if the kernel panics.
#[derive(Default)]
pub(crate) struct OutputBuffers {
    pub(crate) list: SmallVec<[Option<*mut Buffer>; 2]>,
    /// Which of them were donated, and the donors.
    donors: SmallVec<[(usize, &'static Node); 2]>,
}

impl OutputBuffers {
    /// Returns donated buffers, unmodified: they will be read after all, or hold the last good value of a cell.
    fn give_back(&mut self) {
        for (output, node) in self.donors.drain(..) {
            if let Some(buffer) = self.list[output].take() {
                node.set_buffer(buffer);
            }
        }
    }
}

impl Drop for OutputBuffers {
    fn drop(&mut self) {
        for buffer in self.list.drain(..).flatten() {
            // SAFETY: releases the reference of a value that was not produced.
            unsafe { Buffer::release(buffer) };
        }
    }
}

impl KernelTask {
    /// The records computed by this kernel.
    pub(crate) fn members(&self) -> &[u16] {
        &self.plan.plan.groups[self.group].records
    }

    /// Handles a failure before the kernel ran. A kernel with several outputs is run record by record, so that only the
    /// outputs that depend on the failure fail. So is a kernel that skips a value of the cell it writes, so that this
    /// value can be restored.
    fn fail_or_run_unfused(&self, team: &dyn Team, error: impl FnOnce() -> Error) {
        if self.outputs.len() > 1 || self.outputs.iter().any(|o| self.skips(o)) {
            self.run_unfused(team);
            self.settled.store(true, Ordering::Release);
            self.finish();
        } else {
            self.fail_all(&error());
        }
    }

    /// The record of this kernel that produces a value.
    fn record_of(&self, node: &Node) -> Option<&Submitted> {
        self.members().iter().map(|r| &self.segment[*r as usize]).find(|s| std::ptr::eq(s.out(), node))
    }

    /// The value that another is written over, unless the kernel computes it without storing it.
    fn former(&self, node: &Node) -> Option<&'static Node> {
        let former = self.record_of(node)?.former()?;
        let stored = self.record_of(former).is_none() || self.outputs.iter().any(|o| std::ptr::eq(o.node, former));
        if stored { Some(former) } else { self.former(former) }
    }

    /// Whether an output is written over a value that the kernel computes without storing it.
    fn skips(&self, output: &BoundOutput) -> bool {
        let former = self.record_of(output.node).and_then(Submitted::former);
        former.is_some_and(|f| self.record_of(f).is_some() && !self.outputs.iter().any(|o| std::ptr::eq(o.node, f)))
    }

    pub(crate) fn uses_of(&self, node: &Node) -> u32 {
        self.releases.iter().find(|r| std::ptr::eq(r.node, node)).map_or(0, |r| r.count)
    }

    /// The error of a failed input, if there is one.
    pub(crate) fn poison(&self) -> Option<Error> {
        self.inputs.iter().find(|i| i.node.planned_status() == Status::Failed).map(|i| i.node.error())
    }

    /// The output buffers, donated or new; or the index of the output that found no memory.
    pub(crate) fn buffers(&self, addresses: &mut [*const u8]) -> Result<OutputBuffers, usize> {
        let mut buffers = OutputBuffers::default();
        for (o, output) in self.outputs.iter().enumerate() {
            if !output.large {
                buffers.list.push(None);
                continue;
            }
            let candidates = self.plan.donors[self.group].iter().filter(|(to, _)| *to == o).map(|(_, from)| *from);
            let donated = candidates.into_iter().find_map(|i| {
                let node = self.inputs[i].node;
                // Two operands may be the same value from before the segment, which is then read elsewhere too.
                let read_once = self.inputs.iter().filter(|x| std::ptr::eq(x.node, node)).count() == 1;
                if node.meta().bytes != output.bytes || !read_once {
                    return None;
                }
                let buffer = match self.device {
                    None => node.donate(self.uses_of(node))?,
                    Some(_) => node.donate_enqueued(self.uses_of(node))?,
                };
                // SAFETY: the buffer was donated to this task.
                addresses[i] = unsafe { &*buffer }.ptr();
                runtime().counters.donated.fetch_add(1, Ordering::Relaxed);
                buffers.donors.push((o, node));
                Some(buffer)
            });
            // Where it lives: a copy out of a device ends on the host.
            let home = devices::of(output.node.meta().device);
            match donated.or_else(|| Buffer::alloc(home, output.bytes, output.op, output.loc)) {
                Some(buffer) => buffers.list.push(Some(buffer)),
                None => {
                    buffers.give_back();
                    return Err(o);
                }
            }
        }
        Ok(buffers)
    }

    /// Runs on the calling thread, which plans it and waits for it.
    pub(crate) fn run_at_once(&self) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run(&Solo))) {
            let error = Error::panicked("kernel", &*panic);
            // A second panic must not reach the waiter; the values stay pending then.
            let _ = catch_unwind(AssertUnwindSafe(|| self.fail(error)));
        }
    }

    pub(crate) fn finish(&self) {
        self.releases.iter().for_each(Release::apply);
    }

    pub(crate) fn fail_all(&self, error: &Error) {
        // Completion and poisoning are one transition: the second one finds it done.
        if self.settled.swap(true, Ordering::AcqRel) {
            return;
        }
        for output in &self.outputs {
            let last_good = self.former(output.node).and_then(Node::last_good).map(LastGood::after_failed_write);
            output.node.publish_failed(output.generation, error.clone(), last_good);
        }
        self.finish();
    }

    pub(crate) fn blame(&self, error: Error, output: usize) -> Error {
        let blamed = self.outputs.get(output).or(self.outputs.first());
        let (op, loc) = blamed.map_or(("", Loc::UNKNOWN), |output| (output.op, output.loc));
        runtime().blame(error, op, loc)
    }
}

impl Work for KernelTask {
    fn bytes(&self) -> usize {
        self.outputs.iter().filter(|o| o.large).map(|o| o.bytes).sum()
    }

    fn enqueue(&self) -> Enqueued {
        self.enqueue()
    }

    fn settle(&self) {
        self.settle_enqueued();
    }

    fn fail_for_memory(&self) -> Enqueued {
        match self.device {
            // Some of several results may fit; they are computed in submission order.
            Some(device) if self.outputs.len() > 1 => self.enqueue_unfused(device),
            _ => {
                self.fail_all(&self.blame(self.lacks_memory(), 0));
                Enqueued::Nothing
            }
        }
    }

    fn run(&self, team: &dyn Team) {
        fail_point!("launch.before", error => return self.fail_all(&self.blame(error, 0)));
        if let Some(error) = self.poison() {
            return self.fail_or_run_unfused(team, || error);
        }
        let mut addresses: Addresses<*const u8> = self.inputs.iter().map(|i| i.node.data() as *const u8).collect();
        let mut buffers = match self.buffers(&mut addresses) {
            Ok(buffers) => buffers,
            Err(o) => return self.fail_or_run_unfused(team, || self.blame(no_memory(None, self.outputs[o].bytes), o)),
        };
        for (address, input) in addresses.iter_mut().zip(&self.inputs) {
            // SAFETY: the offset stays inside the value: the view was checked when it was created.
            *address = unsafe { address.add(input.bytes) };
        }
        let targets: Addresses<*mut u8> = self
            .outputs
            .iter()
            .zip(&buffers.list)
            .map(|(output, buffer)| match buffer {
                // SAFETY: this task owns the buffer.
                Some(b) => unsafe { &**b }.ptr(),
                None => output.node.data(),
            })
            .collect();
        let io = Io { inputs: &addresses, outputs: &targets, scalars: &self.scalars };
        let CompiledKernel::Host(executable) = &self.plan.kernels[self.group] else {
            return self.fail_all(&self.blame(Error::new(ErrorKind::Runtime, "it was compiled for a device"), 0));
        };
        let began = trace::clock();
        // SAFETY: all inputs are ready and hold what their metas state.
        if let Err(error) = unsafe { executable.check(io) } {
            buffers.give_back();
            return self.fail_all(&self.blame(error, 0));
        }
        fail_point!("launch.inside");
        // SAFETY: as above; outputs have the size that their metas state, and no other thread reads them before they
        // are published. A donated buffer belongs to this task alone.
        if let Err(error) = unsafe { executable.attempt(io, team) } {
            return self.fail_all(&self.blame(error, 0));
        }
        fail_point!("launch.after");
        self.settled.store(true, Ordering::Release);
        if let Some(began) = began {
            // Before the values are visible: a thread that sees them may end the trace.
            trace::ran(&self.segment, self.members(), self.outputs.iter().map(|o| o.bytes).sum(), began, None);
        }
        for (output, buffer) in self.outputs.iter().zip(std::mem::take(&mut buffers.list)) {
            if let Some(b) = buffer {
                // SAFETY: this task owns the buffer until the value is published.
                unsafe { Buffer::book(b, output.op, output.loc) };
                output.node.set_buffer(b);
            }
            output.node.publish_ready(output.generation);
        }
        self.finish();
    }

    fn line(&self) -> u32 {
        self.outputs.first().map_or(0, |output| output.loc.id())
    }

    fn is_heavy(&self) -> bool {
        self.heavy
    }

    fn fail(&self, error: Error) {
        self.fail_all(&self.blame(error, 0));
    }
}
