//! Units: texts on their way to kernels. A unit is compiled (or linked, if it has a text in PTX) in the background, or by whoever
//! cannot go on without it.
//!
//! Invariant: asking for a unit never waits. Threads in the background exist only while there is something to compile, so
//! nobody ever parks here for work.

use super::cache::Cache;
use super::exit::CallGate;
use super::link::Linker;
use super::nvrtc::TextCompiler;
use crate::kernel_graph::KernelGraph;
use crate::sys::{Context, Driver, Function, Module};
use forerun_base::{Error, ErrorKind, Result};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// A text and, once it is compiled, its kernels.
#[derive(Debug)]
pub(crate) struct Unit {
    /// CUDA C, which is what the unit is known by.
    text: String,
    /// The same kernel in PTX, which is tried first.
    ptx: Option<String>,
    /// Compiled before others.
    soon: bool,
    loaded: OnceLock<Result<Loaded>>,
}

/// A unit's kernel, and what is known of its launches.
#[derive(Debug)]
struct Loaded {
    run: Function,
    graph: Mutex<KernelGraph>,
}

// SAFETY: handles of loaded functions may be used by any thread whose context is the device's.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Unit {
    /// Whether its kernels can be launched at once.
    pub(crate) fn is_ready(&self) -> bool {
        self.loaded.get().is_some()
    }
}

/// How long the end of the process waits for compilations.
const LONGEST: Duration = Duration::from_secs(10);

/// How often what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Texts compiled, those linked included.
    pub compiled: u64,
    /// Texts in PTX that the driver has linked.
    pub linked: u64,
    /// Texts found on disk.
    pub found: u64,
    /// Launches of the generic kernel, while another was compiled.
    pub generic: u64,
}

/// Compiles for one device.
#[derive(Debug)]
pub(crate) struct Compiler {
    shared: Arc<Shared>,
    units: Mutex<HashMap<String, Arc<Unit>>>,
    pub(crate) generic: AtomicU64,
    /// Threads that compile at once, at the most.
    most: usize,
}

#[derive(Debug)]
struct Shared {
    driver: &'static Driver,
    context: Context,
    arch: String,
    nvrtc: OnceLock<std::result::Result<TextCompiler, String>>,
    linker: Linker,
    cache: Cache,
    queue: Mutex<Queue>,
    /// Who compiles, and who links: two libraries.
    compiling: Arc<CallGate>,
    linking: Arc<CallGate>,
    compiled: AtomicU64,
    linked: AtomicU64,
    found: AtomicU64,
}

// SAFETY: the context's handle may be used by any thread.
unsafe impl Send for Shared {}
// SAFETY: as above; the rest is shared by locks and atomics.
unsafe impl Sync for Shared {}

#[derive(Debug, Default)]
struct Queue {
    /// What is wanted soon goes before the rest.
    soon: VecDeque<Job>,
    waiting: VecDeque<Job>,
    /// Threads at work.
    serving: usize,
    /// Every thread that was started and not waited for.
    threads: Vec<JoinHandle<()>>,
}

/// Something to do in the background.
#[derive(Debug)]
enum Job {
    /// Compiles a unit.
    Load(Arc<Unit>),
    /// Links this and throws it away: the first link of a process takes longer than others, since the driver loads its assembler.
    FirstLink(String),
}

impl Queue {
    fn put(&mut self, job: Job) {
        let soon = match &job {
            Job::Load(unit) => unit.soon,
            Job::FirstLink(_) => true,
        };
        if soon { self.soon.push_back(job) } else { self.waiting.push_back(job) }
    }

    fn next(&mut self) -> Option<Job> {
        self.soon.pop_front().or_else(|| self.waiting.pop_front())
    }
}

impl Compiler {
    pub(crate) fn new(driver: &'static Driver, context: Context, arch: String) -> Compiler {
        let shared = Shared {
            driver,
            context,
            arch,
            nvrtc: OnceLock::new(),
            linker: Linker::new(driver, context),
            cache: Cache::of_user(),
            queue: Mutex::default(),
            compiling: Arc::default(),
            linking: Arc::default(),
            compiled: AtomicU64::new(0),
            linked: AtomicU64::new(0),
            found: AtomicU64::new(0),
        };
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Compiler {
            shared: Arc::new(shared),
            units: Mutex::default(),
            generic: AtomicU64::new(0),
            // The generic kernel takes seconds: a second thread lets the others pass it.
            most: (cores / 2).clamp(2, 4),
        }
    }

    /// The unit of a text; a new one is compiled in the background from now on.
    pub(crate) fn unit(&self, text: String) -> Arc<Unit> {
        self.put(text, false, || None)
    }

    /// The same, before others, for what stands in until a faster kernel is there. It is linked from its text in PTX, if there is one.
    pub(crate) fn unit_soon(&self, text: String, ptx: impl FnOnce() -> Option<String>) -> Arc<Unit> {
        self.put(text, true, ptx)
    }

    /// Links a text in the background for nothing but that later links are quick.
    pub(crate) fn prepare_links(&self, text: String) {
        self.queue(Job::FirstLink(text));
    }

    fn put(&self, text: String, soon: bool, ptx: impl FnOnce() -> Option<String>) -> Arc<Unit> {
        let units = || self.units.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(unit) = units().get(&text) {
            return unit.clone();
        }
        // Printed while nobody has to wait for it; of two who do, the first to be through counts.
        let made = Arc::new(Unit { text: text.clone(), ptx: ptx(), soon, loaded: OnceLock::new() });
        let unit = units().entry(text).or_insert_with(|| made.clone()).clone();
        if Arc::ptr_eq(&unit, &made) {
            self.queue(Job::Load(made));
        }
        unit
    }

