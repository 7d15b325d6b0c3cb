//! Phase 3, check: everything that can be wrong with a program whose names are right, except the order of its
//! operations, which the schedule makes.

mod blocks;
mod collectives;
pub mod constant;
mod control;
mod flow;
pub mod launch;
mod ranks;
mod scope;
mod shapes;
mod streams;
pub(crate) mod uniform;

pub use shapes::NOT_PLAIN_DATA;
pub use streams::{AUTO_DEPTH, HARDWARE_QUEUES};

use crate::diagnostics::Diagnostics;
use crate::resolve::Program;

/// Reports what is wrong with `program`.
pub fn check(program: &Program, diagnostics: &mut Diagnostics) {
    scope::check(program, diagnostics);
    shapes::check(program, diagnostics);
    flow::check(program, diagnostics);
    launch::check(program, diagnostics);
    blocks::check(program, diagnostics);
    streams::check(program, diagnostics);
    control::check(program, diagnostics);
    collectives::check(program, diagnostics);
    ranks::check(program, diagnostics);
}
