//! Carries out a random program through the runtime, as the macro's code would do it.

use std::cell::Cell;

use thalweg::__private::{
    self as private, Build, ChunkSize, Operation, Options, Pipelines, Purpose, Run, Settings,
};
use thalweg::Plan;
use thalweg::plan::Distance;
use thalweg::prelude::*;

use super::program::{CARRIED, OPERATIONS, Program, STREAMS, Shape, Storage, What, combined, work};

thread_local!(static PLAN: Cell<Option<&'static Plan>> = const { Cell::new(None) });

/// A pipeline of the thread's plan.
struct Interpreted(Pipelines);

impl Build for Interpreted {
    fn build(settings: Settings<'_>) -> thalweg::Result<Self> {
        let plan = PLAN.get().expect("a plan is set before");
        Pipelines::new(settings, plan, 3).map(Self)
    }
}

/// The argument that a run gets for a storage.
enum Given {
    Nothing,
    Pageable(Vec<u32>),
    Pinned(PinnedBuf<u32>),
    Device(DeviceBuf<u32>),
}

/// Calls `$enqueue` with a tuple of these operands: this number of them are read, and this number written.
macro_rules! with_views {
    ($op:ident, $reads:ident, $writes:ident, $read:ident, $write:ident, |$views:ident, $body:ident| $enqueue:expr) => {
        match ($reads, $writes) {
            ([], [x]) => with_views!(@ $op, $read, $write, $views, $body, $enqueue, (), (x)),
            ([a], [x]) => with_views!(@ $op, $read, $write, $views, $body, $enqueue, (a), (x)),
            ([a, b], [x]) => with_views!(@ $op, $read, $write, $views, $body, $enqueue, (a b), (x)),
            ([], [x, y]) => with_views!(@ $op, $read, $write, $views, $body, $enqueue, (), (x y)),
            ([a], [x, y]) => with_views!(@ $op, $read, $write, $views, $body, $enqueue, (a), (x y)),
            ([a, b], [x, y]) => with_views!(@ $op, $read, $write, $views, $body, $enqueue, (a b), (x y)),
            _ => unreachable!("no more than two of each, and one to write"),
        }
    };
    (@ $op:ident, $read:ident, $write:ident, $views:ident, $body:ident, $enqueue:expr, ($($r:ident)*), ($($w:ident)*)) => {{
        let $views = ($($read($r),)* $($write($w),)*);
        let number = $op;
        let $body = move |($($r,)* $($w,)*): ($(with_views!(ref $r),)* $(with_views!(mut $w),)*)| {
            work(number, &[$($r),*], &mut [$($w),*]);
        };
        $enqueue
    }};
    (ref $name:ident) => { &[u32] };
    (mut $name:ident) => { &mut [u32] };
}

/// Runs the program on a device and returns the content of each storage; `without` is the wait of the plan that is
/// left out.
pub fn run(
    device: &Device,
    program: &Program,
    plan: &'static Plan,
    shape: Shape,
    without: Option<usize>,
) -> thalweg::Result<Vec<Vec<u32>>> {
    run_on(std::slice::from_ref(device), program, plan, shape, without)
}

/// The same on several devices.
pub fn run_on(
    devices: &[Device],
    program: &Program,
    plan: &'static Plan,
    shape: Shape,
    without: Option<usize>,
) -> thalweg::Result<Vec<Vec<u32>>> {
    PLAN.set(Some(plan));
    let device = &devices[0];
    let options = Options::<Interpreted>::new(devices).chunk(shape.chunk).depth(shape.depth);
    let Interpreted(mut pipeline) = if shape.graph { options.graph() } else { options }.build()?;
    let given = |(storage, data): (&Storage, Vec<u32>)| {
        Ok(match storage {
            Storage::Ring | Storage::Scratch => Given::Nothing,
            Storage::OnDevice => Given::Device(DeviceBuf::from_slice(device, &data)?),
            Storage::Carry | Storage::Combined => Given::Pageable(data),
            Storage::Host if shape.staged => Given::Pageable(data),
            Storage::Host | Storage::Mapped => Given::Pinned(PinnedBuf::from_slice(device, &data)?),
        })
    };
    let given = program.storages.iter().zip(program.start(shape)).map(given);
    let mut given: Vec<Given> = given.collect::<thalweg::Result<_>>()?;
    {
        let mut call = pipeline.call(Purpose::Run);
        let (mut hosts, mut buffers) = (Vec::new(), Vec::new());
        for (storage, given) in program.storages.iter().zip(&mut given) {
            match (storage, given) {
                (Storage::Ring, _) => buffers.push(call.device::<u32>(1)?),
                (Storage::Scratch, _) => buffers.push(call.host_scratch::<u32>(1)?),
                (Storage::Carry, Given::Pageable(data)) => {
                    buffers.push(call.carry(CARRIED, None, &mut data[..])?);
                }
                (Storage::Combined, Given::Pageable(data)) => {
                    buffers.push(call.carry_combined(CARRIED, 0, combined, &mut data[..])?);
                }
                (_, Given::Device(data)) => buffers.push(call.device_inout(1, data)?),
                (Storage::Mapped, Given::Pinned(data)) => buffers.push(call.mapped_inout(1, data)?),
                (_, Given::Pageable(data)) => hosts.push(call.inout(1, &mut data[..])?),
                (_, Given::Pinned(data)) => hosts.push(call.inout(1, data)?),
                (_, Given::Nothing) => unreachable!("rings and scratch alone are given nothing"),
            }
        }
        call.run(ChunkSize::Auto, |run| enqueue(run, program, plan, &hosts, &buffers, without))?;
    }
    let after = |given| {
        Ok(match given {
            Given::Nothing => Vec::new(),
            Given::Pageable(data) => data,
            Given::Pinned(data) => data.to_vec(),
            Given::Device(data) => data.to_vec()?,
        })
    };
    given.into_iter().map(after).collect()
}

fn enqueue(
    run: &Run<'_>,
    program: &Program,
    plan: &'static Plan,
    hosts: &[private::Host<u32>],
    buffers: &[private::Buffer<u32>],
    without: Option<usize>,
) -> thalweg::Result<()> {
    let (streams, events) = (run.streams::<STREAMS>(), run.events::<OPERATIONS>());
    for c in run.chunks() {
        for (index, (stream, what)) in program.ops.iter().enumerate() {
            let operation = run.on(streams[*stream], index, c);
            let waits = plan.waits.iter().enumerate();
            for (_, wait) in
                waits.filter(|(number, wait)| wait.operation == index && Some(*number) != without)
            {
                let event = events[wait.event];
                match wait.distance {
                    Distance::Same => operation.wait(event)?,
                    Distance::Previous => operation.wait_previous(event)?,
                    Distance::Reuse => operation.wait_reuse(event)?,
                    other => unreachable!("no plan here waits at {other:?}"),
                }
            }
            perform(&operation, index, program, what, hosts, buffers)?;
            if let Some(event) = plan.events.iter().position(|event| event.operation == index) {
                operation.record(events[event])?;
            }
        }
    }
    Ok(())
}

fn perform(
    operation: &Operation<'_>,
    index: usize,
    program: &Program,
    what: &What,
    hosts: &[private::Host<u32>],
    buffers: &[private::Buffer<u32>],
) -> thalweg::Result<()> {
    let host = |storage: &usize| hosts[program.place(*storage)];
    let buffer = |storage: &usize| buffers[program.place(*storage)];
    match what {
        What::Upload { from, to } => operation.upload(host(from), buffer(to)),
        What::Download { from, to } => operation.download(buffer(from), host(to)),
        What::Copy { from, to } => operation.copy(buffer(from), buffer(to)),
        What::Fill { to, value } => operation.fill(buffer(to), *value),
        What::Call { reads, writes } => {
            let (reads, writes) = (&reads[..], &writes[..]);
            let read = |storage| operation.read(buffer(storage));
            let write = |storage| operation.read_write(buffer(storage));
            let queue = operation.enqueue();
            operation.call(
                with_views!(index, reads, writes, read, write, |views, body| queue.simulate(views, body))
            )
        }
        What::Function { reads, writes } => {
            let (reads, writes) = (&reads[..], &writes[..]);
            let read = |storage| operation.host_read(buffer(storage));
            let write = |storage| operation.host_read_write(buffer(storage));
            with_views!(index, reads, writes, read, write, |views, body| operation.host(views, body))
        }
    }
}
