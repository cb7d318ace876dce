//! `Machine`: what the figures were taken on.

use std::fs;
use std::path::Path;
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
    /// Whether the program was optimised; else its times say nothing.
    pub optimised: bool,
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
            optimised: !cfg!(debug_assertions),
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

/// Memory that can be had without pushing others out, in bytes: that of the system, or what is left
/// of the share that the process is given, if that is less. `None` where the system does not say.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let of_system = from_meminfo("MemAvailable:");
    let of_share = share_left(Path::new("/sys/fs/cgroup"));
    of_system.into_iter().chain(of_share).min()
}

/// What is left of a control group's memory (version 2), whose files lie in `folder`: of a
/// container's own there. What it keeps of files can be had, too.
fn share_left(folder: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        fs::read_to_string(folder.join(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let most = number("memory.max")?;
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let of_files = stat
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file "));
    let of_files = of_files.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    Some(most.saturating_sub(number("memory.current")?.saturating_sub(of_files)))
}

/// Resident memory of this process in bytes; `None` where the system does not say.
#[must_use]
pub fn resident_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_container_is_its_share_less_what_it_has_but_for_files() {
        let folder = std::env::temp_dir().join(format!("megachunk-share-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(share_left(&folder), None);
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("memory.max", "1000\n");
        write("memory.current", "700\n");
        assert_eq!(share_left(&folder), Some(300));
        write("memory.stat", "active_file 50\ninactive_file 200\n");
        assert_eq!(share_left(&folder), Some(500));
        write("memory.max", "max\n");
        assert_eq!(share_left(&folder), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
