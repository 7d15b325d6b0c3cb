//! The numbers of kernels that are written in Rust: the headers in `runtime/src/base/in_rust` give C++ the
//! meaning of Rust's operators, casts and methods. Here each is tried on many values, and compared with
//! native Rust.

mod cases;
mod casts;
mod floats;
mod gpu;
mod integers;
mod nvrtc;
mod program;
mod values;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cases::{Case, Cases};
use program::Count;

fn all() -> Vec<Case> {
    let mut cases = Cases::default();
    integers::write(&mut cases);
    floats::write(&mut cases);
    casts::write(&mut cases);
    cases.0
}

impl Count {
    fn print_and_assert(&self, cases: &[Case]) {
        let Self { functions, types, cases: count, tries, faults, off, differences } = self;
        let off: Vec<_> = off.iter().map(|((name, ty), most)| format!("{ty}::{name} {most}")).collect();
        println!("{functions} operators and functions, {types} types, {count} of both, {tries} tries");
        println!("{faults} faults, {} differences; most floats apart: {}", differences.len(), off.join(", "));
        assert_eq!(*tries, cases.iter().map(Case::tries).sum());
        assert!(differences.is_empty(), "{}", differences[..differences.len().min(60)].join("\n"));
        // Nothing passes because it was not tried.
        assert!(*functions > 110 && *types == 13 && *count > 1000 && *tries > 6_000_000 && *faults > 450_000);
    }
}

#[test]
fn a_host_computes_as_rust_does() {
    let cases = all();
    let folder = tempfile::tempdir().expect("a folder");
    let count = program::compare(&cases, program::run(&cases, folder.path()));
    count.print_and_assert(&cases);
}

/// The list of the translator is read as text.
#[test]
fn every_method_of_kernels_is_tried_for_every_type() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../macros/compiler/src/rust_kernels/methods.rs");
    let list = fs::read_to_string(list).expect("the list");
    let cases = all();
    let tried: BTreeSet<_> = cases.iter().map(|case| (case.name, case.types[0])).collect();
    let unsigned = ["u8", "u16", "u32", "u64", "usize"];
    let signed = ["i8", "i16", "i32", "i64", "isize"];
    let floats = ["f32", "f64"];
    let mut methods = 0;
    for line in list.lines() {
        let Some((name, rest)) =
            line.trim().strip_prefix("method(\"").and_then(|rest| rest.split_once("\", "))
        else {
            continue;
        };
        let of = rest.split_once(',').expect("its types").0;
        let types = match of {
            "Integers" => [unsigned, signed].concat(),
            "Signed" => signed.to_vec(),
            "Unsigned" => unsigned.to_vec(),
            // Halves are tried by `--test rust_kernels`, in all of their values.
            "Floats" | "AnyFloat" => floats.to_vec(),
            "Halves" => Vec::new(),
            "Numbers" => [&unsigned[..], &signed, &floats].concat(),
            _ => panic!("what is `{of}`?"),
        };
        methods += 1;
        for ty in types {
            assert!(tried.contains(&(name, ty)), "{ty}::{name} is not tried");
        }
    }
    assert!(methods >= 90, "only {methods} methods");
}
