//! The timeline of several devices, and what they share.

use std::time::Duration;

use super::{Engine, Row, Span, Timeline};
use crate::base::machine::{MachineModel, SharedLimit};
use crate::base::report::Report;

/// A run that takes less than this multiple of what the shared place takes at least is bound by it.
const BOUND: f64 = 1.1;

impl Timeline {
    /// The timeline of a run with several devices, of which each has one of `parts`: at least one. `machine` is the
    /// model of these devices together, if it is known.
    pub(crate) fn of_parts(parts: Vec<Self>, machine: Option<MachineModel>) -> Self {
        let reports: Vec<_> = parts.iter().map(|part| part.report.clone()).collect();
        let mut parts = parts.into_iter().enumerate();
        let Some((_, mut whole)) = parts.next() else { unreachable!("a run has a device") };
        whole.report = Report::of_parts(reports);
        whole.rows.iter_mut().for_each(|row| row.of_device(0));
        for (device, part) in parts {
            let before = whole.rows.len();
            whole.rows.extend(part.rows);
            whole.rows[before..].iter_mut().for_each(|row| row.of_device(device));
            whole.spans.extend(part.spans.into_iter().map(|span| Span { row: span.row + before, ..span }));
            whole.basis.by_bytes |= part.basis.by_bytes;
        }
        whole.spans.sort_by_key(|span| (span.start, span.end, span.chunk, span.operation));
        whole.machine = machine;
        whole.tell_shared();
        whole
    }

    /// Notes what the devices share, and what it costs.
    fn tell_shared(&mut self) {
        let Some(mut shared) = self.shared_limit() else { return };
        let alone = self.alone();
        if self.predicted {
            // Each device was predicted by itself. The ends of the run take as long as they do there.
            self.last_longer(shared.time.saturating_sub(alone));
        }
        let time = self.time();
        // Without spans it is not known how long the kernels take.
        let is_bound = !self.spans.is_empty() || time <= shared.time.mul_f64(BOUND);
        shared.lost = if is_bound { shared.time.min(time).saturating_sub(alone) } else { Duration::ZERO };
        self.report.shared = Some(shared).filter(|shared| !shared.lost.is_zero());
    }

    /// What takes longest for the run's copies, of what the devices share.
    fn shared_limit(&self) -> Option<SharedLimit> {
        let bytes = |part: &Report| [part.bytes_to_device, part.bytes_to_host];
        let bytes: Vec<_> = self.report.parts.iter().map(bytes).collect();
        self.machine.as_ref()?.shared_limit(&bytes)
    }

    /// The time that each device would take at least if it shared nothing: its link for its copies, or its kernels. The
    /// longest of all devices.
    fn alone(&self) -> Duration {
        let Some(machine) = &self.machine else { return Duration::ZERO };
        let of_device = |(device, part): (usize, &Report)| {
            let link = machine.own_link(device, [part.bytes_to_device, part.bytes_to_host]);
            link.max(self.of_device(device).busy(Engine::Compute))
        };
        self.report.parts.iter().enumerate().map(of_device).max().unwrap_or_default()
    }

    /// The least number of devices that would take as long as these, if what they share binds the run.
    pub(super) fn enough_devices(&self) -> Option<usize> {
        let (shared, devices) = (self.report.shared.as_ref()?, self.report.parts.len());
        let alone = shared.time.saturating_sub(shared.lost);
        // Fewer devices have more to do each.
        let least = devices as f64 * alone.as_secs_f64() / shared.time.as_secs_f64();
        Some((least.ceil() as usize).clamp(1, devices))
    }

    /// The device that was last.
    pub(super) fn last_device(&self) -> Option<usize> {
        let parts = self.report.parts.iter().enumerate();
        parts.max_by_key(|(_, part)| part.time).map(|(device, _)| device)
    }

    /// What one device of several has of the run, as if it were the only one.
    pub(super) fn of_device(&self, device: usize) -> Self {
        let of_it = |row: &&Row| row.device == Some(device);
        let first = self.rows.iter().position(|row| row.device == Some(device)).unwrap_or(0);
        let rows: Vec<Row> = self.rows.iter().filter(of_it).cloned().collect();
        let own = first..first + rows.len();
        let spans = self.spans.iter().filter(|span| own.contains(&span.row));
        let model = self.machine.as_ref().and_then(|machine| machine.devices.get(device));
        Self {
            report: self.report.parts.get(device).cloned().unwrap_or_else(|| self.report.clone()),
            spec: model.unwrap_or(&self.spec).clone(),
            machine: None,
            spans: spans.map(|span| Span { row: span.row - first, ..*span }).collect(),
            rows,
            basis: self.basis.clone(),
            ..*self
        }
    }

    /// Makes the run take so much longer, all of it slower by the same factor.
    fn last_longer(&mut self, more: Duration) {
        let before = self.time();
        if more.is_zero() || before.is_zero() {
            return;
        }
        let factor = 1.0 + more.as_secs_f64() / before.as_secs_f64();
        let slower = |time: &mut Duration| *time = time.mul_f64(factor);
        for span in &mut self.spans {
            [&mut span.enqueued, &mut span.start, &mut span.end].into_iter().for_each(slower);
        }
        slower(&mut self.report.time);
        self.report.parts.iter_mut().for_each(|part| slower(&mut part.time));
    }
}

impl Row {
    fn of_device(&mut self, device: usize) {
        self.name = format!("d{device} {}", self.name);
        self.device = Some(device);
    }
}
