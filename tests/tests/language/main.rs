//! What the macros accept, generate and report: everything that is decided when a program is compiled.

mod attacks;
mod corpora;
mod error_index;
mod expansions;
mod explained;
mod floors;
mod forbidden;
mod methods;
mod notes;
mod plan;
mod plan_conflicts;
mod programs;
