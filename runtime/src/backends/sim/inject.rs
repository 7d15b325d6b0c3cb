//! Deliberate faults: [`Fault`], and where they strike. Their effects are in [`strike`](super::strike).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, DriverError, Result};
use crate::base::plan::Plan;
use crate::driver::{DriverResult, Tag};

/// Something that goes wrong on a simulated device, and the place where it does.
///
/// A fault strikes once, unless it says otherwise. If several faults match the same call, one of them
/// strikes, and each other strikes at the next call that it matches. A fault is given to an existing device
/// ([`Device::inject`](crate::Device::inject)) or to the [`Simulation`](crate::sim::Simulation) of a device
/// ([`Simulation::with_fault`](crate::sim::Simulation::with_fault)). So a test can show what a program does
/// when a copy fails, without a GPU, and without waiting for one to break.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::sim::{Effect, Fault};
/// use thalweg_kernels::saxpy;
///
/// stream_pipeline! {
///     pipeline Saxpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         chunk c = 100;
///         stage load { copy x -> dx; copy y -> dy; }
///         stage axpy { saxpy<<<blocks(c.len, 32), 32>>>(a, &dx, &mut dy); }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let device = Device::simulated(Simulation::default());
/// let mut saxpy = Saxpy::new(&device)?;
/// let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
///
/// let injected = device.inject(Fault::at(&Saxpy::PLAN, "axpy", 7, Effect::Fails)?)?;
/// let error = saxpy.run(3.0, &x, &mut y).unwrap_err();
/// assert!(injected.struck());
/// assert_eq!((error.place().stage, error.place().chunk), (Some("axpy"), Some(7)));
/// // What is said to be complete is, and the pipeline works again.
/// let complete = error.complete()[0].items;
/// assert!(y[..complete].iter().all(|y| *y == 5.0));
/// saxpy.run(3.0, &x, &mut vec![2.0; 1000])?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    at: At,
    effect: Effect,
}

/// The effect of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The call is refused, and nothing is done. Allocations, streams and events report that memory is
    /// exhausted, and all other calls an invalid value. In graph mode the launch of the graph is refused.
    Refused,
    /// The operation is enqueued, and fails when the device gets to it. A function on the host panics. Calls
    /// that enqueue no operation are refused.
    Fails,
    /// It fails, and the device is lost: every later call fails, as after an invalid address on a GPU.
    Lost,
    /// The operation, or the call, takes this much longer in the device's virtual time.
    Slow(Duration),
    /// The call reports success, but nothing is done. A wait that is left out is a race, which the device
    /// reports. Other operations leave results behind that a test should notice. Calls that return something
    /// are refused.
    Omitted,
}

/// A kind of call to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DriverCall {
    /// The allocation of device memory.
    Allocate,
    /// The allocation of page-locked host memory.
    AllocatePinned,
    /// The creation of a stream.
    CreateStream,
    /// The creation of an event.
    CreateEvent,
    /// A copy, in any direction.
    Copy,
    /// A fill.
    Fill,
    /// The launch of a kernel, or a routine's work.
    Launch,
    /// A function on the host, or a callback.
    Function,
    /// An event's record.
    Record,
    /// A stream's wait for an event.
    Wait,
    /// The host's wait for a stream or an event.
    Synchronize,
    /// The building of a graph.
    BuildGraph,
    /// The update of a graph.
    UpdateGraph,
    /// The launch of a graph.
    LaunchGraph,
}

impl DriverCall {
    /// All kinds of calls.
    pub const ALL: [Self; 14] = [
        Self::Allocate,
        Self::AllocatePinned,
        Self::CreateStream,
        Self::CreateEvent,
        Self::Copy,
        Self::Fill,
        Self::Launch,
        Self::Function,
        Self::Record,
        Self::Wait,
        Self::Synchronize,
        Self::BuildGraph,
        Self::UpdateGraph,
        Self::LaunchGraph,
    ];

    /// The kind of the driver's function of this name.
    pub(super) fn of(call: &str) -> Self {
        match call {
            "cuMemAlloc" => Self::Allocate,
            "cuMemHostAlloc" | "cuMemHostRegister" => Self::AllocatePinned,
            "cuStreamCreateWithPriority" => Self::CreateStream,
            "cuEventCreate" => Self::CreateEvent,
            "cuMemsetAsync" => Self::Fill,
            "cuLaunchKernel" => Self::Launch,
            "cuLaunchHostFunc" => Self::Function,
            "cuEventRecord" => Self::Record,
            "cuStreamWaitEvent" => Self::Wait,
            "cuStreamSynchronize"
            | "cuCtxSynchronize"
            | "cuStreamQuery"
            | "cuEventSynchronize"
            | "cuEventQuery" => Self::Synchronize,
            "cuGraphInstantiate" => Self::BuildGraph,
            "cuGraphExecUpdate" => Self::UpdateGraph,
            "cuGraphLaunch" => Self::LaunchGraph,
            _ => Self::Copy,
        }
    }

    /// Whether it enqueues an operation, or a part of one.
    fn is_operation(self) -> bool {
        matches!(self, Self::Copy | Self::Fill | Self::Launch | Self::Function)
    }
}

