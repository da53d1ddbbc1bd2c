//! The engine's configuration, from arguments, the environment and the limits of the machine. It is read once, at
//! start-up.

use forerun_base::Settings;
use std::fs;
use std::path::Path;

/// Which threads run tasks, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Workers run tasks ahead; waiting threads help.
    #[default]
    Async,
    /// No workers: tasks run inside the wait, oldest first.
    Sync,
    /// No workers: one waiter at a time runs ready tasks in an order drawn from this seed. The seed also decides whether a
    /// waiter runs a short plan without tasks.
    Seeded(u64),
    /// No workers: one waiter at a time runs tasks in this order of ages, as recorded from a seeded run. Where the task
    /// that is next in the order is not ready, the oldest ready task runs.
    Replay(Vec<u64>),
}

/// Configuration of an engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of worker threads, and of tasks and pieces that run at once.
    pub workers: usize,
    /// Which threads run tasks, and in which order.
    pub mode: Mode,
    /// Whether tasks may split their work over the pool.
    pub intra_op: bool,
    /// Limit on live bytes; `None` means 80 % of the memory available to this process.
    pub budget: Option<usize>,
    /// Bytes that sources may allocate ahead of the oldest unfinished task.
    pub prefetch: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config { workers: cores(), mode: Mode::Async, intra_op: true, budget: None, prefetch: 32 << 20 }
    }
}

impl Config {
    /// Reads `FORERUN_NUM_THREADS` (else `OMP_NUM_THREADS`, else the cores this process may use), `FORERUN_ENGINE`
    /// (`async`, `sync`, `seeded:<n>`), `FORERUN_INTRA_OP` (`0` for off), `FORERUN_BUDGET` and `FORERUN_PREFETCH`
    /// (bytes).
    pub fn from_env() -> Config {
        Config::from_settings(&Settings::environment())
    }

    fn from_settings(settings: &Settings<'_>) -> Config {
        let default = Config::default();
        let threads = settings.number("FORERUN_NUM_THREADS", 1);
        // The value may be a list with one number per nesting level; the first applies.
        let others = || {
            let threads = settings.foreign("OMP_NUM_THREADS")?;
            threads.split(',').next()?.trim().parse().ok().filter(|threads| *threads > 0)
        };
        let mode = settings.read("FORERUN_ENGINE", "async, sync or seeded:<number>", |value| match value {
            "async" => Some(Mode::Async),
            "sync" => Some(Mode::Sync),
            _ => value.strip_prefix("seeded:").and_then(|seed| seed.parse().ok()).map(Mode::Seeded),
        });
        Config {
            workers: threads.or_else(others).unwrap_or(default.workers),
            mode: mode.unwrap_or_default(),
            intra_op: settings.switch("FORERUN_INTRA_OP").unwrap_or(default.intra_op),
            budget: settings.number("FORERUN_BUDGET", 1),
            prefetch: settings.number("FORERUN_PREFETCH", 0).unwrap_or(default.prefetch),
        }
    }

    /// The budget in bytes.
    pub(crate) fn budget_bytes(&self) -> usize {
        self.budget.unwrap_or_else(|| memory() / 5 * 4)
    }
}

/// Cores this process may use: the smaller of the affinity mask and the cgroup quota, rounded up.
fn cores() -> usize {
    // The standard library reads the affinity mask and both versions of the cgroup quota, but rounds the quota down.
    let floor = std::thread::available_parallelism().map_or(1, |n| n.get());
    match quota("/sys/fs/cgroup") {
        Some(quota) => affinity().unwrap_or(floor).min(quota).max(1),
        None => floor,
    }
}

#[cfg(target_os = "linux")]
fn affinity() -> Option<usize> {
    // SAFETY: a `cpu_set_t` is plain bits, for which zero is valid, and the call writes within the given size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let done = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0;
        done.then(|| libc::CPU_COUNT(&set) as usize).filter(|&n| n > 0)
    }
}

#[cfg(not(target_os = "linux"))]
fn affinity() -> Option<usize> {
    None
}

/// Reads a file from this process's directory in a cgroup hierarchy and from all its parents up to the mount, because a
/// limit on any ancestor applies.
fn cgroup_values(controller: &str, mount: &str, file: &str) -> Vec<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut path = groups
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (names, path) = (fields.next()?, fields.next()?);
            names.split(',').any(|name| name == controller).then(|| path.trim_start_matches('/').to_owned())
        })
        .next()
        .unwrap_or_default();
    let mut values = Vec::new();
    loop {
        values.extend(fs::read_to_string(Path::new(mount).join(&path).join(file)));
        match path.rfind('/') {
            Some(slash) => path.truncate(slash),
            None if path.is_empty() => return values,
            None => path.clear(),
        }
    }
}

/// CPU quota of the cgroups mounted there, in cores, rounded up.
fn quota(mount: &str) -> Option<usize> {
    let round_up = |quota: &str, period: &str| {
        let (quota, period) = (quota.trim().parse::<usize>().ok()?, period.trim().parse::<usize>().ok()?);
        (quota > 0 && period > 0).then(|| quota.div_ceil(period))
    };
    let unified = cgroup_values("", mount, "cpu.max");
    let unified = unified.iter().filter_map(|text| text.split_once(' ').and_then(|(q, p)| round_up(q, p)));
    let older = format!("{mount}/cpu");
    let quotas = cgroup_values("cpu", &older, "cpu.cfs_quota_us");
    let periods = cgroup_values("cpu", &older, "cpu.cfs_period_us");
    let divided = quotas.iter().zip(&periods).filter_map(|(q, p)| round_up(q, p));
    unified.chain(divided).min()
}

