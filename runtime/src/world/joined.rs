//! [`Joined`]: a device that is part of a world.

use std::fmt;
use std::sync::{Arc, PoisonError, Weak};

use super::World;
use crate::base::error::{Error, RanksDetail, Result};
use crate::device::Device;
use crate::driver::collective::exchanged::{Exchange, Receives, Sends};
use crate::driver::collective::{Joining, RawCommunicator};
use crate::ranks::Members;

/// A device's part in a world, until this is dropped.
pub(crate) struct Joined {
    device: Device,
    communicator: RawCommunicator,
    /// The number of the communicator in this process.
    number: u64,
}

impl Joined {
    pub(crate) fn communicator(&self) -> RawCommunicator {
        self.communicator
    }

    /// Ends everything on the communicator that waits for other ranks.
    pub(super) fn abort(&self, why: &str) {
        self.device.driver().abort(self.number, why);
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        // SAFETY: each run that enqueues on the communicator holds the pipeline that holds this, and has drained when it
        // returns. If the device did not answer, nothing can be enqueued on it any more.
        unsafe { self.device.driver().leave(self.communicator) };
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in a world", self.device)
    }
}

/// The devices of a world that have joined.
#[derive(Default)]
pub(super) struct Communicators {
    /// How many communicators there have been, which is the same on all ranks.
    made: usize,
    /// Those that may still be in use, by their places among all.
    alive: Vec<(usize, Weak<Joined>)>,
}

impl Communicators {
    fn add(&mut self, joined: &Arc<Joined>) {
        self.alive.retain(|(_, joined)| joined.strong_count() > 0);
        self.alive.push((self.made, Arc::downgrade(joined)));
        self.made += 1;
    }

    pub(super) fn alive(&self) -> Vec<Arc<Joined>> {
        self.alive.iter().filter_map(|(_, joined)| joined.upgrade()).collect()
    }
}

impl Exchange for Members {
    fn rank(&self) -> usize {
        self.rank()
    }

    fn size(&self) -> usize {
        self.size()
    }

    fn exchange(&self, sends: &Sends<'_>, receives: &mut Receives<'_>) -> std::result::Result<(), String> {
        self.exchange(sends, receives).map_err(|error| error.to_string())
    }
}

/// What a rank says of the device that it brings.
struct Brings {
    /// What tells the pipeline from others.
    fingerprint: [u8; 32],
    /// The place of a communicator that the rank has already for this device.
    known: u64,
    process: u64,
    /// The number of the world in its process.
    world: u64,
    /// Whether it is a GPU.
    gpu: bool,
    /// The simulated machine of the device, and its number there.
    machine: Option<[u64; 2]>,
}

/// Stands for a communicator that there is not.
const NONE: u64 = u64::MAX;

impl Brings {
    fn write(&self) -> Vec<u8> {
        let [machine, device] = self.machine.unwrap_or([NONE; 2]);
        let numbers = [self.known, self.process, self.world, u64::from(self.gpu), machine, device];
        let numbers = numbers.into_iter().flat_map(u64::to_le_bytes);
        self.fingerprint.into_iter().chain(numbers).collect()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, numbers) = bytes.split_first_chunk::<32>()?;
        let (numbers, rest) = numbers.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let &[known, process, world, gpu, machine, device] = numbers.as_slice() else { return None };
        let machine = (machine != NONE).then_some([machine, device]);
        let (fingerprint, gpu) = (*fingerprint, gpu != 0);
        rest.is_empty().then_some(Self { fingerprint, known, process, world, gpu, machine })
    }
}

impl World {
    /// Lets a device be part of the world, for a pipeline that all ranks build. `None` in a world of one.
    ///
    /// # Errors
    /// A rank builds another pipeline, does not come, or brings a device that another rank has; the device has no way to
    /// other ranks.
    pub(crate) fn join(
        &self,
        device: &Device,
        pipeline: &'static str,
        fingerprint: &[u8; 32],
    ) -> Result<Option<Arc<Joined>>> {
        if self.size() == 1 {
            return Ok(None);
        }
        let driver = device.driver();
        let known = self.known(device);
        let brings = Brings {
            fingerprint: *fingerprint,
            known: known.as_ref().map_or(NONE, |(place, _)| *place as u64),
            process: u64::from(std::process::id()),
            world: u64::from(self.0.number),
            gpu: device.is_gpu(),
            machine: driver.meeting_place().map(|(machine, device)| [machine as u64, device as u64]),
        };
        let all = self.gather(&format!("the building of `{pipeline}`"), &brings.write())?;
        let all: Option<Vec<Brings>> = all.iter().map(|bytes| Brings::read(bytes)).collect();
        let all =
            all.ok_or_else(|| disagree("a rank says what this version does not understand".to_owned()))?;
        if let Some(rank) = all.iter().position(|other| other.fingerprint != all[0].fingerprint) {
            let why = format!(
                "rank 0 builds `{pipeline}`, and rank {rank} another pipeline of this name: all need the same source"
            );
            return Err(disagree(why));
        }
        if let Some(rank) = all.iter().position(|other| other.gpu != all[0].gpu) {
            let [first, other] = if all[0].gpu { ["a GPU", "none"] } else { ["no GPU", "one"] };
            return Err(disagree(format!("rank 0 brings {first}, and rank {rank} {other}")));
        }
        let meets = all[0].machine.is_some()
            && all.iter().all(|other| {
                other.process == all[0].process
                    && other.machine.map(|[machine, _]| machine) == all[0].machine.map(|[machine, _]| machine)
            });
        if meets {
            for (rank, other) in all.iter().enumerate() {
                if let Some(first) = all[..rank].iter().position(|one| one.machine == other.machine) {
                    return Err(disagree(format!("ranks {first} and {rank} have the same device")));
                }
            }
        }
        if let Some((_, joined)) = known.filter(|_| all.iter().all(|other| other.known == all[0].known)) {
            return Ok(Some(joined));
        }
        // Ranks that meet have one process, in which no two worlds have the same number.
        let number = if meets { all[0].world } else { u64::from(self.0.number) };
        self.make_communicator(device, number, meets).map(Some)
    }

