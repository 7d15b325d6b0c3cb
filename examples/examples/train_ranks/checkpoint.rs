//! Checkpoints: what a later run needs to continue, in a file.

use std::fs;
use std::path::Path;

use super::digits::{CLASSES, Random, weights};
use super::network::{FIRST, HIDDEN, INPUTS, SECOND, UNITS};

/// The first bytes of a checkpoint.
const MAGIC: [u8; 8] = *b"digits 1";
/// Bytes before the weights.
const HEAD: usize = 24;

/// The network after some steps.
pub struct Checkpoint {
    pub seed: u64,
    /// Steps that are behind.
    pub steps: u64,
    pub first: Vec<f32>,
    pub second: Vec<f32>,
}

impl Checkpoint {
    /// The network before the first step.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, u64::MAX);
        let first = weights(&mut random, INPUTS, UNITS);
        let second = weights(&mut random, HIDDEN, CLASSES);
        Self { seed, steps: 0, first, second }
    }

    /// Reads what [`save`](Self::save) has written.
    pub fn load(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        let other = || format!("`{}` is no checkpoint of this network", path.display());
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or_else(other)?;
        if head[..8] != MAGIC || rest.len() != 4 * (FIRST + SECOND) {
            return Err(other());
        }
        let all: Vec<f32> = rest.chunks(4).map(|bits| f32::from_bits(number(bits) as u32)).collect();
        let (first, second) = all.split_at(FIRST);
        Ok(Self {
            seed: number(&head[8..16]),
            steps: number(&head[16..]),
            first: first.into(),
            second: second.into(),
        })
    }

    /// Writes all to a file, numbers from their lowest byte on. The file is the old one or the new one at any
    /// moment, also if the program is killed.
    pub fn save(&self, path: &Path) -> Result<(), String> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([self.seed, self.steps].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(self.first.iter().chain(&self.second).flat_map(|weight| weight.to_le_bytes()));
        let new = path.with_extension("new");
        let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, path));
        written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
    }
}

/// The number that begins with its lowest byte.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
