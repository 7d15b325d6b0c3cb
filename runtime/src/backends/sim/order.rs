//! Happens-before, as vector clocks of the streams, the events and the host.
//!
//! This is the race checker's half of the simulator. It sees the commands that are enqueued and the host's
//! waits, and knows nothing about how or when the commands are carried out.

/// How far each lane had got at some point of the program.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock(Vec<u64>);

impl Clock {
    fn at(&self, lane: Lane) -> u64 {
        self.0.get(lane.0 as usize).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}

/// A component of the clocks. Each stream that exists has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lane(u32);

/// The place of one command: the `count`-th of its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub lane: Lane,
    count: u64,
}

#[derive(Debug)]
struct LaneState {
    /// Everything before the lane's next command.
    clock: Clock,
    count: u64,
    /// The number of the host's waits that `clock` includes.
    host_waits: u64,
    open: bool,
}

/// The order of everything enqueued so far.
#[derive(Debug, Default)]
pub(super) struct Order {
    lanes: Vec<LaneState>,
    /// Everything that the host has waited for. All later commands come after it.
    host: Clock,
    host_waits: u64,
}

impl Order {
    /// Opens a lane for a new stream.
    pub(crate) fn open(&mut self) -> Lane {
        // A lane may be used again once the host has waited for all of it. Then "after the old stream's
        // commands" is true of everything that is enqueued from now on, so the shared component says nothing
        // false.
        let free = self.indices().find(|&lane| !self.state(lane).open && self.is_quiet(lane));
        if let Some(lane) = free {
            let state = &mut self.lanes[lane.0 as usize];
            // The new stream has waited for nothing that the old one had waited for.
            *state = LaneState {
                clock: self.host.clone(),
                count: state.count,
                host_waits: self.host_waits,
                open: true,
            };
            return lane;
        }
        let lane = Lane(u32::try_from(self.lanes.len()).expect("fewer than 2^32 streams fit memory"));
        self.lanes.push(LaneState { clock: Clock::default(), count: 0, host_waits: 0, open: true });
        lane
    }

    /// The largest number of lanes so far.
    #[cfg(test)]
    pub(super) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Notes that the lane's stream is destroyed. The commands that it has enqueued still count.
    pub(crate) fn close(&mut self, lane: Lane) {
        self.lanes[lane.0 as usize].open = false;
    }

    /// Notes that a command is enqueued.
    pub(crate) fn enqueue(&mut self, lane: Lane) -> Moment {
        let state = self.catch_up(lane);
        state.count += 1;
        let count = state.count;
        let index = lane.0 as usize;
        if state.clock.0.len() <= index {
            state.clock.0.resize(index + 1, 0);
        }
        state.clock.0[index] = count;
        Moment { lane, count }
    }

    /// Everything that an event stands for if it is recorded now.
    pub(crate) fn record(&mut self, lane: Lane) -> Clock {
        self.catch_up(lane).clock.clone()
    }

    /// Notes that the lane waits for an event.
    pub(crate) fn wait(&mut self, lane: Lane, event: &Clock) {
        self.lanes[lane.0 as usize].clock.join(event);
    }

    /// Notes that the host has waited for everything in `clock`.
    pub(crate) fn host_waited(&mut self, clock: &Clock) {
        self.host.join(clock);
        self.host_waits += 1;
    }

    /// Notes that nothing of the lane goes on any more, and what it had waited for may.
    pub(crate) fn abandon(&mut self, lane: Lane) {
        let LaneState { count, .. } = *self.state(lane);
        let index = lane.0 as usize;
        if self.host.0.len() <= index {
            self.host.0.resize(index + 1, 0);
        }
        self.host.0[index] = count;
        self.host_waits += 1;
    }

    /// Whether `moment` comes before the next command of `lane`.
    pub(crate) fn is_before(&self, moment: Moment, lane: Lane) -> bool {
        self.state(lane).clock.at(moment.lane) >= moment.count
    }

    /// Whether the host has waited for `moment`, so that everything from now on comes after it.
    pub(crate) fn is_over(&self, moment: Moment) -> bool {
        self.host.at(moment.lane) >= moment.count
    }

    /// Whether the host has waited for everything.
    pub(crate) fn all_quiet(&self) -> bool {
        self.indices().all(|lane| self.is_quiet(lane))
    }

    fn is_quiet(&self, lane: Lane) -> bool {
        self.host.at(lane) >= self.state(lane).count
    }

    fn catch_up(&mut self, lane: Lane) -> &mut LaneState {
        let state = &mut self.lanes[lane.0 as usize];
        if state.host_waits != self.host_waits {
            state.host_waits = self.host_waits;
            state.clock.join(&self.host);
        }
        state
    }

    fn state(&self, lane: Lane) -> &LaneState {
        &self.lanes[lane.0 as usize]
    }

    fn indices(&self) -> impl Iterator<Item = Lane> + use<> {
        (0..self.lanes.len() as u32).map(Lane)
    }
}
