//! The registers and instructions of the kernels, beside those of the same written by hand in CUDA C++.
//!
//! No GPU is needed: NVRTC compiles both, and NVIDIA's tools read what it made. `bash .ci/nvrtc` installs all of
//! them and runs this. Built for release, as kernels are measured: a debug build checks for overflow, too.
//!
//! `BLESS=1` writes `table.txt` anew, and keeps the reasons in it. Without its checks a kernel may have a tenth more
//! instructions than the one by hand, and a tenth more registers unless as many blocks fit on a multiprocessor.
//! With or without checks it has all values in registers, if the one by hand has. Whatever has more needs a line
//! `why:` below its own.

mod programs;
mod table;

use std::path::Path;

use programs::{Compared, Size};
use rayon::prelude::*;
use table::{Row, Table};
use thalweg_kernels::*;

/// Each kernel in Rust, the file by hand, and the name in it.
fn compared() -> Vec<Compared> {
    macro_rules! all {
        ($($kernel:ident: $file:literal $name:literal,)*) => {
            vec![$(Compared::of::<$kernel>(stringify!($kernel), $file, $name)),*]
        };
    }
    all! {
        saxpy: "saxpy.cu" "saxpy",
        daxpy: "map.cu" "daxpy",
        scale_f32: "map.cu" "scale<float>",
        scale_f64: "map.cu" "scale<double>",
        add_f32: "map.cu" "add<float>",
        add_f64: "map.cu" "add<double>",
        multiply_f32: "map.cu" "multiply<float>",
        multiply_f64: "map.cu" "multiply<double>",
        exp_f32: "map.cu" "exponential<float>",
        exp_f64: "map.cu" "exponential<double>",
        sqrt_f32: "map.cu" "square_root<float>",
        sqrt_f64: "map.cu" "square_root<double>",
        relu_f32: "map.cu" "relu<float>",
        relu_f64: "map.cu" "relu<double>",
        clamp_f32: "map.cu" "clamp<float>",
        clamp_f64: "map.cu" "clamp<double>",
        grayscale: "grayscale.cu" "grayscale",
        gather_f32: "gather.cu" "gather_f32",
        gather_u32: "gather.cu" "gather_u32",
        normalize_hwc: "normalize.cu" "normalize_hwc",
        normalize_chw: "normalize.cu" "normalize_chw",
        sum_f32: "reduce.cu" "sum_f32",
        sum_f64: "reduce.cu" "sum_f64",
        dot_f32: "reduce.cu" "dot_f32",
        dot_f64: "reduce.cu" "dot_f64",
        min_f32: "reduce.cu" "min_f32",
        min_f64: "reduce.cu" "min_f64",
        max_f32: "reduce.cu" "max_f32",
        max_f64: "reduce.cu" "max_f64",
        blur_rows_f32: "filter.cu" "blur_rows_f32",
        blur_rows_u8: "filter.cu" "blur_rows_u8",
        blur_columns_f32: "filter.cu" "blur_columns_f32",
        blur_columns_u8: "filter.cu" "blur_columns_u8",
        box_rows_u8: "filter.cu" "box_rows_u8",
        box_columns_u8: "box_columns.cu" "box_columns_u8",
        sobel_f32: "filter.cu" "sobel_f32",
        sobel_u8: "filter.cu" "sobel_u8",
        stencil_3: "stencil.cu" "stencil_3",
        stencil_5: "stencil.cu" "stencil_5",
        jacobi: "stencil.cu" "jacobi",
        black_scholes: "black_scholes.cu" "black_scholes",
        transpose: "transpose.cu" "transpose",
        matmul: "matmul.cu" "matmul",
        histogram_f32: "histogram.cu" "histogram_f32",
        top_k: "top_k.cu" "top_k",
        top_k_merge: "top_k.cu" "top_k_merge",
    }
}

/// The oldest and the newest kind of the GPUs that are mostly used.
const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90"];

#[test]
#[ignore = "needs NVRTC, cuobjdump and nvdisasm"]
fn kernels_are_as_small_as_by_hand() {
    if cfg!(debug_assertions) {
        panic!("run `bash .ci/nvrtc`: this build checks for overflow");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let all = compared();
    let pairs: Vec<_> = all.iter().flat_map(|kernel| ARCHITECTURES.map(|of| (kernel, of))).collect();
    let row = |&(kernel, architecture): &(&Compared, _)| {
        let sizes = kernel.sizes(architecture, folder);
        Row { kernel: kernel.name, architecture, sizes }
    };
    let rows: Vec<_> = pairs.par_iter().map(row).collect();
    let table = Table::read();
    let now = table.with(&rows);
    if std::env::var_os("BLESS").is_some() {
        now.write();
    } else {
        assert_eq!(table.text(), now.text(), "`BLESS=1` records what has changed; read it");
    }
    let without: Vec<_> = rows.iter().filter(|row| row.is_larger() && !now.has_reason(row)).collect();
    assert!(without.is_empty(), "larger than by hand, without a reason: {without:#?}");
}

/// The rule itself.
#[test]
fn a_tenth_more_is_allowed() {
    let size = |registers, instructions| Size { registers, instructions, stack: 0 };
    let row = |by_hand, unchecked| Row {
        kernel: "k",
        architecture: "sm_90",
        sizes: [by_hand, size(255, 9999), unchecked],
    };
    assert!(!row(size(20, 100), size(22, 110)).is_larger());
    assert!(row(size(20, 100), size(20, 111)).is_larger());
    // Up to 32 registers as many threads fit.
    assert!(!row(size(20, 100), size(32, 100)).is_larger());
    assert!(row(size(32, 100), size(41, 100)).is_larger());
    assert!(!row(size(40, 100), size(44, 100)).is_larger());
    assert!(row(size(20, 100), Size { stack: 8, ..size(20, 100) }).is_larger());
}
