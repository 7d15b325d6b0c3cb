//! Sources that are parts of a file. `source` exports them.

use std::io::{self, Read, Seek};
use std::ops::Range;

use super::Streamed;
use super::npy::{self, NpyPartsReader};
use super::parts::PartsReader;

/// Reads ranges of a file's items, one after another, as elements in this machine's byte order. The lengths
/// of chunks need not fit: a chunk goes on in the next part.
///
/// A range counts items of the pipeline: with `input x: [f32; 12]`, item 0 is the first 48 bytes. Item 0
/// begins where the file stands when the run begins, so a program may skip a header of its own. The source
/// has a length, that of all parts together, and all other arguments need as many items. The run fails at a
/// part with items that the file does not have, and at one that ends before it begins.
///
/// The part of a [rank](crate::World) is `[world.part(items)]`. Each rank opens the file itself: a
/// `try_clone` shares the position of the original.
///
/// ```
/// use std::io::Cursor;
///
/// use thalweg::prelude::*;
/// use thalweg::sim::{MachineModel, ranks};
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [u16];
/// #         output z: [u16];
/// #         chunk c = 2;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let file = [0_u16, 1, 2, 3, 4, 5, 6].map(u16::to_ne_bytes); // or a path, which each rank opens
/// let all = ranks(MachineModel::h200(2), |world| {
///     let own = source::read_parts(Cursor::new(file.as_flattened()), [world.part(file.len())]);
///     let mut z = Vec::new();
///     Through::options(&world.device()?).world(world).build()?.run(own, sink::extend(&mut z))?;
///     Ok::<_, Error>(z)
/// });
/// assert_eq!(all[0].as_ref().unwrap(), &[0, 1, 2, 3]);
/// assert_eq!(all[1].as_ref().unwrap(), &[4, 5, 6]);
/// ```
///
/// Blocks of a file in an order that is new in each epoch, and that all ranks know:
///
/// ```
/// use std::io::Cursor;
///
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [u16];
/// #         output z: [u16];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// # let world = World::alone();
/// let file: Vec<u8> = (0..100_u16).flat_map(u16::to_ne_bytes).collect();
/// let (items, block) = (100_usize, 16);
/// let seed = world.seed()?;
/// let mut through = Through::options(&world.device()?).world(&world).build()?;
/// for epoch in 0..3 {
///     let blocks = world.shuffled(items.div_ceil(block), seed + epoch);
///     let parts = blocks.into_iter().map(|n| n * block..items.min((n + 1) * block));
///     let mut z = Vec::new();
///     through.run(source::read_parts(Cursor::new(&file), parts), sink::extend(&mut z))?;
///     z.sort();
///     assert_eq!(z, (0..100).collect::<Vec<u16>>(), "a world of one reads all blocks");
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn read_parts<R: Read + Seek + Send>(
    file: R,
    parts: impl IntoIterator<Item = Range<usize>>,
) -> Streamed<PartsReader<R>> {
    Streamed(PartsReader::new(file, parts))
}

/// Like [`read_parts`], but reads a `.npy` file as [`npy`](super::source::npy()) does: the run fails if the
/// type or the order of the elements is another one, or if a part is not in the array.
///
/// A range counts items of the pipeline. For `input x: [f32; 12]`, an array of the shape `(n, 3, 4)` has `n`
/// items, which is the first number of [`npy_shape`]. For `input x: [f32; 4]` it has `3 * n`, and for
/// `input x: [f32]` as many as elements: the product of the whole shape.
///
/// ```
/// use std::io::Cursor;
///
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [f32; 2];
/// #         output z: [f32; 2];
/// #         chunk c = 2;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let mut file = Cursor::new(Vec::new()); // or a `File`
/// let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
/// through.run(&[0.0, 0.5, 1.0, 1.5, 2.0, 2.5], sink::npy_items(&mut file, &[2]))?;
///
/// file.set_position(0);
/// let shape = source::npy_shape(&mut file).expect("a header");
/// assert_eq!(shape, [3, 2]);
/// let mut z = Vec::new();
/// through.run(source::npy_parts(file, [2..3, 0..1]), sink::extend(&mut z))?;
/// assert_eq!(z, [2.0, 2.5, 0.0, 0.5]);
/// # Ok::<(), Error>(())
/// ```
pub fn npy_parts<R: Read + Seek + Send>(
    file: R,
    parts: impl IntoIterator<Item = Range<usize>>,
) -> Streamed<NpyPartsReader<R>> {
    Streamed(NpyPartsReader::new(file, parts))
}

/// The shape of the array in a `.npy` file, of elements of any type. Afterwards the file stands where it did.
/// [`npy_parts`] has an example.
///
/// A rank whose items are rows reads `world.part(shape[0])`. An array of no dimension has no `shape[0]`.
///
/// # Errors
/// The file has no header of a `.npy` file, or one of records: [`InvalidData`](io::ErrorKind::InvalidData). It
/// ended within the header: [`UnexpectedEof`](io::ErrorKind::UnexpectedEof). The errors of the file itself.
pub fn npy_shape<R: Read + Seek>(file: &mut R) -> io::Result<Vec<usize>> {
    npy::shape(file)
}
