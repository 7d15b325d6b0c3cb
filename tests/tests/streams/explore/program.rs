//! Random pipelines, their results by a plain loop, and the plan with the scheduler's waits.

use thalweg::Plan;
use thalweg::plan::{
    AccessPlan, BufferKind, BufferPlan, Distance, EventPlan, HostPlan, Memory, OperationKind, OperationPlan,
    Priority, StreamPlan, WaitPlan,
};
use thalweg_compiler::schedule::{
    self, Access, Op, OpId, Schedule, StorageId, StorageKind, StreamId, StreamKind,
};
use thalweg_tests::random::Random;

/// Elements of a carry.
pub const CARRIED: usize = 3;

/// The largest number of operations of a program.
pub const OPERATIONS: usize = 8;

/// The largest number of streams of a program.
pub const STREAMS: usize = 4;

/// The place of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// `device t: [u32];`
    Ring,
    /// `host h: [u32];`
    Scratch,
    /// `carry a: [u32; 3];`
    Carry,
    /// `carry a: [u32; 3] = 0 combine combined;`
    Combined,
    /// `inout x: device [u32];`
    OnDevice,
    /// `inout x: mapped [u32];`
    Mapped,
    /// `inout x: [u32];`
    Host,
}

impl Storage {
    fn is_slot(self) -> bool {
        matches!(self, Self::Ring | Self::Scratch)
    }
}

/// The work of an operation. Numbers are those of storages.
#[derive(Debug, Clone)]
pub enum What {
    Upload {
        from: usize,
        to: usize,
    },
    Download {
        from: usize,
        to: usize,
    },
    Copy {
        from: usize,
        to: usize,
    },
    Fill {
        to: usize,
        value: u32,
    },
    /// A routine's work on the device.
    Call {
        reads: Vec<usize>,
        writes: Vec<usize>,
    },
    /// A function on the host.
    Function {
        reads: Vec<usize>,
        writes: Vec<usize>,
    },
}

/// Streams, data and the operations of a chunk, each with its stream.
#[derive(Debug, Clone)]
pub struct Program {
    pub streams: Vec<StreamKind>,
    pub storages: Vec<Storage>,
    pub ops: Vec<(usize, What)>,
}

/// The way in which a program runs.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub items: usize,
    pub chunk: usize,
    pub depth: usize,
    /// Whether host data is pageable.
    pub staged: bool,
    pub graph: bool,
}

impl Shape {
    /// Any way, with enough chunks to use each slot three times, or fewer.
    pub fn any(random: &mut Random) -> Self {
        let depth = 1 + random.below(3) as usize;
        let chunk = 1 + random.below(2) as usize;
        let chunks = 1 + random.below(3 * depth as u64 + 2) as usize;
        let items = chunk * chunks - random.below(chunk as u64) as usize;
        Self { items, chunk, depth, staged: random.below(4) == 0, graph: random.below(4) == 0 }
    }

    /// Only the waits order anything, and each slot is used again and again.
    pub fn bare(depth: usize) -> Self {
        Self { items: 3 * depth + 3, chunk: 1, depth, staged: false, graph: false }
    }
}

impl Program {
    pub fn any(random: &mut Random) -> Self {
        let stream =
            |random: &mut Random| if random.below(2) == 0 { StreamKind::Fixed } else { StreamKind::PerSlot };
        // One stream alone leaves no choice.
        let count = if random.below(16) == 0 { 1 } else { 2 + random.below(STREAMS as u64 - 1) };
        let streams: Vec<_> = (0..count).map(|_| stream(random)).collect();
        let mut storages = vec![Storage::Ring, Storage::Host];
        let others = [
            Storage::Ring,
            Storage::Ring,
            Storage::Ring,
            Storage::Scratch,
            Storage::Carry,
            Storage::Combined,
            Storage::OnDevice,
            Storage::Mapped,
            Storage::Host,
        ];
        for _ in 0..random.below(4) {
            storages.push(others[random.below(others.len() as u64) as usize]);
        }
        let mut program = Self { streams, storages, ops: Vec::new() };
        for _ in 0..3 + random.below(OPERATIONS as u64 - 2) {
            let stream = random.below(program.streams.len() as u64) as usize;
            let what = program.operation(random);
            program.ops.push((stream, what));
        }
        program
    }

    /// A program that several devices can share: nothing passes from chunk to chunk, on a device or in a slot, which each
    /// chunk fills before it reads it, but for what is combined at the end.
    pub fn for_several(random: &mut Random) -> Self {
        loop {
            let mut program = Self::any(random);
            let is_shared = |storage: &Storage| {
                matches!(storage, Storage::Ring | Storage::Combined | Storage::Host | Storage::Mapped)
            };
            if !program.storages.iter().all(is_shared) {
                continue;
            }
            let rings = (0..program.storages.len()).filter(|&index| program.storages[index] == Storage::Ring);
            let fills: Vec<_> = rings.map(|to| (0, What::Fill { to, value: 7 * to as u32 })).collect();
            program.ops.truncate(OPERATIONS - fills.len());
            program.ops.splice(..0, fills);
            return program;
        }
    }

