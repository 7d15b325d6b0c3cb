//! Whole plans of small pipelines: every wait, record and implied edge.
//!
//! In the drawings a row is a stream, `──>` is stream order, and `│` with an arrowhead is a wait within a
//! chunk; waits for earlier chunks are written out.

use thalweg_compiler::schedule::*;

/// A program under construction, with names for what it declares.
struct Pipeline {
    program: Program,
    ops: Vec<&'static str>,
    storages: Vec<&'static str>,
}

impl Pipeline {
    fn new() -> Self {
        let program = Program { streams: Vec::new(), storages: Vec::new(), ops: Vec::new() };
        Self { program, ops: Vec::new(), storages: Vec::new() }
    }

    fn stream(&mut self, kind: StreamKind) -> StreamId {
        self.program.streams.push(kind);
        StreamId(self.program.streams.len() as u32 - 1)
    }

    fn storage(&mut self, name: &'static str, kind: StorageKind) -> StorageId {
        self.storages.push(name);
        self.program.storages.push(kind);
        StorageId(self.storages.len() as u32 - 1)
    }

    fn op(&mut self, name: &'static str, stream: StreamId, accesses: &[Access]) {
        self.ops.push(name);
        self.program.ops.push(Op { stream, accesses: accesses.to_vec() });
    }

    #[track_caller]
    fn expect(&self, waits: &[&str], records: &[&str], implied: &[&str]) {
        let plan = schedule(&self.program);
        assert_eq!(plan.waits.iter().map(|wait| self.edge(wait)).collect::<Vec<_>>(), waits);
        assert_eq!(plan.records.iter().map(|&op| self.name(op)).collect::<Vec<_>>(), records);
        assert_eq!(
            thalweg_compiler::schedule::implied(&self.program)
                .iter()
                .map(|edge| self.implied(edge))
                .collect::<Vec<_>>(),
            implied
        );
    }

    fn name(&self, op: OpId) -> &'static str {
        self.ops[op.0 as usize]
    }

    fn arrow(&self, from: OpId, to: OpId, distance: Distance) -> String {
        let distance = match distance {
            Distance::Same => "",
            Distance::Previous => " @ previous",
            Distance::Reuse => " @ reuse",
        };
        format!("{} -> {}{distance}", self.name(from), self.name(to))
    }

    fn edge(&self, edge: &Edge) -> String {
        let cause = |cause: &Cause| {
            let hazard = match cause.hazard {
                Hazard::ReadAfterWrite => "raw",
                Hazard::WriteAfterRead => "war",
                Hazard::WriteAfterWrite => "waw",
            };
            format!("{hazard} {}", self.storages[cause.storage.0 as usize])
        };
        let causes: Vec<String> = edge.causes.iter().map(cause).collect();
        format!("{}: {}", self.arrow(edge.from, edge.to, edge.distance), causes.join(", "))
    }

    fn implied(&self, implied: &Implied) -> String {
        let Edge { from, to, distance, .. } = implied.edge;
        let why = match &implied.why {
            Why::Stream => "stream".to_owned(),
            Why::Path(path) => {
                let step = |step: &Step| {
                    let link = match step.link {
                        Link::Stream => "stream",
                        Link::Wait => "wait",
                    };
                    format!("{} ({link})", self.arrow(step.from, step.to, step.distance))
                };
                path.iter().map(step).collect::<Vec<_>>().join(", ")
            }
        };
        format!("{}: {why}", self.arrow(from, to, distance))
    }
}

fn read(storage: StorageId) -> Access {
    Access { storage, reads: true, writes: false }
}

fn write(storage: StorageId) -> Access {
    Access { storage, reads: false, writes: true }
}

fn update(storage: StorageId) -> Access {
    Access { storage, reads: true, writes: true }
}

