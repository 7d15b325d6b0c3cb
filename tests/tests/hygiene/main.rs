//! Generated code and the user's names do not interfere: everything here compiles without a warning, runs on
//! the simulated device and gives the right numbers.

#![deny(warnings)]

// The runtime has another name here, and another crate has its name: generated code that says `::thalweg` is
// an error.
#[allow(unused_extern_crates, reason = "that nothing uses it is the point")]
extern crate core as thalweg;
extern crate thalweg as renamed;

use renamed::Device;
use renamed::sim::Simulation;

mod traits;

/// Kernels that multiply by `a`.
mod kernels {
    use renamed::kernel::Thread;

    #[renamed::kernels("../../ui/names.cu", crate = ::renamed)]
    unsafe extern "CUDA" {
        #[host(on_host)]
        #[requires(n as usize <= y.len())]
        pub(crate) safe fn scale(n: u32, a: f32, y: &mut [f32]);
        #[host(on_host)]
        pub(crate) safe fn pipeline(n: u32, a: f32, y: &mut [f32]);
        #[host(on_host)]
        pub(crate) safe fn run(n: u32, a: f32, y: &mut [f32]);
        #[host(on_host)]
        pub(crate) safe fn call(n: u32, a: f32, y: &mut [f32]);
    }

    fn on_host(t: Thread, n: u32, a: f32, y: &mut [f32]) {
        if t.global_x() < n as usize {
            y[t.global_x()] *= a;
        }
    }
}

fn device() -> Device {
    Device::simulated(Simulation::default())
}

/// Enough for several chunks of 7.
const ITEMS: usize = 50;

fn numbers() -> Vec<f32> {
    (0..ITEMS as u16).map(f32::from).collect()
}

fn times(a: f32) -> Vec<f32> {
    numbers().into_iter().map(|y| a * y).collect()
}

/// There is no prelude: not even `Some`, `Ok` and `Into` exist.
mod no_prelude {
    #![no_implicit_prelude]

    use ::renamed::kernel::blocks;

    use self::declared::scale;

    ::renamed::stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Scale {
            param a: f32;
            inout y: [f32];
            chunk c = 7;
            depth = 2;
            stream up: high;
            stream s per slot;
            stage load on up { copy y -> dy; }
            stage scale on s { scale<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &mut dy); }
            stage store on up { copy dy -> y; }
        }
    }

    mod declared {
        use ::renamed::kernel::Thread;

        #[::renamed::kernels("../../ui/names.cu", crate = ::renamed)]
        unsafe extern "CUDA" {
            #[host(on_host)]
            #[requires(n as usize <= y.len())]
            pub(crate) safe fn scale(n: u32, a: f32, y: &mut [f32]);
        }

        fn on_host(t: Thread, n: u32, a: f32, y: &mut [f32]) {
            if t.global_x() < n as usize {
                y[t.global_x()] *= a;
            }
        }
    }
}

#[test]
fn no_implicit_prelude() {
    let mut y = numbers();
    no_prelude::Scale::new(&device()).unwrap().run(2.0, &mut y).unwrap();
    assert_eq!(y, times(2.0));
}

/// The same for operations other than copies and launches, for blocks, and for a pipeline with parameters of
/// its own.
mod no_prelude_in_the_language {
    #![no_implicit_prelude]

    use ::renamed::kernel::DeviceSliceMut;
    use ::renamed::routine::Enqueue;
    use ::renamed::{Pod, Result};

