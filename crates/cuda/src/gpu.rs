//! A device: context, streams, memory, compiler.

use crate::compile::{Compiler, Counts, Source, Unit};
use crate::kernel_graph::Command;
use crate::memory::{Memory, MemoryInfo, Taken};
use crate::run::{LaunchableKernel, Products};
use crate::staging::Staging;
use crate::streams::{Mark, MarkWord, Streams};
use crate::sys::{Blas, Context, Driver, Fourier, driver_code as code};
use forerun_base::{Error, ErrorKind, Result, Team};
use forerun_ops::user_kernel::KernelSource;
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

// SAFETY: any thread that makes a context current may use its handles, and every call does so.
unsafe impl Send for Gpu {}
// SAFETY: as above; mutable state is behind locks and atomics.
unsafe impl Sync for Gpu {}

/// The arguments of one launch: device addresses of first elements, and the scalars as bits.
#[derive(Clone, Copy, Debug)]
pub struct DeviceIo<'a> {
    /// The first element of each input, in kernel order.
    pub inputs: &'a [u64],
    /// The first element of each output, in kernel order.
    pub outputs: &'a [u64],
    /// The scalars as bits of the dtype that the kernel declares.
    pub scalars: &'a [u64],
    /// The address of a status of [`Gpu::STATUS_BYTES`] zero bytes, which a kernel that may fail sets; 0 if nobody
    /// reads it.
    pub status: u64,
}

/// The contents of a raised status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The invalid index; if there are several, the first one.
    pub index: i64,
    /// Its position among the indices.
    pub place: u64,
}

impl Raised {
    /// The number of the index array with the invalid index, from the high bits of the position.
    pub(crate) fn array(&self) -> usize {
        (self.place >> 48) as usize
    }
}

impl Gpu {
    /// Bytes of a status: flag, index, position, and a lock word for kernels.
    pub const STATUS_BYTES: usize = 32;

    /// The number of devices; 0 without a driver.
    pub fn count() -> usize {
        let Ok(driver) = Driver::get() else { return 0 };
        let mut count = 0;
        // SAFETY: the pointer is to a local number, the only memory that the call writes.
        let error = unsafe { (driver.device_count)(&mut count) };
        if error == code::SUCCESS { count.max(0) as usize } else { 0 }
    }

    /// Opens a device. This takes about 0.1 s.
    pub fn open(ordinal: usize) -> Result<Arc<Gpu>> {
        let driver = Driver::get()?;
        let (mut device, mut context) = (0, std::ptr::null_mut());
        let mut name = [0u8; 128];
        // SAFETY: the pointers are to local variables of the types that the calls write.
        unsafe {
            let error = (driver.device_get)(&mut device, ordinal as i32);
            if error == code::NO_DEVICE || error == 101 {
                return Err(Error::new(ErrorKind::Runtime, format!("no device gpu({ordinal})")));
            }
            driver.check(error, "cuDeviceGet")?;
            driver.check((driver.device_name)(name.as_mut_ptr().cast(), 128, device), "cuDeviceGetName")?;
            driver.check((driver.context_retain)(&mut context, device), "cuDevicePrimaryCtxRetain")?;
            driver.check((driver.context_set)(context), "cuCtxSetCurrent")?;
        }
        let attribute = |which: i32| {
            let mut value = 0;
            // SAFETY: the pointer is to a local number, the only memory that the call writes.
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

    /// The compute capability.
    pub fn arch(&self) -> (i32, i32) {
        self.arch
    }

    /// The number of multiprocessors.
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Makes the device's context current on this thread, which every driver call needs.
    pub(crate) fn enter(&self) -> Result<()> {
        // SAFETY: the context is never released.
        self.driver.check(unsafe { (self.driver.context_set)(self.context) }, "cuCtxSetCurrent")
    }

    /// Enables TF32 tensor cores for float32 products, which keep ten mantissa bits of each factor. Off by default;
    /// applies to later launches.
    pub fn set_tf32(&self, on: bool) {
        self.tf32.store(on, Ordering::Relaxed);
    }

    pub(crate) fn tf32(&self) -> bool {
        self.tf32.load(Ordering::Relaxed)
    }

    /// Creates a launchable kernel. Returns at once: sources are compiled in the background.
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
            let blas =
                blas.map_err(|text| Error::new(ErrorKind::Runtime, format!("cuBLASLt is not available: {text}")))?;
            Products::new(self, blas)
        };
        self.products.get_or_init(open).as_ref().map_err(Error::clone)
    }

