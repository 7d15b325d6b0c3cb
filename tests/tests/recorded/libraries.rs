//! The exact calls that pipelines make of cuFFT, cuRAND and cuDNN, without a GPU: stubs of CUDA's libraries
//! write them down.

use thalweg::prelude::*;
use thalweg_libraries::Error as Refused;
use thalweg_libraries::cudnn::{self, Activation, Convolution, Softmax};
use thalweg_libraries::cufft::{self, Complex, Fft, R2c};
use thalweg_libraries::curand::{self, Philox};
use thalweg_tests::stubs::Stubs;

const STUBS: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-libraries"),
    libraries: &["libcuda", "libnvrtc", "libcufft", "libcurand", "libcudnn"],
    flags: &[],
    broken: &[],
};

/// The lines that begin with one of these words.
fn of<'a>(record: &'a str, prefixes: &[&str]) -> Vec<&'a str> {
    record.lines().filter(|line| prefixes.iter().any(|prefix| line.starts_with(prefix))).collect()
}

stream_pipeline! {
    pipeline Filtered {
        param fft: Fft<R2c>;
        input x: [f32; 8];
        output y: [f32; 8];
        output z: [f32; 8];
        device ds: [Complex<f32>; 5];
        device dy: [f32; 8];
        device dz: [f32; 8];
        chunk c = 3;
        depth = 2;
        stage load { copy x -> dx; }
        stage there { call cufft::forward(fft.batch(c.len), &dx, out ds); }
        stage back {
            call cufft::inverse(fft.batch(c.len), &ds, out dy);
            call cufft::inverse_overwriting(fft.batch(c.len), &mut ds, out dz);
        }
        stage store { copy dy -> y; copy dz -> z; }
    }
}

#[test]
fn each_slot_and_stream_has_its_plans() {
    let record = STUBS.record("each_slot_and_stream_has_its_plans", &[], |device| {
        let mut filtered = Filtered::new(device).expect("the pipeline");
        let (x, mut y, mut z) = (vec![1.0; 8 * 8], vec![0.0; 8 * 8], vec![0.0; 8 * 8]);
        filtered.run(Fft::r2c(8), &x, &mut y, &mut z).expect("a run of three chunks");
        let error =
            filtered.run(Fft::r2c([2, 4]), &x, &mut y, &mut z).expect_err("its spectra have another length");
        assert!(
            matches!(
                Refused::of(&error),
                Some(Refused::Dimensions { argument: "spectrum", needed: 18, len: 15, .. })
            ),
            "{error}"
        );
        // No context is current.
        std::thread::scope(|scope| {
            scope.spawn(move || drop(filtered));
        });
    });
    let Some(record) = record else { return };
    let made = |plan: &str, kind: u32, batch: u32, stream: &str| {
        [
            format!("cufftCreate {plan}"),
            format!("cufftSetAutoAllocation {plan} 0"),
            format!("cufftMakePlanMany64 {plan} 8 type={kind} batch={batch} packed"),
            format!("cufftSetStream {plan} {stream}"),
        ]
    };
    let there = |plan: &str, work: &str, x: &str, s: &str| {
        [format!("cufftSetWorkArea {plan} {work}"), format!("cufftExecR2C {plan} {x} {s}")]
    };
    // The first transform works on a copy, in the library's own memory; the second on the spectra themselves.
    let back = |plan: &str, bytes: u32, [copy, work]: [&str; 2], [s, y, z]: [&str; 3]| {
        [
            format!("cuMemcpyDtoDAsync {copy} {s} {bytes} s3"),
            format!("cufftSetWorkArea {plan} {work}"),
            format!("cufftExecC2R {plan} {copy} {y}"),
            format!("cufftSetWorkArea {plan} {work}"),
            format!("cufftExecC2R {plan} {s} {z}"),
        ]
    };
    // The ring is d1 to d4. 42 is from real to complex, 44 back. The last chunk is shorter: it has another
    // plan in the memory of the first.
    let mut expected = Vec::new();
    expected.extend(made("p1", 42, 3, "s2"));
    expected.extend(there("p1", "d5", "d4", "d1"));
    expected.extend(made("p2", 44, 3, "s3"));
    expected.extend(back("p2", 120, ["d6", "d7"], ["d1", "d2", "d3"]));
    expected.extend(made("p3", 42, 3, "s2"));
    expected.extend(there("p3", "d8", "d4+256", "d1+256"));
    expected.extend(made("p4", 44, 3, "s3"));
    expected.extend(back("p4", 120, ["d9", "d10"], ["d1+256", "d2+256", "d3+256"]));
    expected.extend(made("p5", 42, 2, "s2"));
    expected.extend(there("p5", "d5", "d4", "d1"));
    expected.extend(made("p6", 44, 2, "s3"));
    expected.extend(back("p6", 80, ["d6", "d7"], ["d1", "d2", "d3"]));
    let end = [
        "cufftDestroy p1",
        "cufftDestroy p5",
        "cuMemFree d5",
        "cufftDestroy p2",
        "cufftDestroy p6",
        "cuMemFree d7",
        "cuMemFree d6",
        "cufftDestroy p3",
        "cuMemFree d8",
        "cufftDestroy p4",
        "cuMemFree d10",
        "cuMemFree d9",
        "cuStreamDestroy s1",
    ];
    let called: Vec<_> = of(&record, &["cufft", "cuMemcpyDtoD"]);
    let called: Vec<_> = called.into_iter().filter(|line| !line.starts_with("cufftDestroy")).collect();
    assert_eq!(called, expected, "{record}");
    // Plans are destroyed before the memory that they work in, and before their streams.
    let last: Vec<_> =
        record.lines().skip_while(|line| !line.starts_with("cufftDestroy")).take(end.len()).collect();
    assert_eq!(last, end, "{record}");
}

