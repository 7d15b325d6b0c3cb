//! Arguments other than slices that are copied: halos, results by chunk, mapped memory, and pipelines with
//! parameters of their own.

use thalweg::__private::Detail;
use thalweg::Error;
use thalweg::prelude::*;
use thalweg_tests::kernels::{axpy_each, double_all, plus_one, summarise, weigh};
use thalweg_tests::{built, copied, numbers, on_every_device, read, written};

stream_pipeline! {
    /// `y[i]` is the weighted sum of the items from `x[i - radius]` to `x[i + radius]`.
    pipeline Clamped {
        param radius: usize;
        input x: [f32] halo radius = clamp;
        output y: [f32];
        device dy: [f32];
        chunk c = 10;
        stage load { copy x -> dx; }
        stage weigh { weigh<<<blocks(c.len, 32), 32>>>(c.len as u32, radius as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

macro_rules! weighed {
    ($name:ident, $edge:ident) => {
        stream_pipeline! {
            pipeline $name {
                param radius: usize;
                input x: [f32] halo radius = $edge;
                output y: [f32];
                device dy: [f32];
                chunk c = 10;
                stage load { copy x -> dx; }
                stage weigh { weigh<<<blocks(c.len, 32), 32>>>(c.len as u32, radius as u32, &dx, out dy); }
                stage store { copy dy -> y; }
            }
        }
    };
}
weighed!(Padded, zero);
weighed!(Wrapped, wrap);

/// The result of `weigh` for all items at once; an item beyond the ends is as `beyond` says.
fn weighed(x: &[f32], radius: usize, beyond: impl Fn(isize) -> f32) -> Vec<f32> {
    let at = |i: isize| usize::try_from(i).ok().and_then(|i| x.get(i)).copied();
    let sum = |i: usize| {
        let window = (0..=2 * radius).map(|k| (k, (i + k) as isize - radius as isize));
        window.map(|(k, j)| (k + 1) as f32 * at(j).unwrap_or_else(|| beyond(j))).sum()
    };
    (0..x.len()).map(sum).collect()
}

on_every_device! {
    fn each_chunk_sees_its_neighbours_items(device, case) {
        let mut clamped = built!(Clamped, device, case);
        let mut padded = built!(Padded, device, case);
        let mut wrapped = built!(Wrapped, device, case);
        for radius in [0, 1, 4, 20] {
            let x = numbers(case.len);
            let (first, last) = (x.first().copied().unwrap_or(0.0), x.last().copied().unwrap_or(0.0));
            let len = x.len().max(1) as isize;
            let beyond: [&dyn Fn(isize) -> f32; 3] =
                [&|i| if i < 0 { first } else { last }, &|_| 0.0, &|i| x[i.rem_euclid(len) as usize]];
            for (edge, beyond) in beyond.into_iter().enumerate() {
                let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len], |y| {
                    read!(device, case.pinned_in, x.clone(), |x| match edge {
                        0 => clamped.run(radius, x, y),
                        1 => padded.run(radius, x, y),
                        _ => wrapped.run(radius, x, y),
                    })
                });
                // A CPU need not copy what a chunk sees of the data themselves.
                let starts = (0..case.len).step_by(case.chunk);
                let is_copied = |start: usize, len: usize| {
                    !device.is_cpu() || start < radius || start + len + radius > case.len
                };
                let seen = starts.zip(case.chunks()).filter(|&(start, len)| is_copied(start, len));
                let items: usize = seen.map(|(_, len)| len + 2 * radius).sum();
                assert_eq!(report?.bytes_to_device, 4 * items as u64);
                assert_eq!(y, weighed(&x, radius, beyond), "radius {radius}, edge {edge}, {case:?}");
            }
        }
    }
}

// ANCHOR: per-chunk
stream_pipeline! {
    /// The sum and the length of each chunk; and the items, doubled into pairs first.
    pipeline Sums {
        input x: [f32];
        output s: [f32; 2] per chunk;
        device summary: [f32; 2] per chunk;
        chunk c = 10;
        stage load { copy x -> dx; }
        stage sum { summarise<<<1, 1>>>(c.len as u32, &dx, out summary); }
        stage store { copy summary -> s; }
    }
}
// ANCHOR_END: per-chunk

fn sums(x: &[f32], chunk: usize) -> Vec<f32> {
    x.chunks(chunk).flat_map(|chunk| [chunk.iter().sum(), chunk.len() as f32]).collect()
}

on_every_device! {
    fn a_result_for_each_chunk(device, case) {
        let mut pipeline = built!(Sums, device, case);
        let x = numbers(case.len);
        let expected = sums(&x, case.chunk);
        // Room beyond the number of chunks is left as it is.
        for room in [0, 3] {
            let start = vec![f32::NAN; expected.len() + room];
            let (report, s) = written!(device, case.pinned_out, start, |s| {
                read!(device, case.pinned_in, x.clone(), |x| pipeline.run(x, s))
            });
            assert_eq!(report?.bytes_to_host, copied(device, 4 * expected.len()));
            assert_eq!(s[..expected.len()], expected, "{case:?}");
            assert!(s[expected.len()..].iter().all(|s| s.is_nan()));
        }
    }
}

/// The help for lengths that differ.
const AS_MANY: &str = "help: all that is cut into chunks has as many items;\n    \
    what every chunk needs whole is declared `resident`, or `carry` if kernels change it";

#[test]
fn too_little_room_for_the_chunks() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Sums::new(&device).unwrap();
    let error = pipeline.run(&numbers(21), &mut [0.0; 5]).unwrap_err();
    assert!(matches!(error.detail(), Detail::PerChunkLength { host: "s", len: 5, chunks: 3, per_chunk: 2 }));
    assert_eq!(error.to_string().lines().next(), Some("`s` has 5 elements, but 3 chunks with 2 each need 6"));
    assert_eq!(error.place().pipeline, Some("Sums"));
    pipeline.run(&numbers(21), &mut [0.0; 6]).unwrap();
}

// ANCHOR: mapped
stream_pipeline! {
    /// In place: an input, an output and an inout stay in host memory.
    pipeline Mapped {
        input x: mapped [f32];
        output y: mapped [f32];
        output s: mapped [f32; 2] per chunk;
        inout z: mapped [f32; 2];
        device t: [f32];
        chunk c = 10;
        stage add {
            plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &x, out t);
            plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &t, out y);
        }
        stage sum { summarise<<<1, 1>>>(c.len as u32, &y, out s); }
        stage twice { double_all<<<blocks(2 * c.len, 32), 32>>>(2 * c.len as u32, &mut z); }
    }
}
// ANCHOR_END: mapped

