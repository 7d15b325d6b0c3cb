//! Kernels with variables, clusters and grid-wide barriers, and images of all kinds: on the simulated device
//! if it says anything about them, and on a GPU.

use thalweg::__private::Detail;
use thalweg::__private::{Function, KernelInfo, KernelModule, compilations, compile_for};
use thalweg::prelude::*;
use thalweg_tests::loading::{
    BLOCK, Blur, BlurTwice, BlurWithItsInput, Either, Rotate, RotateFar, Total, blurred, rotated,
};
use thalweg_tests::test_name;
use thalweg_tests::{numbers, on_every_device};

fn whole(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

on_every_device! {
    fn a_variable_has_the_runs_value(device, case) {
        let x = numbers(case.len);
        let mut blur = thalweg_tests::built!(Blur, device, case);
        // The values are fewer than the variable holds, all of it, and none.
        for weights in [&[1.0, -2.0, 3.0][..], &[1.0, 2.0, 3.0, 4.0, 5.0], &[]] {
            let mut y = vec![f32::NAN; case.len];
            blur.run(weights.len() as u32, weights, &x, &mut y)?;
            let expected: Vec<_> = x.chunks(case.chunk).flat_map(|x| blurred(x, weights)).collect();
            assert_eq!(y, expected);
        }
    }

    fn every_thread_hears_of_the_whole_grid(device, case) {
        let x = whole(case.len);
        let mut y = vec![0; case.len];
        // `state` has two elements at least.
        let chunk = case.chunk.max(2);
        if case.len % chunk == 1 { return Ok(()) }
        let options = Total::options(device).chunk(chunk).depth(case.depth);
        let mut total = if case.in_graphs() { options.graph().build()? } else { options.build()? };
        total.run(3, &x, &mut y)?;
        for (x, y) in x.chunks(chunk).zip(y.chunks(chunk)) {
            let sum = x.iter().fold(0, |sum: u32, x| sum.wrapping_add(*x));
            assert!(x.iter().zip(y).all(|(x, y)| x.wrapping_add(sum) == *y));
        }
    }
}

/// Clusters of two, with much shared memory, and of sixteen; in streams and graphs, whose second run changes
/// the node.
fn clusters(device: &Device) {
    for graph in [false, true] {
        let len = 500;
        let (x, mut y) = (whole(len), vec![0; len]);
        let options = Rotate::options(device).chunk(200);
        let mut rotate = if graph { options.graph() } else { options }.build().unwrap();
        for (grid, shared) in [(8, 4 * BLOCK), (10, 100 << 10)] {
            rotate.run(grid, shared, &x, &mut y).unwrap();
            let expected: Vec<_> = x.chunks(200).flat_map(rotated::<2>).collect();
            assert_eq!(y, expected, "in graphs: {graph}");
        }
        let options = RotateFar::options(device).chunk(500);
        let mut far = if graph { options.graph() } else { options }.build().unwrap();
        far.run(16, &x, &mut y).unwrap();
        assert_eq!(y, rotated::<16>(&x));
        let options = Either::options(device).chunk(50).depth(1);
        let mut either = if graph { options.graph() } else { options }.build().unwrap();
        either.run(&x, &mut y).unwrap();
        for (index, (x, y)) in x.chunks(50).zip(y.chunks(50)).enumerate() {
            assert_eq!(y, if index % 2 == 0 { rotated::<2>(x) } else { rotated::<16>(x) });
        }
    }
}

#[test]
fn clusters_on_the_simulated_device() {
    clusters(&Device::simulated(Simulation::h200()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn clusters_on_a_gpu() {
    clusters(&Device::cuda(0).unwrap());
}

/// Each device refuses the same with the same words.
fn refusals(device: &Device) {
    let (x, mut y) = (whole(96), vec![0; 96]);
    let error = Rotate::new(device).unwrap().run(3, 128, &x, &mut y).unwrap_err();
    assert!(
        matches!(
            error.detail(),
            Detail::ClusterGrid { kernel: "rotate_2", grid: [3, 1, 1], cluster: [2, 1, 1] }
        ),
        "{error}"
    );
    let error = Rotate::new(device).unwrap().run(2, 1 << 20, &x, &mut y).unwrap_err();
    assert!(matches!(error.detail(), Detail::SharedMemory { dynamic: 1_048_576, fixed: 0, .. }), "{error}");
    let error = Total::new(device).unwrap().run(1 << 20, &x, &mut y).unwrap_err();
    assert!(
        matches!(
            error.detail(),
            Detail::LaunchLimit { what: "blocks of a cooperative launch", value: 1_048_576, .. }
        ),
        "{error}"
    );
    let (x, mut y) = ([1.0; 10], [0.0; 10]);
    let error = BlurWithItsInput::new(device).unwrap().run(&x, &mut y).unwrap_err();
    assert!(matches!(error.detail(), Detail::SymbolNotResident { symbol: "weights", .. }), "{error}");
    let mut twice = BlurTwice::new(device).unwrap();
    let error = twice.run(&[1.0], &[1.0], &x, &mut y).unwrap_err();
    assert!(matches!(error.detail(), Detail::SymbolChanged { symbol: "weights", .. }), "{error}");
    assert_eq!(error.place().stage, Some("two"));
    // The variable has room for five.
    let error = Blur::new(device).unwrap().run(1, &[1.0; 6], &[0.0; 4], &mut [0.0; 4]).unwrap_err();
    assert!(matches!(error.detail(), Detail::SymbolSize { bytes: 24, size: 20, .. }), "{error}");
    assert!(matches!(error.kind(), ErrorKind::Shape(_)), "its lengths are the caller's: {error}");
    assert_eq!(error.place().stage, Some("work"));
}

#[test]
fn refusals_of_the_simulated_device() {
    refusals(&Device::simulated(Simulation::h200()));
    // The next run may give it another buffer.
    let device = Device::simulated(Simulation::h200());
    let mut blur = Blur::new(&device).unwrap();
    let mut y = [0.0; 4];
    for weights in [[1.0], [2.0]] {
        blur.run(1, &weights, &[3.0; 4], &mut y).unwrap();
        assert_eq!(y, [3.0 * weights[0]; 4]);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn refusals_of_a_gpu() {
    refusals(&Device::cuda(0).unwrap());
}

#[test]
fn a_device_without_clusters_says_so() {
    let device = Device::simulated(Simulation::a100());
    let error = Rotate::new(&device).unwrap_err();
    let said = "kernel `rotate_2` needs clusters of blocks (compute capability 9.0), which `simulated A100` (compute capability 8.0) does not have";
    assert!(error.to_string().starts_with(said), "{error}");
    assert_eq!((error.place().pipeline, error.place().stage), (Some("Rotate"), Some("work")));
    Total::new(&device).unwrap().run(4, &[1, 2], &mut [0; 2]).unwrap();
}

const STORE: &str = "extern \"C\" __global__ void store(unsigned n, unsigned* x) { if (threadIdx.x < n) x[threadIdx.x] = 7; }\n";

static STORE_SOURCE: KernelModule = KernelModule::cuda("store.cu", STORE);

/// A kernel of an image, or the reason for its refusal.
fn load(
    device: &Device,
    file: &'static str,
    image: Vec<u8>,
    sizes: &'static [usize],
) -> thalweg::Result<Function> {
    let module: &'static KernelModule = Box::leak(Box::new(KernelModule::image(file, image.leak())));
    Function::load(device, Box::leak(Box::new(KernelInfo::new("store", module).parameters(sizes))))
}

/// PTX and cubins come from the compiler; fatbins are for those who have the tool that makes them.
#[test]
#[ignore = "needs a CUDA device"]
fn images_on_a_gpu() {
    let device = Device::cuda(0).unwrap();
    let (major, minor) = device.compute_capability();
    let own = format!("sm_{major}{minor}");
    let cubin = compile_for(&STORE_SOURCE, &own).unwrap().image;
    let ptx = compile_for(&STORE_SOURCE, "compute_75").unwrap().image;
    load(&device, "store.cubin", cubin.clone(), &[4, 8]).expect("its own cubin");
    load(&device, "store.ptx", ptx.clone(), &[4, 8]).expect("PTX for all devices");
    load(&device, "store.ptx", ptx[..ptx.len() - 1].to_vec(), &[4, 8]).expect("PTX without a NUL");

    // The image is for another device.
    let other = if major == 8 { "sm_90" } else { "sm_80" };
    let error =
        load(&device, "k.cubin", compile_for(&STORE_SOURCE, other).unwrap().image, &[4, 8]).unwrap_err();
    let Detail::NoCodeForDevice { holds, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(*holds, format!("code for {other}"));
    let newer = compile_for(&STORE_SOURCE, "compute_120").unwrap().image;
    let error = load(&device, "k.ptx", newer, &[4, 8]).unwrap_err();
    assert!(matches!(error.detail(), Detail::NoCodeForDevice { .. }), "{error}");

    // The image is cut off, or not what it says.
    for cut in [0, 4, 63, 64, 200, cubin.len() / 2, cubin.len() - 1] {
        let error = load(&device, "k.cubin", cubin[..cut].to_vec(), &[4, 8]).unwrap_err();
        assert!(matches!(error.detail(), Detail::InvalidImage { .. }), "{cut} bytes: {error}");
    }
    let broken = String::from_utf8(ptx.clone()).unwrap().replace("ret;", "return;");
    let error = load(&device, "k.ptx", broken.into_bytes(), &[4, 8]).unwrap_err();
    let Detail::InvalidImage { log, .. } = error.detail() else { panic!("{error}") };
    assert!(log.contains("ptxas") && log.contains("return"), "the driver's own words: {log}");
    let future = String::from_utf8(ptx.clone()).unwrap();
    let version = future.lines().find(|line| line.starts_with(".version")).unwrap();
    let error =
        load(&device, "k.ptx", future.replace(version, ".version 99.9").into_bytes(), &[4, 8]).unwrap_err();
    assert!(matches!(error.detail(), Detail::PtxTooNew { version, .. } if version == "99.9"), "{error}");

    // The parameters are not those that were declared.
    let error = load(&device, "store.cubin", cubin.clone(), &[4]).unwrap_err();
    assert!(matches!(error.detail(), Detail::ParameterCount { declared: 1, found: 2, .. }), "{error}");
    let error = load(&device, "store.ptx", ptx, &[8, 8]).unwrap_err();
    assert!(
        matches!(error.detail(), Detail::ParameterSize { index: 1, declared: 8, found: 4, .. }),
        "{error}"
    );
}

/// The source has `__cluster_dims__`: the launch may not repeat it, and the declaration has to agree.
#[test]
#[ignore = "needs a CUDA device"]
fn the_sources_own_clusters_on_a_gpu() {
    let device = Device::cuda(0).unwrap();
    let source = include_str!("../../cu/blocks_together.cu");
    let module: &'static KernelModule = Box::leak(Box::new(KernelModule::cuda("blocks_together.cu", source)));
    let kernel = || KernelInfo::new("fixed", module).parameters(&[4, 8]);
    Function::load(&device, Box::leak(Box::new(kernel()))).expect("not declared");
    Function::load(&device, Box::leak(Box::new(kernel().cluster([2, 1, 1])))).expect("declared alike");
    let error = Function::load(&device, Box::leak(Box::new(kernel().cluster([4, 1, 1])))).unwrap_err();
    assert!(matches!(error.detail(), Detail::ClusterDiffers { found: [2, 1, 1], .. }), "{error}");
}

/// Set in a process that loads a kernel and reports how often it has called the compiler.
const CHILD: &str = "THALWEG_CACHE_CHILD";

#[test]
#[ignore = "needs a CUDA device"]
fn the_second_process_compiles_nothing() {
    if std::env::var_os(CHILD).is_some() {
        let device = Device::cuda(0).unwrap();
        let (x, mut y) = (whole(64), vec![0; 64]);
        Rotate::new(&device).unwrap().run(2, 128, &x, &mut y).unwrap();
        assert_eq!(y, rotated::<2>(&x));
        println!("compilations: {}", compilations());
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let run = || {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                &test_name(module_path!(), "the_second_process_compiles_nothing"),
                "--include-ignored",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .env("THALWEG_CACHE", cache.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        text.lines().find_map(|line| line.strip_prefix("compilations: ")).expect("a number").to_owned()
    };
    assert_eq!([run(), run()], ["1", "0"]);
}
