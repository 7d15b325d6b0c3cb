//! Sinks that write a part of a file. `sink` exports them.

use std::io::{Seek, Write};
use std::ops::Range;

use super::Streamed;
use super::npy::NpyPartWriter;
use super::parts::PartWriter;

/// Writes the run's items at the place of a part of a file, as bytes in this machine's byte order. All
/// [ranks](crate::World) write one file so, each its own part.
///
/// Each rank opens the file itself, for writing, and without `truncate`, which would remove what others have
/// written. A file that was there before and is longer keeps its end, so one rank makes it anew, before the
/// others open it. The part counts items of the pipeline. Item 0 is where the file stands when the first items come:
/// if there is a header before it, all ranks skip that. The run fails
/// ([`ErrorKind::Sink`](crate::ErrorKind::Sink)) if it has more items than the part, before any of them is
/// written beyond it, and at its end if it has fewer, so that a file has no hole that nobody knows of. An
/// empty part writes nothing. The next run with the same sink writes the part anew.
///
/// The file is whole once the runs of all ranks are over: `world.barrier()` waits for that.
///
/// ```
/// use std::fs::File;
///
/// use thalweg::prelude::*;
/// use thalweg::sim::{MachineModel, ranks};
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [u8];
/// #         output z: [u8];
/// #         chunk c = 2;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// # let path = std::env::temp_dir().join(format!("thalweg-part-{}", std::process::id()));
/// let all = ranks(MachineModel::h200(3), |world| {
///     if world.rank() == 0 {
///         File::create(&path).expect("a file"); // and an old one is gone
///     }
///     world.barrier()?;
///     let own = world.part(10);
///     let x: Vec<u8> = own.clone().map(|item| item as u8).collect();
///     let file = File::options().write(true).open(&path).expect("a file");
///     let mut through = Through::options(&world.device()?).world(world).build()?;
///     through.run(&x, sink::write_part(file, own))?;
///     world.barrier()?;
///     Ok::<_, Error>(std::fs::read(&path).expect("a file"))
/// });
/// # std::fs::remove_file(&path).expect("the file is there");
/// for file in all {
///     assert_eq!(file?, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn write_part<W: Write + Seek + Send>(file: W, part: Range<usize>) -> Streamed<PartWriter<W>> {
    Streamed(PartWriter::new(file, part))
}

/// Like [`write_part`], but the file is NumPy's `.npy` file with an array of this shape, to which all ranks
/// give the same. The bytes are those that [`npy_items`](super::sink::npy_items) writes on one rank.
///
/// The part counts items of the pipeline: with the shape `[n, 3, 4]` and `output z: [f32; 12]` there are `n`
/// of them. The rank whose part begins at 0 writes the header, at the end of its run; all know where the
/// header ends. The file is whole once the runs of all ranks are over: `world.barrier()` waits for that. A
/// part that is not in the array is an error before anything is written.
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
/// let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
/// let mut file = Cursor::new(Vec::new()); // or a `File`, which each rank opens
/// // What rank 1 of 2 has to write, and then rank 0.
/// through.run(&[4.0, 5.0], sink::npy_part(&mut file, &[3, 2], 2..3))?;
/// file.set_position(0);
/// through.run(&[0.0, 1.0, 2.0, 3.0], sink::npy_part(&mut file, &[3, 2], 0..2))?;
///
/// let mut whole = Cursor::new(Vec::new());
/// through.run(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], sink::npy_items(&mut whole, &[2]))?;
/// assert_eq!(file.into_inner(), whole.into_inner());
/// # Ok::<(), Error>(())
/// ```
pub fn npy_part<W: Write + Seek + Send>(
    file: W,
    shape: &[usize],
    part: Range<usize>,
) -> Streamed<NpyPartWriter<W>> {
    Streamed(NpyPartWriter::new(file, shape, part))
}
