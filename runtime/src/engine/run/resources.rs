//! The parts of a pipeline that a run uses.

use std::cell::RefCell;
use std::sync::Mutex;

use crate::base::plan::Plan;
use crate::device::Device;
use crate::engine::launched::Launched;
use crate::engine::pace::Pace;
use crate::engine::ranks::Ranks;
use crate::engine::staging::Staging;
use crate::engine::staging::ring::Ring;
use crate::engine::state::States;
use crate::engine::streams::Streams;
use crate::engine::symbols::Symbols;
use crate::engine::totals::Totals;

/// The parts of its pipeline that a run borrows.
#[derive(Clone, Copy)]
pub(crate) struct Resources<'r> {
    pub(crate) device: &'r Device,
    pub(crate) plan: &'static Plan,
    /// The plan's number.
    pub(crate) id: u32,
    pub(crate) depth: usize,
    /// The number of the device among the pipeline's.
    pub(crate) number: usize,
    /// The pipeline's part in a world, if it has one.
    pub(crate) ranks: Option<&'r Ranks>,
    pub(crate) pace: &'r Pace,
    pub(crate) ring: &'r Ring,
    pub(crate) states: &'r Mutex<States>,
    pub(crate) streams: &'r Streams,
    /// Whether stages whose streams a run chooses have one for each slot.
    pub(crate) spread: bool,
}

/// The parts of its pipeline that a run takes for its duration, and the totals that it counts.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) staging: RefCell<Staging>,
    pub(crate) symbols: RefCell<Symbols>,
    /// The launches that the host can run again.
    pub(crate) launched: RefCell<Launched>,
    pub(crate) totals: RefCell<Totals>,
}
