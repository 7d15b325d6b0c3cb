//! Where what is written may fault. Rust evaluates operands in their order, and C++ leaves it open, so that
//! operands that fault at different lines are kept in constants.

use super::{Emitter, Role};

/// Where an expression may fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultAt {
    Line(usize),
    /// At any line of a function that it calls.
    Called,
}

impl Emitter<'_> {
    /// A line as the argument of what may fault there. Functions have numbers of their own for their lines,
    /// since they may be in other files than the kernel.
    pub(super) fn place(&mut self, line: usize) -> String {
        self.faults.push(FaultAt::Line(line));
        match self.role {
            Role::Kernel => line.to_string(),
            Role::Device => format!("line({line})"),
        }
    }

    /// Writes something, and says where it may fault.
    pub(super) fn with_faults<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, Vec<FaultAt>) {
        let before = self.faults.len();
        let written = write(self);
        (written, self.faults[before..].to_vec())
    }
}

/// Whether it shows in a fault which of two operands is evaluated first.
pub(super) fn order_shows(first: &[FaultAt], second: &[FaultAt]) -> bool {
    first.iter().any(|one| second.iter().any(|other| one != other || *one == FaultAt::Called))
}
