//! [`Chunk`]: a part of a run.

/// One chunk of a run. It is `c` in `chunk c = auto`, and sources, sinks and routines get it.
///
/// ```
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
/// let mut seen = Vec::new();
/// let see = sink::for_each(|chunk, _: &[f32]| {
///     seen.push((chunk.index, chunk.start, chunk.len));
///     Ok(())
/// });
/// Through::new(&Device::simulated(Simulation::h200()))?.run(&[0.0; 10], see)?; // `chunk c = 4;`
/// assert_eq!(seen, [(0, 0, 4), (1, 4, 4), (2, 8, 2)]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// The chunk's number in the run, from 0.
    pub index: usize,
    /// The index of its first item in the run, from 0.
    pub start: usize,
    /// The number of its items. The last chunk of a run may have fewer than the others.
    pub len: usize,
}
