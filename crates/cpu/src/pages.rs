//! Maps and unmaps pages. Large mappings are aligned to huge pages and request them.

use std::ptr::NonNull;

/// The alignment of large mappings.
pub(crate) const HUGE: usize = 2 << 20;
/// The smallest unit that is mapped.
pub(crate) const PAGE: usize = 4096;

/// Maps fresh zeroed pages; from 2 MiB on they are aligned for huge pages and request them.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    let align = if bytes >= HUGE { HUGE } else { PAGE };
    let total = bytes.checked_add(align - PAGE)?;
    // SAFETY: a fresh anonymous mapping does not affect existing memory.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            total,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return None;
    }
    let base = base.cast::<u8>();
    let skip = base.align_offset(align);
    // SAFETY: the unmapped parts are the unused beginning and end of the fresh mapping; the advice changes no contents.
    unsafe {
        let start = base.add(skip);
        if skip > 0 {
            libc::munmap(base.cast(), skip);
        }
        if total - skip > bytes {
            libc::munmap(start.add(bytes).cast(), total - skip - bytes);
        }
        #[cfg(target_os = "linux")]
        if bytes >= HUGE {
            libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE);
        }
        NonNull::new(start)
    }
}

/// Unmaps pages.
pub(crate) fn unmap(ptr: NonNull<u8>, bytes: usize) {
    show_to_sanitizer(ptr, bytes, bytes);
    // SAFETY: the mapping belongs to the pool and is no longer in use.
    unsafe { libc::munmap(ptr.as_ptr().cast(), bytes) };
}

/// Moves huge pages to the beginning of a fresh mapping: this is cheaper than new ones, which the system has to clear. Returns how
/// many were moved, the first ones; an error if the target has holes now, so that it can only be unmapped.
#[cfg(target_os = "linux")]
pub(crate) fn move_into(target: NonNull<u8>, pages: &[usize]) -> Result<usize, usize> {
    for (i, page) in pages.iter().enumerate() {
        // SAFETY: the caller owns the pages, which nobody uses, and the target, which is at least as long.
        unsafe {
            let (from, to) = (*page as *mut libc::c_void, target.as_ptr().add(i * HUGE).cast::<libc::c_void>());
            let moving = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            if libc::mremap(from, HUGE, HUGE, moving, to) == libc::MAP_FAILED {
                // What was mapped there may be gone.
                let protection = libc::PROT_READ | libc::PROT_WRITE;
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                let again = libc::mmap(to, HUGE, protection, flags, -1, 0);
                return if again == libc::MAP_FAILED { Err(i) } else { Ok(i) };
            }
        }
        if let Some(from) = NonNull::new(*page as *mut u8) {
            show_to_sanitizer(from, HUGE, HUGE);
        }
    }
    Ok(pages.len())
}

/// Moves nothing: other systems have no call for it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn move_into(_: NonNull<u8>, _: &[usize]) -> Result<usize, usize> {
    Ok(0)
}

/// Tells the address sanitizer that of a block only the first `bytes` may be read and written: it knows nothing of blocks
/// that are not from `malloc`. `cargo xtask test --long` builds with `--cfg asan`.
#[inline(always)]
pub(crate) fn show_to_sanitizer(block: NonNull<u8>, bytes: usize, capacity: usize) {
    #[cfg(asan)]
    {
        unsafe extern "C" {
            fn __asan_poison_memory_region(address: *const u8, bytes: usize);
            fn __asan_unpoison_memory_region(address: *const u8, bytes: usize);
        }
        debug_assert!(bytes <= capacity);
        // SAFETY: both write the sanitizer's own memory; the block is the caller's.
        unsafe {
            __asan_poison_memory_region(block.as_ptr(), capacity);
            __asan_unpoison_memory_region(block.as_ptr(), bytes);
        }
    }
    let _ = (block, bytes, capacity);
}
