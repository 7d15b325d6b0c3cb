//! Compares the declarations with the source.

mod cluster;
mod cuda;
mod facts;
mod image;
mod instances;
mod symbols;
mod types;

use super::errors::Errors;
use super::source::Source;
use super::syntax::{Block, Kernel};
pub(super) use facts::{Facts, LayoutCheck};

/// Checks each sound kernel, and gives the facts about it in the source.
pub(super) fn check(block: &Block, file: &str, source: &Source, errors: &mut Errors) -> Vec<Facts> {
    let kernel = |kernel: &Kernel| match source {
        _ if !kernel.sound => Facts::default(),
        Source::Cuda(source) => cuda::kernel(source, kernel, errors),
        Source::Image(image) => image::kernel(image, file, kernel, errors),
        Source::Fatbin => Facts::default(),
    };
    block.kernels.iter().map(kernel).collect()
}
