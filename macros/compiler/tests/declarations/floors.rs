//! The imports between the compiler's modules: they go down between its phases, the reader of CUDA sources
//! and the scheduler know no tokens of Rust, and the circles of files within a phase are small.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The modules of the crate, top first. A module imports from floors below its own; those of one floor import
/// nothing from each other.
const FLOORS: [&[&str]; 9] = [
    &["kernels", "rust_kernels"],
    &["codegen"],
    &["manual"],
    &["lower"],
    &["placement", "schedule"],
    &["check"],
    &["resolve"],
    &["syntax"],
    &["cuda_source", "diagnostics", "groups", "text"],
];

/// Modules that get by without tokens of Rust.
const WITHOUT_TOKENS: [&str; 2] = ["cuda_source", "schedule"];
const TOKENS: [&str; 3] = ["proc_macro2", "quote", "syn"];

/// The most files of a module that may import each other in a circle.
const LARGEST_CIRCLE: usize = 4;
/// The files of these modules share the items of their `mod.rs`.
const IN_A_CIRCLE: [&str; 1] = ["codegen"];

/// A module by its path from the crate's root, which is empty.
type Module = Vec<String>;

/// The files of a crate.
#[derive(Clone, Default)]
struct Sources {
    files: BTreeMap<Module, Vec<TokenTree>>,
}

/// The paths of one file.
struct Paths<'a> {
    sources: &'a Sources,
    /// The modules that they lead to.
    found: BTreeSet<Module>,
    /// The names that they begin with.
    first: BTreeSet<String>,
}

impl Sources {
    fn read() -> Self {
        let mut sources = Self::default();
        sources.folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &Module::new());
        sources
    }

    fn folder(&mut self, folder: &Path, module: &Module) {
        for entry in std::fs::read_dir(folder).expect("a folder of the crate") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let inner: Module = module.iter().cloned().chain([name.clone()]).collect();
            if path.is_dir() {
                self.folder(&path, &inner);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a file of the crate");
            let module = if matches!(&*name, "lib" | "mod") { module.clone() } else { inner };
            self.add(module, &text);
        }
    }

    fn add(&mut self, module: Module, text: &str) {
        let tokens = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{module:?}: {error}"));
        self.files.insert(module, tokens.into_iter().collect());
    }

    /// The innermost file that holds what is at a path.
    fn file_of(&self, path: &[String]) -> Module {
        let known = (0..=path.len()).rev().map(|length| &path[..length]);
        known.map(<[String]>::to_vec).find(|path| self.files.contains_key(path)).unwrap_or_default()
    }

    fn paths(&self, module: &Module) -> Paths<'_> {
        let mut paths = Paths { sources: self, found: BTreeSet::new(), first: BTreeSet::new() };
        paths.tokens(&self.files[module], module);
        paths
    }

    /// Each import that does not go down, and each name that its module must not know.
    fn wrong(&self) -> Vec<String> {
        let floor = |name: &String| FLOORS.iter().position(|floor| floor.contains(&name.as_str()));
        let mut wrong = Vec::new();
        for module in self.files.keys().filter(|module| !module.is_empty()) {
            let here = &module[0];
            let paths = self.paths(module);
            if WITHOUT_TOKENS.contains(&here.as_str()) {
                let known = TOKENS.iter().filter(|name| paths.first.contains(**name));
                wrong.extend(known.map(|name| format!("{} knows {name}", module.join("::"))));
            }
            for target in &paths.found {
                // The items of lib.rs are above all others.
                let there = target.first().map_or("the crate's root", String::as_str);
                let goes_down = target.first().is_some_and(|there| floor(here) < floor(there));
                if here != there && !goes_down {
                    wrong.push(format!("{} imports from {there}", module.join("::")));
                }
            }
        }
        wrong
    }

    /// The files of a folder that import each other, also by way of others.
    fn circles(&self, folder: &str) -> Vec<Vec<String>> {
        let files = self.files.keys().filter(|module| module.first().is_some_and(|first| first == folder));
        let mut reached: BTreeMap<&Module, BTreeSet<Module>> =
            files.map(|module| (module, self.paths(module).found)).collect();
        loop {
            let before: usize = reached.values().map(BTreeSet::len).sum();
            let step = reached.clone();
            for found in reached.values_mut() {
                let further: Vec<_> = found.iter().filter_map(|module| step.get(module)).flatten().collect();
                found.extend(further.into_iter().cloned());
            }
            if reached.values().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
        let mut circles: Vec<Vec<String>> = Vec::new();
        for (module, found) in &reached {
            let with =
                found.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*module)));
            let circle: Vec<_> = with.map(|module| module.join("::")).collect();
            if !circle.is_empty() && !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        circles
    }
}

