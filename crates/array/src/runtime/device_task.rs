//! Tasks of accelerators: enqueues a kernel or a copy on a lane, and publishes the outcome once the lane has passed it.
//!
//! Memory is released in the order of the compute lane. A buffer whose last uses are enqueued there is released
//! immediately, before the device has run them, because later commands of the lane may reuse it. Running ahead
//! therefore needs no more memory than waiting. Uses on the other lanes and on the host keep a buffer until they have
//! settled.

use crate::observe::trace;
use crate::runtime::buffer::Buffer;
use crate::runtime::devices::{self, OwnDevice};
use crate::runtime::kernel_task::{Addresses, BoundOutput, KernelTask};
use crate::runtime::lower::CompiledKernel;
use crate::runtime::memory::no_memory;
use crate::runtime::node::Node;
use forerun_base::{Error, ErrorKind, Loc, fail_point};
use forerun_engine::{Enqueued, LaneTicket, Status};
use forerun_plan::{Io, Lane};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Where and when a task was enqueued.
pub(crate) struct EnqueuedOn {
    pub(crate) lane: Lane,
    pub(crate) ticket: u64,
    /// The time, if a trace was on.
    pub(crate) began: Option<Instant>,
}

/// The full ticket, from its low 24 bits, which values keep, and the last ticket of the lane.
fn full_ticket(low: u32, last: u64) -> u64 {
    last - (last.wrapping_sub(low as u64) & 0xff_ffff)
}

impl KernelTask {
    /// The error for a kernel that finds no memory on the device.
    pub(crate) fn lacks_memory(&self) -> Error {
        let bytes = self.outputs.iter().map(|output| output.bytes).max().unwrap_or(0);
        no_memory(self.outputs.first().and_then(|output| devices::of(output.node.meta().device)), bytes)
    }

    /// Enqueues the kernel, or returns why it cannot.
    pub(crate) fn enqueue(&self) -> Enqueued {
        let Some(device) = self.device else {
            self.fail_all(&self.blame(Error::new(ErrorKind::Runtime, "the task has no device"), 0));
            return Enqueued::Nothing;
        };
        if self.settled.load(Ordering::Acquire) {
            return Enqueued::Nothing;
        }
        if let Some(error) = self.poison() {
            return self.enqueue_unpoisoned(device, &error);
        }
        let mut addresses: Addresses<*const u8> = self.inputs.iter().map(|i| i.node.data() as *const u8).collect();
        let mut buffers = match self.buffers(&mut addresses) {
            Ok(buffers) => buffers,
            Err(_) => return Enqueued::NoMemory,
        };
        for (address, input) in addresses.iter_mut().zip(&self.inputs) {
            // A device address is only a number here, so it may wrap.
            *address = address.wrapping_add(input.bytes);
        }
        let target = |(output, buffer): (&BoundOutput, &Option<*mut Buffer>)| match buffer {
            // SAFETY: this task owns the buffer.
            Some(b) => unsafe { &**b }.ptr(),
            None => output.node.data(),
        };
        let targets: Addresses<*mut u8> = self.outputs.iter().zip(&buffers.list).map(target).collect();
        let since = buffers.list.iter().flatten().map(|b| {
            // SAFETY: this task owns the buffer.
            unsafe { &**b }.since()
        });
        let since = since.max().unwrap_or(0);
        let began = trace::clock();
        let ranged = device.accelerator.shows_ranges();
        if ranged {
            device.accelerator.begin_range(&self.label());
        }
        let told = self.enqueue_kernel(device, &addresses, &targets, since);
        if ranged {
            device.accelerator.end_range();
        }
        let lane = match told {
            Ok(lane) => lane,
            Err(error) => {
                self.fail_all(&self.blame(error, 0));
                return Enqueued::Nothing;
            }
        };
        let ticket = device.accelerator.last_ticket(lane);
        let _ = self.enqueued.set(EnqueuedOn { lane, ticket, began });
        for (output, buffer) in self.outputs.iter().zip(std::mem::take(&mut buffers.list)) {
            let Some(b) = buffer else { continue };
            // SAFETY: this task owns the buffer until the value is published.
            unsafe { Buffer::book(b, output.op, output.loc) };
            if lives_on(device, output.node) {
                output.node.begin_enqueued(b);
                output.node.publish_enqueued(output.generation, lane as u8, ticket);
            } else {
                output.node.set_buffer(b);
            }
        }
        self.give_back_in_order(device);
        Enqueued::Ticket(LaneTicket { lane: lane as usize, number: ticket })
    }

    /// The ops and the line of the first result, for profilers.
    fn label(&self) -> String {
        let names = self.members().iter().map(|k| self.segment[usize::from(*k)].record.recipe.op().name());
        let line = self.outputs.first().map_or(Loc::UNKNOWN, |output| output.loc).text();
        format!("{} at {line}", names.collect::<Vec<_>>().join(" "))
    }

