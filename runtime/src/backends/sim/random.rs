//! Random numbers that are the same on every machine.

/// A small random number generator (SplitMix64), the same on every machine.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let z = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        // The high half of a product: no bias worth mentioning for so few streams.
        ((u128::from(z) * n as u128) >> 64) as usize
    }
}

/// The distance from one state to the next.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number of a state.
pub(crate) fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
