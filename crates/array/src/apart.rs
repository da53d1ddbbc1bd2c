//! A fused kernel of which one input failed or one output found no memory: its records are run one by one instead, so
//! that only what depends on the failure fails. Slow, and never taken while all is well.

use crate::buffer::{Buffer, BufferRef};
use crate::kept::{Kept, KeptBytes};
use crate::launch::{Launch, Output};
use crate::lower::is_large;
use crate::memory::no_memory;
use crate::node::{INLINE, Node};
use crate::runtime::runtime;
use crate::segment::Submitted;
use forerun_base::{Error, Loc, Team, fail_point};
use forerun_engine::Status;
use forerun_plan::Io;

/// What one record made, before anybody sees it.
struct Made {
    node: &'static Node,
    bytes: usize,
    result: Result<Owned, Failed>,
}

/// Why one record made nothing, and what its cell held before.
struct Failed {
    error: Error,
    kept: Option<Kept>,
}

impl Made {
    /// The value itself, or the good one from before it.
    fn kept(&self) -> Option<Kept> {
        match &self.result {
            Ok(owned) if is_large(self.bytes) => Some(Kept::good(KeptBytes::Shared(owned.share()))),
            Ok(owned) => {
                let mut words = [0; INLINE / 8];
                // SAFETY: the record made so many bytes, and they fit into the words.
                unsafe { std::ptr::copy_nonoverlapping(owned.ptr(), words.as_mut_ptr().cast(), self.bytes) };
                Some(Kept::good(KeptBytes::Inline(words)))
            }
            Err(failed) => failed.kept.as_ref().map(Kept::again),
        }
    }
}

/// A buffer that belongs to no value yet.
struct Owned(*mut Buffer);

impl Owned {
    fn ptr(&self) -> *mut u8 {
        // SAFETY: we hold the buffer's count.
        unsafe { &*self.0 }.ptr()
    }

    /// A share in the buffer, for a value that failed later.
    fn share(&self) -> BufferRef {
        // SAFETY: we hold the buffer's count.
        unsafe { BufferRef::share(self.0) }
    }

    /// Gives the buffer, with its count, to a value.
    fn give(self) -> *mut Buffer {
        let buffer = self.0;
        std::mem::forget(self);
        buffer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the count taken when it was allocated, given up once.
        unsafe { Buffer::release(self.0) };
    }
}

impl Launch {
    /// Runs the records of the kernel one by one and publishes each output by itself.
    pub(crate) fn run_apart(&self, team: &dyn Team) {
        let mut records = self.members().to_vec();
        records.sort_unstable();
        let mut made: Vec<Made> = Vec::with_capacity(records.len());
        for record in records {
            let submitted = &self.segment[record as usize];
            let result = run_one(submitted, &made, team).map_err(|error| {
                let kept = submitted.former().and_then(|former| {
                    made.iter().find(|m| std::ptr::eq(m.node, former)).map_or_else(|| former.kept(), Made::kept)
                });
                Failed { error, kept: kept.map(Kept::after_a_write) }
            });
            made.push(Made { node: submitted.out(), bytes: submitted.record.recipe.signature.out.bytes, result });
        }
        for output in &self.outputs {
            let Some(at) = made.iter().position(|m| std::ptr::eq(m.node, output.node)) else { continue };
            publish(output, made.swap_remove(at).result);
        }
    }
}

fn publish(output: &Output, result: Result<Owned, Failed>) {
    match result {
        Ok(owned) if is_large(output.bytes) => output.node.set_buffer(owned.give()),
        // SAFETY: a value that fits into its node has room for its bytes there, and nobody reads it yet.
        Ok(owned) => unsafe { std::ptr::copy_nonoverlapping(owned.ptr(), output.node.data(), output.bytes) },
        Err(Failed { error, kept }) => return output.node.publish_failed(output.generation, error, kept),
    }
    output.node.publish_ready(output.generation);
}

fn run_one(submitted: &Submitted, made: &[Made], team: &dyn Team) -> Result<Owned, Error> {
    let record = &submitted.record;
    let signature = record.recipe.signature;
    let single = record.recipe.single();
    let mut addresses = Vec::with_capacity(single.inputs.len());
    for &k in &single.inputs {
        let operand = &submitted.operands[k as usize];
        let base = match made.iter().find(|m| std::ptr::eq(m.node, operand.node)) {
            Some(Made { result: Ok(owned), .. }) => owned.ptr(),
            Some(Made { result: Err(failed), .. }) => return Err(failed.error.clone()),
            None if operand.node.planned_status() == Status::Failed => return Err(operand.node.error()),
            None => operand.node.data(),
        };
        let offset = operand.view.unwrap_or(0) as usize * signature.inputs[k as usize].dtype.size();
        // SAFETY: the offset of a view stays inside its base.
        addresses.push(unsafe { base.add(offset) } as *const u8);
    }
    let (op, loc) = (signature.op.name(), Loc::from_id(record.loc));
    let blame = |error: Error| {
        let error = error.in_op(op).submitted_at(loc);
        runtime().note_failure(&error);
        error
    };
    fail_point!("apart.record", error => return Err(blame(error)));
    let bytes = signature.out.bytes;
    fail_point!("apart.room", _error => return Err(blame(no_memory(bytes))));
    let owned = Owned(Buffer::alloc(bytes.max(1), op, loc).ok_or_else(|| blame(no_memory(bytes)))?);
    let scalars: Vec<u64> = single.scalars.iter().map(|word| record.immediates[*word as usize]).collect();
    let io = Io { inputs: &addresses, outputs: &[owned.ptr()], scalars: &scalars };
    // SAFETY: all inputs are ready, or were made just before; the result is as large as its meta says and ours alone.
    unsafe {
        single.executable.check(io).map_err(blame)?;
        single.executable.run(io, team);
    }
    Ok(owned)
}
