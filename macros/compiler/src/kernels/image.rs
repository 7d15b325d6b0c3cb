//! What a compiled source says of its kernels: PTX, or a cubin.

/// The kernels and variables of a compiled source.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) kernels: Vec<ImageKernel>,
    pub(super) variables: Vec<ImageVariable>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ImageKernel {
    pub(super) name: String,
    /// In text, from 1.
    pub(super) line: Option<usize>,
    /// Its parameters, in order, if the image tells.
    pub(super) parameters: Option<Vec<ImageParameter>>,
    pub(super) max_threads_per_block: Option<u32>,
    pub(super) cluster: Option<[u32; 3]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ImageParameter {
    /// In bytes.
    pub(super) size: u64,
    /// In text, from 1.
    pub(super) line: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ImageVariable {
    pub(super) name: String,
    /// In bytes.
    pub(super) size: Option<u64>,
    /// In text, from 1.
    pub(super) line: Option<usize>,
}