    ::renamed::stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Scale<T: Pod, const TURNS: u32> {
            param by: f32;
            param told: ::std::sync::mpsc::Sender<usize>;
            param again: bool;
            inout y: [f32];
            input x: [f32] halo 2 = wrap;
            output ends: [f32; 2] per chunk;
            output seen: mapped [f32] per chunk;
            output z: [T];
            device t: [f32; 2] per chunk;
            device dz: [T];
            host h: [f32];
            chunk c = 7;
            mode = graph;
            stage load { copy y -> dy; copy x -> dx; copy dx -> _dx; fill t = 1.0; fill dz = T::zeroed(); }
            stage scale {
                if again { repeat TURNS { call double(&mut dy); } } else { call double(&mut dy); }
                if again && c.len > 1 { call double(&mut dy); } else if again { call double(&mut dy); }
            }
            stage cpu { copy dy -> h; host super::scale_on_host(by, &mut h); host count(&h, c.index, out seen); copy h -> hy; }
            stage store { copy hy -> y; copy t -> ends; copy dz -> z; then |c| told.send(c.index); }
        }
    }

    fn double(queue: &Enqueue<'_>, y: DeviceSliceMut<'_, f32>) -> Result<()> {
        queue.simulate((y,), |(y,)| {
            for y in y {
                *y *= 2.0;
            }
        })
    }

    fn count(h: &[f32], index: usize, seen: &mut [f32]) {
        seen[0] = (h.len() + index) as f32;
    }
}

fn scale_on_host(by: f32, y: &mut [f32]) {
    y.iter_mut().for_each(|y| *y *= by);
}

#[test]
fn no_implicit_prelude_in_the_language() {
    let device = device();
    let mut pipeline = no_prelude_in_the_language::Scale::<u8, 2>::new(&device).unwrap();
    for (again, factor) in [(true, 24.0), (false, 6.0)] {
        let (mut y, mut ends, mut z) = (numbers(), [0.0; 16], vec![7; ITEMS]);
        let mut seen = renamed::PinnedBuf::zeroed(&device, 8).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        pipeline.run(3.0, sender, again, &mut y, &numbers(), &mut ends, &mut seen, &mut z).unwrap();
        assert_eq!((y, ends, z), (times(factor), [1.0; 16], vec![0; ITEMS]));
        assert_eq!(seen[..], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 8.0]);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    }
}

/// The lints that a strict crate denies. Missing documentation is the user's: the pipeline has its own.
#[deny(warnings, unsafe_code, unused, missing_docs, unreachable_pub, nonstandard_style, rust_2018_idioms)]
#[deny(unused_qualifications, unused_lifetimes, single_use_lifetimes, missing_debug_implementations)]
#[deny(let_underscore_drop, trivial_casts, trivial_numeric_casts, unused_results, elided_lifetimes_in_paths)]
#[deny(explicit_outlives_requirements, missing_copy_implementations, unit_bindings, variant_size_differences)]
mod strict {
    use renamed::kernel::blocks;
    use renamed::stream_pipeline;

    use super::kernels::scale;

    stream_pipeline! {
        #![crate = ::renamed]
        /// Multiplies.
        pub(crate) pipeline Scale {
            param a: f32;
            inout y: [f32];
            chunk c = 7;
            stage load { copy y -> dy; }
            stage scale { scale<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &mut dy); }
            stage store { copy dy -> y; }
        }
    }
}

/// The same for the forms other than copies and launches.
#[deny(warnings, unsafe_code, unused, missing_docs, unreachable_pub, nonstandard_style, rust_2018_idioms)]
#[deny(unused_qualifications, unused_lifetimes, single_use_lifetimes, missing_debug_implementations)]
#[deny(let_underscore_drop, trivial_casts, trivial_numeric_casts, unused_results, elided_lifetimes_in_paths)]
#[deny(explicit_outlives_requirements, missing_copy_implementations, unit_bindings, variant_size_differences)]
mod strict_language {
    use renamed::kernel::blocks;
    use renamed::{Pod, stream_pipeline};

    use super::kernels::scale;
    use super::scale_on_host;

