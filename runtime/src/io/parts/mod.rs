//! Parts of a file: ranges of its items, which are read one after another or written at their places.

mod places;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::PartsReader;
pub(super) use read::{Extent, Parts};
pub use write::PartWriter;
pub(super) use write::{Part, starts_at};