/// `y <- a*x + y`, its four operations on the streams given.
fn saxpy(kind: StreamKind, streams: usize) -> Pipeline {
    let mut p = Pipeline::new();
    let on: Vec<StreamId> = (0..streams).map(|_| p.stream(kind)).collect();
    let [x, y] = ["x", "y"].map(|name| p.storage(name, StorageKind::Host));
    let [dx, dy] = ["dx", "dy"].map(|name| p.storage(name, StorageKind::Ring));
    p.op("copy_x", on[0], &[read(x), write(dx)]);
    p.op("copy_y", on[0], &[read(y), write(dy)]);
    p.op("axpy", on[1 % streams], &[read(dx), update(dy)]);
    p.op("store", on[2 % streams], &[read(dy), write(y)]);
    p
}

//   up     copy_x ──> copy_y             copy_x waits for axpy, copy_y for store,
//                        │               both of the chunk that last used the slot
//   math                 └─> axpy
//                             │
//   down                      └─> store
#[test]
fn three_streams() {
    saxpy(StreamKind::Fixed, 3).expect(
        &[
            "copy_y -> axpy: raw dy, waw dy",
            "axpy -> store: raw dy",
            "axpy -> copy_x @ reuse: war dx",
            "store -> copy_y @ reuse: war dy",
        ],
        &["copy_y", "axpy", "store"],
        &[
            "copy_x -> axpy: copy_x -> copy_y (stream), copy_y -> axpy (wait)",
            "copy_x -> copy_x @ reuse: stream",
            "copy_x -> axpy @ reuse: copy_x -> copy_y @ reuse (stream), copy_y -> axpy (wait)",
            "copy_y -> store: copy_y -> axpy (wait), axpy -> store (wait)",
            "copy_y -> copy_y @ reuse: stream",
            "copy_y -> axpy @ reuse: copy_y -> axpy (wait), axpy -> axpy @ reuse (stream)",
            "copy_y -> store @ reuse: copy_y -> axpy (wait), axpy -> store (wait), store -> store @ reuse (stream)",
            "axpy -> copy_y @ reuse: axpy -> store (wait), store -> copy_y @ reuse (wait)",
            "axpy -> axpy @ reuse: stream",
            "axpy -> store @ reuse: axpy -> store (wait), store -> store @ reuse (stream)",
            "store -> axpy @ reuse: store -> copy_y @ reuse (wait), copy_y -> axpy (wait)",
        ],
    );
}

/// Everything is on one stream, which implies all implied edges.
#[track_caller]
fn expect_no_waits(p: &Pipeline) {
    p.expect(
        &[],
        &[],
        &[
            "copy_x -> axpy: stream",
            "copy_x -> copy_x @ reuse: stream",
            "copy_x -> axpy @ reuse: stream",
            "copy_y -> axpy: stream",
            "copy_y -> store: stream",
            "copy_y -> copy_y @ reuse: stream",
            "copy_y -> axpy @ reuse: stream",
            "copy_y -> store @ reuse: stream",
            "axpy -> store: stream",
            "axpy -> copy_x @ reuse: stream",
            "axpy -> copy_y @ reuse: stream",
            "axpy -> axpy @ reuse: stream",
            "axpy -> store @ reuse: stream",
            "store -> copy_y @ reuse: stream",
            "store -> axpy @ reuse: stream",
        ],
    );
}

//   s     copy_x ──> copy_y ──> axpy ──> store
#[test]
fn one_stream_needs_no_events() {
    expect_no_waits(&saxpy(StreamKind::Fixed, 1));
}

//   s[c mod D]     copy_x ──> copy_y ──> axpy ──> store
#[test]
fn one_stream_per_slot_needs_no_events() {
    expect_no_waits(&saxpy(StreamKind::PerSlot, 1));
}