    /// The communicator of a device that has joined before, and its place.
    fn known(&self, device: &Device) -> Option<(usize, Arc<Joined>)> {
        let joined = self.0.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let mut alive = joined.alive.iter().filter_map(|(place, joined)| Some((*place, joined.upgrade()?)));
        alive.find(|(_, joined)| joined.device.same(device))
    }

    /// What rank 0's device gives out, on all ranks. If a device cannot join, all are told.
    fn identity(&self, device: &Device) -> Result<Vec<u8>> {
        let own = match self.rank() {
            0 => device.driver().identity_of_world(),
            _ => device.driver().may_join().map(|()| Vec::new()),
        };
        let payload = match &own {
            Ok(identity) => [&[1], identity.as_slice()].concat(),
            Err(error) => [&[0], error.to_string().as_bytes()].concat(),
        };
        let all = self.gather("the communicator of a device", &payload)?;
        own?;
        let said = all.iter().map(|said| said.split_first());
        for (rank, said) in said.enumerate() {
            match said {
                Some((1, _)) => {}
                Some((_, why)) => {
                    let why = String::from_utf8_lossy(why);
                    let why = format!("the device of rank {rank} has no way to other ranks: {why}");
                    return Err(disagree(why));
                }
                None => return Err(disagree(format!("rank {rank} says nothing"))),
            }
        }
        Ok(all.first().map_or_else(Vec::new, |identity| identity[1..].to_vec()))
    }

    /// `world`: the number of the world.
    fn make_communicator(&self, device: &Device, world: u64, meets: bool) -> Result<Arc<Joined>> {
        let place = self.0.joined.lock().unwrap_or_else(PoisonError::into_inner).made;
        let number = world << 32 | place as u64;
        let exchange = Arc::clone(&self.0.members) as Arc<dyn Exchange>;
        let identity = self.identity(device)?;
        let limit = self.0.members.limits().gather;
        let members = Arc::clone(&self.0.members);
        let failure = Box::new(move || members.failure().map(|failure| failure.to_string()));
        let (rank, size, has_siblings) = (self.rank(), self.size(), self.0.members.has_siblings());
        let joining = Joining { number, rank, size, meets, has_siblings, identity, limit, failure, exchange };
        // The others are in the middle of joining this rank.
        let communicator = device.driver().join(&joining).inspect_err(|error| self.fail(&error.summary()))?;
        let joined = Arc::new(Joined { device: device.clone(), communicator, number });
        self.0.joined.lock().unwrap_or_else(PoisonError::into_inner).add(&joined);
        // The world may have failed meanwhile, when this was not there yet to be told.
        if let Some(failure) = self.failure() {
            joined.abort(&failure.to_string());
        }
        Ok(joined)
    }
}

fn disagree(why: String) -> Error {
    RanksDetail::Disagree { why }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_left_is_not_kept() {
        crate::sim::ranks(crate::sim::MachineModel::h200(2), |world| {
            let device = world.device().expect("a device");
            let numbers: Vec<_> = (0..3)
                .map(|_| {
                    world.join(&device, "P", &[0; 32]).expect("both join").expect("two ranks").number & 7
                })
                .collect();
            assert_eq!(numbers, [0, 1, 2]);
            assert_eq!(world.0.joined.lock().expect("nobody has panicked").alive.len(), 1);
        });
    }

    #[test]
    fn what_a_rank_brings_is_read_again() {
        for machine in [None, Some([7, 3])] {
            let brings = Brings { fingerprint: [9; 32], known: 2, process: 11, world: 5, gpu: true, machine };
            let bytes = brings.write();
            let read = Brings::read(&bytes).unwrap();
            assert_eq!((read.fingerprint, read.known, read.process, read.machine), ([9; 32], 2, 11, machine));
            assert_eq!((read.world, read.gpu), (5, true));
            for end in 0..bytes.len() {
                assert!(Brings::read(&bytes[..end]).is_none(), "{end} bytes");
            }
        }
    }
}
