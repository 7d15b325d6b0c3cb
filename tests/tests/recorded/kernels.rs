//! The exact driver calls of kernels with variables, clusters and grid-wide barriers, and the errors of those
//! that cannot be loaded; without a GPU: a stub of CUDA's libraries writes the calls down.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use thalweg::__private::Detail;
use thalweg::__private::{Function, KernelInfo, KernelModule, compilations};
use thalweg::prelude::*;
use thalweg_tests::loading::{BLOCK, Blur, BlurTwice, BlurWithItsInput, Either, Rotate, RotateFar, Total};
use thalweg_tests::stubs::{Stubs, is_child};

/// The driver and the compiler.
const STUBS: Stubs =
    Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-kernels"));

fn recorded(test: &str, variables: &[(&str, &str)], body: fn(&Device)) -> Option<String> {
    STUBS.record(test, variables, body)
}

/// The record's lines about modules, kernels and graphs, and about the copies of variables.
fn of_kernels(record: &str) -> String {
    let is = |line: &&str| {
        ["cuModule", "cuLaunchKernel", "cuFuncSet", "cuGraphAddKernel", "cuGraphKernel", "cuGraphExecKernel"]
            .iter()
            .chain(&["cuGraphInstantiate", "cuGraphLaunch", "cuMemcpyDtoD"])
            .any(|call| line.starts_with(call))
    };
    record.lines().filter(is).map(|line| format!("{line}\n")).collect()
}

const WEIGHTS: [f32; 3] = [1.0, 2.0, 3.0];

/// Two runs of three chunks each: each run writes the variable once, on a stream of its own, and waits for
/// that. The module is the pipeline's own, and unloaded with it.
#[test]
fn a_variable_is_written_once_a_run() {
    let calls = recorded("a_variable_is_written_once_a_run", &[], |device| {
        let mut blur = Blur::options(device).chunk(40).build().unwrap();
        let (x, mut y) = (pinned(device, 100), pinned(device, 100));
        for _ in 0..2 {
            blur.run(3, &WEIGHTS, &x, &mut y).unwrap();
        }
    });
    let Some(calls) = calls else { return };
    let run = "\
cuMemcpyDtoDAsync d1 d2 12 s1
cuLaunchKernel blur <<<(2, 1, 1), (32, 1, 1), 0, s3>>>
cuLaunchKernel blur <<<(2, 1, 1), (32, 1, 1), 0, s3>>>
cuLaunchKernel blur <<<(1, 1, 1), (32, 1, 1), 0, s3>>>
";
    let expected = format!(
        "\
cuModuleLoadDataEx m1
cuModuleGetFunction m1 blur
cuFuncSetAttribute blur 8 232448
cuModuleGetGlobal m1 weights d1 20
{run}{run}cuModuleUnload m1
"
    );
    // Streams and memory have numbers in the order of their creation, which this test ignores.
    assert_eq!(renamed(&of_kernels(&calls)), renamed(&expected), "{calls}");
    let lines: Vec<_> = calls.lines().collect();
    let copy = lines.iter().position(|line| line.starts_with("cuMemcpyDtoD")).unwrap();
    let stream = lines[copy].rsplit(' ').next().unwrap();
    assert_eq!(lines[copy + 1], format!("cuStreamSynchronize {stream}"));
    let others = calls.lines().filter(|line| line.ends_with(stream) && !line.starts_with("cuStreamCreate"));
    assert!(others.clone().all(|line| !line.starts_with("cuLaunchKernel")), "{calls}");
    assert_eq!(others.count(), 5, "two copies, two waits, one destruction: {calls}");
}

/// Page-locked memory of so many elements.
fn pinned<T: Pod>(device: &Device, len: usize) -> PinnedBuf<T> {
    PinnedBuf::zeroed(device, len).unwrap()
}

