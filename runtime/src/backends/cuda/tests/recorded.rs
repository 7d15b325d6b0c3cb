//! The exact calls that the backend makes, from stubs of CUDA's libraries that write them down.

mod counts;
mod ends;
mod host;

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use super::{SAXPY, SOURCE, TAG, kernel, launch};
use crate::backends::cuda::api::Api;
use crate::backends::cuda::context::Context;
use crate::backends::cuda::{Cuda, device_count};
use crate::base::error::Detail;
use crate::base::kernel::{KernelInfo, KernelModule};
use crate::device::Device;
use crate::driver::command::recording::Recording;
use crate::driver::{Command, DriverResult, RawStream};

/// Set in a process that has the stubs.
const CHILD: &str = "THALWEG_STUB_CHILD";

/// Runs `body` in a process of its own that finds the stubs in CUDA's place, and returns the calls that they
/// recorded.
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
    let output = process::Command::new(std::env::current_exe().expect("the test's own path"))
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
    static BUILT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    // The folder is beside the test binary, where `cargo clean` finds it.
    let binary = std::env::current_exe().expect("the test's own path");
    let name = if flags.is_empty() { "plain".to_owned() } else { flags.concat() };
    let folder = binary.with_file_name("recording-stubs").join(name);
    // The lock is held until the stubs are there.
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !built.contains(&folder) {
        fs::create_dir_all(&folder).expect("a folder for the stubs");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/stubs");
        for library in ["libcuda", "libnvrtc"] {
            // This is the first name that is looked for, so it comes before any real library. The file is
            // renamed into place, since another process may be using the one there.
            let unfinished = folder.join(format!("{library}.{}", process::id()));
            let status = process::Command::new("cc")
                .args(["-shared", "-fPIC", "-pthread", "-Wall", "-Werror", "-o"])
                .args([&unfinished, &sources.join(format!("{library}.c"))])
                .args(flags)
                .status();
            assert!(status.expect("a C compiler").success());
            let finished = folder.join(format!("{library}.so"));
            fs::rename(unfinished, finished).expect("the stub moves into place");
        }
        built.push(folder.clone());
    }
    folder
}