//   s[c mod D]     load ──> scan          scan waits for scan of the chunk before: the carry
#[test]
fn a_carry_chains_the_chunks_of_a_per_slot_stream() {
    let mut p = Pipeline::new();
    let s = p.stream(StreamKind::PerSlot);
    let x = p.storage("x", StorageKind::Host);
    let dx = p.storage("dx", StorageKind::Ring);
    let carry = p.storage("carry", StorageKind::Shared);
    p.op("load", s, &[read(x), write(dx)]);
    p.op("scan", s, &[read(dx), update(carry)]);
    p.expect(
        &["scan -> scan @ previous: raw carry, war carry, waw carry"],
        &["scan"],
        &[
            "load -> scan: stream",
            "load -> load @ reuse: stream",
            "load -> scan @ reuse: stream",
            "scan -> load @ reuse: stream",
        ],
    );
}

//   s                 load ──> scan          a fixed stream hands the carry on by itself
#[test]
fn a_carry_on_a_fixed_stream_needs_no_events() {
    let mut p = Pipeline::new();
    let s = p.stream(StreamKind::Fixed);
    let carry = p.storage("carry", StorageKind::Shared);
    p.op("scan", s, &[update(carry)]);
    p.op("show", s, &[read(carry)]);
    p.expect(
        &[],
        &[],
        &[
            "scan -> show: stream",
            "scan -> scan @ previous: stream",
            "scan -> show @ previous: stream",
            "show -> scan @ previous: stream",
        ],
    );
}

//   s[c mod D]     scan           scan waits for show of the chunk before, which
//                    │            implies that it waits for scan of the chunk before
//   t[c mod D]       └─> show
#[test]
fn the_reader_of_a_carry_holds_up_the_next_chunk() {
    let mut p = Pipeline::new();
    let [s, t] = [(); 2].map(|()| p.stream(StreamKind::PerSlot));
    let carry = p.storage("carry", StorageKind::Shared);
    p.op("scan", s, &[update(carry)]);
    p.op("show", t, &[read(carry)]);
    p.expect(
        &["scan -> show: raw carry", "show -> scan @ previous: war carry"],
        &["scan", "show"],
        &[
            "scan -> scan @ previous: scan -> show (wait), show -> scan @ previous (wait)",
            "scan -> show @ previous: scan -> show (wait), show -> scan @ previous (wait), scan -> show (wait)",
        ],
    );
}

//   up[c mod D]     load             sum waits for sum of the chunk before: the carry. That chain runs
//                     │              from sum to sum and never comes by load, so load also
//   s[c mod D]        └─> sum        waits for sum, of the chunk that last used the slot
#[test]
fn a_carry_does_not_replace_the_wait_for_the_slot() {
    let mut p = Pipeline::new();
    let [up, s] = [(); 2].map(|()| p.stream(StreamKind::PerSlot));
    let dx = p.storage("dx", StorageKind::Ring);
    let total = p.storage("total", StorageKind::Shared);
    p.op("load", up, &[write(dx)]);
    p.op("sum", s, &[read(dx), update(total)]);
    p.expect(
        &[
            "load -> sum: raw dx",
            "sum -> sum @ previous: raw total, war total, waw total",
            "sum -> load @ reuse: war dx",
        ],
        &["load", "sum"],
        &[
            "load -> load @ reuse: stream",
            "load -> sum @ reuse: load -> sum (wait), sum -> sum @ reuse (stream)",
        ],
    );
}

//   a[c mod D]     first                   first waits for last of the chunk before: the carry.
//                    │                     That chain is as long as the ring, so the slot of
//   b[c mod D]       └─> last              `t` needs no event
#[test]
fn a_carry_between_the_ends_replaces_the_wait_for_the_slot() {
    let mut p = Pipeline::new();
    let [a, b] = [(); 2].map(|()| p.stream(StreamKind::PerSlot));
    let t = p.storage("t", StorageKind::Ring);
    let carry = p.storage("carry", StorageKind::Shared);
    p.op("first", a, &[write(t), read(carry)]);
    p.op("last", b, &[read(t), write(carry)]);
    p.expect(
        &["first -> last: raw t, war carry", "last -> first @ previous: raw carry"],
        &["first", "last"],
        &[
            "first -> last @ previous: first -> last (wait), last -> first @ previous (wait), first -> last (wait)",
            "first -> first @ reuse: stream",
            "first -> last @ reuse: first -> last (wait), last -> last @ reuse (stream)",
            "last -> last @ previous: last -> first @ previous (wait), first -> last (wait)",
            "last -> first @ reuse: last -> first @ previous (wait)",
        ],
    );
}