    /// One of the storages of such a kind; there is at least one.
    fn some(&self, random: &mut Random, wanted: impl Fn(Storage) -> bool) -> usize {
        let all: Vec<usize> =
            (0..self.storages.len()).filter(|&index| wanted(self.storages[index])).collect();
        all[random.below(all.len() as u64) as usize]
    }

    fn operation(&self, random: &mut Random) -> What {
        let ring = |storage| storage == Storage::Ring;
        let host = |storage| storage == Storage::Host;
        match random.below(10) {
            0 | 1 => What::Upload { from: self.some(random, host), to: self.some(random, ring) },
            2 | 3 => What::Download { from: self.some(random, ring), to: self.some(random, host) },
            4 => {
                let (from, to) = (self.some(random, Storage::is_slot), self.some(random, Storage::is_slot));
                let is_copy = from != to && [from, to].iter().any(|&index| ring(self.storages[index]));
                if is_copy { What::Copy { from, to } } else { self.fill(random) }
            }
            5 => self.fill(random),
            6 => {
                let usable = |storage| matches!(storage, Storage::Scratch | Storage::Mapped);
                if !self.storages.iter().any(|&storage| usable(storage)) {
                    return self.call(random);
                }
                let (reads, writes) = self.arguments(random, usable);
                What::Function { reads, writes }
            }
            _ => self.call(random),
        }
    }

    fn fill(&self, random: &mut Random) -> What {
        What::Fill { to: self.some(random, |storage| storage == Storage::Ring), value: random.bits() as u32 }
    }

    fn call(&self, random: &mut Random) -> What {
        let usable = |storage| !matches!(storage, Storage::Scratch | Storage::Host);
        let (reads, writes) = self.arguments(random, usable);
        What::Call { reads, writes }
    }

    /// Up to two storages that are read and up to two others that are written; at least one in all.
    fn arguments(&self, random: &mut Random, usable: impl Fn(Storage) -> bool) -> (Vec<usize>, Vec<usize>) {
        let mut all: Vec<usize> =
            (0..self.storages.len()).filter(|&index| usable(self.storages[index])).collect();
        for index in (1..all.len()).rev() {
            all.swap(index, random.below(index as u64 + 1) as usize);
        }
        let written = (1 + random.below(2) as usize).min(all.len());
        let reads = all.split_off(written);
        (reads.into_iter().take(random.below(3) as usize).collect(), all)
    }

    /// Whether each slot has a part of a storage that is combined at the end: a stream for each slot uses it.
    fn is_per_slot(&self, storage: usize) -> bool {
        let is_spread = |stream: usize| self.streams[stream] == StreamKind::PerSlot;
        let uses = |what: &What| match what {
            What::Call { reads, writes } => reads.contains(&storage) || writes.contains(&storage),
            _ => false,
        };
        self.storages[storage] == Storage::Combined
            && self.ops.iter().any(|(stream, what)| is_spread(*stream) && uses(what))
    }

    fn storage_kind(&self, storage: usize) -> StorageKind {
        match self.storages[storage] {
            Storage::Ring | Storage::Scratch => StorageKind::Ring,
            Storage::Combined if self.is_per_slot(storage) => StorageKind::Ring,
            Storage::Carry | Storage::Combined => StorageKind::Shared,
            Storage::OnDevice | Storage::Mapped | Storage::Host => StorageKind::Host,
        }
    }

    /// The program as the scheduler sees it.
    pub fn to_schedule(&self) -> schedule::Program {
        let access =
            |&storage: &usize, reads, writes| Access { storage: StorageId(storage as u32), reads, writes };
        let op = |(stream, what): &(usize, What)| {
            let accesses = match what {
                What::Upload { from, to } | What::Download { from, to } | What::Copy { from, to } => {
                    vec![access(from, true, false), access(to, false, true)]
                }
                What::Fill { to, .. } => vec![access(to, false, true)],
                What::Call { reads, writes } | What::Function { reads, writes } => {
                    let reads = reads.iter().map(|read| access(read, true, false));
                    reads.chain(writes.iter().map(|write| access(write, true, true))).collect()
                }
            };
            Op { stream: StreamId(*stream as u32), accesses }
        };
        schedule::Program {
            streams: self.streams.clone(),
            storages: (0..self.storages.len()).map(|storage| self.storage_kind(storage)).collect(),
            ops: self.ops.iter().map(op).collect(),
        }
    }

