//! What a section has measured, and how far it is from what is aimed at.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// What comes of a section.
pub struct Outcome {
    pub json: Value,
    pub aims: Vec<Aim>,
}

/// A figure beside what it should be.
pub struct Aim {
    pub name: &'static str,
    /// Such as `0.95 or more`.
    pub wanted: &'static str,
    /// The figure for each number of devices, or of threads.
    pub found: Vec<(usize, f64)>,
}

impl Outcome {
    /// Of a section that has nothing to do on this machine, for a reason that is printed.
    pub fn skipped(name: &str, why: &str) -> Self {
        println!("\n{name}: left out. {why}");
        Self { json: json!({ "skipped": why }), aims: Vec::new() }
    }
}

/// Prints all aims that have figures as one table with a column for each number of devices.
pub fn print(aims: &[Aim]) {
    let counts: BTreeSet<usize> = aims.iter().flat_map(|aim| &aim.found).map(|(count, _)| *count).collect();
    if counts.is_empty() {
        return;
    }
    let heads: String = counts.iter().map(|count| format!("{count:>9}")).collect();
    println!("\n{:<38}{:>16}{heads}", "figures and aims, by GPUs or threads", "aim");
    for Aim { name, wanted, found } in aims.iter().filter(|aim| !aim.found.is_empty()) {
        let of = |count: usize| found.iter().find(|(of, _)| *of == count).map(|(_, figure)| *figure);
        let cells = counts.iter().map(|count| of(*count).map_or("-".to_owned(), |it| format!("{it:.3}")));
        let cells: String = cells.map(|cell| format!("{cell:>9}")).collect();
        println!("{name:<38}{wanted:>16}{cells}");
    }
}

pub fn to_json(aims: &[Aim]) -> Value {
    let one = |aim: &Aim| json!({ "name": aim.name, "wanted": aim.wanted, "found": aim.found });
    aims.iter().map(one).collect()
}
