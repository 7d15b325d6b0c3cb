//! Paths of included files: as they are written, and where they lead.

use std::path::{Component, Path};

/// A path without `.` and `..`, part by part.
pub(super) type Parts = Vec<String>;

/// `path` from within `folder`.
pub(crate) fn absolute(folder: &Path, path: &str) -> Parts {
    let mut parts = Parts::new();
    for component in folder.components().chain(Path::new(path).components()) {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()),
            // An absolute path begins anew.
            Component::RootDir => parts.retain(|part| part.ends_with(':')),
            Component::Prefix(prefix) => parts = vec![prefix.as_os_str().to_string_lossy().into_owned()],
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
        }
    }
    parts
}

/// `path`, which is relative to the folder of `from`, with that folder before it: `../cu/../include/x.cuh`
/// becomes `../include/x.cuh`.
pub(super) fn beside(from: &str, path: &str) -> String {
    let folder = match from.rfind(['/', '\\']) {
        Some(at) => &from[..=at],
        None => "",
    };
    within(folder, path)
}

/// `path` in a folder.
pub(super) fn within(folder: &str, path: &str) -> String {
    if Path::new(path).is_absolute() || folder.is_empty() {
        return path.to_owned();
    }
    let folder = folder.replace('\\', "/");
    let is_absolute = folder.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/"))
}

/// How many folders above the one where it starts a path goes on its way: 2 for `../a/../../b/c.cuh`.
pub(super) fn climb(path: &str) -> usize {
    let (mut above, mut below) = (0, 0_usize);
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir if below == 0 => above += 1,
            Component::ParentDir => below -= 1,
            Component::Normal(_) => below += 1,
            _ => {}
        }
    }
    above
}

/// The folder that all of these are in.
pub(super) fn common<'a>(mut folders: impl Iterator<Item = &'a [String]>) -> usize {
    let Some(first) = folders.next() else { return 0 };
    folders.fold(first.len(), |length, other| {
        first[..length].iter().zip(other).take_while(|(a, b)| a == b).count()
    })
}
