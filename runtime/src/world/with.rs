//! [`WorldOptions`]: limits and a token with which a world is made.

use std::time::Duration;

use super::{World, next_number};
use crate::base::error::Result;
use crate::ranks::{Limits, Members, Seat};

/// Limits and a token with which a [`World`] is made.
///
/// ```
/// use std::time::Duration;
///
/// use thalweg::World;
///
/// let world = World::options().limit(Duration::from_secs(60)).from_env()?;
/// assert_eq!(world.size(), 1, "no launcher has started this");
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "options do nothing until a world is made of them"]
pub struct WorldOptions {
    limits: Limits,
    token: Option<String>,
}

impl WorldOptions {
    /// How long ranks wait for each other, five minutes if nothing is said: until all have met, until all have come to
    /// each run, and until a collective that has begun on one of them is over. Then each rank that has come gets an
    /// error. Up to the beginning of a run it names those that have not.
    pub fn limit(mut self, limit: Duration) -> Self {
        (self.limits.rendezvous, self.limits.gather) = (limit, limit);
        self
    }

    /// A secret that all ranks know, in place of what their launcher gives: `THALWEG_TOKEN`, torchrun's run, or the
    /// number of the job.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The world of this process's launcher, as [`World::from_env`] has it.
    ///
    /// # Errors
    /// Those of [`World::from_env`].
    pub fn from_env(self) -> Result<World> {
        let seat = Seat::from_environment(&|name| std::env::var(name).ok())?;
        self.take(seat)
    }

    /// A world by hand, as [`World::connect`] has it.
    ///
    /// # Errors
    /// Those of [`World::connect`].
    pub fn connect(self, rank: usize, size: usize, address: &str) -> Result<World> {
        let token = std::env::var("THALWEG_TOKEN").ok().filter(|token| !token.is_empty());
        let seat = Seat::by_hand(rank, size, address, token)?;
        self.take(seat)
    }

    /// The ranks of a world in this process, as [`World::together`] has them.
    pub fn together(self, ranks: usize) -> Vec<World> {
        let number = next_number();
        let members = Members::together(ranks, self.limits);
        members.into_iter().map(|members| World::new(members, number, None)).collect()
    }

    fn take(self, mut seat: Seat) -> Result<World> {
        seat.token = self.token.or(seat.token);
        let members = match &seat.meeting {
            None => Members::alone(),
            Some(_) => Members::meet(&seat, self.limits)?,
        };
        Ok(World::new(members, next_number(), None))
    }
}
