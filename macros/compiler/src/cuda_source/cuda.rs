//! Reads CUDA C++ with what it includes.

use std::path::Path;

use super::brackets::Unbalanced;
use super::declarations::Declarations;
use super::host::{HostCode, Takes, host_code};
use super::options;
use super::paths::{Parts, absolute, beside, climb, common, within};
use super::toolkit;
use super::unit::{Include, Unit};

/// Where a source is, and where what it includes may be.
pub(crate) struct Search<'a> {
    /// Its path, as it is written.
    pub(crate) path: String,
    /// The folder that written paths are relative to.
    pub(crate) home: &'a Path,
    /// The folders to look in, in order.
    pub(crate) include: &'a [Folder],
    /// The content of a file, by its written path; none if it cannot be read.
    pub(crate) file: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// NVRTC's options.
    pub(crate) options: &'a [String],
}

/// A folder to look for included files in.
pub(crate) struct Folder {
    /// Its path, as it is written.
    pub(crate) path: String,
    /// Where it is.
    pub(crate) parts: Parts,
}

/// CUDA C++ with all files that it includes.
pub(crate) struct Cuda {
    pub(crate) declarations: Declarations,
    /// How messages name each file, the source itself first.
    pub(crate) files: Vec<String>,
    /// The files to embed, if there are more than the source.
    pub(crate) tree: Option<Tree>,
}

impl Cuda {
    /// `saxpy.cu:4`
    pub(crate) fn place(&self, file: usize, line: usize) -> String {
        format!("{}:{line}", self.files[file])
    }
}

/// The files of a source in one tree of folders.
pub(crate) struct Tree {
    /// The source's place.
    pub(crate) path: String,
    /// The places of the files that are included, and their paths from the Rust file.
    pub(crate) headers: Vec<(String, String)>,
    /// The places of the folders to search.
    pub(crate) include: Vec<String>,
}

/// A source, and what is wrong with it.
pub(crate) struct Reading {
    pub(crate) cuda: Cuda,
    /// The included files that could not be read, in the order of their `#include`s.
    pub(crate) lost: Vec<Lost>,
    pub(crate) refused: Refused,
}

/// An included file that could not be read. `from` is the path of the file that includes it.
pub(crate) enum Lost {
    NotUtf8 {
        path: String,
        from: String,
    },
    /// It is in no folder that was looked in, and does not come with CUDA.
    Nowhere {
        path: String,
        from: String,
        /// The line of the `#include`, from 1.
        line: usize,
        /// The places that were searched.
        tried: Vec<String>,
    },
}

/// Code that NVRTC is sure to refuse.
#[derive(Default)]
pub(crate) struct Refused {
    /// If there is one, the others are not looked for.
    pub(crate) unbalanced: Option<Unbalanced>,
    pub(crate) host: Vec<HostCode>,
    pub(crate) headers: Vec<HostHeader>,
}

/// A header that NVRTC does not have, or cannot compile.
pub(crate) struct HostHeader {
    pub(crate) path: String,
    /// The index of the file in the unit that includes it.
    pub(crate) file: usize,
    /// The line, from 1.
    pub(crate) line: usize,
}

/// A file that was found: how it is written from the Rust file, and where it is.
struct Found {
    path: String,
    parts: Parts,
    /// How deep the highest folder is that `..` leads through on the way to it.
    highest: usize,
}

/// Reads `text`, which is what is in the file that `search` names.
pub(crate) fn read(text: &str, search: &Search<'_>) -> Reading {
    let Search { path, home, include, options, .. } = search;
    let place = |path: String| Found { parts: absolute(home, &path), path, highest: usize::MAX };
    let mut finder = Finder {
        search,
        found: vec![place(path.clone())],
        lost: Vec::new(),
        headers: Vec::new(),
        is_whole: true,
        hides_macros: options.iter().any(|option| options::includes(option)),
    };
    let unit = Unit::read(text, options, &mut |include| finder.find(include));
    let Finder { found, lost, headers, is_whole, hides_macros, .. } = finder;
    let refused = refused(&unit, headers, hides_macros, options);
    let tree = tree(&found, include);
    let mut declarations = Declarations::of(unit);
    declarations.is_whole &= is_whole && !options.iter().any(|option| options::includes(option));
    let files = found.into_iter().map(|found| found.path).collect();
    Reading { cuda: Cuda { declarations, files, tree }, lost, refused }
}

