//! One-kernel graphs: a kernel that is often launched outside of a larger graph gets its own graph. Updating the node's
//! argument and replaying the graph is faster on the host than `cuLaunchKernel` (`cargo xtask bench cuda`).

use crate::sys::{Driver, Function, GraphExec, GraphHandle, GraphNode, KernelParams, Stream};
use forerun_base::{Error, ErrorKind, Result};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of single launches after which a kernel gets a graph.
const OFTEN: u32 = 16;
/// The maximum number of one-kernel graphs per process: each takes device memory.
const MOST_GRAPHS: usize = 128;

/// The number of one-kernel graphs in this process.
static GRAPHS: AtomicUsize = AtomicUsize::new(0);

/// One launch: the kernel, its grid and the words of its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command<'a> {
    pub(crate) function: Function,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) words: &'a [u64],
}

/// Counts the single launches of a kernel, and holds its graph once there were enough.
#[derive(Debug, Default)]
pub(crate) struct KernelGraph {
    launches: u32,
    graph: Option<OneKernelGraph>,
}

impl KernelGraph {
    /// Launches the kernel through its graph; returns false if it has none, or if the driver fails.
    ///
    /// # Safety
    /// As for [`crate::gpu::Gpu::launch_kernel`].
    pub(crate) unsafe fn try_launch(&mut self, driver: &'static Driver, command: Command<'_>, stream: Stream) -> bool {
        if self.launches < OFTEN {
            self.launches += 1;
            if self.launches == OFTEN {
                self.graph = OneKernelGraph::new(driver, command).ok();
            }
        }
        let Some(graph) = &self.graph else { return false };
        // SAFETY: the caller guarantees the words and the addresses.
        let launched = unsafe { graph.replay(command, stream) }.is_ok();
        if !launched {
            self.graph = None;
        }
        launched
    }
}

/// A graph of one kernel.
#[derive(Debug)]
struct OneKernelGraph {
    driver: &'static Driver,
    graph: GraphHandle,
    node: GraphNode,
    exec: GraphExec,
}

// SAFETY: any thread may use the handles of a graph, one at a time.
unsafe impl Send for OneKernelGraph {}

impl OneKernelGraph {
    fn new(driver: &'static Driver, command: Command<'_>) -> Result<OneKernelGraph> {
        let none = std::ptr::null_mut();
        // Counted before it exists, because `drop` runs on every path and decrements the count.
        let before = GRAPHS.fetch_add(1, Ordering::Relaxed);
        let mut made = OneKernelGraph { driver, graph: none, node: none, exec: none };
        if before >= MOST_GRAPHS {
            return Err(Error::new(ErrorKind::Runtime, "the limit of one-kernel graphs is reached"));
        }
        with_params(command, |params| {
            // SAFETY: each call writes one handle to a field of `made`; the driver copies the argument, which outlives
            // the calls.
            unsafe {
                driver.check((driver.graph_create)(&mut made.graph, 0), "cuGraphCreate")?;
                let added = (driver.graph_add_kernel)(&mut made.node, made.graph, std::ptr::null(), 0, params);
                driver.check(added, "cuGraphAddKernelNode")?;
                driver.check((driver.graph_instantiate)(&mut made.exec, made.graph, 0), "cuGraphInstantiate")
            }
        })?;
        Ok(made)
    }

    /// # Safety
    /// As for [`KernelGraph::try_launch`].
    unsafe fn replay(&self, command: Command<'_>, stream: Stream) -> Result<()> {
        let driver = self.driver;
        with_params(command, |params| {
            // SAFETY: handles of a live graph; replays in flight keep their argument.
            let set = unsafe { (driver.graph_set_params)(self.exec, self.node, params) };
            driver.check(set, "cuGraphExecKernelNodeSetParams")
        })?;
        // SAFETY: handles of a live graph; the caller of the launch guarantees the addresses in the argument.
        driver.check(unsafe { (driver.graph_launch)(self.exec, stream) }, "cuGraphLaunch")
    }
}

impl Drop for OneKernelGraph {
    fn drop(&mut self) {
        GRAPHS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: this value owns the handles; the driver keeps replays that are still running.
        unsafe {
            if !self.exec.is_null() {
                (self.driver.graph_exec_destroy)(self.exec);
            }
            if !self.graph.is_null() {
                (self.driver.graph_destroy)(self.graph);
            }
        }
    }
}

/// Calls `f` with the parameters of a launch, which are valid during the call.
fn with_params<T>(command: Command<'_>, f: impl FnOnce(&KernelParams) -> T) -> T {
    let mut address: *mut c_void = command.words.as_ptr().cast_mut().cast();
    let none = std::ptr::null_mut();
    f(&KernelParams {
        function: command.function,
        grid: [command.grid, 1, 1],
        block: [command.block, 1, 1],
        shared: 0,
        params: &mut address,
        extra: none,
        kernel: none.cast(),
        context: none.cast(),
    })
}
