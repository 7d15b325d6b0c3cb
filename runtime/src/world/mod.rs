//! Ranks: a program that runs several times, on one machine or many, on parts of its data ([`World`]).

mod collect;
mod device;
mod joined;
mod part;
mod running;
mod shuffle;
mod simulated;
mod split;
mod with;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;

pub use crate::base::collective::{Average, Number};
use crate::base::error::{Error, RanksDetail, Result};
use crate::device::Device;
use crate::ranks::Members;
use joined::Communicators;
pub(crate) use joined::Joined;
pub(crate) use running::Running;
pub use simulated::ranks;
pub use with::WorldOptions;

/// Numbers of worlds in this process.
static WORLDS: AtomicU32 = AtomicU32::new(0);

/// The ranks of a program: it runs once for each of them, in processes on one machine or on many, and each run has a
/// part of the data. Collective operations of pipelines (`all_reduce sum g;`) bring the parts together.
///
/// A launcher starts the processes, and tells each of them its rank: `torchrun`, `mpirun`, `srun`, or a shell.
/// [`from_env`](Self::from_env) reads what it says. Without a launcher there is a world of one, in which every program
/// runs unchanged. In tests [`sim::ranks`](crate::sim::ranks) runs a program as several ranks on simulated devices.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::sim::{MachineModel, ranks};
/// use thalweg_kernels::sum;
///
/// stream_pipeline! {
///     pipeline Totals {
///         input x: [f32];
///         output totals: [f64; 1] per chunk;
///         chunk c = 256;
///         stage load { copy x -> dx; }
///         stage add { sum::<f32><<<1, 256>>>(&dx, out own); }
///         stage share { all_reduce sum own; }
///         stage store { copy own -> totals; }
///         device own: [f64; 1] per chunk;
///     }
/// }
///
/// fn total(world: &World) -> thalweg::Result<f64> {
///     // Each rank has its part of 1,000 ones.
///     let x = vec![1.0; world.part(1000).len()];
///     let mut totals = [0.0];
///     Totals::options(&world.device()?).world(world).build()?.run(&x, &mut totals)?;
///     Ok(totals[0])
/// }
///
/// // A program begins with `total(&World::from_env()?)`.
/// for total in ranks(MachineModel::h200(4), total) {
///     assert_eq!(total?, 1000.0);
/// }
/// # Ok::<(), Error>(())
/// ```
///
/// Handles of one world are cheap to clone. Dropping the last one leaves the world, which others that still need this
/// rank see as an error.
#[derive(Clone)]
pub struct World(Arc<Inner>);

struct Inner {
    members: Arc<Members>,
    /// The number of the world in this process: ranks of [`World::together`] have the same one.
    number: u32,
    /// The device of a rank of [`ranks`], whose virtual time goes on while the rank waits for others.
    own: Option<Device>,
    joined: Mutex<Communicators>,
    /// Whether a run is under way.
    runs: AtomicBool,
    /// How often this rank has come to an agreement: as often as any other rank when one is complete.
    agreements: AtomicU64,
    /// The rank among those of its host, and how many these are, in the world from which this one was split.
    before: Option<(usize, usize)>,
}

impl World {
    /// The world of this process's launcher, or a world of one if there is none.
    ///
    /// The first of these that is set counts: the variables of torchrun (`RANK`, `WORLD_SIZE`, `MASTER_ADDR`,
    /// `MASTER_PORT`), which may also be set by hand; those of OpenMPI and of other launchers of MPI; those of Slurm,
    /// inside a job's step. Rank 0 listens, the others find it, and all wait until all are there, five minutes at most.
    ///
    /// # Errors
    /// [`ErrorKind::Environment`](crate::ErrorKind::Environment): variables contradict each other, or name no host.
    /// [`ErrorKind::Ranks`](crate::ErrorKind::Ranks): ranks have not come, or belong to another world; the text names
    /// them.
    pub fn from_env() -> Result<Self> {
        Self::options().from_env()
    }

    /// A world of `size` ranks, of which this process is `rank`. Rank 0 listens at `address`, such as `node7:29500` or
    /// `[::1]:29500`.
    ///
    /// # Errors
    /// Those of [`from_env`](Self::from_env); the address is none, or another program listens there.
    pub fn connect(rank: usize, size: usize, address: &str) -> Result<Self> {
        Self::options().connect(rank, size, address)
    }

    /// A world of one.
    pub fn alone() -> Self {
        Self::new(Members::alone(), next_number(), None)
    }

