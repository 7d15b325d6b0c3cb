//! `#[kernels]`: right declarations are taken and wrong ones are not, tried on every edit of many
//! declarations.
//!
//! `THALWEG_KERNELS=folder cargo test -p thalweg-compiler --test declarations -- --ignored --nocapture`
//! tries the kernels of a folder.

mod acceptance;
mod declaration;
mod folder;
mod mutation;

use std::collections::BTreeMap;
use std::path::Path;

use mutation::Kind;

/// The number of declarations of one kind that were tried, and those that passed.
#[derive(Default)]
struct Count {
    tried: usize,
    passed: Vec<String>,
}

/// The declarations that were tried.
#[derive(Default)]
struct Tally {
    kernels: usize,
    kinds: BTreeMap<Kind, Count>,
    /// Right declarations that are refused, and why.
    refused: Vec<String>,
}

impl Tally {
    fn tried(&self) -> usize {
        self.kinds.values().map(|count| count.tried).sum()
    }

    fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.refused.extend(other.refused);
        for (kind, count) in other.kinds {
            let here = self.kinds.entry(kind).or_default();
            here.tried += count.tried;
            here.passed.extend(count.passed);
        }
    }

    fn passed(&self) -> usize {
        self.kinds.values().map(|count| count.passed.len()).sum()
    }
}

/// The number of edits of one kind that pass for a kernel of `shapes.cu`, and why. No edit of another kernel
/// passes.
#[rustfmt::skip]
const PASS: [(Kind, &str, usize, &str); 10] = [
    // These are right after all.
    (Kind::Width, "counts", 1, "two `#if`s of other conditions: each pair of their branches is right"),
    (Kind::SignOfChar, "letters", 3, "the sign of `char` is the platform's: it is `i8` or `u8`"),
    (Kind::SignOfEnum, "modes", 2, "the sign of an enum's integer says nothing: it is `u32` or `i32`"),
    (Kind::ElementOfVoid, "untyped", 4, "`void*` is to memory of any type"),
    (Kind::StructAlignment, "structs", 1, "`Flags` is aligned to one byte: nothing is aligned to less"),
    (Kind::NumberForStruct, "structs", 1, "a struct of one number is as good as the number"),
    // These are wrong: a union is any number of its size and alignment, and the layout of bit fields is not
    // known.
    (Kind::NumberForStruct, "either", 4, "`Either` is 8 bytes, aligned to 8: `u64` and, which is right, `f64`"),
    (Kind::StructSize, "bits", 2, "bit fields"),
    (Kind::StructAlignment, "bits", 2, "bit fields"),
    (Kind::NumberForStruct, "bits", 12, "bit fields"),
];

#[test]
fn the_kernels_of_this_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tally = folder::try_all(&root.join("tests/declarations/mutations"));
    for folder in ["kernels/cu", "tests/cu", "examples/examples"] {
        tally.add(folder::try_all(&root.join("../..").join(folder)));
    }
    assert_eq!(tally.refused, [""; 0], "right declarations");
    assert!(tally.kernels > 100 && tally.tried() > 4500, "{} of {} kernels", tally.tried(), tally.kernels);
    let mut passed = BTreeMap::new();
    for (kind, count) in &tally.kinds {
        for declaration in &count.passed {
            let kernel = declaration.split(['(', ' ']).skip_while(|word| *word != "fn").nth(1);
            *passed.entry((*kind, kernel.expect("a kernel"))).or_insert(0) += 1;
        }
    }
    let expected: BTreeMap<_, _> =
        PASS.into_iter().map(|(kind, kernel, count, _)| ((kind, kernel), count)).collect();
    assert_eq!(passed, expected, "wrong declarations that pass, of {}", tally.tried());
}

#[test]
#[ignore = "needs a folder with kernels"]
fn the_kernels_of_a_folder() {
    let folder = std::env::var("THALWEG_KERNELS").expect("THALWEG_KERNELS names a folder");
    let tally = folder::try_all(folder.as_ref());
    for refused in &tally.refused {
        println!("refused: {refused}");
    }
    for (kind, count) in &tally.kinds {
        for passed in &count.passed {
            println!("passed: {kind:?}: {passed}");
        }
    }
    for (kind, count) in &tally.kinds {
        println!("{kind:?}: {} of {} passed", count.passed.len(), count.tried);
    }
    println!("{} kernels, {} right declarations refused", tally.kernels, tally.refused.len());
    println!("{} wrong declarations, {} passed", tally.tried(), tally.passed());
}