/// The files of a source, while they are found.
struct Finder<'a> {
    search: &'a Search<'a>,
    /// The source itself first.
    found: Vec<Found>,
    lost: Vec<Lost>,
    headers: Vec<HostHeader>,
    /// Whether all files that may declare types were read.
    is_whole: bool,
    /// Whether a header that only NVRTC finds may define macros.
    hides_macros: bool,
}

impl Finder<'_> {
    /// The index and the text of an included file; none where it is not there, or was included before.
    fn find(&mut self, include: &Include<'_>) -> Option<(usize, String)> {
        let &Include { from, path, quoted, line, needed } = include;
        let Search { home, include: folders, file, options, .. } = self.search;
        let own = quoted.then(|| {
            let from = &self.found[from];
            (beside(&from.path, path), from.parts.len().saturating_sub(1))
        });
        let others = folders.iter().map(|given| {
            let depth = absolute(home, &given.path).len();
            (within(&format!("{}/", given.path), path), depth)
        });
        let mut tried = Vec::new();
        for (written, depth) in own.into_iter().chain(others) {
            let parts = absolute(home, &written);
            let place = Found { path: written, parts, highest: depth.saturating_sub(climb(path)) };
            if let Some(known) = self.found.iter_mut().find(|known| known.parts == place.parts) {
                known.highest = known.highest.min(place.highest);
                return None;
            }
            let Some(bytes) = file(&place.path) else {
                if !tried.contains(&place.path) {
                    tried.push(place.path);
                }
                continue;
            };
            let text = String::from_utf8(bytes).ok();
            if text.is_none() {
                let from = self.found[from].path.clone();
                self.lost.push(Lost::NotUtf8 { path: place.path.clone(), from });
            }
            self.found.push(place);
            return text.map(|text| (self.found.len() - 1, text));
        }
        let comes_with_cuda = toolkit::may_have(path);
        let is_for_the_host = toolkit::is_for_the_host(path, options);
        self.is_whole &= comes_with_cuda;
        self.hides_macros |= !comes_with_cuda && !is_for_the_host;
        if needed && is_for_the_host {
            self.headers.push(HostHeader { path: path.to_owned(), file: from, line });
            return None;
        }
        let is_known = |lost: &Lost| matches!(lost, Lost::Nowhere { path: other, .. } if other == path);
        if needed && quoted && !comes_with_cuda && !self.lost.iter().any(is_known) {
            let (path, from) = (path.to_owned(), self.found[from].path.clone());
            self.lost.push(Lost::Nowhere { path, from, line, tried });
        }
        None
    }
}

fn refused(unit: &Unit, headers: Vec<HostHeader>, hides_macros: bool, options: &[String]) -> Refused {
    if let Some(wrong) = unit.brackets.end().filter(|_| !hides_macros) {
        return Refused { unbalanced: Some(wrong), ..Refused::default() };
    }
    let takes = Takes {
        unmarked: hides_macros || options::is_default_device(options),
        launches: options::is_relocatable(options),
    };
    Refused { unbalanced: None, host: host_code(unit, takes), headers }
}

/// The tree, whose root is the innermost folder that holds everything, also what `..` leads through.
fn tree(found: &[Found], include: &[Folder]) -> Option<Tree> {
    let (source, headers) = found.split_first()?;
    if headers.is_empty() {
        return None;
    }
    let folders = found.iter().map(|found| &found.parts[..found.parts.len().saturating_sub(1)]);
    let root = common(folders.chain(include.iter().map(|folder| &folder.parts[..])));
    let root = found.iter().map(|found| found.highest).fold(root, usize::min);
    let inside = |parts: &Parts| parts[root..].join("/");
    Some(Tree {
        path: inside(&source.parts),
        headers: headers.iter().map(|found| (inside(&found.parts), found.path.clone())).collect(),
        include: include.iter().map(|folder| inside(&folder.parts)).collect(),
    })
}