/// Bytes available to this process: the smaller of the machine's memory and the cgroup limit.
fn memory() -> usize {
    let limits = cgroup_values("", "/sys/fs/cgroup", "memory.max")
        .into_iter()
        .chain(cgroup_values("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"))
        .filter_map(|text| text.trim().parse::<usize>().ok());
    limits.chain(physical_memory()).min().unwrap_or(usize::MAX)
}

#[cfg(unix)]
fn physical_memory() -> Option<usize> {
    // SAFETY: sysconf has no preconditions.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    (pages > 0 && size > 0).then(|| pages as usize * size as usize)
}

#[cfg(not(unix))]
fn physical_memory() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration, and the warnings about settings that were ignored.
    fn from(pairs: &[(&str, &str)]) -> (Config, String) {
        let complaints = std::cell::RefCell::new(String::new());
        let var = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        let complain = |text: &str| complaints.borrow_mut().push_str(text);
        let config = Config::from_settings(&Settings::new(&var, &complain));
        (config, complaints.take())
    }

    #[test]
    fn the_environment_is_read() {
        let fine = |pairs: &[(&str, &str)]| {
            let (config, complaints) = from(pairs);
            assert_eq!(complaints, "");
            config
        };
        let config = fine(&[("FORERUN_NUM_THREADS", "3"), ("OMP_NUM_THREADS", "5"), ("FORERUN_INTRA_OP", "0")]);
        assert_eq!((config.workers, config.intra_op, config.mode), (3, false, Mode::Async));
        assert_eq!(fine(&[("OMP_NUM_THREADS", "5")]).workers, 5);
        assert_eq!(fine(&[("OMP_NUM_THREADS", "6,2")]).workers, 6);
        assert_eq!(fine(&[("OMP_NUM_THREADS", "what")]).workers, cores());
        assert_eq!(fine(&[("FORERUN_ENGINE", "sync")]).mode, Mode::Sync);
        assert_eq!(fine(&[("FORERUN_ENGINE", "seeded:9")]).mode, Mode::Seeded(9));
        assert_eq!(fine(&[("FORERUN_BUDGET", "1000")]).budget_bytes(), 1000);
    }

    #[test]
    fn invalid_settings_are_reported() {
        for (name, value) in [
            ("FORERUN_NUM_THREADS", "0"),
            ("FORERUN_NUM_THREADS", "-1"),
            ("FORERUN_ENGINE", "fast"),
            ("FORERUN_ENGINE", "seeded:x"),
            ("FORERUN_INTRA_OP", "yes"),
            ("FORERUN_BUDGET", "2GiB"),
            ("FORERUN_PREFETCH", "1e9"),
        ] {
            let (config, complaints) = from(&[(name, value)]);
            assert!(complaints.starts_with(&format!("{name}={value} is ignored: it must be ")), "{complaints}");
            assert_eq!((config.workers, config.mode, config.intra_op), (cores(), Mode::Async, true));
        }
    }

    /// Any text is either parsed or reported; nothing panics.
    #[test]
    fn any_text_is_parsed_or_reported() {
        let names = ["NUM_THREADS", "ENGINE", "INTRA_OP", "BUDGET", "PREFETCH"].map(|name| format!("FORERUN_{name}"));
        let pieces =
            ["", " ", "-", "0", "1", "9", "18446744073709551616", "seeded:", "async", "sync", ":", ".", "e", "é", "\t"];
        let mut dice = 0x9e37_79b9_7f4a_7c15u64;
        let mut below = |end: usize| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) as usize % end
        };
        for _ in 0..10_000 {
            let name = &names[below(names.len())];
            let text: String = (0..below(5)).map(|_| pieces[below(pieces.len())]).collect();
            let (config, complaints) = from(&[(name, &text)]);
            assert!(
                complaints.is_empty() || complaints.starts_with(&format!("{name}={}", text.trim())),
                "{complaints}"
            );
            assert!(config.workers > 0 && config.budget_bytes() > 0);
        }
    }

    #[test]
    fn quotas_of_both_kinds_are_read_and_rounded_up() {
        let mount = std::env::temp_dir().join(format!("forerun-quota-{}", std::process::id()));
        let found = |files: &[(&str, &str)]| {
            fs::create_dir_all(mount.join("cpu")).unwrap();
            for (name, text) in files {
                fs::write(mount.join(name), text).unwrap();
            }
            let found = quota(&mount.to_string_lossy());
            fs::remove_dir_all(&mount).unwrap();
            found
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("cpu.max", "max 100000\n")]), None);
        assert_eq!(found(&[("cpu.max", "150000 100000\n")]), Some(2));
        assert_eq!(found(&[("cpu.max", "50000 100000\n")]), Some(1));
        let older = |quota| [("cpu/cpu.cfs_quota_us", quota), ("cpu/cpu.cfs_period_us", "100000\n")];
        assert_eq!(found(&older("-1\n")), None);
        assert_eq!(found(&older("310000\n")), Some(4));
    }

    #[test]
    fn the_machine_has_limits() {
        assert!(cores() >= 1);
        assert!(memory() > 1 << 20);
        assert!(Config::default().budget_bytes() < memory());
    }
}
