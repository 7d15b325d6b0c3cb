//! The numbers themselves, computed on the CPU: Philox4x32-10 in the order in which cuRAND's generator gives
//! them.
//!
//! The generator is a function of a counter and a key (Salmon et al., *Parallel random numbers: as easy as 1,
//! 2, 3*, SC 2011). cuRAND's `CURAND_ORDERING_PSEUDO_LEGACY` deals the numbers out to [`LANES`] lanes, a quad
//! to each in turn: the number at a position is a function of the seed and the position alone.

use std::f32::consts::TAU;
use std::f64::consts::PI;

use rayon::prelude::*;

/// The number of subsequences that the sequence is dealt out to.
const LANES: u64 = 1 << 16;

/// The number of elements that all lanes together give in one turn.
pub(super) const TURN: u64 = 4 * LANES;

/// The number of elements that one task fills.
const PIECE: usize = 1 << 14;

// Note 19: the bits are those of the GPU.
/// Ten rounds of Philox4x32.
fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let high_low = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    };
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for _ in 0..10 {
        let (high_a, low_a) = high_low(0xD251_1F53, a);
        let (high_c, low_c) = high_low(0xCD9E_8D57, c);
        [a, b, c, d] = [high_c ^ b ^ k, low_c, high_a ^ d ^ l, low_a];
        k = k.wrapping_add(0x9E37_79B9);
        l = l.wrapping_add(0xBB67_AE85);
    }
    [a, b, c, d]
}

/// The four words of one lane that were used last. They are kept because neighbouring elements come from the
/// same four.
#[derive(Debug)]
pub struct Words {
    key: [u32; 2],
    at: Option<(u64, u64)>,
    words: [u32; 4],
}

impl Words {
    fn new(seed: u64) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], at: None, words: [0; 4] }
    }

    fn get(&mut self, lane: u64, count: u64) -> [u32; 4] {
        if self.at != Some((lane, count)) {
            self.at = Some((lane, count));
            self.words = philox([count as u32, (count >> 32) as u32, lane as u32, 0], self.key);
        }
        self.words
    }

    /// The 32 bits of an element.
    fn bits(&mut self, position: u64) -> u32 {
        let quad = position / 4;
        self.get(quad % LANES, quad / LANES)[(position % 4) as usize]
    }

    /// The 53 bits of a 64-bit element: a lane's quad takes two turns of words.
    fn wide_bits(&mut self, position: u64) -> u64 {
        let quad = position / 4;
        let words = self.get(quad % LANES, quad / LANES * 2 + position % 4 / 2);
        let half = (position % 2) as usize * 2;
        u64::from(words[half]) ^ (u64::from(words[half + 1]) << 21)
    }
}

/// An element type that cuRAND has distributions of.
pub trait Real: Copy + Send + Sync {
    /// A uniform number in (0, 1].
    fn uniform(words: &mut Words, position: u64) -> Self;

    /// A normal number of mean 0 and deviation 1: Box and Muller's sine for the even positions, cosine for
    /// the odd.
    fn normal(words: &mut Words, position: u64) -> Self;

    fn scaled(self, mean: Self, deviation: Self) -> Self;
}

const UNIT_32: f32 = 1.0 / 4_294_967_296.0;
const UNIT_53: f64 = 1.0 / 9_007_199_254_740_992.0;

impl Real for f32 {
    fn uniform(words: &mut Words, position: u64) -> Self {
        words.bits(position) as f32 * UNIT_32 + UNIT_32 / 2.0
    }

    fn normal(words: &mut Words, position: u64) -> Self {
        let pair = position & !1;
        let radius = (-2.0 * Self::uniform(words, pair).ln()).sqrt();
        let unit = UNIT_32 * TAU;
        let angle = words.bits(pair + 1) as f32 * unit + unit / 2.0;
        radius * if position == pair { angle.sin() } else { angle.cos() }
    }

    fn scaled(self, mean: Self, deviation: Self) -> Self {
        self * deviation + mean
    }
}

impl Real for f64 {
    fn uniform(words: &mut Words, position: u64) -> Self {
        words.wide_bits(position) as f64 * UNIT_53 + UNIT_53 / 2.0
    }

