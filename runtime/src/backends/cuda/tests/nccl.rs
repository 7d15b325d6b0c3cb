//! NCCL on a single GPU: a communicator of one rank, and two ranks that would share the GPU.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::gpu::{SLOW_FILL, param};
use super::{TAG, launch};
use crate::backends::cuda::Cuda;
use crate::base::collective::{CollectiveKind, Element, Operands, Reduce};
use crate::base::error::Result;
use crate::driver::collective::exchanged::{Exchange, Receives, Sends};
use crate::driver::collective::{Joining, Message, RawCollective, RawCommunicator, Shared};
use crate::driver::{Command, DevicePtr, Driver, DriverResult, RawStream};

/// Elements of each buffer.
const LEN: usize = 1 << 16;
const BYTES: usize = LEN * 4;
const SUM: Operands = Operands { reduce: Reduce::Sum, element: Element::F32 };

/// Nobody to exchange anything with: the device is a GPU.
struct Nobody;

impl Exchange for Nobody {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, _: &Sends<'_>, _: &mut Receives<'_>) -> Result<(), String> {
        unreachable!("a GPU exchanges nothing over the host")
    }
}

/// A rank on a GPU, with a stream and two buffers. All of it stays until the process ends.
struct Rank {
    device: Arc<dyn Driver>,
    communicator: RawCommunicator,
    stream: RawStream,
    from: DevicePtr,
    to: DevicePtr,
}

fn joining(identity: Vec<u8>, [rank, size]: [usize; 2], number: u64, limit: Duration) -> Joining {
    Joining {
        number,
        rank,
        size,
        meets: false,
        has_siblings: size > 1,
        identity,
        limit,
        failure: Box::new(|| None),
        exchange: Arc::new(Nobody),
    }
}

impl Rank {
    /// A world of one. `number`: that of the communicator, which no other one has.
    fn alone(number: u64, limit: Duration) -> Self {
        let device: Arc<dyn Driver> = Cuda::open(0).expect("a CUDA device");
        let identity = device.identity_of_world().expect("NCCL");
        let communicator = device.join(&joining(identity, [0, 1], number, limit)).expect("a communicator");
        let stream = device.create_stream(0).expect("a stream");
        let [from, to] = [(); 2].map(|()| device.allocate(BYTES).expect("memory"));
        Self { device, communicator, stream, from, to }
    }

    fn enqueue(&self, command: Command<'_>) -> DriverResult<()> {
        // SAFETY: everything is live, and stays so.
        unsafe { self.device.enqueue(command, self.stream, TAG) }
    }

    fn post(&self, work: Shared) -> DriverResult<()> {
        let (communicator, kind) = (self.communicator, CollectiveKind::AllReduce);
        let collective = RawCollective {
            communicator,
            kind,
            text: "all_reduce sum x",
            line: 1,
            work,
            accesses: Vec::new(),
        };
        self.enqueue(Command::Collective(&collective))
    }

    fn synchronize(&self) -> DriverResult<()> {
        // SAFETY: the stream is live.
        unsafe { self.device.synchronize_stream(self.stream) }
    }

    fn fill(&self, to: DevicePtr, value: f32) {
        self.enqueue(Command::Fill { to, pattern: &value.to_ne_bytes(), count: LEN }).expect("a fill");
    }

    /// Keeps the stream busy, for 25 ms with each launch.
    fn be_busy(&self, launches: usize) {
        let function = self.device.load(&SLOW_FILL).expect("a kernel").function;
        for _ in 0..launches {
            let (mut n, mut value, mut out) = (LEN as u32, 7.0_f32.to_bits(), self.from.0);
            let params = &[param(&mut n), param(&mut value), param(&mut out)];
            self.enqueue(Command::Launch(&launch(function, 1, 0, params))).expect("a launch");
        }
    }

    /// Whether each element of a buffer is this one.
    fn is(&self, from: DevicePtr, value: f32) -> bool {
        let mut all = vec![0.0_f32; LEN];
        self.enqueue(Command::CopyToHost { to: all.as_mut_ptr().cast(), from, bytes: BYTES })
            .expect("a copy");
        self.synchronize().expect("all of it works");
        all.iter().all(|element| *element == value)
    }

