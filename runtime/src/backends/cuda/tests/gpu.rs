//! The tests that need a GPU.

use std::ffi::c_void;
use std::process;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use super::{SAXPY, SOURCE, TAG, kernel, launch};
use crate::backends::cuda::{Cuda, device_count};
use crate::base::kernel::KernelInfo;
use crate::driver::{Command, DevicePtr, Driver, HostJob, RawStream};

pub(super) static SLOW_FILL: KernelInfo = kernel(&SOURCE, "slow_fill").parameters(&[4, 4, 8]);
static REVERSE: KernelInfo = kernel(&SOURCE, "reverse").parameters(&[4, 8]);

/// A device with one stream, `LEN` elements of device memory, and as many of page-locked memory.
///
/// When it is dropped, all three stay until the process ends: a test that fails must not free memory that the
/// GPU may still use.
struct Bench {
    device: Arc<dyn Driver>,
    stream: RawStream,
    memory: DevicePtr,
    pinned: NonNull<u8>,
}

const LEN: usize = 1 << 14;
const BYTES: usize = LEN * 4;

impl Bench {
    fn new() -> Self {
        let device = Cuda::open(0).expect("a CUDA device");
        Self {
            stream: device.create_stream(0).expect("a stream"),
            memory: device.allocate(BYTES).expect("device memory"),
            pinned: device.allocate_pinned(BYTES).expect("page-locked memory"),
            device,
        }
    }

    fn host(&mut self) -> &mut [u32] {
        // SAFETY: the memory is initialised, aligned to 64 bytes and not shared; every test has waited for
        // its copies.
        unsafe { std::slice::from_raw_parts_mut(self.pinned.as_ptr().cast(), LEN) }
    }

    fn upload(&self) {
        // SAFETY: everything is live, and stays so.
        unsafe {
            let from = self.pinned.as_ptr();
            let copy = Command::CopyToDevice { to: self.memory, from, bytes: BYTES };
            self.device.enqueue(copy, self.stream, TAG).expect("a copy");
        }
    }

    fn run_on_host(&self, stream: RawStream, job: HostJob) {
        // SAFETY: everything is live, and stays so; the jobs come between copies that the stream orders.
        unsafe { self.device.enqueue(Command::Host { job, accesses: &[] }, stream, TAG) }.expect("a job");
    }

    fn signal(&self, stream: RawStream, signal: HostJob) {
        // SAFETY: as above.
        unsafe { self.device.enqueue(Command::Signal(signal), stream, TAG) }.expect("a signal");
    }

    fn stream(&self) -> RawStream {
        self.device.create_stream(0).expect("a stream")
    }

    fn synchronize(&self, stream: RawStream) -> Result<(), u32> {
        // SAFETY: the tests destroy no stream.
        unsafe { self.device.synchronize_stream(stream) }.map_err(|error| error.code)
    }

    fn download(&self, stream: RawStream) {
        // SAFETY: everything is live, and stays so; the host's side is not touched before the wait.
        unsafe {
            let to = self.pinned.as_ptr();
            self.device
                .enqueue(Command::CopyToHost { to, from: self.memory, bytes: BYTES }, stream, TAG)
                .expect("a copy");
            self.device.synchronize_stream(stream).expect("all of it works");
        }
    }

    /// Launches a kernel with these parameters.
    fn launch(&self, info: &'static KernelInfo, shared: u32, params: &mut [*mut c_void]) {
        let function = self.device.load(info).expect("a kernel").function;
        let blocks = if shared > 0 { 1 } else { LEN.div_ceil(256) as u32 };
        // SAFETY: everything is live, and stays so; each test gives the parameters that its kernel has.
        unsafe {
            let launch = launch(function, blocks, shared, params);
            self.device.enqueue(Command::Launch(&launch), self.stream, TAG).expect("a launch");
        }
    }
}