    fn normal(words: &mut Words, position: u64) -> Self {
        let pair = position & !1;
        let radius = (-2.0 * Self::uniform(words, pair).ln()).sqrt();
        let angle = (words.wide_bits(pair + 1) as f64 * (2.0 * UNIT_53) + UNIT_53) * PI;
        radius * if position == pair { angle.sin() } else { angle.cos() }
    }

    fn scaled(self, mean: Self, deviation: Self) -> Self {
        self * deviation + mean
    }
}

/// Fills `out` with the elements from `position` on.
fn fill<T: Send>(seed: u64, position: u64, out: &mut [T], element: impl Fn(&mut Words, u64) -> T + Sync) {
    out.par_chunks_mut(PIECE).enumerate().for_each(|(piece, out)| {
        let mut words = Words::new(seed);
        let start = position + (piece * PIECE) as u64;
        for (out, position) in out.iter_mut().zip(start..) {
            *out = element(&mut words, position);
        }
    });
}

pub(super) fn bits(seed: u64, position: u64, out: &mut [u32]) {
    fill(seed, position, out, Words::bits);
}

pub(super) fn uniform<T: Real>(seed: u64, position: u64, out: &mut [T]) {
    fill(seed, position, out, T::uniform);
}

pub(super) fn normal<T: Real>(seed: u64, position: u64, mean: T, deviation: T, out: &mut [T]) {
    fill(seed, position, out, |words, position| T::normal(words, position).scaled(mean, deviation));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 0x1234_5678_90AB_CDEF;

    fn filled<T: Default + Clone>(len: usize, fill: impl FnOnce(&mut [T])) -> Vec<T> {
        let mut out = vec![T::default(); len];
        fill(&mut out);
        out
    }

    /// The authors of Philox publish these answers for checking an implementation (`kat_vectors` of
    /// Random123).
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        assert_eq!(philox([!0; 4], [!0; 2]), [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
        let counter = [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344];
        let words = [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1];
        assert_eq!(philox(counter, [0xA409_3822, 0x299F_31D0]), words);
    }

    /// These bits were recorded from a host generator of `CURAND_RNG_PSEUDO_PHILOX4_32_10` of cuRAND 10.3.10,
    /// and are the same from 10.4.5.
    #[test]
    fn the_bits_are_curands() {
        let cases = [
            (0, [0x682F_9A6D, 0xBB89_ABEB, 0xC9D6_4727, 0xE799_23E9, 0x5909_7AB5]),
            (262_143, [0xD00F_D03B, 0x1135_4576, 0x1C76_653C, 0xC891_E49E, 0x6B18_6A7F]),
            ((1 << 40) + 5, [0x3896_1542, 0xBA48_E713, 0xBD60_DE49, 0x62F4_B8B7, 0xB07E_57EF]),
        ];
        for (position, expected) in cases {
            assert_eq!(filled(5, |out| bits(SEED, position, out)), expected, "{position}");
        }
    }

    #[test]
    fn uniform_numbers_are_curands() {
        let cases = [
            (0, [0x3ED0_5F35, 0x3F3B_89AC, 0x3F49_D647, 0x3F67_9924, 0x3EB2_12F5]),
            (262_143, [0x3F50_0FD0, 0x3D89_AA2C, 0x3DE3_B32A, 0x3F48_91E5, 0x3ED6_30D5]),
            ((1 << 40) + 5, [0x3E62_5855, 0x3F3A_48E7, 0x3F3D_60DE, 0x3EC5_E971, 0x3F30_7E58]),
        ];
        for (position, expected) in cases {
            let out = filled(5, |out| uniform::<f32>(SEED, position, out));
            assert_eq!(out, expected.map(f32::from_bits), "{position}");
        }
        // The wide elements take two of a lane's turns.
        let wide = [
            (
                0,
                [
                    0x3FE7_7135_154F_9A6E,
                    0x3FEC_F324_B4F6_4728,
                    0x3FBC_7665_B5AA_2BB4,
                    0x3FDA_C61B_0EE3_C93D,
                    0x3FE1_8CBA_2929_7AB6,
                ],
            ),
            (
                TURN - 2,
                [
                    0x3FE4_5B18_58D8_6B06,
                    0x3FE2_6345_DF4A_C232,
                    0x3FBB_1723_332E_CAB4,
                    0x3FE2_28B3_46CE_4F9C,
                    0x3FCB_9286_9C99_6CA6,
                ],
            ),
            (
                2 * TURN - 2,
                [
                    0x3FEE_10F3_813E_E1E8,
                    0x3FD7_F858_0581_54AB,
                    0x3FE2_430F_A3B5_F88E,
                    0x3FCF_936C_5435_CE8A,
                    0x3FE3_2501_368D_1C60,
                ],
            ),
        ];
        for (position, expected) in wide {
            let out = filled(5, |out| uniform::<f64>(SEED, position, out));
            assert_eq!(out, expected.map(f64::from_bits), "{position}");
        }
    }

    /// The sine, cosine and logarithm are the platform's, so the last digit may differ.
    #[test]
    fn normal_numbers_are_curands_up_to_rounding() {
        let near = |out: f64, expected: f64, unit: f64| {
            (out - expected).abs() <= 8.0 * unit * expected.abs().max(1.0)
        };
        let narrow = [
            (0, [-1.332_861_7, -0.146_560_1, -0.388_710_17, 0.569_507]),
            (TURN - 2, [-0.151_681_33, 0.063_098_04, 1.494_435_2, 1.779_398_1]),
            (2 * TURN - 2, [-1.208_346, -2.385_639, 1.176_775_3, 1.501_022]),
        ];
        for (position, expected) in narrow {
            let out = filled(4, |out| normal::<f32>(SEED, position, 0.0, 1.0, out));
            for (out, expected) in out.iter().zip(expected) {
                assert!(near((*out).into(), expected, f32::EPSILON.into()), "{position}: {out} {expected}");
            }
        }
        let wide = [
            (
                0,
                [
                    -0.444_747_446_279_497_25,
                    0.651_609_158_552_473_5,
                    1.028_837_448_790_378_4,
                    -1.826_109_052_155_743_7,
                ],
            ),
            (
                TURN - 2,
                [
                    -0.429_791_022_963_833_2,
                    -0.848_537_423_902_737_8,
                    -0.871_792_449_221_24,
                    -1.931_832_131_537_507_5,
                ],
            ),
            (
                2 * TURN - 2,
                [
                    0.250_399_284_514_897_2,
                    -0.248_933_188_785_442_68,
                    1.058_936_019_495_988_5,
                    0.022_049_543_699_630_855,
                ],
            ),
        ];
        for (position, expected) in wide {
            let out = filled(4, |out| normal::<f64>(SEED, position, 0.0, 1.0, out));
            for (out, expected) in out.iter().zip(expected) {
                assert!(near(*out, expected, f64::EPSILON), "{position}: {out} {expected}");
            }
        }
        let out = filled(4, |out| normal::<f64>(SEED, 0, 10.0, 2.0, out));
        for (out, expected) in out.iter().zip([9.110_505_107_441_005, 11.303_218_317_104_946]) {
            assert!(near(*out, expected, f64::EPSILON), "{out} {expected}");
        }
    }

    #[test]
    fn what_is_at_a_position_does_not_depend_on_where_it_is_cut() {
        let whole = filled(3 * PIECE + 5, |out| normal::<f64>(7, TURN - 9, 0.0, 1.0, out));
        for cut in [1, 2, 9, 10, PIECE - 1, PIECE + 3] {
            let rest = filled(whole.len() - cut, |out| normal(7, TURN - 9 + cut as u64, 0.0, 1.0, out));
            assert_eq!(whole[cut..], rest, "{cut}");
        }
    }

    #[test]
    fn uniform_numbers_are_above_0_and_at_most_1() {
        assert_eq!((u32::MAX as f32 * UNIT_32 + UNIT_32 / 2.0, UNIT_32 / 2.0), (1.0, 2f32.powi(-33)));
        let most = ((1_u64 << 53) - 1) as f64 * UNIT_53 + UNIT_53 / 2.0;
        assert_eq!((most, UNIT_53 / 2.0), (1.0, 2f64.powi(-54)));
    }
}