    stream_pipeline! {
        #![crate = ::renamed]
        /// Multiplies, some chunks twice, and reports each.
        pub(crate) pipeline Scale<T: Pod> {
            param a: f32;
            param told: std::sync::mpsc::Sender<usize>;
            inout y: [f32];
            output z: [T];
            device dz: [T];
            host h: [f32];
            chunk c = 7;
            sync = manual;
            stream s;
            stream tell;
            stage all on s {
                copy y -> dy;
                if c.index == 0 || a > 2.0 {
                    repeat 2 { scale<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &mut dy); }
                } else { fill dz = T::zeroed(); }
                copy dy -> h;
                host scale_on_host(a, &mut h);
                copy h -> hy;
                copy hy -> y;
                fill dz = T::zeroed();
                copy dz -> z;
                record stored;
            }
            // No operation is before it on its stream, but it waits.
            stage tell on tell { wait stored; then |c| told.send(c.index); }
        }
    }
}

#[test]
fn denied_lints_in_the_language() {
    let (mut y, mut z) = (numbers(), vec![7_u16; ITEMS]);
    let (sender, receiver) = std::sync::mpsc::channel();
    strict_language::Scale::new(&device()).unwrap().run(3.0, sender, &mut y, &mut z).unwrap();
    assert_eq!((y, z), (times(27.0), vec![0; ITEMS]));
    assert_eq!(receiver.iter().sum::<usize>(), 28);
}

#[test]
fn denied_lints() {
    let mut y = numbers();
    strict::Scale::new(&device()).unwrap().run(2.0, &mut y).unwrap();
    assert_eq!(y, times(2.0));
}

/// The user's own items under every name that generated code could take for granted.
#[allow(dead_code, non_camel_case_types, reason = "they are in the way, and do nothing else")]
mod shadowed {
    use super::kernels::scale;

    pub(super) struct Result;
    pub(super) struct Option;
    pub(super) struct Box;
    pub(super) struct Vec;
    pub(super) struct String;
    pub(super) struct Pipeline;
    pub(super) struct Device;
    pub(super) struct Plan;
    pub(super) trait Sized {}
    pub(super) trait Debug {}
    pub(super) trait Kernel {}
    pub(super) trait Build {}
    pub(super) fn drop() {}
    #[allow(non_snake_case, reason = "in the way")]
    pub(super) fn Ok() {}
    #[allow(non_snake_case, reason = "in the way")]
    pub(super) fn Err() {}
    #[allow(non_snake_case, reason = "in the way")]
    pub(super) fn Some() {}
    pub(super) mod core {}
    pub(super) mod std {}
    pub(super) mod thalweg {}
    pub(super) mod renamed {}
    #[allow(unused_macros, reason = "in the way")]
    macro_rules! file {
        () => {
            compile_error!("the user's `file!`")
        };
    }
    #[allow(unused_macros, reason = "in the way")]
    macro_rules! unreachable {
        () => {
            compile_error!("the user's `unreachable!`")
        };
    }

    ::renamed::stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Scale {
            param a: f32;
            inout y: [f32];
            chunk c = 7;
            stage load { copy y -> dy; }
            stage scale { scale<<<::renamed::kernel::blocks(c.len, 32), 32>>>(c.len as u32, a, &mut dy); }
            stage store { copy dy -> y; }
        }
    }
}

#[test]
fn shadowed_names() {
    let mut y = numbers();
    shadowed::Scale::new(&device()).unwrap().run(2.0, &mut y).unwrap();
    assert_eq!(y, times(2.0));
}

/// Parameters with the names of generated locals.
mod parameters {
    use renamed::kernel::blocks;
    use renamed::stream_pipeline;

    use super::kernels::scale;

    stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Scale {
            param run: f32;
            param call: f32;
            param pipeline: f32;
            param c: f32;
            param slot: f32;
            param scale: f32;
            param up: f32;
            param load_done: f32;
            param launch_scale: f32;
            param dy: usize;
            inout y: [f32];
            chunk part = 7;
            stream up;
            stage load on up { copy y -> dz; }
            stage scale {
                scale<<<blocks(part.len, 32), 32>>>(
                    part.len as u32,
                    run * call * pipeline * c * slot * scale * up * load_done * launch_scale * dy as f32,
                    &mut dz
                );
            }
            stage store on up { copy dz -> y; }
        }
    }
}

