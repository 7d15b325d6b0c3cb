//! The exact calls that the backend makes, from stubs of CUDA's libraries that write them down.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use super::{SAXPY, SOURCE, TAG, kernel, launch};
use crate::cuda::{Cuda, device_count};
use crate::driver::{Driver, DriverResult, HostJob, RawStream};
use crate::error::ErrorKind;
use crate::graph::Recording;
use crate::kernel::{KernelInfo, KernelModule};

/// Set in a process that has the stubs.
const CHILD: &str = "THALWEG_STUB_CHILD";

/// Runs `body` in a process of its own that finds the stubs in CUDA's place, and returns what they recorded.
///
/// The process is this same test, run again: there `body` runs, and the answer is `None`. `flags` are for the
/// compiler of the driver stub.
fn recorded(test: &str, flags: &[&str], variables: &[(&str, &str)], body: fn()) -> Option<String> {
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let folder = stubs(flags);
    let record = folder.join(format!("{test}.calls"));
    let _ = fs::remove_file(&record);
    let module = module_path!().split_once("::").expect("a module of this crate").1;
    let output = Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env_remove("THALWEG_SYNC")
        .env("THALWEG_CACHE", "off")
        .env("LD_LIBRARY_PATH", &folder)
        .env("THALWEG_RECORD", &record)
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    Some(fs::read_to_string(record).unwrap_or_default())
}

/// The folder with the stubs, built on first use.
fn stubs(flags: &[&str]) -> PathBuf {
    static PLAIN: OnceLock<PathBuf> = OnceLock::new();
    let build = |name: &str| {
        // Beside the test binary, where `cargo clean` finds it.
        let binary = std::env::current_exe().expect("the test's own path");
        let folder = binary.with_file_name("recording-stubs").join(name);
        fs::create_dir_all(&folder).expect("a folder for the stubs");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/stubs");
        for library in ["libcuda", "libnvrtc"] {
            // The first name that cudarc looks for, so that it comes before any real library. Renamed into place, since
            // another process may be using the one there.
            let unfinished = folder.join(format!("{library}.{}", std::process::id()));
            let status = Command::new("cc")
                .args(["-shared", "-fPIC", "-pthread", "-Wall", "-Werror", "-o"])
                .args([&unfinished, &sources.join(format!("{library}.c"))])
                .args(flags)
                .status();
            assert!(status.expect("a C compiler").success());
            let finished = folder.join(format!("{library}.so"));
            fs::rename(unfinished, finished).expect("the stub moves into place");
        }
        folder
    };
    match flags {
        [] => PLAIN.get_or_init(|| build("plain")).clone(),
        flags => build(&flags.concat()),
    }
}