    fn queue(&self, job: Job) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(|e| e.into_inner());
        queue.put(job);
        if queue.serving < self.most {
            let shared = self.shared.clone();
            let started = std::thread::Builder::new().name("forerun-compiler".to_owned()).spawn(move || serve(&shared));
            // Without a thread the first launch compiles.
            if let Ok(thread) = started {
                queue.serving += 1;
                queue.threads.retain(|thread| !thread.is_finished());
                queue.threads.push(thread);
            }
        }
    }

    /// The kernel of a unit, and what is known of its launches alone; compiles it here if it is not there yet.
    pub(crate) fn function<'u>(&self, unit: &'u Unit) -> Result<(Function, &'u Mutex<KernelGraph>)> {
        self.loaded(unit).map(|loaded| (loaded.run, &loaded.graph))
    }

    fn loaded<'u>(&self, unit: &'u Unit) -> Result<&'u Loaded> {
        unit.loaded.get_or_init(|| self.shared.load(unit)).as_ref().map_err(Error::clone)
    }

    /// The process ends: compiles nothing more, and waits for what is being compiled.
    pub(crate) fn stop(&self) {
        self.shared.forget();
        self.shared.compiling.close(LONGEST);
        self.shared.linking.close(LONGEST);
    }

    /// Why a text in PTX was not linked, if one was not.
    pub(crate) fn link_failure(&self) -> Option<&str> {
        self.shared.linker.failure()
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            compiled: self.shared.compiled.load(Ordering::Relaxed),
            linked: self.shared.linked.load(Ordering::Relaxed),
            found: self.shared.found.load(Ordering::Relaxed),
            generic: self.generic.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        self.shared.rest();
    }
}

/// Compiles what waits, until nothing does.
fn serve(shared: &Arc<Shared>) {
    loop {
        let mut queue = shared.queue.lock().unwrap_or_else(|e| e.into_inner());
        let Some(job) = queue.next() else {
            queue.serving -= 1;
            return;
        };
        drop(queue);
        match job {
            Job::Load(unit) => drop(unit.loaded.get_or_init(|| shared.load(&unit))),
            Job::FirstLink(text) => drop(shared.link(&text)),
        }
    }
}

impl Shared {
    fn forget(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(|e| e.into_inner());
        while queue.next().is_some() {}
    }

    /// Compiles nothing more in the background, and waits for its threads.
    fn rest(&self) {
        self.forget();
        let threads = std::mem::take(&mut self.queue.lock().unwrap_or_else(|e| e.into_inner()).threads);
        for thread in threads {
            // One that panicked has ended too.
            let _ = thread.join();
        }
    }

    fn open(&self) -> std::result::Result<TextCompiler, String> {
        TextCompiler::open(self.driver.release(), &self.arch)
    }

    /// The kernel of a unit: linked if it can be, else compiled.
    fn load(&self, unit: &Unit) -> Result<Loaded> {
        let linked = unit.ptx.as_ref().and_then(|text| self.linked(text));
        if let Some(loaded) = linked.and_then(|image| self.load_image(&image).ok()) {
            return Ok(loaded);
        }
        let image = self.compiled(unit).map_err(|text| Error::new(ErrorKind::Runtime, format!("kernel: {text}")))?;
        self.load_image(&image)
    }

    fn load_image(&self, image: &[u8]) -> Result<Loaded> {
        let driver = self.driver;
        let mut module: Module = std::ptr::null_mut();
        // SAFETY: machine code that was made for this device; the module is never unloaded.
        unsafe {
            driver.check((driver.context_set)(self.context), "cuCtxSetCurrent")?;
            driver.check((driver.module_load)(&mut module, image.as_ptr().cast()), "cuModuleLoadData")?;
        }
        let mut run: Function = std::ptr::null_mut();
        // SAFETY: a loaded module and a name that ends.
        let error = unsafe { (driver.module_function)(&mut run, module, c"run".as_ptr()) };
        driver.check(error, "cuModuleGetFunction").map(|()| Loaded { run, graph: Mutex::default() })
    }

    /// The machine code of a text in PTX, if it was kept or the driver links it.
    fn linked(&self, text: &str) -> Option<Vec<u8>> {
        let key = format!("{}\n{text}", self.linker.stamp());
        if let Some(image) = self.cache.load(&key) {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Some(image);
        }
        let image = self.link(text)?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.linked.fetch_add(1, Ordering::Relaxed);
        self.cache.store(&key, &image);
        Some(image)
    }

    fn link(&self, text: &str) -> Option<Vec<u8>> {
        let _guard = self.linking.enter()?;
        self.linker.link(text)
    }

    fn compiled(&self, unit: &Unit) -> std::result::Result<Vec<u8>, String> {
        let nvrtc = self.nvrtc.get_or_init(|| self.open()).as_ref().map_err(String::clone)?;
        let key = format!("{}\n{}", nvrtc.stamp(), unit.text);
        if let Some(image) = self.cache.load(&key) {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Ok(image);
        }
        let guard = self.compiling.enter().ok_or("the process ends")?;
        let image = nvrtc.compile(&unit.text)?;
        drop(guard);
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.cache.store(&key, &image);
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_soon_goes_first() {
        let unit = |text: &str, soon| {
            Job::Load(Arc::new(Unit { text: text.to_owned(), ptx: None, soon, loaded: OnceLock::new() }))
        };
        let name = |job| match job {
            Job::Load(unit) => unit.text.clone(),
            Job::FirstLink(text) => text,
        };
        let mut queue = Queue::default();
        for (text, soon) in [("a", false), ("b", true), ("c", false), ("d", true)] {
            queue.put(unit(text, soon));
        }
        queue.put(Job::FirstLink("e".to_owned()));
        let order: String = std::iter::from_fn(|| queue.next()).map(name).collect();
        assert_eq!(order, "bdeac");
    }
}