#[test]
fn parameters_called_as_locals() {
    let mut y = numbers();
    let mut pipeline = parameters::Scale::new(&device()).unwrap();
    pipeline.run(2.0, 1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2, &mut y).unwrap();
    assert_eq!(y, times(12.0));
}

/// Data, buffers and streams with the names of generated locals, and with each other's names.
mod data {
    use renamed::kernel::blocks;
    use renamed::stream_pipeline;

    use super::kernels::scale;

    stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Scale {
            inout call: [f32];
            inout run: [f32];
            inout c: [f32];
            inout pipeline: [f32];
            stream call;
            stream run per slot;
            stream scale: high;
            stage load on call {
                copy call -> scale;
                copy run -> load_done;
                copy c -> copy_c;
                copy pipeline -> launch_scale;
            }
            stage multiply on run {
                scale<<<blocks(64, 32), 32>>>(7, 2.0, &mut scale);
                scale<<<blocks(64, 32), 32>>>(7, 3.0, &mut load_done);
                scale<<<blocks(64, 32), 32, 0, scale>>>(7, 4.0, &mut copy_c);
                scale<<<blocks(64, 32), 32>>>(7, 5.0, &mut launch_scale);
            }
            stage store on scale {
                copy scale -> call;
                copy load_done -> run;
                copy copy_c -> c;
                copy launch_scale -> pipeline;
            }
        }
    }
}

#[test]
fn data_called_as_locals() {
    // All chunks have 7 items.
    let start = &numbers()[..49];
    let [mut a, mut b, mut c, mut d] = [(); 4].map(|()| start.to_vec());
    let mut pipeline = data::Scale::options(&device()).chunk(7).build().unwrap();
    pipeline.run(&mut a, &mut b, &mut c, &mut d).unwrap();
    assert_eq!([&a[..], &b, &c, &d], [2.0, 3.0, 4.0, 5.0].map(|by| times(by)[..49].to_vec()));
}

/// All names are those that are generated for functions and blocks.
mod blocks_and_functions {
    use std::sync::mpsc::Sender;

    use renamed::kernel::DeviceSliceMut;
    use renamed::routine::Enqueue;
    use renamed::{Result, stream_pipeline};

    fn host(value: f32, factor: f32, value_0: &mut [f32]) {
        value_0.iter_mut().for_each(|y| *y *= value * factor);
    }

    fn then(queue: &Enqueue<'_>, factor: f32, y: DeviceSliceMut<'_, f32>) -> Result<()> {
        queue.simulate((y,), move |(y,)| y.iter_mut().for_each(|y| *y *= factor))
    }

    stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Scale {
            param if_refine: f32;
            param refine: bool;
            param taken: bool;
            param host_then: f32;
            param value_1: Sender<usize>;
            inout call: [f32];
            inout otherwise: [f32];
            inout value: [f32];
            host value_0: [f32];
            host then: [f32];
            chunk repeat = 7;
            stream taken;
            stream host;
            stage call on taken { copy call -> if_refine_2; copy otherwise -> run; copy value -> copy_then; }
            stage then on taken {
                if refine {
                    if taken || refine { call then(2.0, &mut run); }
                    repeat 2 { if taken { call then(host_then, &mut run); } else { call then(3.0, &mut run); } }
                } else { call then(if_refine, &mut copy_then); }
                call then(if_refine, &mut if_refine_2);
            }
            stage host on host {
                copy if_refine_2 -> value_0;
                host host(host_then, if_refine, &mut value_0);
                copy copy_then -> then;
                host host(1.0, host_then, &mut then);
            }
            stage store on host {
                copy value_0 -> host_host;
                copy host_host -> call;
                copy run -> otherwise;
                copy then -> call_then;
                copy call_then -> value;
                then |repeat| value_1.send(repeat.len);
                then move |then| { let _unused = then.index; };
            }
        }
    }
}

