//! Small slots of pinned host memory, which the device can read and write.

use crate::sys::Driver;
use forerun_base::Result;
use std::ffi::c_void;

/// Slots of one size, allocated one page at a time and never freed.
pub(crate) struct Slots {
    driver: &'static Driver,
    bytes: usize,
    a_page: usize,
    free: Vec<usize>,
}

impl Slots {
    pub(crate) fn new(driver: &'static Driver, bytes: usize, a_page: usize) -> Slots {
        Slots { driver, bytes, a_page, free: Vec::new() }
    }

    /// Allocates a slot; the address is valid on the host and on the device. Its contents are unspecified.
    pub(crate) fn take(&mut self) -> Result<usize> {
        if let Some(slot) = self.free.pop() {
            return Ok(slot);
        }
        let mut page: *mut c_void = std::ptr::null_mut();
        // SAFETY: the pointer is to a local address, the only memory that the call writes.
        let error = unsafe { (self.driver.host_alloc)(&mut page, self.bytes * self.a_page, 0) };
        self.driver.check(error, "cuMemHostAlloc")?;
        self.free.extend((1..self.a_page).map(|n| page as usize + n * self.bytes));
        Ok(page as usize)
    }

    pub(crate) fn give_back(&mut self, slot: usize) {
        self.free.push(slot);
    }
}
