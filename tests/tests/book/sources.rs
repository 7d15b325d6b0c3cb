//! Sources and sinks, as their page shows them.

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use thalweg::bytemuck;
use thalweg::prelude::*;

use super::shown::{Particle, Through};

// ANCHOR: functions
stream_pipeline! {
    pipeline Numbers {
        input x: [u32];
        output z: [u32];
        chunk c = 4;
        stage through { copy x -> d; copy d -> z; }
    }
}

/// The largest number of each chunk, of the first ten squares.
fn largest_squares(numbers: &mut Numbers) -> thalweg::Result<Vec<u32>> {
    let squares = source::from_fn(|c, slot: &mut [u32]| {
        let len = slot.len().min(10 - c.start);
        for (i, square) in slot[..len].iter_mut().enumerate() {
            *square = (c.start + i).pow(2) as u32;
        }
        Ok(len) // less than the slot has room for: the end
    });
    let mut largest = Vec::new();
    let see = sink::for_each(|_, data: &[u32]| {
        largest.extend(data.iter().copied().max());
        Ok(())
    });
    numbers.run(squares, see)?;
    Ok(largest)
}
// ANCHOR_END: functions

#[test]
fn functions() -> thalweg::Result<()> {
    let mut numbers = Numbers::new(&Device::simulated(Simulation::h200()))?;
    assert_eq!(largest_squares(&mut numbers)?, [9, 49, 81]);
    Ok(())
}

// ANCHOR: structs
/// Reads chunk by chunk. A `BufReader` would gain nothing: a chunk is read at once.
fn streamed(through: &mut Through, path: &Path) -> Result<Vec<Particle>, Box<dyn Error>> {
    let mut there_and_back = Vec::new();
    let file = File::open(path)?;
    through.run(source::read(file), sink::extend(&mut there_and_back))?;
    Ok(there_and_back)
}

/// Reads all of it, into memory that is aligned for particles.
fn whole(path: &Path) -> std::io::Result<Vec<Particle>> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len() as usize / size_of::<Particle>();
    let mut particles = vec![Particle::zeroed(); len];
    file.read_exact(bytemuck::cast_slice_mut(&mut particles))?;
    Ok(particles)
}
// ANCHOR_END: structs

#[test]
fn structs() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("particles");
    let all: Vec<_> = (0..10).map(|i| Particle { position: [i as f32; 3], mass: 1.0 }).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&all);
    std::fs::write(&path, bytes)?;
    let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
    for particles in [streamed(&mut through, &path)?, whole(&path)?] {
        assert_eq!(bytemuck::cast_slice::<_, u8>(&particles), bytes);
    }
    Ok(())
}
