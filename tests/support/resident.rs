//! What the system says of this process' memory: how much is resident, and how large mappings are advised.

/// Resident memory of this process in bytes, page by page, without what a file has as well: the program's own code, which
/// comes when it first runs. (`statm` may lag behind.)
pub(crate) fn resident() -> usize {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let kibibytes = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Anonymous:"));
    kibibytes_of(kibibytes.unwrap()) << 10
}

/// For each mapping of so many bytes at least: whether it is advised to be small pages (`Some(false)`) or huge ones.
/// `None` if the system has no huge pages.
pub(crate) fn advice_of_mappings(at_least: usize) -> Option<Vec<Option<bool>>> {
    std::fs::metadata("/sys/kernel/mm/transparent_hugepage").ok()?;
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut advice, mut large) = (Vec::new(), false);
    for line in maps.lines() {
        if let Some(size) = line.strip_prefix("Size:") {
            large = kibibytes_of(size) << 10 >= at_least;
        } else if let Some(flags) = line.strip_prefix("VmFlags:")
            && large
        {
            let mut flags = flags.split_whitespace();
            let advised = flags.find_map(|flag| match flag {
                "hg" => Some(true),
                "nh" => Some(false),
                _ => None,
            });
            advice.push(advised);
        }
    }
    Some(advice)
}

fn kibibytes_of(field: &str) -> usize {
    field.trim().trim_end_matches(" kB").parse().unwrap()
}