on_every_device! {
    fn mapped_memory_is_used_where_it_is(device, case) {
        let mut mapped = built!(Mapped, device, case);
        let x = numbers(case.len);
        let pairs = numbers(2 * case.len);
        let (pinned, mut z) = (PinnedBuf::from_slice(device, &x)?, PinnedBuf::from_slice(device, &pairs)?);
        let mut y = PinnedBuf::zeroed(device, case.len)?;
        let mut s = PinnedBuf::zeroed(device, 2 * case.chunks().len())?;
        let report = mapped.run(&pinned, &mut y, &mut s, &mut z)?;
        let expected: Vec<f32> = x.iter().map(|x| x + 2.0).collect();
        assert_eq!((&y[..], &s[..]), (&expected[..], &sums(&expected, case.chunk)[..]), "{case:?}");
        assert!(z.iter().zip(&pairs).all(|(z, x)| *z == 2.0 * x));
        assert_eq!((report.bytes_to_device, report.bytes_to_host), (0, 0), "nothing is copied");
    }
}

#[test]
fn mapped_arguments_are_checked_like_others() {
    let device = Device::simulated(Simulation::default());
    let other = Device::simulated(Simulation::default());
    let mut mapped = Mapped::new(&device).unwrap();
    let buffer = |device: &Device, len| PinnedBuf::<f32>::zeroed(device, len).unwrap();
    let mut run = |x: &PinnedBuf<f32>, y: usize, s: usize, z: usize| {
        mapped.run(x, &mut buffer(&device, y), &mut buffer(&device, s), &mut buffer(&device, z)).map(drop)
    };
    let kind = |error: Error| error.kind().to_string();
    let x = buffer(&device, 20);
    assert_eq!(
        kind(run(&buffer(&other, 20), 20, 4, 40).unwrap_err()),
        "`x` belongs to `simulated H200`, but the pipeline to another `simulated H200`"
    );
    assert_eq!(
        kind(run(&x, 19, 4, 40).unwrap_err()),
        format!("`y` has 19 items, but `x` has 20\n  {AS_MANY}")
    );
    assert_eq!(
        kind(run(&x, 20, 4, 41).unwrap_err()),
        "`z` has 41 elements, which is not a multiple of 2 elements an item"
    );
    assert_eq!(kind(run(&x, 20, 3, 40).unwrap_err()), "`s` has 3 elements, but 2 chunks with 2 each need 4");
    run(&x, 20, 4, 40).unwrap();
}

