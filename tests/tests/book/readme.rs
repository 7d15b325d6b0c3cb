//! The README's second program, whose result is another array than its input: the README shows what is
//! compiled and run here. And the command that the README names first.

use thalweg_tests::book::listing;

// ANCHOR: scale
use thalweg::prelude::*;

/// `z[i] = a * x[i] + b`.
#[kernel]
fn scale(i: Index, a: f32, b: f32, x: &[f32], z: &mut Out<[f32]>) {
    let Some(z) = z.get_mut(i) else { return }; // no other thread has this element
    *z = a * x[i] + b;
}

stream_pipeline! {
    /// `z <- a * x + b`, chunk by chunk.
    pipeline Scale {
        param a: f32;
        param b: f32;
        input x: [f32];
        output z: [f32];
        device dz: [f32];                    // no copy declares it

        chunk c = auto;

        stage load  { copy x -> dx; }
        stage scale { scale<<<blocks(c.len, 256), 256>>>(a, b, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}
// ANCHOR_END: scale

#[test]
fn a_result_goes_to_another_array() -> thalweg::Result<()> {
    let (x, mut z) = (vec![1.0; 1000], vec![0.0; 1000]);
    Scale::new(&Device::simulated(Simulation::default()))?.run(3.0, 2.0, &x, &mut z)?;
    assert_eq!(z, [5.0; 1000]);
    Ok(())
}

#[test]
fn the_readme_shows_it() {
    let (own, readme) = (include_str!("readme.rs"), include_str!("../../../README.md"));
    let code: String = listing(own, "scale").map(|(_, line)| format!("{line}\n")).collect();
    let block = format!("```rust,ignore\n{code}```\n");
    assert!(code.contains("out dz") && readme.contains(&block), "the README shows another:\n{block}");
}

/// `-p` keeps the features of the workspace's other packages out of what a reader compiles first.
#[test]
fn the_first_command_selects_one_package() {
    const COMMAND: &str = "cargo run --release -p thalweg-kernels --example quickstart\n";
    let texts = [
        include_str!("../../../README.md"),
        include_str!("../../../book/src/first-pipeline.md"),
        include_str!("../../../kernels/examples/quickstart.rs"),
    ];
    for text in texts {
        assert_eq!(text.matches("--example quickstart").count(), text.matches(COMMAND).count(), "{text}");
        assert!(text.contains(COMMAND), "{text}");
    }
}
