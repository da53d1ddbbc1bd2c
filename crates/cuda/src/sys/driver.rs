//! Bindings to the CUDA driver, from release 12.0 on. Symbol names carry the version of the signature given here; the
//! driver keeps all versions.

use super::library::Library;
use super::table::table;
use forerun_base::{Error, ErrorKind, Result};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Handles of the driver.
pub(crate) type Context = *mut c_void;
pub(crate) type Stream = *mut c_void;
pub(crate) type Event = *mut c_void;
pub(crate) type Module = *mut c_void;
pub(crate) type Function = *mut c_void;
pub(crate) type MemPool = *mut c_void;
pub(crate) type GraphHandle = *mut c_void;
pub(crate) type GraphExec = *mut c_void;
pub(crate) type GraphNode = *mut c_void;
pub(crate) type LinkState = *mut c_void;

/// Constants of the driver.
pub(crate) mod code {
    pub(crate) const SUCCESS: i32 = 0;
    pub(crate) const OUT_OF_MEMORY: i32 = 2;
    pub(crate) const NO_DEVICE: i32 = 100;
    pub(crate) const NO_JIT_COMPILER: i32 = 221;
    pub(crate) const JIT_DISABLED: i32 = 223;
    pub(crate) const NOT_READY: i32 = 600;
    pub(crate) const ATTRIBUTE_PROCESSORS: i32 = 16;
    pub(crate) const ATTRIBUTE_MAJOR: i32 = 75;
    pub(crate) const ATTRIBUTE_MINOR: i32 = 76;
    pub(crate) const STREAM_NON_BLOCKING: u32 = 1;
    pub(crate) const EVENT_UNTIMED: u32 = 2;
    pub(crate) const WAIT_AT_LEAST: u32 = 0;
    pub(crate) const POOL_RELEASE_THRESHOLD: i32 = 4;
    pub(crate) const POOL_RESERVED: i32 = 5;
    pub(crate) const CAPTURE_RELAXED: i32 = 2;
    pub(crate) const NODE_KERNEL: i32 = 0;
    pub(crate) const JIT_INPUT_PTX: i32 = 1;
    pub(crate) const JIT_ERROR_LOG: i32 = 5;
    pub(crate) const JIT_ERROR_LOG_BYTES: i32 = 6;
}

/// The properties of a memory pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolProps {
    /// The allocation type: pinned, the only one.
    pub(crate) kind: c_int,
    pub(crate) handles: c_int,
    /// The location type; 1 is a device.
    pub(crate) place: c_int,
    pub(crate) device: c_int,
    pub(crate) security: *mut c_void,
    pub(crate) most: usize,
    pub(crate) reserved: [u8; 56],
}

/// The parameters of a kernel node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelParams {
    pub(crate) function: Function,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) params: *mut *mut c_void,
    pub(crate) extra: *mut *mut c_void,
    pub(crate) kernel: *mut c_void,
    pub(crate) context: Context,
}

/// The result of a graph update.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpdateOutcome {
    pub(crate) result: c_int,
    pub(crate) node: GraphNode,
    pub(crate) from: GraphNode,
}