    /// The number of a storage among the hosts, or among the buffers.
    pub fn place(&self, storage: usize) -> usize {
        let is_host = |storage: &Storage| *storage == Storage::Host;
        let own = is_host(&self.storages[storage]);
        self.storages[..storage].iter().filter(|other| is_host(other) == own).count()
    }

    /// The plan of such a pipeline, for as long as the process.
    pub fn plan(&self, scheduled: &Schedule) -> &'static Plan {
        let memory = |storage: usize| match self.storages[storage] {
            Storage::Host => Memory::Host(self.place(storage)),
            _ => Memory::Buffer(self.place(storage)),
        };
        let described = self.to_schedule();
        let operation = |(index, op): (usize, &Op)| {
            let (stream, what) = &self.ops[index];
            let accesses = op.accesses.iter().map(|access| {
                AccessPlan::new(memory(access.storage.0 as usize), access.reads, access.writes)
            });
            let text = String::leak(format!("operation {index}"));
            let (kind, line) = (self.kind(what), 10 + index as u32);
            OperationPlan::new(index, *stream, text, kind, false, None, leaked(accesses), line, 9)
        };
        let stream = |(index, kind): (usize, &StreamKind)| {
            let name = String::leak(format!("stream{index}"));
            StreamPlan::new(name, Priority::Default, *kind == StreamKind::PerSlot, false, false)
        };
        let buffer = |(index, storage): (usize, &Storage)| {
            let in_place = |mapped| BufferKind::InPlace { mapped, reads: true, writes: true };
            let kind = match storage {
                Storage::Ring => BufferKind::Ring,
                Storage::Scratch => BufferKind::HostScratch,
                Storage::Combined if self.is_per_slot(index) => BufferKind::CarryPerSlot,
                Storage::Carry | Storage::Combined => BufferKind::Carry,
                Storage::OnDevice => in_place(false),
                Storage::Mapped => in_place(true),
                Storage::Host => return None,
            };
            Some(BufferPlan::new(String::leak(format!("buffer{index}")), kind, 2, 1))
        };
        let host =
            |index: usize| HostPlan::new(String::leak(format!("host{index}")), true, true, false, 2, 1);
        let hosts = self.storages.iter().filter(|storage| **storage == Storage::Host).count();
        let event = |record: OpId| scheduled.records.iter().position(|other| *other == record).unwrap();
        let waits = scheduled.waits.iter().map(|wait| {
            let distance = match wait.distance {
                schedule::Distance::Same => Distance::Same,
                schedule::Distance::Previous => Distance::Previous,
                schedule::Distance::Reuse => Distance::Reuse,
            };
            WaitPlan::new(wait.to.0 as usize, event(wait.from), distance, &[])
        });
        let events = scheduled
            .records
            .iter()
            .map(|record| EventPlan::new(String::leak(format!("event{}", record.0)), record.0 as usize));
        let stages = (0..self.ops.len()).map(|index| &*String::leak(format!("stage{index}")));
        let plan = Plan::new(
            "Random",
            "random.rs",
            1,
            1,
            leaked(self.streams.iter().enumerate().map(stream)),
            leaked(stages),
            leaked((0..hosts).map(host)),
            leaked(self.storages.iter().enumerate().filter_map(buffer)),
            leaked(described.ops.iter().enumerate().map(operation)),
            leaked(events),
            leaked(waits),
        );
        Box::leak(Box::new(plan))
    }

    fn kind(&self, what: &What) -> OperationKind {
        let place = |storage: &usize| self.place(*storage);
        match what {
            What::Upload { from, to } => OperationKind::Upload { host: place(from), buffer: place(to) },
            What::Download { from, to } => OperationKind::Download { host: place(to), buffer: place(from) },
            What::Copy { from, to } => {
                let (source, from, to) = (self.storages[*from], place(from), place(to));
                match (source, self.storages[self.storage_of_copy(what)]) {
                    (Storage::Scratch, _) => OperationKind::CopyFromScratch { from, to },
                    (_, Storage::Scratch) => OperationKind::CopyToScratch { from, to },
                    _ => OperationKind::CopyOnDevice { from, to },
                }
            }
            What::Fill { to, .. } => OperationKind::Fill { buffer: place(to) },
            What::Call { .. } => OperationKind::Call { routine: "routine" },
            What::Function { .. } => OperationKind::Host { function: "function" },
        }
    }

    fn storage_of_copy(&self, what: &What) -> usize {
        let What::Copy { to, .. } = what else { unreachable!("asked of copies") };
        *to
    }
}

fn leaked<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    Vec::leak(items.into_iter().collect())
}

/// The initial content of a storage: a different value at each place.
pub fn initial(storage: usize, len: usize) -> Vec<u32> {
    (0..len).map(|index| (storage * 1000 + index) as u32).collect()
}

