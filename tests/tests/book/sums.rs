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
        input x: [f32];
        output sums: [f64] per chunk;
        device parts: [f64; 264] per chunk; // what each block has added up
        device sum: [f64] per chunk;
        chunk c = 1 << 20;
        stage load { copy x -> dx; }
        stage add {
            sum_f32<<<264, 256>>>(c.len as u32, 264, &dx, out parts);
            sum_f64<<<1, 256>>>(264, 1, &parts, out sum);
        }
        stage store { copy sum -> sums; }
    }
}

fn total(device: &Device, x: &[f32]) -> thalweg::Result<f64> {
    let mut sums = Vec::new();
    Sums::new(device)?.run(x, sink::extend(&mut sums))?;
    Ok(sums.iter().sum())
}
// ANCHOR_END: sums

#[test]
fn all_chunks_are_added_up() -> thalweg::Result<()> {
    let x: Vec<f32> = (0..2_500_000).map(|i| (i % 5) as f32).collect();
    assert_eq!(total(&Device::simulated(Simulation::h200()), &x)?, 5_000_000.0);
    Ok(())
}

/// Each `pub safe fn …;` of the crate on a line of its own, file by file.
#[test]
fn the_page_lists_every_kernel() {
    let mut list = String::new();
    let mut count = 0;
    for path in files(&root().join("kernels/src"), "rs") {
        let source = fs::read_to_string(&path).expect("a source");
        let signatures: Vec<String> = source
            .match_indices("pub safe fn ")
            .map(|(at, start)| {
                let signature = source[at + start.len()..].split(';').next().unwrap_or_default();
                let words = signature.split_whitespace().collect::<Vec<_>>().join(" ");
                words.replace("( ", "(").replace(", )", ")")
            })
            .collect();
        if signatures.is_empty() {
            continue;
        }
        count += signatures.len();
        list += &format!("{}\n\n", signatures.join("\n"));
    }
    assert!(count > 35, "{count} kernels");
    recorded("kernels-signatures.txt", &list);
}