/// Device memory, page-locked memory, streams and graphs named in the order of their first mention.
fn renamed(calls: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut rename = |word: &str| {
        let is_name = word.len() > 1
            && word.starts_with(['d', 's', 'g', 'x', 'n'])
            && word[1..].bytes().all(|byte| byte.is_ascii_digit());
        if !is_name {
            return word.to_owned();
        }
        let known = names.iter().position(|name| name == word);
        let number = known.unwrap_or_else(|| {
            names.push(word.to_owned());
            names.len() - 1
        });
        format!("{}#{number}", &word[..1])
    };
    let words = |line: &str| {
        line.split_inclusive([' ', '>', ','])
            .map(|word| {
                let end = word.trim_end_matches([' ', '>', ',']).len();
                format!("{}{}", rename(&word[..end]), &word[end..])
            })
            .collect::<String>()
    };
    calls.lines().map(words).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_variable_is_written_before_the_graph() {
    let calls = recorded("a_variable_is_written_before_the_graph", &[], |device| {
        let mut blur = Blur::options(device).chunk(40).graph().build().unwrap();
        let (x, mut y) = (pinned(device, 100), pinned(device, 100));
        for _ in 0..2 {
            blur.run(3, &WEIGHTS, &x, &mut y).unwrap();
        }
    });
    let Some(calls) = calls else { return };
    let launches: Vec<_> = of_kernels(&calls)
        .lines()
        .filter(|line| line.starts_with("cuMemcpyDtoD") || line.starts_with("cuGraphLaunch"))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    let run = ["cuMemcpyDtoDAsync", "cuGraphLaunch"];
    assert_eq!(launches, [run, run].concat(), "{calls}");
    let end: Vec<_> =
        calls.lines().filter(|line| line.contains("Destroy g") || line.contains("Unload")).collect();
    // The first module is that of the kernel which copies in graphs, and stays as long as the device.
    let unloaded = ["cuModuleUnload m2", "cuModuleUnload m1"];
    assert_eq!(end[end.len() - 2..], unloaded, "the graph knows the modules' kernels: {calls}");
}

#[test]
fn pipelines_do_not_share_a_variable() {
    let calls = recorded("pipelines_do_not_share_a_variable", &[], |device| {
        let mut pipelines = [Blur::new(device).unwrap(), Blur::new(device).unwrap()];
        let (x, mut y) = ([0.0; 10], [0.0; 10]);
        pipelines[0].run(3, &WEIGHTS, &x, &mut y).unwrap();
        pipelines[1].run(2, &WEIGHTS[..2], &x, &mut y).unwrap();
    });
    let Some(calls) = calls else { return };
    let count = |start: &str| calls.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("nvrtcCompileProgram"), 1, "{calls}");
    assert_eq!((count("cuModuleLoadDataEx"), count("cuModuleUnload")), (2, 2), "{calls}");
    let mut copies = calls.lines().filter(|line| line.starts_with("cuMemcpyDtoD"));
    let to = |copy: Option<&str>| copy.map(|copy| copy.split(' ').nth(1).unwrap().to_owned()).unwrap();
    assert_ne!(to(copies.next()), to(copies.next()), "{calls}");
}

#[test]
fn what_a_variable_cannot_hold_is_refused() {
    let calls = recorded("what_a_variable_cannot_hold_is_refused", &[], |device| {
        let (x, mut y) = ([0.0; 10], [0.0; 10]);
        let error = Blur::new(device).unwrap().run(1, &[1.0; 6], &x, &mut y).unwrap_err();
        let said = "`weights` of kernel `blur` has 20 bytes, but the launch gives 24 for it";
        assert!(error.to_string().starts_with(said), "{error}");
        assert_eq!((error.place().stage, error.place().chunk), (Some("work"), Some(0)));
        let error = BlurWithItsInput::new(device).unwrap().run(&x, &mut y).unwrap_err();
        assert!(matches!(error.detail(), Detail::SymbolNotResident { symbol: "weights", .. }), "{error}");
        let error = BlurTwice::new(device).unwrap().run(&[1.0], &[1.0], &x, &mut y).unwrap_err();
        assert!(matches!(error.detail(), Detail::SymbolChanged { symbol: "weights", .. }), "{error}");
        assert_eq!(error.place().stage, Some("two"));
    });
    let Some(calls) = calls else { return };
    // The last pipeline's first launch succeeded, and its copy too.
    assert_eq!(calls.lines().filter(|line| line.starts_with("cuMemcpyDtoD")).count(), 1, "{calls}");
    assert_eq!(calls.lines().filter(|line| line.starts_with("cuModuleUnload")).count(), 3, "{calls}");
}

