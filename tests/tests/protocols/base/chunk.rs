//! Chunks, as far as the protocols need them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) index: usize,
    pub(crate) len: usize,
}