// ANCHOR: shuttle
stream_pipeline! {
    /// For any element, any number of them an item, and a constant.
    pub pipeline Shuttle<T: Pod, const K: usize, const CHUNK: usize>
    where
        T: Default,
    {
        param start: T;
        input x: [T; K];
        output y: [T; K];
        carry _last: [T; 1] = start; // no stage uses it: the `_` says so
        chunk c = CHUNK;
        depth = 2;
        stage over { copy x -> dx; copy dx -> t; }
        stage back { copy t -> y; }
    }
}
// ANCHOR_END: shuttle

#[test]
fn a_pipeline_for_any_element() {
    fn shuttle<T: Pod + Sync + Default + PartialEq + std::fmt::Debug, const K: usize>(
        device: &Device,
        value: T,
    ) {
        let mut shuttle = Shuttle::<T, K, 7>::new(device).unwrap();
        for items in [0, 1, 7, 30] {
            let x = vec![value; K * items];
            let (mut y, mut last) = (vec![T::default(); K * items], [T::default()]);
            let report = shuttle.run(value, &x, &mut y, &mut last).unwrap();
            assert_eq!((report.items, report.chunk), (items, 7.min(items.max(1))));
            assert_eq!((y, last), (x, [value]));
        }
    }
    for seed in 0..10 {
        let device = Device::simulated(Simulation::default().adversarial(seed));
        shuttle::<u8, 1>(&device, 7);
        shuttle::<f64, 3>(&device, 1.5);
        shuttle::<[u16; 5], 2>(&device, [1, 2, 3, 4, 5]);
        shuttle::<(), 4>(&device, ());
    }
    assert_eq!(Shuttle::<u8, 1, 2>::PLAN.to_string(), Shuttle::<f32, 2, 9>::PLAN.to_string());
}

stream_pipeline! {
    /// On the default stream, and another one beside it.
    #[allow(deprecated, reason = "the default stream is what this is about")]
    pipeline OnTheDefaultStream {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 10;
        stream legacy = null;
        stream down;
        stage load on legacy { copy x -> dx; plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &dx, out dy); }
        stage store on down { copy dy -> y; }
    }
}

#[test]
fn the_plan_says_which_is_the_default_stream() {
    assert!(OnTheDefaultStream::PLAN.streams[0].null && !OnTheDefaultStream::PLAN.streams[1].null);
    assert!(OnTheDefaultStream::PLAN.to_string().contains("stage load on legacy = null\n"));
}