/// Unwraps, with the error's own words.
fn ok<T>(result: DriverResult<T>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn one_chunk_makes_exactly_these_calls() {
    let calls = recorded("one_chunk_makes_exactly_these_calls", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let info = device.info();
        assert_eq!((info.name.as_str(), info.memory), ("recording stub", 1 << 30));
        assert_eq!((info.compute_capability, info.multiprocessors), ((9, 0), 132));
        assert_eq!((info.priorities, info.max_shared), ((0, -5), 227 << 10));

        let saxpy = device.load(&SAXPY).expect("the stub compiles anything").function;
        assert_eq!((saxpy.max_threads_per_block, saxpy.static_shared), (1024, 0));
        device.load(&SAXPY).expect("the module is there already");

        let (up, down) = (ok(device.create_stream(-100)), ok(device.create_stream(7)));
        let done = ok(device.create_event());
        let (x, y) = (ok(device.allocate(4096)), ok(device.allocate(4096)));
        assert_eq!(ok(device.free_memory()), (1 << 30) - 8192);
        let pinned = ok(device.allocate_pinned(8192));
        // SAFETY: all of it is initialised, says the trait, and nothing else uses it yet.
        let host = unsafe { std::slice::from_raw_parts_mut(pinned.as_ptr(), 8192) };
        assert!(host.iter().all(|&byte| byte == 0));
        host[..4096].fill(7);
        let (from, to) = (pinned.as_ptr(), pinned.as_ptr().wrapping_add(4096));

        // Another thread, where no context is current yet.
        let from = from.addr();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let from = ptr::with_exposed_provenance::<u8>(from);
                let mut params = [ptr::null_mut(); 4];
                // SAFETY: handles and memory are live until the end, and the stub does everything at once.
                unsafe {
                    ok(device.copy_to_device(x, from, 4096, up, TAG));
                    ok(device.copy_to_device(x, from, 0, up, TAG));
                    ok(device.launch(launch(saxpy, 4, 64, &mut params), up, TAG));
                    ok(device.copy_on_device(y.offset(1024), x, 2048, up, TAG));
                    ok(device.record(done, up, TAG));
                }
            });
        });
        // SAFETY: as above, and nothing is used after it is destroyed or freed.
        unsafe {
            ok(device.wait(down, done, TAG));
            ok(device.copy_to_host(to, y.offset(1024), 2048, down, TAG));
            ok(device.synchronize_event(done));
            ok(device.synchronize_stream(down));
            assert!(std::slice::from_raw_parts(to, 2048).iter().all(|&byte| byte == 7));
            ok(device.destroy_event(done));
            ok(device.destroy_stream(up));
            ok(device.destroy_stream(down));
            ok(device.free(x));
            ok(device.free(y));
            ok(device.free_pinned(pinned, 8192));
        }
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuInit
cuDevicePrimaryCtxRetain 0
nvrtcCompileProgram saxpy.cu --gpu-architecture=sm_90
cuModuleLoadDataEx m1
cuModuleGetFunction m1 saxpy
cuFuncLoad saxpy
cuFuncSetAttribute saxpy 8 232448
cuModuleGetFunction m1 saxpy
cuFuncLoad saxpy
cuFuncSetAttribute saxpy 8 232448
cuStreamCreateWithPriority s1 flags=1 priority=-5
cuStreamCreateWithPriority s2 flags=1 priority=0
cuEventCreate e1 flags=2
cuMemAlloc d1 4096
cuMemAlloc d2 4096
cuMemHostAlloc h1 8192 flags=1
cuMemcpyHtoDAsync d1 h1 4096 s1
cuLaunchKernel saxpy <<<(4, 1, 1), (256, 1, 1), 64, s1>>>
cuMemcpyDtoDAsync d2+1024 d1 2048 s1
cuEventRecord e1 s1
cuStreamWaitEvent s2 e1
cuMemcpyDtoHAsync h1+4096 d2+1024 2048 s2
cuEventSynchronize e1
cuStreamSynchronize s2
cuEventDestroy e1
cuStreamDestroy s1
cuStreamDestroy s2
cuMemFree d1
cuMemFree d2
cuMemFreeHost h1
cuModuleUnload m1
cuDevicePrimaryCtxRelease 0
";
    assert_eq!(calls, expected);
}

#[test]
fn an_index_is_one_device_while_it_is_held() {
    let variables = [("THALWEG_GPUS", "2")];
    let calls = recorded("an_index_is_one_device_while_it_is_held", &[], &variables, || {
        assert_eq!(device_count().expect("a driver"), 2);
        let devices = [0, 0, 1].map(|index| Cuda::open(index).expect("a device"));
        assert!(Arc::ptr_eq(&devices[0], &devices[1]));
        assert!(!Arc::ptr_eq(&devices[0], &devices[2]));
        drop(devices);
        Cuda::open(1).expect("a device again");
        let error = Cuda::open(2).expect_err("there are two");
        assert!(matches!(error.kind(), ErrorKind::NoSuchDevice { index: 2, count: 2 }), "{error}");
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuInit
cuDevicePrimaryCtxRetain 0
cuDevicePrimaryCtxRetain 1
cuDevicePrimaryCtxRelease 0
cuDevicePrimaryCtxRelease 1
cuDevicePrimaryCtxRetain 1
cuDevicePrimaryCtxRelease 1
";
    assert_eq!(calls, expected);
}

#[test]
fn no_gpu_is_none_and_no_error() {
    let variables = [("THALWEG_GPUS", "0")];
    recorded("no_gpu_is_none_and_no_error", &[], &variables, || {
        assert_eq!(device_count().expect("a driver"), 0);
        let error = Cuda::open(0).expect_err("there is none");
        assert!(matches!(error.kind(), ErrorKind::NoSuchDevice { index: 0, count: 0 }), "{error}");
    });
}

#[test]
fn a_driver_that_lacks_a_function_is_too_old() {
    // The stub's function gets another name.
    let flags = ["-DcuEventRecord=cuEventRecordGone"];
    recorded("a_driver_that_lacks_a_function_is_too_old", &flags, &[], || {
        let error = device_count().expect_err("a function is missing");
        let ErrorKind::CudaDriverTooOld { symbol } = error.kind() else { panic!("{error}") };
        assert_eq!(*symbol, "cuEventRecord");
    });
}

#[test]
fn a_driver_older_than_cu_func_load_will_do() {
    let flags = ["-DcuFuncLoad=cuFuncLoadGone"];
    let calls = recorded("a_driver_older_than_cu_func_load_will_do", &flags, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        device.load(&SAXPY).expect("the stub compiles anything");
    });
    let Some(calls) = calls else { return };
    assert!(calls.contains("cuModuleGetFunction m1 saxpy\ncuFuncSetAttribute saxpy"), "{calls}");
}

#[test]
fn a_driver_older_than_graphs_will_do_without() {
    let flags = ["-DcuGraphLaunch=cuGraphLaunchGone"];
    recorded("a_driver_older_than_graphs_will_do_without", &flags, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        // SAFETY: there are no nodes.
        let error = unsafe { device.build_graph(&Recording::default()) }.expect_err("a function is missing");
        assert_eq!((error.call, error.code, &*error.name), ("cuGraphLaunch", 500, "CUDA_ERROR_NOT_FOUND"));
    });
}

