//! A sum by the ready-made kernels, as the page on kernels shows it; and the list of those kernels.

use std::fs;

use thalweg_tests::book::recorded;

use super::{files, root};

// ANCHOR: sums
use thalweg::io::sink;
use thalweg::prelude::*;
use thalweg_kernels::{sum_f32, sum_f64};

stream_pipeline! {
    /// The sum of each chunk.
    pipeline Sums {
        param blocks: u32;
        input x: [f32];
        output sums: [f64] per chunk;
        device parts: [f64; blocks as usize] per chunk; // what each block has added up
        device sum: [f64] per chunk;
        chunk c = 1 << 20;
        stage load { copy x -> dx; }
        stage add {
            sum_f32<<<blocks, 256>>>(&dx, out parts);
            sum_f64<<<1, 256>>>(&parts, out sum);
        }
        stage store { copy sum -> sums; }
    }
}

fn total(device: &Device, x: &[f32]) -> thalweg::Result<f64> {
    let mut sums = Vec::new();
    Sums::new(device)?.run(16 * device.multiprocessors(), x, sink::extend(&mut sums))?;
    Ok(sums.iter().sum())
}
// ANCHOR_END: sums

#[test]
fn all_chunks_are_added_up() -> thalweg::Result<()> {
    let x: Vec<f32> = (0..2_500_000).map(|i| (i % 5) as f32).collect();
    assert_eq!(total(&Device::simulated(Simulation::h200()), &x)?, 5_000_000.0);
    Ok(())
}

/// What stands before each kernel's name.
const KERNELS: [&str; 2] = ["pub safe fn ", "#[kernel"];

/// The signatures of a file's kernels, in its order.
fn signatures(source: &str) -> Vec<String> {
    let mut found: Vec<_> = KERNELS.iter().flat_map(|start| source.match_indices(start)).collect();
    found.sort_unstable();
    let signature = |(at, start): (usize, &str)| {
        let rest = &source[at + start.len()..];
        let (signature, types) = match rest.split_once("pub fn ") {
            // `(T in [f32, f64])]` and other attributes come before the function.
            Some((attributes, function)) if start == KERNELS[1] => {
                let types = attributes.split_once(" in ").and_then(|(name, rest)| {
                    Some(format!(
                        " for each `{}` of {}]",
                        name.trim_start_matches('('),
                        rest.split_once(']')?.0
                    ))
                });
                (function.split(" {").next().unwrap_or_default(), types.unwrap_or_default())
            }
            _ => (rest.split(';').next().unwrap_or_default(), String::new()),
        };
        let words = signature.split_whitespace().collect::<Vec<_>>().join(" ");
        words.replace("( ", "(").replace(",)", ")").replace(", )", ")") + &types
    };
    // `#[kernels(…)]` is on the blocks of the others.
    found.retain(|&(at, start)| !source[at + start.len()..].starts_with('s'));
    found.into_iter().map(signature).collect()
}

/// The signature of each kernel of the crate on a line of its own, file by file.
#[test]
fn the_page_lists_every_kernel() {
    let mut list = String::new();
    let mut count = 0;
    for path in files(&root().join("kernels/src"), "rs") {
        let signatures = signatures(&fs::read_to_string(&path).expect("a source"));
        if signatures.is_empty() {
            continue;
        }
        count += signatures.len();
        list += &format!("{}\n\n", signatures.join("\n"));
    }
    assert!(count > 30, "{count} kernels");
    recorded("kernels-signatures.txt", &list);
}
