//! `#[kernels]`: types of the CUDA toolkit's headers, and Rust types that stand for structs and arrays.

use crate::declared;

use declared::{declare, dense, errors_and_rest};

#[track_caller]
fn assert_fits(here: &str, there: &str, definitions: &str, fits: bool) {
    let source = format!("{definitions}\nextern \"C\" __global__ void k({there} p);");
    declared::assert_fits(&format!("p: {here}"), &source, fits);
}

#[test]
fn handles_and_numbers() {
    for (here, there, fits) in [
        ("u64", "cudaTextureObject_t", true),
        ("u32", "cudaTextureObject_t", false),
        ("i64", "cudaTextureObject_t", false),
        ("&[u64]", "const cudaTextureObject_t*", true),
        ("u64", "cudaSurfaceObject_t", true),
        ("f32", "cudaSurfaceObject_t", false),
        ("f32", "cufftReal", true),
        ("f64", "cufftReal", false),
        ("&mut [f64]", "cufftDoubleReal*", true),
        ("u32", "cudaError_t", true),
        ("f32", "cudaError_t", false),
        ("u8", "__nv_fp8_e4m3", true),
        ("u16", "__nv_fp8_e4m3", false),
        ("u16", "__half_raw", true),
        ("half::f16", "__half_raw", false),
        // A pointer by value.
        ("u64", "cudaStream_t", false),
        ("Stream", "cudaStream_t", false),
        ("&[f32]", "cudaStream_t", false),
    ] {
        assert_fits(here, there, "", fits);
    }
    #[cfg(not(windows))]
    for (here, fits) in [("&mut [i64]", true), ("&mut [u64]", false), ("&mut [i32]", false)] {
        assert_fits(here, "clock_t*", "", fits);
    }
}

#[test]
fn complex_numbers_and_vector_types() {
    for (here, there, fits) in [
        ("[f32; 2]", "cuComplex", true),
        ("&[Complex32]", "const cufftComplex*", true),
        ("f32", "cuComplex", false),
        ("f64", "cuComplex", false),
        ("u64", "cuComplex", false),
        ("[f64; 2]", "cuComplex", false),
        ("[i32; 2]", "cuComplex", false),
        ("[f64; 2]", "cufftDoubleComplex", true),
        ("[f32; 4]", "cufftDoubleComplex", false),
        ("[f32; 4]", "float4", true),
        ("[i32; 4]", "float4", false),
        ("[u32; 4]", "int4", false),
        ("[f32; 3]", "float4", false),
        ("[[f32; 2]; 2]", "float4", true),
        ("[u32; 3]", "dim3", true),
        ("[i32; 3]", "dim3", false),
        ("&mut [[f64; 4]]", "double4_32a*", true),
        ("&mut [[f32; 8]]", "double4_32a*", false),
        ("[half::bf16; 2]", "half2", false),
        ("[u8; 4]", "char4", false),
        ("[u8; 4]", "float", false),
        ("[f32; 1]", "float", true),
    ] {
        assert_fits(here, there, "", fits);
    }
    let text =
        dense(declare("safe fn k(p: &[Pair]);", "extern \"C\" __global__ void k(const cufftComplex* p);"));
    assert!(text.contains("same_layout::<Pair>(&[(8,::core::option::Option::None)],"), "{text}");
    // A definition in the source counts.
    let own = "struct cuComplex { double r, i; };";
    assert_fits("[f64; 2]", "cuComplex", own, true);
    assert_fits("[f32; 2]", "cuComplex", own, false);
}

#[test]
fn states_of_curand() {
    for (there, size, align) in [
        ("curandState", 48, 8),
        ("curandState_t", 48, 8),
        ("curandStateMRG32k3a", 48, 8),
        ("curandStatePhilox4_32_10_t", 64, 16),
        ("curandStateSobol32", 140, 4),
        ("curandStateScrambledSobol64_t", 536, 8),
    ] {
        let source = format!("#include <curand_kernel.h>\nextern \"C\" __global__ void k({there}* p);");
        let text = dense(declare("safe fn k(p: &mut [State]);", &source));
        let expected = format!(
            "same_layout::<State>(&[({size},::core::option::Option::Some({align}))],\"[TW0417]:`State`\",\
             \"`{there}`oftheCUDAtoolkit\","
        );
        assert!(text.contains(&expected), "{text}");
        let (errors, _) = errors_and_rest(declare("safe fn k(p: &mut [f32]);", &source));
        let help = format!("help: declare a `#[repr(C)]` struct of {size} bytes, aligned to {align}");
        assert!(errors[0].ends_with(&help), "{errors:?}");
        for here in ["&mut [u8]", "&mut [u32]", "&mut [u64]"] {
            assert_fits(here, &format!("{there}*"), "#include <curand_kernel.h>", false);
        }
    }
}

#[test]
fn a_struct_of_one_number_is_that_number_and_no_other() {
    for (definition, here, fits) in [
        ("struct P { float a; };", "f32", true),
        ("struct P { float a; };", "u32", false),
        ("struct In { float a; }; struct P { In i; };", "f32", true),
        ("struct P { bool a, b, c, d; };", "f32", false),
        ("struct P { bool a, b, c, d; };", "u32", false),
        ("struct P { bool a, b, c, d; };", "&[u32]", false),
        ("struct P { bool a, b, c, d; };", "[bool; 4]", true),
        ("struct P { bool a, b, c, d; };", "[u8; 4]", false),
        ("struct P { float a, b; };", "f64", false),
        ("struct P { float a, b; };", "[f32; 2]", true),
        ("struct P { float a, b; };", "[i32; 2]", false),
        ("struct P { float a[2]; float2 b; };", "[f32; 4]", true),
        ("struct __align__(8) P { int a; float b; };", "u64", false),
        ("union P { float a; unsigned b; };", "f32", true),
        ("union P { unsigned char a[4]; };", "f32", false),
        ("typedef float P[3];", "&mut [f32]", true),
        ("typedef float P[3];", "&mut [u32]", false),
    ] {
        let there = if here.starts_with("&[") { "const P*" } else { "P" };
        assert_fits(here, there, definition, fits);
    }
    // The elements of a typedef's arrays.
    assert_fits("&[f32]", "const vec3*", "typedef float vec3[3];", true);
    assert_fits("&[[f32; 3]]", "const vec3*", "typedef float vec3[3];", true);
    assert_fits("&[i32]", "const vec3*", "typedef float vec3[3];", false);
}