#[test]
fn thalweg_sync_names_the_operation_that_failed() {
    let variables = [("THALWEG_SYNC", "1"), ("THALWEG_FAIL", "cuStreamSynchronize:700:2+")];
    let calls = recorded("thalweg_sync_names_the_operation_that_failed", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let saxpy = device.load(&SAXPY).expect("the stub compiles anything").function;
        let stream: RawStream = ok(device.create_stream(0));
        let memory = ok(device.allocate(16));
        let pinned = ok(device.allocate_pinned(16));
        // SAFETY: handles and memory are live, and the stub does everything at once.
        let error = unsafe {
            ok(device.copy_to_device(memory, pinned.as_ptr(), 16, stream, TAG));
            device.launch(launch(saxpy, 1, 0, &mut []), stream, TAG).expect_err("a fault in the kernel")
        };
        assert_eq!((error.call, error.code, error.tag), ("cuLaunchKernel", 700, Some((4, 2))));
        assert_eq!(error.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuMemcpyHtoDAsync d1 h1 16 s1
cuStreamSynchronize s1
cuLaunchKernel saxpy <<<(1, 1, 1), (256, 1, 1), 0, s1>>>
cuStreamSynchronize s1 -> 700
";
    assert!(calls.contains(expected), "{calls}");
}

#[test]
fn errors_have_the_drivers_name_and_words() {
    let variables = [
        ("THALWEG_MEMORY", "4096"),
        ("THALWEG_FAIL", "cuMemHostAlloc:2,cuEventCreate:4242:2,cuStreamDestroy_v2:700"),
    ];
    let calls = recorded("errors_have_the_drivers_name_and_words", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let error = device.allocate(4097).expect_err("a byte too many");
        assert!(error.is_out_of_memory());
        let text = "`cuMemAlloc` failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory";
        assert_eq!(error.to_string(), text);
        ok(device.allocate(4096));

        let error = device.allocate_pinned(1).expect_err("as asked for");
        assert_eq!((error.call, error.code), ("cuMemHostAlloc", 2));
        ok(device.allocate_pinned(1));

        // A code that no binding knows.
        ok(device.create_event());
        let error = device.create_event().expect_err("as asked for");
        assert_eq!((error.code, &*error.name), (4242, "CUDA_ERROR_UNKNOWN"));

        let stream = ok(device.create_stream(0));
        // SAFETY: the stream is live at the first call, and stays so, since that fails.
        let outcomes = unsafe { [device.destroy_stream(stream), device.destroy_stream(stream)] };
        assert_eq!(outcomes.map(|outcome| outcome.err().map(|error| error.code)), [Some(700), None]);
    });
    let Some(calls) = calls else { return };
    for line in ["cuMemAlloc 4097 -> 2", "cuStreamDestroy s1 -> 700", "cuStreamDestroy s1"] {
        assert!(calls.lines().any(|call| call == line), "{calls}");
    }
}

#[test]
fn a_source_that_does_not_compile_gives_the_compilers_log() {
    static BROKEN: KernelModule = KernelModule::cuda("broken.cu", "// a comment\n#error \"no such thing\"\n");
    static KERNEL: KernelInfo = kernel(&BROKEN, "broken");
    let test = "a_source_that_does_not_compile_gives_the_compilers_log";
    recorded(test, &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let error = device.load(&KERNEL).expect_err("an `#error`");
        let ErrorKind::Compile { file, architecture, log } = error.kind() else { panic!("{error}") };
        assert_eq!((*file, architecture.as_str()), ("broken.cu", "sm_90"));
        assert!(log.starts_with("broken.cu(2): error: #error \"no such thing\"\n"), "{log}");
    });
}

