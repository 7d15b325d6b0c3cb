//! The files that a source includes. They are followed, so that the cache knows everything that the result
//! depends on, and they are written where NVRTC finds them.
//!
//! NVRTC takes headers in memory too, but looks for the includes of a header by their plain names only.
//! Relative includes and include folders work only with files.

mod computed;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use super::key::Key;
use super::language;
use super::toolkit::Toolkit;
use crate::base::kernel::{Header, KernelModule};

/// The files that a source includes, and that those files include.
#[derive(Debug, Default)]
pub(super) struct Includes {
    /// Whether there is any `#include`, embedded or not.
    any: bool,
    /// Whether the source itself is among the included files.
    own: bool,
    /// The headers of this crate for C and C++ that are included.
    language: BTreeSet<&'static str>,
    /// The number of folders that the options name.
    asked: usize,
    /// The files that are not embedded, with a hash of their content.
    on_disk: BTreeMap<PathBuf, [u8; 32]>,
    /// Whether a file is included that is not embedded, found or not.
    beyond: bool,
    /// Whether a name is a macro's that plain text does not tell, so that the file is not known.
    computed: bool,
}

/// A name after `#include`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Include<'a> {
    /// `"name"`
    Quoted(&'a str),
    /// `<name>`
    Angled(&'a str),
    /// A macro, and the text after it.
    Computed(&'a str),
}

/// A file that is being followed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A path in the module's tree.
    Embedded(String),
    /// One of this crate's headers for C and C++.
    Language(&'static str),
    OnDisk(PathBuf),
}

impl Includes {
    /// Follows all includes, in both branches of each `#if`.
    pub(super) fn follow(module: &KernelModule, source: &str) -> Self {
        let mut includes = Self::default();
        let mut folders = option_folders(module.options);
        includes.asked = folders.len();
        let asked = includes.asked;
        let mut seen = BTreeSet::new();
        let mut open = vec![(Place::Embedded(module.path.to_owned()), source.to_owned())];
        for name in pre_included(module.options) {
            open.push((Place::Embedded(module.path.to_owned()), format!("#include \"{name}\"")));
        }
        let mut texts = Vec::new();
        let mut by_macros = BTreeSet::new();
        while !open.is_empty() {
            while let Some((place, text)) = open.pop() {
                let text = joined(&text);
                for include in directives(&text) {
                    includes.any = true;
                    if let Include::Computed(operand) = include {
                        by_macros.insert((place.clone(), operand.to_owned()));
                    } else {
                        open.extend(includes.find(module, &mut folders, &mut seen, &place, include));
                    }
                }
                texts.push(text);
            }
            // The file that was found last may define the macro.
            includes.computed = false;
            let mut expanded = BTreeMap::new();
            for (place, operand) in &by_macros {
                // The toolkit's own headers include files of the toolkit, whose version is known.
                if matches!(place, Place::OnDisk(path) if folders[asked..].iter().any(|folder| path.starts_with(folder)))
                {
                    continue;
                }
                let files = expanded
                    .entry(operand)
                    .or_insert_with(|| computed::expanded(operand, &texts, module.options));
                if files.is_none() {
                    includes.computed = true;
                    includes.look_beyond(&mut folders);
                }
                for file in files.iter().flatten().filter_map(|file| named(file)) {
                    open.extend(includes.find(module, &mut folders, &mut seen, place, file));
                }
            }
        }
        includes
    }

    /// The file that is included, if it exists and is new. It is noted unless it is embedded.
    fn find(
        &mut self,
        module: &KernelModule,
        folders: &mut Vec<PathBuf>,
        seen: &mut BTreeSet<Place>,
        from: &Place,
        include: Include<'_>,
    ) -> Option<(Place, String)> {
        if own(module, from, include) {
            // Its includes are followed already.
            self.own = true;
            return None;
        }
        let found = embedded(module, from, include)
            .or_else(|| on_disk(&folders[..self.asked], from, include))
            .or_else(|| of_the_language(include));
        let (place, text) = found.or_else(|| {
            self.look_beyond(folders);
            on_disk(folders, from, include)
        })?;
        if !seen.insert(place.clone()) {
            return None;
        }
        match &place {
            Place::OnDisk(path) => {
                self.on_disk.insert(path.clone(), *blake3::hash(text.as_bytes()).as_bytes());
            }
            Place::Language(name) => drop(self.language.insert(name)),
            Place::Embedded(_) => {}
        }
        Some((place, text))
    }

    /// Adds the toolkit's folders, once.
    fn look_beyond(&mut self, folders: &mut Vec<PathBuf>) {
        if !self.beyond {
            self.beyond = true;
            folders.extend(Toolkit::get().folders.iter().cloned());
        }
    }

    /// Whether all included files are known.
    pub(super) fn are_known(&self) -> bool {
        !self.computed
    }

    /// Whether a file is included that is not embedded.
    pub(super) fn go_beyond(&self) -> bool {
        self.beyond
    }

    /// This crate's headers for C and C++ that the compiler may ask for.
    pub(super) fn language(&self) -> impl Iterator<Item = &'static Header> + Clone {
        let headers = language::HEADERS.iter();
        headers.filter(|header| self.computed || self.language.contains(header.path))
    }

    /// Adds the files that are not embedded to a key.
    pub(super) fn identify(&self, key: &mut Key) {
        if self.beyond {
            // The headers of a toolkit may include by macros.
            key.text(&Toolkit::get().version);
        }
        key.list(self.language().flat_map(|header| [header.path, header.text]));
        key.number(self.on_disk.len() as u64);
        for (path, hash) in &self.on_disk {
            key.bytes(path.as_os_str().as_encoded_bytes()).bytes(hash);
        }
    }

    /// Writes the embedded headers into a folder of their own, if anything is included.
    pub(super) fn write(&self, module: &KernelModule, source: &str) -> io::Result<Option<TempDir>> {
        if !self.any {
            return Ok(None);
        }
        let root = tempfile::Builder::new().prefix("thalweg-").tempdir()?;
        fs::create_dir_all(root.path().join(inside(folder_of(module.path))?))?;
        for folder in module.include {
            fs::create_dir_all(root.path().join(inside(folder)?))?;
        }
        let write = |path: &str, name: &str, text: &str| {
            let to = root.path().join(inside(path)?);
            fs::create_dir_all(to.parent().unwrap_or(root.path()))?;
            fs::write(to, format!("{}{}", line_directive(name), without_mark(text)))
        };
        // The source may include itself, or be included by a header.
        if self.own {
            write(module.path, module.file, source)?;
        }
        for Header { path, text } in module.headers {
            write(path, &as_written(module, path), text)?;
        }
        for Header { path, text } in self.language() {
            write(&format!("{}/{path}", language::FOLDER), &format!("thalweg/{path}"), text)?;
        }
        Ok(Some(root))
    }
}

/// The directive that makes the compiler, and `__FILE__`, name a file as the user does.
pub(super) fn line_directive(path: &str) -> String {
    format!("#line 1 \"{}\"\n", path.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A path of the tree, relative to the place where [`KernelModule::file`] starts.
fn as_written(module: &KernelModule, path: &str) -> String {
    let from: Vec<_> = folder_of(module.path).split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<_> = path.split('/').collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut parts: Vec<_> = folder_of(module.file).split('/').filter(|part| !part.is_empty()).collect();
    for _ in &from[common..] {
        match parts.last() {
            Some(&part) if part != ".." => drop(parts.pop()),
            _ => parts.push(".."),
        }
    }
    parts.extend_from_slice(&to[common..]);
    let root = if module.file.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path that stays inside the folder it is joined to.
fn inside(path: &str) -> io::Result<&Path> {
    let stays =
        Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays { Ok(Path::new(path)) } else { Err(io::Error::other(format!("`{path}` leaves its folder"))) }
}

/// The text with each line that ends in `\` joined with the next. C++ does this before everything else.
fn joined(text: &str) -> String {
    text.replace("\\\r\n", "").replace("\\\n", "")
}

/// The `#include` directives of a text whose lines are joined, including those in comments, and the names
/// that `__has_include` asks for.
fn directives(text: &str) -> impl Iterator<Item = Include<'_>> {
    without_mark(text).lines().flat_map(|line| line_includes(line).chain(asked_for(line)))
}

fn line_includes(line: &str) -> impl Iterator<Item = Include<'_>> {
    let marks = ["#", "%:"].into_iter().flat_map(|mark| line.match_indices(mark));
    let mut found = marks.filter_map(|(at, mark)| {
        let before = line[..at].trim_end();
        // A comment may come first, or end there.
        let is_first = before.is_empty() || before.ends_with("*/");
        let rest = past_blanks(&line[at + mark.len()..]).strip_prefix("include").filter(|_| is_first)?;
        let rest = past_blanks(rest.strip_prefix("_next").unwrap_or(rest));
        Some(named(rest).unwrap_or(Include::Computed(rest)))
    });
    found.next().into_iter()
}

/// The names in `__has_include(<name>)`: the result depends on whether the file exists.
fn asked_for(line: &str) -> impl Iterator<Item = Include<'_>> {
    line.match_indices("__has_include").filter_map(|(at, name)| {
        let rest = line[at + name.len()..].strip_prefix("_next").unwrap_or(&line[at + name.len()..]);
        let operand = past_blanks(past_blanks(rest).strip_prefix('(')?);
        Some(
            named(operand)
                .unwrap_or_else(|| Include::Computed(operand.split(')').next().unwrap_or_default())),
        )
    })
}

/// The text after white space and comments.
fn past_blanks(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, behind)) = rest.strip_prefix("/*").and_then(|comment| comment.split_once("*/")) {
        rest = behind.trim_start();
    }
    rest
}

