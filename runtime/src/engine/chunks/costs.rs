//! [`Costs`]: the costs of a run on a device, as far as its plan and the device's calibration show.

use crate::base::model::DeviceModel;
use crate::base::plan::{BufferKind, BufferPlan, OperationKind, OperationPlan, Plan};
use crate::base::report::Report;
use crate::device::Device;

/// Streams that a GPU serves at the same time unless `CUDA_DEVICE_MAX_CONNECTIONS` says otherwise.
pub(crate) const HARDWARE_QUEUES: usize = 8;

// Note 40: larger slots gain nothing.
/// The largest ring slot of the largest buffer when the chunk is `auto`, in bytes.
///
/// Between two copies an H200's engine rests for 4 us, whatever they are enqueued on, and data come out one
/// chunk later than they go in: for 1 GiB each way at 50 GB/s the sum of both is least at 14 MiB.
pub(crate) const AUTO_SLOT_BYTES: usize = 16 << 20;

/// The same on a CPU where no item is copied, so that a slot takes no memory. A chunk that one operation goes
/// through costs as much as each of the operation's blocks does, which larger chunks give more to do.
pub(crate) const AUTO_BYTES_IN_PLACE: usize = 256 << 20;

/// The smallest limit of a slot, even if the ring then exceeds the device's cache.
const LEAST_SLOT_BYTES: usize = 4 << 20;

/// The bounds within which a measured number of bytes copied while a chunk is enqueued is believed.
const LEAST_PER_CHUNK: f64 = 32e3;
const MOST_PER_CHUNK: f64 = 4e6;

// Note 23: a depth of `auto` for staged runs.
/// Bytes of the largest buffer in all slots together when ordinary memory is staged: as much as one H200's 16
/// cores read ahead and copied out beside the device. With half as many a run took half as long again; twice
/// as many were no quicker.
const STAGED_RING_BYTES: usize = 24 << 20;

/// The same when only results are staged, so that nothing holds back the data that come in.
const STAGED_OUT_RING_BYTES: usize = 48 << 20;

/// With small chunks the run waits for the host, however many slots there are.
const MOST_STAGED_DEPTH: usize = 24;

/// Ring slots for a run with staging whose largest slot has `slot_bytes`, if they are more than `depth`.
pub(crate) fn staged_depth(plan: &Plan, depth: usize, slot_bytes: usize, to_device: bool) -> usize {
    let bytes = if to_device { STAGED_RING_BYTES } else { STAGED_OUT_RING_BYTES };
    let slots = (bytes / slot_bytes.max(1)).min(MOST_STAGED_DEPTH);
    // More streams than the hardware has queues would wait for each other.
    let per_slot = plan.streams.iter().filter(|stream| stream.is_per_slot(false)).count();
    let queues = HARDWARE_QUEUES.saturating_sub(plan.streams.len() - per_slot);
    slots.min(queues.checked_div(per_slot).unwrap_or(usize::MAX)).max(depth)
}

/// The caches of a CPU that does not tell theirs, in bytes.
const USUAL_CACHE: usize = 16 << 20;

/// The bytes that a chunk may have on a CPU, in all buffers together, so that an operation finds in the caches
/// what the one before it has left there. The other half is for what the threads use besides.
pub(crate) fn cached(device: &Device) -> usize {
    let cache = usize::try_from(device.driver().info().cache).unwrap_or(usize::MAX);
    if cache == 0 { USUAL_CACHE / 2 } else { cache / 2 }
}

/// The facts that determine the choice of a chunk.
pub(crate) struct Costs {
    /// Bytes copied while the host enqueues a chunk. On an H200 a chunk of two copies and a kernel with their
    /// events takes 7 us, in which the link carries 350 KB.
    chunk: f64,
    /// Bytes of the largest slot.
    pub(crate) most: usize,
}

