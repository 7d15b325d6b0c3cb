//! cuDNN from pipelines, compared with the definitions in `f64`.
//!
//! A sum of `n` products in any order is off by at most `n` roundings of the sum of their absolute values
//! (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).

use thalweg::prelude::*;
use thalweg::sim::Simulation;
use thalweg_libraries::Error as Refused;
use thalweg_libraries::cudnn::{self, Activation, Convolution, Softmax};

// ANCHOR: net
/// Eight filters of 5 x 5 over images of 28 x 28, two pixels apart.
const FEATURES: Convolution =
    Convolution::new([1, 1, 28, 28], [8, 1, 5, 5]).padding([2, 2]).stride([2, 2]).checked();
/// Ten classes of eight maps of 14 x 14: a filter as large as a map.
const CLASSES: Convolution = Convolution::new([1, 8, 14, 14], [10, 8, 14, 14]).checked();

stream_pipeline! {
    /// The probabilities of the ten digits, for each image.
    pub pipeline Digits {
        input image: [f32; 28 * 28];
        resident filters: [f32];
        resident filter_bias: [f32];
        resident weights: [f32];
        resident bias: [f32];
        output probabilities: [f32; 10];

        device maps: [f32; 8 * 14 * 14];
        device classes: [f32; 10];
        chunk c = auto;

        stream up;
        stream math;
        stream down;

        stage load on up { copy image -> di; }
        stage features on math {
            call cudnn::convolution(FEATURES.images(c.len), &di, &filters, out maps);
            call cudnn::bias(14 * 14, &filter_bias, &mut maps);
            call cudnn::activation(Activation::Relu, &mut maps);
        }
        stage classify on math {
            call cudnn::convolution(CLASSES.images(c.len), &maps, &weights, out classes);
            call cudnn::bias(1, &bias, &mut classes);
            call cudnn::softmax(Softmax::rows(c.len, 10), &mut classes);
        }
        stage store on down { copy classes -> probabilities; }
    }
}
// ANCHOR_END: net

/// Numbers from -1 to 1.
fn numbers(len: usize, by: usize) -> Vec<f32> {
    (0..len).map(|i| (i * by % 1009) as f32 / 504.5 - 1.0).collect()
}

/// The result of a convolution, and the sum of the absolute values of the products, which bounds its error.
fn convolved(of: &Sizes, x: &[f64], w: &[f32]) -> Vec<(f64, f64)> {
    let Sizes { input: [images, channels, height, width], filter: [filters, group, rows, columns], .. } = *of;
    let [out_height, out_width] = of.output();
    let mut y = Vec::new();
    for n in 0..images {
        for k in 0..filters {
            let first = k * of.groups / filters * group;
            for p in 0..out_height {
                for q in 0..out_width {
                    let (mut sum, mut all) = (0.0, 0.0);
                    for c in 0..group {
                        for r in 0..rows {
                            for s in 0..columns {
                                let i = (p * of.stride[0] + r * of.dilation[0]).wrapping_sub(of.padding[0]);
                                let j = (q * of.stride[1] + s * of.dilation[1]).wrapping_sub(of.padding[1]);
                                if i < height && j < width {
                                    let x = x[((n * channels + first + c) * height + i) * width + j];
                                    let product =
                                        x * f64::from(w[((k * group + c) * rows + r) * columns + s]);
                                    sum += product;
                                    all += product.abs();
                                }
                            }
                        }
                    }
                    y.push((sum, all));
                }
            }
        }
    }
    y
}

/// A convolution's sizes as plain numbers.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    input: [usize; 4],
    filter: [usize; 4],
    padding: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
}

impl Sizes {
    const fn new(input: [usize; 4], filter: [usize; 4]) -> Self {
        Self { input, filter, padding: [0; 2], stride: [1; 2], dilation: [1; 2], groups: 1 }
    }

    fn output(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            let reach = (self.filter[axis + 2] - 1) * self.dilation[axis];
            (self.input[axis + 2] + 2 * self.padding[axis] - reach - 1) / self.stride[axis] + 1
        })
    }

    fn convolution(&self) -> Convolution {
        let plain = Convolution::new(self.input, self.filter).padding(self.padding).stride(self.stride);
        plain.dilation(self.dilation).groups(self.groups)
    }
}

