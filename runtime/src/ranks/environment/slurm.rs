//! The variables of Slurm, which count inside a step only: a batch script and an interactive shell have them
//! too, and are no ranks.

use super::host_list::first_host;
use super::ports::derived;
use super::seat::{Meeting, Seat};
use super::variables::Variables;
use crate::base::error::RanksDetail;

/// The steps that run a batch script, what Slurm runs outside of all steps, and an interactive shell.
const NO_RANKS: [&str; 3] = ["4294967291", "4294967292", "4294967290"];

/// The seat, if this process belongs to a step.
pub(super) fn seat(variables: &Variables<'_>) -> Result<Option<Seat>, RanksDetail> {
    let Some(step) = variables.text(&["SLURM_STEP_ID", "SLURM_STEPID"]) else { return Ok(None) };
    if NO_RANKS.contains(&step.value.as_str()) {
        return Ok(None);
    }
    const RANK: &[&str] = &["SLURM_PROCID"];
    // The job's number of tasks may differ from the step's.
    const SIZE: &[&str] = &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"];
    let Some(pair) = variables.pair(RANK, SIZE)? else { return Err(step.without(RANK)) };
    let (local_rank, _) = variables.local(&["SLURM_LOCALID"], &[], &pair)?;
    let Some(job) = variables.text(&["SLURM_JOB_ID", "SLURM_JOBID"]) else {
        return Err(step.without(&["SLURM_JOB_ID"]));
    };
    let step = format!("{}.{}", job.value, step.value);
    let port = variables.port()?;
    let ports = port.into_iter().chain(derived(port, &step)).collect();
    let nodes = variables.text(&["SLURM_STEP_NODELIST"]);
    let meeting = match (variables.text(&["MASTER_ADDR"]), nodes) {
        _ if pair.size == 1 => None,
        (Some(host), _) => Some(Meeting { given: host.to_string(), host: host.value, ports }),
        (None, Some(nodes)) => match first_host(&nodes.value) {
            Some(host) => Some(Meeting { host, given: nodes.to_string(), ports }),
            None => return Err(nodes.wrong("is no list of hosts")),
        },
        (None, None) => return Err(pair.given.without(&["SLURM_STEP_NODELIST"])),
    };
    let token = variables.token_or(Some(step));
    Ok(Some(Seat { rank: pair.rank, size: pair.size, local_rank, local_size: None, token, meeting }))
}