    pub(crate) fn fourier(&self) -> Result<&'static Fourier> {
        let found = Fourier::get(self.driver.release());
        found.map_err(|text| Error::new(ErrorKind::Runtime, format!("cuFFT is not available: {text}")))
    }

    /// Whether the device runs a routine with these inputs; otherwise the host does.
    pub fn runs(&self, routine: Routine, given: &[Given]) -> bool {
        crate::family::kernel(&routine).is_some_and(|kernel| kernel.runs(given) && kernel.is_available(self))
    }

    /// Launches a kernel on the compute stream. Its argument is a struct of these words.
    ///
    /// # Safety
    /// The kernel must take at least these words, and the addresses among them must be valid for all accesses of the
    /// kernel until the stream has completed it.
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
            // SAFETY: the caller guarantees the words and the addresses.
            if unsafe { graph.try_launch(self.driver, command, stream) } {
                return Ok(());
            }
        }
        let mut params: [*mut c_void; 1] = [words.as_ptr().cast_mut().cast()];
        // SAFETY: the caller guarantees the words and the addresses; the driver copies the words before it returns.
        let error = unsafe {
            let (none, words) = (std::ptr::null_mut(), params.as_mut_ptr());
            (self.driver.launch_kernel)(function, grid as u32, 1, 1, block as u32, 1, 1, 0, stream, words, none)
        };
        self.driver.check(error, "cuLaunchKernel")
    }

    /// Launches a user's kernel on the compute stream, with one parameter per word. A parameter of fewer bytes takes the
    /// first ones of its word.
    ///
    /// # Safety
    /// The kernel must take parameters of these sizes, and the addresses among them must be valid for all accesses of the
    /// kernel until the stream has completed it.
    pub(crate) unsafe fn launch_user_kernel(
        &self,
        unit: &Unit,
        [gx, gy, gz]: [u32; 3],
        [bx, by, bz]: [u32; 3],
        shared: u32,
        words: &[u64],
    ) -> Result<()> {
        const { assert!(cfg!(target_endian = "little")) };
        let (function, _) = self.compiler.function(unit)?;
        let stream = self.streams.get(Lane::Compute);
        let word = |word: &u64| std::ptr::from_ref(word).cast_mut().cast::<c_void>();
        let mut params: Vec<*mut c_void> = words.iter().map(word).collect();
        // SAFETY: the caller guarantees the words and the addresses; the driver copies the words before it returns.
        let error = unsafe {
            let (params, none) = (params.as_mut_ptr(), std::ptr::null_mut());
            (self.driver.launch_kernel)(function, gx, gy, gz, bx, by, bz, shared, stream, params, none)
        };
        self.driver.check(error, "cuLaunchKernel")
    }

    /// Compiles a user's source now, and looks its function up if it names one. The error is the compiler's log.
    pub(crate) fn check_user_kernel(&self, source: &KernelSource) -> Result<()> {
        self.enter()?;
        let own = Source::of_user(source);
        if source.function.is_empty() {
            return self.compiler.check(&own);
        }
        self.compiler.function(&self.compiler.unit(own)).map(drop)
    }

    /// Thread blocks for `count` elements, `each` per block. The number is limited; kernels loop over the grid.
    pub(crate) fn grid(count: usize, each: usize) -> usize {
        count.div_ceil(each).min(1 << 20)
    }

    /// Allocates device memory for launches from now on. An earlier launch may still use the bytes, so another lane
    /// must wait for the current end of the compute lane before it accesses them.
    pub fn alloc(&self, bytes: usize) -> Result<u64> {
        self.enter()?;
        self.memory.alloc(bytes)
    }

    /// Frees memory. Earlier launches may still use it; if another lane does, the compute lane must already wait for
    /// it.
    pub fn free(&self, address: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        self.memory.free(address, bytes)
    }

    /// Allocates a block, with the information that other lanes need.
    pub(crate) fn take_block(&self, bytes: usize) -> Result<Taken> {
        self.enter()?;
        self.memory.take(bytes)
    }

    /// Frees a block that the compute lane may still use up to ticket `since`.
    pub(crate) fn give_block(&self, address: u64, bytes: usize, since: u64) -> Result<()> {
        self.enter()?;
        self.memory.give(address, bytes, since)
    }

    /// Copies a few bytes to the device on the compute lane. Returns when the host bytes may be changed.
    ///
    /// # Safety
    /// Both addresses must be valid for this many bytes.
    pub(crate) unsafe fn copy_in_small(&self, from: *const u8, to: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller upholds the same contract; the driver copies so few bytes into the command.
        self.driver.check(unsafe { (self.driver.copy_in)(to, from.cast(), bytes, stream) }, "cuMemcpyHtoDAsync")
    }

    /// Copies a few bytes to pinned memory on the compute lane.
    ///
    /// # Safety
    /// Both addresses must be valid for this many bytes. The host memory must be pinned, and nobody may access it until
    /// the lane has passed.
    pub(crate) unsafe fn copy_out_small(&self, from: u64, to: *mut u8, bytes: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller upholds the same contract.
        self.driver.check(unsafe { (self.driver.copy_out)(to.cast(), from, bytes, stream) }, "cuMemcpyDtoHAsync")
    }

    /// Statistics of device memory.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.enter()?;
        self.memory.info()
    }

    /// Sets the maximum number of bytes in use.
    pub fn set_memory_limit(&self, bytes: usize) {
        self.memory.set_limit(bytes);
    }

    /// Returns cached memory to the driver.
    pub fn empty_cache(&self) -> Result<()> {
        self.enter()?;
        self.memory.empty_cache()
    }

    /// Records a mark after all work enqueued on a lane so far.
    pub fn record(&self, lane: Lane) -> Result<Mark> {
        self.enter()?;
        self.streams.record(lane)
    }

    /// Records a mark after all work enqueued on the compute lane, including that of `last`: see
    /// [`Streams::record_after`].
    pub(crate) fn record_after(&self, last: impl FnOnce(Option<MarkWord>) -> bool) -> Result<Mark> {
        self.enter()?;
        self.streams.record_after(Lane::Compute, last)
    }

    /// Makes a lane wait, on the device, until another has passed a mark.
    pub fn wait(&self, lane: Lane, other: Lane, mark: Mark) -> Result<()> {
        self.enter()?;
        self.streams.wait(lane, other, mark)
    }

    /// The last mark that a lane has passed, or the error of a device that faulted.
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

    /// Blocks this thread until the whole device is idle, including streams of other libraries. Restores the thread's
    /// current context.
    pub fn synchronize_all(&self) -> Result<()> {
        let driver = self.driver;
        let mut popped = std::ptr::null_mut();
        // A context cannot be synchronized while one of its streams is being captured.
        let _still = self.streams.block_queries();
        // SAFETY: the context is never released, and it is popped after it was pushed.
        unsafe {
            driver.check((driver.context_push)(self.context), "cuCtxPushCurrent")?;
            let done = driver.check((driver.context_synchronize)(), "cuCtxSynchronize");
            driver.check((driver.context_pop)(&mut popped), "cuCtxPopCurrent").and(done)
        }
    }

    /// Copies host bytes to the device on the copy-in lane. Returns when the host bytes may be changed.
    ///
    /// # Safety
    /// The device address must be valid for all bytes, and nobody may access them until the copy is done.
    pub unsafe fn copy_in(&self, from: &[u8], to: u64, team: &dyn Team) -> Result<()> {
        self.enter()?;
        let mut staging = self.staging[0].lock().unwrap_or_else(|e| e.into_inner());
        staging.copy_in(self.streams.get(Lane::In), from, to, team)
    }

    /// Copies device bytes to the host on the copy-out lane. Returns when the copy is complete.
    ///
    /// # Safety
    /// The device address must be valid for this many bytes, which nobody writes meanwhile.
    pub unsafe fn copy_out(&self, from: u64, to: &mut [u8], team: &dyn Team) -> Result<()> {
        self.enter()?;
        let mut staging = self.staging[1].lock().unwrap_or_else(|e| e.into_inner());
        staging.copy_out(self.streams.get(Lane::Out), from, to, team)
    }

    /// Copies bytes within the device on the compute lane.
    ///
    /// # Safety
    /// Both addresses must be valid for this many bytes, and the ranges must not overlap.
    pub unsafe fn copy_within(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller upholds the same contract.
        self.driver.check(unsafe { (self.driver.copy_within)(to, from, bytes, stream) }, "cuMemcpyDtoDAsync")
    }

    /// Sets device bytes on the compute lane.
    ///
    /// # Safety
    /// The address must be valid for this many bytes.
    pub unsafe fn set_bytes(&self, to: u64, byte: u8, count: usize) -> Result<()> {
        self.enter()?;
        let stream = self.streams.get(Lane::Compute);
        // SAFETY: the caller upholds the same contract.
        self.driver.check(unsafe { (self.driver.set_bytes)(to, byte, count, stream) }, "cuMemsetD8Async")
    }

    /// Decodes a status; `None` if it was not raised.
    pub fn read_status(bytes: &[u8; Gpu::STATUS_BYTES]) -> Option<Raised> {
        let word = |n: usize| bytes[8 * n..8 * n + 8].iter().rev().fold(0u64, |word, byte| word << 8 | *byte as u64);
        (word(0) != 0).then(|| Raised { index: word(1) as i64, place: word(2) })
    }

    /// Stops compiling in the background. Call it on the thread that is about to exit the process. Waits for compilations
    /// in flight, for at most ten seconds for each of the two compilers. Kernels that are compiled or in the disk cache
    /// can still be launched by any thread. This thread still compiles the kernels that its launches need, until the exit
    /// handlers run. A launch by another thread that needs a new kernel fails.
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
