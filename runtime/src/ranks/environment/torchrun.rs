//! The variables of torchrun, which programs and people set by hand as well.

use super::ports::derived;
use super::seat::{Meeting, Seat};
use super::variables::Variables;
use crate::base::error::RanksDetail;

/// The seat, if these variables are set.
pub(super) fn seat(variables: &Variables<'_>) -> Result<Option<Seat>, RanksDetail> {
    let Some(pair) = variables.pair(&["RANK"], &["WORLD_SIZE"])? else { return Ok(None) };
    let (local_rank, local_size) = variables.local(&["LOCAL_RANK"], &["LOCAL_WORLD_SIZE"], &pair)?;
    let run = variables.text(&["TORCHELASTIC_RUN_ID"]);
    let restarts = variables.text(&["TORCHELASTIC_RESTART_COUNT"]).map_or(String::new(), |given| given.value);
    // After a restart, a rank of the time before must not take part.
    let token = variables.token_or(run.as_ref().map(|run| format!("{}:{restarts}", run.value)));
    let (host, port) = (variables.text(&["MASTER_ADDR"]), variables.port()?);
    let meeting = match (host, port) {
        _ if pair.size == 1 => None,
        (Some(host), Some(port)) => {
            let others = derived(Some(port), token.as_deref().unwrap_or_default());
            // torchrun's own store listens on the port that it gives.
            let own = run.is_none().then_some(port);
            let ports = own.into_iter().chain(others).collect();
            Some(Meeting { given: host.to_string(), host: host.value, ports })
        }
        (None, _) => return Err(pair.given.without(&["MASTER_ADDR"])),
        (_, None) => return Err(pair.given.without(&["MASTER_PORT"])),
    };
    Ok(Some(Seat { rank: pair.rank, size: pair.size, local_rank, local_size, token, meeting }))
}
