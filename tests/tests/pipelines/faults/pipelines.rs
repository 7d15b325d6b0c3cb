//! Pipelines of every kind, each small enough to have a fault at every operation of every chunk.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::prelude::*;
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::numbers;

/// Items of each run: the last chunk of five is shorter.
const LEN: usize = 18;
pub const CHUNKS: u64 = 5;

/// One run, from the same data each time. It checks what the run has left.
pub type Run = Box<dyn FnMut() -> thalweg::Result<()>>;

/// A way to run a pipeline.
pub struct Trial {
    pub name: &'static str,
    pub plan: &'static Plan,
    pub build: fn(&Device) -> thalweg::Result<Run>,
}

pub const TRIALS: [Trial; 12] = [
    Trial { name: "staged", plan: &Axpy::PLAN, build: |device| staged(device, false) },
    Trial { name: "staged, graphs", plan: &Axpy::PLAN, build: |device| staged(device, true) },
    Trial { name: "pinned", plan: &Axpy::PLAN, build: |device| on_pinned(device, false) },
    Trial { name: "pinned, graphs", plan: &Axpy::PLAN, build: |device| on_pinned(device, true) },
    Trial { name: "carry and resident", plan: &Carried::PLAN, build: carried },
    Trial { name: "functions", plan: &Functions::PLAN, build: |device| functions(device, false) },
    Trial { name: "functions, graphs", plan: &Functions::PLAN, build: |device| functions(device, true) },
    Trial { name: "a stream for each slot", plan: &PerSlot::PLAN, build: per_slot },
    Trial { name: "in place", plan: &InPlace::PLAN, build: in_place },
    Trial { name: "streamed", plan: &Streams::PLAN, build: |device| streamed(device, false, false) },
    Trial { name: "streamed, graphs", plan: &Streams::PLAN, build: |device| streamed(device, true, false) },
    Trial {
        name: "streamed, with a length",
        plan: &Streams::PLAN,
        build: |device| streamed(device, false, true),
    },
];

/// The number of items that failed runs have claimed as complete, and that were.
pub static COMPLETE: AtomicUsize = AtomicUsize::new(0);

/// The claims of a run: for each output, its name, its content, and the expected content.
fn judge<const N: usize>(
    result: thalweg::Result<Report>,
    outputs: [(&str, &[f32], &[f32]); N],
) -> thalweg::Result<()> {
    for (name, found, expected) in outputs {
        match &result {
            Ok(_) => assert_eq!(found, expected, "{name}"),
            // Memory that is left to the device belongs to nobody.
            Err(_) if found.is_empty() => {}
            Err(error) => {
                let complete = error.complete().iter().find(|complete| complete.host == name);
                let items = complete.map_or(0, |complete| complete.items);
                assert_eq!(found[..items], expected[..items], "{name}: {error}");
                COMPLETE.fetch_add(items, Ordering::Relaxed);
            }
        }
    }
    result.map(drop)
}

fn axpy(a: f32, x: &[f32], y: &[f32]) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| y + a * x).collect()
}

stream_pipeline! {
    #[allow(deprecated, reason = "the fill is one more operation")]
    pipeline Axpy {
        input x: [f32];
        inout y: [f32];
        device scratch: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { fill scratch = 0.0; copy dy -> scratch; axpy_each<<<1, 4>>>(c.len as u32, 2.0, &dx, &mut scratch); }
        stage store { copy scratch -> y; }
    }
}

fn options(device: &Device, graph: bool) -> thalweg::Options<Axpy> {
    let options = Axpy::options(device);
    if graph { options.graph() } else { options }
}

fn staged(device: &Device, graph: bool) -> thalweg::Result<Run> {
    let mut pipeline = options(device, graph).build()?;
    let (x, start) = (numbers(LEN), numbers(2 * LEN).split_off(LEN));
    let expected = axpy(2.0, &x, &start);
    Ok(Box::new(move || {
        let mut y = start.clone();
        let result = pipeline.run(&x, &mut y);
        judge(result, [("y", &y, &expected)])
    }))
}

fn on_pinned(device: &Device, graph: bool) -> thalweg::Result<Run> {
    let mut pipeline = options(device, graph).build()?;
    let start = numbers(2 * LEN).split_off(LEN);
    let x = PinnedBuf::from_slice(device, &numbers(LEN))?;
    let mut y = PinnedBuf::from_slice(device, &start)?;
    let expected = axpy(2.0, &x, &start);
    Ok(Box::new(move || {
        if !y.is_poisoned() {
            y.copy_from_slice(&start);
        }
        let result = pipeline.run(&x, &mut y);
        judge(result, [("y", &y, &expected)])
    }))
}

stream_pipeline! {
    pipeline Carried {
        input x: [f32];
        output z: [f32];
        resident w: [f32];
        carry total: [f32; 4];
        chunk c = 4;
        depth = 3;
        stage load { copy x -> dx; }
        stage add {
            axpy_each<<<1, 4>>>(c.len as u32, 1.0, &dx, &mut total);
            axpy_each<<<1, 4>>>(c.len as u32, 1.0, &w, &mut dx);
        }
        stage store { copy dx -> z; }
    }
}

fn carried(device: &Device) -> thalweg::Result<Run> {
    let mut pipeline = Carried::new(device)?;
    let (x, w) = (numbers(LEN), [0.5, 1.0, 1.5, 2.0]);
    let z_expected: Vec<f32> = x.iter().enumerate().map(|(i, x)| x + w[i % 4]).collect();
    let mut totals = [10.0; 4];
    x.iter().enumerate().for_each(|(i, x)| totals[i % 4] += x);
    Ok(Box::new(move || {
        let (mut z, mut total) = (vec![0.0; LEN], [10.0; 4]);
        let result = pipeline.run(&x, &mut z, &w, &mut total);
        // A carry is given back by a run that succeeds, and otherwise left as it was.
        assert!(
            total == if result.is_ok() { totals } else { [10.0; 4] } || result.is_err() && total == totals
        );
        judge(result, [("z", &z, &z_expected)])
    }))
}

