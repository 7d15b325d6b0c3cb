//! The machine: the name of its processor, and how much memory the process may have.

use std::fs;

/// The name of the processor, such as `AMD EPYC 9654 96-Core Processor`.
pub(super) fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    named(&info).unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

/// The processor's name in the text of `/proc/cpuinfo`.
fn named(info: &str) -> Option<String> {
    let fields = info.lines().filter_map(|line| line.split_once(':'));
    let mut names = fields.filter(|(key, _)| key.trim() == "model name").map(|(_, name)| name.trim());
    names.find(|name| !name.is_empty()).map(str::to_owned)
}

/// The largest cache of a core, in bytes, which it may share with others; 0 if the system does not tell.
pub(super) fn cache() -> u64 {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").into_iter().flatten().flatten();
    let sizes = caches.filter_map(|cache| size(&fs::read_to_string(cache.path().join("size")).ok()?));
    sizes.max().unwrap_or(0)
}

/// A size as the system writes it, `32768K`, in bytes.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = match text.chars().last()? {
        'K' => 1 << 10,
        'M' => 1 << 20,
        _ => 1,
    };
    text.trim_end_matches(['K', 'M']).parse::<u64>().ok()?.checked_mul(unit)
}

/// Bytes of memory that the process may have, if nobody else has any.
pub(super) fn memory() -> u64 {
    let all = meminfo("MemTotal").unwrap_or(u64::MAX);
    limit().map_or(all, |limit| limit.min(all))
}

/// Bytes of memory that the process could still get now; `None` if the system does not tell.
pub(super) fn available() -> Option<u64> {
    let all = meminfo("MemAvailable");
    let of_group = limit().zip(used()).map(|(limit, used)| limit.saturating_sub(used));
    [all, of_group].into_iter().flatten().min()
}

/// The limit of the process's cgroup, in bytes.
fn limit() -> Option<u64> {
    number("/sys/fs/cgroup/memory.max").or_else(|| number("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
}

/// What the process's cgroup uses, in bytes, without the pages of files that can be given back.
fn used() -> Option<u64> {
    let used = number("/sys/fs/cgroup/memory.current")
        .or_else(|| number("/sys/fs/cgroup/memory/memory.usage_in_bytes"))?;
    let stat = fs::read_to_string("/sys/fs/cgroup/memory.stat")
        .or_else(|_| fs::read_to_string("/sys/fs/cgroup/memory/memory.stat"))
        .unwrap_or_default();
    Some(used.saturating_sub(of_files(&stat)))
}

/// The bytes of files that can be given back, in the text of `memory.stat`.
fn of_files(stat: &str) -> u64 {
    let value = |line: &str| line.strip_prefix("inactive_file ")?.trim().parse().ok();
    stat.lines().find_map(value).unwrap_or(0)
}

/// A number in a file; `None` for the text `max`.
fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A field of `/proc/meminfo`, in bytes.
fn meminfo(field: &str) -> Option<u64> {
    in_meminfo(&fs::read_to_string("/proc/meminfo").ok()?, field)
}

fn in_meminfo(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_system_are_read() {
        let info = "processor\t: 0\nmodel name\t: AMD EPYC 9654\nflags\t\t: fpu\nmodel name\t: other\n";
        assert_eq!(named(info).as_deref(), Some("AMD EPYC 9654"));
        assert_eq!(named("processor : 0\n"), None);
        let memory = "MemTotal:       16384 kB\nMemFree: 5 kB\nMemAvailable:    1024 kB\n";
        assert_eq!(in_meminfo(memory, "MemAvailable"), Some(1 << 20));
        assert_eq!(in_meminfo(memory, "Mem"), None);
        assert_eq!(
            ["32768K\n", "2M", "512", "", "K"].map(size),
            [Some(32 << 20), Some(2 << 20), Some(512), None, None]
        );
        assert_eq!(of_files("anon 5\ninactive_file 4096\nactive_file 1\n"), 4096);
    }

    #[test]
    fn the_machine_has_a_name_and_memory() {
        assert!(!processor().is_empty());
        let (all, available) = (memory(), available());
        assert!(all > 0 && available.is_none_or(|available| available <= all), "{available:?} of {all}");
    }
}