/// The result of operation `op` for data that it writes, and data that it reads.
pub fn work(op: usize, reads: &[&[u32]], writes: &mut [&mut [u32]]) {
    for (number, write) in writes.iter_mut().enumerate() {
        for (index, value) in write.iter_mut().enumerate() {
            let mut mixed = *value ^ (op * 64 + number) as u32;
            for read in reads {
                mixed = mixed.rotate_left(7).wrapping_mul(0x9e37_79b1) ^ read[index % read.len()];
            }
            *value = mixed.wrapping_mul(0x85eb_ca6b).rotate_left(13);
        }
    }
}

/// How parts become one result: in another order it is another one, and parts without a chunk change nothing.
pub fn combined(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { one.rotate_left(5).wrapping_mul(0x9e37_79b1) ^ other }
}

impl Program {
    /// The content of each storage after a run on so many devices, one chunk after another; empty for those that a run
    /// does not give back.
    pub fn expected(&self, shape: Shape, devices: usize) -> Vec<Vec<u32>> {
        // New device memory is poisoned, new page-locked memory is zero.
        let slots = |storage: &Storage| match storage {
            Storage::Ring => vec![vec![u32::MAX; shape.chunk]; devices * shape.depth],
            Storage::Scratch => vec![vec![0; shape.chunk]; devices * shape.depth],
            Storage::Combined => vec![vec![0; CARRIED]; devices * shape.depth],
            _ => Vec::new(),
        };
        let mut slots: Vec<Vec<Vec<u32>>> = self.storages.iter().map(slots).collect();
        let mut whole: Vec<Vec<u32>> = self.start(shape);
        for chunk in 0..shape.items.div_ceil(shape.chunk) {
            let items = chunk * shape.chunk..((chunk + 1) * shape.chunk).min(shape.items);
            let range = |storage: usize| match self.storages[storage] {
                Storage::Ring | Storage::Scratch => 0..items.len(),
                Storage::Carry | Storage::Combined => 0..CARRIED,
                _ => items.clone(),
            };
            for (op, (_, what)) in self.ops.iter().enumerate() {
                let (reads, writes) = match what {
                    What::Upload { from, to } | What::Download { from, to } | What::Copy { from, to } => {
                        (std::slice::from_ref(from), std::slice::from_ref(to))
                    }
                    What::Fill { to, .. } => (&[][..], std::slice::from_ref(to)),
                    What::Call { reads, writes } | What::Function { reads, writes } => {
                        (&reads[..], &writes[..])
                    }
                };
                // Devices take turns where it matters.
                let (device, turn) = (chunk % devices, chunk / devices);
                let slot_of = |storage: usize| match self.storages[storage] {
                    Storage::Combined if !self.is_per_slot(storage) => Some(device * shape.depth),
                    Storage::Ring | Storage::Scratch | Storage::Combined => {
                        Some(device * shape.depth + turn % shape.depth)
                    }
                    _ => None,
                };
                let get = |storage: &usize| -> Vec<u32> {
                    let all = match slot_of(*storage) {
                        Some(slot) => &slots[*storage][slot],
                        None => &whole[*storage],
                    };
                    all[range(*storage)].to_vec()
                };
                let read: Vec<Vec<u32>> = reads.iter().map(get).collect();
                let mut written: Vec<Vec<u32>> = writes.iter().map(get).collect();
                match what {
                    What::Fill { value, .. } => written[0].fill(*value),
                    What::Call { .. } | What::Function { .. } => {
                        let reads: Vec<&[u32]> = read.iter().map(|data| &data[..]).collect();
                        let mut writes: Vec<&mut [u32]> =
                            written.iter_mut().map(|data| &mut data[..]).collect();
                        work(op, &reads, &mut writes);
                    }
                    _ => written[0].copy_from_slice(&read[0]),
                }
                for (storage, data) in writes.iter().zip(written) {
                    let all = match slot_of(*storage) {
                        Some(slot) => &mut slots[*storage][slot],
                        None => &mut whole[*storage],
                    };
                    all[range(*storage)].copy_from_slice(&data);
                }
            }
        }
        for (storage, parts) in slots.iter().enumerate() {
            if self.storages[storage] == Storage::Combined {
                let results = whole[storage].iter_mut().enumerate();
                results.for_each(|(at, result)| {
                    *result = parts.iter().fold(*result, |one, part| combined(one, part[at]))
                });
            }
        }
        whole
    }

    /// The content of each storage before a run; empty for those that it does not get.
    pub fn start(&self, shape: Shape) -> Vec<Vec<u32>> {
        let len = |storage: &Storage| match storage {
            Storage::Ring | Storage::Scratch => 0,
            Storage::Carry | Storage::Combined => CARRIED,
            _ => shape.items,
        };
        self.storages.iter().enumerate().map(|(index, storage)| initial(index, len(storage))).collect()
    }
}