/// The name `<name>` or `"name"` at the beginning of `text`.
fn named(text: &str) -> Option<Include<'_>> {
    let quoted = || text.strip_prefix('"')?.split_once('"').map(|(name, _)| Include::Quoted(name));
    let angled = || text.strip_prefix('<')?.split_once('>').map(|(name, _)| Include::Angled(name));
    quoted().or_else(angled)
}

fn embedded(module: &KernelModule, from: &Place, include: Include<'_>) -> Option<(Place, String)> {
    candidates(module, from, include).find_map(|path| {
        let header = module.headers.iter().find(|header| header.path == path)?;
        Some((Place::Embedded(path), header.text.to_owned()))
    })
}

/// This crate's header of that name.
fn of_the_language(include: Include<'_>) -> Option<(Place, String)> {
    let (Include::Quoted(name) | Include::Angled(name)) = include else { return None };
    language::find(name).map(|header| (Place::Language(header.path), header.text.to_owned()))
}

/// Whether the first embedded file of that name is the source itself.
fn own(module: &KernelModule, from: &Place, include: Include<'_>) -> bool {
    let is_embedded =
        |path: &String| path == module.path || module.headers.iter().any(|header| header.path == path);
    candidates(module, from, include).find(is_embedded).is_some_and(|path| path == module.path)
}

