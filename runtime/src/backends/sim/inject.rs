//! Faults on purpose: [`Fault`], and where they strike. What comes of that is in [`strike`](super::strike).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::base::error::{DriverError, ErrorKind, Result};
use crate::base::plan::Plan;
use crate::driver::{DriverResult, Tag};

/// What goes wrong on a simulated device, and where.
///
/// A fault strikes once, unless it says otherwise. Of several for the same call one strikes, and each other at the next call that
/// it is for. It is given to a device that is there ([`Device::inject`](crate::Device::inject)) or to the
/// [`Spec`](crate::Spec) of one that is to be ([`Spec::with_fault`](crate::Spec::with_fault)), so that what a program does when a copy fails can be
/// tested without a GPU, and without waiting for one to break.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::{Effect, Fault};
/// use thalweg_kernels::saxpy;
///
/// stream_pipeline! {
///     pipeline Saxpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         chunk c = 100;
///         stage load { copy x -> dx; copy y -> dy; }
///         stage axpy { saxpy<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &dx, &mut dy); }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let device = Device::simulated(Spec::default());
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

/// What a fault does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The call is refused, and nothing is done: allocations, streams and events are out of memory, everything else an invalid value. In
    /// graph mode the launch of the graph is refused.
    Refused,
    /// The operation is enqueued, and fails when the device gets to it. A function on the host panics. Calls that enqueue no
    /// operation are refused.
    Fails,
    /// As `Fails`, and the device is lost: every later call fails, to the end, as after an invalid address on a GPU.
    Lost,
    /// The operation, or the call, takes so much longer in the device's virtual time.
    Slow(Duration),
    /// The call says that it is done, and nothing is. A wait that is left out is a race, which the device reports; other
    /// operations leave results behind that a test should notice. Calls that give something are refused.
    Omitted,
}

/// What is asked of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DriverCall {
    /// Memory on the device.
    Allocate,
    /// Page-locked host memory.
    AllocatePinned,
    /// A stream.
    CreateStream,
    /// An event.
    CreateEvent,
    /// A copy, in any direction.
    Copy,
    /// A fill.
    Fill,
    /// A kernel, or a routine's work.
    Launch,
    /// A function on the host, or a callback.
    Function,
    /// An event's record.
    Record,
    /// A stream's wait for an event.
    Wait,
    /// The host's wait for a stream or an event.
    Synchronize,
    /// A graph is made.
    BuildGraph,
    /// A graph is changed.
    UpdateGraph,
    /// A graph is launched.
    LaunchGraph,
}

impl DriverCall {
    /// All of them.
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

    /// Of the driver's function of this name.
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

/// Where a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The work of an operation, of a pipeline's [`Plan::id`].
    Operation { pipeline: u32, operation: u32, chunk: u64 },
    /// One of the calls of a kind, from 0.
    Nth { call: DriverCall, n: u64 },
    /// All allocations on the device of more bytes.
    Larger { than: u64 },
}

impl Fault {
    /// At the first operation of a pipeline that has this name, in one chunk: its stage's name, its text as `PLAN` prints it, or the
    /// path of its kernel, function or routine. So a stage's name stands for its first operation; the text of another one, or
    /// [`operation`](Self::operation), strikes there.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchOperation`], which has the names that there are: there is none of this name.
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
            ErrorKind::NoSuchOperation { pipeline: plan.pipeline, name: name.to_owned(), known }
        };
        Ok(Self::operation(plan, found.ok_or_else(nowhere)?, chunk, effect))
    }

    /// At an operation of a pipeline, an index into [`Plan::operations`], in one chunk.
    pub fn operation(plan: &Plan, operation: usize, chunk: u64, effect: Effect) -> Self {
        let operation = u32::try_from(operation).unwrap_or(u32::MAX);
        Self { at: At::Operation { pipeline: plan.id(), operation, chunk }, effect }
    }

    /// At the `n`-th call of a kind from the injection on, counted from 0, whoever makes it.
    pub fn nth(call: DriverCall, n: u64, effect: Effect) -> Self {
        Self { at: At::Nth { call, n }, effect }
    }

    /// Refuses every allocation of device memory of more than so many bytes.
    pub fn larger_than(bytes: u64) -> Self {
        Self { at: At::Larger { than: bytes }, effect: Effect::Refused }
    }
}

/// A fault that a device has been given.
#[derive(Debug, Clone)]
pub struct Injected {
    strikes: Arc<AtomicU64>,
}

impl Injected {
    /// Whether it has struck. A test of a fault that has not has tested nothing.
    pub fn struck(&self) -> bool {
        self.strikes.load(Ordering::Acquire) > 0
    }
}

/// The faults of a device.
#[derive(Debug, Default)]
pub(super) struct Faults {
    armed: Vec<Armed>,
    /// Why nothing works any more, once that is so.
    lost: Option<DriverError>,
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    /// Calls of its kind so far.
    seen: u64,
    strikes: Arc<AtomicU64>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) -> Injected {
        let strikes = Arc::default();
        self.armed.push(Armed { fault, seen: 0, strikes: Arc::clone(&strikes) });
        Injected { strikes }
    }

    /// What strikes here, if something does. `panics`: whether that is asked of a function before it is enqueued.
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
            // A function fails by panicking, and that is the function's own part.
            if call == DriverCall::Function && (effect == Effect::Fails) != panics {
                continue;
            }
            let (strikes, is_limit) = match at {
                At::Operation { pipeline, operation, chunk } => {
                    (call.is_operation() && tag == Some(Tag { pipeline, operation, chunk }), false)
                }
                At::Nth { call: kind, n } => {
                    armed.seen += u64::from(kind == call);
                    // Later than the nth, if another one has struck there.
                    (kind == call && armed.seen > n, false)
                }
                At::Larger { than } => (call == DriverCall::Allocate && bytes > than, true),
            };
            // One alone, if there are several: what holds for every call, else the one that was there first. The others have
            // the next call that they match.
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

    /// Nothing works from now on.
    pub(crate) fn lose(&mut self, error: &DriverError) {
        self.lost.get_or_insert_with(|| error.clone());
    }

    /// Whether anything works at all.
    pub(crate) fn alive(&self) -> DriverResult<()> {
        self.lost.as_ref().map_or(Ok(()), |lost| Err(lost.clone()))
    }
}