    /// Enqueues the kernel or the copy after the waits that its lane needs.
    fn enqueue_kernel(
        &self,
        device: &OwnDevice,
        addresses: &[*const u8],
        targets: &[*mut u8],
        since: u64,
    ) -> Result<Lane, Error> {
        let accelerator = &device.accelerator;
        let follow_inputs = |lane: Lane| self.inputs.iter().for_each(|input| follow(device, lane, input.node));
        match &self.plan.kernels[self.group] {
            CompiledKernel::Device(kernel) => {
                fail_point!("device.launch", error => return Err(error));
                follow_inputs(Lane::Compute);
                let io = Io { inputs: addresses, outputs: targets, scalars: &self.scalars };
                // SAFETY: inputs are complete when the lane reaches this kernel, by the waits above and the order of
                // the lane. Outputs have the size that their metas state, and earlier uses of their memory come before
                // in the lane.
                unsafe { kernel.launch(io) }?;
                Ok(Lane::Compute)
            }
            CompiledKernel::Transfer(bytes) if lives_on(device, self.outputs[0].node) => {
                fail_point!("device.copy", error => return Err(error));
                let lane = accelerator.copy_lane(Lane::In, *bytes);
                // The copy lanes may get memory that the compute lane still uses.
                device.follow(lane, Lane::Compute, since);
                // SAFETY: the input is a ready host value, and its use lasts until this task has settled.
                unsafe { accelerator.copy_in(addresses[0], targets[0], *bytes) }
            }
            CompiledKernel::Transfer(bytes) => {
                fail_point!("device.copy", error => return Err(error));
                follow_inputs(accelerator.copy_lane(Lane::Out, *bytes));
                // SAFETY: the use of the input lasts until this task has settled, and the task owns the output until
                // then.
                unsafe { accelerator.copy_out(addresses[0], targets[0], *bytes) }
            }
            CompiledKernel::Host(_) => Err(Error::new(ErrorKind::Runtime, "it was compiled for the host")),
        }
    }

    /// Whether its uses are ordered by the compute lane, in whose order memory is released.
    fn keeps_order(&self) -> bool {
        matches!(self.plan.kernels[self.group], CompiledKernel::Device(_))
    }

    pub(crate) fn give_back_in_order(&self, device: &OwnDevice) {
        if !self.keeps_order() {
            return;
        }
        for release in self.releases.iter().filter(|r| lives_on(device, r.node)) {
            if let Some(buffer) = release.node.note_enqueued(release.count) {
                // SAFETY: releases the value's own reference; the value has no buffer any more.
                unsafe { Buffer::release(buffer) };
            }
        }
    }

    /// Enqueues, one by one, the records that do not depend on an input that failed before this task was enqueued.
    fn enqueue_unpoisoned(&self, device: &'static OwnDevice, error: &Error) -> Enqueued {
        if self.outputs.len() < 2 {
            self.fail_all(error);
            return Enqueued::Nothing;
        }
        self.enqueue_unfused(device)
    }

    /// Publishes the outcome after the lane has passed and all tasks that this one follows have settled.
    pub(crate) fn settle_enqueued(&self) {
        let (Some(device), Some(enqueued)) = (self.device, self.enqueued.get()) else { return };
        if self.settled.swap(true, Ordering::AcqRel) {
            return;
        }
        let outcome = outcome_of(device, enqueued).map_err(|error| self.blame(error, 0));
        if let Some(began) = enqueued.began {
            // Before the values are visible: a thread that sees them may end the trace.
            let (bytes, on) = (self.outputs.iter().map(|o| o.bytes).sum(), Some((device.number, enqueued.lane)));
            trace::ran(&self.segment, self.members(), bytes, began, on);
        }
        let lost = self.lost_records();
        for output in &self.outputs {
            // A result that failed while it was enqueued is already published.
            if output.node.planned_status() == Status::Failed {
                continue;
            }
            let cause = match &outcome {
                Err(error) => Some(error),
                Ok(()) => lost.iter().find(|(node, _)| std::ptr::eq(*node, output.node)).map(|(_, error)| error),
            };
            match cause {
                Some(error) => output.node.publish_failed(output.generation, error.clone(), None),
                None => output.node.publish_ready(output.generation),
            }
        }
        if self.keeps_order() {
            for release in self.releases.iter().filter(|r| lives_on(device, r.node)) {
                release.node.end_enqueued(release.count);
            }
        }
        self.finish();
    }

    /// The results that fail because an input turned out to have failed after this task was enqueued.
    fn lost_records(&self) -> Vec<(&'static Node, Error)> {
        let mut lost: Vec<(&'static Node, Error)> = Vec::new();
        if self.poison().is_none() {
            return lost;
        }
        let mut records = self.members().to_vec();
        records.sort_unstable();
        for record in records {
            let submitted = &self.segment[record as usize];
            let cause = submitted.operands.iter().find_map(|operand| {
                let known = lost.iter().find(|(node, _)| std::ptr::eq(*node, operand.node));
                let failed = || operand.node.planned_status() == Status::Failed && !self.makes(operand.node);
                known.map(|(_, error)| error.clone()).or_else(|| failed().then(|| operand.node.error()))
            });
            if let Some(error) = cause {
                lost.push((submitted.out(), error));
            }
        }
        lost
    }

    fn makes(&self, node: &Node) -> bool {
        self.members().iter().any(|r| std::ptr::eq(self.segment[*r as usize].out(), node))
    }
}

/// The error of the enqueued command, if it failed.
fn outcome_of(device: &OwnDevice, enqueued: &EnqueuedOn) -> Result<(), Error> {
    let outcome = device.accelerator.outcome(enqueued.lane, enqueued.ticket);
    fail_point!("device.outcome", error => return Err(error));
    outcome
}

/// Makes later commands of the lane wait for the command that computes the value.
pub(crate) fn follow(device: &OwnDevice, lane: Lane, node: &Node) {
    if let Status::Enqueued { lane: other, ticket } = node.planned_status() {
        let other = Lane::ALL[other as usize];
        device.follow(lane, other, full_ticket(ticket, device.accelerator.last_ticket(other)));
    }
}

pub(crate) fn lives_on(device: &OwnDevice, node: &Node) -> bool {
    node.meta().device.accelerator() == Some(device.number)
}
