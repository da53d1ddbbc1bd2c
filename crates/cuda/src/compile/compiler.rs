//! Units: sources on their way to kernels. A unit is compiled (or linked, if its source is PTX) in the background, or by whoever cannot go
//! on without it.
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
use forerun_ops::user_kernel::KernelSource;
use std::collections::{HashMap, VecDeque};
use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a unit is known by: a text, and what else its machine code depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    text: String,
    language: Language,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Language {
    Ptx,
    /// Generated CUDA C.
    Generated,
    /// A user's CUDA C: the options, and the name of the function.
    User {
        options: Vec<String>,
        function: String,
    },
}

impl Source {
    /// A user's source; without a function it can only be checked.
    pub(crate) fn of_user(source: &KernelSource) -> Source {
        let KernelSource { text, options, function } = source.clone();
        Source { text, language: Language::User { options, function } }
    }

    fn is_ptx(&self) -> bool {
        self.language == Language::Ptx
    }

    /// The name of the kernel in the machine code.
    fn function(&self) -> &str {
        match &self.language {
            Language::Ptx | Language::Generated => "run",
            Language::User { function, .. } => function,
        }
    }
}

impl From<String> for Source {
    fn from(text: String) -> Source {
        Source { text, language: Language::Generated }
    }
}

/// A source and, once it is compiled, its kernel.
#[derive(Debug)]
pub(crate) struct Unit {
    source: Source,
    loaded: OnceLock<Result<Loaded>>,
    /// Held by the thread that loads it.
    loading: Mutex<()>,
}

/// Why a unit has no kernel.
#[derive(Debug)]
enum Failure {
    /// The process exits, and this thread may not call the compiler any more. Another thread may.
    Exits,
    /// The source cannot be compiled or loaded.
    Broken(Error),
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure::Broken(Error::new(ErrorKind::Runtime, format!("kernel: {text}")))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Broken(error)
    }
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
    fn new(source: Source) -> Unit {
        Unit { source, loaded: OnceLock::new(), loading: Mutex::default() }
    }

    /// Whether its kernels can be launched at once.
    pub(crate) fn is_ready(&self) -> bool {
        self.loaded.get().is_some()
    }

    /// Its kernel; the first caller loads it. A thread that may not compile leaves the unit to those that may.
    fn get_or_load(&self, load: impl FnOnce() -> std::result::Result<Loaded, Failure>) -> Result<&Loaded> {
        let known = || self.loaded.get();
        let loaded = match known() {
            Some(loaded) => loaded,
            None => {
                let _loading = self.loading.lock().unwrap_or_else(|e| e.into_inner());
                // Another thread may have loaded it meanwhile.
                match known() {
                    Some(loaded) => loaded,
                    None => {
                        let loaded = match load() {
                            Ok(loaded) => Ok(loaded),
                            Err(Failure::Broken(error)) => Err(error),
                            Err(Failure::Exits) => return Err(Error::new(ErrorKind::Runtime, TOO_LATE)),
                        };
                        self.loaded.get_or_init(|| loaded)
                    }
                }
            }
        };
        loaded.as_ref().map_err(Error::clone)
    }
}

/// The error of a launch whose kernel this thread may not compile any more.
const TOO_LATE: &str = "kernel: it is not compiled yet, and the process exits: only the exiting thread can still compile. \
                        Read the array before the program ends";

/// How long the end of the process waits for compilations.
const LONGEST: Duration = Duration::from_secs(10);

/// How often what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Texts compiled or linked.
    pub compiled: u64,
    /// Texts found on disk.
    pub found: u64,
}

/// Compiles for one device.
#[derive(Debug)]
pub(crate) struct Compiler {
    shared: Arc<Shared>,
    units: Mutex<HashMap<Source, Arc<Unit>>>,
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
    found: AtomicU64,
}

// SAFETY: the context's handle may be used by any thread.
unsafe impl Send for Shared {}
// SAFETY: as above; the rest is shared by locks and atomics.
unsafe impl Sync for Shared {}

#[derive(Debug, Default)]
struct Queue {
    /// Links take little time and go first.
    links: VecDeque<Job>,
    compilations: VecDeque<Job>,
    /// Whether the process exits: nothing is queued any more.
    stopped: bool,
    /// Threads at work.
    serving: usize,
    /// Every thread that was started and not waited for.
    threads: Vec<JoinHandle<()>>,
}