on_every_device! {
    fn the_default_stream(device, case) {
        let mut pipeline = built!(OnTheDefaultStream, device, case);
        let x = numbers(case.len);
        let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len], |y| {
            read!(device, case.pinned_in, x.clone(), |x| pipeline.run(x, y))
        });
        report?;
        assert!(y.iter().zip(&x).all(|(y, x)| *y == x + 1.0), "{case:?}");
    }
}

// ANCHOR: chain
stream_pipeline! {
    /// Copies `x + 1` to an array that stays on the device; its declaration asks for graphs.
    pipeline Bring {
        input x: [f32];
        output on: device [f32];
        output s: device [f32; 2] per chunk;
        chunk c = 10;
        mode = graph;
        stage load { copy x -> dx; plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &dx, out on); }
        stage sum { summarise<<<1, 1>>>(c.len as u32, &on, out s); }
    }
}

stream_pipeline! {
    /// Works on arrays on the device, from one to another and in one.
    pipeline Work {
        input from: device [f32];
        inout both: device [f32];
        chunk c = 10;
        device t: [f32];
        stage add { plus_one<<<blocks(c.len, 32), 32>>>(c.len as u32, &from, out t); copy t -> both; }
        stage again { double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut both); }
        stage read { copy from -> f; copy f -> both; copy both -> f; copy f -> both; }
        stage double { double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut both); }
    }
}
// ANCHOR_END: chain

stream_pipeline! {
    /// Copies from the device back to the host.
    pipeline Fetch {
        input on: device [f32];
        output y: [f32];
        chunk c = 10;
        stage back { copy on -> y; }
    }
}

on_every_device! {
    fn pipelines_chain_on_the_device(device, case) on one {
        let (mut bring, mut work, mut fetch) =
            (built!(Bring, device, case), built!(Work, device, case), built!(Fetch, device, case));
        let x = numbers(case.len);
        let mut on = DeviceBuf::zeroed(device, case.len)?;
        let mut s = DeviceBuf::zeroed(device, 2 * case.chunks().len())?;
        let mut both = DeviceBuf::from_slice(device, &x)?;
        let report = read!(device, case.pinned_in, x.clone(), |x| bring.run(x, &mut on, &mut s))?;
        assert_eq!((report.bytes_to_device, report.bytes_to_host), (copied(device, 4 * case.len), 0));
        let expected: Vec<f32> = x.iter().map(|x| x + 1.0).collect();
        assert_eq!((on.to_vec()?, s.to_vec()?), (expected.clone(), sums(&expected, case.chunk)), "{case:?}");

        let report = work.run(&on, &mut both)?;
        assert_eq!((report.bytes_to_device, report.bytes_to_host), (0, 0));
        for (from, factor) in [(&on, 1.0), (&both, 2.0)] {
            let (report, y) = written!(device, case.pinned_out, vec![f32::NAN; case.len], |y| fetch.run(from, y));
            assert_eq!(report?.items, case.len);
            assert!(y.iter().zip(&x).all(|(y, x)| *y == factor * (x + 1.0)), "{case:?}");
        }
    }
}

#[test]
fn a_chain() -> thalweg::Result<()> {
    let device = Device::open()?;
    // ANCHOR: chained
    let x = vec![1.0, 2.0, 3.0];
    let mut on = DeviceBuf::zeroed(&device, 3)?;
    let mut sums = DeviceBuf::zeroed(&device, 2)?;
    let mut both = DeviceBuf::zeroed(&device, 3)?;
    let mut y = vec![0.0; 3];

    Bring::new(&device)?.run(&x, &mut on, &mut sums)?; // x + 1, and its sum and length
    Work::new(&device)?.run(&on, &mut both)?;
    Fetch::new(&device)?.run(&both, &mut y)?;
    assert_eq!((y, sums.to_vec()?), (vec![4.0, 6.0, 8.0], vec![9.0, 3.0]));
    // ANCHOR_END: chained
    Ok(())
}