//   up      load                   load waits for both kernels of its slot's last chunk;
//             ├──────┐             they do not wait for each other
//   a         └─> blur  │
//   b                └─> edges
#[test]
fn two_kernels_share_an_input() {
    let mut p = Pipeline::new();
    let [up, a, b] = [(); 3].map(|()| p.stream(StreamKind::Fixed));
    let image = p.storage("image", StorageKind::Ring);
    let weights = p.storage("weights", StorageKind::Shared);
    let [blurred, found] = ["blurred", "found"].map(|name| p.storage(name, StorageKind::Ring));
    p.op("load", up, &[write(image)]);
    p.op("blur", a, &[read(image), read(weights), write(blurred)]);
    p.op("edges", b, &[read(image), read(weights), write(found)]);
    p.expect(
        &[
            "load -> blur: raw image",
            "load -> edges: raw image",
            "blur -> load @ reuse: war image",
            "edges -> load @ reuse: war image",
        ],
        &["load", "blur", "edges"],
        &[
            "load -> load @ reuse: stream",
            "load -> blur @ reuse: load -> blur (wait), blur -> blur @ reuse (stream)",
            "load -> edges @ reuse: load -> edges (wait), edges -> edges @ reuse (stream)",
            "blur -> blur @ reuse: stream",
            "edges -> edges @ reuse: stream",
        ],
    );
}

//   a     produce                 overwrite waits for consume, which reads what produce wrote
//            │                    first; produce waits for overwrite, D chunks before
//   b        └─> consume
//                   │
//   c               └─> overwrite
#[test]
fn an_overwrite_waits_for_the_reader() {
    let mut p = Pipeline::new();
    let [a, b, c] = [(); 3].map(|()| p.stream(StreamKind::Fixed));
    let t = p.storage("t", StorageKind::Ring);
    p.op("produce", a, &[write(t)]);
    p.op("consume", b, &[read(t)]);
    p.op("overwrite", c, &[write(t)]);
    p.expect(
        &[
            "produce -> consume: raw t",
            "consume -> overwrite: war t",
            "overwrite -> produce @ reuse: waw t",
        ],
        &["produce", "consume", "overwrite"],
        &[
            "produce -> overwrite: produce -> consume (wait), consume -> overwrite (wait)",
            "produce -> produce @ reuse: stream",
            "produce -> consume @ reuse: produce -> consume (wait), consume -> consume @ reuse (stream)",
            "produce -> overwrite @ reuse: produce -> consume (wait), consume -> overwrite (wait), \
             overwrite -> overwrite @ reuse (stream)",
            "consume -> produce @ reuse: consume -> overwrite (wait), overwrite -> produce @ reuse (wait)",
            "consume -> overwrite @ reuse: consume -> overwrite (wait), overwrite -> overwrite @ reuse (stream)",
            "overwrite -> consume @ reuse: overwrite -> produce @ reuse (wait), produce -> consume (wait)",
            "overwrite -> overwrite @ reuse: stream",
        ],
    );
}

