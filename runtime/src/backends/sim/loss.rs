//! The loss of a device, beside others of its machine that go on.

use super::machine::Machine;
use super::meeting::LOST;
use crate::base::error::DriverError;
use crate::driver::fault::between_ranks;

impl Machine {
    /// Loses a device: every later call fails, and nothing that is enqueued is carried out any more. Only the
    /// job that a thread is carrying out goes on, for which [`Sim::machine`](super::device::Sim::machine) waits.
    pub(super) fn lose(&mut self, device: usize, error: &DriverError) {
        self.parts[device].faults.lose(error);
        let now = self.now;
        for active in self.active.extract_if(.., |active| active.uses(device)) {
            let others = active.with.iter().map(|(_, stream)| *stream);
            for handle in others.chain([active.stream]) {
                if let Some(stream) = self.streams.get_mut(handle) {
                    stream.busy = false;
                    if stream.device != device {
                        // The communicator is broken below, which is that rank's error.
                        stream.complete(now);
                        stream.fail(between_ranks(active.tag, LOST.to_owned()));
                    }
                }
            }
            self.skipped.push(active.action);
        }
        self.lose_rank(device);
        let own = self.streams.iter_mut().filter(|(_, stream)| stream.device == device);
        let streams: Vec<u64> = own
            .map(|(handle, stream)| {
                stream.abandon(now, error, &mut self.skipped);
                handle
            })
            .collect();
        if self.executing.is_none_or(|job| job.device != device && !job.is_shared) {
            self.abandon_order(device);
        }
        streams.into_iter().for_each(|stream| self.remove_if_over(stream));
    }

    /// Whether a device is lost.
    pub(super) fn is_lost(&self, device: usize) -> bool {
        self.parts[device].faults.alive().is_err()
    }

    /// Notes that the job that a device was carrying out when it was lost is over.
    pub(super) fn finish_lost(&mut self, device: usize, stream: u64) {
        if let Some(state) = self.streams.get_mut(stream) {
            state.busy = false;
        }
        self.abandon_order(device);
        self.remove_if_over(stream);
    }

    /// Notes that nothing of a lost device uses memory any more. So memory that it had from other devices can be
    /// freed, and the race checker forgets what is over.
    fn abandon_order(&mut self, device: usize) {
        let own = self.streams.iter().filter(|(_, stream)| stream.device == device);
        own.for_each(|(_, stream)| self.order.abandon(stream.lane));
    }
}