impl Paths<'_> {
    /// Goes through tokens that stand in `module`.
    fn tokens(&mut self, tokens: &[TokenTree], module: &[String]) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let is_quoted = at > 0 && is(&tokens[at - 1], '#');
            match token {
                // `mod tests { … }`
                TokenTree::Ident(word) if word == "mod" => match &tokens[at + 1..] {
                    [TokenTree::Ident(name), TokenTree::Group(body), ..] => {
                        let inner: Module = module.iter().cloned().chain([name.to_string()]).collect();
                        self.tokens(&all(body.stream()), &inner);
                        at += 3;
                    }
                    _ => at += 2,
                },
                TokenTree::Ident(word) if word == "use" => {
                    at += 1 + self.used(&tokens[at + 1..], module, &[])
                }
                TokenTree::Ident(_) if !is_quoted => at += self.path(&tokens[at..], module).max(1),
                // `::core::mem` is another crate's.
                TokenTree::Punct(_) if begins_with_colons(&tokens[at..]) => at += 3,
                TokenTree::Group(group) => {
                    self.tokens(&all(group.stream()), module);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Adds the path that comes first, and gives the number of its tokens.
    fn path(&mut self, tokens: &[TokenTree], module: &[String]) -> usize {
        let (path, length) = names(tokens);
        // A name alone is a variable, or one that a `use` has brought.
        if path.len() > 1 {
            self.add(&path, module);
        }
        length
    }

    /// Adds the paths of a `use`, which go on behind `before`, and gives the number of tokens.
    fn used(&mut self, tokens: &[TokenTree], module: &[String], before: &[String]) -> usize {
        let (names, length) = names(tokens);
        let path = [before, &names].concat();
        match tokens.get(length) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inside = all(group.stream());
                for part in inside.split(|token| is(token, ',')).filter(|part| !part.is_empty()) {
                    self.used(part, module, &path);
                }
                length + 1
            }
            _ => {
                self.add(&path, module);
                length
            }
        }
    }

    fn add(&mut self, path: &[String], module: &[String]) {
        let Some((first, rest)) = path.split_first() else { return };
        self.first.insert(first.clone());
        let mut from = match first.as_str() {
            "crate" => Module::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len() - 1].to_vec(),
            child => {
                let child: Module = module.iter().cloned().chain([child.to_owned()]).collect();
                if !self.sources.files.contains_key(&child) {
                    return;
                }
                child
            }
        };
        for name in rest {
            if name == "super" {
                from.pop();
            } else {
                from.push(name.clone());
            }
        }
        let (here, there) = (self.sources.file_of(module), self.sources.file_of(&from));
        if here != there {
            self.found.insert(there);
        }
    }
}

fn all(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

/// The names of the path that comes first, and the number of its tokens, with a `::` that no name follows.
fn names(tokens: &[TokenTree]) -> (Vec<String>, usize) {
    let (mut names, mut at) = (Vec::new(), 0);
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        names.push(name.to_string());
        at += 1;
        if !begins_with_colons(&tokens[at..]) {
            break;
        }
        at += 2;
    }
    (names, at)
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn begins_with_colons(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [first, second, ..] if is(first, ':') && is(second, ':'))
}

#[test]
fn imports_go_down() {
    let sources = Sources::read();
    let modules: BTreeSet<_> = sources.files.keys().filter_map(|module| module.first()).collect();
    let listed: BTreeSet<_> = FLOORS.iter().copied().flatten().map(|name| (*name).to_owned()).collect();
    assert_eq!(modules, listed.iter().collect(), "each module has a floor");
    let wrong = sources.wrong();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn circles_of_files_are_small() {
    let sources = Sources::read();
    for module in FLOORS.iter().copied().flatten().filter(|module| !IN_A_CIRCLE.contains(module)) {
        let circles = sources.circles(module);
        let large: Vec<_> = circles.iter().filter(|circle| circle.len() > LARGEST_CIRCLE).collect();
        assert!(large.is_empty(), "files that import each other: {large:#?}");
    }
}

/// The two tests above find the mistakes in sources that have some.
#[test]
fn wrong_imports_are_found() {
    let as_it_is = Sources::read();
    let wrong = |module: &str, text: &str| {
        let mut sources = as_it_is.clone();
        sources.add(module.split("::").map(str::to_owned).collect(), text);
        (sources.wrong(), sources.circles("check"))
    };
    let up = |module: &str, text: &str| wrong(module, text).0;
    assert_eq!(up("resolve::names", "use crate::check::check;"), ["resolve::names imports from check"]);
    assert_eq!(
        up("resolve::names", "use super::super::{syntax, check as c};"),
        ["resolve::names imports from check"]
    );
    assert_eq!(
        up("cuda_source::lexer", "fn f() { crate::diagnostics::count() }"),
        ["cuda_source::lexer imports from diagnostics"]
    );
    assert_eq!(
        up("cuda_source::lexer", "use {std::fmt, crate::kernels::expand};"),
        ["cuda_source::lexer imports from kernels"]
    );
    assert_eq!(
        up("cuda_source::lexer", "mod tests { fn f(_: &syn::Type) {} }"),
        ["cuda_source::lexer knows syn"]
    );
    assert_eq!(up("schedule::order", "use quote::quote;"), ["schedule::order knows quote"]);
    assert_eq!(
        up("syntax::launch", "use crate::stream_pipeline;"),
        ["syntax::launch imports from the crate's root"]
    );
    // Comments, texts, variables and quoted code import nothing.
    assert!(up("schedule::order", "fn f(quote: char) -> bool { quote == 'x' }").is_empty());
    let text =
        "//! crate::check\nfn f() { quote!(#check::x); g(\"crate::check\") }\nmod tests { use super::f; }";
    assert!(up("resolve::names", text).is_empty());
    let (_, circles) = wrong("check::shapes", "use super::constant; mod inner { use super::super::launch; }");
    assert!(circles.iter().all(|circle| !circle.contains(&"check::shapes".to_owned())), "{circles:?}");
    let (_, circles) = wrong("check::constant", "use super::launch::check;");
    assert!(circles.contains(&vec!["check::constant".to_owned(), "check::launch".to_owned()]), "{circles:?}");
}
