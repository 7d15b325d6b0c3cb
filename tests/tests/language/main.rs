//! What the macros accept, what they make of it and what they say of it: everything that is decided when a program is compiled.

mod attacks;
mod corpora;
mod error_index;
mod expansions;
mod explained;
mod floors;
mod forbidden;
mod notes;
mod plan;
mod plan_conflicts;
mod programs;
