//! The modules of the runtime are on floors, and imports go down only. CONTRIBUTING's Layout has the floors.

mod circles;
mod modules;
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use circles::circles;
use modules::{Edge, Modules};

/// Pairs of modules on one floor; the first may name the second.
const SIDEWAYS: &[(&str, &str)] = &[];

/// The most files that may need each other, directly or not, inside one room.
const LARGEST: usize = 4;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn module(path: &str) -> Vec<String> {
    path.split('/').map(str::to_owned).collect()
}

/// The runtime's modules, with the number of the floor that each is on.
struct Floors(Vec<(usize, Vec<String>)>);

impl Floors {
    /// Reads the rows `` | 3 | `backends/cuda` | … | `` of CONTRIBUTING's Layout.
    fn read(text: &str) -> Self {
        let layout =
            text.split("\n## ").find(|section| section.starts_with("Layout")).expect("the section Layout");
        let row = |line: &str| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            let floor = cells.next()?.parse().ok()?;
            Some((floor, module(cells.next()?.strip_prefix('`')?.strip_suffix('`')?)))
        };
        Self(layout.lines().filter_map(row).collect())
    }

    /// The floor of the file at this path, and which of the floor's modules it is in.
    fn of(&self, path: &[String]) -> Option<(usize, &[String])> {
        let (floor, module) = self.0.iter().find(|(_, module)| path.starts_with(module))?;
        Some((*floor, module))
    }

    /// The room of a file: what is directly inside its floor. A floor that is one folder has rooms in it,
    /// others are rooms.
    fn room(&self, file: &[String]) -> Vec<String> {
        let Some((floor, module)) = self.of(file) else { return file.to_vec() };
        let is_alone = self.0.iter().filter(|(other, _)| *other == floor).count() == 1;
        file[..file.len().min(module.len() + usize::from(is_alone))].to_vec()
    }
}

struct Runtime {
    floors: Floors,
    modules: Modules,
    edges: BTreeMap<Vec<String>, BTreeSet<Edge>>,
}

impl Runtime {
    fn read() -> Self {
        let text = fs::read_to_string(repository().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
        let modules = Modules::read(&repository().join("runtime/src"));
        Self { floors: Floors::read(&text), edges: modules.edges(), modules }
    }

    /// The reason why a path from the crate's root is wrong.
    fn wrong(&self, from: &[String], to: &[String]) -> Option<&'static str> {
        let (from_floor, from_module) = self.floors.of(from)?;
        let Some((floor, module)) = self.floors.of(to) else {
            // The prelude re-exports names of the root.
            let is_at_the_top = self.floors.0.iter().all(|(floor, _)| *floor <= from_floor);
            return (!is_at_the_top).then_some("names the crate's root, and not what defines it");
        };
        let allowed =
            |(one, other): &(&str, &str)| from_module.join("/") == *one && module.join("/") == *other;
        if floor > from_floor {
            Some("goes up")
        } else if floor == from_floor && module != from_module && !SIDEWAYS.iter().any(allowed) {
            Some("goes sideways")
        } else {
            None
        }
    }
}

#[test]
fn imports_go_down() {
    let runtime = Runtime::read();
    let mut wrong = Vec::new();
    for (module, file) in &runtime.modules.0 {
        // The root itself is above everything.
        for path in file.paths.iter().filter(|_| !module.is_empty()) {
            let Some(to) = runtime.modules.absolute(module, path) else { continue };
            if let Some(how) = runtime.wrong(module, &to) {
                let (file, written) = (file.path.display(), path.segments.join("::"));
                wrong.push(format!("runtime/src/{file}:{}: `{written}` {how}", path.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of these:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_module_is_on_a_floor() {
    let runtime = Runtime::read();
    let is_on_none = |module: &&Vec<String>| {
        // `backends` is three rooms, and is itself only their names.
        let is_above_rooms = runtime.floors.0.iter().any(|(_, room)| room.starts_with(module));
        !is_above_rooms && runtime.floors.of(module).is_none()
    };
    let left: Vec<_> = runtime.modules.0.keys().filter(is_on_none).collect();
    assert!(left.is_empty(), "CONTRIBUTING's Layout has no row for {left:?}");
    let is_gone = |(_, module): &&(usize, Vec<String>)| !runtime.modules.0.contains_key(module);
    let gone: Vec<_> = runtime.floors.0.iter().filter(is_gone).collect();
    assert!(
        gone.is_empty() && !runtime.floors.0.is_empty(),
        "CONTRIBUTING's Layout has rows for {gone:?}, which are gone"
    );
}

fn needing_each_other(circle: &[Vec<String>]) -> String {
    let names: Vec<_> = circle.iter().map(|module| module.join("/")).collect();
    format!("{} need each other: {}", names.len(), names.join(" "))
}

#[test]
fn no_circle_is_larger_than_allowed() {
    let Runtime { floors, edges, .. } = Runtime::read();
    let mut files: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    let mut rooms: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (file, edges) in edges {
        let room = floors.room(&file);
        for Edge { to, .. } in edges {
            let its = floors.room(&to);
            if its == room {
                files.entry(file.clone()).or_default().insert(to);
            } else {
                rooms.entry(room.clone()).or_default().insert(its);
            }
        }
    }
    let large = circles(&files).into_iter().filter(|circle| circle.len() > LARGEST);
    let wrong: Vec<_> = large.chain(circles(&rooms)).map(|circle| needing_each_other(&circle)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