/// Something to do in the background.
#[derive(Debug)]
enum Job {
    /// Compiles or links a unit.
    Load(Arc<Unit>),
    /// Links this and throws it away: the driver loads its assembler.
    FirstLink(String),
}

impl Queue {
    fn put(&mut self, job: Job) {
        if self.stopped {
            return;
        }
        let is_link = !matches!(&job, Job::Load(unit) if !unit.source.is_ptx());
        if is_link { self.links.push_back(job) } else { self.compilations.push_back(job) }
    }

    fn next(&mut self) -> Option<Job> {
        self.links.pop_front().or_else(|| self.compilations.pop_front())
    }
}

impl Compiler {
    pub(crate) fn new(driver: &'static Driver, context: Context, arch: String) -> Compiler {
        let shared = Shared {
            driver,
            context,
            linker: Linker::new(driver, context, arch.clone()),
            arch,
            nvrtc: OnceLock::new(),
            cache: Cache::of_user(),
            queue: Mutex::default(),
            compiling: Arc::default(),
            linking: Arc::default(),
            compiled: AtomicU64::new(0),
            found: AtomicU64::new(0),
        };
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Compiler {
            shared: Arc::new(shared),
            units: Mutex::default(),
            // A compilation takes long: a second thread lets links pass it.
            most: (cores / 2).clamp(2, 4),
        }
    }

    /// The unit of a source in CUDA C; a new one is compiled in the background from now on.
    pub(crate) fn unit(&self, source: impl Into<Source>) -> Arc<Unit> {
        self.put(source.into())
    }

    /// The unit of a text in PTX; a new one is linked in the background from now on.
    pub(crate) fn linked_unit(&self, text: String) -> Arc<Unit> {
        self.put(Source { text, language: Language::Ptx })
    }

    /// Compiles a source on this thread unless it is in the disk cache, so that its unit need not be.
    pub(crate) fn check(&self, source: &Source) -> Result<()> {
        match self.shared.image(source) {
            Ok(_) => Ok(()),
            Err(Failure::Broken(error)) => Err(error),
            Err(Failure::Exits) => Err(Error::new(ErrorKind::Runtime, TOO_LATE)),
        }
    }

    /// Links a text in the background for nothing but that later links are quick.
    pub(crate) fn prepare_links(&self, text: String) {
        self.queue(Job::FirstLink(text));
    }

    fn put(&self, source: Source) -> Arc<Unit> {
        let mut units = self.units.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(unit) = units.get(&source) {
            return unit.clone();
        }
        let unit = Arc::new(Unit::new(source.clone()));
        units.insert(source, unit.clone());
        drop(units);
        self.queue(Job::Load(unit.clone()));
        unit
    }

    fn queue(&self, job: Job) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(|e| e.into_inner());
        queue.put(job);
        if !queue.stopped && queue.serving < self.most {
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
        unit.get_or_load(|| self.shared.load(unit))
    }

    /// The process exits, by this thread: compiles nothing more in the background, and waits for what is being compiled.
    /// From now on a launch by this thread compiles the kernel that it needs, and a launch by another thread fails if its
    /// kernel is not in the disk cache.
    pub(crate) fn stop(&self) {
        self.shared.forget();
        self.shared.compiling.leave_to_this_thread(LONGEST);
        self.shared.linking.leave_to_this_thread(LONGEST);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            compiled: self.shared.compiled.load(Ordering::Relaxed),
            found: self.shared.found.load(Ordering::Relaxed),
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
            // A failure stays in the unit and is raised by its launch.
            Job::Load(unit) => drop(unit.get_or_load(|| shared.load(&unit))),
            Job::FirstLink(text) => drop(shared.link(&text)),
        }
    }
}

