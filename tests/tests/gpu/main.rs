//! What only GPUs can show. `cargo test --test gpu -- --ignored` where there is one.

mod graph;
mod pipelines;
mod two;