/// The copy fails, or the wait for it: the run is drained, and the pipeline goes on.
#[test]
fn a_copy_that_fails_is_an_error_of_its_launch() {
    for fault in ["cuMemcpyDtoDAsync:1", "cuMemcpyDtoDAsync:700"] {
        let calls =
            recorded("a_copy_that_fails_is_an_error_of_its_launch", &[("THALWEG_FAIL", fault)], |device| {
                let mut blur = Blur::new(device).unwrap();
                let (x, mut y) = ([1.0; 10], [0.0; 10]);
                let error = blur.run(1, &[1.0], &x, &mut y).unwrap_err();
                let Detail::Driver(driver) = error.detail() else { panic!("{error}") };
                assert_eq!(driver.call, "cuMemcpyDtoDAsync");
                blur.run(1, &[1.0], &x, &mut y).unwrap();
            });
        let Some(calls) = calls else { return };
        assert!(calls.contains("cuModuleUnload m1"), "{calls}");
    }
}

/// A device that does not answer keeps the module: the kernel may be under way.
#[test]
fn a_lost_device_keeps_the_module() {
    let variables = [("THALWEG_FAIL", "cuStreamSynchronize:700:4+")];
    let calls = recorded("a_lost_device_keeps_the_module", &variables, |device| {
        let mut blur = Blur::new(device).unwrap();
        let (x, mut y) = (pinned(device, 10), pinned(device, 10));
        blur.run(1, &[1.0], &x, &mut y).unwrap_err();
        let error = blur.run(1, &[1.0], &[0.0; 10], &mut [0.0; 10]).unwrap_err();
        assert!(matches!(error.detail(), Detail::PipelinePoisoned), "{error}");
    });
    let Some(calls) = calls else { return };
    assert!(calls.contains("cuLaunchKernel blur") && !calls.contains("cuModuleUnload"), "{calls}");
}

