//! Every block of code on a page is included from a file that is compiled, or from a text that a test has
//! recorded.

use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use thalweg_tests::book::listing;

use super::{files, root};

/// A fenced block of a page: its info string and its text.
pub(super) struct Block {
    pub page: PathBuf,
    pub kind: String,
    text: String,
}

/// The path and part that a line of a block includes.
pub(super) struct Included {
    pub path: PathBuf,
    /// The name of a listing, or a range of lines.
    part: Option<String>,
}

/// The blocks of all pages.
pub(super) fn blocks() -> Vec<Block> {
    let pages = files(&root().join("book/src"), "md");
    assert!(pages.len() > 100, "{} pages", pages.len());
    let mut blocks = Vec::new();
    for page in pages {
        let markdown = fs::read_to_string(&page).expect("a page");
        let mut fenced: Option<Block> = None;
        for event in Parser::new(&markdown) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) => {
                    fenced = Some(Block { page: page.clone(), kind: kind.to_string(), text: String::new() });
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                    panic!("{}: a block without a fence", page.display())
                }
                Event::Text(text) => {
                    if let Some(block) = &mut fenced {
                        block.text += &text;
                    }
                }
                Event::End(TagEnd::CodeBlock) => blocks.extend(fenced.take()),
                _ => (),
            }
        }
    }
    blocks
}

impl Block {
    /// The parts that it includes.
    ///
    /// # Panics
    ///
    /// If one of its lines is written on the page itself.
    pub fn included(&self) -> Vec<Included> {
        let folder = self.page.parent().expect("a page is in a folder");
        let lines = self.text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let inner = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
                let inner =
                    inner.unwrap_or_else(|| panic!("{}: `{line}` is not included", self.page.display()));
                let (path, part) = match inner.split_once(':') {
                    Some((path, part)) => (path, Some(part.to_owned())),
                    None => (inner, None),
                };
                let path = folder.join(path).canonicalize();
                Included {
                    path: path.unwrap_or_else(|error| panic!("{}: {inner}: {error}", self.page.display())),
                    part,
                }
            })
            .collect()
    }
}

impl Included {
    /// The text of a whole file, or of a named listing.
    pub fn text(&self) -> String {
        let source = fs::read_to_string(&self.path).expect("a text");
        match &self.part {
            Some(part) if part.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                listing(&source, part).map(|(_, line)| format!("{line}\n")).collect()
            }
            _ => source,
        }
    }

    /// Checks that the part exists. mdBook would show nothing instead.
    fn assert_is_there(&self, page: &Path) {
        let source = fs::read_to_string(&self.path).expect("a text");
        let Some(part) = &self.part else { return };
        let named = part.starts_with(|first: char| first.is_ascii_alphabetic());
        let there = if named {
            source.contains(&format!("ANCHOR_END: {part}\n"))
                && listing(&source, part).any(|(_, line)| !line.trim().is_empty())
        } else {
            let ends = part.split(':').filter(|end| !end.is_empty());
            let last = ends.map(|end| end.parse::<usize>().expect("the number of a line")).max();
            last.is_some_and(|last| source.lines().count() >= last)
        };
        assert!(there, "{}: {} has no `{part}`", page.display(), self.path.display());
    }
}

/// The texts that name the files which are compiled, run or compared: the sources of all tests and programs,
/// and CI's scripts.
struct Sources(String);

impl Sources {
    fn read() -> Self {
        let folders = ["tests", "examples", "kernels", "macros", "runtime", "book"];
        let mut paths: Vec<_> = folders.iter().flat_map(|folder| files(&root().join(folder), "rs")).collect();
        let scripts = fs::read_dir(root().join(".ci")).expect("CI's scripts");
        paths.extend(scripts.map(|entry| entry.expect("a script").path()));
        Self(paths.iter().map(|path| fs::read_to_string(path).expect("a text") + "\n").collect())
    }

    /// Whether one of them contains the text.
    fn say(&self, text: &str) -> bool {
        self.0.contains(text)
    }

    /// Whether a file is compiled, or compared with what something prints.
    fn know(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let within = path.strip_prefix(root()).expect("a file of the repository");
        let is_in = |folder: &str| within.parent() == Some(Path::new(folder));
        let named = || self.say(&format!("\"{name}\"")) || self.say(&format!("/{name}"));
        match path.extension().and_then(|extension| extension.to_str()) {
            // Cargo's programs, the compile errors and the expansions are all files of their folders.
            Some("rs") if is_in("tests/tests") || is_in("tests/expansions") => true,
            Some("rs") if is_in("examples/examples") || is_in("kernels/examples") => true,
            Some("rs" | "stderr") if within.starts_with("tests/ui") => path.with_extension("rs").exists(),
            // A workspace of its own, whose build needs `nvcc`.
            Some("rs") if within.starts_with("examples/candle") => true,
            Some("rs") => self.say(&format!("mod {stem};")) || named(),
            Some("txt") if is_in("examples/output") => self.say(&format!("(\"{stem}\", &[")),
            _ => named(),
        }
    }
}

#[test]
fn every_block_is_included_from_what_is_compiled_or_recorded() {
    let sources = Sources::read();
    let mut included = 0;
    for block in blocks() {
        match block.kind.as_str() {
            "rust,ignore" | "c++" | "python" | "text" => {
                let parts = block.included();
                assert!(!parts.is_empty(), "{}: an empty block", block.page.display());
                for part in &parts {
                    part.assert_is_there(&block.page);
                    let (page, path) = (block.page.display(), part.path.display());
                    assert!(sources.know(&part.path), "{page}: nothing compiles or records {path}");
                }
                included += parts.len();
            }
            // These are commands, lines of a manifest, drawings of streams over time, and single calls of
            // other libraries.
            "sh" | "toml" | "text,drawn" | "text,others" => (),
            kind => panic!("{}: what is a block of `{kind}`?", block.page.display()),
        }
    }
    assert!(included > 400, "{included} includes");
}

/// The page on the prelude lists every name of the prelude.
#[test]
fn the_page_on_the_prelude_has_all_of_it() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a text");
    let (prelude, page) = (read("runtime/src/prelude.rs"), read("book/src/reference.md"));
    // Each `pub use path::{a, b};` and `pub use path::a;`.
    let uses = prelude.split("pub use ").skip(1).map(|rest| rest.split_once(';').expect("it ends").0);
    let last = |path: &str| path.rsplit("::").next().expect("a name").trim().to_owned();
    let names = uses.flat_map(|path| match path.split_once('{') {
        Some((_, list)) => list.trim_end_matches('}').split(',').map(last).collect::<Vec<_>>(),
        None => vec![last(path)],
    });
    let names: Vec<_> = names.filter(|name| !name.is_empty()).map(|name| format!("`{name}`")).collect();
    let listed = page.split_once("## The prelude").expect("a heading").1;
    let missing: Vec<_> = names.iter().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(names.len() > 20 && missing.is_empty(), "{missing:?}");
}

/// Files that a page once showed are removed, and every recorded file is on a page.
#[test]
fn everything_beside_the_pages_is_on_one() {
    let folder = root().join("book/src");
    let mut pages: Vec<_> = files(&folder, "md");
    pages.push(root().join("README.md"));
    let shown: String = pages.iter().map(|page| fs::read_to_string(page).expect("a page")).collect();
    // A picture is made of a `.dot`.
    for extension in ["txt", "rs", "svg", "png", "mmd", "ebnf"] {
        for path in files(&folder, extension) {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            assert!(shown.contains(name), "no page shows {}", path.display());
        }
    }
}
