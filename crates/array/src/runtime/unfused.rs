//! Runs the records of a fused kernel one by one after an input failed or an output found no memory, so that only the
//! results that depend on the failure fail. This path is slow and never used while all ops succeed.

use crate::observe::trace;
use crate::runtime::buffer::{Buffer, BufferRef};
use crate::runtime::device_task::{EnqueuedOn, follow};
use crate::runtime::devices::OwnDevice;
use crate::runtime::kernel_task::{BoundOutput, KernelTask};
use crate::runtime::last_good::{GoodBytes, LastGood};
use crate::runtime::lower::CompiledKernel;
use crate::runtime::memory::no_memory;
use crate::runtime::node::{INLINE, Node};
use crate::runtime::runtime;
use crate::runtime::segment::Submitted;
use forerun_base::{Error, ErrorKind, Loc, Solo, Team, fail_point};
use forerun_engine::{Enqueued, LaneTicket, Status};
use forerun_plan::Lane;
use std::sync::atomic::Ordering;

/// The result of one record before it is published.
struct Made {
    node: &'static Node,
    bytes: usize,
    result: Result<Owned, Failed>,
}

/// Why a record produced nothing, and the previous value of its cell.
struct Failed {
    error: Error,
    last_good: Option<LastGood>,
}

impl Made {
    /// The value itself, or the last good one before it.
    fn last_good(&self) -> Option<LastGood> {
        match &self.result {
            Ok(owned) if self.bytes > INLINE => Some(LastGood::good(GoodBytes::Shared(owned.share()))),
            Ok(owned) => {
                let mut words = [0; INLINE / 8];
                // SAFETY: the record produced `self.bytes` bytes, and they fit into the words.
                unsafe { std::ptr::copy_nonoverlapping(owned.ptr(), words.as_mut_ptr().cast(), self.bytes) };
                Some(LastGood::good(GoodBytes::Inline(words)))
            }
            Err(failed) => failed.last_good.as_ref().map(LastGood::share),
        }
    }
}

/// A buffer that belongs to no value yet.
struct Owned(*mut Buffer);

impl Owned {
    fn ptr(&self) -> *mut u8 {
        // SAFETY: we hold a reference to the buffer.
        unsafe { &*self.0 }.ptr()
    }

    /// Shares the buffer with a value that failed later.
    fn share(&self) -> BufferRef {
        // SAFETY: we hold a reference to the buffer.
        unsafe { BufferRef::share(self.0) }
    }

    /// Transfers the reference to a value.
    fn give(self) -> *mut Buffer {
        let buffer = self.0;
        std::mem::forget(self);
        buffer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the reference taken at allocation is released once.
        unsafe { Buffer::release(self.0) };
    }
}

impl KernelTask {
    /// Runs the records of the kernel one by one and publishes each output separately.
    pub(crate) fn run_unfused(&self, team: &dyn Team) {
        for (output, result) in self.make_unfused(None, team) {
            match result {
                Ok(owned) if output.large => output.node.set_buffer(owned.give()),
                // SAFETY: a value that fits into its node has room for its bytes there, and nobody reads it yet.
                Ok(owned) => unsafe { std::ptr::copy_nonoverlapping(owned.ptr(), output.node.data(), output.bytes) },
                Err(failed) => {
                    output.node.publish_failed(output.generation, failed.error, failed.last_good);
                    continue;
                }
            }
            output.node.publish_ready(output.generation);
        }
    }

    /// The same on an accelerator: enqueues the records that do not depend on a failure, one by one.
    pub(crate) fn enqueue_unfused(&self, device: &'static OwnDevice) -> Enqueued {
        let began = trace::clock();
        let made = self.make_unfused(Some(device), &Solo);
        let ticket = device.accelerator.last_ticket(Lane::Compute);
        let any = made.iter().any(|(_, result)| result.is_ok());
        for (output, result) in made {
            match result {
                Ok(owned) => {
                    output.node.begin_enqueued(owned.give());
                    output.node.publish_enqueued(output.generation, Lane::Compute as u8, ticket);
                }
                Err(Failed { error, last_good }) => output.node.publish_failed(output.generation, error, last_good),
            }
        }
        if !any {
            self.settled.store(true, Ordering::Release);
            self.finish();
            return Enqueued::Nothing;
        }
        let _ = self.enqueued.set(EnqueuedOn { lane: Lane::Compute, ticket, began });
        self.give_back_in_order(device);
        Enqueued::Ticket(LaneTicket { lane: Lane::Compute as usize, number: ticket })
    }

