//! Each source with each sink, for every length around a chunk's length.

use std::io::{self, ErrorKind as IoErrorKind, Read, Write};
use std::sync::mpsc;
use std::thread;

use thalweg::bytemuck;
use thalweg::io::{Sink, Source, Streamed};
use thalweg::plan::Chunk;
use thalweg::prelude::*;
use thalweg_tests::built_in_mode;
use thalweg_tests::waiting::{everywhere, in_time};

use super::{Particle, Sample, Through, samples};

/// Gives 1 to 7 bytes at a time, and is interrupted between.
struct Drips<'d> {
    data: &'d [u8],
    turn: usize,
}

impl Read for Drips<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        if self.turn.is_multiple_of(3) {
            return Err(IoErrorKind::Interrupted.into());
        }
        let len = (1 + self.turn * 5 % 7).min(to.len()).min(self.data.len());
        to[..len].copy_from_slice(&self.data[..len]);
        self.data = &self.data[len..];
        Ok(len)
    }
}

/// Takes 1 to 7 bytes at a time.
#[derive(Default)]
struct Sips {
    data: Vec<u8>,
    turn: usize,
    flushed: usize,
}

impl Write for Sips {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.turn += 1;
        if self.turn.is_multiple_of(4) {
            return Err(IoErrorKind::Interrupted.into());
        }
        let len = (1 + self.turn * 3 % 7).min(from.len());
        self.data.extend_from_slice(&from[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed += 1;
        Ok(())
    }
}

/// Runs with one source or sink and an argument with a length, or with both.
pub fn each_adapter<T: Sample>(pipeline: &mut Through<T>, k: usize, data: &[T]) {
    let bytes = bytemuck::cast_slice::<T, u8>(data);
    let items = data.len() / k;

    // Every source goes to a `Vec` that is appended to.
    macro_rules! from {
        ($source:expr) => {{
            let mut z = Vec::new();
            let report = pipeline.run(k, $source, sink::extend(&mut z)).unwrap();
            assert_eq!(z, data, "{}", stringify!($source));
            assert_eq!((report.items, report.chunks), (items, items.div_ceil(report.chunk)));
            let size = size_of_val(data) as u64;
            assert_eq!(
                (report.bytes_to_device, report.bytes_to_host, report.bytes_staged),
                (size, size, 2 * size)
            );
            // Every source also goes to a `Vec` with a length.
            let mut z = vec![T::zeroed(); data.len()];
            assert_eq!(pipeline.run(k, $source, &mut z).unwrap().items, items);
            assert_eq!(z, data, "{}", stringify!($source));
        }};
    }
    from!(source::read(bytes));
    from!(source::read(Drips { data: bytes, turn: 0 }));
    from!(source::iter(data.iter().copied()));
    from!(source::batches(data.chunks(3)));
    from!(source::batches([data.to_vec(), Vec::new(), Vec::new()]));
    from!({
        let (sender, receiver) = mpsc::channel::<Vec<T>>();
        data.chunks(7).for_each(|batch| sender.send(batch.to_vec()).unwrap());
        drop(sender);
        source::channel(receiver)
    });
    from!(source::from_fn(|c: Chunk, slot: &mut [T]| {
        let left = &data[(c.start * k).min(data.len())..];
        let len = left.len().min(slot.len());
        slot[..len].copy_from_slice(&left[..len]);
        Ok(len)
    }));

    // Every sink gets a slice.
    let mut sips = Sips::default();
    let report = pipeline.run(k, data, sink::write(&mut sips)).unwrap();
    assert_eq!((&sips.data[..], sips.flushed, report.items), (bytes, 1, items));
    let (sender, receiver) = mpsc::channel();
    let report = pipeline.run(k, data, sink::channel(sender)).unwrap();
    let chunks: Vec<Vec<T>> = receiver.into_iter().collect();
    assert_eq!((chunks.len(), chunks.concat()), (report.chunks, data.to_vec()));
    let (sender, receiver) = mpsc::sync_channel(1);
    let receives = |receiver: mpsc::Receiver<Vec<T>>| receiver.into_iter().flatten().collect::<Vec<T>>();
    thread::scope(|scope| {
        let received = scope.spawn(move || receives(receiver));
        pipeline.run(k, source::read(bytes), sink::sync_channel(sender)).unwrap();
        assert_eq!(received.join().unwrap(), data);
    });
    let mut seen = Vec::new();
    let sink = sink::for_each(|c, chunk: &[T]| {
        assert_eq!((c.start * k, c.len * k), (seen.len(), chunk.len()));
        seen.extend_from_slice(chunk);
        Ok(())
    });
    pipeline.run(k, data, sink).unwrap();
    assert_eq!(seen, data);
    // The same run again: nothing is mistaken for data of the run before.
    let other: Vec<T> = data.iter().rev().copied().collect();
    let mut z = vec![T::zeroed(); data.len()];
    pipeline.run(k, source::batches([&other[..]]), &mut z).unwrap();
    assert_eq!(z, other);
}

fn all_lengths<T: Sample>(k: usize) {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Through<T>, device, graph, chunk(5));
        for items in [0, 1, 4, 5, 6, 23, 40] {
            each_adapter(&mut pipeline, k, &samples::<T>(items * k));
        }
    });
}

