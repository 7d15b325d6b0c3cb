//! The examples' own kernels, compiled by the real compiler, without a GPU. `bash .ci/nvrtc` provides NVRTC.

/// Declares a module for each example that has kernels of its own.
macro_rules! examples {
    ($($name:ident: $path:literal),* $(,)?) => {$(
        #[path = $path]
        #[allow(dead_code, reason = "an example's `main` runs it")]
        mod $name;
    )*

    /// The files of the modules.
    const EXAMPLES: &[&str] = &[$($path),*];
    };
}

examples! {
    black_scholes: "../examples/black_scholes.rs",
    celsius: "../examples/celsius.rs",
    frames: "../examples/frames.rs",
    heat: "../examples/heat.rs",
    heat_ranks: "../examples/heat_ranks.rs",
    quickstart: "../../kernels/examples/quickstart.rs",
    saxpy_expanded: "../examples/saxpy-expanded.rs",
    spectrogram: "../examples/spectrogram.rs",
    tokens: "../examples/tokens.rs",
    train_ranks: "../examples/train_ranks.rs",
    vector_search: "../examples/vector_search.rs",
}

#[test]
#[ignore = "needs NVRTC"]
fn the_kernels_compile() -> thalweg::Result<()> {
    thalweg::compile_kernels("sm_80")
}

/// An example that gets a kernel of its own is compiled here.
#[test]
fn each_example_with_kernels_is_here() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(&folder).expect("the examples") {
        let path = entry.expect("an example").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".rs"))
        else {
            continue;
        };
        // The example's modules are in a folder of its name.
        let modules = std::fs::read_dir(path.with_extension("")).into_iter().flatten();
        let modules = modules.map(|entry| entry.expect("a module").path());
        let has_kernels = modules.chain([path.clone()]).any(|path| {
            let text = std::fs::read_to_string(&path).expect("a text");
            text.lines().any(|line| line.starts_with("#[kernel]") || line.starts_with("#[kernels("))
        });
        // `saxpy-expanded.rs` includes `saxpy.rs`.
        let is_here = name == "saxpy.rs" || EXAMPLES.contains(&&*format!("../examples/{name}"));
        assert_eq!(has_kernels, is_here, "{name}");
    }
}