fn negate(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = -*x);
}

fn added(queue: &Enqueue<'_>, by: f32, x: DeviceSliceMut<'_, f32>) -> thalweg::Result<()> {
    queue.simulate((x,), move |(x,)| x.iter_mut().for_each(|x| *x += by))
}

stream_pipeline! {
    pipeline Functions {
        param called: Arc<AtomicUsize>;
        input x: [f32];
        output y: [f32];
        host h: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; call added(1.0, &mut dx); copy dx -> h; }
        stage cpu { host negate(&mut h); }
        stage store { copy h -> dy; copy dy -> y; then |_| { called.fetch_add(1, Ordering::Relaxed); }; }
    }
}

fn functions(device: &Device, graph: bool) -> thalweg::Result<Run> {
    let options = Functions::options(device);
    let mut pipeline = if graph { options.graph() } else { options }.build()?;
    let x = numbers(LEN);
    let expected: Vec<f32> = x.iter().map(|x| -(x + 1.0)).collect();
    Ok(Box::new(move || {
        let (mut y, called) = (vec![0.0; LEN], Arc::new(AtomicUsize::new(0)));
        let result = pipeline.run(called.clone(), &x, &mut y);
        let called = called.load(Ordering::Relaxed);
        assert!(called <= 5 && (result.is_err() || called == 5), "{called}");
        judge(result, [("y", &y, &expected)])
    }))
}

stream_pipeline! {
    pipeline PerSlot {
        input x: [f32];
        inout y: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 3;
        stream s per slot;
        stage all on s {
            copy x -> dx;
            copy y -> dy;
            axpy_each<<<1, 4>>>(c.len as u32, 2.0, &dx, &mut dy);
            copy dy -> y;
        }
        stage more { add_to<<<1, 4>>>(c.len as u32, 1.0, &mut dy); copy dy -> z; }
    }
}

fn per_slot(device: &Device) -> thalweg::Result<Run> {
    let mut pipeline = PerSlot::new(device)?;
    let start = numbers(2 * LEN).split_off(LEN);
    let x = numbers(LEN);
    let mut z = PinnedBuf::zeroed(device, LEN)?;
    let y_expected = axpy(2.0, &x, &start);
    let z_expected: Vec<f32> = y_expected.iter().map(|y| y + 1.0).collect();
    Ok(Box::new(move || {
        let mut y = start.clone();
        let result = pipeline.run(&x, &mut y, &mut z);
        judge(result, [("y", &y, &y_expected), ("z", &z, &z_expected)])
    }))
}

stream_pipeline! {
    pipeline InPlace {
        input x: mapped [f32];
        inout y: mapped [f32];
        inout d: device [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage axpy { axpy_each<<<1, 4>>>(c.len as u32, 2.0, &x, &mut y); }
        stage add { axpy_each<<<1, 4>>>(c.len as u32, 1.0, &y, &mut d); }
        stage store { copy d -> z; }
    }
}

fn in_place(device: &Device) -> thalweg::Result<Run> {
    let mut pipeline = InPlace::new(device)?;
    let start = numbers(2 * LEN).split_off(LEN);
    let x = PinnedBuf::from_slice(device, &numbers(LEN))?;
    let mut y = PinnedBuf::from_slice(device, &start)?;
    let mut d = DeviceBuf::from_slice(device, &start)?;
    let y_expected = axpy(2.0, &x, &start);
    let d_expected = axpy(1.0, &y_expected, &start);
    Ok(Box::new(move || {
        if !y.is_poisoned() {
            y.copy_from_slice(&start);
            d.copy_from_slice(&start)?;
        }
        let mut z = vec![0.0; LEN];
        let result = pipeline.run(&x, &mut y, &mut d, &mut z);
        judge(result, [("z", &z, &d_expected)])?;
        assert_eq!((&y[..], d.to_vec()?), (&y_expected[..], d_expected.clone()));
        Ok(())
    }))
}

stream_pipeline! {
    pub pipeline Streams {
        input x: [f32];
        input y: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { axpy_each<<<1, 4>>>(c.len as u32, 2.0, &dx, &mut dy); }
        stage store { copy dy -> z; }
    }
}

/// The data of [`Streams`], and its result.
pub fn streams_data() -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let (x, y) = (numbers(LEN), numbers(2 * LEN).split_off(LEN));
    let z = axpy(2.0, &x, &y);
    (x, y, z)
}

fn streamed(device: &Device, graph: bool, known: bool) -> thalweg::Result<Run> {
    let options = Streams::options(device);
    let mut pipeline = if graph { options.graph() } else { options }.build()?;
    let (x, y, expected) = streams_data();
    Ok(Box::new(move || {
        let mut z = Vec::new();
        let (of_x, of_y) = (source::batches(x.chunks(5)), source::iter(y.iter().copied()));
        let result = match known {
            true => pipeline.run(of_x, &y, sink::extend(&mut z)),
            false => pipeline.run(of_x, of_y, sink::extend(&mut z)),
        };
        if let Err(error) = &result {
            // Exactly these items are complete.
            let complete = error.complete().first().map_or(0, |complete| complete.items);
            assert_eq!(z.len(), complete, "{error}");
        }
        judge(result, [("z", &z, &expected)])
    }))
}
