//! [`Patience`]: how long a device waits for others before it has joined.

use std::time::Instant;

use crate::base::error::{DriverDetail, DriverError};
use crate::driver::DriverResult;
use crate::driver::collective::Joining;

/// How long a device waits for others before it has joined.
pub(super) struct Patience<'w> {
    world: &'w Joining,
    began: Instant,
}

impl<'w> Patience<'w> {
    pub(super) fn new(world: &'w Joining) -> Self {
        Self { world, began: Instant::now() }
    }

    /// An error once a rank is gone, or the time is over.
    pub(super) fn ask(&self) -> DriverResult<()> {
        let Joining { rank, size, limit, failure, .. } = self.world;
        let why = failure().or_else(|| {
            (self.began.elapsed() > *limit).then(|| {
                format!(
                    "rank {rank} has waited {} s for NCCL to connect the devices of {size} ranks\n  \
                     help: `NCCL_DEBUG=INFO` makes NCCL tell what it does",
                    limit.as_secs_f64()
                )
            })
        });
        why.map_or(Ok(()), |why| {
            let error = DriverError::new("ncclCommInitRankConfig", 999, "RANKS", why.clone());
            Err(error.with(DriverDetail::Ranks(why.into())))
        })
    }
}