    /// Makes the results of the records in the order in which they were submitted; gives those that are outputs.
    fn make_unfused(
        &self,
        device: Option<&'static OwnDevice>,
        team: &dyn Team,
    ) -> Vec<(&BoundOutput, Result<Owned, Failed>)> {
        let mut records = self.members().to_vec();
        records.sort_unstable();
        let mut made: Vec<Made> = Vec::with_capacity(records.len());
        for record in records {
            let submitted = &self.segment[record as usize];
            let result = run_record(submitted, &made, device, team).map_err(|error| {
                // A device may write over what a cell held before the failure is known: nothing is kept.
                let former = submitted.former().filter(|_| device.is_none());
                let last_good = former.and_then(|former| match find(&made, former) {
                    Some(made) => made.last_good(),
                    None => former.last_good(),
                });
                Failed { error, last_good: last_good.map(LastGood::after_failed_write) }
            });
            made.push(Made { node: submitted.out(), bytes: submitted.record.recipe.signature.out.bytes, result });
        }
        let mut result = |output: &BoundOutput| {
            let at = made.iter().position(|m| std::ptr::eq(m.node, output.node))?;
            Some(made.swap_remove(at).result)
        };
        self.outputs.iter().filter_map(|output| Some((output, result(output)?))).collect()
    }
}

fn find<'a>(made: &'a [Made], node: &Node) -> Option<&'a Made> {
    made.iter().find(|m| std::ptr::eq(m.node, node))
}

/// The address of an operand's value, or the error of a missing value.
fn base_of(node: &Node, made: &[Made]) -> Result<*mut u8, Error> {
    match find(made, node) {
        Some(Made { result: Ok(owned), .. }) => Ok(owned.ptr()),
        Some(Made { result: Err(failed), .. }) => Err(failed.error.clone()),
        None if node.planned_status() == Status::Failed => Err(node.error()),
        None => Ok(node.data()),
    }
}

/// Runs one record on the host, or enqueues it on a device.
fn run_record(
    submitted: &Submitted,
    made: &[Made],
    device: Option<&'static OwnDevice>,
    team: &dyn Team,
) -> Result<Owned, Error> {
    let Submitted { record, operands } = submitted;
    let (signature, single) = (&record.recipe.signature, record.recipe.single());
    // A kernel may not need every operand: an update of all elements does not read what was there before.
    let mut bases = vec![std::ptr::null_mut(); operands.len()];
    for k in single.inputs.iter().map(|k| *k as usize) {
        bases[k] = base_of(operands[k].node, made)?;
    }
    let address = |k: usize| operands[k].address(bases[k], signature.inputs[k].dtype);
    let (op, loc, bytes) = (signature.op.name(), Loc::from_id(record.loc), signature.out.bytes);
    let blame = |error: Error| runtime().blame(error, op, loc);
    fail_point!("apart.record", error => return Err(blame(error)));
    fail_point!("apart.room", _error => return Err(blame(no_memory(device, bytes))));
    let buffer = Buffer::alloc(device, bytes.max(1), op, loc).ok_or_else(|| blame(no_memory(device, bytes)))?;
    let owned = Owned(buffer);
    let ran = match (&single.kernel, device) {
        (CompiledKernel::Device(kernel), Some(device)) => {
            operands.iter().for_each(|operand| follow(device, Lane::Compute, operand.node));
            // SAFETY: inputs are there when the lane comes to this; the result is as large as its meta says and ours alone.
            single.with_io(address, &record.immediates, owned.ptr(), |io| unsafe { kernel.launch(io) })
        }
        // SAFETY: all inputs are ready, or were made just before; the result is as large as its meta says and ours alone.
        (CompiledKernel::Host(_), None) => unsafe { single.run(address, &record.immediates, owned.ptr(), team) },
        _ => Err(Error::new(ErrorKind::Runtime, "it was not compiled for its device")),
    };
    ran.map_err(blame)?;
    Ok(owned)
}
