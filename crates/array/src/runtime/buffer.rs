//! Reference-counted bytes on a device, shared by a value and its exports.

use crate::observe::holders::{Account, Holders, LEAST};
use crate::observe::trace;
use crate::runtime::devices::OwnDevice;
use crate::runtime::runtime;
use forerun_base::{Device, Loc, fail_point};
use forerun_cpu::Block;
use forerun_plan::DeviceBlock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, Ordering::Relaxed};

/// A block of memory and its reference count. Nodes hold it by raw pointer, other code by [`BufferRef`].
pub(crate) struct Buffer {
    refs: AtomicU32,
    /// Whether it was copied from the host and its value is closed.
    queued: AtomicBool,
    /// The account it is charged to, unless it is small.
    account: Option<&'static Account>,
    bytes: Bytes,
}

/// Where the bytes are stored.
enum Bytes {
    Host(Block),
    Device(&'static OwnDevice, DeviceBlock),
    /// Bytes in device memory that another library owns, and their number.
    Foreign(*mut u8, usize),
}

impl Bytes {
    fn capacity(&self) -> usize {
        match self {
            Bytes::Host(block) => block.capacity(),
            Bytes::Device(_, block) => block.bytes,
            Bytes::Foreign(_, bytes) => *bytes,
        }
    }

    /// Charges the bytes to an account.
    fn charge(&self, account: &'static Account) {
        account.take(self.capacity());
        if trace::is_on() {
            trace::allocated(account.origin(), self.device(), self.capacity());
        }
    }

    /// Credits the bytes to the account that was charged.
    fn credit(&self, account: &'static Account) {
        account.give_back(self.capacity());
        if trace::is_on() {
            trace::freed(account.origin(), self.device(), self.capacity());
        }
    }

    fn device(&self) -> Device {
        match self {
            Bytes::Host(_) | Bytes::Foreign(..) => Device::Cpu(0),
            Bytes::Device(device, _) => Device::Gpu(device.number as u8),
        }
    }

    fn holders(&self) -> &'static Holders {
        match self {
            Bytes::Host(_) | Bytes::Foreign(..) => &runtime().holders,
            Bytes::Device(device, _) => &device.holders,
        }
    }
}

impl Buffer {
    /// A buffer of `bytes` on the host or an accelerator for what an op at a line makes, or `None` if there is no memory.
    /// On an accelerator, whoever enqueues calls this.
    pub(crate) fn alloc(
        device: Option<&'static OwnDevice>,
        bytes: usize,
        op: &'static str,
        loc: Loc,
    ) -> Option<*mut Buffer> {
        let bytes = match device {
            None => Bytes::Host(runtime().pool.alloc(bytes)?),
            Some(device) => {
                fail_point!("device.memory", _error => return None);
                let block = device.accelerator.alloc(bytes)?;
                device.ledger.charge(block.bytes);
                Bytes::Device(device, block)
            }
        };
        let account = (bytes.capacity() >= LEAST).then(|| bytes.holders().account(op, loc));
        Some(Buffer::new(bytes, account))
    }

    /// Wraps bytes of another library in device memory. The caller ensures that they outlive every use.
    pub(crate) fn foreign(address: *mut u8, bytes: usize) -> *mut Buffer {
        Buffer::new(Bytes::Foreign(address, bytes), None)
    }

    fn new(bytes: Bytes, account: Option<&'static Account>) -> *mut Buffer {
        if let Some(account) = account {
            bytes.charge(account);
        }
        let queued = AtomicBool::new(false);
        Box::into_raw(Box::new(Buffer { refs: AtomicU32::new(1), queued, account, bytes }))
    }

    /// The ticket of the compute lane up to which the previous contents may still be in use.
    pub(crate) fn since(&self) -> u64 {
        match &self.bytes {
            Bytes::Host(_) | Bytes::Foreign(..) => 0,
            Bytes::Device(_, block) => block.since,
        }
    }

