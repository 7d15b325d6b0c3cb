//! Kernels as the rest of the runtime sees them: sources and declarations.

use std::borrow::Cow;

use crate::base::in_rust::RustSource;

/// A kernel source, as `#[kernels("saxpy.cu")]` embeds it.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelModule {
    /// The path as the user wrote it.
    pub file: &'static str,
    /// The file's content.
    pub source: KernelSource,
    /// The path of the file in the tree that [`headers`](Self::headers) are in.
    pub path: &'static str,
    /// The files that it includes, directly or through others.
    pub headers: &'static [Header],
    /// The folders of that tree in which included files are looked for, in order.
    pub include: &'static [&'static str],
    /// Options for NVRTC, after those that this crate gives.
    pub options: &'static [&'static str],
    /// The name expressions to instantiate, such as `reduce<float>`.
    pub instances: &'static [&'static str],
}

/// The content of a kernel source.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum KernelSource {
    /// CUDA C++, for NVRTC to compile.
    Cuda(&'static str),
    /// PTX, a cubin or a fatbin, for the driver to load.
    Image(&'static [u8]),
    /// A kernel in Rust, whose CUDA C++ is joined when it is compiled.
    Rust(&'static RustSource),
}

impl KernelSource {
    /// The CUDA C++ for NVRTC to compile; `None` for what is compiled already.
    pub fn cuda(self) -> Option<Cow<'static, str>> {
        match self {
            Self::Cuda(text) => Some(Cow::Borrowed(text)),
            Self::Rust(source) => Some(Cow::Owned(source.joined())),
            Self::Image(_) => None,
        }
    }

    /// Whether it is PTX, a cubin or a fatbin.
    pub(crate) fn is_image(self) -> bool {
        matches!(self, Self::Image(_))
    }
}

/// A file that a kernel source includes.
#[derive(Debug)]
#[doc(hidden)]
pub struct Header {
    /// The path from the root of a tree that holds all files of the source, with `/` and without `..`.
    pub path: &'static str,
    /// The file's content.
    pub text: &'static str,
}

impl KernelModule {
    /// A source of CUDA C++.
    pub const fn cuda(file: &'static str, source: &'static str) -> Self {
        Self::new(file, KernelSource::Cuda(source))
    }

    /// A source that is PTX, a cubin or a fatbin.
    pub const fn image(file: &'static str, image: &'static [u8]) -> Self {
        Self::new(file, KernelSource::Image(image))
    }

    /// A kernel in Rust.
    pub const fn rust(source: &'static RustSource) -> Self {
        Self::new(source.file, KernelSource::Rust(source))
    }

    const fn new(file: &'static str, source: KernelSource) -> Self {
        Self { file, source, path: file_name(file), headers: &[], include: &[], options: &[], instances: &[] }
    }

    /// Adds the file's own place in a tree, the files that it includes, and the folders in which they are
    /// looked for.
    #[must_use]
    pub const fn including(
        self,
        path: &'static str,
        headers: &'static [Header],
        include: &'static [&'static str],
    ) -> Self {
        Self { path, headers, include, ..self }
    }

    /// Adds options of NVRTC.
    #[must_use]
    pub const fn options(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    /// Adds the name expressions to instantiate.
    #[must_use]
    pub const fn instances(self, instances: &'static [&'static str]) -> Self {
        Self { instances, ..self }
    }
}

