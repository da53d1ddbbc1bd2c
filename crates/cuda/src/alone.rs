//! A kernel that is often told outside of a larger graph, as a graph of its own: to change the node's argument and launch the graph takes
//! the host less time than a launch (`cargo xtask bench cuda`).

use crate::sys::{Driver, Function, GraphExec, GraphHandle, GraphNode, KernelParams, Stream};
use forerun_base::{Error, ErrorKind, Result};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Launches alone after which a kernel gets a graph.
const OFTEN: u32 = 16;
/// Kernels of a process that have one, at the most: each takes memory of its device.
const MOST: usize = 128;

/// How many have one.
static GRAPHS: AtomicUsize = AtomicUsize::new(0);

/// One launch: the kernel, its threads and the words of its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command<'a> {
    pub(crate) function: Function,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) words: &'a [u64],
}

/// What is known of a kernel's launches alone.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    launches: u32,
    graph: Option<OneKernel>,
}

impl Alone {
    /// Launches the kernel by its graph; false if it has none, or the graph does not go.
    pub(crate) fn launch(&mut self, driver: &'static Driver, command: Command<'_>, stream: Stream) -> bool {
        if self.launches < OFTEN {
            self.launches += 1;
            if self.launches == OFTEN {
                self.graph = OneKernel::new(driver, command).ok();
            }
        }
        let Some(graph) = &self.graph else { return false };
        let launched = graph.launch(command, stream).is_ok();
        if !launched {
            self.graph = None;
        }
        launched
    }
}

/// A graph of one kernel.
#[derive(Debug)]
struct OneKernel {
    driver: &'static Driver,
    graph: GraphHandle,
    node: GraphNode,
    exec: GraphExec,
}

// SAFETY: handles of a graph may be used by any thread, one at a time.
unsafe impl Send for OneKernel {}

impl OneKernel {
    fn new(driver: &'static Driver, command: Command<'_>) -> Result<OneKernel> {
        let none = std::ptr::null_mut();
        // Counted from here on, since it is dropped whatever becomes of it.
        let before = GRAPHS.fetch_add(1, Ordering::Relaxed);
        let mut made = OneKernel { driver, graph: none, node: none, exec: none };
        if before >= MOST {
            return Err(Error::new(ErrorKind::Runtime, "enough kernels have a graph"));
        }
        with_params(command, |params| {
            // SAFETY: each writes one handle; the driver copies the argument.
            unsafe {
                driver.check((driver.graph_create)(&mut made.graph, 0), "cuGraphCreate")?;
                let added = (driver.graph_add_kernel)(&mut made.node, made.graph, std::ptr::null(), 0, params);
                driver.check(added, "cuGraphAddKernelNode")?;
                driver.check((driver.graph_instantiate)(&mut made.exec, made.graph, 0), "cuGraphInstantiate")
            }
        })?;
        Ok(made)
    }

    fn launch(&self, command: Command<'_>, stream: Stream) -> Result<()> {
        let driver = self.driver;
        with_params(command, |params| {
            // SAFETY: our own graph; launches of it that still run keep the argument they had.
            let set = unsafe { (driver.graph_set_params)(self.exec, self.node, params) };
            driver.check(set, "cuGraphExecKernelNodeSetParams")
        })?;
        // SAFETY: whoever launches promises what the kernel's argument says.
        driver.check(unsafe { (driver.graph_launch)(self.exec, stream) }, "cuGraphLaunch")
    }
}

impl Drop for OneKernel {
    fn drop(&mut self) {
        GRAPHS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: nobody else has the handles; the driver keeps what is still running.
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

/// The parameters of a launch, for as long as `f` takes.
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
