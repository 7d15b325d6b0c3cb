//! The kernels in the files of a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thalweg_compiler::cuda_source::headers;
use thalweg_compiler::cuda_source::prototypes;
use thalweg_compiler::kernels::{Files, LitStr};

use super::Tally;
use super::acceptance::{Verdict, verdict};
use super::declaration::{Names, names, right};
use super::mutation::mutations;

/// The files of a folder, found by their path or else by their name: the folders where a build looks for
/// headers are not known.
struct Folder<'a> {
    /// The folder of the source.
    folder: PathBuf,
    by_name: &'a BTreeMap<String, PathBuf>,
}

impl Folder<'_> {
    fn find(&self, path: &str) -> Option<PathBuf> {
        let beside = self.folder.join(path);
        if beside.is_file() {
            return Some(beside);
        }
        let name = Path::new(path).file_name()?.to_str()?;
        self.by_name.get(name).cloned()
    }
}

impl Files for Folder<'_> {
    fn read(&self, path: &LitStr) -> Result<Vec<u8>, String> {
        let found = self.find(&path.value()).ok_or("no such file")?;
        let text = std::fs::read(found).map_err(|error| error.to_string())?;
        Ok(for_the_device(&String::from_utf8_lossy(&text)).into_bytes())
    }

    fn folder(&self, _: &LitStr) -> PathBuf {
        self.folder.clone()
    }
}

/// A source without the code that NVRTC does not compile, which is refused for any declaration: headers for
/// hosts, launches, and marks of host functions. Each line stays where it is.
fn for_the_device(text: &str) -> String {
    let (_, for_hosts) = headers();
    let is_for_hosts = |line: &str| {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let rest = rest.and_then(|rest| rest.strip_prefix("include"));
        let path = rest.and_then(|rest| rest.split(['"', '<', '>']).nth(1));
        path.is_some_and(|path| for_hosts.contains(&path) || path.starts_with("sys/"))
    };
    let lines: Vec<_> = text.split('\n').map(|line| if is_for_hosts(line) { "" } else { line }).collect();
    let mut all = lines.join("\n").replace("__host__", "        ");
    let mut from = 0;
    while let Some(open) = all[from..].find("<<<").map(|open| from + open) {
        from = open + 3;
        let end = all[from..].find(';').map_or(all.len(), |end| from + end);
        if let Some(close) = all[from..end].find(">>>").map(|close| from + close) {
            all.replace_range(close..close + 3, " */");
            all.replace_range(open..from, "/* ");
        }
    }
    all
}

fn all_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            all_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Tries each kernel in each `.cu` and `.cuh` of a folder.
pub fn try_all(folder: &Path) -> Tally {
    let mut files = Vec::new();
    all_files(folder, &mut files);
    let mut by_name = BTreeMap::new();
    for file in &files {
        if let Some(name) = file.file_name().and_then(|name| name.to_str()) {
            by_name.entry(name.to_owned()).or_insert(file.clone());
        }
    }
    let mut tally = Tally::default();
    for file in &files {
        if file.extension().is_some_and(|ending| ending == "cu" || ending == "cuh") {
            let parent = file.parent().expect("a file is in a folder").to_owned();
            let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
            try_file(name, &Folder { folder: parent, by_name: &by_name }, &mut tally);
        }
    }
    tally
}

/// The names of types in a file and in what it includes.
fn names_of(path: &str, files: &Folder<'_>, seen: &mut Vec<PathBuf>, found: &mut Names) {
    let Some(path) = files.find(path).filter(|path| !seen.contains(path)) else { return };
    let Ok(text) = std::fs::read(&path) else { return };
    let text = String::from_utf8_lossy(&text);
    seen.push(path);
    for line in text.lines() {
        let Some(rest) = line.trim().strip_prefix("#include") else { continue };
        if let Some(path) = rest.split(['"', '<', '>']).nth(1) {
            names_of(path, files, seen, found);
        }
    }
    names(&text, found);
}

fn try_file(name: &str, files: &Folder<'_>, tally: &mut Tally) {
    let path = files.folder.join(name);
    let source = String::from_utf8_lossy(&std::fs::read(&path).expect("it is there")).into_owned();
    let mut known = Names::new();
    names_of(name, files, &mut Vec::new(), &mut known);
    let all = prototypes(&source);
    for (at, kernel) in all.iter().enumerate() {
        if all[..at].iter().any(|other| other.name == kernel.name) {
            continue;
        }
        // Each of several versions may be meant.
        let versions = all.iter().filter(|other| other.name == kernel.name);
        let candidates: Vec<_> =
            versions.flat_map(|kernel| (0..3).filter_map(|at| right(kernel, &source, &known, at))).collect();
        let Some(first) = candidates.first() else { continue };
        let place = path.strip_prefix(files.folder.parent().unwrap_or(&path)).unwrap_or(&path).display();
        match verdict(&first.to_string(), name, files) {
            Verdict::Accepted => {}
            // The kernel is in a namespace, which prototypes do not tell.
            Verdict::Refused(why) if why.starts_with("[TW0402]") => continue,
            Verdict::Refused(why) => tally.refused.push(format!("{place}: {first} {why}")),
        }
        tally.kernels += 1;
        for (kind, wrong) in mutations(first) {
            // A declaration that another branch of an `#if` makes right is not wrong.
            if candidates.iter().any(|right| right.says(&wrong)) {
                continue;
            }
            let count = tally.kinds.entry(kind).or_default();
            count.tried += 1;
            if verdict(&wrong.to_string(), name, files) == Verdict::Accepted {
                count.passed.push(format!("{place}: {wrong}"));
            }
        }
    }
}