impl Shared {
    /// Drops what is queued, and queues nothing more.
    fn forget(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(|e| e.into_inner());
        queue.stopped = true;
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

    fn load(&self, unit: &Unit) -> std::result::Result<Loaded, Failure> {
        let image = self.image(&unit.source)?;
        Ok(self.load_image(&image, unit.source.function())?)
    }

    fn load_image(&self, image: &[u8], function: &str) -> Result<Loaded> {
        let driver = self.driver;
        let name = CString::new(function).map_err(|e| Error::new(ErrorKind::Value, e.to_string()))?;
        let mut module: Module = std::ptr::null_mut();
        // SAFETY: machine code that was made for this device; the module is never unloaded.
        unsafe {
            driver.check((driver.context_set)(self.context), "cuCtxSetCurrent")?;
            driver.check((driver.module_load)(&mut module, image.as_ptr().cast()), "cuModuleLoadData")?;
        }
        let mut run: Function = std::ptr::null_mut();
        // SAFETY: a loaded module and a name that ends.
        let error = unsafe { (driver.module_function)(&mut run, module, name.as_ptr()) };
        driver
            .check(error, &format!("cuModuleGetFunction {function}"))
            .map(|()| Loaded { run, graph: Mutex::default() })
    }

    /// The machine code of a source: kept from before, linked or compiled.
    fn image(&self, source: &Source) -> std::result::Result<Vec<u8>, Failure> {
        let nvrtc = || self.nvrtc.get_or_init(|| self.open()).as_ref().map_err(String::clone);
        let stamp = match &source.language {
            Language::Ptx => format!("{} {}", self.arch, self.linker.stamp()),
            Language::Generated => nvrtc()?.stamp(),
            Language::User { options, .. } => nvrtc()?.user_stamp(options),
        };
        let key = format!("{stamp}\n{}", source.text);
        if let Some(image) = self.cache.load(&key) {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Ok(image);
        }
        let compiling = || self.compiling.enter().ok_or(Failure::Exits);
        let image = match &source.language {
            Language::Ptx => self.link(&source.text)?,
            Language::Generated => {
                let _guard = compiling()?;
                nvrtc()?.compile(&source.text)?
            }
            Language::User { options, .. } => {
                let _guard = compiling()?;
                nvrtc()?.compile_user(&source.text, options)?
            }
        };
        self.compiled.fetch_add(1, Ordering::Relaxed);
        self.cache.store(&key, &image);
        Ok(image)
    }

    fn link(&self, text: &str) -> std::result::Result<Vec<u8>, Failure> {
        let _guard = self.linking.enter().ok_or(Failure::Exits)?;
        Ok(self.linker.link(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn source(text: &str, is_ptx: bool) -> Source {
        Source { text: text.to_owned(), language: if is_ptx { Language::Ptx } else { Language::Generated } }
    }

    #[test]
    fn a_users_source_is_known_by_its_options_and_function() {
        let made = |options: &[&str], function: &str| {
            let options = options.iter().map(|option| (*option).to_owned()).collect();
            Source::of_user(&KernelSource { text: "text".to_owned(), options, function: function.to_owned() })
        };
        assert_eq!(made(&["-a"], "f").function(), "f");
        assert_eq!(Source::from("text".to_owned()).function(), "run");
        let all = [made(&[], "f"), made(&[], "g"), made(&["-a"], "f"), Source::from("text".to_owned())];
        assert_eq!(HashSet::from(all).len(), 4);
    }

    #[test]
    fn links_go_first() {
        let unit = |text: &str, is_ptx| Job::Load(Arc::new(Unit::new(source(text, is_ptx))));
        let name = |job| match job {
            Job::Load(unit) => unit.source.text.clone(),
            Job::FirstLink(text) => text,
        };
        let mut queue = Queue::default();
        for (text, is_ptx) in [("a", false), ("b", true), ("c", false), ("d", true)] {
            queue.put(unit(text, is_ptx));
        }
        queue.put(Job::FirstLink("e".to_owned()));
        let order: String = std::iter::from_fn(|| queue.next()).map(name).collect();
        assert_eq!(order, "bdeac");
        queue.stopped = true;
        queue.put(unit("f", false));
        assert!(queue.next().is_none(), "nothing is compiled in the background while the process exits");
    }

    /// A background thread that the exit overtakes must not fail the unit for the thread that still compiles.
    #[test]
    fn a_unit_that_one_thread_may_not_load_is_loaded_by_another() {
        let unit = Unit::new(source("", true));
        let refused = unit.get_or_load(|| Err(Failure::Exits)).map(drop).unwrap_err().to_string();
        assert!(refused.contains("not compiled yet, and the process exits"), "{refused}");
        let made = || Ok(Loaded { run: std::ptr::without_provenance_mut(8), graph: Mutex::default() });
        assert_eq!(unit.get_or_load(made).unwrap().run.addr(), 8);
        assert_eq!(unit.get_or_load(|| Err(Failure::Exits)).unwrap().run.addr(), 8, "it stays loaded");
        let broken = Unit::new(source("", true));
        let error = || Err(Failure::from("what the compiler says".to_owned()));
        assert!(broken.get_or_load(error).is_err());
        let error = broken.get_or_load(made).map(drop).unwrap_err().to_string();
        assert!(error.contains("kernel: what the compiler says"), "it is compiled once: {error}");
    }
}