/// The part of a path after its last folder.
const fn file_name(path: &'static str) -> &'static str {
    let mut start = path.len();
    while start > 0 && !matches!(path.as_bytes()[start - 1], b'/' | b'\\') {
        start -= 1;
    }
    path.split_at(start).1
}

/// The declaration of one kernel, as `#[kernels]` knows it.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelInfo {
    /// Its name in Rust.
    pub name: &'static str,
    /// Its name in the source, if it is no instance of a template.
    pub symbol: &'static str,
    /// Its name expression, if it is an instance of a template. It is one of the module's
    /// [`instances`](KernelModule::instances).
    pub instance: Option<&'static str>,
    /// The module that contains its source.
    pub module: &'static KernelModule,
    /// The size of each of its parameters in the source, in bytes, in order.
    pub parameters: &'static [usize],
    /// The module's variables that launches give as arguments.
    pub symbols: &'static [&'static str],
    /// The size of each of those variables in the source, in bytes, in order; empty if no size is known.
    pub symbol_bytes: &'static [Option<usize>],
    /// The first value of its `__launch_bounds__`, in threads.
    pub max_threads_per_block: Option<u32>,
    /// Blocks in a cluster, as `[x, y, z]`, if launches must ask for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether its blocks wait for each other, so that all of them must be on the device at once.
    pub cooperative: bool,
    /// Whether it has a host body. Without one the simulated device cannot run it.
    pub has_host_body: bool,
    /// The axes of its index, if it is a kernel in Rust with one thread for each index.
    pub axes: Option<usize>,
    /// Whether it is a kernel in Rust whose threads fail or not whatever the elements hold that it changes.
    pub replays: bool,
}

impl KernelInfo {
    /// A kernel with a name and no further properties.
    pub const fn new(name: &'static str, module: &'static KernelModule) -> Self {
        Self {
            name,
            symbol: name,
            instance: None,
            module,
            parameters: &[],
            symbols: &[],
            symbol_bytes: &[],
            max_threads_per_block: None,
            cluster: None,
            cooperative: false,
            has_host_body: false,
            axes: None,
            replays: false,
        }
    }

    /// Says that its threads fail or not whatever the elements hold that it changes, so that a launch fails
    /// again in the same way on what it has read.
    #[must_use]
    pub const fn replays(self) -> Self {
        Self { replays: true, ..self }
    }

    /// Says how many axes its index has.
    #[must_use]
    pub const fn axes(self, axes: usize) -> Self {
        Self { axes: Some(axes), ..self }
    }

    /// Whether each thread has an index of its own if a launch has so many threads along y and z: the kernel
    /// counts those axes, or there is one thread along them.
    pub const fn counts(&self, [y, z]: [u128; 2]) -> bool {
        match self.axes {
            Some(1) => y <= 1 && z <= 1,
            Some(2) => z <= 1,
            _ => true,
        }
    }

    /// Gives it another name in the source.
    #[must_use]
    pub const fn symbol(self, symbol: &'static str) -> Self {
        Self { symbol, ..self }
    }

    /// Makes it an instance of a template.
    #[must_use]
    pub const fn instance(self, instance: &'static str) -> Self {
        Self { instance: Some(instance), ..self }
    }

    /// Adds the sizes of its parameters, in bytes.
    #[must_use]
    pub const fn parameters(self, parameters: &'static [usize]) -> Self {
        Self { parameters, ..self }
    }

    /// Adds the module's variables that launches give as arguments.
    #[must_use]
    pub const fn symbols(self, symbols: &'static [&'static str]) -> Self {
        Self { symbols, ..self }
    }

    /// Adds the sizes of those variables in the source, in bytes, if they are known.
    #[must_use]
    pub const fn symbol_bytes(self, symbol_bytes: &'static [Option<usize>]) -> Self {
        Self { symbol_bytes, ..self }
    }

    /// Adds `__launch_bounds__(threads)`.
    #[must_use]
    pub const fn launch_bounds(self, threads: u32) -> Self {
        Self { max_threads_per_block: Some(threads), ..self }
    }

    /// Has it launched in clusters of `blocks` blocks.
    #[must_use]
    pub const fn cluster(self, blocks: [u32; 3]) -> Self {
        Self { cluster: Some(blocks), ..self }
    }

    /// Has it launched with all of its blocks on the device at once.
    #[must_use]
    pub const fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Says that it has a host body.
    #[must_use]
    pub const fn on_host(self) -> Self {
        Self { has_host_body: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_alone_is_at_the_root_of_its_tree() {
        for (file, path) in [("k.cu", "k.cu"), ("../cu/k.cu", "k.cu"), ("a\\k.cu", "k.cu"), ("", "")] {
            assert_eq!(KernelModule::cuda(file, "").path, path);
        }
    }
}
