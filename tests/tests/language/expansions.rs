//! The expansions of pipelines, formatted. `BLESS=1` writes the files in `expansions/` anew: read them before
//! you keep them.

use std::path::Path;

use thalweg_compiler::stream_pipeline;

/// Compares the expansion of a pipeline with `expansions/{name}.rs`.
fn check(name: &str, pipeline: &str) {
    let tokens = pipeline.parse().expect("the pipeline lexes");
    let file = syn::parse2(stream_pipeline(tokens)).expect("the expansion is Rust");
    let written = pipeline.trim_matches('\n').lines().map(|line| match line.strip_prefix("        ") {
        Some("") | None => "//\n".to_owned(),
        Some(line) => format!("// {line}\n"),
    });
    let text = format!("{}\n{}", written.collect::<String>(), prettyplease::unparse(&file));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("expansions").join(format!("{name}.rs"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("the expansion can be written");
        return;
    }
    let blessed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == blessed, "{name} expands to something else; `BLESS=1` writes it anew:\n{text}");
}

#[test]
fn three_streams() {
    check(
        "three-streams",
        "
        /// `y <- a*x + y`, chunk by chunk.
        pub pipeline Saxpy {
            param a: f32;
            input x: [f32];
            inout y: [f32];

            chunk c = auto;
            depth = 3;

            stream up: high;
            stream math;
            stream down: low;

            stage load on up { copy x -> dx; copy y -> dy; }
            stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
            stage store on down { copy dy -> y; }
        }",
    );
}

/// The expansion asks rustc about names that may be numbers' own, and has nothing for other names.
#[test]
fn numbers_own() {
    check(
        "numbers-own",
        "
        pipeline Fill {
            param refine: bool;
            output y: [f32];
            device d: [f32];
            chunk c = 100;
            mode = graph;
            stage all {
                fill d = f32::from(refine) + f32::EPSILON + (2.0 * (c.len as f32)).sqrt();
                scale<<<blocks(c.len, 256).min(132), 256>>>(c.len.div_ceil(4), &mut d);
                copy d -> y;
            }
        }",
    );
    check(
        "not-numbers-own",
        "
        pipeline Fill {
            output y: [f32];
            device d: [f32];
            chunk c = 100;
            mode = graph;
            stage all { fill d = (2.0).sqrt(); copy d -> y; }
        }",
    );
}

#[test]
fn events_by_hand() {
    check(
        "events-by-hand",
        "
        pipeline Saxpy {
            param a: f32;
            input x: [f32];
            inout y: [f32];
            chunk c = auto;
            sync = manual;
            stream up;
            stream math;
            stage load on up { wait stored @ previous; copy x -> dx; copy y -> dy; record loaded; }
            stage axpy on math {
                wait loaded;
                saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy);
                copy dy -> y;
                record stored;
            }
        }",
    );
}