/// Transforms of one length after another, of the first elements; between them always one of one element.
fn lengths(
    queue: &Enqueue<'_>,
    lengths: usize,
    mut x: DeviceSliceMut<'_, Complex<f32>>,
) -> thalweg::Result<()> {
    for len in 2..2 + lengths {
        for len in [1, len] {
            let Some(part) = x.get_mut(..len) else { unreachable!() };
            cufft::forward_in_place(queue, Fft::c2c(len), part)?;
        }
    }
    Ok(())
}

stream_pipeline! {
    pipeline Lengths {
        param count: usize;
        inout x: [Complex<f32>];
        chunk c = 64;
        stage all { copy x -> dx; call lengths(count, &mut dx); copy dx -> x; }
    }
}

#[test]
fn plans_make_room_when_their_stream_has_been_waited_for() {
    // The first wait fails, and the plans are still there.
    let faults = [("THALWEG_FAIL", "cuStreamSynchronize:2:1")];
    let test = "plans_make_room_when_their_stream_has_been_waited_for";
    let record = STUBS.record(test, &faults, |device| {
        let mut lengths = Lengths::new(device).expect("the pipeline");
        let mut x = [Complex::default(); 64];
        let error = lengths.run(40, &mut x).expect_err("the wait fails");
        assert!(error.to_string().starts_with("`cuStreamSynchronize` failed"), "{error}");
        lengths.run(40, &mut x).expect("once only");
    });
    let Some(record) = record else { return };
    let (mut live, mut made, mut most) = (Vec::new(), 0, 0);
    // This counts from the last wait for the stream of the plans.
    let mut used = Vec::new();
    for line in record.lines() {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["cufftCreate", plan] => {
                live.push(plan);
                made += 1;
            }
            ["cufftExecC2C", plan, ..] => {
                assert!(live.contains(&plan), "{plan} is used: {record}");
                used.push(plan);
            }
            ["cuStreamSynchronize" | "cuStreamQuery", _] => used.clear(),
            ["cufftDestroy", plan] => {
                assert!(!used.contains(&plan), "{plan} may be in use: {record}");
                live.retain(|live| *live != plan);
            }
            _ => {}
        }
        most = most.max(live.len());
    }
    // The first run makes 16 of the 41 lengths before the wait that fails; the second run finds them, and
    // makes the others.
    assert!(most == 16 && made > 40 && live.is_empty(), "{most} of {made}, {live:?}: {record}");
    // The plan of one element was always used last.
    let of_one = record.lines().filter(|line| line.ends_with(" 1 type=41 batch=1 packed")).count();
    assert_eq!(of_one, 1, "{record}");
}

stream_pipeline! {
    pipeline Random {
        param from: usize;
        output bits: [u32];
        output narrow: [f32];
        output wide: [f64];
        device db: [u32];
        device dn: [f32];
        device dw: [f64];
        chunk c = 5;
        depth = 2;
        stage make {
            call curand::bits(Philox::new(7).at(from + c.start), out db);
            call curand::normal(Philox::new(8).at(from + c.start), 1.0, 2.0, out dn);
            call curand::uniform(Philox::new(9).at(from + c.start), out dw);
        }
        stage store { copy db -> bits; copy dn -> narrow; copy dw -> wide; }
    }
}

