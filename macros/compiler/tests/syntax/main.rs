//! `stream_pipeline!` as a language: its grammar, its tokens, and what its expansion looks like.

// Before those that use its macro.
#[macro_use]
#[path = "../common/say.rs"]
mod say;

#[path = "../common/chain.rs"]
mod chain;
mod collectives;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/emitted.rs"]
mod emitted;
mod expansion_size;
mod fuzz;
mod grammar;
mod mistakes;
#[path = "../common/page.rs"]
mod page;
mod picture;
#[path = "../common/random.rs"]
mod random;
mod scope;
mod tokens;