fn simulated() -> Device {
    Device::simulated(Simulation::default())
}

fn gpu() -> Device {
    Device::cuda(0).expect("a GPU")
}

fn classifies(device: &Device) {
    let (filters, filter_bias) = (numbers(8 * 25, 373), numbers(8, 211));
    let weights: Vec<f32> = numbers(10 * 8 * 196, 557).iter().map(|w| w / 16.0).collect();
    let bias = numbers(10, 97);
    for (images, chunk, depth, graph) in
        [(1, 1, 1, false), (11, 3, 3, false), (11, 4, 2, true), (5, 16, 2, false)]
    {
        let x = numbers(images * 784, 443);
        let mut y = vec![f32::NAN; images * 10];
        let options = Digits::options(device).chunk(chunk).depth(depth);
        let mut digits = if graph { options.graph().build() } else { options.build() }.expect("a pipeline");
        for _ in 0..2 {
            digits.run(&x, &filters, &filter_bias, &weights, &bias, &mut y).expect("a run");
        }
        let sizes =
            Sizes { padding: [2, 2], stride: [2, 2], ..Sizes::new([images, 1, 28, 28], [8, 1, 5, 5]) };
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let epsilon = f64::from(f32::EPSILON);
        let maps = convolved(&sizes, &wide, &filters);
        let maps = maps.iter().enumerate().map(|(i, (sum, all))| {
            let bias = f64::from(filter_bias[i / 196 % 8]);
            ((sum + bias).max(0.0), 27.0 * epsilon * (all + bias.abs()))
        });
        let (maps, errors): (Vec<f64>, Vec<f64>) = maps.unzip();
        let sizes = Sizes::new([images, 8, 14, 14], [10, 8, 14, 14]);
        let positive: Vec<f32> = weights.iter().map(|w| w.abs()).collect();
        let handed_on = convolved(&sizes, &errors, &positive);
        let classes = convolved(&sizes, &maps, &weights);
        for (image, y) in y.chunks(10).enumerate() {
            let at = |class: usize| classes[10 * image + class].0 + f64::from(bias[class]);
            let most = (0..10).map(at).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = (0..10).map(|class| (at(class) - most).exp()).sum();
            // The error of all of a row's exponents, twice: for the numerator and for the sum.
            let off = (0..10).map(|class| {
                let all = classes[10 * image + class].1 + f64::from(bias[class]).abs();
                handed_on[10 * image + class].0 + 1570.0 * epsilon * all
            });
            // A GPU's fast exponential function is off by 2 roundings, and 1.2 for each 1 (CUDA's guide); the
            // difference is off by half of one.
            let reach = most - (0..10).map(at).fold(f64::INFINITY, f64::min);
            let off = 2.0 * (off.fold(0.0, f64::max) + (16.0 + 2.0 * reach) * epsilon);
            for (class, y) in y.iter().enumerate() {
                let expected = (at(class) - most).exp() / sum;
                let bound = off.exp_m1() * expected + 1e-37;
                assert!((f64::from(*y) - expected).abs() <= bound, "{image} {class}: {y} {expected} {bound}");
            }
        }
    }
}

stream_pipeline! {
    pipeline Convolve {
        param of: Convolution;
        param from: usize;
        param to: usize;
        input x: [f32; from];
        resident w: [f32];
        output y: [f32; to];
        output relu: [f32; to];
        device dy: [f32; to];
        device dr: [f32; to];
        chunk c = 2;
        depth = 2;
        stream one;
        stream two;
        stage load { copy x -> dx; }
        stage plain on one { call cudnn::convolution(of.images(c.len), &dx, &w, out dy); }
        stage relu on two {
            call cudnn::convolution(of.images(c.len), &dx, &w, out dr);
            call cudnn::activation(Activation::Relu, &mut dr);
        }
        stage store { copy dy -> y; copy dr -> relu; }
    }
}

