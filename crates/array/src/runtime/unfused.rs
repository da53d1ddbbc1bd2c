//! Runs the records of a fused kernel one by one after an input failed or an output found no memory, so that only the
//! results that depend on the failure fail. This path is slow and never used while all ops succeed.

use crate::observe::trace;
use crate::runtime::buffer::{Buffer, BufferRef};
use crate::runtime::device_task::{EnqueuedOn, follow};
use crate::runtime::devices::OwnDevice;
use crate::runtime::kernel_task::{BoundOutput, KernelTask};
use crate::runtime::last_good::{GoodBytes, LastGood};
use crate::runtime::lower::CompiledKernel;
use crate::runtime::memory::{no_memory, no_memory_on};
use crate::runtime::node::{INLINE, Node};
use crate::runtime::runtime;
use crate::runtime::segment::Submitted;
use forerun_base::{Error, ErrorKind, Loc, Team, fail_point};
use forerun_engine::{Enqueued, LaneTicket, Status};
use forerun_plan::{Io, Lane};
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
        let mut records = self.members().to_vec();
        records.sort_unstable();
        let mut made: Vec<Made> = Vec::with_capacity(records.len());
        for record in records {
            let submitted = &self.segment[record as usize];
            let result = run_record(submitted, &made, team).map_err(|error| {
                let last_good = submitted.former().and_then(|former| {
                    made.iter()
                        .find(|m| std::ptr::eq(m.node, former))
                        .map_or_else(|| former.last_good(), Made::last_good)
                });
                Failed { error, last_good: last_good.map(LastGood::after_failed_write) }
            });
            made.push(Made { node: submitted.out(), bytes: submitted.record.recipe.signature.out.bytes, result });
        }
        for output in &self.outputs {
            let Some(at) = made.iter().position(|m| std::ptr::eq(m.node, output.node)) else { continue };
            publish(output, made.swap_remove(at).result);
        }
    }
}

impl KernelTask {
    /// The same on an accelerator: enqueues the records that do not depend on a failure, one by one.
    pub(crate) fn enqueue_unfused(&self, device: &'static OwnDevice) -> Enqueued {
        let mut records = self.members().to_vec();
        records.sort_unstable();
        let began = trace::clock();
        let mut made: Vec<Made> = Vec::with_capacity(records.len());
        for record in records {
            let submitted = &self.segment[record as usize];
            // A device may overwrite the previous value of a cell before the failure is known, so nothing is kept.
            let result = enqueue_record(device, submitted, &made).map_err(|error| Failed { error, last_good: None });
            made.push(Made { node: submitted.out(), bytes: submitted.record.recipe.signature.out.bytes, result });
        }
        let ticket = device.accelerator.last_ticket(Lane::Compute);
        let mut any = false;
        for output in &self.outputs {
            let Some(at) = made.iter().position(|m| std::ptr::eq(m.node, output.node)) else { continue };
            match made.swap_remove(at).result {
                Ok(owned) => {
                    output.node.begin_enqueued(owned.give());
                    output.node.publish_enqueued(output.generation, Lane::Compute as u8, ticket);
                    any = true;
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
}

/// The address of an operand's value, or the error of a missing value.
fn base_of(node: &Node, made: &[Made]) -> Result<*mut u8, Error> {
    match made.iter().find(|m| std::ptr::eq(m.node, node)) {
        Some(Made { result: Ok(owned), .. }) => Ok(owned.ptr()),
        Some(Made { result: Err(failed), .. }) => Err(failed.error.clone()),
        None if node.planned_status() == Status::Failed => Err(node.error()),
        None => Ok(node.data()),
    }
}

/// The inputs of one record, in the order of its kernel.
fn addresses_of(submitted: &Submitted, made: &[Made]) -> Result<Vec<*const u8>, Error> {
    let signature = &submitted.record.recipe.signature;
    let address = |k: &u8| {
        let operand = &submitted.operands[*k as usize];
        let offset = operand.view.unwrap_or(0) as usize * signature.inputs[*k as usize].dtype.size();
        // The offset of a view stays inside its base; device addresses are only numbers here.
        base_of(operand.node, made).map(|base| base.wrapping_add(offset) as *const u8)
    };
    submitted.record.recipe.single().inputs.iter().map(address).collect()
}

fn blame_on(submitted: &Submitted) -> impl Fn(Error) -> Error + Copy {
    let (op, loc) = (submitted.record.recipe.op().name(), Loc::from_id(submitted.record.loc));
    move |error: Error| {
        let error = error.in_op(op).submitted_at(loc);
        runtime().note_failure(&error);
        error
    }
}

fn scalars_of(submitted: &Submitted) -> Vec<u64> {
    let record = &submitted.record;
    record.recipe.single().scalars.iter().map(|word| record.immediates[*word as usize]).collect()
}

fn enqueue_record(device: &'static OwnDevice, submitted: &Submitted, made: &[Made]) -> Result<Owned, Error> {
    let recipe = submitted.record.recipe;
    let addresses = addresses_of(submitted, made)?;
    let (op, loc, blame) = (recipe.op().name(), Loc::from_id(submitted.record.loc), blame_on(submitted));
    let bytes = recipe.signature.out.bytes;
    let buffer = Buffer::alloc_on(device, bytes, op, loc).ok_or_else(|| blame(no_memory_on(device, bytes)))?;
    let owned = Owned(buffer);
    let CompiledKernel::Device(kernel) = &recipe.single().kernel else {
        return Err(blame(Error::new(ErrorKind::Runtime, "it does not run on a device")));
    };
    submitted.operands.iter().for_each(|operand| follow(device, Lane::Compute, operand.node));
    let io = Io { inputs: &addresses, outputs: &[owned.ptr()], scalars: &scalars_of(submitted) };
    // SAFETY: inputs are complete when the lane reaches this kernel; the result has the size its meta states and is
    // ours alone.
    unsafe { kernel.launch(io) }.map_err(blame)?;
    Ok(owned)
}

fn publish(output: &BoundOutput, result: Result<Owned, Failed>) {
    match result {
        Ok(owned) if output.large => output.node.set_buffer(owned.give()),
        // SAFETY: a value that fits into its node has room for its bytes there, and no thread reads it yet.
        Ok(owned) => unsafe { std::ptr::copy_nonoverlapping(owned.ptr(), output.node.data(), output.bytes) },
        Err(Failed { error, last_good }) => return output.node.publish_failed(output.generation, error, last_good),
    }
    output.node.publish_ready(output.generation);
}

fn run_record(submitted: &Submitted, made: &[Made], team: &dyn Team) -> Result<Owned, Error> {
    let recipe = submitted.record.recipe;
    let addresses = addresses_of(submitted, made)?;
    let (op, loc, blame) = (recipe.op().name(), Loc::from_id(submitted.record.loc), blame_on(submitted));
    fail_point!("apart.record", error => return Err(blame(error)));
    let bytes = recipe.signature.out.bytes;
    fail_point!("apart.room", _error => return Err(blame(no_memory(bytes))));
    let owned = Owned(Buffer::alloc(bytes.max(1), op, loc).ok_or_else(|| blame(no_memory(bytes)))?);
    let io = Io { inputs: &addresses, outputs: &[owned.ptr()], scalars: &scalars_of(submitted) };
    let executable = recipe.single().host();
    // SAFETY: all inputs are ready or were computed just before; the result has the size its meta states and is ours
    // alone.
    unsafe { executable.check_and_run(io, team) }.map_err(blame)?;
    Ok(owned)
}