impl Costs {
    /// `slots`: the size of the ring, counting all buffers, in slots of the largest size. Two thirds of the
    /// ring should fit the device's second-level cache: data just copied are then read from there. The rest
    /// is being copied, or was.
    ///
    /// Where a chunk gets data from the one before, the kernels come one after another, and a run often waits for
    /// them: then half of the cache should hold the whole ring. An H200, with a cache of 60 MB, took 29.1 ms with a
    /// ring of 24 MiB, 30.6 with 32, 32.3 to 37.9 with 48, and 50 with 64.
    pub(crate) fn new(plan: &Plan, spec: &DeviceModel, slots: usize) -> Self {
        let is =
            |kind: fn(&OperationKind) -> bool| plan.operations.iter().any(|operation| kind(&operation.kind));
        let to_device =
            is(|kind| matches!(kind, OperationKind::Upload { .. } | OperationKind::CopyFromScratch { .. }));
        let to_host =
            is(|kind| matches!(kind, OperationKind::Download { .. } | OperationKind::CopyToScratch { .. }));
        let mapped = is_mapped(plan);
        let link = spec.to_device.max(spec.to_host);
        let rate = match (to_device, to_host) {
            (true, true) => link * spec.duplex,
            (true, false) => spec.to_device,
            (false, true) => spec.to_host,
            (false, false) if mapped => link,
            (false, false) => spec.memory_rate,
        };
        let cache = usize::try_from(spec.cache).unwrap_or(usize::MAX);
        let carries = plan.buffers.iter().any(|buffer| buffer.kind == BufferKind::Carry);
        let room = if carries { cache / 2 } else { cache.saturating_mul(3) / 2 };
        let most = if cache == 0 { AUTO_SLOT_BYTES } else { room / slots.max(1) };
        // A missing rate is no limit. An infinite one would give no number when multiplied by no time.
        let rate = if rate > 0.0 { rate.min(f64::MAX) } else { f64::MAX };
        let chunk = (rate * enqueuing(plan, spec)).clamp(LEAST_PER_CHUNK, MOST_PER_CHUNK);
        Self { chunk, most: most.clamp(LEAST_SLOT_BYTES, AUTO_SLOT_BYTES) }
    }

    /// The bytes of a chunk for which a run of `total` is quickest.
    ///
    /// Filling and emptying the pipeline costs the time of one chunk, which favours small ones; enqueuing
    /// costs the same for each, which favours large ones. The sum is least where both are equal. With chunks
    /// below the bytes copied while one is enqueued, the run would wait for the host.
    pub(crate) fn bytes(&self, total: usize) -> usize {
        (total as f64 * self.chunk).sqrt().max(self.chunk) as usize
    }
}

/// A run waits for its kernels if it takes at least this multiple of the time of its copies.
const KERNELS_BIND: f64 = 1.1;

/// A run is bound by the host if enqueuing takes more than this share of it.
const HOST_BINDS: f64 = 0.75;

/// Whether the run waited for kernels, and not for copies or the host. `None` if the run does not show it: it
/// was too short, or the CPU took part in it.
pub(crate) fn kernels_bind(plan: &Plan, spec: &DeviceModel, report: &Report) -> Option<bool> {
    if report.bytes_staged > 0 || report.chunks <= 2 * report.depth {
        return None;
    }
    let seconds = |bytes: u64, rate: f64| if rate > 0.0 { bytes as f64 / rate } else { 0.0 };
    let (up, down) =
        (seconds(report.bytes_to_device, spec.to_device), seconds(report.bytes_to_host, spec.to_host));
    // While both directions copy, each is slower.
    let both = up.min(down);
    let duplex = if spec.duplex > 0.0 { spec.duplex } else { 1.0 };
    let copies = both / duplex + (up.max(down) - both);
    // The first chunk's copy in and the last one's copy out overlap nothing.
    let ends = (up + down) / report.chunks as f64;
    let host = enqueuing(plan, spec) * report.chunks as f64;
    let time = report.time.as_secs_f64();
    Some(time > KERNELS_BIND * (copies + ends) && host < HOST_BINDS * time)
}

/// Whether stages whose streams a run chooses have one for each slot, as learned from runs.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    now: bool,
    /// A run with one stream has waited for its kernels.
    once: bool,
    /// Another such run has waited, after runs with more streams had not.
    for_good: bool,
}

impl Spread {
    /// Whether the next run has more streams.
    pub(crate) fn now(&self) -> bool {
        self.now
    }

    /// Learns from a run.
    ///
    /// With more streams nothing may wait for the kernels any more. Only a run with one stream shows whether
    /// one would now suffice. One such trial is enough.
    pub(crate) fn learn(&mut self, kernels_bind: bool) {
        if kernels_bind && !self.now {
            (self.once, self.for_good) = (true, self.once);
        }
        self.now = kernels_bind || self.for_good;
    }
}

/// Seconds that the host takes to enqueue a chunk on streams.
fn enqueuing(plan: &Plan, spec: &DeviceModel) -> f64 {
    let call = |operation: &OperationPlan| match operation.kind {
        OperationKind::Launch { .. }
        | OperationKind::Call { .. }
        | OperationKind::Collective { .. }
        | OperationKind::Fill { .. } => spec.launch_call,
        OperationKind::Upload { .. }
        | OperationKind::Download { .. }
        | OperationKind::CopyOnDevice { .. }
        | OperationKind::CopyToScratch { .. }
        | OperationKind::CopyFromScratch { .. }
        | OperationKind::Host { .. }
        | OperationKind::Then => spec.host_call,
    };
    let calls: f64 = plan.operations.iter().map(|operation| call(operation).as_secs_f64()).sum();
    calls + spec.event_call.as_secs_f64() * (plan.events.len() + plan.waits.len()) as f64
}