#[test]
fn a_kernel_that_the_source_lacks_is_reported() {
    static KERNEL: KernelInfo = kernel(&SOURCE, "saxpi");
    recorded("a_kernel_that_the_source_lacks_is_reported", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let error = device.load(&KERNEL).expect_err("a typing error");
        assert_eq!(error.to_string(), "`saxpy.cu` has no kernel `saxpi`");
    });
}

/// What jobs note, in order.
static NOTED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

fn note(what: &'static str) -> HostJob {
    Box::new(move || NOTED.lock().expect("no test panics").push(what))
}

fn noted() -> Vec<&'static str> {
    std::mem::take(&mut NOTED.lock().expect("no test panics"))
}

/// A job, and what tells when it is dropped: whether or not it has run, its end of the channel is gone then.
fn watched(what: &'static str) -> (HostJob, mpsc::Receiver<()>) {
    let (alive, watch) = mpsc::channel::<()>();
    let note = note(what);
    let job = move || {
        let _alive = alive;
        note();
    };
    (Box::new(job), watch)
}

fn is_dropped(watch: &mpsc::Receiver<()>) -> bool {
    watch.try_recv() == Err(mpsc::TryRecvError::Disconnected)
}

/// Hands a job over.
fn host(device: &dyn Driver, stream: RawStream, job: HostJob) -> DriverResult<()> {
    // SAFETY: the tests destroy no stream before its last use, and their jobs access nothing of the device's.
    unsafe { device.host(job, &[], stream, TAG) }
}

fn signal(device: &dyn Driver, stream: RawStream, signal: HostJob) -> DriverResult<()> {
    // SAFETY: as above.
    unsafe { device.signal(signal, stream, TAG) }
}

fn synchronize(device: &dyn Driver, stream: RawStream) -> DriverResult<()> {
    // SAFETY: as above.
    unsafe { device.synchronize_stream(stream) }
}

fn destroy(device: &dyn Driver, stream: RawStream) {
    // SAFETY: as above.
    ok(unsafe { device.destroy_stream(stream) });
}

#[test]
fn host_functions_make_exactly_these_calls() {
    let calls = recorded("host_functions_make_exactly_these_calls", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let (a, b) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        let here = std::thread::current().id();
        let elsewhere = move || {
            assert_eq!(std::thread::current().name(), Some("thalweg-host"));
            assert_ne!(std::thread::current().id(), here);
            note("one")();
        };
        ok(host(&*device, a, Box::new(elsewhere)));
        ok(host(&*device, a, note("two")));
        ok(signal(&*device, a, note("three")));
        ok(synchronize(&*device, a));
        assert_eq!(noted(), ["one", "two", "three"]);
        ok(host(&*device, b, note("b")));
        ok(synchronize(&*device, b));
        // The word of a stream that is gone serves the next, and counts on.
        destroy(&*device, a);
        let c = ok(device.create_stream(0));
        ok(host(&*device, c, note("c")));
        ok(synchronize(&*device, c));
        let null = ok(device.null_stream());
        ok(host(&*device, null, note("null")));
        ok(synchronize(&*device, null));
        assert_eq!(noted(), ["b", "c", "null"]);
        destroy(&*device, b);
        destroy(&*device, c);
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuStreamCreateWithPriority s1 flags=1 priority=0
cuStreamCreateWithPriority s2 flags=1 priority=0
cuMemHostAlloc h1 4096 flags=2
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 1
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 2
cuLaunchHostFunc s1
cuStreamSynchronize s1
cuLaunchHostFunc s2
cuStreamWaitValue32 s2 h1+4 1
cuStreamSynchronize s2
cuStreamDestroy s1
cuStreamCreateWithPriority s3 flags=1 priority=0
cuLaunchHostFunc s3
cuStreamWaitValue32 s3 h1 3
cuStreamSynchronize s3
cuLaunchHostFunc null
cuStreamWaitValue32 null h1+8 1
cuStreamSynchronize null
cuStreamDestroy s2
cuStreamDestroy s3
cuMemFreeHost h1
cuDevicePrimaryCtxRelease 0
";
    assert!(calls.ends_with(expected), "{calls}");
}

#[test]
fn a_job_may_wait_for_one_on_another_stream() {
    recorded("a_job_may_wait_for_one_on_another_stream", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let (a, b) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        let (send, receive) = mpsc::channel();
        let waits = move || receive.recv().expect("the other job runs");
        ok(host(&*device, a, Box::new(waits)));
        ok(host(&*device, b, Box::new(move || send.send(()).expect("the first job waits"))));
        ok(synchronize(&*device, a));
        ok(synchronize(&*device, b));
    });
}

