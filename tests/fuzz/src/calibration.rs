//! Calibration files.

use std::cell::OnceCell;
use std::fs;

use tempfile::TempDir;
use thalweg::prelude::*;
use thalweg::sim::DeviceModel;

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// A file that is accepted is text of at most 64 KiB. Its device model is saved as a file of the same
/// meaning. A simulated device of that model computes, or says why not.
///
/// # Panics
///
/// If that does not hold.
pub fn calibration(bytes: &[u8]) {
    let path = FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| tempfile::tempdir().expect("a folder"));
        folder.path().join("calibration")
    });
    fs::write(&path, bytes).expect("the file can be written");
    let model = match DeviceModel::load(&path) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(bytes.len() <= 1 << 16 && std::str::from_utf8(bytes).is_ok(), "it is no calibration");
    model.save(&path).expect("what was loaded can be saved");
    let saved = fs::read(&path).expect("it is there");
    let again = DeviceModel::load(&path).expect("what was saved is loaded");
    assert_eq!(again, model);
    again.save(&path).expect("it is saved again");
    assert_eq!(fs::read(&path).expect("it is there"), saved, "the same model is saved as another text");

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
