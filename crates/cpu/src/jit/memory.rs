//! Executable memory. A page is never writable and executable at the same time. Kernels share pages; a span of pages is
//! unmapped with its last kernel.
//!
//! A page in use is never made writable again. To add code to it, a copy of the page is extended and then moved over
//! the old page in one system call. A thread that runs there meanwhile sees the old page or the new one, and both
//! contain its code. The memory is private to the process, so a forked child has its own copy.

use super::stats::SPANS;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, TryLockError};

const PAGE: usize = 4096;
/// The address space of a span. Pages without code are only reserved.
const SPAN: usize = 256 * 1024;
/// Functions are aligned to cache lines.
const ALIGN: usize = 64;

/// The span for new kernels, and the number of its bytes in use.
static OPEN: Mutex<Option<(Arc<Span>, usize)>> = Mutex::new(None);

/// Address space for code.
#[derive(Debug)]
struct Span {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a span is an address range whose contents are only executed.
unsafe impl Send for Span {}
// SAFETY: a span is an address range whose contents are only executed.
unsafe impl Sync for Span {}

impl Drop for Span {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this span, and no kernel in it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        SPANS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn map(bytes: usize, protection: libc::c_int) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping does not affect existing memory.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

impl Span {
    fn new(bytes: usize) -> Option<Span> {
        let start = map(bytes, libc::PROT_NONE)?;
        SPANS.fetch_add(1, Ordering::Relaxed);
        Some(Span { start, bytes })
    }

    /// Writes `code` at an offset after all other code of the span; `None` if a system call fails.
    fn write(&self, at: usize, code: &[u8]) -> Option<()> {
        let first = at / PAGE * PAGE;
        let bytes = (at + code.len() - first).next_multiple_of(PAGE);
        let fresh = map(bytes, libc::PROT_READ | libc::PROT_WRITE)?;
        // SAFETY: the fresh pages are local to this call until they are moved into the span. The used part of the page
        // they replace is copied, and was made readable when it was written.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr().add(first), fresh.as_ptr(), at - first);
            std::ptr::copy_nonoverlapping(code.as_ptr(), fresh.as_ptr().add(at - first), code.len());
            let runnable = libc::mprotect(fresh.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_EXEC) == 0;
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            let place = self.start.as_ptr().add(first);
            if !runnable
                || libc::mremap(fresh.as_ptr().cast(), bytes, bytes, flags, place.cast::<libc::c_void>())
                    == libc::MAP_FAILED
            {
                libc::munmap(fresh.as_ptr().cast(), bytes);
                return None;
            }
        }
        Some(())
    }
}

/// A reference to code in memory.
#[derive(Debug)]
pub(super) struct Code {
    span: Arc<Span>,
    offset: usize,
}

impl Code {
    /// Makes `code` executable; `None` if a system call fails.
    pub(super) fn new(code: &[u8]) -> Option<Code> {
        // If the lock is taken, possibly forever because of a fork,use a separate span.
        let mut open = match OPEN.try_lock() {
            Ok(open) => Some(open),
            Err(TryLockError::Poisoned(open)) => Some(open.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let known = open.as_ref().and_then(|open| open.as_ref()).filter(|(span, used)| used + code.len() <= span.bytes);
        let shared = known.is_some() || (open.is_some() && code.len() <= SPAN / 2);
        let (span, offset) = match known {
            Some((span, used)) => (span.clone(), *used),
            None => (Arc::new(Span::new(if shared { SPAN } else { code.len().next_multiple_of(PAGE) })?), 0),
        };
        span.write(offset, code)?;
        let used = (offset + code.len()).next_multiple_of(ALIGN);
        if let Some(open) = open.as_mut().filter(|_| shared) {
            // A full span is no longer open: another write would overwrite its last kernel.
            **open = (used < span.bytes).then(|| (span.clone(), used));
        }
        Some(Code { span, offset })
    }

    /// The address of a byte of the code.
    pub(super) fn address(&self, offset: usize) -> *const u8 {
        self.span.start.as_ptr().wrapping_add(self.offset + offset)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // Close the open span too if this was its last kernel.
        if let Ok(mut open) = OPEN.try_lock()
            && open.as_ref().is_some_and(|(span, _)| Arc::ptr_eq(span, &self.span))
            && Arc::strong_count(&self.span) == 2
        {
            *open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kernels_share_a_byte() {
        // Two spans of minimal functions, so that spans are filled to the last byte.
        let codes: Vec<(Code, [u8; ALIGN])> = (0..2 * SPAN / ALIGN)
            .map(|n| {
                let bytes = std::array::from_fn(|k| (n >> (8 * (k % 4))) as u8);
                (Code::new(&bytes).expect("memory for code"), bytes)
            })
            .collect();
        for (code, bytes) in &codes {
            // SAFETY: `code` is alive and has this length; its pages are readable.
            let written = unsafe { std::slice::from_raw_parts(code.address(0), ALIGN) };
            assert_eq!(written, bytes);
        }
    }
}