/// Whether kernels work on the host's memory, as copy engines do.
pub(crate) fn is_mapped(plan: &Plan) -> bool {
    let is_mapped = |buffer: &BufferPlan| matches!(buffer.kind, BufferKind::InPlace { mapped: true, .. });
    plan.buffers.iter().any(is_mapped)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::plan::auto_depth;
    use crate::base::plan::{Priority, StreamPlan};

    const OPERATION: OperationPlan = OperationPlan {
        stage: 0,
        stream: 0,
        text: "",
        kind: OperationKind::Upload { host: 0, buffer: 0 },
        conditional: false,
        repeat: None,
        accesses: &[],
        line: 1,
        column: 1,
    };
    const DOWN: OperationPlan =
        OperationPlan { kind: OperationKind::Download { host: 0, buffer: 0 }, ..OPERATION };
    const KERNEL: OperationPlan = OperationPlan { kind: OperationKind::Launch { kernel: "k" }, ..OPERATION };
    const NO_PLAN: Plan = Plan {
        pipeline: "P",
        file: "",
        line: 1,
        column: 1,
        streams: &[],
        stages: &[],
        hosts: &[],
        buffers: &[],
        operations: &[],
        events: &[],
        waits: &[],
    };
    const COPIES: Plan = Plan { operations: &[OPERATION, KERNEL, DOWN], ..NO_PLAN };

    fn bytes(plan: &Plan, spec: &DeviceModel, total: usize) -> (usize, usize) {
        let costs = Costs::new(plan, spec, 6);
        (costs.bytes(total), costs.most)
    }

    #[test]
    fn a_slot_for_each_that_may_be_at_work() {
        const STREAM: StreamPlan = StreamPlan {
            name: "s",
            per_slot: false,
            placed: false,
            priority: Priority::Default,
            null: false,
        };
        const fn on(stream: usize, operation: OperationPlan) -> OperationPlan {
            OperationPlan { stream, ..operation }
        }
        const HOST: OperationPlan =
            OperationPlan { kind: OperationKind::Host { function: "f" }, ..OPERATION };
        const THEN: OperationPlan = OperationPlan { kind: OperationKind::Then, ..OPERATION };
        const IN: OperationPlan = on(0, OPERATION);
        const WORK: OperationPlan = on(1, KERNEL);
        const OUT: OperationPlan = on(2, DOWN);
        const THREE: &[OperationPlan] = &[IN, WORK, on(3, KERNEL), OUT, on(4, THEN)];
        const WITH_HOST: &[OperationPlan] = &[IN, WORK, OUT, on(3, HOST)];
        const SHARED: &[OperationPlan] = &[IN, WORK, on(0, DOWN)];
        const ONE_EACH: &[StreamPlan] = &[STREAM; 5];
        const BY_SLOT: &[StreamPlan] = &[StreamPlan { per_slot: true, ..STREAM }];
        const PLACED: &[StreamPlan] = &[StreamPlan { per_slot: true, placed: true, ..STREAM }];

        let plan = |streams, operations| Plan { streams, operations, ..NO_PLAN };
        let slots = |streams, operations| auto_depth(&plan(streams, operations));
        assert_eq!(slots(ONE_EACH, THREE), 3);
        // Nothing comes out; a part of the work is the CPU's.
        assert_eq!(slots(ONE_EACH, &[IN, WORK]), 3);
        assert_eq!(slots(ONE_EACH, WITH_HOST), 4);
        // Operations on one stream come one after another, unless each slot has its own.
        assert_eq!(slots(ONE_EACH, SHARED), 3);
        assert_eq!(slots(&[STREAM], COPIES.operations), 1);
        assert_eq!(slots(BY_SLOT, COPIES.operations), 3);
        assert_eq!(slots(PLACED, COPIES.operations), 1);
        assert_eq!(slots(&[], &[]), 1);

        // With staging, the depth depends on the bytes, and on the streams if each slot has its own.
        let staged =
            |streams, bytes, to_device| staged_depth(&plan(streams, COPIES.operations), 3, bytes, to_device);
        assert_eq!([4 << 20, 3 << 20, 1 << 20, 0].map(|bytes| staged(ONE_EACH, bytes, true)), [6, 8, 24, 24]);
        assert_eq!([4 << 20, 8 << 20, 16 << 20].map(|bytes| staged(ONE_EACH, bytes, false)), [12, 6, 3]);
        assert_eq!([8 << 20, 9 << 20, usize::MAX].map(|bytes| staged(ONE_EACH, bytes, true)), [3, 3, 3]);
        assert_eq!([4 << 20, 1 << 20].map(|bytes| staged(BY_SLOT, bytes, true)), [6, 8]);
        assert_eq!([4 << 20, 1 << 20].map(|bytes| staged(PLACED, bytes, true)), [6, 24]);
    }

    #[test]
    fn chunks_follow_from_the_device() {
        let spec = DeviceModel::h200();
        // Three calls of 1.8 us at 50.9 GB/s.
        let chunk: f64 = 3.0 * 1.8e-6 * 55.3e9 * 0.9203;
        assert_eq!(
            bytes(&COPIES, &spec, 1 << 30),
            (((1_u64 << 30) as f64 * chunk).sqrt() as usize, 15 << 20)
        );
        assert_eq!(bytes(&COPIES, &spec, 1000).0, chunk as usize);
        let up = Plan { operations: &[OPERATION], ..NO_PLAN };
        assert_eq!(bytes(&up, &spec, 0).0, (1.8e-6 * 55.3e9) as usize);
        // Kernels alone work through device memory.
        let kernel = Plan { operations: &[KERNEL], ..NO_PLAN };
        assert_eq!(bytes(&kernel, &spec, 0).0, MOST_PER_CHUNK as usize);
        // Whatever the ring, the limit is never above the size that is known to be good.
        for (cache, slots, most) in [
            (50 << 20, 6, 12),
            (60 << 20, 12, 7),
            (50 << 20, 3, 16),
            (4 << 20, 6, 4),
            (0, 6, 16),
            (u64::MAX, 0, 16),
        ] {
            let mut spec = DeviceModel::h200();
            spec.cache = cache;
            assert_eq!(Costs::new(&COPIES, &spec, slots).most >> 20, most, "{cache} {slots}");
        }
        // A third of that where kernels come one after another.
        const CARRY: BufferPlan = BufferPlan { name: "sums", kind: BufferKind::Carry, line: 1, column: 1 };
        let carries = Plan { buffers: &[CARRY], ..COPIES };
        assert_eq!(Costs::new(&carries, &spec, 3).most >> 20, 10);
    }

    #[test]
    fn no_spec_makes_nonsense() {
        let at = |change: fn(&mut DeviceModel)| {
            let mut spec = DeviceModel::h200();
            change(&mut spec);
            bytes(&COPIES, &spec, 1 << 20).0
        };
        assert_eq!(at(|spec| (spec.to_device, spec.to_host) = (0.0, f64::NAN)), MOST_PER_CHUNK as usize);
        assert_eq!(at(|spec| spec.duplex = f64::NAN), MOST_PER_CHUNK as usize);
        assert_eq!(at(|spec| spec.to_device = f64::INFINITY), MOST_PER_CHUNK as usize);
        assert_eq!(
            at(|spec| (spec.host_call, spec.launch_call) = (Duration::ZERO, Duration::ZERO)),
            (LEAST_PER_CHUNK * (1 << 20) as f64).sqrt() as usize
        );
        assert_eq!(at(|spec| spec.host_call = Duration::MAX), MOST_PER_CHUNK as usize);
        // Neither copies nor calls take any time.
        let none = at(|spec| {
            (spec.to_device, spec.event_call) = (f64::INFINITY, Duration::ZERO);
            (spec.host_call, spec.launch_call) = (Duration::ZERO, Duration::ZERO);
        });
        assert_eq!(none, (LEAST_PER_CHUNK * (1 << 20) as f64).sqrt() as usize);
    }

    fn report(millis: u64, chunks: usize) -> Report {
        let bytes = 1 << 30;
        Report {
            items: 1 << 28,
            chunks,
            depth: 3,
            bytes_to_device: bytes,
            bytes_to_host: bytes,
            time: Duration::from_millis(millis),
            ..Report::of_nothing()
        }
    }

    #[test]
    fn a_run_is_bound_by_its_kernels_if_neither_copies_nor_calls_explain_it() {
        let binds = |report: Report| kernels_bind(&COPIES, &DeviceModel::h200(), &report);
        // 1 GiB each way takes 21.1 ms.
        assert_eq!(binds(report(22, 92)), Some(false));
        assert_eq!(binds(report(30, 92)), Some(true));
        // With few chunks the ends take much of the time; with very few nothing can be concluded.
        assert_eq!(binds(report(26, 12)), Some(false));
        assert_eq!(binds(report(300, 6)), None);
        // 10,000 chunks of 5.4 us.
        assert_eq!(binds(report(60, 10_000)), Some(false));
        assert_eq!(binds(report(90, 10_000)), Some(true));
        assert_eq!(binds(Report { bytes_staged: 1, ..report(300, 92) }), None);
        // Nothing is copied.
        assert_eq!(binds(Report { bytes_to_device: 0, bytes_to_host: 0, ..report(2, 92) }), Some(true));
    }
}