#[test]
fn a_job_that_unwinds_has_returned() {
    recorded("a_job_that_unwinds_has_returned", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        ok(host(&*device, stream, Box::new(|| panic!("in a job"))));
        ok(signal(&*device, stream, Box::new(|| panic!("in a signal"))));
        ok(host(&*device, stream, note("after")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["after"]);
    });
}

#[test]
fn a_device_that_cannot_wait_for_memory_waits_for_the_thread() {
    let test = "a_device_that_cannot_wait_for_memory_waits_for_the_thread";
    let body = || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        for what in ["one", "two"] {
            let note = note(what);
            let slow = move || {
                std::thread::sleep(Duration::from_millis(20));
                note();
            };
            ok(host(&*device, stream, Box::new(slow)));
            ok(synchronize(&*device, stream));
            assert_eq!(noted(), [what]);
        }
        destroy(&*device, stream);
    };
    let expected = "\
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 1 -> 801
cuLaunchHostFunc s1
cuStreamSynchronize s1
cuLaunchHostFunc s1
cuLaunchHostFunc s1
cuStreamSynchronize s1
cuStreamDestroy s1
";
    let Some(calls) = recorded(test, &[], &[("THALWEG_NO_MEMORY_WAIT", "1")], body) else { return };
    assert!(calls.contains(expected), "{calls}");
}

#[test]
fn a_driver_without_waits_for_memory_will_do() {
    let flags = ["-DcuStreamWaitValue32_v2=cuStreamWaitValue32Gone"];
    let calls = recorded("a_driver_without_waits_for_memory_will_do", &flags, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        ok(host(&*device, stream, note("one")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["one"]);
    });
    let Some(calls) = calls else { return };
    assert!(calls.contains("cuLaunchHostFunc s1\ncuLaunchHostFunc s1\ncuStreamSynchronize s1\n"), "{calls}");
    assert!(!calls.contains("cuMemHostAlloc"), "{calls}");
}

/// After an error the driver calls nothing any more.
#[test]
fn a_lost_context_drops_what_it_never_called() {
    let variables = [("THALWEG_DEAF", "2"), ("THALWEG_FAIL", "cuStreamSynchronize:700:2+")];
    recorded("a_lost_context_drops_what_it_never_called", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let (stream, other) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        ok(host(&*device, stream, note("before")));
        ok(synchronize(&*device, stream));
        let (job, job_watch) = watched("never");
        let (sent, signal_watch) = watched("never");
        ok(host(&*device, stream, job));
        ok(signal(&*device, other, sent));
        assert!(!is_dropped(&job_watch) && !is_dropped(&signal_watch));
        for _ in 0..2 {
            assert_eq!(synchronize(&*device, stream).expect_err("as asked for").code, 700);
            assert!(is_dropped(&job_watch) && is_dropped(&signal_watch));
        }
        drop(device);
        assert_eq!(noted(), ["before"]);
    });
}

#[test]
fn a_device_drops_what_was_never_called() {
    let variables = [("THALWEG_DEAF", "1")];
    recorded("a_device_drops_what_was_never_called", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (job, job_watch) = watched("never");
        let (sent, signal_watch) = watched("never");
        ok(signal(&*device, stream, sent));
        ok(host(&*device, stream, job));
        drop(device);
        assert!(is_dropped(&job_watch) && is_dropped(&signal_watch));
        assert!(noted().is_empty());
    });
}

