//! Random kernels in Rust: what rustc makes of them is compared with what the compiler makes of them in C++.

mod atomics;
mod blocks;
mod borrows;
mod compare;
mod constants;
mod control;
mod data;
mod expressions;
mod generator;
mod halves;
mod literals;
mod loops;
mod methods;
mod module;
mod native;
mod scope;
mod shrink;
mod statements;
mod structs;
mod translated;
mod types;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg_compiler::rust_kernels::Build;

use compare::compare_one;
use data::ROUNDS;
use generator::Counts;
use module::Module;
use native::Native;
use translated::Translated;

use super::FOLDER;

/// What was tried.
#[derive(Debug, Default)]
struct Tried {
    kernels: usize,
    threads: usize,
    elements: usize,
    /// Threads that have panicked, and blocks of kernels in blocks.
    faults: usize,
    /// Those whose panic is in the standard library, which says nothing of the line.
    faults_elsewhere: usize,
    /// Launches in which no thread has panicked.
    launches_without: usize,
    launches: usize,
}

impl Tried {
    fn add(&mut self, other: &Self) {
        self.kernels += other.kernels;
        self.threads += other.threads;
        self.elements += other.elements;
        self.faults += other.faults;
        self.faults_elsewhere += other.faults_elsewhere;
        self.launches += other.launches;
        self.launches_without += other.launches_without;
    }
}

/// A kernel that does not do the same in both languages.
struct Difference {
    module: Module,
    build: Build,
    wrong: Wrong,
}

/// Where the two part.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    /// The compiler refuses the kernel.
    Refused(String),
    /// rustc does.
    Rust(String),
    /// The C++ does not compile.
    Cpp(String),
    /// The launch of the C++ has ended.
    Launch(String),
    /// A thread has faulted elsewhere, or not at all.
    Fault(String),
    /// A result is another.
    Result(String),
}

impl Wrong {
    fn is_like(&self, other: &Self) -> bool {
        let is_same_kind = std::mem::discriminant(self) == std::mem::discriminant(other);
        is_same_kind && self.error() == other.error()
    }

    /// The first error of a compiler, without its numbers.
    fn error(&self) -> Option<String> {
        let (Self::Refused(text) | Self::Rust(text) | Self::Cpp(text)) = self else { return None };
        let line = text.lines().find(|line| line.contains("error") || line.contains("[TW"))?;
        let line = line.split_once("[TW").map_or(line, |(_, after)| after);
        Some(line.chars().filter(|letter| !letter.is_ascii_digit()).collect())
    }

    fn text(&self) -> &str {
        match self {
            Self::Refused(text)
            | Self::Rust(text)
            | Self::Cpp(text)
            | Self::Launch(text)
            | Self::Fault(text)
            | Self::Result(text) => text,
        }
    }
}

/// Compares kernels in one build, in as few files as possible.
fn compare(modules: &[Module], build: Build, tried: &mut Tried, found: &mut Vec<Difference>) {
    let compiled = compiled(modules, build);
    let (native, translated) = match (compiled, modules) {
        (Ok(both), _) => both,
        (Err(wrong), [module]) => return found.push(Difference { module: module.clone(), build, wrong }),
        // One of them does not compile.
        (Err(_), several) => {
            for half in several.chunks(several.len().div_ceil(2)) {
                compare(half, build, tried, found);
            }
            return;
        }
    };
    for module in modules {
        tried.kernels += 1;
        for round in 0..ROUNDS {
            if let Err(wrong) = compare_one(module, round, &native, &translated, tried) {
                found.push(Difference { module: module.clone(), build, wrong });
                break;
            }
        }
    }
}

fn compiled(modules: &[Module], build: Build) -> Result<(Native, Translated), Wrong> {
    let folder = Path::new(FOLDER);
    std::fs::create_dir_all(folder).expect("a folder for programs");
    let file = native::file(modules);
    let (text, names) = translated::text(&file, modules, build).map_err(Wrong::Refused)?;
    let native = Native::compile(folder, &file, build).map_err(Wrong::Rust)?;
    Ok((native, Translated::compile(folder, &text, names).map_err(Wrong::Cpp)?))
}

