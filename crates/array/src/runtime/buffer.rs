//! Bytes on a device, counted: by the value that holds them and by every export of them.

use crate::observe::holders::{Account, Holders, LEAST};
use crate::runtime::devices::OwnDevice;
use crate::runtime::runtime;
use forerun_base::{Loc, fail_point};
use forerun_cpu::Block;
use forerun_plan::DeviceBlock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, Ordering::Relaxed};

/// A block of memory and how many look at it. Held by raw pointers in nodes, by [`BufferRef`] elsewhere.
pub(crate) struct Buffer {
    refs: AtomicU32,
    /// It was copied from the host, and its value is closed.
    queued: AtomicBool,
    /// Where it is booked, unless it is small.
    account: Option<&'static Account>,
    bytes: Bytes,
}

/// Where the bytes lie.
enum Bytes {
    Host(Block),
    Device(&'static OwnDevice, DeviceBlock),
    /// In the memory of a device, but another library's; how many.
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

    /// Bytes of another library in the memory of a device. Whoever makes it sees to it that they outlive every use.
    pub(crate) fn foreign(address: *mut u8, bytes: usize) -> *mut Buffer {
        Buffer::new(Bytes::Foreign(address, bytes), None)
    }

    fn new(bytes: Bytes, account: Option<&'static Account>) -> *mut Buffer {
        if let Some(account) = account {
            account.take(bytes.capacity());
        }
        let queued = AtomicBool::new(false);
        Box::into_raw(Box::new(Buffer { refs: AtomicU32::new(1), queued, account, bytes }))
    }

    /// Up to which ticket of the compute lane its bytes may still be used for what they held before.
    pub(crate) fn since(&self) -> u64 {
        match &self.bytes {
            Bytes::Host(_) | Bytes::Foreign(..) => 0,
            Bytes::Device(_, block) => block.since,
        }
    }

    /// Books the buffer on the account of an op at a line: it may have been donated.
    ///
    /// # Safety
    /// Nobody else can reach the buffer.
    pub(crate) unsafe fn book(this: *mut Buffer, op: &'static str, loc: Loc) {
        // SAFETY: as the caller promised.
        let buffer = unsafe { &mut *this };
        debug_assert!(buffer.is_unshared(), "a buffer is booked while somebody else can reach it");
        if let Some(account) = buffer.account.filter(|account| !account.is_of(op, loc)) {
            let next = buffer.bytes.holders().account(op, loc);
            next.take(buffer.bytes.capacity());
            account.give_back(buffer.bytes.capacity());
            buffer.account = Some(next);
        }
    }

    /// Its bytes came from the host and only wait for their readers from now on.
    pub(crate) fn enter_queue(&self) {
        self.queued.store(true, Relaxed);
        runtime().host.enter(self.bytes.capacity());
    }

    /// The last reader is done with it, or takes it over.
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

    /// One holder less; the last one frees.
    ///
    /// # Safety
    /// The caller gives up a count it owned.
    pub(crate) unsafe fn release(this: *mut Buffer) {
        // SAFETY: the caller's count keeps it alive until here.
        let refs = unsafe { &*this }.refs.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(refs > 0, "a buffer is released more often than it was shared");
        if refs == 1 {
            // SAFETY: the last count is gone: nobody else can reach it, and it came from a box.
            let buffer = unsafe { Box::from_raw(this) };
            if let Some(account) = buffer.account {
                account.give_back(buffer.bytes.capacity());
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

// SAFETY: the bytes are not changed while a second holder exists, and counts are atomic.
unsafe impl Send for BufferRef {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for BufferRef {}

impl BufferRef {
    /// Another holder.
    ///
    /// # Safety
    /// The buffer must be alive: the caller keeps its holder from letting go meanwhile.
    pub(crate) unsafe fn share(buffer: *mut Buffer) -> BufferRef {
        // SAFETY: alive, as the caller promised.
        unsafe { &*buffer }.refs.fetch_add(1, Ordering::Relaxed);
        BufferRef(buffer)
    }

    /// Another holder beside this one.
    pub(crate) fn again(&self) -> BufferRef {
        // SAFETY: our count keeps it alive.
        unsafe { BufferRef::share(self.0) }
    }

    /// Gives the buffer, with its count, to a value.
    pub(crate) fn give(self) -> *mut Buffer {
        let buffer = self.0;
        std::mem::forget(self);
        buffer
    }

    pub(crate) fn ptr(&self) -> *const u8 {
        // SAFETY: our count keeps it alive.
        unsafe { &*self.0 }.ptr()
    }
}

impl Drop for BufferRef {
    fn drop(&mut self) {
        // SAFETY: the count taken in `share` is given up once.
        unsafe { Buffer::release(self.0) }
    }
}