/// The place where a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The work of an operation in one chunk of the pipeline with this [`Plan::id`].
    Operation { pipeline: u32, operation: u32, chunk: u64 },
    /// The `n`-th call of a kind, counted from 0.
    Nth { call: DriverCall, n: u64 },
    /// Every allocation of device memory of more than `than` bytes.
    Larger { than: u64 },
}

impl Fault {
    /// Strikes in one chunk at the first operation of a pipeline that has this name: its stage's name, its
    /// text as `PLAN` prints it, or the path of its kernel, function or routine. So a stage's name stands for
    /// its first operation. For another operation give its text, or use [`operation`](Self::operation).
    ///
    /// # Errors
    /// [`ErrorKind::Misuse`], with the names that exist, if no operation has this name.
    pub fn at(plan: &Plan, name: &str, chunk: u64, effect: Effect) -> Result<Self> {
        let is_named = |operation: &crate::base::plan::OperationPlan| {
            operation.text == name
                || plan.stages[operation.stage] == name
                || operation.kind.path() == Some(name)
        };
        let found = plan.operations.iter().position(is_named);
        let nowhere = || {
            let mut known = plan.stages.to_vec();
            for operation in plan.operations {
                known.extend([Some(operation.text), operation.kind.path()].into_iter().flatten());
            }
            let mut seen = HashSet::new();
            known.retain(|name| seen.insert(*name));
            Detail::NoSuchOperation { pipeline: plan.pipeline, name: name.to_owned(), known }
        };
        Ok(Self::operation(plan, found.ok_or_else(nowhere)?, chunk, effect))
    }

    /// Strikes in one chunk at an operation of a pipeline, given as an index into [`Plan::operations`].
    pub fn operation(plan: &Plan, operation: usize, chunk: u64, effect: Effect) -> Self {
        let operation = u32::try_from(operation).unwrap_or(u32::MAX);
        Self { at: At::Operation { pipeline: plan.id(), operation, chunk }, effect }
    }

    /// Strikes at the `n`-th call of a kind since the injection, counted from 0, whoever makes it.
    pub fn nth(call: DriverCall, n: u64, effect: Effect) -> Self {
        Self { at: At::Nth { call, n }, effect }
    }

    /// Refuses every allocation of device memory of more than `bytes` bytes.
    pub fn larger_than(bytes: u64) -> Self {
        Self { at: At::Larger { than: bytes }, effect: Effect::Refused }
    }
}

/// A fault that was given to a device.
#[derive(Debug, Clone)]
pub struct Injected {
    strikes: Arc<AtomicU64>,
}

impl Injected {
    /// Whether the fault has struck. A test whose fault has not struck has tested nothing.
    pub fn struck(&self) -> bool {
        self.strikes.load(Ordering::Acquire) > 0
    }
}

/// The faults of a device.
#[derive(Debug, Default)]
pub(super) struct Faults {
    armed: Vec<Armed>,
    /// The reason why nothing works any more, once the device is lost.
    lost: Option<Box<DriverError>>,
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    /// The number of calls of its kind so far.
    seen: u64,
    strikes: Arc<AtomicU64>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) -> Injected {
        let strikes = Arc::default();
        self.armed.push(Armed { fault, seen: 0, strikes: Arc::clone(&strikes) });
        Injected { strikes }
    }

    /// The effect that strikes here, if any. `panics` says whether a function is asked about before it is
    /// enqueued.
    pub(crate) fn strike(
        &mut self,
        call: DriverCall,
        tag: Option<Tag>,
        bytes: u64,
        panics: bool,
    ) -> Option<Effect> {
        let mut striking: Option<usize> = None;
        for (index, armed) in self.armed.iter_mut().enumerate() {
            let Fault { at, effect } = armed.fault;
            // A function fails by panicking, which is decided when `panics` is true.
            if call == DriverCall::Function && (effect == Effect::Fails) != panics {
                continue;
            }
            let (strikes, is_limit) = match at {
                At::Operation { pipeline, operation, chunk } => {
                    (call.is_operation() && tag == Some(Tag { pipeline, operation, chunk }), false)
                }
                At::Nth { call: kind, n } => {
                    armed.seen += u64::from(kind == call);
                    // This may be later than the `n`-th call, if another fault has struck there.
                    (kind == call && armed.seen > n, false)
                }
                At::Larger { than } => (call == DriverCall::Allocate && bytes > than, true),
            };
            // Only one of several faults strikes: the one for every call, or else the one that was there
            // first. The others strike at the next call that they match.
            if strikes && (striking.is_none() || is_limit) {
                striking = Some(index);
            }
        }
        let index = striking?;
        let Armed { fault, strikes, .. } = &self.armed[index];
        strikes.fetch_add(1, Ordering::Release);
        let Fault { at, effect } = *fault;
        if !matches!(at, At::Larger { .. }) {
            self.armed.remove(index);
        }
        Some(effect)
    }

    /// Makes every later call fail.
    pub(crate) fn lose(&mut self, error: &DriverError) {
        self.lost.get_or_insert_with(|| Box::new(error.clone()));
    }

    /// Fails if the device is lost.
    pub(crate) fn alive(&self) -> DriverResult<()> {
        self.lost.as_ref().map_or(Ok(()), |lost| Err(lost.clone()))
    }
}