#[test]
fn one_stream() {
    check(
        "one-stream",
        "
        pipeline Saxpy {
            param a: f32;
            input x: [f32];
            inout y: [f32];
            chunk c = 1 << 20;
            stream s;
            stage load on s { copy x -> dx; copy y -> dy; }
            stage axpy on s { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
            stage store on s { copy dy -> y; }
        }",
    );
}

/// The tutorials' pattern: each chunk on a stream of its own.
#[test]
fn a_stream_per_slot() {
    check(
        "stream-per-slot",
        "
        pipeline Saxpy {
            param a: f32;
            input x: [f32];
            inout y: [f32];
            chunk c = auto;
            depth = 4;
            stream s per slot;
            stage load on s { copy x -> dx; copy y -> dy; }
            stage axpy on s { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
            stage store on s { copy dy -> y; }
        }",
    );
}

#[test]
fn shapes_with_parameters() {
    check(
        "shapes-with-parameters",
        "
        pub(crate) pipeline Normalise {
            param channels: usize;
            input pixels: [u8; channels];
            output tensor: [f32; channels * 2];
            device scratch: [f32; channels];
            chunk images = 64 / channels;
            stage load { copy pixels -> d_pixels; }
            stage widen { to_f32<<<blocks(images.len * channels, 256), 256>>>(&d_pixels, out scratch); }
            stage both { twice<<<images.len, channels>>>(&scratch, out d_tensor2); copy d_tensor2 -> tensor; }
            device d_tensor2: [f32; channels * 2];
        }",
    );
}

#[test]
fn launch_with_all_four_values() {
    check(
        "launch-with-all-four-values",
        "
        pipeline Transpose {
            inout m: [f32; 1024];
            chunk c = 16;
            stream copies;
            stream math: priority(-3);
            stage all on copies {
                copy m -> d_in;
                kernels::transpose::<32><<<(32, 32, c.len), (32, 8), 32 * 33 * 4, math>>>(&d_in, out d_out);
                copy d_out -> m;
            }
            device d_out: [f32; 1024];
        }",
    );
}

#[test]
fn streams_left_out() {
    check(
        "streams-left-out",
        "
        pipeline Gray {
            input rgb: [u8; 3];
            output gray: [u8];
            device d_gray: [u8];
            chunk c = auto;
            stage load { copy rgb -> d_rgb; }
            stage convert { grayscale<<<blocks(c.len, 256), 256>>>(c.len as u32, &d_rgb, out d_gray); }
            stage store { copy d_gray -> gray; }
        }",
    );
}

#[test]
fn copy_on_the_device() {
    check(
        "copy-on-the-device",
        "
        pipeline Keep {
            input x: [f32];
            output first: [f32];
            output second: [f32];
            chunk c = auto;
            stage load { copy x -> dx; }
            stage keep { copy dx -> kept; scale<<<blocks(c.len, 256), 256>>>(2.0, &mut dx); }
            stage store { copy kept -> first; copy dx -> second; }
        }",
    );
}

#[test]
fn conditions_and_loops() {
    check(
        "conditions-and-loops",
        "
        pipeline Refine {
            param turns: u32;
            param refine: bool;
            input x: [f32];
            output y: [f32];
            device t: [f32];
            chunk c = 1 << 20;
            stream up;
            stream math;
            stream down;
            stage load on up { copy x -> dx; }
            stage work on math {
                if refine || c.index == 0 {
                    copy dx -> t;
                    if c.len > 1 { fill dx = 0.0; }
                    repeat turns {
                        twice<<<blocks(c.len, 256), 256>>>(c.len as u32, &mut t);
                        if turns > 8 { halve<<<blocks(c.len, 256), 256>>>(c.len as u32, &mut t); }
                        else { add<<<blocks(c.len, 256), 256>>>(c.len as u32, &dx, &mut t); }
                    }
                } else {
                    fill t = 7.0;
                }
            }
            stage store on down { copy t -> y; }
        }",
    );
}

#[test]
fn functions_on_the_host() {
    check(
        "functions-on-the-host",
        "
        pipeline Through {
            param factor: f32;
            param told: Sender<usize>;
            input x: [f32];
            output y: [f32];
            host h: [f32];
            chunk c = auto;
            stage load { copy x -> dx; }
            stage fft { call fft::forward(c.len, &mut dx); copy dx -> h; }
            stage cpu { host window(c.start, 2.0 * factor, &mut h); }
            stage store { copy h -> dy; copy dy -> y; then |c| told.send(c.index); }
        }",
    );
}

#[test]
fn halos_and_results_by_chunk() {
    check(
        "halos-and-results-by-chunk",
        "
        pipeline Blur {
            param radius: usize;
            input x: [f32] halo radius = clamp;
            output y: mapped [f32];
            output s: [f32; 2] per chunk;
            device sums: [f32; 2] per chunk;
            chunk c = 4096;
            stage load { copy x -> dx; }
            stage blur { blur<<<blocks(c.len, 256), 256>>>(c.len as u32, radius as u32, &dx, out y); }
            stage sum { sum<<<1, 256>>>(c.len as u32, &y, out sums); }
            stage store { copy sums -> s; }
        }",
    );
}

#[test]
fn generic_and_in_graphs() {
    check(
        "generic-and-in-graphs",
        "
        pub pipeline Scale<T: Pod, const K: usize>
        where
            T: Into<f64>,
        {
            param by: f64;
            inout y: [T; K];
            chunk c = auto;
            depth = 4;
            mode = graph;
            stage load { copy y -> dy; }
            stage scale { scale::<T><<<blocks(K * c.len, 256), 256>>>((K * c.len) as u32, by, &mut dy); }
            stage store { copy dy -> y; }
        }",
    );
}

/// Every expansion in the folder belongs to a test.
#[test]
fn none_is_stale() {
    let tests = include_str!("expansions.rs");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("expansions");
    for entry in std::fs::read_dir(folder).expect("the expansions can be listed") {
        let name =
            entry.expect("the expansions can be listed").file_name().into_string().expect("a plain name");
        let stem = name.strip_suffix(".rs").unwrap_or(&name);
        assert!(tests.contains(&format!("\"{stem}\",")), "{name} belongs to no test");
    }
}

/// Every collective, on two streams; a rank without items of a chunk takes part in them alone.
#[test]
fn collectives() {
    check(
        "collectives",
        "
        pipeline Train {
            uniform param share: bool;
            param rate: f32;
            input x: [f32; 4];
            output y: [f32; world.size];
            carry w: [f32; 256];
            device g: [f32; 256] per chunk;
            device edges: [f32; 4];
            chunk c = 1000;
            stream math;
            stream comm;
            stage load { copy x -> dx; }
            stage start on comm { if c.index == 0 { broadcast w from 0; } }
            stage back on math { grad<<<blocks(c.len, 256), 256>>>(&dx, &w, out g, out edges); }
            stage share on comm {
                all_reduce mean g;
                if share {
                    reduce max g[..8] to world.size - 1;
                    reduce_scatter sum g[..2 * world.size] -> _part;
                    all_gather edges -> all;
                    scatter all -> edges from 0;
                    all_to_all all -> _swapped;
                    gather edges -> _rows to 0;
                }
                pass edges -> next from (rank + world.size - 1) % world.size to (rank + 1) % world.size;
                pass edges -> last to 0;
                exchange edges: halo 1 periodic;
                barrier;
            }
            device _part: [f32; 2] per chunk;
            stage step on math {
                sgd<<<1, 256>>>(rate / world.size as f32, &g, &mut w);
                sum<<<1, 256>>>(&edges, &next, &last, out dy);
                copy dy -> y;
            }
            device dy: [f32; world.size];
        }",
    );
}