#[test]
fn blocks_and_functions_called_as_locals() {
    let mut pipeline = blocks_and_functions::Scale::new(&device()).unwrap();
    for (refine, taken, second, third) in
        [(true, true, 50.0, 5.0), (true, false, 18.0, 5.0), (false, true, 1.0, 10.0)]
    {
        let (mut a, mut b, mut c) = (numbers(), numbers(), numbers());
        let (sender, receiver) = std::sync::mpsc::channel();
        pipeline.run(2.0, refine, taken, 5.0, sender, &mut a, &mut b, &mut c).unwrap();
        assert_eq!([a, b, c], [20.0, second, third].map(times), "{refine} {taken}");
        assert_eq!(receiver.iter().sum::<usize>(), ITEMS);
    }
}

/// Kernels with the names of generated fields and locals; two of them share a name.
#[allow(unused_qualifications, reason = "a second path to a kernel")]
mod called_as_fields {
    use renamed::kernel::blocks;
    use renamed::stream_pipeline;

    use super::kernels::{self, call, pipeline, run};

    stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Scale {
            inout y: [f32];
            chunk c = 7;
            stage load { copy y -> dy; }
            stage call {
                pipeline<<<blocks(c.len, 32), 32>>>(c.len as u32, 2.0, &mut dy);
                run<<<blocks(c.len, 32), 32>>>(c.len as u32, 3.0, &mut dy);
                call<<<blocks(c.len, 32), 32>>>(c.len as u32, 5.0, &mut dy);
                kernels::call<<<blocks(c.len, 32), 32>>>(c.len as u32, 7.0, &mut dy);
            }
            stage store { copy dy -> y; }
        }
    }
}

#[test]
fn kernels_called_as_fields() {
    let mut y = numbers();
    called_as_fields::Scale::new(&device()).unwrap().run(&mut y).unwrap();
    assert_eq!(y, times(210.0));
}

/// Keywords as names, and what remains of them without their `r#`.
mod raw {
    use renamed::kernel::blocks;
    use renamed::stream_pipeline;

    use super::kernels::scale as r#match;

    stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline r#Self_ {
            param r#loop: f32;
            inout r#fn: [f32];
            inout fn_: [f32];
            chunk r#in = 7;
            stream r#static;
            stage r#static on r#static { copy r#fn -> r#type; copy fn_ -> type_; }
            stage r#if {
                r#match<<<blocks(r#in.len, 32), 32>>>(r#in.len as u32, r#loop, &mut r#type);
                r#match<<<blocks(r#in.len, 32), 32>>>(r#in.len as u32, 3.0, &mut type_);
            }
            stage r#else on r#static { copy r#type -> r#fn; copy type_ -> fn_; }
        }
    }
}

#[test]
fn raw_names() {
    let (mut y, mut z) = (numbers(), numbers());
    raw::Self_::new(&device()).unwrap().run(2.0, &mut y, &mut z).unwrap();
    assert_eq!((y, z), (times(2.0), times(3.0)));
}

/// Launches whose parts a `macro_rules` passes on, one fragment of each kind.
mod fragments {
    use renamed::kernel::blocks;
    use renamed::stream_pipeline;

    macro_rules! scale {
        ($vis:vis $name:ident, $kernel:path, $param:ident: $ty:ty, $chunk:ident, $items:literal, $grid:expr, $block:expr,
         $stream:ident, $argument:expr, $fourth:expr, $($rest:tt)*) => {
            stream_pipeline! {
                #![crate = ::renamed]
                $vis pipeline $name {
                    param $param: $ty;
                    inout y: [$ty];
                    chunk $chunk = $items;
                    depth = $items;
                    stream $stream;
                    stage load on $stream { copy y -> dy; }
                    stage multiply {
                        $kernel<<<$grid, $block, 0, $fourth>>>($chunk.len as u32, $argument, &mut dy);
                        $($rest)*
                    }
                    stage store on $stream { copy dy -> y; }
                }
            }
        };
    }

    scale!(
        pub(super) Scale, super::kernels::scale, a: f32, c, 7, blocks(7, 32), (32, 1, 1), s, a * 2.0, s,
        super::kernels::run<<<1 << 1, 64 >> 1>>>(c.len as u32, a, &mut dy);
    );

