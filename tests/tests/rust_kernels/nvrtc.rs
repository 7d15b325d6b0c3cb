//! The kernels of this program, compiled by NVRTC.

#[test]
#[ignore = "needs NVRTC"]
fn the_kernels_compile() {
    for architecture in ["sm_80", "sm_90"] {
        thalweg::compile_kernels(architecture).unwrap_or_else(|error| panic!("{architecture}: {error}"));
    }
}
