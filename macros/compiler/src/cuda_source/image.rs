//! The kernels of a compiled source, PTX or a cubin.

/// The kernels and variables of a compiled source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) kernels: Vec<ImageKernel>,
    pub(crate) variables: Vec<ImageVariable>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageKernel {
    pub(crate) name: String,
    /// The line in a text, from 1.
    pub(crate) line: Option<usize>,
    /// Its parameters, in order, if the image tells.
    pub(crate) parameters: Option<Vec<ImageParameter>>,
    pub(crate) max_threads_per_block: Option<u32>,
    pub(crate) cluster: Option<[u32; 3]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageParameter {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The line in a text, from 1.
    pub(crate) line: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ImageVariable {
    pub(crate) name: String,
    /// The size in bytes.
    pub(crate) size: Option<u64>,
    /// The line in a text, from 1.
    pub(super) line: Option<usize>,
}
