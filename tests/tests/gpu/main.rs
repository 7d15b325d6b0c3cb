//! Tests of behaviour that only GPUs show. Run them with `cargo test --test gpu -- --ignored`.

mod graph;
mod pipelines;
mod several;
mod two;
mod visible;
