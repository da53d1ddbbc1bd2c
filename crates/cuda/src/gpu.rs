//! A device: its context, its streams, its memory, its compiler.

use crate::compile::{Compiler, Counts, Unit};
use crate::kernel_graph::Command;
use crate::memory::{Memory, MemoryInfo, Taken};
use crate::run::{LaunchableKernel, Products};
use crate::staging::Staging;
use crate::streams::{Mark, MarkWord, Streams};
use crate::sys::{Blas, Context, Driver, Fourier, driver_code as code};
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_ops::{Given, Routine};
use forerun_plan::{Kernel, Lane};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// An open device. Kernels run in order on its compute stream.
pub struct Gpu {
    pub(crate) driver: &'static Driver,
    context: Context,
    name: String,
    arch: (i32, i32),
    processors: usize,
    pub(crate) compiler: Compiler,
    pub(crate) streams: Streams,
    pub(crate) memory: Memory,
    staging: [Mutex<Staging>; 2],
    products: OnceLock<Result<Products>>,
    tf32: AtomicBool,
    /// Whether the compute stream is being captured.
    pub(crate) captures: AtomicBool,
}

// SAFETY: the handles of a context may be used by any thread that makes the context its own, which every call does.
unsafe impl Send for Gpu {}
// SAFETY: as above; what changes is behind locks and atomics.
unsafe impl Sync for Gpu {}

/// The addresses one launch works on: device addresses of first elements, and the scalars as bits.
#[derive(Clone, Copy, Debug)]
pub struct DeviceIo<'a> {
    /// First element of each input, in the kernel's order.
    pub inputs: &'a [u64],
    /// First element of each output, in the kernel's order.
    pub outputs: &'a [u64],
    /// The scalars, as element bits in the dtype the kernel declares.
    pub scalars: &'a [u64],
    /// A status of [`Gpu::STATUS_BYTES`] zero bytes, which a kernel that may fail raises; 0 if nobody looks.
    pub status: u64,
}

/// What a raised status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The index that names nothing; of several, the first in order.
    pub index: i64,
    /// Its place among the indices.
    pub place: u64,
}

impl Raised {
    /// The array of indices that it stands in: the bits of the place above those that number elements.
    pub(crate) fn array(&self) -> usize {
        (self.place >> 48) as usize
    }
}

impl Gpu {
    /// Bytes of a status: raised, index, its place, and a word that kernels need.
    pub const STATUS_BYTES: usize = 32;

    /// How many devices there are; none without a driver.
    pub fn count() -> usize {
        let Ok(driver) = Driver::get() else { return 0 };
        let mut count = 0;
        // SAFETY: writes one number.
        let error = unsafe { (driver.device_count)(&mut count) };
        if error == code::SUCCESS { count.max(0) as usize } else { 0 }
    }