    /// Charges the buffer to the account of an op at a line; a donated buffer changes its account.
    ///
    /// # Safety
    /// No other thread can reach the buffer.
    pub(crate) unsafe fn book(this: *mut Buffer, op: &'static str, loc: Loc) {
        // SAFETY: the caller guarantees exclusive access.
        let buffer = unsafe { &mut *this };
        debug_assert!(buffer.is_unshared(), "a buffer is booked while somebody else can reach it");
        if let Some(account) = buffer.account.filter(|account| !account.is_of(op, loc)) {
            let next = buffer.bytes.holders().account(op, loc);
            buffer.bytes.charge(next);
            buffer.bytes.credit(account);
            buffer.account = Some(next);
        }
    }

    /// Marks bytes that came from the host as queued: from now on only pending readers need them.
    pub(crate) fn enter_queue(&self) {
        self.queued.store(true, Relaxed);
        runtime().host.enter(self.bytes.capacity());
    }

    /// Ends the queued state: the last reader is done with the bytes or takes them over.
    pub(crate) fn leave_queue(&self) {
        if self.queued.load(Relaxed) {
            self.queued.store(false, Relaxed);
            runtime().host.leave(self.bytes.capacity());
        }
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        match &self.bytes {
            Bytes::Host(block) => block.ptr.as_ptr(),
            Bytes::Device(_, block) => block.address,
            Bytes::Foreign(address, _) => *address,
        }
    }

    pub(crate) fn is_unshared(&self) -> bool {
        self.refs.load(Ordering::Acquire) == 1
    }

    /// Gives up one reference; the last one frees the buffer.
    ///
    /// # Safety
    /// The caller owns the reference that it gives up.
    pub(crate) unsafe fn release(this: *mut Buffer) {
        // SAFETY: the caller's reference keeps the buffer alive until here.
        let refs = unsafe { &*this }.refs.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(refs > 0, "a buffer is released more often than it was shared");
        if refs == 1 {
            // SAFETY: this was the last reference, so no other thread can reach the buffer, and it came from a box.
            let buffer = unsafe { Box::from_raw(this) };
            if let Some(account) = buffer.account {
                buffer.bytes.credit(account);
            }
            match buffer.bytes {
                Bytes::Host(block) => runtime().pool.free(block),
                Bytes::Device(device, block) => {
                    device.accelerator.free(block);
                    device.ledger.release(block.bytes);
                }
                Bytes::Foreign(..) => {}
            }
        }
    }
}

/// A counted reference to a buffer.
pub(crate) struct BufferRef(*mut Buffer);

// SAFETY: the bytes do not change while a second reference exists, and the count is atomic.
unsafe impl Send for BufferRef {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for BufferRef {}

impl BufferRef {
    /// Creates another reference.
    ///
    /// # Safety
    /// The buffer must be alive: the caller keeps an existing reference from being released meanwhile.
    pub(crate) unsafe fn share(buffer: *mut Buffer) -> BufferRef {
        // SAFETY: the caller guarantees that the buffer is alive.
        unsafe { &*buffer }.refs.fetch_add(1, Ordering::Relaxed);
        BufferRef(buffer)
    }

    /// Creates another reference.
    pub(crate) fn again(&self) -> BufferRef {
        // SAFETY: our reference keeps the buffer alive.
        unsafe { BufferRef::share(self.0) }
    }

    /// Transfers this reference to a value.
    pub(crate) fn give(self) -> *mut Buffer {
        let buffer = self.0;
        std::mem::forget(self);
        buffer
    }

    pub(crate) fn ptr(&self) -> *const u8 {
        // SAFETY: our reference keeps the buffer alive.
        unsafe { &*self.0 }.ptr()
    }
}

impl Drop for BufferRef {
    fn drop(&mut self) {
        // SAFETY: the reference taken in `share` is released once.
        unsafe { Buffer::release(self.0) }
    }
}