fn convolves(device: &Device) {
    let mut pipeline = Convolve::new(device).expect("a pipeline");
    let all = [
        Sizes::new([5, 3, 7, 9], [4, 3, 3, 2]),
        Sizes { padding: [1, 2], ..Sizes::new([5, 3, 7, 9], [4, 3, 3, 3]) },
        Sizes { padding: [1, 1], stride: [2, 3], ..Sizes::new([3, 2, 8, 5], [2, 2, 3, 3]) },
        Sizes { padding: [2, 0], dilation: [3, 2], ..Sizes::new([3, 2, 9, 9], [3, 2, 3, 2]) },
        Sizes { groups: 2, ..Sizes::new([5, 6, 5, 4], [4, 3, 2, 2]) },
        Sizes { groups: 4, padding: [1, 1], ..Sizes::new([2, 4, 5, 4], [8, 1, 3, 3]) },
        Sizes::new([3, 5, 1, 1], [2, 5, 1, 1]),
        Sizes { padding: [1, 1], ..Sizes::new([1, 1, 1, 1], [1, 1, 3, 3]) },
        Sizes { padding: [1, 1], ..Sizes::new([3, 64, 32, 32], [32, 64, 3, 3]) },
    ];
    // It runs twice, so that each slot meets known sizes again, with a larger workspace.
    for sizes in all.iter().chain(&all) {
        let [images, channels, height, width] = sizes.input;
        let from = channels * height * width;
        let [out_height, out_width] = sizes.output();
        let to = sizes.filter[0] * out_height * out_width;
        let (x, w) = (numbers(images * from, 373), numbers(sizes.filter.iter().product(), 557));
        let (mut y, mut relu) = (vec![f32::NAN; images * to], vec![f32::NAN; images * to]);
        pipeline
            .run(sizes.convolution(), from, to, &x, &w, &mut y, &mut relu)
            .unwrap_or_else(|e| panic!("{sizes:?}: {e}"));
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let terms: usize = sizes.filter[1..].iter().product();
        let expected = convolved(sizes, &wide, &w);
        assert_eq!(expected.len(), y.len());
        for (i, (expected, all)) in expected.into_iter().enumerate() {
            let bound = (terms + 1) as f64 * f64::from(f32::EPSILON) * all;
            let found = f64::from(y[i]);
            assert!((found - expected).abs() <= bound, "{sizes:?} {i}: {found} {expected} {bound}");
            let relu = f64::from(relu[i]);
            assert!((relu - expected.max(0.0)).abs() <= bound, "{sizes:?} {i}: {relu} {expected} {bound}");
        }
    }
}

stream_pipeline! {
    pipeline Layers {
        param activation: Activation;
        param log: bool;
        param classes: usize;
        param places: usize;
        input x: [f32; classes * places];
        output active: [f32; classes * places];
        output soft: [f32; classes * places];
        chunk c = 3;
        stream one;
        stream two;
        stage load { copy x -> da; copy x -> ds; }
        stage activate on one { call cudnn::activation(activation, &mut da); }
        stage soften on two { call cudnn::softmax(softmax(c.len, classes, places, log), &mut ds); }
        stage store { copy da -> active; copy ds -> soft; }
    }
}

fn softmax(images: usize, classes: usize, places: usize, log: bool) -> Softmax {
    let plain =
        if places == 1 { Softmax::rows(images, classes) } else { Softmax::channels(images, classes, places) };
    if log { plain.log() } else { plain }
}

/// The definition, in `f64`.
fn activated(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::ClippedRelu { ceiling } => x.clamp(0.0, ceiling.into()),
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => x.tanh(),
        Activation::Elu { alpha } if x < 0.0 => f64::from(alpha) * x.exp_m1(),
        Activation::Elu { .. } => x,
    }
}