    /// Opens a device. Takes about a tenth of a second, once.
    pub fn open(ordinal: usize) -> Result<Arc<Gpu>> {
        let driver = Driver::get()?;
        let (mut device, mut context) = (0, std::ptr::null_mut());
        let mut name = [0u8; 128];
        // SAFETY: each call writes what it is given room for.
        unsafe {
            let error = (driver.device_get)(&mut device, ordinal as i32);
            if error == code::NO_DEVICE || error == 101 {
                return Err(Error::new(ErrorKind::Runtime, format!("there is no gpu({ordinal})")));
            }
            driver.check(error, "cuDeviceGet")?;
            driver.check((driver.device_name)(name.as_mut_ptr().cast(), 128, device), "cuDeviceGetName")?;
            driver.check((driver.context_retain)(&mut context, device), "cuDevicePrimaryCtxRetain")?;
            driver.check((driver.context_set)(context), "cuCtxSetCurrent")?;
        }
        let attribute = |which: i32| {
            let mut value = 0;
            // SAFETY: writes one number.
            let error = unsafe { (driver.device_attribute)(&mut value, which, device) };
            driver.check(error, "cuDeviceGetAttribute").map(|()| value)
        };
        let arch = (attribute(code::ATTRIBUTE_MAJOR)?, attribute(code::ATTRIBUTE_MINOR)?);
        let streams = Streams::new(driver)?;
        let memory = Memory::new(driver, device, streams.get(Lane::Compute))?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(Arc::new(Gpu {
            driver,
            context,
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            arch,
            processors: attribute(code::ATTRIBUTE_PROCESSORS)? as usize,
            compiler: Compiler::new(driver, context, format!("sm_{}{}", arch.0, arch.1)),
            memory,
            streams,
            staging: [Mutex::new(Staging::new(driver)), Mutex::new(Staging::new(driver))],
            products: OnceLock::new(),
            tf32: AtomicBool::new(false),
            captures: AtomicBool::new(false),
        }))
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its compute capability.
    pub fn arch(&self) -> (i32, i32) {
        self.arch
    }

    /// Its multiprocessors.
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Makes the device's context current on this thread, which every driver call needs.
    pub(crate) fn enter(&self) -> Result<()> {
        // SAFETY: a context that is never released.
        self.driver.check(unsafe { (self.driver.context_set)(self.context) }, "cuCtxSetCurrent")
    }

    /// Lets products of float32 use the faster matrix units, which keep ten bits of each factor. Off at first; launches
    /// from now on follow it.
    pub fn set_tf32(&self, on: bool) {
        self.tf32.store(on, Ordering::Relaxed);
    }

    pub(crate) fn tf32(&self) -> bool {
        self.tf32.load(Ordering::Relaxed)
    }

    /// The kernel, ready to be launched. Returns at once: texts are compiled in the background.
    pub fn compile(self: &Arc<Gpu>, kernel: &Kernel) -> Arc<LaunchableKernel> {
        Arc::new(LaunchableKernel::new(self.clone(), kernel))
    }

    /// Lets the driver load its assembler in the background: the first link of a process takes longer than others.
    pub fn warm_up(&self) {
        self.compiler.prepare_links(crate::text::first_ptx());
    }

    pub(crate) fn products(&self) -> Result<&Products> {
        let open = || {
            let blas = Blas::open(self.driver.release());
            let blas = blas.map_err(|text| Error::new(ErrorKind::Runtime, format!("no matrix products: {text}")))?;
            Products::new(self, blas)
        };
        self.products.get_or_init(open).as_ref().map_err(Error::clone)
    }

    pub(crate) fn fourier(&self) -> Result<&'static Fourier> {
        let found = Fourier::get(self.driver.release());
        found.map_err(|text| Error::new(ErrorKind::Runtime, format!("no Fourier transforms: {text}")))
    }

    /// Whether the device does a routine over these inputs; the host does what it does not.
    pub fn runs(&self, routine: Routine, given: &[Given]) -> bool {
        crate::family::kernel(&routine).is_some_and(|kernel| kernel.runs(given) && kernel.is_available(self))
    }

    /// Launches a kernel on the compute stream. Its one argument is a struct of these words.
    ///
    /// # Safety
    /// The kernel's source must take at least these words, and the addresses among them must reach what the kernel reads and writes
    /// until the stream has completed it.
    pub(crate) unsafe fn launch_kernel(&self, unit: &Unit, grid: usize, block: usize, words: &[u64]) -> Result<()> {
        if grid == 0 {
            return Ok(());
        }
        let (function, graph) = self.compiler.function(unit)?;
        let stream = self.streams.get(Lane::Compute);
        let command = Command { function, grid: grid as u32, block: block as u32, words };
        let captured = self.captures.load(Ordering::Relaxed);
        if !captured {
            let mut graph = graph.lock().unwrap_or_else(|e| e.into_inner());
            // SAFETY: the caller promises the words and the addresses.
            if unsafe { graph.try_launch(self.driver, command, stream) } {
                return Ok(());
            }
        }
        let mut params: [*mut c_void; 1] = [words.as_ptr().cast_mut().cast()];
        // SAFETY: the caller promises the words and the addresses; the driver copies the words before it returns.
        let error = unsafe {
            let (none, words) = (std::ptr::null_mut(), params.as_mut_ptr());
            (self.driver.launch_kernel)(function, grid as u32, 1, 1, block as u32, 1, 1, 0, stream, words, none)
        };
        self.driver.check(error, "cuLaunchKernel")
    }