/// The first difference of one kernel.
fn first_wrong(module: &Module, build: Build) -> Option<Wrong> {
    let mut found = Vec::new();
    compare(std::slice::from_ref(module), build, &mut Tried::default(), &mut found);
    found.pop().map(|difference| difference.wrong)
}

/// What a difference is, with the smallest kernel that has it.
fn explained(Difference { module, build, wrong }: &Difference) -> String {
    let small = shrink::shrunk(module, |module| {
        first_wrong(module, *build).is_some_and(|other| other.is_like(wrong))
    });
    let wrong = first_wrong(&small, *build).unwrap_or_else(|| wrong.clone());
    let file = native::file(std::slice::from_ref(&small));
    let lines: Vec<_> = file.lines().collect();
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap_or_default();
    let (first, last) =
        (at(&format!("mod m{} {{", small.seed)), at("#[unsafe(no_mangle)]").max(at("pub unsafe extern")));
    let rust: String =
        (first..last.min(lines.len())).map(|line| format!("{:4} {}\n", line + 1, lines[line])).collect();
    let cpp = match translated::text(&file, std::slice::from_ref(&small), *build) {
        Ok((text, _)) => text[text.find("namespace in_rust_0").unwrap_or_default()..].to_owned(),
        Err(error) => error,
    };
    format!("--- kernel {}, {build:?}: {}\n{rust}\n{cpp}", small.seed, wrong.text())
}

/// The modules of a file.
const BATCH: usize = 25;

/// So many kernels call every method.
const ALL_METHODS: u64 = 500;

/// Every other file is compiled as a debug build, and the rest as release builds.
///
/// `THALWEG_RANDOM_KERNELS` is how many kernels are tried, and `THALWEG_SEED` the first of their seeds. Of
/// `THALWEG_EXPLAIN` kernels that differ, the smallest kernel with the same difference is written.
#[test]
fn kernels_do_the_same_in_both_languages() {
    let number = |name: &str, usual| {
        std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
    };
    let (seed, count) = (number("THALWEG_SEED", 1), number("THALWEG_RANDOM_KERNELS", 200));
    let mut counts = Counts::new();
    let mut modules = Vec::new();
    for seed in seed..seed + count {
        let (module, of_module) = module::module(seed);
        for (construct, times) in of_module {
            *counts.entry(construct).or_default() += times;
        }
        modules.push(module);
    }
    // The build follows from the seed, so that one kernel by itself has the same as among the others.
    let build = |first: &Module| match first.seed.saturating_sub(1) / BATCH as u64 % 2 {
        0 => Build::Debug,
        _ => Build::Release,
    };
    let work: Vec<_> = modules.chunks(BATCH).map(|modules| (modules, build(&modules[0]))).collect();
    let (next, all) = (AtomicUsize::new(0), Mutex::new((Tried::default(), Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((modules, build)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (mut tried, mut found) = (Tried::default(), Vec::new());
                    compare(modules, *build, &mut tried, &mut found);
                    let mut all = all.lock().expect("no other has panicked");
                    all.0.add(&tried);
                    all.1.extend(found);
                }
            });
        }
    });
    let (tried, mut found) = all.into_inner().expect("no thread has panicked");
    println!("{tried:?}\n{counts:?}");
    let never: Vec<_> = methods::all().into_iter().filter(|name| !counts.contains_key(name)).collect();
    assert!(count < ALL_METHODS || never.is_empty(), "no kernel calls {never:?}");
    // What is computed wrongly is worse than what is refused.
    found.sort_by_key(|difference| match difference.wrong {
        Wrong::Result(_) => 0,
        Wrong::Fault(_) => 1,
        Wrong::Launch(_) => 2,
        _ => 3,
    });
    for difference in found.iter().take(number("THALWEG_EXPLAIN", 3) as usize) {
        println!("{}", explained(difference));
    }
    let told: Vec<_> = found
        .iter()
        .map(|Difference { module, build, wrong }| {
            format!(
                "kernel {}, {build:?}: {}",
                module.seed,
                wrong.text().lines().take(2).collect::<Vec<_>>().join("\n    ")
            )
        })
        .collect();
    assert!(found.is_empty(), "{} kernels differ:\n{}", found.len(), told.join("\n"));
}
