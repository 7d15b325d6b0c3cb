//! The kernels of `thalweg-kernels`: their CUDA C++ on the host, compared with their host bodies on the
//! simulated device.
//!
//! Both compute on the same data with the same launch. Where a tolerance is not `Exact`, the test says why.

mod images;
mod maps;
mod matrices;
mod reductions;
mod tables;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::bytemuck;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::compare::{Element, Tolerance, assert_close};
use thalweg_tests::launches::Launch;
use thalweg_tests::on_host::{Argument, Checks, OnHost, Turns};
use thalweg_tests::random::Random;

use super::compiled;
use super::harness::ORDERS;

/// A file of kernels on both sides.
struct Bench {
    device: Device,
    stream: Stream,
    program: OnHost,
    random: Random,
    file: &'static str,
    launches: AtomicUsize,
    threads: AtomicUsize,
    elements: AtomicUsize,
}

impl Bench {
    fn new(file: &'static str, kernels: &[&str]) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/cu").join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::of_text(file, &text, kernels)
    }

    fn of_text(file: &'static str, text: &str, kernels: &[&str]) -> Self {
        let device = Device::simulated(Simulation::default());
        Self {
            stream: Stream::new(&device).expect("a stream"),
            device,
            program: compiled(file, text, kernels, Checks::Usual),
            random: Random::new(file.len() as u64),
            file,
            launches: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
            elements: AtomicUsize::new(0),
        }
    }

    /// Prints what was compared, and asserts that it was as much.
    fn finish(self, launches: usize, elements: usize) {
        let [tried, threads, compared] =
            [self.launches, self.threads, self.elements].map(AtomicUsize::into_inner);
        println!("{}: {tried} launches, {threads} threads, {compared} elements compared", self.file);
        assert!(tried >= launches && compared >= elements, "{}: less was compared than before", self.file);
    }
}

/// Launches `kernel` on both sides and compares every array. The arguments are named by their kinds below.
macro_rules! same {
    (
        $bench:ident, $kernel:ident as $name:literal, $launch:expr, $tolerance:expr;
        $($argument:ident = $kind:ident($value:expr)),* $(,)?
    ) => {{
        let (grid, block, shared): Launch = $launch;
        let kernel = $kernel::load(&$bench.device).expect("a kernel");
        // All values first: an argument has the name of one.
        let ($(mut $argument,)*) = ($($kind(&$bench.device, $value),)*);
        let config = $bench.stream.config(grid, block, shared);
        kernel.launch(config, $($argument.device()),*).unwrap_or_else(|error| panic!("{}: {error}", $name));
        for order in ORDERS {
            let turns = Turns::new(grid, block, shared).order(order);
            // Each order begins with the same data.
            let guards = $bench.random.below(16) as usize;
            $(let mut $argument = $argument.on_host(guards);)*
            let arguments = [$($argument.argument()),*];
            // SAFETY: the device has just run the same launch: its sizes are within the slices.
            let outcome = unsafe { $bench.program.launch($name, turns, &arguments) };
            let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", $name));
            assert_eq!(outcome.faults, [], "{}", $name);
            let what = format!("{} of {:?}, order {order}", $name, (grid, block, shared));
            let named = |argument| format!("{what}: {argument}");
            let compared = [$($argument.compare($tolerance, &named(stringify!($argument)))),*];
            count(&$bench.elements, compared.iter().sum());
            count(&$bench.launches, 1);
            let threads = [grid, block].map(|(x, y, z)| x as usize * y as usize * z as usize);
            count(&$bench.threads, threads.iter().product());
        }
    }};
}
use same;

fn count(counter: &AtomicUsize, by: usize) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// An argument by value.
struct Value<T>(T);

fn value<T: Pod>(_: &Device, value: T) -> Value<T> {
    Value(value)
}

// All kinds of arguments have these methods; some need no `&mut`.
impl<T: Pod> Value<T> {
    fn device(&mut self) -> T {
        self.0
    }

    fn on_host(&self, _: usize) -> Self {
        Self(self.0)
    }

    fn argument(&mut self) -> Argument {
        Argument::value(&self.0)
    }

    fn compare(&self, _: Tolerance, _: &str) -> usize {
        0
    }
}

/// An array that the kernel reads.
struct Read<T>(DeviceBuf<T>);

fn read<T: Pod>(device: &Device, data: &[T]) -> Read<T> {
    Read(DeviceBuf::from_slice(device, data).expect("memory"))
}

impl<T: Pod + Element> Read<T> {
    fn device(&mut self) -> &DeviceBuf<T> {
        &self.0
    }

    fn on_host(&self, guards: usize) -> Guarded<T> {
        let data = self.0.to_vec().expect("the data");
        Guarded::new(guards, data.clone(), data)
    }
}

/// An array that the kernel writes.
struct Write<T> {
    device: DeviceBuf<T>,
    before: Vec<T>,
}

fn write<T: Pod>(device: &Device, data: &[T]) -> Write<T> {
    Write { device: DeviceBuf::from_slice(device, data).expect("memory"), before: data.to_vec() }
}

impl<T: Pod + Element> Write<T> {
    fn device(&mut self) -> &mut DeviceBuf<T> {
        &mut self.device
    }

    fn on_host(&self, guards: usize) -> Guarded<T> {
        Guarded::new(guards, self.before.clone(), self.device.to_vec().expect("the result"))
    }
}

/// Elements of memory that no kernel may touch.
const GUARD: u8 = 0xa5;

/// An array of the host between guards.
struct Guarded<T> {
    memory: Vec<T>,
    before: usize,
    expected: Vec<T>,
}

impl<T: Pod + Element> Guarded<T> {
    /// `before` elements lie before the data, so that these are aligned differently.
    fn new(before: usize, data: Vec<T>, expected: Vec<T>) -> Self {
        let mut guard: T = Zeroable::zeroed();
        bytemuck::bytes_of_mut(&mut guard).fill(GUARD);
        let mut memory = vec![guard; before];
        memory.extend(data);
        memory.resize(memory.len() + 64, guard);
        Self { memory, before, expected }
    }

    fn argument(&mut self) -> Argument {
        Argument::pointer(self.memory[self.before..].as_mut_ptr())
    }

    fn compare(&self, tolerance: Tolerance, what: &str) -> usize {
        let (before, rest) = self.memory.split_at(self.before);
        let (data, after) = rest.split_at(self.expected.len());
        let whole = |guards: &[T]| bytemuck::cast_slice::<T, u8>(guards).iter().all(|&byte| byte == GUARD);
        assert!(whole(before) && whole(after), "{what}: memory beside the array was written");
        assert_close(data, &self.expected, tolerance, what);
        data.len()
    }
}

/// A launch along x with a thread for each of `n` elements, and at least one.
fn covering(n: usize, block: u32) -> Launch {
    ((blocks(n, block).max(1), 1, 1), (block, 1, 1), 0)
}

/// Lengths around the borders of warps and blocks.
const LENGTHS: [usize; 9] = [0, 1, 2, 31, 33, 255, 257, 1000, 3001];

/// Doubles of any bits, and those of arbitrary floats.
fn any_doubles(random: &mut Random, len: usize) -> Vec<f64> {
    let floats = random.any_floats(len);
    let double = |x: f32| if random.below(2) == 0 { x.into() } else { f64::from_bits(random.bits()) };
    floats.into_iter().map(double).collect()
}
