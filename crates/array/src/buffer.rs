//! Bytes on a device, counted: by the value that holds them and by every export of them.

use crate::runtime::runtime;
use forerun_cpu::Block;
use std::sync::atomic::{AtomicU32, Ordering};

/// A block of memory and how many look at it. Held by raw pointers in nodes, by [`BufferRef`] elsewhere.
pub(crate) struct Buffer {
    refs: AtomicU32,
    block: Block,
}

impl Buffer {
    /// A buffer of `bytes`, or `None` if there is no memory.
    pub(crate) fn alloc(bytes: usize) -> Option<*mut Buffer> {
        let block = runtime().pool.alloc(bytes)?;
        Some(Box::into_raw(Box::new(Buffer { refs: AtomicU32::new(1), block })))
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        self.block.ptr.as_ptr()
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
        if unsafe { &*this }.refs.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the last count is gone: nobody else can reach it, and it came from a box.
            let buffer = unsafe { Box::from_raw(this) };
            runtime().pool.free(buffer.block);
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