#[test]
fn odd_chunks_are_made_in_pairs_and_copied() {
    let record = STUBS.record("odd_chunks_are_made_in_pairs_and_copied", &[], |device| {
        let mut random = Random::new(device).expect("the pipeline");
        // Wide elements reach a turn of the generator's lanes within the second chunk.
        random.run((1 << 18) - 8, &mut [0; 9], &mut [0.0; 9], &mut [0.0; 9]).expect("a run of two chunks");
    });
    let Some(record) = record else { return };
    let made = |generator: &str| {
        [
            // The generator is Philox, in the ordering that does not change.
            format!("curandCreateGenerator {generator} 161"),
            format!("curandSetGeneratorOrdering {generator} 103"),
            format!("curandSetStream {generator} s1"),
        ]
    };
    let at = |generator: &str, seed: u32, offset: u32| {
        [
            format!("curandSetPseudoRandomGeneratorSeed {generator} {seed}"),
            format!("curandSetGeneratorOffset {generator} {offset}"),
        ]
    };
    let line = str::to_owned;
    let mut expected = Vec::new();
    // Five elements begin at an even position: six are made, five copied.
    expected.extend(made("g1"));
    expected.extend(at("g1", 7, 262_136));
    expected.push(line("curandGenerate g1 d1 5"));
    expected.extend(at("g1", 8, 262_136));
    expected.push(line("curandGenerateNormal g1 d4 6 mean=1 deviation=2"));
    expected.push(line("cuMemcpyDtoDAsync d2 d4 20 s1"));
    expected.extend(at("g1", 9, 262_136));
    expected.push(line("curandGenerateUniformDouble g1 d5 6"));
    expected.push(line("cuMemcpyDtoDAsync d3 d5 40 s1"));
    // Four begin at an odd one; after 2^18 the lanes' second turn of wide elements begins, which is the third
    // and fourth turn of others.
    expected.extend(made("g2"));
    expected.extend(at("g2", 7, 262_141));
    expected.push(line("curandGenerate g2 d1+256 4"));
    expected.extend(at("g2", 8, 262_140));
    expected.push(line("curandGenerateNormal g2 d6 6 mean=1 deviation=2"));
    expected.push(line("cuMemcpyDtoDAsync d2+256 d6+4 16 s1"));
    expected.extend(at("g2", 9, 262_140));
    expected.push(line("curandGenerateUniformDouble g2 d7 4"));
    expected.push(line("curandSetGeneratorOffset g2 524288"));
    expected.push(line("curandGenerateUniformDouble g2 d7+32 2"));
    expected.push(line("cuMemcpyDtoDAsync d3+256 d7+8 32 s1"));
    expected.extend(["g1", "g2"].map(|generator| format!("curandDestroyGenerator {generator}")));
    assert_eq!(of(&record, &["curand", "cuMemcpyDtoD"]), expected, "{record}");
}

stream_pipeline! {
    pipeline Net {
        param dilation: usize;
        input x: [f32; 16];
        resident w: [f32];
        resident b: [f32];
        output y: [f32; 8];
        device dy: [f32; 8];
        chunk c = 3;
        depth = 2;
        stage load { copy x -> dx; }
        stage layers {
            call cudnn::convolution(
                Convolution::new([c.len, 1, 4, 4], [2, 1, 3, 3]).dilation([dilation; 2]).padding([dilation - 1; 2]), &dx, &w, out dy
            );
            call cudnn::bias(4, &b, &mut dy);
            call cudnn::activation(Activation::Elu { alpha: 0.5 }, &mut dy);
            call cudnn::softmax(Softmax::channels(c.len, 2, 4), &mut dy);
        }
        stage store { copy dy -> y; }
    }
}

