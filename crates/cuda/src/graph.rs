//! CUDA graphs: a sequence of launches, captured once and replayed in one call; the arguments of its kernels can be
//! changed between replays.
//!
//! Invariant: nothing is allocated from the driver during a capture. The caller has run the same sequence before, so
//! its kernels are compiled and its memory is cached.

use crate::gpu::Gpu;
use crate::sys::{GraphExec, GraphHandle, GraphNode, KernelParams, UpdateOutcome, driver_code as code};
use forerun_base::{Error, ErrorKind, Result};
use forerun_plan::Lane;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A captured sequence, ready to be launched.
pub struct Graph {
    gpu: Arc<Gpu>,
    graph: GraphHandle,
    exec: GraphExec,
    /// The kernel nodes, in launch order.
    kernels: Vec<GraphNode>,
}

// SAFETY: any thread may use the handles of a graph, one at a time; changes require `&mut`.
unsafe impl Send for Graph {}

/// A captured sequence that is not yet instantiated.
pub(crate) struct Captured {
    gpu: Arc<Gpu>,
    graph: GraphHandle,
}

impl Captured {
    /// Instantiates the graph.
    pub(crate) fn instantiate(self) -> Result<Graph> {
        let gpu = self.gpu.clone();
        let mut made = Graph { gpu, graph: self.graph, exec: std::ptr::null_mut(), kernels: Vec::new() };
        std::mem::forget(self);
        let driver = made.gpu.driver;
        // SAFETY: the pointer is to a local handle, the only memory that the call writes.
        let error = unsafe { (driver.graph_instantiate)(&mut made.exec, made.graph, 0) };
        driver.check(error, "cuGraphInstantiate")?;
        Ok(made)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle.
        unsafe { (self.gpu.driver.graph_destroy)(self.graph) };
    }
}

impl Graph {
    /// Captures and instantiates the work that `launches` enqueues on the compute lane. None of it runs.
    pub fn capture(gpu: &Arc<Gpu>, launches: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let mut made = Graph::record(gpu, launches)?.instantiate()?;
        made.kernels = made.find_kernels()?;
        Ok(made)
    }

    /// Updates the arguments from another capture of the same sequence; returns false if its topology differs.
    pub(crate) fn update(&mut self, captured: &Captured) -> bool {
        let mut outcome = UpdateOutcome { result: 0, node: std::ptr::null_mut(), from: std::ptr::null_mut() };
        // SAFETY: handles of this device; the call writes one result.
        unsafe { (self.gpu.driver.graph_update)(self.exec, captured.graph, &mut outcome) == code::SUCCESS }
    }

    /// Captures the work that `launches` enqueues on the compute lane. None of it runs.
    pub(crate) fn record(gpu: &Arc<Gpu>, launches: impl FnOnce() -> Result<()>) -> Result<Captured> {
        gpu.enter()?;
        let _still = gpu.streams.block_queries();
        let (driver, stream) = (gpu.driver, gpu.streams.get(Lane::Compute));
        // SAFETY: a stream of this device; the capture is ended below on every path.
        driver.check(unsafe { (driver.capture_begin)(stream, code::CAPTURE_RELAXED) }, "cuStreamBeginCapture")?;
        gpu.captures.store(true, Ordering::Relaxed);
        // A panic must not leave the stream in capture mode.
        let given = catch_unwind(AssertUnwindSafe(launches))
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Runtime, "a launch panicked")));
        gpu.captures.store(false, Ordering::Relaxed);
        let mut graph = std::ptr::null_mut();
        // SAFETY: the pointer is to a local handle, the only memory that the call writes.
        let ended = driver.check(unsafe { (driver.capture_end)(stream, &mut graph) }, "cuStreamEndCapture");
        if let Err(error) = given.and(ended) {
            if !graph.is_null() {
                // SAFETY: this function owns the graph.
                unsafe { (driver.graph_destroy)(graph) };
            }
            return Err(error);
        }
        Ok(Captured { gpu: gpu.clone(), graph })
    }

    fn find_kernels(&self) -> Result<Vec<GraphNode>> {
        let driver = self.gpu.driver;
        let mut count = 0;
        // SAFETY: the first call gets the number of nodes, the second writes as many nodes.
        let nodes = unsafe {
            driver.check((driver.graph_nodes)(self.graph, std::ptr::null_mut(), &mut count), "cuGraphGetNodes")?;
            let mut nodes = vec![std::ptr::null_mut(); count];
            driver.check((driver.graph_nodes)(self.graph, nodes.as_mut_ptr(), &mut count), "cuGraphGetNodes")?;
            nodes
        };
        let mut kernels = Vec::with_capacity(count);
        for node in nodes {
            let mut kind = -1;
            // SAFETY: the pointer is to a local number, the only memory that the call writes.
            driver.check(unsafe { (driver.graph_node_type)(node, &mut kind) }, "cuGraphNodeGetType")?;
            if kind == code::NODE_KERNEL {
                kernels.push(node);
            }
        }
        Ok(kernels)
    }

    /// The number of kernels.
    pub fn kernels(&self) -> usize {
        self.kernels.len()
    }

    /// Changes words of a kernel's argument for later replays: `(index, word)` pairs; other words keep their captured
    /// values. Only kernels of this crate have an argument of words.
    ///
    /// # Safety
    /// The kernel must be one of this crate, its argument must have these words, and the addresses among them must be
    /// valid as for its launch.
    pub unsafe fn set_words(&mut self, kernel: usize, count: usize, words: &[(usize, u64)]) -> Result<()> {
        let driver = self.gpu.driver;
        let node = *self.kernels.get(kernel).ok_or_else(|| {
            Error::new(ErrorKind::Index, format!("a graph of {} kernels has no kernel {kernel}", self.kernels.len()))
        })?;
        // SAFETY: the parameters are those of a kernel with one argument of `count` words, as the caller guarantees.
        unsafe {
            let mut params = std::mem::MaybeUninit::<KernelParams>::zeroed();
            driver.check((driver.graph_params)(node, params.as_mut_ptr()), "cuGraphKernelNodeGetParams")?;
            let mut params = params.assume_init();
            let old: *const u64 = (*params.params).cast();
            let mut argument: Vec<u64> = std::slice::from_raw_parts(old, count).to_vec();
            for &(place, word) in words {
                argument[place] = word;
            }
            let mut address: *mut c_void = argument.as_mut_ptr().cast();
            params.params = &mut address;
            driver.check((driver.graph_set_params)(self.exec, node, &params), "cuGraphExecKernelNodeSetParams")
        }
    }

    /// Launches the graph on the compute lane.
    ///
    /// # Safety
    /// As for each captured launch.
    pub unsafe fn replay(&self) -> Result<()> {
        self.gpu.enter()?;
        let stream = self.gpu.streams.get(Lane::Compute);
        // SAFETY: the caller upholds the same contract.
        self.gpu.driver.check(unsafe { (self.gpu.driver.graph_launch)(self.exec, stream) }, "cuGraphLaunch")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this value owns the handles; the driver keeps replays that are still running.
        unsafe {
            if !self.exec.is_null() {
                (self.gpu.driver.graph_exec_destroy)(self.exec);
            }
            (self.gpu.driver.graph_destroy)(self.graph);
        }
    }
}
