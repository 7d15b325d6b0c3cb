//! The kernels of `thalweg-kernels`: their CUDA C++ on the host, written by hand or made of their Rust, compared
//! with their host bodies, or with their Rust itself, on the simulated device.
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

use thalweg::__private::Kernel;
use thalweg::bytemuck;
use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::compare::{Element, Tolerance, assert_close};
use thalweg_tests::launches::Launch;
use thalweg_tests::on_host::{Argument, Checks, OnHost, Program, Turns};
use thalweg_tests::random::Random;

use super::harness::ORDERS;
use super::{FOLDER, compiled, in_cpp};

/// A file of kernels on both sides, or one kernel in Rust.
struct Bench {
    device: Device,
    stream: Stream,
    program: OnHost,
    random: Random,
    file: &'static str,
    /// The name in C++ of a kernel in Rust. Its slices are pointers and lengths.
    in_rust: Option<String>,
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
        Self::of_program(file, compiled(file, text, kernels, Checks::Usual), None)
    }

    /// A kernel in Rust.
    fn of<K: Kernel>() -> Self {
        Self::of_changed::<K>(|text| text)
    }

    /// A kernel in Rust, of which the C++ has been changed.
    fn of_changed<K: Kernel>(change: impl Fn(String) -> String) -> Self {
        let (text, name) = in_cpp::<K>();
        let text = change(text);
        let file = K::INFO.name;
        let kernels = &[&name[..]];
        let flags = &["-Wno-unused"];
        let program = Program { file: "in_rust.cu", text: &text, kernels, checks: Checks::Usual, flags };
        let program = OnHost::compile(FOLDER, &program).unwrap_or_else(|error| panic!("{file}: {error}"));
        Self::of_program(file, program, Some(name))
    }

    fn of_program(file: &'static str, program: OnHost, in_rust: Option<String>) -> Self {
        let device = Device::simulated(Simulation::default());
        Self {
            stream: Stream::new(&device).expect("a stream"),
            device,
            program,
            random: Random::new(file.len() as u64),
            file,
            in_rust,
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

/// Launches `kernel` on both sides and compares every array. The arguments are named by their kinds below. A
/// kernel in Rust has the name of its bench.
macro_rules! same {
    ($bench:ident, $kernel:ident, $($rest:tt)*) => {{
        let name = $bench.in_rust.clone().expect("the bench of a kernel in Rust");
        same!($bench, $kernel as name, $($rest)*);
    }};
    (
        $bench:ident, $kernel:ident as $name:expr, $launch:expr, $tolerance:expr;
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
            let is_in_rust = $bench.in_rust.is_some();
            let arguments = [$($argument.arguments(is_in_rust)),*].concat();
            // SAFETY: the device has just run the same launch: its sizes are within the slices.
            let outcome = unsafe { $bench.program.launch(&$name, turns, &arguments) };
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

    fn arguments(&mut self, _: bool) -> Vec<Argument> {
        vec![Argument::value(&self.0)]
    }

    fn compare(&self, _: Tolerance, _: &str) -> usize {
        0
    }
}

/// An array that the kernel reads, several of its elements as one.
struct Read<T>(DeviceBuf<T>, usize);

fn read<T: Pod>(device: &Device, data: &[T]) -> Read<T> {
    Read(DeviceBuf::from_slice(device, data).expect("memory"), 1)
}

/// An array that a kernel in Rust takes as groups of elements.
fn read_in_groups<T: Pod>(device: &Device, (data, group): (&[T], usize)) -> Read<T> {
    Read(DeviceBuf::from_slice(device, data).expect("memory"), group)
}

impl<T: Pod + Element> Read<T> {
    fn device(&mut self) -> &DeviceBuf<T> {
        &self.0
    }

    fn on_host(&self, guards: usize) -> Guarded<T> {
        let data = self.0.to_vec().expect("the data");
        Guarded::new(guards, data.clone(), data, vec![self.0.len() / self.1])
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
        let shape = vec![self.before.len()];
        Guarded::new(guards, self.before.clone(), self.device.to_vec().expect("the result"), shape)
    }
}

/// An array that a kernel in Rust writes, with a shape.
struct Formed<T, const D: usize>(Write<T>, [usize; D]);

fn formed<T: Pod, const D: usize>(device: &Device, (data, shape): (&[T], [usize; D])) -> Formed<T, D> {
    Formed(write(device, data), shape)
}

impl<T: Pod + Element, const D: usize> Formed<T, D> {
    fn device(&mut self) -> Shaped<&mut DeviceBuf<T>, D> {
        Shaped::new(&mut self.0.device, self.1)
    }

    fn on_host(&self, guards: usize) -> Guarded<T> {
        Guarded { shape: self.1.to_vec(), ..self.0.on_host(guards) }
    }
}

/// Elements of memory that no kernel may touch.
const GUARD: u8 = 0xa5;

/// An array of the host between guards.
struct Guarded<T> {
    memory: Vec<T>,
    before: usize,
    expected: Vec<T>,
    shape: Vec<usize>,
}

impl<T: Pod + Element> Guarded<T> {
    /// `before` elements lie before the data, so that these are aligned differently.
    fn new(before: usize, data: Vec<T>, expected: Vec<T>, shape: Vec<usize>) -> Self {
        let mut guard: T = Zeroable::zeroed();
        bytemuck::bytes_of_mut(&mut guard).fill(GUARD);
        let mut memory = vec![guard; before];
        memory.extend(data);
        memory.resize(memory.len() + 64, guard);
        Self { memory, before, expected, shape }
    }

    fn arguments(&mut self, is_in_rust: bool) -> Vec<Argument> {
        let pointer = Argument::pointer(self.memory[self.before..].as_mut_ptr());
        let lengths = Argument::bytes(bytemuck::cast_slice(&self.shape).to_vec());
        if is_in_rust { vec![pointer, lengths] } else { vec![pointer] }
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