    /// A launch whose buffer comes from the user's macro too.
    macro_rules! all {
        ($buffer:expr, $count:expr) => {
            stream_pipeline! {
                #![crate = ::renamed]
                pub(super) pipeline All {
                    inout y: [f32];
                    stage all {
                        copy y -> dy;
                        super::kernels::scale<<<1, 64>>>($count, 2.0, $buffer);
                        copy dy -> y;
                    }
                }
            }
        };
    }

    all!(&mut dy, 50);
}

#[test]
fn launches_in_macro_rules() {
    let mut y = numbers();
    fragments::Scale::new(&device()).unwrap().run(3.0, &mut y).unwrap();
    assert_eq!(y, times(18.0));
    fragments::All::new(&device()).unwrap().run(&mut y).unwrap();
    assert_eq!(y, times(36.0));
}

#[test]
fn declared_in_a_function() {
    use kernels::scale;
    use renamed::kernel::blocks;
    use renamed::stream_pipeline;

    const FACTOR: f32 = 4.0;
    stream_pipeline! {
        #![crate = ::renamed]
        pipeline Scale {
            inout y: [f32];
            chunk c = 7;
            stage all {
                copy y -> dy;
                scale<<<blocks(c.len, 32), 32>>>({ let len = c.len; len as u32 }, FACTOR, &mut dy);
                copy dy -> y;
            }
        }
    }
    let mut y = numbers();
    Scale::new(&device()).unwrap().run(&mut y).unwrap();
    assert_eq!(y, times(4.0));
}

/// Every visibility, and several pipelines of one kernel in one module.
mod visible {
    pub(super) mod inner {
        use renamed::kernel::blocks;
        use renamed::stream_pipeline;

        use crate::kernels::scale;

        stream_pipeline! {
            #![crate = ::renamed]
            pipeline Private {
                inout y: [f32];
                chunk c = 7;
                stage all { copy y -> dy; scale<<<blocks(c.len, 32), 32>>>(c.len as u32, 2.0, &mut dy); copy dy -> y; }
            }
        }
        stream_pipeline! {
            #![crate = ::renamed]
            pub(crate) pipeline InCrate {
                inout y: [f32];
                chunk c = 7;
                stage all { copy y -> dy; scale<<<blocks(c.len, 32), 32>>>(c.len as u32, 3.0, &mut dy); copy dy -> y; }
            }
        }
        stream_pipeline! {
            #![crate = ::renamed]
            pub(in crate::visible) pipeline InModule {
                inout y: [f32];
                chunk c = 7;
                stage all { copy y -> dy; scale<<<blocks(c.len, 32), 32>>>(c.len as u32, 5.0, &mut dy); copy dy -> y; }
            }
        }

        pub(crate) fn private(y: &mut Vec<f32>) {
            Private::new(&crate::device()).unwrap().run(y).unwrap();
        }
    }

    pub(super) fn in_module(y: &mut Vec<f32>) {
        inner::InModule::new(&crate::device()).unwrap().run(y).unwrap();
    }
}

#[test]
fn visibilities() {
    let mut y = numbers();
    visible::inner::private(&mut y);
    visible::inner::InCrate::new(&device()).unwrap().run(&mut y).unwrap();
    visible::in_module(&mut y);
    assert_eq!(y, times(30.0));
}

/// A stub in place of a pipeline with errors has the same hygiene, apart from the error. Warnings have
/// theirs.
mod warned {
    #![no_implicit_prelude]
    #![allow(deprecated, reason = "the warning of an input that no stage reads")]

    ::renamed::stream_pipeline! {
        #![crate = ::renamed]
        pub(super) pipeline Copy {
            input x: [f32];
            inout y: [f32];
            stage all { copy y -> dy; copy dy -> y; }
        }
    }
}

#[test]
fn warnings_do_not_meet() {
    let mut y = numbers();
    warned::Copy::new(&device()).unwrap().run(&numbers(), &mut y).unwrap();
    assert_eq!(y, times(1.0));
}
