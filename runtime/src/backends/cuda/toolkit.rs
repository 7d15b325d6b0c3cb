//! The headers of a CUDA toolkit: `<cuda_fp16.h>`, `<cooperative_groups.h>`, `<mma.h>`, which NVRTC does not
//! carry.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A header that each toolkit has.
const MARK: &str = "cuda_fp16.h";

/// The headers of a toolkit.
#[derive(Debug)]
pub(super) struct Toolkit {
    /// The folders in which included files are looked for, in order; empty if there is no toolkit.
    pub folders: Vec<PathBuf>,
    /// The folders in which the headers were looked for.
    looked_in: Vec<PathBuf>,
    /// A text that tells the toolkit's releases apart.
    pub version: String,
}

impl Toolkit {
    /// The toolkit of this process. At the first call it is looked for in `CUDA_HOME` and `CUDA_PATH`, beside
    /// NVRTC's library, and in the default places of installations.
    pub(super) fn get() -> &'static Self {
        static TOOLKIT: OnceLock<Toolkit> = OnceLock::new();
        TOOLKIT.get_or_init(|| {
            let variables = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os);
            let named =
                variables.filter(|root| !root.is_empty()).map(|root| PathBuf::from(root).join("include"));
            let beside = super::probe::nvrtc_file().map(|file| beside(&file)).unwrap_or_default();
            let default = ["/usr/local/cuda/include", "/usr/include"].map(PathBuf::from);
            Self::among(named.chain(beside).chain(default).collect())
        })
    }

    fn among(mut looked_in: Vec<PathBuf>) -> Self {
        let mut seen = Vec::new();
        looked_in.retain(|folder| {
            let is_new = !seen.contains(folder);
            seen.push(folder.clone());
            is_new
        });
        let found = looked_in.iter().find(|folder| folder.join(MARK).is_file());
        let folders = found.map(|folder| with_others(folder)).unwrap_or_default();
        let version = folders.first().and_then(|folder| fs::read_to_string(folder.join("cuda.h")).ok());
        let defines = |text: String| {
            let line = text.lines().find(|line| line.trim_start().starts_with("#define CUDA_VERSION"));
            line.map(str::to_owned)
        };
        Self { folders, looked_in, version: version.and_then(defines).unwrap_or_default() }
    }

    /// The error's text if a header is missing.
    pub(super) fn explain(&self) -> String {
        let list = |folders: &[PathBuf]| {
            let names: Vec<_> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
            names.join(", ")
        };
        let packages = "PyPI's `nvidia-cuda-runtime` beside `nvidia-cuda-nvrtc` (`nvidia-cuda-crt` has <mma.h>'s, \
                        `nvidia-cuda-cccl` <cooperative_groups.h>'s)";
        match &self.folders[..] {
            [] => format!(
                "note: the CUDA toolkit's headers were looked for in {}\nhelp: install the CUDA toolkit and set \
                 CUDA_HOME, or install {packages}",
                list(&self.looked_in)
            ),
            folders => format!(
                "note: the CUDA toolkit's headers are taken from {}\nhelp: if the file is one of them, install the \
                 whole toolkit and set CUDA_HOME, or install {packages}",
                list(folders)
            ),
        }
    }
}

/// The folders of headers relative to NVRTC's library: in a toolkit, a system's folders, and the packages of
/// PyPI.
fn beside(library: &Path) -> Vec<PathBuf> {
    let above = |levels: usize| library.ancestors().nth(levels + 1);
    let toolkit = above(1).map(|root| root.join("include"));
    let two_deep = above(2).map(|root| root.join("include"));
    let package = above(2).map(|root| root.join("cuda_runtime/include"));
    [toolkit, package, two_deep].into_iter().flatten().collect()
}

/// A folder with the toolkit's headers, and the other folders that belong to it.
fn with_others(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned(), folder.join("cccl")];
    // PyPI's packages for CUDA 12 have a folder each.
    if folder.ends_with("cuda_runtime/include")
        && let Some(packages) = folder.ancestors().nth(2)
    {
        folders.extend(["cuda_nvcc/include", "cuda_cccl/include"].map(|package| packages.join(package)));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_beside_the_library_in_every_layout() {
        for (library, headers) in [
            ("cu13/lib/libnvrtc.so.13", "cu13/include"),
            ("cuda_nvrtc/lib/libnvrtc.so.12", "cuda_runtime/include"),
            ("cuda/targets/x86_64-linux/lib/libnvrtc.so.13", "cuda/targets/x86_64-linux/include"),
            ("usr/lib/x86_64-linux-gnu/libnvrtc.so.12", "usr/include"),
        ] {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().join(headers);
            fs::create_dir_all(&folder).expect("a folder");
            let looked_in = beside(&root.path().join(library));
            assert!(Toolkit::among(looked_in.clone()).folders.is_empty());
            fs::write(folder.join(MARK), "").expect("a header");
            fs::write(folder.join("cuda.h"), "\n#define CUDA_VERSION 13000\n").expect("a header");
            let toolkit = Toolkit::among(looked_in);
            assert_eq!(toolkit.folders, [folder]);
            assert_eq!(toolkit.version, "#define CUDA_VERSION 13000");
        }
    }

    #[test]
    fn what_is_missing_says_where_it_was_looked_for() {
        let said = Toolkit::among(vec!["/no/such/include".into(), "/no/such/include".into()]).explain();
        assert_eq!(said.matches("/no/such/include").count(), 1, "{said}");
        assert!(said.contains("nvidia-cuda-runtime") && said.contains("CUDA_HOME"), "{said}");
    }
}