    /// The ranks of a world in this process, each for a thread of its own: on processors in tests, or on the GPUs of one
    /// machine. At least one.
    ///
    /// ```
    /// use thalweg::World;
    ///
    /// let worlds = World::together(3);
    /// assert_eq!(worlds.iter().map(World::rank).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn together(ranks: usize) -> Vec<Self> {
        Self::options().together(ranks)
    }

    /// Limits and a token with which a world is made.
    pub fn options() -> WorldOptions {
        WorldOptions::default()
    }

    pub(crate) fn new(members: Arc<Members>, number: u32, own: Option<Device>) -> Self {
        Self::of_part(members, number, own, None)
    }

    /// A world of some of another's ranks. `before`: the rank among those of its host there, and how many these are.
    fn of_part(
        members: Arc<Members>,
        number: u32,
        own: Option<Device>,
        before: Option<(usize, usize)>,
    ) -> Self {
        let (joined, runs, agreements) = (Mutex::default(), AtomicBool::new(false), AtomicU64::new(0));
        let inner = Arc::new(Inner { members, number, own, joined, runs, agreements, before });
        let weak = Arc::downgrade(&inner);
        inner.members.on_failure(move |failure| {
            if let Some(inner) = weak.upgrade() {
                inner.abort(failure);
            }
        });
        Self(inner)
    }

    /// This rank, from 0.
    pub fn rank(&self) -> usize {
        self.0.members.rank()
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.0.members.size()
    }

    /// This rank among those of its host, from 0.
    pub fn local_rank(&self) -> usize {
        self.0.members.local().0
    }

    /// The number of ranks of this host.
    pub fn local_size(&self) -> usize {
        self.0.members.local().1
    }

    /// Waits until all ranks are here.
    ///
    /// # Errors
    /// A rank does not come within the limit, does something else, or is gone.
    pub fn barrier(&self) -> Result<()> {
        self.gather("a barrier", &[]).map(drop)
    }

    /// The values of all ranks, in the order of ranks: small ones, such as a count or a sum of errors. What is on a device
    /// belongs into a pipeline.
    ///
    /// ```
    /// use thalweg::World;
    ///
    /// assert_eq!(World::alone().all_gather(7)?, [7]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank does not come within the limit, does something else, or is gone; the value has more than 64 KiB.
    pub fn all_gather<T: Pod>(&self, value: T) -> Result<Vec<T>> {
        let what = format!("an `all_gather` of `{}`", std::any::type_name::<T>());
        let all = self.gather(&what, bytemuck::bytes_of(&value))?;
        let read = |(rank, bytes): (usize, &Vec<u8>)| {
            let other =
                || RanksDetail::Disagree { why: format!("rank {rank} gives a value of another size") };
            bytemuck::try_pod_read_unaligned(bytes).map_err(|_| other().into())
        };
        all.iter().enumerate().map(read).collect()
    }

    /// Whether two handles are of the same world, on the same rank.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Comes to the next agreement with a few bytes, and returns those of all ranks.
    ///
    /// # Errors
    /// A rank does not come within the limit, does something else, or is gone.
    pub(crate) fn gather(&self, what: &str, payload: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.0.agreements.fetch_add(1, Ordering::Relaxed);
        let gathering = Arc::new(self.0.members.gather(what, payload));
        let Some(own) = &self.0.own else { return gathering.wait() };
        // Virtual time goes on without this rank, until all have come.
        let others = Arc::clone(&gathering);
        // The machine asks under its lock, which a failure of the world takes, too.
        let ticket = own.driver().step_aside(Box::new(move || others.is_over()));
        let all = gathering.wait();
        if let Some(ticket) = ticket {
            own.driver().come_back(ticket);
        }
        all
    }

    /// Waits for other ranks without a device, several times perhaps. Virtual time goes on meanwhile.
    fn aside<R>(&self, wait: impl FnOnce(&Arc<Members>) -> R) -> R {
        let Some(own) = &self.0.own else { return wait(&self.0.members) };
        let is_over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_over);
        let ticket = own.driver().step_aside(Box::new(move || asked.load(Ordering::Acquire)));
        let result = wait(&self.0.members);
        is_over.store(true, Ordering::Release);
        if let Some(ticket) = ticket {
            own.driver().come_back(ticket);
        }
        result
    }

    /// Comes to the next agreement, and does not wait for the others.
    pub(crate) fn answer(&self, what: &str, payload: &[u8]) {
        self.0.agreements.fetch_add(1, Ordering::Relaxed);
        drop(self.0.members.gather(what, payload));
    }

    /// The number of the world in this process.
    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    /// How often this rank has come to an agreement, with the last one.
    pub(crate) fn agreements(&self) -> u64 {
        self.0.agreements.load(Ordering::Relaxed)
    }

    /// Tells the others that this rank has failed, so that they stop.
    pub(crate) fn fail(&self, text: &str) {
        self.0.members.fail(text);
    }

    /// The first failure of the world, if there was one.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.0.members.failure()
    }
}

impl Inner {
    fn joined(&self) -> Vec<Arc<Joined>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner).alive()
    }

    /// Ends what waits for other ranks on this rank's devices.
    fn abort(&self, failure: &Error) {
        let why = failure.to_string();
        for joined in self.joined() {
            joined.abort(&why);
        }
    }
}

pub(crate) fn next_number() -> u32 {
    WORLDS.fetch_add(1, Ordering::Relaxed)
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}