#[test]
fn what_is_refused_is_dropped() {
    let variables = [("THALWEG_FAIL", "cuLaunchHostFunc:2:1,cuLaunchHostFunc:2:2,cuMemHostAlloc:2:2")];
    recorded("what_is_refused_is_dropped", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (job, watch) = watched("never");
        assert_eq!(host(&*device, stream, job).expect_err("as asked for").call, "cuLaunchHostFunc");
        assert!(is_dropped(&watch));
        let (sent, watch) = watched("never");
        assert_eq!(signal(&*device, stream, sent).expect_err("as asked for").code, 2);
        assert!(is_dropped(&watch));
        ok(host(&*device, stream, note("one")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["one"]);
    });
}

/// The stream does not wait for the job, and the job may have begun. Then the host waits for it, with the stream.
#[test]
fn a_job_that_its_stream_cannot_wait_for_is_waited_for() {
    let test = "a_job_that_its_stream_cannot_wait_for_is_waited_for";
    recorded(test, &[], &[("THALWEG_FAIL", "cuStreamWaitValue32:2")], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let note_end = note("end");
        let slow = move || {
            std::thread::sleep(Duration::from_millis(50));
            note_end();
        };
        let error = host(&*device, stream, Box::new(slow)).expect_err("as asked for");
        assert_eq!((error.call, error.code), ("cuStreamWaitValue32", 2));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["end"]);
        ok(host(&*device, stream, note("next")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["next"]);
    });
}

#[test]
fn a_job_that_its_stream_cannot_wait_for_is_taken_back_if_it_has_not_begun() {
    let test = "a_job_that_its_stream_cannot_wait_for_is_taken_back_if_it_has_not_begun";
    let variables = [("THALWEG_FAIL", "cuStreamWaitValue32:2"), ("THALWEG_DEAF", "1")];
    recorded(test, &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (job, watch) = watched("never");
        host(&*device, stream, job).expect_err("as asked for");
        assert!(is_dropped(&watch));
        ok(synchronize(&*device, stream));
        assert!(noted().is_empty());
    });
}

#[test]
fn thalweg_sync_waits_for_host_functions() {
    let variables = [("THALWEG_SYNC", "1"), ("THALWEG_FAIL", "cuStreamSynchronize:719:3")];
    let calls = recorded("thalweg_sync_waits_for_host_functions", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let note = note("one");
        let slow = move || {
            std::thread::sleep(Duration::from_millis(20));
            note();
        };
        ok(host(&*device, stream, Box::new(slow)));
        assert_eq!(noted(), ["one"]);
        ok(signal(&*device, stream, Box::new(|| {})));
        let error = signal(&*device, stream, Box::new(|| {})).expect_err("as asked for");
        assert_eq!((error.call, error.code, error.tag), ("cuLaunchHostFunc", 719, Some((4, 2))));
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 1
cuStreamSynchronize s1
cuLaunchHostFunc s1
cuStreamSynchronize s1
";
    assert!(calls.contains(expected), "{calls}");
}

/// On the simulated device neither.
#[test]
fn a_job_may_not_wait_for_the_device() {
    recorded("a_job_may_not_wait_for_the_device", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (send, receive) = mpsc::channel();
        let inner = Arc::clone(&device);
        let asks = move || send.send(inner.may_wait()).expect("the test waits");
        ok(host(&*device, stream, Box::new(asks)));
        ok(synchronize(&*device, stream));
        let refused = receive.recv().expect("the job has run").expect_err("it may not");
        assert_eq!((refused.code, &*refused.name), (800, "CUDA_ERROR_NOT_PERMITTED"));
        ok(device.may_wait());
    });
}

/// Words and threads go from one stream to the next while others use theirs.
#[test]
fn jobs_of_many_threads_come_in_the_order_of_their_streams() {
    recorded("jobs_of_many_threads_come_in_the_order_of_their_streams", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for jobs in 0..40 {
                        let stream = ok(device.create_stream(0));
                        let order = Arc::new(Mutex::new(Vec::new()));
                        for job in 0..jobs {
                            let order = Arc::clone(&order);
                            let work: HostJob = Box::new(move || order.lock().expect("no panic").push(job));
                            ok(if job % 4 == 3 {
                                signal(&*device, stream, work)
                            } else {
                                host(&*device, stream, work)
                            });
                        }
                        ok(synchronize(&*device, stream));
                        assert_eq!(*order.lock().expect("no panic"), (0..jobs).collect::<Vec<_>>());
                        assert_eq!(Arc::strong_count(&order), 1, "a job is left");
                        destroy(&*device, stream);
                    }
                });
            }
        });
    });
}