/// The paths in the tree where a file is looked for, in order.
fn candidates<'a>(
    module: &'a KernelModule,
    from: &'a Place,
    include: Include<'a>,
) -> impl Iterator<Item = String> + 'a {
    let (name, quoted) = match include {
        Include::Quoted(name) => (Some(name), true),
        Include::Angled(name) => (Some(name), false),
        Include::Computed(_) => (None, false),
    };
    let beside = match from {
        Place::Embedded(path) if quoted => Some(folder_of(path)),
        _ => None,
    };
    let folders = beside.into_iter().chain(module.include.iter().copied());
    folders.filter_map(move |folder| normal(&format!("{folder}/{}", name?)))
}

/// A text without the byte order mark, which NVRTC does not know.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn on_disk(folders: &[PathBuf], from: &Place, include: Include<'_>) -> Option<(Place, String)> {
    let read = |path: PathBuf| {
        // Whatever the file is, only its directives are read, and its hash is taken.
        let bytes = path.is_file().then(|| fs::read(&path).ok())??;
        Some((Place::OnDisk(path), String::from_utf8_lossy(&bytes).into_owned()))
    };
    let (name, quoted) = match include {
        Include::Quoted(name) => (name, true),
        Include::Angled(name) => (name, false),
        Include::Computed(_) => return None,
    };
    let beside = match from {
        Place::OnDisk(path) if quoted => path.parent().map(|folder| folder.join(name)),
        _ => None,
    };
    beside.into_iter().chain(folders.iter().map(|folder| folder.join(name))).find_map(read)
}

/// The path without `.` and `..`; `None` if it leaves the tree.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The values of options of these names, in all forms that NVRTC accepts.
fn values<'a>(options: &'a [&'a str], names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    options.iter().enumerate().filter_map(|(index, option)| {
        let option = option.trim();
        names.iter().find_map(|name| {
            let value = option.strip_prefix(name)?.trim_start_matches(['=', ' ']);
            if value.is_empty() { options.get(index + 1).copied() } else { Some(value) }
        })
    })
}

/// The folders that options name, relative to the process's folder, as NVRTC takes them.
fn option_folders(options: &[&str]) -> Vec<PathBuf> {
    values(options, &["--include-path", "-I"]).map(PathBuf::from).collect()
}

fn pre_included<'a>(options: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    values(options, &["--pre-include", "-include"])
}

#[cfg(test)]
mod tests;
