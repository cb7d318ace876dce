//! `Machine`: what the figures were taken on.

use std::fs;
use std::thread;

/// What the figures were taken on.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Machine {
    /// The processor's name, as it gives it.
    pub processor: String,
    /// The architecture the program was built for.
    pub architecture: &'static str,
    /// The system the program was built for.
    pub system: &'static str,
    /// Processors that the program may use.
    pub cores: usize,
    /// Memory in bytes; 0 where the system does not say.
    pub memory_bytes: u64,
    /// When huge pages are given: the system's setting, as it words it.
    pub huge_pages: String,
    /// The version of megachunk.
    pub megachunk: &'static str,
    /// Whether the program counts accesses to shared memory (feature `probe`); its times are
    /// then not to be compared with those of an ordinary build.
    pub probe: bool,
}

impl Machine {
    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        Self {
            processor: processor().unwrap_or_else(|| "unknown".into()),
            architecture: std::env::consts::ARCH,
            system: std::env::consts::OS,
            cores: thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: from_meminfo("MemTotal:").unwrap_or(0),
            huge_pages: huge_pages().unwrap_or_else(|| "unknown".into()),
            megachunk: env!("CARGO_PKG_VERSION"),
            probe: cfg!(feature = "probe"),
        }
    }
}

fn processor() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn huge_pages() -> Option<String> {
    let setting = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, rest) = setting.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn from_meminfo(key: &str) -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with(key))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Memory that can be had without pushing others out, in bytes; `None` where the system does not
/// say.
#[must_use]
pub fn available_memory() -> Option<u64> {
    from_meminfo("MemAvailable:")
}

/// Resident memory of this process in bytes; `None` where the system does not say.
#[must_use]
pub fn resident_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
