//! The devices of several ranks, which carry out what their hosts have enqueued, in an order that is meant to
//! be bad.
//!
//! A device carries out any command at the head of a queue. A wait ends once its record is done. A collective
//! begins at the head of its queue, if the device waits in no other one, and ends when the devices of all
//! ranks are in the same one.

use super::host::{Command, What};
use super::random::Random;

/// In which order what could be next is carried out.
pub enum Order<'r> {
    /// Each device prefers some queues, and now and then others. The hosts are ahead by a number of chunks,
    /// if it is given. A device that is `alone` in a collective does nothing else until that ends.
    Random { random: &'r mut Random, ahead: Option<usize>, alone: bool },
    /// As it is enqueued, but on rank 0 these collectives of one chunk begin only when nothing else is left.
    Late { ops: &'r [usize], chunk: usize },
}

/// How a run ends that does not end well.
pub struct Standstill {
    /// Whether all ranks are in collectives, but not in the same.
    pub mismatch: bool,
    pub story: String,
}

struct Device<'t> {
    commands: &'t [Command],
    /// For each queue the places of its commands, and how many of them are done.
    queues: Vec<(Vec<usize>, usize)>,
    /// How many commands the host has enqueued.
    enqueued: usize,
    recorded: Vec<bool>,
    /// For each chunk, the commands that are not done.
    left: Vec<usize>,
    /// The queue whose collective has begun.
    inside: Option<usize>,
    prefers: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Action {
    Enqueue,
    /// The queue and the place of the command.
    CarryOut(usize, usize),
}

impl<'t> Device<'t> {
    fn new(commands: &'t [Command]) -> Self {
        let count = |of: &dyn Fn(&Command) -> Option<usize>| {
            commands.iter().filter_map(of).max().map_or(0, |last| last + 1)
        };
        let queues = count(&|command| Some(command.queue));
        let record = |command: &Command| match command.what {
            What::Record(record) => Some(record),
            _ => None,
        };
        let mut device = Self {
            commands,
            queues: vec![(Vec::new(), 0); queues],
            enqueued: 0,
            recorded: vec![false; count(&record)],
            left: vec![0; count(&|command| Some(command.chunk))],
            inside: None,
            prefers: (0..queues).collect(),
        };
        for (place, command) in commands.iter().enumerate() {
            device.queues[command.queue].0.push(place);
            device.left[command.chunk] += 1;
        }
        device
    }

    /// What could be next.
    fn actions(&self, ahead: Option<usize>, alone: bool, actions: &mut Vec<Action>) {
        actions.clear();
        if let Some(next) = self.commands.get(self.enqueued) {
            let until = ahead.and_then(|ahead| next.chunk.checked_sub(ahead));
            if until.is_none_or(|until| self.left[..=until].iter().all(|&left| left == 0)) {
                actions.push(Action::Enqueue);
            }
        }
        if alone && self.inside.is_some() {
            return;
        }
        for (queue, (places, done)) in self.queues.iter().enumerate() {
            let Some(&place) = places.get(*done).filter(|&&place| place < self.enqueued) else { continue };
            let can = match self.commands[place].what {
                What::Work(_) | What::Record(_) => true,
                What::Wait(record) => self.recorded[record],
                What::Together(..) => self.inside.is_none(),
            };
            if can {
                actions.push(Action::CarryOut(queue, place));
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Enqueue => self.enqueued += 1,
            Action::CarryOut(queue, place) => match self.commands[place].what {
                What::Together(..) => self.inside = Some(queue),
                What::Record(record) => {
                    self.recorded[record] = true;
                    self.finish(queue);
                }
                What::Work(_) | What::Wait(_) => self.finish(queue),
            },
        }
    }

    fn finish(&mut self, queue: usize) {
        let (places, done) = &mut self.queues[queue];
        self.left[self.commands[places[*done]].chunk] -= 1;
        *done += 1;
    }

    /// The collective that it waits in.
    fn within(&self) -> Option<&'t Command> {
        let (places, done) = &self.queues[self.inside?];
        Some(&self.commands[places[*done]])
    }

    fn is_done(&self) -> bool {
        self.left.iter().all(|&left| left == 0)
    }

    fn state(&self, name: &impl Fn(&Command) -> String) -> String {
        let heads = self.queues.iter().filter_map(|(places, done)| {
            let place = places.get(*done)?;
            let far = if *place < self.enqueued { "" } else { " (not enqueued)" };
            Some(format!("{}{far}", name(&self.commands[*place])))
        });
        let heads: Vec<_> = heads.collect();
        let inside =
            self.within().map_or_else(|| "in no collective".to_owned(), |at| format!("in {}", name(at)));
        format!("{inside}; next on its queues: {}", heads.join(" | "))
    }
}

/// Carries the commands of all ranks out. Gives a standstill, if they come to one.
pub fn carry_out(
    traces: &[Vec<Command>],
    order: &mut Order<'_>,
    name: &impl Fn(&Command) -> String,
) -> Option<Standstill> {
    let mut devices: Vec<_> = traces.iter().map(|commands| Device::new(commands)).collect();
    let mut log: Vec<(usize, usize)> = Vec::new();
    loop {
        let within: Vec<_> = devices.iter().map_while(Device::within).collect();
        if within.len() == devices.len() {
            if within.iter().any(|at| key(at) != key(within[0])) {
                return Some(standstill(true, traces, &devices, &log, name));
            }
            for device in &mut devices {
                let queue = device.inside.take().expect("it is in a collective");
                device.finish(queue);
            }
            continue;
        }
        match next(&mut devices, order) {
            Some((rank, action)) => {
                if let Action::CarryOut(_, place) = action {
                    log.push((rank, place));
                }
                devices[rank].act(action);
            }
            None if devices.iter().all(Device::is_done) => return None,
            None => return Some(standstill(false, traces, &devices, &log, name)),
        }
    }
}

fn key(command: &Command) -> Option<&super::host::Key> {
    match &command.what {
        What::Together(_, key) => Some(key),
        _ => None,
    }
}

/// A rank, and what it does next.
fn next(devices: &mut [Device<'_>], order: &mut Order<'_>) -> Option<(usize, Action)> {
    let mut actions = Vec::new();
    match order {
        Order::Random { random, ahead, alone } => {
            let first = random.below(devices.len());
            for rank in (first..devices.len()).chain(0..first) {
                let device = &mut devices[rank];
                if random.chance(4) {
                    let queues = device.prefers.len();
                    device.prefers.iter_mut().for_each(|value| *value = random.below(queues));
                }
                device.actions(*ahead, *alone, &mut actions);
                if actions.is_empty() {
                    continue;
                }
                if random.chance(15) {
                    return Some((rank, *random.pick(&actions)));
                }
                let preferred = |action: &Action| match action {
                    Action::Enqueue => device.prefers.len() / 2,
                    Action::CarryOut(queue, _) => device.prefers[*queue],
                };
                return actions.iter().max_by_key(|action| preferred(action)).map(|action| (rank, *action));
            }
            None
        }
        Order::Late { ops, chunk } => {
            let mut late = None;
            for (rank, device) in devices.iter().enumerate() {
                device.actions(None, false, &mut actions);
                // First all that waits for no other rank, then collectives as they are written.
                let rating = |action: &Action| match action {
                    Action::Enqueue => (0, 0),
                    Action::CarryOut(_, place) => match &device.commands[*place].what {
                        What::Together(op, key) if rank == 0 && ops.contains(op) && key.chunk == *chunk => {
                            (2, *place)
                        }
                        What::Together(..) => (1, *place),
                        _ => (0, *place),
                    },
                };
                let Some(best) = actions.iter().min_by_key(|action| rating(action)) else { continue };
                if rating(best).0 < 2 {
                    return Some((rank, *best));
                }
                late = late.or(Some((rank, *best)));
            }
            late
        }
    }
}

fn standstill(
    mismatch: bool,
    traces: &[Vec<Command>],
    devices: &[Device<'_>],
    log: &[(usize, usize)],
    name: &impl Fn(&Command) -> String,
) -> Standstill {
    let log: Vec<_> =
        log.iter().map(|&(rank, place)| format!("{rank}: {}", name(&traces[rank][place]))).collect();
    let states = devices.iter().enumerate();
    let states: Vec<_> =
        states.map(|(rank, device)| format!("rank {rank} is {}", device.state(name))).collect();
    let story =
        format!("carried out, each with its rank:\n{}\nthen\n{}\n", log.join("\n"), states.join("\n"));
    Standstill { mismatch, story }
}
