//! Files that are mapped into memory are slices, as inputs and as outputs.

use std::fs::File;
use std::path::Path;

use memmap2::{Mmap, MmapMut};
use thalweg::bytemuck;
use thalweg::prelude::*;

use super::{Number, Through, opened};

// ANCHOR: mapped
/// Copies a file of numbers to another one.
fn copy(device: &Device, from: &Path, to: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (from, to) = (File::open(from)?, File::options().read(true).write(true).create_new(true).open(to)?);
    to.set_len(from.metadata()?.len())?;
    // SAFETY: nobody else changes or shortens these files while they are mapped.
    let (x, mut z) = unsafe { (Mmap::map(&from)?, MmapMut::map_mut(&to)?) };
    let x: &[f32] = bytemuck::try_cast_slice(&x).map_err(|error| error.to_string())?;
    let z: &mut [f32] = bytemuck::try_cast_slice_mut(&mut z).map_err(|error| error.to_string())?;
    Through::<f32>::new(device)?.run(4, x, z)?;
    Ok(())
}
// ANCHOR_END: mapped

#[test]
fn a_file_through_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to, odd, nothing] = ["from", "to", "odd", "nothing"].map(|name| folder.path().join(name));
    std::fs::write(&from, bytemuck::cast_slice::<f32, u8>(&f32::expected())).unwrap();
    let device = Device::simulated(Simulation::default());
    copy(&device, &from, &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), std::fs::read(&from).unwrap());
    // A file that does not hold a whole number of them is an error, not a panic.
    std::fs::write(&from, [0; 7]).unwrap();
    let error = copy(&device, &from, &odd).unwrap_err();
    assert!(error.to_string().contains("OutputSliceWouldHaveSlop"), "{error}");
    std::fs::write(&from, []).unwrap();
    copy(&device, &from, &nothing).unwrap();
    assert_eq!(std::fs::read(&nothing).unwrap(), []);
}

#[test]
fn a_npy_file_where_it_lies() {
    // SAFETY: nobody changes the fixtures.
    let file = unsafe { Mmap::map(&opened("f4.npy")) }.unwrap();
    let x: &[f32] = source::npy_slice(&file).unwrap();
    let mut z = vec![0.0; 12];
    let device = Device::simulated(Simulation::default());
    Through::<f32>::new(&device).unwrap().run(5, x, &mut z).unwrap();
    assert_eq!(z, f32::expected());
}
