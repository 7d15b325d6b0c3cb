//! The timeline of several devices, and what they share.

use std::time::Duration;

use super::{Engine, Row, Span, Timeline};
use crate::base::machine::{MachineModel, SharedLimit, SharedPlace};
use crate::base::report::Report;

/// A run that takes less than this multiple of what the shared place takes at least is bound by it.
const BOUND: f64 = 1.1;

/// Most of a run.
const MOST: f64 = 0.6;

/// A copy of a device that begins or ends.
struct Change {
    at: Duration,
    device: usize,
    /// 0 for a copy to the device, 1 for one to the host.
    way: usize,
    /// What it moves in a second, if nothing else is under way.
    rate: f64,
    is_end: bool,
}

/// The copies of a device in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct UnderWay {
    copies: usize,
    /// The rate of the last one.
    rate: f64,
}

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
        let Some(machine) = self.machine.clone() else { return };
        let bytes = |part: &Report| [part.bytes_to_device, part.bytes_to_host];
        let bytes: Vec<_> = self.report.parts.iter().map(bytes).collect();
        let limit = |place: &SharedPlace| {
            let time = place.time(&bytes);
            let (lost, enough) = match self.spans.is_empty() {
                true => (self.lost_by_bytes(&machine, &bytes, time), None),
                false => self.lost_by_spans(&machine, place),
            };
            let port = place.port.clone().unwrap_or_default();
            SharedLimit { port, rate: place.rate, time, lost, enough }
        };
        let narrowest = machine.shared_places().iter().map(limit).max_by_key(|limit| limit.lost);
        let Some(narrowest) = narrowest.filter(|limit| !limit.lost.is_zero()) else { return };
        if self.predicted {
            // Each device was predicted by itself.
            self.last_longer(narrowest.lost);
        }
        self.report.shared = Some(narrowest);
    }

    /// The time that is lost if a run without spans takes about as long as its copies do at the shared rate.
    fn lost_by_bytes(&self, machine: &MachineModel, bytes: &[[u64; 2]], shared: Duration) -> Duration {
        let links = bytes.iter().enumerate().map(|(device, bytes)| machine.own_link(device, *bytes));
        let alone = links.max().unwrap_or_default();
        let is_bound = self.time().as_secs_f64() <= shared.as_secs_f64() * BOUND;
        if is_bound { shared.min(self.time()).saturating_sub(alone) } else { Duration::ZERO }
    }

    /// The time that is lost while the copies under way want more than the place has, and the number of devices that
    /// want all of it, if that is most of the run.
    fn lost_by_spans(&self, machine: &MachineModel, place: &SharedPlace) -> (Duration, Option<usize>) {
        let mut under_way = vec![[UnderWay::default(); 2]; self.report.parts.len()];
        let (mut before, mut lost, mut bound, mut wanted) = (Duration::ZERO, 0.0, 0.0, 0.0);
        for Change { at, device, way, rate, is_end } in self.changes(machine, place) {
            let seconds = at.saturating_sub(before).as_secs_f64();
            let want = |device: &usize| {
                let ways = under_way[*device];
                let duplex =
                    if ways.iter().all(|way| way.copies > 0) { machine.duplex(*device) } else { 1.0 };
                let counted = ways.iter().zip(place.ways).filter(|(way, counts)| *counts && way.copies > 0);
                counted.map(|(way, _)| way.rate * duplex).sum::<f64>()
            };
            let times = place.devices.iter().map(want).sum::<f64>() / place.rate;
            if times > 1.0 {
                // A prediction's copies are as fast as they want to be, and have to become slower. Others were slower.
                lost += if self.predicted { seconds * (times - 1.0) } else { seconds * (1.0 - 1.0 / times) };
                (bound, wanted) = (bound + seconds, wanted + seconds * times);
            }
            let now = &mut under_way[device][way];
            // A device's engine for a direction has one copy at a time.
            *now = match is_end {
                true => UnderWay { copies: now.copies - 1, ..*now },
                false => UnderWay { copies: now.copies + 1, rate },
            };
            before = at;
        }
        let time = self.time().as_secs_f64();
        let enough = place.devices.len() as f64 * bound / wanted.max(f64::MIN_POSITIVE);
        let enough = (enough.ceil() as usize).max(1);
        let is_most = bound > MOST * time && enough < place.devices.len();
        (Duration::try_from_secs_f64(lost).unwrap_or_default(), is_most.then_some(enough))
    }

    /// The beginnings and ends of the copies that go through a place, in order.
    fn changes(&self, machine: &MachineModel, place: &SharedPlace) -> Vec<Change> {
        let mut changes = Vec::new();
        for span in self.spans.iter().filter(|span| span.bytes > 0 && span.start < span.end) {
            let way = match span.engine {
                Engine::ToDevice => 0,
                Engine::ToHost => 1,
                Engine::Compute | Engine::Host | Engine::Network => continue,
            };
            let device = self.rows.get(span.row).and_then(|row| row.device);
            if let Some(device) = device.filter(|device| place.devices.contains(device)) {
                let rate = machine.rate_of_copy(device, way, span.bytes);
                changes.push(Change { at: span.start, device, way, rate, is_end: false });
                changes.push(Change { at: span.end, device, way, rate, is_end: true });
            }
        }
        // What ends makes room for what begins at the same time.
        changes.sort_by_key(|change| (change.at, !change.is_end));
        changes
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
        let slower = |time: &mut Duration| {
            *time = Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX);
        };
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
