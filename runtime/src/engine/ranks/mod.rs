//! A pipeline's part in a world of ranks: what they agree on before each run, and who is told when one fails.

pub(crate) mod agreement;
mod bytes;
mod said;
mod timelines;

use std::sync::Arc;

use crate::base::collective::CollectiveKind;
use crate::base::error::{Detail, RanksDetail, Result};
use crate::base::plan::{Memory, OperationKind, OperationPlan, Plan};
use crate::device::Device;
use crate::driver::collective::RawCommunicator;
use crate::engine::arguments::answers::Answers;
use crate::engine::place::place_of_pipeline;
use crate::engine::ranks::said::Said;
use crate::observe::timeline::RunOfRanks;
use crate::world::{Joined, Running, World};

/// A pipeline's part in a world.
#[derive(Debug)]
pub(crate) struct Ranks {
    pub(crate) world: World,
    /// Absent from a world of one, where nothing leaves the device.
    joined: Option<Arc<Joined>>,
    /// What tells the pipeline from others on all ranks.
    plan: blake3::Hash,
    /// The number of runs so far, with the one under way.
    runs: u64,
}

impl Ranks {
    /// Joins a world with a device, if all ranks build this pipeline.
    ///
    /// # Errors
    /// A rank builds another one, or does not come; the device has no way to other ranks.
    pub(crate) fn join(world: &World, device: &Device, plan: &'static Plan, type_name: &str) -> Result<Self> {
        let fingerprint = fingerprint(plan, type_name);
        let joined = world.join(device, plan.pipeline, fingerprint.as_bytes());
        let joined = joined.map_err(|error| error.at(place_of_pipeline(plan)))?;
        Ok(Self { world: world.clone(), joined, plan: fingerprint, runs: 0 })
    }

    pub(crate) fn rank(&self) -> usize {
        self.world.rank()
    }

    pub(crate) fn size(&self) -> usize {
        self.world.size()
    }

    /// The device's communicator; `None` in a world of one.
    pub(crate) fn communicator(&self) -> Option<RawCommunicator> {
        self.joined.as_ref().map(|joined| joined.communicator())
    }

    /// Counts the next run, and returns what tells the other ranks that this one does not come to it, if that is so.
    pub(crate) fn answers(&mut self, plan: &'static Plan) -> Option<Answers> {
        if self.size() == 1 {
            return None;
        }
        // A run whose arguments are refused counts, too: it is the others' run of that number that this rank refuses.
        self.runs += 1;
        let what = self.what(plan, self.runs);
        let refusal = self.refusal(plan, "its arguments are refused".to_owned());
        Some(Answers::new(self.world.clone(), what, refusal))
    }

    /// What the other ranks are told if this one does not come to the run that was counted.
    fn refusal(&self, plan: &Plan, why: String) -> Vec<u8> {
        let said = Said {
            pipeline: plan.pipeline.to_owned(),
            plan: *self.plan.as_bytes(),
            run: self.runs,
            refused: Some(why),
            chunk: 0,
            is_auto: false,
            items: 0,
            uniform: Vec::new(),
            buffers: Vec::new(),
        };
        said.write()
    }

    /// The run that was agreed on just now.
    pub(crate) fn agreed(&self) -> RunOfRanks {
        let (world, agreement) = (self.world.number(), self.world.agreements());
        RunOfRanks { world, agreement, number: self.runs }
    }

    /// What ranks agree on, for messages.
    fn what(&self, plan: &Plan, run: u64) -> String {
        format!("run {run} of `{}`", plan.pipeline)
    }

    /// Begins a run of this rank on a device: no other one of its world is under way, and no collectives of another world
    /// on the device.
    pub(crate) fn begin(
        &self,
        plan: &'static Plan,
        device: &Device,
        answers: &mut Option<Answers>,
    ) -> Result<Option<Running>> {
        if self.size() == 1 {
            return Ok(None);
        }
        // A CPU carries out collectives of several worlds beside each other.
        let has_turns = device.is_gpu() || device.is_simulated();
        let device = plan.collectives().next().filter(|_| has_turns).map(|_| device);
        self.world.begin_run(plan.pipeline, device).map(Some).map_err(|error| {
            if let Some(answers) = answers {
                answers.say(self.refusal(plan, error.summary()));
            }
            error.at(place_of_pipeline(plan))
        })
    }
}

/// What tells a pipeline from others: all of its plan but the place of the file on this machine, and the parameters of
/// its type, on which conditions may depend.
fn fingerprint(plan: &Plan, type_name: &str) -> blake3::Hash {
    let operations = plan.operations.iter().map(|operation| {
        let OperationPlan { stage, stream, text, kind, conditional, repeat, accesses, line, column } =
            operation;
        format!("{stage} {stream} {text} {kind:?} {conditional} {repeat:?} {accesses:?} {line}:{column}\n")
    });
    let mut text: String = operations.collect();
    text.push_str(type_name);
    text.push_str(&plan.to_string());
    blake3::hash(text.as_bytes())
}

impl Plan {
    /// What ranks do together, with the numbers of the operations.
    pub(crate) fn collectives(&self) -> impl Iterator<Item = (usize, CollectiveKind)> {
        self.operations.iter().enumerate().filter_map(|(index, operation)| match operation.kind {
            OperationKind::Collective { collective } => Some((index, collective)),
            _ => None,
        })
    }

    /// The buffers that an operation uses.
    pub(crate) fn buffers_of(&self, operation: usize) -> impl Iterator<Item = usize> {
        self.operations[operation].accesses.iter().filter_map(|access| match access.memory {
            Memory::Buffer(buffer) => Some(buffer),
            Memory::Host(_) => None,
        })
    }
}

/// Tells the other ranks that this one has failed, unless it is told that all is well.
pub(crate) struct TellsOthers<'w> {
    world: &'w World,
    what: &'static str,
    /// Whether all ranks find by themselves what this one finds of them, as simulated devices of one machine do.
    find_alike: bool,
    is_well: bool,
}

impl<'w> TellsOthers<'w> {
    /// `find_alike`: whether all ranks find by themselves what this one finds of them.
    pub(crate) fn new(world: &'w World, what: &'static str, find_alike: bool) -> Self {
        Self { world, what, find_alike, is_well: false }
    }

    /// Tells them the error of the run, if there is one. What came from another rank is known to all, and the error then
    /// says which rank that is.
    pub(crate) fn ends<T>(mut self, outcome: Result<T>) -> Result<T> {
        self.is_well = true;
        let error = match outcome {
            Err(error) => error,
            ended => return ended,
        };
        let failure = self.world.failure().filter(|_| error.is_of_ranks());
        if failure.is_none() && !(error.is_of_ranks() && self.find_alike) {
            self.world.fail(&format!("the run of `{}` has failed: {}", self.what, error.summary()));
        }
        Err(match failure {
            Some(failure) => error.about_those_of(&failure),
            None => error,
        })
    }
}

impl Drop for TellsOthers<'_> {
    fn drop(&mut self) {
        if !self.is_well {
            self.world.fail(&format!("the run of `{}` has panicked", self.what));
        }
    }
}

/// Why the several devices of one process cannot be a rank.
pub(crate) fn refuse_several(devices: usize) -> Result<(), Detail> {
    if devices == 1 { Ok(()) } else { Err(Detail::Ranks(RanksDetail::SeveralDevices { devices })) }
}