/// Unwraps the result, and panics with the error's own text.
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
        // SAFETY: by the trait's promise all of it is initialised, and nothing else uses it yet.
        let host = unsafe { std::slice::from_raw_parts_mut(pinned.as_ptr(), 8192) };
        assert!(host.iter().all(|&byte| byte == 0));
        host[..4096].fill(7);
        let (from, to) = (pinned.as_ptr(), pinned.as_ptr().wrapping_add(4096));

        // No context is current on another thread yet.
        let from = from.addr();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let from = ptr::with_exposed_provenance::<u8>(from);
                let params = [ptr::null_mut(); 4];
                // SAFETY: handles and memory are live until the end, and the stub does everything at once.
                unsafe {
                    ok(device.enqueue(Command::CopyToDevice { to: x, from, bytes: 4096 }, up, TAG));
                    ok(device.enqueue(Command::CopyToDevice { to: x, from, bytes: 0 }, up, TAG));
                    ok(device.enqueue(Command::Launch(&launch(saxpy, 4, 64, &params)), up, TAG));
                    ok(device.enqueue(
                        Command::CopyOnDevice { to: y.offset(1024), from: x, bytes: 2048 },
                        up,
                        TAG,
                    ));
                    ok(device.enqueue(Command::Record(done), up, TAG));
                }
            });
        });
        // SAFETY: as above, and nothing is used after it is destroyed or freed.
        unsafe {
            ok(device.enqueue(Command::Wait(done), down, TAG));
            ok(device.enqueue(Command::CopyToHost { to, from: y.offset(1024), bytes: 2048 }, down, TAG));
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
        let devices = [0, 0, 1].map(|index| Device::cuda(index).expect("a device"));
        assert!(devices[0].same(&devices[1]) && !devices[0].same(&devices[2]));
        drop(devices);
        Device::cuda(1).expect("a device again");
        let error = Device::cuda(2).expect_err("there are two");
        assert!(matches!(error.detail(), Detail::NoSuchDevice { index: 2, count: 2, .. }), "{error}");
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
fn a_primary_context_is_its_gpu() {
    let calls = recorded("a_primary_context_is_its_gpu", &[], &[], || {
        let primary = Context::retain(Api::get().expect("a driver"), 0).expect("a context");
        let (device, kept) = (Device::cuda(0).expect("a device"), Arc::new(()));
        // SAFETY: it is a context as long as `primary` is there.
        let same = unsafe { Device::from_raw(primary.handle().cast(), Arc::clone(&kept)) };
        assert!(device.same(&same.expect("a device")));
        assert_eq!(Arc::strong_count(&kept), 1);
        // SAFETY: null is allowed.
        let error = unsafe { Device::from_raw(ptr::null_mut(), ()) }.expect_err("no context");
        assert!(error.to_string().contains("CUDA_ERROR_INVALID_CONTEXT"), "{error}");
    });
    let Some(calls) = calls else { return };
    let of_contexts = |name: &str| calls.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!(of_contexts("cuDevicePrimaryCtxRetain"), of_contexts("cuDevicePrimaryCtxRelease"), "{calls}");
}

#[test]
fn no_gpu_is_none_and_no_error() {
    let variables = [("THALWEG_GPUS", "0")];
    recorded("no_gpu_is_none_and_no_error", &[], &variables, || {
        assert_eq!(device_count().expect("a driver"), 0);
        let error = Cuda::open(0).expect_err("there is none");
        assert!(matches!(error.detail(), Detail::NoSuchDevice { index: 0, count: 0, .. }), "{error}");
    });
}

#[test]
fn a_driver_that_lacks_a_function_is_too_old() {
    // The stub's function gets another name.
    let flags = ["-DcuEventRecord=cuEventRecordGone"];
    recorded("a_driver_that_lacks_a_function_is_too_old", &flags, &[], || {
        let error = device_count().expect_err("a function is missing");
        let Detail::CudaDriverTooOld { symbol } = error.detail() else { panic!("{error}") };
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

/// CUDA 12 has given these two functions a second version.
#[test]
fn a_driver_of_cuda_11_has_graphs_of_the_first_version() {
    let flags = [
        "-DcuGraphAddKernelNode_v2=cuGraphAddKernelNode",
        "-DcuGraphExecKernelNodeSetParams_v2=cuGraphExecKernelNodeSetParams",
    ];
    let calls = recorded("a_driver_of_cuda_11_has_graphs_of_the_first_version", &flags, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let saxpy = device.load(&SAXPY).expect("the stub compiles anything").function;
        let params = [ptr::null_mut(); 4];
        let recording = |grid| {
            let mut recording = Recording::default();
            // SAFETY: there are no sizes, so nothing of the parameters is read.
            unsafe { recording.push(TAG, &[], &Command::Launch(&launch(saxpy, grid, 0, &params))) }
                .expect("a graph has kernels");
            recording
        };
        // SAFETY: the kernel is live, and nothing is launched.
        unsafe {
            let graph = ok(device.build_graph(&recording(4), false));
            assert!(ok(device.update_graph(&graph, &recording(5), &[0])));
            ok(device.destroy_graph(&graph));
        }
    });
    let Some(calls) = calls else { return };
    let kernels: Vec<_> =
        calls.lines().filter(|line| line.contains("Kernel") && line.contains("<<<")).collect();
    assert_eq!(
        kernels,
        [
            "cuGraphAddKernelNode g1 n1 saxpy <<<(4, 1, 1), (256, 1, 1), 0>>>",
            "cuGraphExecKernelNodeSetParams x1 n1 saxpy <<<(5, 1, 1), (256, 1, 1), 0>>>",
        ]
    );
}

#[test]
fn a_driver_older_than_graphs_will_do_without() {
    let flags = ["-DcuGraphLaunch=cuGraphLaunchGone"];
    recorded("a_driver_older_than_graphs_will_do_without", &flags, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        // SAFETY: there are no nodes.
        let error =
            unsafe { device.build_graph(&Recording::default(), false) }.expect_err("a function is missing");
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
            ok(device.enqueue(
                Command::CopyToDevice { to: memory, from: pinned.as_ptr(), bytes: 16 },
                stream,
                TAG,
            ));
            device
                .enqueue(Command::Launch(&launch(saxpy, 1, 0, &[])), stream, TAG)
                .expect_err("a fault in the kernel")
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
        let Detail::Compile { file, architecture, log } = error.detail() else { panic!("{error}") };
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