    /// Thread blocks for `count` elements, `each` a block: all of them, but for what a loop over the grid takes.
    pub(crate) fn grid(count: usize, each: usize) -> usize {
        count.div_ceil(each).min(1 << 20)
    }

    /// Bytes of device memory, to be used by what is launched from now on. They may be bytes that an earlier launch still
    /// works on: another lane must wait for the compute lane, as of now, before it touches them.
    pub fn alloc(&self, bytes: usize) -> Result<u64> {
        self.enter()?;
        self.memory.alloc(bytes)
    }

    /// Frees bytes. Earlier launches may still use them; if another lane does, the compute lane must already wait for it.
    pub fn free(&self, address: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        self.memory.free(address, bytes)
    }

    /// The same, with what other lanes have to know.
    pub(crate) fn take_block(&self, bytes: usize) -> Result<Taken> {
        self.enter()?;
        self.memory.take(bytes)
    }

    /// Gives back a block; the compute lane may still use it up to a ticket.
    pub(crate) fn give_block(&self, address: u64, bytes: usize, since: u64) -> Result<()> {
        self.enter()?;
        self.memory.give(address, bytes, since)
    }

    /// Copies few bytes to the device on the compute lane. Returns when the host's bytes may be changed.
    ///
    /// # Safety
    /// Both addresses must have as many bytes.
    pub(crate) unsafe fn copy_in_small(&self, from: *const u8, to: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller's promise is this one; the driver takes so few bytes along with the command.
        self.driver.check(unsafe { (self.driver.copy_in)(to, from.cast(), bytes, stream) }, "cuMemcpyHtoDAsync")
    }

    /// Copies few bytes to pinned memory on the compute lane.
    ///
    /// # Safety
    /// Both addresses must have as many bytes; those of the host are pinned, and nobody touches them until the lane has passed.
    pub(crate) unsafe fn copy_out_small(&self, from: u64, to: *mut u8, bytes: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller's promise is this one.
        self.driver.check(unsafe { (self.driver.copy_out)(to.cast(), from, bytes, stream) }, "cuMemcpyDtoHAsync")
    }