#[test]
fn bytes() {
    all_lengths::<u8>(1);
}

#[test]
fn arrays() {
    all_lengths::<[f32; 3]>(1);
}

#[test]
fn structs_several_an_item() {
    all_lengths::<Particle>(3);
}

#[test]
fn an_auto_chunk() {
    in_time(|| {
        for (graph, seed) in [(false, 0), (true, 0), (false, 3)] {
            let spec = Simulation::default();
            let device = Device::simulated(if seed > 0 { spec.adversarial(seed) } else { spec });
            let mut pipeline = built_in_mode!(Through<u8>, &device, graph);
            for len in [0, 1, 100_000, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 9_000_000] {
                let x = samples::<u8>(len);
                let mut z = Vec::new();
                let report = pipeline.run(1, source::read(&x[..]), sink::extend(&mut z)).unwrap();
                assert!(z == x, "{len}");
                // The run goes on as if there was no end.
                assert_eq!((report.items, report.chunk), (len, len.clamp(1, 2 << 20)));
                assert_eq!(report.chunks, len.div_ceil(2 << 20));
                let mut z = vec![0; len];
                pipeline.run(1, source::read(&x[..]), &mut z).unwrap();
                assert!(z == x, "{len}");
            }
        }
    });
}

/// A source may have any number of elements without bytes.
#[test]
fn elements_of_no_bytes() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Through<()>, device, graph, chunk(5));
        let mut z = Vec::new();
        pipeline.run(1, source::iter(vec![(); 12]), sink::extend(&mut z)).unwrap();
        assert_eq!(z.len(), 12);
        let error = pipeline.run(1, source::read(&[][..]), sink::extend(&mut z)).unwrap_err();
        assert!(error.to_string().contains("elements of no bytes cannot be read"), "{error}");
        pipeline.run(1, &[(); 7], sink::write(io::sink())).unwrap();
    });
}

/// A run takes sources and sinks by value or by reference, behind a `dyn` too.
#[test]
fn one_of_your_own() {
    struct Count(u8, u8);
    impl Source<u8> for Count {
        fn read(&mut self, _: Chunk, slot: &mut [u8]) -> io::Result<usize> {
            let len = slot.len().min(usize::from(self.1 - self.0));
            for room in &mut slot[..len] {
                (*room, self.0) = (self.0, self.0 + 1);
            }
            Ok(len)
        }
    }
    #[derive(Default)]
    struct Sum(u64, bool);
    impl Sink<u8> for Sum {
        fn write(&mut self, _: Chunk, data: &[u8]) -> io::Result<()> {
            self.0 += data.iter().map(|&x| u64::from(x)).sum::<u64>();
            Ok(())
        }
        fn finish(&mut self) -> io::Result<()> {
            self.1 = true;
            Ok(())
        }
    }
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Through<u8>, device, graph, chunk(3));
        let (mut count, mut sum) = (Count(0, 101), Sum::default());
        let source: Box<dyn Source<u8> + '_> = Box::new(&mut count);
        let sink: &mut dyn Sink<u8> = &mut sum;
        pipeline.run(1, Streamed(source), Streamed(sink)).unwrap();
        assert_eq!((count.0, sum.0, sum.1), (101, 5050, true));
    });
}

#[test]
fn profiles_and_progress() {
    everywhere(|device, graph| {
        let x = samples::<u8>(23);
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let tells = std::sync::Arc::clone(&told);
        let report = move |progress: thalweg::report::Progress| {
            tells.lock().unwrap().push((progress.done, progress.total))
        };
        let mut pipeline = built_in_mode!(Through<u8>, device, graph, chunk(5), progress_with(report));
        let mut z = Vec::new();
        let timeline = pipeline.profile(1, source::read(&x[..]), sink::extend(&mut z)).unwrap();
        assert_eq!((timeline.report.items, timeline.spans.len()), (23, 10));
        assert_eq!(z, x);
        let told = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!((told[0], *told.last().unwrap()), ((0, usize::MAX), (23, 23)));
        assert!(told.windows(2).all(|two| two[0].0 <= two[1].0), "{told:?}");
    });
}

/// Runs that take place at the same time, on one device.
#[test]
fn two_threads() {
    everywhere(|device, graph| {
        thread::scope(|scope| {
            for thread in 0..2 {
                scope.spawn(move || {
                    let mut pipeline = built_in_mode!(Through<[f32; 3]>, device, graph, chunk(3 + thread));
                    for len in [0, 50, 7] {
                        each_adapter(&mut pipeline, 1, &samples(len + thread));
                    }
                });
            }
        });
    });
}
