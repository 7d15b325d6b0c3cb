//! The modules of a crate, and which file's text each path leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path as FilePath, PathBuf};

use super::reader::{Kind, Path, paths};

/// A file of the crate.
pub struct File {
    pub path: PathBuf,
    pub paths: Vec<Path>,
    /// The names that its `use`s import, each with the whole path, which may lead to a name that another file
    /// has made public.
    imports: BTreeMap<String, Vec<String>>,
    /// The modules, from the crate's root, from which everything is imported here.
    globs: Vec<Vec<String>>,
}

/// The files of a crate by their modules, from the crate's root, which is the module without a name.
pub struct Modules(pub BTreeMap<Vec<String>, File>);

/// Where something is named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub line: usize,
    /// The path as it is written.
    pub written: String,
    pub to: Vec<String>,
}

impl Modules {
    /// Reads a crate, without its tests.
    pub fn read(root: &FilePath) -> Self {
        let mut sources = Vec::new();
        sources_below(root, &mut sources);
        Self::of(sources.iter().map(|path| {
            let relative = path.strip_prefix(root).expect("below it").to_owned();
            (relative, fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        }))
    }

    /// The crate of these files, by path.
    pub fn of(sources: impl Iterator<Item = (PathBuf, String)>) -> Self {
        let file = |(path, source): (PathBuf, String)| {
            let (imports, globs) = (BTreeMap::new(), Vec::new());
            (module_of(&path), File { paths: paths(&source), path, imports, globs })
        };
        let mut modules = Self(sources.map(file).collect());
        let modules_of_files: Vec<_> = modules.0.keys().cloned().collect();
        for module in modules_of_files {
            let mut imports = BTreeMap::new();
            let mut globs = Vec::new();
            for path in &modules.0[&module].paths {
                let Kind::Import { name, .. } = &path.kind else { continue };
                // The imports of a module inside the file are not the file's.
                let Some(to) = modules.absolute(&module, path).filter(|_| path.within.is_empty()) else {
                    continue;
                };
                match name.as_str() {
                    "*" => globs.push(to[..to.len() - 1].to_vec()),
                    name => drop(imports.insert(name.to_owned(), to)),
                }
            }
            let file = modules.0.get_mut(&module).expect("one of them");
            (file.imports, file.globs) = (imports, globs);
        }
        modules
    }

    /// A path from the crate's root. `None` for one that leads out of the crate, or to a name that is not a
    /// module's.
    pub fn absolute(&self, module: &[String], path: &Path) -> Option<Vec<String>> {
        let mut base: Vec<String> = module.iter().chain(&path.within).cloned().collect();
        let mut rest = &path.segments[..];
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|first| first == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                base.push(first.to_owned());
                if !self.0.contains_key(&base) {
                    return None;
                }
                rest = &rest[1..];
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// The module of the file that defines the name at this path from the root.
    pub fn definer(&self, path: &[String]) -> Vec<String> {
        self.followed(path, 0)
    }

    fn followed(&self, path: &[String], depth: usize) -> Vec<String> {
        let mut length = path.len();
        while !self.0.contains_key(&path[..length]) {
            length -= 1;
        }
        let module = &path[..length];
        let Some(next) = path.get(length) else { return module.to_vec() };
        let file = &self.0[module];
        // A name may be imported and defined, and imports may go in a cycle.
        if depth < 8 {
            if let Some(to) = file.imports.get(next).filter(|to| **to != path[..=length]) {
                let whole: Vec<_> = to.iter().chain(&path[length + 1..]).cloned().collect();
                return self.followed(&whole, depth + 1);
            }
            for glob in &file.globs {
                let whole: Vec<_> = glob.iter().chain(&path[length..]).cloned().collect();
                let found = self.followed(&whole, depth + 1);
                if found != *glob {
                    return found;
                }
            }
        }
        module.to_vec()
    }

    /// For each file, the files that it needs: those that define the names that it uses. A file does not need
    /// the names of its own folder that it only makes public.
    pub fn edges(&self) -> BTreeMap<Vec<String>, BTreeSet<Edge>> {
        let mut all = BTreeMap::new();
        for (module, file) in &self.0 {
            let mut edges = BTreeSet::new();
            for path in &file.paths {
                let Some(to) = self.absolute(module, path) else { continue };
                let to = self.definer(&to);
                let is_handed_on =
                    matches!(path.kind, Kind::Import { public: true, .. }) && to.starts_with(module);
                if to != *module && !to.is_empty() && !is_handed_on {
                    edges.insert(Edge { line: path.line, written: path.segments.join("::"), to });
                }
            }
            all.insert(module.clone(), edges);
        }
        all
    }
}

/// The module that a file is.
fn module_of(path: &FilePath) -> Vec<String> {
    let mut names: Vec<_> =
        path.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod" || (last == "lib" && names.len() == 1)) {
        names.pop();
    }
    names
}

/// The source files in this folder and in those below it, but for tests.
fn sources_below(folder: &FilePath, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" {
                sources_below(&path, into);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" && !name.ends_with("_tests.rs") {
            into.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Vec<String> {
        path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn edges(files: &[(&str, &str)], of: &str) -> Vec<String> {
        let modules =
            Modules::of(files.iter().map(|(path, source)| (PathBuf::from(path), (*source).to_owned())));
        let edges =
            modules.edges()[&module(of)].iter().map(|edge| edge.to.join("::")).collect::<BTreeSet<_>>();
        edges.into_iter().collect()
    }

    #[test]
    fn a_name_counts_for_the_file_that_defines_it() {
        let files = [
            ("lib.rs", "mod low; mod high;"),
            (
                "low/mod.rs",
                "mod one; mod two; pub use one::{First, first as renamed}; pub use two::*; pub struct Own;",
            ),
            ("low/one.rs", "pub struct First; pub fn first() {}"),
            ("low/two.rs", "pub use super::one::First as Other; use super::Own;"),
            ("high.rs", "use crate::low::{First, Own, renamed}; fn f() { crate::low::Other::new() }"),
        ];
        assert_eq!(edges(&files, "high"), ["low", "low::one"]);
        // A name of the own folder that is only re-exported is not needed.
        assert_eq!(edges(&files, "low"), [""; 0]);
        assert_eq!(edges(&files, "low::two"), ["low", "low::one"]);
    }

    #[test]
    fn every_way_to_write_a_path_counts() {
        let files = [
            ("a/mod.rs", "mod b; mod c { fn f() { super::b::x(); super::super::d::y() } } fn g() { b::z() }"),
            ("a/b.rs", "fn h() { super::i(); std::mem::drop(()); Self::j() }"),
            ("d.rs", "use crate::a::{self, b::k};"),
        ];
        assert_eq!(edges(&[files[0], files[1], files[2], ("lib.rs", "")], "a"), ["a::b", "d"]);
        assert_eq!(edges(&[files[0], files[1], files[2], ("lib.rs", "")], "a::b"), ["a"]);
        assert_eq!(edges(&[files[0], files[1], files[2], ("lib.rs", "")], "d"), ["a", "a::b"]);
    }
}