table! {
    /// The functions of libcuda.
    Driver {
        init = "cuInit"(flags: c_uint);
        version = "cuDriverGetVersion"(version: *mut c_int);
        error_name = "cuGetErrorName"(error: c_int, name: *mut *const c_char);
        error_text = "cuGetErrorString"(error: c_int, text: *mut *const c_char);
        device_count = "cuDeviceGetCount"(count: *mut c_int);
        device_get = "cuDeviceGet"(device: *mut c_int, ordinal: c_int);
        device_name = "cuDeviceGetName"(name: *mut c_char, length: c_int, device: c_int);
        device_attribute = "cuDeviceGetAttribute"(value: *mut c_int, which: c_int, device: c_int);
        context_retain = "cuDevicePrimaryCtxRetain"(context: *mut Context, device: c_int);
        context_set = "cuCtxSetCurrent"(context: Context);
        context_push = "cuCtxPushCurrent_v2"(context: Context);
        context_pop = "cuCtxPopCurrent_v2"(context: *mut Context);
        context_synchronize = "cuCtxSynchronize"();
        memory_info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
        pool_create = "cuMemPoolCreate"(pool: *mut MemPool, props: *const PoolProps);
        pool_set = "cuMemPoolSetAttribute"(pool: MemPool, which: c_int, value: *mut c_void);
        pool_get = "cuMemPoolGetAttribute"(pool: MemPool, which: c_int, value: *mut c_void);
        pool_trim = "cuMemPoolTrimTo"(pool: MemPool, keep: usize);
        alloc_from = "cuMemAllocFromPoolAsync"(address: *mut u64, bytes: usize, pool: MemPool, stream: Stream);
        free = "cuMemFreeAsync"(address: u64, stream: Stream);
        host_alloc = "cuMemHostAlloc"(address: *mut *mut c_void, bytes: usize, flags: c_uint);
        host_free = "cuMemFreeHost"(address: *mut c_void);
        copy_in = "cuMemcpyHtoDAsync_v2"(to: u64, from: *const c_void, bytes: usize, stream: Stream);
        copy_out = "cuMemcpyDtoHAsync_v2"(to: *mut c_void, from: u64, bytes: usize, stream: Stream);
        copy_within = "cuMemcpyDtoDAsync_v2"(to: u64, from: u64, bytes: usize, stream: Stream);
        set_bytes = "cuMemsetD8Async"(to: u64, byte: u8, count: usize, stream: Stream);
        module_load = "cuModuleLoadData"(module: *mut Module, image: *const c_void);
        module_function = "cuModuleGetFunction"(function: *mut Function, module: Module, name: *const c_char);
        link_create = "cuLinkCreate_v2"(
            count: c_uint, options: *mut c_int, values: *mut *mut c_void, state: *mut LinkState,
        );
        link_add = "cuLinkAddData_v2"(
            state: LinkState, kind: c_int, data: *mut c_void, bytes: usize, name: *const c_char, count: c_uint,
            options: *mut c_int, values: *mut *mut c_void,
        );
        link_complete = "cuLinkComplete"(state: LinkState, image: *mut *mut c_void, bytes: *mut usize);
        link_destroy = "cuLinkDestroy"(state: LinkState);
        launch_kernel = "cuLaunchKernel"(
            function: Function, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint,
            stream: Stream, params: *mut *mut c_void, extra: *mut *mut c_void,
        );
        stream_create = "cuStreamCreate"(stream: *mut Stream, flags: c_uint);
        stream_wait = "cuStreamWaitEvent"(stream: Stream, event: Event, flags: c_uint);
        stream_synchronize = "cuStreamSynchronize"(stream: Stream);
        stream_write = "cuStreamWriteValue64_v2"(stream: Stream, address: u64, value: u64, flags: c_uint);
        stream_wait_value = "cuStreamWaitValue64_v2"(stream: Stream, address: u64, value: u64, flags: c_uint);
        stream_query = "cuStreamQuery"(stream: Stream);
        event_create = "cuEventCreate"(event: *mut Event, flags: c_uint);
        event_record = "cuEventRecord"(event: Event, stream: Stream);
        event_query = "cuEventQuery"(event: Event);
        event_synchronize = "cuEventSynchronize"(event: Event);
        capture_begin = "cuStreamBeginCapture_v2"(stream: Stream, mode: c_int);
        capture_end = "cuStreamEndCapture"(stream: Stream, graph: *mut GraphHandle);
        graph_create = "cuGraphCreate"(graph: *mut GraphHandle, flags: c_uint);
        graph_add_kernel = "cuGraphAddKernelNode_v2"(
            node: *mut GraphNode, graph: GraphHandle, after: *const GraphNode, count: usize, params: *const KernelParams,
        );
        graph_destroy = "cuGraphDestroy"(graph: GraphHandle);
        graph_nodes = "cuGraphGetNodes"(graph: GraphHandle, nodes: *mut GraphNode, count: *mut usize);
        graph_node_type = "cuGraphNodeGetType"(node: GraphNode, kind: *mut c_int);
        graph_params = "cuGraphKernelNodeGetParams_v2"(node: GraphNode, params: *mut KernelParams);
        graph_instantiate = "cuGraphInstantiateWithFlags"(exec: *mut GraphExec, graph: GraphHandle, flags: u64);
        graph_set_params = "cuGraphExecKernelNodeSetParams_v2"(
            exec: GraphExec, node: GraphNode, params: *const KernelParams,
        );
        graph_update = "cuGraphExecUpdate_v2"(exec: GraphExec, graph: GraphHandle, outcome: *mut UpdateOutcome);
        graph_launch = "cuGraphLaunch"(exec: GraphExec, stream: Stream);
        graph_exec_destroy = "cuGraphExecDestroy"(exec: GraphExec);
    }
}

impl Driver {
    /// The driver of this machine, initialised once, or the reason why there is none.
    pub(crate) fn get() -> Result<&'static Driver> {
        static DRIVER: OnceLock<std::result::Result<Driver, String>> = OnceLock::new();
        let found = DRIVER.get_or_init(|| {
            let driver = Driver::fill(&Driver::library()?)?;
            // SAFETY: `cuInit` is the first call of the driver and has no preconditions.
            match unsafe { (driver.init)(0) } {
                code::SUCCESS => Ok(driver),
                error => Err(driver.text(error)),
            }
        });
        found.as_ref().map_err(|text| Error::new(ErrorKind::Runtime, format!("no CUDA driver: {text}")))
    }

    pub(super) fn library() -> std::result::Result<Library, String> {
        Library::open(&["libcuda.so.1", "libcuda.so"], "none")
    }

    /// The major release of the driver, such as 13.
    pub(crate) fn release(&self) -> i32 {
        self.full_version() / 1000
    }

    /// The full version, such as 13010 for 13.1.
    pub(crate) fn full_version(&self) -> i32 {
        let mut version = 0;
        // SAFETY: the pointer is to a local number, the only memory that the call writes.
        unsafe { (self.version)(&mut version) };
        version
    }

    /// The name and description of an error.
    pub(crate) fn text(&self, error: c_int) -> String {
        let read = |find: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = std::ptr::null();
            // SAFETY: the driver returns a static string, or none.
            unsafe {
                find(error, &mut text);
                if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
            }
        };
        format!("{} ({})", read(self.error_name), read(self.error_text))
    }

    /// Converts the result of a driver call to an error that names the call.
    pub(crate) fn check(&self, error: c_int, call: &str) -> Result<()> {
        match error {
            code::SUCCESS => Ok(()),
            code::OUT_OF_MEMORY => Err(Error::new(ErrorKind::Memory, format!("{call}: {}", self.text(error)))),
            _ => Err(Error::new(ErrorKind::Runtime, format!("{call}: {}", self.text(error)))),
        }
    }
}
