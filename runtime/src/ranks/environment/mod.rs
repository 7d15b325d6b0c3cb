//! Which rank this process is, and where the ranks meet, as the launcher's variables say it.
//!
//! The first of these that is there counts: torchrun's variables, which are also set by hand; those of MPI's
//! launchers; Slurm's, inside a step. Without any of them the process is a world of one.

mod host;
mod host_list;
mod mpi;
mod ports;
mod seat;
mod slurm;
#[cfg(test)]
mod tests;
mod torchrun;
mod variables;

pub(super) use host::host_name;
pub(super) use seat::at;
pub(crate) use seat::{Meeting, Seat};
use variables::Variables;

use crate::base::error::Result;

impl Seat {
    /// The seat that the environment gives this process. `get` reads a variable.
    ///
    /// # Errors
    ///
    /// Variables that belong together are not all set, or contradict each other, or have no meaning. The error
    /// names the variable and its value.
    pub(crate) fn from_environment(get: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let variables = Variables::new(get);
        let found = match torchrun::seat(&variables)? {
            Some(seat) => Some(seat),
            None => match mpi::seat(&variables)? {
                Some(seat) => Some(seat),
                None => slurm::seat(&variables)?,
            },
        };
        Ok(found.unwrap_or_else(Self::alone).checked()?)
    }
}
