//! Another crate of the same build.

/// The device's name.
pub fn name(device: &thalweg::Device) -> String {
    device.name().to_owned()
}
