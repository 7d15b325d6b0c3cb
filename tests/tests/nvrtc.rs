//! Every kernel source of the workspace through the real compiler, without a GPU. `bash .ci/nvrtc` provides NVRTC.

use std::path::{Path, PathBuf};

use thalweg::__private::compile_for;
use thalweg::ErrorKind;

const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// The one that is meant not to compile.
const BROKEN: &str = "broken.cu";

/// The `.cu` files of a folder of the workspace, and their texts.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("the source");
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

#[test]
#[ignore = "needs NVRTC"]
fn every_source_compiles_for_every_architecture() {
    let mut compiled = 0;
    for folder in ["kernels/cu", "tests/cu", "tests/ui"] {
        for (path, text) in sources(folder) {
            let name: &'static str = path.file_name().expect("a name").to_string_lossy().into_owned().leak();
            for architecture in ARCHITECTURES {
                match compile_for(&text, name, architecture) {
                    Ok(code) => {
                        assert!(name != BROKEN && !code.is_empty(), "{name}");
                        compiled += 1;
                    }
                    Err(error) => {
                        assert_eq!(name, BROKEN, "{error}");
                        assert!(
                            matches!(error.kind(), ErrorKind::Compile { log, .. } if log.contains("undeclared"))
                        );
                    }
                }
            }
        }
    }
    println!("{compiled} compilations for {}", ARCHITECTURES.join(", "));
    assert!(compiled >= 8 * ARCHITECTURES.len(), "only {compiled}");
}
