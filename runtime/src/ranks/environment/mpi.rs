//! The variables of MPI's launchers: OpenMPI's, and PMI's, which MPICH's and Intel's set. They give no address
//! of rank 0.

use super::ports::derived;
use super::seat::{Meeting, Seat};
use super::slurm;
use super::variables::{Pair, Variables};
use crate::base::error::RanksDetail;

/// The variables of a launcher.
struct Launcher {
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    local_size: &'static str,
    /// Variables that have the same value on all ranks of a job, and no other job's.
    job: &'static [&'static str],
    /// Whether `srun` may be what sets these variables.
    is_of_slurm_too: bool,
}

const LAUNCHERS: [Launcher; 2] = [
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
        job: &["OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"],
        is_of_slurm_too: false,
    },
    Launcher {
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local_rank: "MPI_LOCALRANKID",
        local_size: "MPI_LOCALNRANKS",
        job: &["PMI_JOBID", "PALS_APID", "PMI_PORT"],
        is_of_slurm_too: true,
    },
];

/// The seat, if variables of one of the launchers are set.
pub(super) fn seat(variables: &Variables<'_>) -> Result<Option<Seat>, RanksDetail> {
    for launcher in &LAUNCHERS {
        if let Some(pair) = variables.pair(&[launcher.rank], &[launcher.size])? {
            return launcher.seat(variables, &pair).map(Some);
        }
    }
    Ok(None)
}

impl Launcher {
    fn seat(&self, variables: &Variables<'_>, pair: &Pair) -> Result<Seat, RanksDetail> {
        let (rank, size) = (pair.rank, pair.size);
        let (local_rank, local_size) = variables.local(&[self.local_rank], &[self.local_size], pair)?;
        let token = variables.token_or(variables.text(self.job).map(|given| given.value));
        let (host, port) = (variables.text(&["MASTER_ADDR"]), variables.port()?);
        if host.is_none() && size > 1 && local_size != Some(size) {
            // `srun --mpi=pmi2` sets PMI's variables, and Slurm knows the hosts.
            let step = if self.is_of_slurm_too { slurm::seat(variables)? } else { None };
            return step
                .filter(|seat| (seat.rank, seat.size) == (rank, size))
                .ok_or_else(|| RanksDetail::NoAddress { given: pair.given.to_string() });
        }
        let ports = port.into_iter().chain(derived(port, token.as_deref().unwrap_or_default())).collect();
        let meeting = match host {
            _ if size == 1 => None,
            Some(host) => Some(Meeting { given: host.to_string(), host: host.value, ports }),
            None => Some(Meeting { given: pair.given.to_string(), host: "127.0.0.1".to_owned(), ports }),
        };
        Ok(Seat { rank, size, local_rank, local_size, token, meeting })
    }
}