    /// What there is of memory, and what of it is used.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.enter()?;
        self.memory.info()
    }

    /// Sets how many bytes may be used at once.
    pub fn set_memory_limit(&self, bytes: usize) {
        self.memory.set_limit(bytes);
    }

    /// Gives cached memory back to the driver.
    pub fn empty_cache(&self) -> Result<()> {
        self.enter()?;
        self.memory.empty_cache()
    }

    /// Marks the end of what was enqueued on a lane so far.
    pub fn record(&self, lane: Lane) -> Result<Mark> {
        self.enter()?;
        self.streams.record(lane)
    }

    /// Marks the end of what was enqueued on the compute lane, `last` included: see [`Streams::record_after`].
    pub(crate) fn record_after(&self, last: impl FnOnce(Option<MarkWord>) -> bool) -> Result<Mark> {
        self.enter()?;
        self.streams.record_after(Lane::Compute, last)
    }

    /// Makes a lane wait, on the device, until another has passed a mark.
    pub fn wait(&self, lane: Lane, other: Lane, mark: Mark) -> Result<()> {
        self.enter()?;
        self.streams.wait(lane, other, mark)
    }

    /// The last mark that a lane has passed. Returns the error of a device that faulted.
    pub fn passed(&self, lane: Lane) -> Result<Mark> {
        if let Some(mark) = self.streams.poll(lane) {
            return Ok(mark);
        }
        self.enter()?;
        self.streams.passed(lane)
    }

    /// Blocks this thread until a lane has passed a mark.
    pub fn block(&self, lane: Lane, mark: Mark) -> Result<()> {
        self.enter()?;
        self.streams.block(lane, mark)
    }

    /// Blocks this thread until all lanes are idle.
    pub fn synchronize(&self) -> Result<()> {
        for lane in Lane::ALL {
            let mark = self.record(lane)?;
            self.block(lane, mark)?;
        }
        Ok(())
    }

    /// Blocks this thread until the whole device is idle, streams of other libraries included. The thread keeps the context it had.
    pub fn synchronize_all(&self) -> Result<()> {
        let driver = self.driver;
        let mut popped = std::ptr::null_mut();
        // A context cannot be synchronized while one of its streams is captured.
        let _still = self.streams.block_queries();
        // SAFETY: a context that is never released, taken back from where it was put.
        unsafe {
            driver.check((driver.context_push)(self.context), "cuCtxPushCurrent")?;
            let done = driver.check((driver.context_synchronize)(), "cuCtxSynchronize");
            driver.check((driver.context_pop)(&mut popped), "cuCtxPopCurrent").and(done)
        }
    }

    /// Copies host bytes to the device, on the lane for that. Returns when the host's bytes may be changed.
    ///
    /// # Safety
    /// The device address must have room for all of them, and nobody may touch that room until the copy is done.
    pub unsafe fn copy_in(&self, from: &[u8], to: u64, team: &dyn Team) -> Result<()> {
        self.enter()?;
        let mut staging = self.staging[0].lock().unwrap_or_else(|e| e.into_inner());
        staging.copy_in(self.streams.get(Lane::In), from, to, team)
    }

    /// Copies bytes of the device to the host, on the lane for that. Returns when they are there.
    ///
    /// # Safety
    /// The device address must have as many bytes, which nobody writes meanwhile.
    pub unsafe fn copy_out(&self, from: u64, to: &mut [u8], team: &dyn Team) -> Result<()> {
        self.enter()?;
        let mut staging = self.staging[1].lock().unwrap_or_else(|e| e.into_inner());
        staging.copy_out(self.streams.get(Lane::Out), from, to, team)
    }

    /// Copies bytes within the device, on the compute lane.
    ///
    /// # Safety
    /// Both addresses must have as many bytes, which do not overlap.
    pub unsafe fn copy_within(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller's promise is this one.
        self.driver.check(unsafe { (self.driver.copy_within)(to, from, bytes, stream) }, "cuMemcpyDtoDAsync")
    }

    /// Sets bytes of the device, on the compute lane.
    ///
    /// # Safety
    /// The address must have as many bytes.
    pub unsafe fn set_bytes(&self, to: u64, byte: u8, count: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller's promise is this one.
        self.driver.check(unsafe { (self.driver.set_bytes)(to, byte, count, stream) }, "cuMemsetD8Async")
    }

    /// What the bytes of a status say.
    pub fn read_status(bytes: &[u8; Gpu::STATUS_BYTES]) -> Option<Raised> {
        let word = |n: usize| bytes[8 * n..8 * n + 8].iter().rev().fold(0u64, |word, byte| word << 8 | *byte as u64);
        (word(0) != 0).then(|| Raised { index: word(1) as i64, place: word(2) })
    }

    /// Ends what runs in the background: to be called before the process ends. A launch still compiles what it needs.
    pub fn stop(&self) {
        self.compiler.stop();
    }

    /// How often kernels were compiled, and found.
    pub fn counts(&self) -> Counts {
        self.compiler.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let mut bytes = [0u8; 32];
        assert_eq!(Gpu::read_status(&bytes), None);
        bytes[0] = 1;
        bytes[8..16].copy_from_slice(&(-9i64).to_le_bytes());
        bytes[16] = 4;
        assert_eq!(Gpu::read_status(&bytes), Some(Raised { index: -9, place: 4 }));
    }

    #[test]
    fn without_a_device_opening_says_so() {
        if Gpu::count() == 0 {
            assert!(Gpu::open(0).is_err());
        }
    }
}
