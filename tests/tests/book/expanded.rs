//! Loops that the macro writes, as pages show them. `BLESS=1` records them anew.

use thalweg_tests::book::{listing, recorded};

/// The body of `run` that a pipeline of a listing expands to.
fn expanded(source: &str, name: &str) -> String {
    let lines = listing(source, name).map(|(_, line)| line);
    let pipeline: Vec<_> = lines.skip_while(|line| !line.starts_with("stream_pipeline! {")).skip(1).collect();
    let end = pipeline.iter().position(|line| *line == "}").expect("the pipeline ends");
    let tokens = pipeline[..end].join("\n").parse().expect("the pipeline lexes");
    let file = syn::parse2(thalweg_compiler::stream_pipeline(tokens)).expect("the expansion is Rust");
    let text = prettyplease::unparse(&file);
    let from = text.lines().skip_while(|line| !line.contains("run.streams()"));
    let body: Vec<_> = from.take_while(|line| !line.contains("Result::Ok(())")).collect();
    let margin = body[0].len() - body[0].trim_start().len();
    body.iter().map(|line| format!("{}\n", line.get(margin..).unwrap_or_default())).collect()
}

#[test]
fn the_tutorials_pipeline() {
    let source = include_str!("../tutorial/c07_as_a_pipeline.rs");
    recorded("tutorial/13-expanded.txt", &expanded(source, "pipeline"));
}

/// The part of the page on branches that its text explains.
#[test]
fn a_branch() {
    let text = expanded(include_str!("../pipelines/blocks.rs"), "refine");
    let work: Vec<_> = text
        .lines()
        .skip_while(|line| !line.contains("'work: {"))
        .take_while(|line| !line.contains("'store: {"))
        .filter_map(|line| line.strip_prefix("    "))
        .collect();
    recorded("branches-expanded.txt", &work.join("\n"));
}