pub(super) fn param<T>(value: &mut T) -> *mut c_void {
    ptr::from_mut(value).cast()
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_device_says_what_it_is() {
    assert!(device_count().expect("a CUDA driver") > 0);
    let bench = Bench::new();
    let info = bench.device.info();
    assert!(!info.name.is_empty() && info.kind == crate::driver::Kind::Gpu, "{info:?}");
    assert!(info.memory > 1 << 30 && info.multiprocessors > 0, "{info:?}");
    assert!(info.compute_capability >= (5, 0) && info.max_shared >= 48 << 10, "{info:?}");
    assert!(info.priorities.0 >= info.priorities.1, "{info:?}");
    let free = bench.device.free_memory().expect("a number");
    assert!(free > 0 && free < info.memory);
    assert_eq!(bench.memory.0 % 256, 0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_pinned_memory_is_zero() {
    let device = Cuda::open(0).expect("a CUDA device");
    let bytes = (64 << 20) + 3;
    let memory = device.allocate_pinned(bytes).expect("page-locked memory");
    // SAFETY: it is initialised and nothing else uses it.
    unsafe {
        assert!(std::slice::from_raw_parts(memory.as_ptr(), bytes).iter().all(|&byte| byte == 0));
        device.free_pinned(memory, bytes).expect("it is freed");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn copies_go_there_and_back() {
    let mut bench = Bench::new();
    let second = bench.device.allocate(BYTES).expect("device memory");
    bench.host().iter_mut().enumerate().for_each(|(i, value)| *value = i as u32);
    bench.upload();
    // SAFETY: everything is live until the wait.
    unsafe {
        let (device, stream) = (&bench.device, bench.stream);
        device
            .enqueue(
                Command::CopyOnDevice { to: second, from: bench.memory.offset(8), bytes: 16 },
                stream,
                TAG,
            )
            .expect("a copy");
        device
            .enqueue(Command::CopyOnDevice { to: bench.memory, from: second, bytes: 16 }, stream, TAG)
            .expect("a copy");
        device.synchronize_stream(stream).expect("all of it works");
    }
    bench.host().fill(0);
    bench.download(bench.stream);
    assert_eq!(bench.host()[..6], [2, 3, 4, 5, 4, 5]);
    assert_eq!(bench.host()[LEN - 1], LEN as u32 - 1);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_launch_computes() {
    let mut bench = Bench::new();
    let x = bench.device.allocate(BYTES).expect("device memory");
    bench.host().fill(2.0_f32.to_bits());
    bench.upload();
    // SAFETY: everything is live until the wait.
    unsafe {
        bench
            .device
            .enqueue(Command::CopyOnDevice { to: x, from: bench.memory, bytes: BYTES }, bench.stream, TAG)
            .expect("a copy");
    }
    let (mut n, mut a, mut x, mut y) = (LEN as u32, 3.0_f32, x.0, bench.memory.0);
    let mut params = [param(&mut n), param(&mut a), param(&mut x), param(&mut y)];
    bench.launch(&SAXPY, 0, &mut params);
    bench.download(bench.stream);
    assert!(bench.host().iter().all(|&bits| f32::from_bits(bits) == 8.0));
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_event_orders_two_streams() {
    let mut bench = Bench::new();
    let other = bench.device.create_stream(i32::MIN).expect("a stream");
    let event = bench.device.create_event().expect("an event");
    bench.upload();
    let (mut n, mut value, mut out) = (LEN as u32, 41_u32, bench.memory.0);
    bench.launch(&SLOW_FILL, 0, &mut [param(&mut n), param(&mut value), param(&mut out)]);
    // SAFETY: everything is live, and stays so.
    unsafe {
        bench.device.enqueue(Command::Wait(event), other, TAG).expect("no record is no wait");
        bench.device.enqueue(Command::Record(event), bench.stream, TAG).expect("a record");
        bench.device.enqueue(Command::Wait(event), other, TAG).expect("a wait");
    }
    bench.download(other);
    assert!(bench.host().iter().all(|&value| value == 41));
    // SAFETY: the event is live.
    unsafe { bench.device.synchronize_event(event) }.expect("it is complete");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_kernel_may_use_all_shared_memory() {
    let mut bench = Bench::new();
    bench.host().iter_mut().enumerate().for_each(|(i, value)| *value = i as u32);
    bench.upload();
    let shared = bench.device.info().max_shared;
    let mut n = (shared / 4).min(LEN as u32);
    let mut data = bench.memory.0;
    bench.launch(&REVERSE, shared, &mut [param(&mut n), param(&mut data)]);
    bench.download(bench.stream);
    assert_eq!(bench.host()[0], n - 1);
    assert_eq!(bench.host()[n as usize - 1], 0);
}

/// Each round copies down, adds 1 on the host, and copies up again.
#[test]
#[ignore = "needs a CUDA device"]
fn a_job_reads_and_writes_between_copies() {
    const ROUNDS: u32 = 200;
    let mut bench = Bench::new();
    bench.host().iter_mut().enumerate().for_each(|(i, value)| *value = i as u32);
    bench.upload();
    let host = bench.pinned.as_ptr().expose_provenance();
    for _ in 0..ROUNDS {
        // SAFETY: everything is live, and stays so; only the job accesses the host's side.
        unsafe {
            let to = bench.pinned.as_ptr();
            bench
                .device
                .enqueue(Command::CopyToHost { to, from: bench.memory, bytes: BYTES }, bench.stream, TAG)
                .expect("a copy");
        }
        let job = move || {
            let host = ptr::with_exposed_provenance_mut::<u32>(host);
            // SAFETY: the memory is initialised, and the stream has it to itself while the job runs.
            let values = unsafe { std::slice::from_raw_parts_mut(host, LEN) };
            values.iter_mut().for_each(|value| *value += 1);
        };
        bench.run_on_host(bench.stream, Box::new(job));
        bench.upload();
        // The values must come from the device.
        let wipe = move || {
            let host = ptr::with_exposed_provenance_mut::<u32>(host);
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts_mut(host, LEN) }.fill(0);
        };
        bench.run_on_host(bench.stream, Box::new(wipe));
    }
    bench.download(bench.stream);
    assert!(bench.host().iter().enumerate().all(|(i, &value)| value == i as u32 + ROUNDS));
}

#[test]
#[ignore = "needs a CUDA device"]
fn jobs_and_signals_come_in_their_streams_order() {
    const JOBS: usize = 1000;
    let bench = Bench::new();
    let streams: Vec<_> = (0..4).map(|_| bench.stream()).collect();
    let noted: Vec<Arc<Mutex<Vec<usize>>>> = streams.iter().map(|_| Arc::default()).collect();
    for index in 0..JOBS {
        for (&stream, noted) in streams.iter().zip(&noted) {
            let noted = Arc::clone(noted);
            let note: HostJob = Box::new(move || noted.lock().expect("no panic").push(index));
            if index % 3 == 0 { bench.signal(stream, note) } else { bench.run_on_host(stream, note) }
        }
    }
    for (&stream, noted) in streams.iter().zip(&noted) {
        assert_eq!(bench.synchronize(stream), Ok(()));
        assert!(noted.lock().expect("no panic").iter().copied().eq(0..JOBS));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_job_may_wait_for_one_on_another_stream() {
    // This runs in a process of its own: another test that loads a module would wait for the job, and delay
    // the thread that the job waits for.
    apart("a_job_may_wait_for_one_on_another_stream", || {
        let bench = Bench::new();
        let other = bench.stream();
        let (send, receive) = mpsc::channel();
        let heard = Arc::new(AtomicU32::new(0));
        let hear = Arc::clone(&heard);
        let waits =
            move || hear.store(receive.recv_timeout(Duration::from_secs(10)).unwrap_or(0), Ordering::Relaxed);
        bench.run_on_host(bench.stream, Box::new(waits));
        bench.run_on_host(other, Box::new(move || send.send(7).expect("the first job waits")));
        assert_eq!((bench.synchronize(bench.stream), bench.synchronize(other)), (Ok(()), Ok(())));
        assert_eq!(heard.load(Ordering::Relaxed), 7);
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_null_stream_takes_everything() {
    let mut bench = Bench::new();
    bench.stream = bench.device.null_stream().expect("it is always there");
    bench.host().fill(3);
    bench.upload();
    let (called, calls) = mpsc::channel();
    let note = called.clone();
    bench.run_on_host(bench.stream, Box::new(move || note.send("job").expect("the test waits")));
    bench.signal(bench.stream, Box::new(move || called.send("signal").expect("the test waits")));
    bench.download(bench.stream);
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), ["job", "signal"]);
    assert!(bench.host().iter().all(|&value| value == 3));
}

/// Prints the host's cost of enqueuing a function, and the stream's cost of getting past it. Run it alone to
/// read the numbers.
#[test]
#[ignore = "needs a CUDA device"]
fn every_host_function_is_called_once() {
    const JOBS: u32 = 500;
    let bench = Bench::new();
    let calls = Arc::new(AtomicU32::new(0));
    let count = || -> HostJob {
        let calls = Arc::clone(&calls);
        Box::new(move || {
            calls.fetch_add(1, Ordering::Relaxed);
        })
    };
    let enqueue: [(&str, &dyn Fn()); 2] = [
        ("job", &|| bench.run_on_host(bench.stream, count())),
        ("signal", &|| bench.signal(bench.stream, count())),
    ];
    for (what, enqueue) in enqueue {
        enqueue();
        assert_eq!(bench.synchronize(bench.stream), Ok(()));
        let start = Instant::now();
        (0..JOBS).for_each(|_| enqueue());
        let enqueued = start.elapsed() / JOBS;
        assert_eq!(bench.synchronize(bench.stream), Ok(()));
        let passed = start.elapsed() / JOBS;
        println!("{what}: {enqueued:?} to enqueue, {passed:?} to get past");
        assert_eq!(calls.swap(0, Ordering::Relaxed), JOBS + 1);
    }
}

/// Set in a process that may lose its context.
const CHILD: &str = "THALWEG_GPU_CHILD";

/// Runs `body` in a process of its own: this same test, run again.
fn apart(test: &str, body: fn()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    let module = module_path!().split_once("::").expect("a module of this crate").1;
    let output = process::Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", &format!("{module}::{test}"), "--ignored", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_fault_drops_the_jobs_behind_it() {
    apart("a_fault_drops_the_jobs_behind_it", || {
        let bench = Bench::new();
        let other = bench.stream();
        // Loading a module waits for the device, and so for the job.
        bench.device.load(&SLOW_FILL).expect("a kernel");
        let (release, held) = mpsc::channel::<()>();
        let holds = move || {
            let _ = held.recv_timeout(Duration::from_secs(5));
        };
        bench.run_on_host(other, Box::new(holds));
        let (mut n, mut value, mut nowhere) = (LEN as u32, 1_u32, 16_u64);
        let start = Instant::now();
        bench.launch(&SLOW_FILL, 0, &mut [param(&mut n), param(&mut value), param(&mut nowhere)]);
        let (alive, watch) = mpsc::channel::<()>();
        let (in_job, in_signal) = (alive.clone(), alive);
        bench.run_on_host(bench.stream, Box::new(move || in_job.send(()).expect("the test watches")));
        bench.signal(bench.stream, Box::new(move || in_signal.send(()).expect("the test watches")));
        for _ in 0..2 {
            assert_eq!(bench.synchronize(bench.stream), Err(700));
            assert_eq!(bench.synchronize(other), Err(700));
        }
        assert!(start.elapsed() < Duration::from_secs(4), "the job that holds its stream holds up nothing");
        assert_eq!(watch.try_recv(), Err(mpsc::TryRecvError::Disconnected));
        drop(release);
        drop(bench);
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_device_that_goes_waits_for_no_job() {
    apart("a_device_that_goes_waits_for_no_job", || {
        let bench = Bench::new();
        let (release, held) = mpsc::channel::<()>();
        let (ended, is_over) = mpsc::channel();
        let holds = move || {
            let _ = held.recv_timeout(Duration::from_secs(5));
            ended.send(()).expect("the test waits");
        };
        bench.run_on_host(bench.stream, Box::new(holds));
        let (alive, watch) = mpsc::channel::<()>();
        bench.run_on_host(bench.stream, Box::new(move || alive.send(()).expect("the test watches")));
        // The first job has begun, and the second waits behind it.
        std::thread::sleep(Duration::from_millis(100));
        let start = Instant::now();
        drop(bench);
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        assert_eq!(watch.try_recv(), Err(mpsc::TryRecvError::Disconnected));
        drop(release);
        is_over.recv_timeout(Duration::from_secs(5)).expect("the job ends by itself");
    });
}