#[test]
fn layers_share_a_handle_and_its_workspace() {
    let record = STUBS.record("layers_share_a_handle_and_its_workspace", &[], |device| {
        let mut net = Net::new(device).expect("the pipeline");
        let (x, w, b, mut y) = (vec![1.0; 4 * 16], vec![1.0; 18], vec![1.0; 2], vec![0.0; 4 * 8]);
        net.run(1, &x, &w, &b, &mut y).expect("a run of two chunks");
        net.run(2, &x[..16], &w, &b, &mut y[..8]).expect("a run that only the plain algorithm has");
        let (x, mut y) = (vec![1.0; 6 * 16], vec![0.0; 6 * 8]);
        net.run(1, &x, &w, &b, &mut y).expect("a run with a second chunk that is larger than before");
        std::thread::scope(|scope| {
            scope.spawn(move || drop(net));
        });
    });
    let Some(record) = record else { return };
    let made = |stream: &str, first: u32| {
        let n = |i: u32| first + i;
        [
            format!("cudnnCreate n{}", n(0)),
            format!("cudnnSetStream n{} {stream}", n(0)),
            format!("cudnnCreateTensorDescriptor n{}", n(1)),
            format!("cudnnCreateTensorDescriptor n{}", n(2)),
            format!("cudnnCreateFilterDescriptor n{}", n(3)),
            format!("cudnnCreateConvolutionDescriptor n{}", n(4)),
            format!("cudnnCreateActivationDescriptor n{}", n(5)),
        ]
    };
    let described = |first: u32, images: u32, padding: u32, dilation: u32| {
        let [x, y, w, of] = [1, 2, 3, 4].map(|i| first + i);
        [
            format!("cudnnSetTensor4dDescriptor n{x} format=0 type=0 {images}x1x4x4"),
            format!("cudnnSetTensor4dDescriptor n{y} format=0 type=0 {images}x2x2x2"),
            format!("cudnnSetFilter4dDescriptor n{w} format=0 type=0 2x1x3x3"),
            format!(
                "cudnnSetConvolution2dDescriptor n{of} padding={padding},{padding} stride=1,1 dilation={dilation},{dilation} mode=1 type=0"
            ),
            format!("cudnnSetConvolutionGroupCount n{of} 1"),
            // TF32 is not used.
            format!("cudnnSetConvolutionMathType n{of} 3"),
        ]
    };
    let rest = |first: u32, images: u32, y: &str| {
        let [b, of, activation] = [1, 2, 5].map(|i| first + i);
        [
            format!("cudnnSetTensor4dDescriptor n{b} format=0 type=0 1x2x1x1"),
            format!("cudnnSetTensor4dDescriptor n{of} format=0 type=0 {images}x2x4x1"),
            format!("cudnnAddTensor n{first} alpha=1 d4 beta=1 {y}"),
            format!("cudnnSetTensor4dDescriptor n{of} format=0 type=0 1x1x1x{}", 8 * images),
            // NaN is passed on.
            format!("cudnnSetActivationDescriptor n{activation} mode=4 nan=1 0.5"),
            format!("cudnnActivationForward n{first} alpha=1 {y} beta=0 {y}"),
            format!("cudnnSetTensor4dDescriptor n{of} format=0 type=0 {images}x2x4x1"),
            format!("cudnnSoftmaxForward n{first} algorithm=1 mode=1 alpha=1 {y} beta=0 {y}"),
        ]
    };
    let destroyed = |first: u32| {
        let kinds = [
            "ActivationDescriptor",
            "ConvolutionDescriptor",
            "FilterDescriptor",
            "TensorDescriptor",
            "TensorDescriptor",
            "",
        ];
        kinds
            .into_iter()
            .zip((first..first + 6).rev())
            .map(|(kind, n)| format!("cudnnDestroy{kind} n{n}"))
            .collect::<Vec<_>>()
    };
    let size = |first: u32, algorithm: u32| {
        format!("cudnnGetConvolutionForwardWorkspaceSize n{first} algorithm={algorithm}")
    };
    let line = str::to_owned;
    // y, x, w and b are d1 to d4; the stub's workspaces have 4 KiB for each image.
    let mut expected = Vec::new();
    expected.extend(made("s2", 1));
    expected.extend(described(1, 3, 0, 1));
    expected.push(size(1, 1));
    expected.push(line("cuMemAlloc d5 12288"));
    expected.push(line("cudnnConvolutionForward n1 alpha=1 d2 d3 algorithm=1 workspace=d5,12288 beta=0 d1"));
    expected.extend(rest(1, 3, "d1"));
    expected.extend(made("s2", 7));
    expected.extend(described(7, 1, 0, 1));
    expected.push(size(7, 1));
    expected.push(line("cuMemAlloc d6 4096"));
    expected.push(line(
        "cudnnConvolutionForward n7 alpha=1 d2+256 d3 algorithm=1 workspace=d6,4096 beta=0 d1+256",
    ));
    expected.extend(rest(7, 1, "d1+256"));
    // This is the second run: the stub has only the plain algorithm for a dilated filter.
    expected.extend(described(1, 1, 1, 2));
    expected.push(size(1, 1) + " -> 3000");
    expected.push(size(1, 0));
    expected.push(line("cudnnConvolutionForward n1 alpha=1 d2 d3 algorithm=0 workspace=d5,0 beta=0 d1"));
    expected.extend(rest(1, 1, "d1"));
    // This is the third: the first slot knows all. The second needs more memory, and keeps the old, which
    // work may still use.
    expected.extend(described(1, 3, 0, 1));
    expected.push(line("cudnnConvolutionForward n1 alpha=1 d2 d3 algorithm=1 workspace=d5,12288 beta=0 d1"));
    expected.extend(rest(1, 3, "d1"));
    expected.extend(described(7, 3, 0, 1));
    expected.push(size(7, 1));
    expected.push(line("cuMemAlloc d7 12288"));
    expected.push(line(
        "cudnnConvolutionForward n7 alpha=1 d2+256 d3 algorithm=1 workspace=d7,12288 beta=0 d1+256",
    ));
    expected.extend(rest(7, 3, "d1+256"));
    expected.extend(destroyed(1));
    expected.push(line("cuMemFree d5"));
    expected.extend(destroyed(7));
    expected.extend([line("cuMemFree d6"), line("cuMemFree d7")]);
    let record_of_run = record.lines().skip_while(|line| !line.starts_with("cudnn"));
    let record_of_run = record_of_run.take_while(|line| !line.starts_with("cuStreamDestroy"));
    let called: Vec<_> = record_of_run
        .filter(|line| ["cudnn", "cuMemAlloc", "cuMemFree d"].iter().any(|of| line.starts_with(of)))
        .collect();
    assert_eq!(called, expected, "{record}");
}

