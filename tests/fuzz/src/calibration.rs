//! Calibration files.

use std::cell::OnceCell;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use thalweg::prelude::*;
use thalweg::sim::{DeviceModel, MachineModel};

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// A file that is accepted, as the calibration of a device or of a machine, is text of at most 64 KiB or 1 MiB. Its
/// model is saved as a file of the same meaning. A simulated device of that model computes, or says why not.
///
/// # Panics
///
/// If that does not hold.
pub fn calibration(bytes: &[u8]) {
    let path = FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| tempfile::tempdir().expect("a folder"));
        folder.path().join("calibration")
    });
    let load = |path: &Path| MachineModel::load(path);
    if let Some(machine) = loaded(bytes, &path, 1 << 20, load, |model, path| model.save(path)) {
        assert!(!machine.devices.is_empty(), "a machine has devices");
    }
    let load = |path: &Path| DeviceModel::load(path);
    let Some(model) = loaded(bytes, &path, 1 << 16, load, |model, path| model.save(path)) else { return };

    let device = Device::simulated(model);
    // It may have no memory for it.
    let run = super::npy::Through::new(&device).and_then(|mut pipeline| {
        let mut z = [0.0; 10];
        pipeline.run(&[1.5; 10], &mut z).map(|report| (z, report))
    });
    match run {
        Ok((z, report)) => {
            assert_eq!(z, [1.5; 10]);
            assert!(!report.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The model in a file of these bytes, if it is accepted.
fn loaded<M: Debug + PartialEq>(
    bytes: &[u8],
    path: &Path,
    longest: usize,
    load: impl Fn(&Path) -> thalweg::Result<M>,
    save: impl Fn(&M, &Path) -> thalweg::Result<()>,
) -> Option<M> {
    fs::write(path, bytes).expect("the file can be written");
    let model = match load(path) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    assert!(bytes.len() <= longest && std::str::from_utf8(bytes).is_ok(), "it is no calibration");
    if bytes.len() > longest / 8 {
        // What was written by hand may have no room as Thalweg writes it.
        return Some(model);
    }
    save(&model, path).expect("what was loaded can be saved");
    let saved = fs::read(path).expect("it is there");
    let again = load(path).expect("what was saved is loaded");
    assert_eq!(again, model);
    save(&again, path).expect("it is saved again");
    assert_eq!(fs::read(path).expect("it is there"), saved, "the same model is saved as another text");
    Some(model)
}
