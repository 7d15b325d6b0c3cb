//! A program that declares no kernel, like every program that is not compiled for a test.

use thalweg::__private::Detail;

#[test]
fn no_kernels_to_compile_are_an_error_that_says_where_kernels_are_registered() {
    let error = thalweg::compile_kernels("sm_80").unwrap_err();
    assert!(matches!(error.detail(), Detail::NoKernels), "{error}");
    let text = error.to_string();
    assert!(!text.contains("declares none"), "{text}");
    assert!(text.starts_with("no kernel to compile: "), "{text}");
    assert!(text.contains("kernels are registered in tests only"), "{text}");
}
