//! The peers: launches with the driver alone, and cuBLAS called directly.

use forerun_base::{DType, Result};
use forerun_cuda::{Gpu, TextCompiler};
use std::ffi::{CStr, c_void};
use std::time::Instant;

/// A symbol of the first of these libraries that opens.
fn symbol(libraries: &[&CStr], name: &CStr) -> std::result::Result<*mut c_void, String> {
    for library in libraries {
        // SAFETY: the names are zero-terminated; the libraries' initialisers have no preconditions.
        let found = unsafe {
            let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
            if handle.is_null() { handle } else { libc::dlsym(handle, name.as_ptr()) }
        };
        if !found.is_null() {
            return Ok(found);
        }
    }
    Err(format!("{name:?} was not found"))
}

/// Launches with the driver alone.
pub(crate) struct Raw {
    function: *mut c_void,
    stream: *mut c_void,
    call: LaunchKernel,
    synchronize: unsafe extern "C" fn(*mut c_void) -> i32,
}

type LaunchKernel = unsafe extern "C" fn(
    *mut c_void,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    *mut c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> i32;

impl Raw {
    pub(crate) fn open(gpu: &Gpu) -> Result<Raw> {
        let failed = |text: String| forerun_base::Error::new(forerun_base::ErrorKind::Runtime, text);
        let driver = [c"libcuda.so.1"];
        let find = |name| symbol(&driver, name).map_err(failed);
        let arch = format!("sm_{}{}", gpu.arch().0, gpu.arch().1);
        let text = "extern \"C\" __global__ void run(float* x, float s) { x[threadIdx.x] += s; }";
        let image = TextCompiler::open(13, &arch).and_then(|compiler| compiler.compile(text)).map_err(failed)?;
        let (mut module, mut function, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the signatures are those of the driver's documentation.
        unsafe {
            type Load = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> i32;
            type Get = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const i8) -> i32;
            type Create = unsafe extern "C" fn(*mut *mut c_void, u32) -> i32;
            let load: Load = std::mem::transmute(find(c"cuModuleLoadData")?);
            let get: Get = std::mem::transmute(find(c"cuModuleGetFunction")?);
            let create: Create = std::mem::transmute(find(c"cuStreamCreate")?);
            let errors = [
                load(&mut module, image.as_ptr().cast()),
                get(&mut function, module, c"run".as_ptr()),
                create(&mut stream, 1),
            ];
            if errors != [0; 3] {
                return Err(failed(format!("the raw launch failed: {errors:?}")));
            }
            type Synchronize = unsafe extern "C" fn(*mut c_void) -> i32;
            let call = std::mem::transmute::<*mut c_void, LaunchKernel>(find(c"cuLaunchKernel")?);
            let synchronize = std::mem::transmute::<*mut c_void, Synchronize>(find(c"cuStreamSynchronize")?);
            Ok(Raw { function, stream, call, synchronize })
        }
    }

    pub(crate) fn wait(&self) -> Result<()> {
        // SAFETY: the stream was created above.
        Raw::check(unsafe { (self.synchronize)(self.stream) })
    }

    fn check(error: i32) -> Result<()> {
        let failed = || forerun_base::Error::new(forerun_base::ErrorKind::Runtime, format!("the driver says {error}"));
        if error == 0 { Ok(()) } else { Err(failed()) }
    }

    pub(crate) fn launch(&self, x: u64) -> Result<()> {
        let (mut address, mut scalar) = (x, 1f32);
        let mut params: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut scalar).cast()];
        // SAFETY: the kernel's two parameters, and memory for two elements.
        let error = unsafe {
            (self.call)(self.function, 1, 1, 1, 2, 1, 1, 0, self.stream, params.as_mut_ptr(), std::ptr::null_mut())
        };
        Raw::check(error)
    }
}

/// cuBLAS, called directly on the default stream.
pub(crate) struct Direct {
    handle: *mut c_void,
    multiply: GemmEx,
}

type GemmEx = unsafe extern "C" fn(
    *mut c_void,
    i32,
    i32,
    i32,
    i32,
    i32,
    *const c_void,
    u64,
    i32,
    i32,
    u64,
    i32,
    i32,
    *const c_void,
    u64,
    i32,
    i32,
    i32,
    i32,
) -> i32;

impl Direct {
    pub(crate) fn open() -> std::result::Result<Direct, String> {
        let libraries = [c"libcublas.so.13", c"libcublas.so.12", c"/usr/local/cuda/lib64/libcublas.so"];
        let find = |name| symbol(&libraries, name);
        let mut handle = std::ptr::null_mut();
        // SAFETY: the signatures are those of the library's documentation.
        unsafe {
            type Create = unsafe extern "C" fn(*mut *mut c_void) -> i32;
            let create: Create = std::mem::transmute(find(c"cublasCreate_v2")?);
            let error = create(&mut handle);
            if error != 0 {
                return Err(format!("cublasCreate: {error}"));
            }
            let multiply = std::mem::transmute::<*mut c_void, GemmEx>(find(c"cublasGemmEx")?);
            Ok(Direct { handle, multiply })
        }
    }

    pub(crate) fn seconds(&self, gpu: &Gpu, side: usize, [a, b, c]: [u64; 3], dtype: DType, tf32: bool) -> f64 {
        let n = side as i32;
        // The library's constants for the element type and the compute type; the factors have the latter.
        let (code, compute) = match (dtype, tf32) {
            (DType::F64, _) => (1, 70),
            (DType::BF16, _) => (14, 68),
            (_, true) => (0, 77),
            (_, false) => (0, 68),
        };
        let (one, zero) = if dtype == DType::F64 { (1f64.to_bits(), 0) } else { (1f32.to_bits() as u64, 0) };
        let (one, zero): (*const u64, *const u64) = (&one, &zero);
        // SAFETY: three square matrices; reading a result back synchronizes the default stream.
        unsafe {
            let call = || {
                let (alpha, beta) = (one.cast(), zero.cast());
                (self.multiply)(
                    self.handle,
                    0,
                    0,
                    n,
                    n,
                    n,
                    alpha,
                    b,
                    code,
                    n,
                    a,
                    code,
                    n,
                    beta,
                    c,
                    code,
                    n,
                    compute,
                    -1,
                )
            };
            let wait = || {
                symbol(&[c"libcuda.so.1"], c"cuCtxSynchronize")
                    .map(|found| std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> i32>(found)())
            };
            let failed = call() != 0 || gpu.synchronize().is_err() || wait().is_err();
            let mut rounds: Vec<f64> = (0..7)
                .map(|_| {
                    let begun = Instant::now();
                    (0..10).for_each(|_| {
                        call();
                    });
                    let _ = wait();
                    begun.elapsed().as_secs_f64() / 10.0
                })
                .collect();
            rounds.sort_by(f64::total_cmp);
            if failed { f64::NAN } else { rounds[3] }
        }
    }
}
