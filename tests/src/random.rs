//! Reproducible data for the tests of kernels.

/// Numbers that follow from a seed: SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators" (2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `0..end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Evenly from `low..high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `len` numbers, evenly from `low..high`.
    pub fn floats(&mut self, len: usize, low: f32, high: f32) -> Vec<f32> {
        (0..len).map(|_| self.between(low.into(), high.into()) as f32).collect()
    }

    /// `len` floats of any bits, and every eighth a [`SPECIAL`] one: NaN, infinities, subnormal numbers and
    /// both zeros are among them.
    pub fn any_floats(&mut self, len: usize) -> Vec<f32> {
        let special = SPECIAL.len() as u64;
        (0..len)
            .map(|_| match self.below(8) {
                0 => SPECIAL[self.below(special) as usize],
                _ => f32::from_bits(self.bits() as u32),
            })
            .collect()
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.bits() as u8).collect()
    }
}

/// Special values, at which arithmetic behaves differently.
pub const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    // The smallest and the largest subnormal numbers.
    f32::from_bits(1),
    f32::from_bits(0x8000_0001),
    f32::from_bits(0x007f_ffff),
    f32::from_bits(0x807f_ffff),
    f32::EPSILON,
];
