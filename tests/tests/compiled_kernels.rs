//! The kernels that this file declares, compiled without a GPU. `bash .ci/nvrtc` provides NVRTC.

use thalweg::__private::Detail;
use thalweg::kernels;

#[kernels("../ui/host/guarded.cu")]
unsafe extern "CUDA" {
    /// `y[i] *= a`, in a file that is a program for `nvcc`.
    pub safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

/// Another block of the same source.
mod again {
    use thalweg::kernels;

    #[kernels("../ui/host/guarded.cu", options("--use_fast_math"))]
    unsafe extern "CUDA" {
        pub safe fn scale(n: u32, a: f32, y: &mut [f32]);
    }
}

#[ignore = "needs NVRTC"]
// ANCHOR: compiled
#[test]
fn the_kernels_compile() -> thalweg::Result<()> {
    thalweg::compile_kernels("sm_80")
}
// ANCHOR_END: compiled

/// The kernels are found without an action of the user: without NVRTC, the error says that NVRTC is missing,
/// not that there are no kernels.
#[test]
fn without_nvrtc_the_error_names_its_package() {
    match thalweg::compile_kernels("sm_80") {
        Ok(()) => {}
        Err(error) => {
            assert!(
                matches!(error.detail(), Detail::NoNvrtc { file, .. } if file.ends_with("guarded.cu")),
                "{error}"
            );
            assert!(error.to_string().contains("PyPI's `nvidia-cuda-nvrtc`"), "{error}");
        }
    }
}

/// The README and the book install NVRTC by the same commands.
#[test]
fn both_say_how_nvrtc_is_installed() {
    fn install(text: &str) -> &str {
        let at = text.find("python3 -m pip install").expect("the command");
        text[at..].split_once("```").expect("the block ends").0
    }
    let (readme, page) = (include_str!("../../README.md"), include_str!("../../book/src/kernels.md"));
    assert_eq!(install(readme), install(page));
    assert!(install(readme).contains("--target target/"), "git ignores `target/`");
}

/// The README shows the same test.
#[test]
fn the_readme_has_it() {
    let (own, readme) = (include_str!("compiled_kernels.rs"), include_str!("../../README.md"));
    let listing = own
        .split_once("// ANCHOR: compiled\n")
        .and_then(|(_, rest)| rest.split_once("// ANCHOR_END"))
        .expect("it")
        .0;
    let indented: String = listing.lines().map(|line| format!("    {line}\n")).collect();
    assert!(readme.contains(&indented), "the README shows another:\n{indented}");
}
