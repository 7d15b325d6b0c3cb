//! Sources that are files and columns of other programs. `source` exports them.

use std::io::{self, Read};

use super::npy::{self, NpyReader};
use super::{Scalar, Streamed};

/// The elements of NumPy's `.npy` file, of any shape in C order, on a machine of the same byte order.
///
/// The pipeline says what an item is: an array of the shape `(n, 3, 4)` has `n` items for
/// `input x: [f32; 12]`. A `bool` is read as a `u8`. The run fails if the elements have another type than the
/// pipeline's, if the array is in Fortran order, or if the file is shorter than its header says. Bytes after
/// the array are not read.
///
/// ```
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [f32];
/// #         output z: [f32];
/// #         chunk c = 2;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let mut file = std::io::Cursor::new(Vec::new());
/// let mut through = Through::new(&Device::simulated(Simulation::default()))?;
/// through.run(&[0.5, 1.5, 2.5], sink::npy(&mut file))?;
///
/// let (mut z, file) = (Vec::new(), file.into_inner());
/// through.run(source::npy(&file[..]), sink::extend(&mut z))?;
/// assert_eq!(z, [0.5, 1.5, 2.5]);
/// # Ok::<(), Error>(())
/// ```
pub fn npy<R: Read + Send>(file: R) -> Streamed<NpyReader<R>> {
    Streamed(NpyReader::new(file))
}

/// The elements of a `.npy` file that is in memory, for example because it is mapped. They are the elements
/// that [`npy()`] would give, as a slice.
///
/// # Errors
/// Where [`npy()`] fails, this fails with the same kind of error: [`InvalidData`](io::ErrorKind::InvalidData),
/// or [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file is shorter than its header says. Elements
/// that are not aligned as `T` is are [`InvalidInput`](io::ErrorKind::InvalidInput). In a file that is mapped
/// from its beginning they are aligned.
pub fn npy_slice<T: Scalar>(file: &[u8]) -> io::Result<&[T]> {
    npy::slice(file)
}