#[test]
fn clusters_are_in_every_launch() {
    let calls = recorded("clusters_are_in_every_launch", &[], |device| {
        let (x, mut y) = (pinned(device, 100), pinned(device, 100));
        let shared = 4 * BLOCK;
        Rotate::options(device).chunk(50).build().unwrap().run(2, shared, &x, &mut y).unwrap();
        // The second run changes the kernel's node.
        let mut graph = Rotate::options(device).chunk(100).graph().build().unwrap();
        graph.run(4, shared, &x, &mut y).unwrap();
        graph.run(6, shared, &x, &mut y).unwrap();
        RotateFar::new(device).unwrap().run(16, &x, &mut y).unwrap();
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuModuleLoadDataEx m1
cuModuleGetFunction m1 _Zrotate_2_
cuFuncSetAttribute _Zrotate_2_ 8 232448
cuLaunchKernelEx _Zrotate_2_ <<<(2, 1, 1), (32, 1, 1), 128, s2>>> cluster=(2, 1, 1)
cuLaunchKernelEx _Zrotate_2_ <<<(2, 1, 1), (32, 1, 1), 128, s2>>> cluster=(2, 1, 1)
cuModuleLoadDataEx m2
cuModuleGetFunction m2 thalweg_copy
cuFuncSetAttribute thalweg_copy 8 232448
cuGraphAddKernelNode g1 n1 thalweg_copy d1 h1 400
cuGraphAddKernelNode g1 n2 _Zrotate_2_ <<<(4, 1, 1), (32, 1, 1), 128>>> after n1
cuGraphKernelNodeSetAttribute n2 cluster=(2, 1, 1)
cuGraphAddKernelNode g1 n3 thalweg_copy h2 d2 400 after n2
cuGraphInstantiateWithFlags x1 g1
cuGraphLaunch x1 s7
cuGraphExecKernelNodeSetParams x1 n2 _Zrotate_2_ <<<(6, 1, 1), (32, 1, 1), 128>>>
cuGraphLaunch x1 s7
cuModuleGetFunction m1 _Zrotate_16_
cuFuncSetAttribute _Zrotate_16_ 8 232448
cuFuncSetAttribute _Zrotate_16_ 14 1
cuLaunchKernelEx _Zrotate_16_ <<<(16, 1, 1), (32, 1, 1), 128, s9>>> cluster=(16, 1, 1)
cuModuleUnload m1
cuModuleUnload m2
";
    assert_eq!(renamed(&of_kernels(&calls)), renamed(expected), "{calls}");
}

/// A node's attributes cannot be changed: for another kernel in its place the graph is built anew.
#[test]
fn a_node_with_clusters_is_not_given_another_kernel() {
    let calls = recorded("a_node_with_clusters_is_not_given_another_kernel", &[], |device| {
        // The data are pageable, so each chunk is a graph, the second in the place of the first.
        let mut either = Either::options(device).chunk(40).depth(1).graph().build().unwrap();
        either.run(&[0; 100], &mut [0; 100]).unwrap();
    });
    let Some(calls) = calls else { return };
    let nodes: Vec<_> = calls
        .lines()
        .filter(|line| line.starts_with("cuGraphKernelNodeSet") || line.starts_with("cuGraphExecKernel"))
        .map(|line| line.split_once(' ').map_or("", |(_, rest)| rest.split_once(' ').unwrap().1))
        .collect();
    assert_eq!(nodes, ["cluster=(2, 1, 1)", "cluster=(16, 1, 1)", "cluster=(2, 1, 1)"], "{calls}");
}

#[test]
fn cooperative_launches_say_so() {
    let calls = recorded("cooperative_launches_say_so", &[], |device| {
        let (x, mut y) = (pinned(device, 100), pinned(device, 100));
        Total::options(device).chunk(100).build().unwrap().run(4, &x, &mut y).unwrap();
        Total::options(device).chunk(100).graph().build().unwrap().run(4, &x, &mut y).unwrap();
        // There are 132 multiprocessors with 32 blocks each.
        let error = Total::new(device).unwrap().run(132 * 32 + 1, &x, &mut y).unwrap_err();
        let said = "kernel `total` cannot be launched: blocks of a cooperative launch is 4225, but the limit is 4224";
        assert!(error.to_string().starts_with(said), "{error}");
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuModuleLoadDataEx m1
cuModuleGetFunction m1 total
cuFuncSetAttribute total 8 232448
cuLaunchKernelEx total <<<(4, 1, 1), (32, 1, 1), 0, s2>>> cooperative=1
cuModuleLoadDataEx m2
cuModuleGetFunction m2 thalweg_copy
cuFuncSetAttribute thalweg_copy 8 232448
cuGraphAddKernelNode g1 n1 thalweg_copy d1 h1 400
cuGraphAddKernelNode g1 n3 total <<<(4, 1, 1), (32, 1, 1), 0>>> after n2 n1
cuGraphKernelNodeSetAttribute n3 cooperative=1
cuGraphAddKernelNode g1 n4 thalweg_copy h2 d2 400 after n3
cuGraphInstantiateWithFlags x1 g1
cuGraphLaunch x1 s7
cuModuleUnload m1
cuModuleUnload m2
";
    let after = |calls: &str| calls.replace(" after n1 n2", " after n2 n1");
    assert_eq!(renamed(&after(&of_kernels(&calls))), renamed(expected), "{calls}");
}

#[test]
fn a_grid_must_fill_its_clusters() {
    recorded("a_grid_must_fill_its_clusters", &[], |device| {
        let error = Rotate::new(device).unwrap().run(3, 128, &[0; 96], &mut [0; 96]).unwrap_err();
        let said = "kernel `rotate_2` cannot be launched: a grid of (3, 1, 1) blocks is not a multiple of clusters of (2, 1, 1)";
        assert!(error.to_string().starts_with(said), "{error}");
        let error = Rotate::new(device).unwrap().run(2, 232_449, &[0; 9], &mut [0; 9]).unwrap_err();
        let said = "kernel `rotate_2` cannot be launched: it needs 232449 bytes of shared memory (232449 of the launch and 0 that the kernel declares), but the limit is 232448";
        assert!(error.to_string().starts_with(said), "{error}");
    });
}

/// The error with which a kernel of a module made for the test is refused.
fn refusal(device: &Device, kernel: KernelInfo) -> Error {
    Function::load(device, Box::leak(Box::new(kernel))).expect_err("it cannot be loaded")
}

fn module(source: &'static str) -> &'static KernelModule {
    Box::leak(Box::new(KernelModule::cuda("k.cu", source)))
}

const K: &str = "extern \"C\" __global__ void k(int n, float* x) {}";

#[test]
fn what_the_device_lacks_is_said_when_it_is_loaded() {
    let test = "what_the_device_lacks_is_said_when_it_is_loaded";
    let variables = [("THALWEG_CAPABILITY", "86"), ("THALWEG_NO_COOPERATION", "1")];
    let calls = recorded(test, &variables, |device| {
        let kernel = || KernelInfo::new("k", module(K));
        let error = refusal(device, kernel().cluster([2, 1, 1]));
        let said = "kernel `k` needs clusters of blocks (compute capability 9.0), which `recording stub` (compute capability 8.6) does not have";
        assert_eq!(error.to_string(), said);
        let error = refusal(device, kernel().cooperative());
        assert!(error.to_string().starts_with("kernel `k` needs cooperative launches"), "{error}");
    });
    let Some(calls) = calls else { return };
    assert!(!calls.contains("nvrtcCompileProgram"), "nothing is compiled in vain: {calls}");
}

#[test]
fn a_driver_that_lacks_attributes_is_too_old_for_clusters_only() {
    let stubs = Stubs {
        module: module_path!(),
        folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-old-driver"),
        flags: &["-DcuLaunchKernelEx=cuLaunchKernelExGone"],
        ..STUBS
    };
    let test = "a_driver_that_lacks_attributes_is_too_old_for_clusters_only";
    stubs.record(test, &[], |device| {
        let error = refusal(device, KernelInfo::new("k", module(K)).cooperative());
        let Detail::CudaDriverTooOld { symbol } = error.detail() else { panic!("{error}") };
        assert_eq!(*symbol, "cuLaunchKernelEx");
        let kernel: &'static KernelInfo = Box::leak(Box::new(KernelInfo::new("k", module(K))));
        Function::load(device, kernel).expect("an ordinary kernel");
    });
}

#[test]
fn the_sources_own_clusters_are_not_said_again() {
    let calls = recorded("the_sources_own_clusters_are_not_said_again", &[], |device| {
        let source = "extern \"C\" __global__ void __cluster_dims__(4, 1, 1) k(int n) {}";
        let error = refusal(device, KernelInfo::new("k", module(source)).cluster([2, 1, 1]));
        let said = "kernel `k` is declared with clusters of (2, 1, 1) blocks, but `k.cu` has `__cluster_dims__` of (4, 1, 1)";
        assert_eq!(error.to_string(), said);
        let kernel: &'static KernelInfo = Box::leak(Box::new(KernelInfo::new("k", module(source))));
        Function::load(device, kernel).expect("the clusters are the source's");
    });
    let Some(calls) = calls else { return };
    assert!(!calls.contains("cuFuncSetAttribute k 14"), "four are portable: {calls}");
}

/// The lines about the kernel itself, including queries.
fn of_functions(calls: &str) -> Vec<&str> {
    calls
        .lines()
        .filter(|line| line.starts_with("cuFunc") || line.starts_with("cuModuleGetFunction"))
        .collect()
}

#[test]
fn a_second_pipeline_asks_nothing_of_its_kernels() {
    let variables = [("THALWEG_QUESTIONS", "1"), ("THALWEG_PARAMETERS", "4,8,8")];
    let calls = recorded("a_second_pipeline_asks_nothing_of_its_kernels", &variables, |device| {
        let pipelines = [Rotate::new(device).unwrap(), Rotate::options(device).graph().build().unwrap()];
        let (x, mut y) = (pinned(device, 100), pinned(device, 100));
        for mut pipeline in pipelines {
            pipeline.run(4, 4 * BLOCK, &x, &mut y).unwrap();
        }
    });
    let Some(calls) = calls else { return };
    let asked = [
        "cuModuleGetFunction m1 _Zrotate_2_",
        "cuFuncLoad _Zrotate_2_",
        // An instance's parameters are counted, too.
        "cuFuncGetParamCount _Zrotate_2_",
        "cuFuncGetParamInfo _Zrotate_2_",
        "cuFuncGetParamInfo _Zrotate_2_",
        "cuFuncGetParamInfo _Zrotate_2_",
        // These are threads, shared memory, and the source's own clusters.
        "cuFuncGetAttribute _Zrotate_2_",
        "cuFuncGetAttribute _Zrotate_2_",
        "cuFuncSetAttribute _Zrotate_2_ 8 232448",
        "cuFuncGetAttribute _Zrotate_2_",
        "cuFuncGetAttribute _Zrotate_2_",
        "cuFuncGetAttribute _Zrotate_2_",
    ];
    // The kernel that copies in graphs is a third one.
    let of_kernels: Vec<_> =
        of_functions(&calls).into_iter().filter(|line| !line.contains("thalweg_copy")).collect();
    assert_eq!(of_kernels, asked, "{calls}");
}

/// The runtime asks how many blocks of a cluster, or of a grid with a barrier, the device can hold if the
/// launch differs from the one before.
#[test]
fn launches_that_are_alike_are_asked_about_once() {
    let calls =
        recorded("launches_that_are_alike_are_asked_about_once", &[("THALWEG_QUESTIONS", "1")], |device| {
            let (x, mut y) = (pinned(device, 100), pinned(device, 100));
            let mut total = Total::options(device).chunk(50).build().unwrap();
            let mut rotate = Rotate::options(device).chunk(25).build().unwrap();
            for grid in [4, 4, 6] {
                total.run(grid, &x, &mut y).unwrap();
                rotate.run(grid, 4 * BLOCK, &x, &mut y).unwrap();
            }
            // The error about a launch that does not fit is repeated each time.
            for _ in 0..2 {
                total.run(132 * 32 + 1, &x, &mut y).unwrap_err();
            }
        });
    let Some(calls) = calls else { return };
    let count = |start: &str| calls.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("cuLaunchKernelEx"), 3 * (2 + 4), "{calls}");
    assert_eq!(count("cuOccupancyMaxActiveBlocksPerMultiprocessor total"), 2 + 2, "{calls}");
    assert_eq!(count("cuOccupancyMaxPotentialClusterSize _Zrotate_2_"), 2, "{calls}");
}

/// An earlier error on the device is not blamed on the launch that is asked about.
#[test]
fn a_fault_that_a_question_reports_is_not_its_launchs() {
    let test = "a_fault_that_a_question_reports_is_not_its_launchs";
    for (code, operation) in [("700", None), ("1", Some("rotate_2<<<..>>>"))] {
        let fault = format!("cuOccupancyMaxPotentialClusterSize:{code}:1");
        let variables = [("THALWEG_FAIL", &*fault), ("THALWEG_TEST", operation.unwrap_or(""))];
        let calls = recorded(test, &variables, |device| {
            let error = Rotate::new(device).unwrap().run(4, 128, &[0; 100], &mut [0; 100]).unwrap_err();
            let operation = std::env::var("THALWEG_TEST").unwrap();
            let said = error.place().operation.unwrap_or("");
            assert_eq!(said, operation, "{error}");
        });
        if calls.is_none() {
            return;
        }
    }
}

/// A tool that lists refused calls of the driver has nothing to list, unless there is no other way to ask the
/// driver.
#[test]
fn only_a_driver_that_does_not_count_parameters_is_asked_for_one_too_many() {
    let test = "only_a_driver_that_does_not_count_parameters_is_asked_for_one_too_many";
    let guessing = Stubs {
        module: module_path!(),
        folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-driver-that-does-not-count"),
        flags: &["-DcuFuncGetParamCount=cuFuncGetParamCountGone"],
        ..STUBS
    };
    for (stubs, refused) in [(STUBS, 0), (guessing, 1)] {
        let variables = [("THALWEG_QUESTIONS", "1"), ("THALWEG_PARAMETERS", "4,8")];
        let calls = stubs.record(test, &variables, |device| {
            for module in [module(K), image("k.ptx", PTX)] {
                let kernel = KernelInfo::new("k", module).parameters(&[4, 8]);
                Function::load(device, Box::leak(Box::new(kernel))).expect("the same parameters");
            }
            let sizes = |sizes| KernelInfo::new("k", image("k.ptx", PTX)).parameters(sizes);
            let error = refusal(device, sizes(&[4]));
            assert_eq!(error.to_string(), "kernel `k` is declared with 1 parameter, but in `k.ptx` it has 2");
            let error = refusal(device, sizes(&[4, 8, 8]));
            assert_eq!(
                error.to_string(),
                "kernel `k` is declared with 3 parameters, but in `k.ptx` it has 2"
            );
        });
        let Some(calls) = calls else { return };
        let questions: Vec<_> =
            of_functions(&calls).into_iter().filter(|line| line.starts_with("cuFuncGetParamInfo")).collect();
        let count = questions.iter().filter(|line| line.contains("->")).count();
        // The source's kernel gives none; the three kernels in PTX give one each.
        assert_eq!((questions.len(), count), (8 + 3 * refused, 3 * refused), "{calls}");
    }
}

#[test]
fn parameters_are_compared_with_the_compiled_kernel() {
    let variables = [("THALWEG_PARAMETERS", "4,8")];
    recorded("parameters_are_compared_with_the_compiled_kernel", &variables, |device| {
        let kernel = |sizes: &'static [usize]| KernelInfo::new("k", module(K)).parameters(sizes);
        Function::load(device, Box::leak(Box::new(kernel(&[4, 8])))).expect("the same parameters");
        let text = |sizes| refusal(device, kernel(sizes)).to_string();
        // The macro has counted those of a kernel in CUDA C++.
        let of_image =
            |sizes| refusal(device, KernelInfo::new("k", image("k.ptx", PTX)).parameters(sizes)).to_string();
        assert_eq!(of_image(&[4]), "kernel `k` is declared with 1 parameter, but in `k.ptx` it has 2");
        assert_eq!(of_image(&[]), "kernel `k` is declared with 0 parameters, but in `k.ptx` it has 2");
        assert_eq!(text(&[4, 8, 8]), "kernel `k` is declared with 3 parameters, but in `k.cu` it has 2");
        let said = "parameter 2 of kernel `k` is declared with 4 bytes, but in `k.cu` it has 8";
        assert_eq!(text(&[4, 4]), said);
    });
}

#[test]
fn symbols_and_instances_that_are_not_there() {
    recorded("symbols_and_instances_that_are_not_there", &[], |device| {
        let error = refusal(device, KernelInfo::new("k", module(K)).symbols(&["table"]));
        assert!(error.to_string().starts_with("`k.cu` has no variable `table`, which kernel `k`"), "{error}");
        let error = refusal(device, KernelInfo::new("k", module(K)).instance("k<int>"));
        assert_eq!(error.to_string(), "`k.cu` has no kernel `k`");
    });
}

const PTX: &[u8] = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n) { ret; }\n";

fn image(file: &'static str, image: &'static [u8]) -> &'static KernelModule {
    Box::leak(Box::new(KernelModule::image(file, image)))
}

#[test]
fn files_that_are_no_images_never_reach_the_driver() {
    let calls = recorded("files_that_are_no_images_never_reach_the_driver", &[], |device| {
        for (bytes, reason) in [
            (&b""[..], "it is empty"),
            (b"#!/bin/sh\n", "it is neither PTX nor a cubin nor a fatbin"),
            (b"\x7fELF", "it is cut off"),
            (b"\x50\xed\x55\xba\x01\x00\x10\x00\xff\xff\x00\x00\x00\x00\x00\x00", "it is cut off"),
            (b".version 8.0\n\0.target sm_80\n", "it is neither PTX nor a cubin nor a fatbin"),
        ] {
            let error = refusal(device, KernelInfo::new("k", image("k.bin", bytes)));
            assert_eq!(error.to_string(), format!("`k.bin` cannot be loaded: {reason}"));
        }
        // A program of this machine is an ELF file, too.
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        let error = refusal(device, KernelInfo::new("k", image("k.cubin", own.leak())));
        let said = "`k.cubin` cannot be loaded: it is an object file, but not for a GPU";
        assert_eq!(error.to_string(), said);
        let kernel: &'static KernelInfo = Box::leak(Box::new(KernelInfo::new("k", image("k.ptx", PTX))));
        Function::load(device, kernel).expect("PTX");
    });
    let Some(calls) = calls else { return };
    assert_eq!(calls.lines().filter(|line| line.starts_with("cuModuleLoad")).count(), 1, "{calls}");
    assert!(!calls.contains("nvrtc"), "{calls}");
}

/// The driver's error about an image, in the words of this crate and its own.
#[test]
fn the_drivers_refusals_of_an_image() {
    let test = "the_drivers_refusals_of_an_image";
    let variables = [(
        "THALWEG_FAIL",
        "cuModuleLoadDataEx:209:1,cuModuleLoadDataEx:218:2,cuModuleLoadDataEx:222:3,cuModuleLoadDataEx:218:4,cuModuleLoadDataEx:2:5",
    )];
    recorded(test, &variables, |device| {
        let load = |ptx: &'static [u8]| refusal(device, KernelInfo::new("k", image("k.ptx", ptx)));
        let error = load(PTX);
        let said = "`k.ptx` cannot be loaded: it holds PTX for sm_80, but `recording stub` is sm_90:\nstub: no good PTX";
        assert_eq!(error.to_string(), said);
        let error = load(PTX);
        let said = "`k.ptx` cannot be loaded: `cuModuleLoadDataEx` failed: CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed:\nstub: no good PTX";
        assert_eq!(error.to_string(), said);
        let error = load(PTX);
        let said = "`k.ptx` cannot be loaded: it is PTX 8.0, which is newer than this driver (for CUDA 12.8) can compile";
        assert!(error.to_string().starts_with(said), "{error}");
        // The driver calls PTX of a later device wrong.
        let error = load(b".version 8.8\n.target sm_120a\n");
        assert!(matches!(error.detail(), Detail::NoCodeForDevice { .. }), "{error}");
        assert!(error.to_string().contains("it holds PTX for sm_120, but"), "{error}");
        // This is something else altogether.
        let error = load(PTX);
        assert!(error.to_string().contains("CUDA_ERROR_OUT_OF_MEMORY"), "{error}");
    });
}

/// Loads a kernel in a process of its own, and returns the compilations that it recorded.
fn compiled(test: &str, cache: &Path, variables: &[(&str, &str)]) -> usize {
    let cache = ("THALWEG_CACHE", cache.to_str().expect("a path"));
    let calls = STUBS.run_again(test, &[&[cache], variables].concat());
    assert!(calls.contains("cuModuleLoadDataEx m1"), "{calls}");
    calls.lines().filter(|line| line.starts_with("nvrtcCompileProgram")).count()
}

/// Users who may write into the folder would decide what the GPU runs, since an image's hash does not tell
/// its author.
#[test]
#[cfg(unix)]
fn a_cache_where_others_may_write_is_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let test = "a_cache_where_others_may_write_is_an_error";
    if is_child() {
        let device = Device::open().unwrap();
        let error = Rotate::new(&device).unwrap_err();
        let folder = std::env::var("THALWEG_CACHE").unwrap();
        let Detail::CacheFolder { folder: said, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(*said, folder);
        assert!(error.to_string().contains("others may write into it (mode 777)"), "{error}");
        // An image is not compiled.
        assert_eq!(compilations(), 0);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().canonicalize().unwrap().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let calls = STUBS.run_again(test, &[("THALWEG_CACHE", cache.to_str().unwrap())]);
    assert!(!calls.contains("cuModuleLoadDataEx"), "{calls}");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
}

#[test]
fn the_second_process_compiles_nothing() {
    let test = "the_second_process_compiles_nothing";
    if is_child() {
        let device = Device::open().unwrap();
        Rotate::new(&device).unwrap();
        let record = fs::read_to_string(std::env::var_os("THALWEG_RECORD").unwrap()).unwrap();
        let recorded = record.lines().filter(|line| line.starts_with("nvrtcCompileProgram")).count();
        assert_eq!(compilations(), recorded as u64);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let compiled = |variables: &[(&str, &str)]| compiled(test, &cache, variables);
    assert_eq!((compiled(&[]), compiled(&[])), (1, 0));
    // This is another compiler, then another device.
    assert_eq!([compiled(&[("THALWEG_NVRTC", "1")]), compiled(&[("THALWEG_NVRTC", "1")])], [1, 0]);
    assert_eq!(
        [compiled(&[("THALWEG_CAPABILITY", "100")]), compiled(&[("THALWEG_CAPABILITY", "100")])],
        [1, 0]
    );
    assert_eq!(
        [compiled(&[]), compiled(&[("THALWEG_CACHE", "off")]), compiled(&[("THALWEG_CACHE", "")])],
        [0, 1, 1]
    );
    // Whatever is in the files, they are written anew.
    let files = || fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(files().len(), 3);
    for file in files() {
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    }
    assert_eq!((compiled(&[]), compiled(&[])), (1, 0));
    // This folder cannot exist.
    assert_eq!(compiled(&[("THALWEG_CACHE", "/proc/thalweg")]), 1);
}