//   copies     load ────────> store       the host region is written after it is read by stream
//                │              ^         order; load of the next chunk in this slot comes after
//   math         └──> square ───┘         store, on the same stream
#[test]
fn in_place_with_both_copies_on_one_stream() {
    let mut p = Pipeline::new();
    let [copies, math] = [(); 2].map(|()| p.stream(StreamKind::Fixed));
    let y = p.storage("y", StorageKind::Host);
    let dy = p.storage("dy", StorageKind::Ring);
    p.op("load", copies, &[read(y), write(dy)]);
    p.op("square", math, &[update(dy)]);
    p.op("store", copies, &[read(dy), write(y)]);
    p.expect(
        &["load -> square: raw dy, waw dy", "square -> store: raw dy"],
        &["load", "square"],
        &[
            "load -> store: stream",
            "load -> load @ reuse: stream",
            "load -> square @ reuse: load -> square (wait), square -> square @ reuse (stream)",
            "load -> store @ reuse: stream",
            "square -> load @ reuse: square -> store (wait), store -> load @ reuse (stream)",
            "square -> square @ reuse: stream",
            "square -> store @ reuse: square -> store (wait), store -> store @ reuse (stream)",
            "store -> load @ reuse: stream",
            "store -> square @ reuse: store -> load @ reuse (stream), load -> square (wait)",
        ],
    );
}

//   a     zero                 zero waits for add, D chunks before
//           │
//   b       └─> add
#[test]
fn two_writers_of_one_buffer() {
    let mut p = Pipeline::new();
    let [a, b] = [(); 2].map(|()| p.stream(StreamKind::Fixed));
    let sum = p.storage("sum", StorageKind::Ring);
    p.op("zero", a, &[write(sum)]);
    p.op("add", b, &[write(sum)]);
    p.expect(
        &["zero -> add: waw sum", "add -> zero @ reuse: waw sum"],
        &["zero", "add"],
        &[
            "zero -> zero @ reuse: stream",
            "zero -> add @ reuse: zero -> add (wait), add -> add @ reuse (stream)",
            "add -> add @ reuse: stream",
        ],
    );
}

//   a     left           no storage in common: nothing waits
//   b     right
#[test]
fn unrelated_stages_run_freely() {
    let mut p = Pipeline::new();
    let [a, b] = [(); 2].map(|()| p.stream(StreamKind::Fixed));
    let w = p.storage("w", StorageKind::Shared);
    let [l, r] = ["l", "r"].map(|name| p.storage(name, StorageKind::Host));
    p.op("left", a, &[read(w), write(l)]);
    p.op("right", b, &[read(w), write(r)]);
    p.expect(&[], &[], &[]);
}

#[test]
fn an_empty_program_has_an_empty_plan() {
    Pipeline::new().expect(&[], &[], &[]);
}

//   up     load                 use reads dx twice and writes it: one edge with each cause once
//            │
//   math     └─> use
#[test]
fn accesses_of_one_operation_are_taken_together() {
    let mut p = Pipeline::new();
    let [up, math] = [(); 2].map(|()| p.stream(StreamKind::Fixed));
    let dx = p.storage("dx", StorageKind::Ring);
    p.op("load", up, &[write(dx)]);
    p.op("use", math, &[read(dx), write(dx), read(dx)]);
    p.expect(
        &["load -> use: raw dx, waw dx", "use -> load @ reuse: war dx, waw dx"],
        &["load", "use"],
        &[
            "load -> load @ reuse: stream",
            "load -> use @ reuse: load -> use (wait), use -> use @ reuse (stream)",
            "use -> use @ reuse: stream",
        ],
    );
}

#[test]
fn the_waits_of_an_operation_are_found() {
    let plan = schedule(&saxpy(StreamKind::Fixed, 3).program);
    let before = |op| plan.waits_of(OpId(op)).map(|wait| (wait.from.0, wait.distance)).collect::<Vec<_>>();
    assert_eq!(before(0), [(2, Distance::Reuse)]);
    assert_eq!(before(1), [(3, Distance::Reuse)]);
    assert_eq!(before(2), [(1, Distance::Same)]);
    assert_eq!(before(3), [(2, Distance::Same)]);
}
