//! What the devices of a run agree on before it begins: its chunks.

use crate::base::error::{Detail, Result};
use crate::engine::ChunkSize;
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::frame::ending::named;

/// The memory of a device for a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Room {
    /// That of the run before, whose graphs it launches again.
    Kept,
    /// Prepared. `stages`: whether any data go through the staging memory.
    Made { stages: bool },
}

/// The chunks of a run: as large as the slowest device wants them.
pub(super) fn common_chunking(calls: &mut [Call<'_, '_>], declared: ChunkSize) -> Result<Chunking> {
    let mut common: Option<Chunking> = None;
    for call in calls {
        let own = call.choose(declared);
        let own = own.map_err(|error| named(error, |error| call.pipeline.named(error)))?;
        let is_smaller = common.is_none_or(|common| own.largest() < common.largest());
        common = if is_smaller { Some(own) } else { common };
    }
    common.ok_or_else(|| Detail::NoDevices.into())
}

/// Prepares the memory of each device that does not repeat the run before. Returns the chunks for which all have room.
pub(super) fn make_room(
    calls: &mut [Call<'_, '_>],
    declared: ChunkSize,
    mut chunking: Chunking,
) -> Result<(Chunking, Vec<Room>)> {
    loop {
        let mut rooms = Vec::with_capacity(calls.len());
        let before = chunking;
        for call in &mut *calls {
            if call.may_repeat(chunking) {
                rooms.push(Room::Kept);
                continue;
            }
            let stages = call.make_room(declared, &mut chunking);
            let stages = stages.map_err(|error| call.pipeline.named(error))?;
            rooms.push(Room::Made { stages });
        }
        // A device without room for chunks of this size makes them smaller, and so more, for all.
        if chunking == before {
            return Ok((chunking, rooms));
        }
    }
}