fn layers(device: &Device) {
    let mut pipeline = Layers::new(device).expect("a pipeline");
    let activations = [
        Activation::Relu,
        Activation::ClippedRelu { ceiling: 3.5 },
        Activation::Sigmoid,
        Activation::Tanh,
        Activation::Elu { alpha: 0.75 },
    ];
    let shapes = [(10, 1), (1, 1), (7, 6), (1000, 1), (3, 129)];
    let epsilon = f64::from(f32::EPSILON);
    for (round, activation) in activations.iter().cycle().take(10).enumerate() {
        let (classes, places) = shapes[round % shapes.len()];
        let (log, images) = (round >= shapes.len(), 7);
        let mut x: Vec<f32> = numbers(images * classes * places, 373).iter().map(|x| 20.0 * x).collect();
        let nan = x.len() / 2;
        x[nan] = f32::NAN;
        let (mut active, mut soft) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        pipeline
            .run(*activation, log, classes, places, &x, &mut active, &mut soft)
            .unwrap_or_else(|error| panic!("{activation:?}: {error}"));
        for (i, (x, y)) in x.iter().zip(&active).enumerate() {
            let (x, y) = (f64::from(*x), f64::from(*y));
            if x.is_nan() {
                assert!(y.is_nan(), "{activation:?} of NaN is {y}");
                continue;
            }
            // The error is a few roundings of an exponential function, and of 1 where one is subtracted from
            // it.
            let expected = activated(*activation, x);
            assert!(
                (y - expected).abs() <= 16.0 * epsilon * expected.abs().max(1.0),
                "{activation:?} {i}: {x} {y} {expected}"
            );
        }
        for image in 0..images {
            for place in 0..places {
                let at = |class: usize| (image * classes + class) * places + place;
                let values: Vec<f64> = (0..classes).map(|class| f64::from(x[at(class)])).collect();
                if values.iter().any(|x| x.is_nan()) {
                    assert!((0..classes).all(|class| soft[at(class)].is_nan()), "NaN in a sum is lost");
                    continue;
                }
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = values.iter().map(|x| (x - most).exp()).sum();
                for (class, x) in values.iter().enumerate() {
                    let y = f64::from(soft[at(class)]);
                    // The difference is below 40: 20 roundings of the result, and 50 of a GPU's fast
                    // exponential function (CUDA's guide: 2 and 1.2 for each 1). Then come those of the sum.
                    let off = (96.0 + classes as f64) * epsilon;
                    let logarithm = x - most - sum.ln();
                    let (expected, bound) = match log {
                        true => (logarithm, off + 4.0 * epsilon * logarithm.abs()),
                        false => (logarithm.exp(), off * logarithm.exp() + 1e-37),
                    };
                    assert!((y - expected).abs() <= bound, "{class} of {classes}: {y} {expected} {bound}");
                }
            }
        }
    }
}

#[test]
fn a_net_classifies() {
    classifies(&simulated());
    for seed in 1..4 {
        classifies(&Device::simulated(Simulation::default().adversarial(seed)));
    }
}

#[test]
fn convolutions_of_every_kind() {
    convolves(&simulated());
}

#[test]
fn activations_and_probabilities() {
    layers(&simulated());
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_net_classifies_on_a_gpu() {
    classifies(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn convolutions_of_every_kind_on_a_gpu() {
    convolves(&gpu());
}

#[test]
#[ignore = "needs a CUDA device"]
fn activations_and_probabilities_on_a_gpu() {
    layers(&gpu());
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let mut pipeline = Convolve::new(&simulated()).expect("a pipeline");
    let of = Convolution::new([1, 2, 3, 3], [4, 1, 2, 2]);
    let (x, w, mut y, mut relu) = (vec![1.0; 18], vec![1.0; 16], vec![0.0; 16], vec![0.0; 16]);
    let error =
        pipeline.run(of, 18, 16, &x, &w, &mut y, &mut relu).expect_err("two channels, one in the filter");
    assert!(
        matches!(Refused::of(&error), Some(Refused::Dimension { routine: "convolution", value: 1, .. })),
        "{error}"
    );
    let text = "`convolution`: the number of channels of a filter is 1, but it must be the input's 2 channels\n  in pipeline `Convolve`, stage `plain`, operation `call cudnn::convolution`, chunk 0\n";
    assert!(error.to_string().starts_with(text), "{error}");
    let good = of.groups(2);
    let error = pipeline.run(good, 18, 16, &x, &w[..15], &mut y, &mut relu).expect_err("a weight is missing");
    assert!(
        matches!(Refused::of(&error), Some(Refused::Dimensions { argument: "w", needed: 16, len: 15, .. })),
        "{error}"
    );
    pipeline.run(good, 18, 16, &x, &w, &mut y, &mut relu).expect("two groups");
    assert_eq!(y, [4.0; 16]);
}
