//! How many blocks fit a device, from the limits of its compute capability. Registers, which no host body
//! has, are left out.

use crate::base::threads::volume;
use crate::driver::Info;

/// The first compute capability whose blocks may wait for each other.
pub(crate) const COOPERATIVE: (u32, u32) = (6, 0);

/// The largest number of blocks of a cluster, if clusters larger than the portable 8 were asked for.
///
/// Source: the CUDA programming guide's table of compute capabilities.
pub(crate) fn largest_cluster(compute_capability: (u32, u32)) -> u32 {
    match compute_capability.0 {
        ..9 => 0,
        9..=11 => 16,
        _ => 8,
    }
}

/// The number of blocks that can be on the device at once, if nothing else is.
pub(crate) fn resident_blocks(info: &Info, block: [u32; 3], shared: u32) -> u64 {
    let (threads, blocks, reserved) = per_multiprocessor(info.compute_capability);
    // Warps are allocated whole.
    let by_threads = threads / volume(block).max(1).next_multiple_of(32);
    let room = u64::from(info.max_shared) + reserved;
    let by_shared = room.checked_div(u64::from(shared) + reserved).unwrap_or(blocks);
    blocks.min(by_threads).min(by_shared) * u64::from(info.multiprocessors)
}

/// The threads and blocks that fit a multiprocessor, and the bytes of shared memory that CUDA itself takes
/// for each block.
///
/// Source: the CUDA programming guide's table of compute capabilities.
fn per_multiprocessor(compute_capability: (u32, u32)) -> (u64, u64, u64) {
    match compute_capability {
        (..=6, _) | (7, 0..5) => (2048, 32, 0),
        (7, _) => (1024, 16, 0),
        (8, 0) => (2048, 32, 1024),
        (8, 9) => (1536, 24, 1024),
        (8, _) => (1536, 16, 1024),
        (9..=11, _) => (2048, 32, 1024),
        _ => (1536, 24, 1024),
    }
}