#[test]
fn device_arguments_are_checked_like_others() {
    let (device, other) =
        (Device::simulated(Simulation::default()), Device::simulated(Simulation::default()));
    let mut work = Work::new(&device).unwrap();
    let buffer = |device: &Device, len| DeviceBuf::<f32>::zeroed(device, len).unwrap();
    let error = work.run(&buffer(&other, 4), &mut buffer(&device, 4)).unwrap_err();
    assert_eq!(
        error.kind().to_string(),
        "`from` belongs to `simulated H200`, but the pipeline to another `simulated H200`"
    );
    let error = work.run(&buffer(&device, 5), &mut buffer(&device, 4)).unwrap_err();
    assert_eq!(error.kind().to_string(), format!("`both` has 4 items, but `from` has 5\n  {AS_MANY}"));
    assert_eq!(error.place().site.map(|site| site.line > 1), Some(true));
    work.run(&buffer(&device, 4), &mut buffer(&device, 4)).unwrap();
}

stream_pipeline! {
    /// Most of the language at once, in graphs or not.
    pipeline Everything<const K: usize> {
        param offset: f32;
        param again: bool;
        resident table: [f32];
        input x: [f32] halo 1 = wrap;
        input m: mapped [f32];
        inout d: device [f32];
        output y: pinned [f32];
        output s: [f32; 2] per chunk;
        carry total: [f32; K] = offset;
        device dy: [f32];
        device ds: [f32; 2] per chunk;
        host h: [f32];
        chunk c = 10;
        stream up: high;
        stream math per slot;
        stream down;
        stage load on up { copy x -> dx; }
        stage weigh on math {
            weigh<<<blocks(c.len, 32), 32>>>(c.len as u32, 1, &dx, out dy);
            repeat 2 { if again { double_all<<<blocks(c.len, 32), 32>>>(c.len as u32, &mut dy); } }
            axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &m, &mut dy);
            axpy_each<<<blocks(c.len, 32), 32>>>(c.len as u32, 1.0, &dy, &mut d);
            axpy_each<<<1, 32>>>(1, 1.0, &table, &mut total);
        }
        stage down on down { copy dy -> h; host double_on_the_cpu(&mut h); copy h -> dy; }
        stage sum on math { summarise<<<1, 1, 0, math>>>(c.len as u32, &dy, out ds); }
        stage store on down { copy dy -> y; copy ds -> s; }
    }
}

fn double_on_the_cpu(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x *= 2.0);
}

on_every_device! {
    fn everything_at_once(device, case) on one {
        let mut everything = built!(Everything::<1>, device, case);
        let (x, m, table) = (numbers(case.len), numbers(case.len), [3.0, 4.0]);
        let mapped = PinnedBuf::from_slice(device, &m)?;
        for again in [false, true, true] {
            let mut d = DeviceBuf::from_slice(device, &x)?;
            let mut y = PinnedBuf::zeroed(device, case.len)?;
            let (mut s, mut total) = (vec![0.0; 2 * case.chunks().len()], [f32::NAN]);
            let run = |x: &[f32], total: &mut [f32; 1]| {
                everything.run(0.5, again, &table, x, &mapped, &mut d, &mut y, &mut s, total)
            };
            let mut run = run;
            run(&x, &mut total)?;
            let factor = if again { 4.0 } else { 1.0 };
            let len = x.len().max(1) as isize;
            let inside: Vec<f32> = weighed(&x, 1, |i| x[i.rem_euclid(len) as usize])
                .iter()
                .zip(&m)
                .map(|(w, m)| factor * w + m)
                .collect();
            let outside: Vec<f32> = inside.iter().map(|y| 2.0 * y).collect();
            assert_eq!((&y[..], &s), (&outside[..], &sums(&outside, case.chunk)), "{case:?}");
            assert!(d.to_vec()?.iter().zip(&x).zip(&inside).all(|((d, x), y)| *d == x + y));
            assert_eq!(total, [0.5 + 3.0 * case.chunks().len() as f32], "{case:?}");
        }
    }
}