#[test]
fn a_call_that_fails_says_which_and_leaves_nothing_behind() {
    let faults =
        [("THALWEG_FAIL", "cudnnConvolutionForward:3000:1,cufftMakePlanMany64:2:1,curandSetStream:101:1")];
    let test = "a_call_that_fails_says_which_and_leaves_nothing_behind";
    let record = STUBS.record(test, &faults, |device| {
        let mut net = Net::new(device).expect("the pipeline");
        let (x, w, b, mut y) = (vec![1.0; 4 * 16], vec![1.0; 18], vec![1.0; 2], vec![0.0; 4 * 8]);
        let error = net.run(1, &x, &w, &b, &mut y).expect_err("the convolution fails");
        let text = "`cudnnConvolutionForward` of cuDNN failed: CUDNN_STATUS_NOT_SUPPORTED (3000)\n  in pipeline `Net`, stage `layers`, operation `call cudnn::convolution`, chunk 0\n";
        assert!(error.to_string().starts_with(text), "{error}");
        net.run(1, &x, &w, &b, &mut y).expect("once only");

        let mut filtered = Filtered::new(device).expect("the pipeline");
        let (x, mut y, mut z) = (vec![1.0; 8], vec![0.0; 8], vec![0.0; 8]);
        let error = filtered.run(Fft::r2c(8), &x, &mut y, &mut z).expect_err("the plan fails");
        let text = "`cufftMakePlanMany64` of cuFFT failed: CUFFT_ALLOC_FAILED (2)\n";
        assert!(error.to_string().starts_with(text), "{error}");
        filtered.run(Fft::r2c(8), &x, &mut y, &mut z).expect("once only");

        let mut random = Random::new(device).expect("the pipeline");
        let error = random.run(0, &mut [0; 9], &mut [0.0; 9], &mut [0.0; 9]).expect_err("the generator fails");
        assert!(matches!(Refused::of(&error), Some(Refused::Library { function: "curandSetStream", code: 101, .. })), "{error}");
        random.run(0, &mut [0; 9], &mut [0.0; 9], &mut [0.0; 9]).expect("once only");
    });
    let Some(record) = record else { return };
    for (made, destroyed) in [
        ("cudnnCreate", "cudnnDestroy"),
        ("cufftCreate", "cufftDestroy"),
        ("curandCreate", "curandDestroy"),
        ("cuMemAlloc ", "cuMemFree d"),
    ] {
        let [made, destroyed] = [made, destroyed].map(|prefix| of(&record, &[prefix]).len());
        assert_eq!(made, destroyed, "{record}");
    }
}