    fn leave(self) {
        self.synchronize().expect("nothing is under way");
        // SAFETY: nothing is under way.
        unsafe { self.device.leave(self.communicator) };
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_rank_alone_carries_out_each_kind() {
    let rank = Rank::alone(1 << 40, Duration::from_secs(20));
    let (at, from, to, bytes) = (rank.to, rank.from, rank.to, BYTES);
    let message = |at| vec![Message { rank: 0, at, bytes }];
    let in_place = [
        Shared::AllReduce { at, bytes, operands: SUM },
        Shared::AllReduce { at, bytes, operands: Operands { reduce: Reduce::Mean, ..SUM } },
        Shared::Reduce { at, bytes, operands: SUM, root: 0 },
        Shared::Broadcast { at, bytes, root: 0 },
        Shared::Barrier,
    ];
    let over = [
        Shared::AllGather { from, to, bytes },
        Shared::ReduceScatter { from, to, bytes, parts: 1, operands: SUM },
        Shared::Messages { sends: message(from), receives: message(to) },
    ];
    let kinds = in_place.into_iter().map(|work| (work, 3.0)).chain(over.into_iter().map(|work| (work, 5.0)));
    for (work, expected) in kinds {
        rank.fill(from, 5.0);
        rank.fill(to, 3.0);
        rank.post(work.clone()).expect("a collective");
        assert!(rank.is(to, expected) && rank.is(from, 5.0), "{work:?}");
    }
    rank.leave();
}

/// What has begun on the device is what the limit is for, and not what waits behind other work.
#[test]
#[ignore = "needs a CUDA device"]
fn a_busy_gpu_is_no_rank_that_stands_still() {
    // Connecting has to be over by then, too.
    let limit = Duration::from_secs(2);
    let rank = Rank::alone(2 << 40, limit);
    let began = Instant::now();
    rank.be_busy(120);
    rank.post(Shared::AllReduce { at: rank.to, bytes: BYTES, operands: SUM }).expect("a collective");
    rank.synchronize().expect("nothing stands still");
    assert!(began.elapsed() > limit, "{:?}: the GPU was not busy for long enough", began.elapsed());
    rank.leave();
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_abort_ends_what_is_under_way_and_the_gpu_goes_on() {
    let number = 3 << 40;
    let rank = Rank::alone(number, Duration::from_secs(20));
    rank.be_busy(10);
    let all_reduce = || Shared::AllReduce { at: rank.to, bytes: BYTES, operands: SUM };
    rank.post(all_reduce()).expect("a collective");
    rank.device.abort(number, "rank 1 is gone");
    for said in [rank.synchronize(), rank.post(all_reduce())] {
        let said = said.expect_err("the collective has not taken place");
        assert!(said.to_string().contains("rank 1 is gone"), "{said}");
    }
    // Other work of the device is not concerned, nor is another communicator.
    let other = Rank::alone(4 << 40, Duration::from_secs(20));
    other.fill(other.to, 3.0);
    other.post(Shared::AllReduce { at: other.to, bytes: BYTES, operands: SUM }).expect("a collective");
    assert!(other.is(other.to, 3.0));
    other.leave();
}

/// NCCL says that a GPU is there twice, and does so at once.
#[test]
#[ignore = "needs a CUDA device"]
fn two_ranks_on_one_gpu_are_refused() {
    let device: Arc<dyn Driver> = Cuda::open(0).expect("a CUDA device");
    let identity = device.identity_of_world().expect("NCCL");
    let began = Instant::now();
    let refused = thread::scope(|scope| {
        let join = |rank| {
            let world =
                joining(identity.clone(), [rank, 2], (5 + rank as u64) << 40, Duration::from_secs(60));
            let device = Arc::clone(&device);
            scope.spawn(move || device.join(&world).expect_err("the GPU has a rank already").to_string())
        };
        [0, 1].map(join).map(|thread| thread.join().expect("no panic"))
    });
    for said in &refused {
        assert!(said.contains("ncclInvalidUsage") && said.contains("Duplicate GPU detected"), "{said}");
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}: {refused:?}", began.elapsed());
}
