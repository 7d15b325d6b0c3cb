//! Sinks that are files and columns for other programs. `sink` exports them.

use std::io::{Seek, Write};

use super::Streamed;
use super::npy::NpyWriter;

/// The elements as NumPy's `.npy` file, an array of one dimension.
///
/// The header says how many elements there are, so it is written at the end of the run. Until then zeros are
/// in its place, and the file is no `.npy` file. If a run fails elsewhere, the file gets what is complete, as
/// [`Error::complete`](crate::Error::complete) counts it.
///
/// ```
/// use std::io::Cursor;
///
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [f32];
/// #         output z: [f32];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let mut file = Cursor::new(Vec::new()); // or a `File`
/// Through::new(&Device::simulated(Simulation::h200()))?.run(&[0.5, 1.5, 2.5], sink::npy(&mut file))?;
///
/// let file = file.into_inner();
/// assert!(file.starts_with(b"\x93NUMPY"));
/// assert!(String::from_utf8_lossy(&file).contains("'shape': (3,)"));
/// # Ok::<(), Error>(())
/// ```
pub fn npy<W: Write + Seek + Send>(file: W) -> Streamed<NpyWriter<W>> {
    npy_items(file, &[])
}

/// Like [`npy()`], but the array's items have this shape: the shape `[3, 4]` makes `output z: [f32; 12]` an
/// array of the shape `(n, 3, 4)`. The run fails at its end if the elements are not a whole number of items
/// ([`ErrorKind::Sink`](crate::ErrorKind::Sink)).
///
/// ```
/// use std::io::Cursor;
///
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     pipeline Tiles {
///         input x: [u8; 4];
///         output z: [u8; 4];
///         chunk c = 2;
///         stage there { copy x -> dx; }
///         stage back { copy dx -> z; }
///     }
/// }
///
/// let mut file = Cursor::new(Vec::new());
/// let mut tiles = Tiles::new(&Device::simulated(Simulation::h200()))?;
/// tiles.run(&[0; 12], sink::npy_items(&mut file, &[2, 2]))?;
/// assert!(String::from_utf8_lossy(&file.into_inner()).contains("'shape': (3, 2, 2)"));
/// # Ok::<(), Error>(())
/// ```
pub fn npy_items<W: Write + Seek + Send>(file: W, shape: &[usize]) -> Streamed<NpyWriter<W>> {
    Streamed(NpyWriter::new(file, shape))
}
