//! The types of Rust's numbers, and the values with which everything is tried.

use std::fmt;

/// A number or a `bool`, as bits.
pub trait Value: Copy + fmt::Debug + 'static {
    const NAME: &'static str;

    fn bits(self) -> u64;
    fn of(bits: u64) -> Self;
}

/// A number with tables of values.
pub trait Number: Value {
    /// The interesting ones, for functions of one number.
    fn many() -> Vec<Self>;
    /// Fewer, for functions of two.
    fn some() -> Vec<Self>;
    /// Few, for functions of three.
    fn few() -> Vec<Self>;
}

/// Numbers without a pattern, the same in each run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Each once, in the order of their bits.
fn distinct<T: Value>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut bits: Vec<_> = values.into_iter().map(T::bits).collect();
    bits.sort_unstable();
    bits.dedup();
    bits.into_iter().map(T::of).collect()
}

macro_rules! integers {
    ($($ty:ident as $unsigned:ident),*) => {$(
        impl Value for $ty {
            const NAME: &'static str = stringify!($ty);

            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            fn of(bits: u64) -> Self {
                bits as $ty
            }
        }

        impl Number for $ty {
            fn many() -> Vec<Self> {
                if $ty::BITS == 8 {
                    return (0..256).map(Self::of).collect();
                }
                let powers = (0..$ty::BITS).flat_map(|bit| {
                    let power = (1 as $ty) << bit;
                    let around = [power.wrapping_sub(1), power, power.wrapping_add(1)];
                    around.into_iter().flat_map(|near| [near, near.wrapping_neg()])
                });
                let tens = (0..20).map_while(|power| (10 as $ty).checked_pow(power));
                let tens = tens.flat_map(|ten| [ten - 1, ten, ten + 1]);
                let mut random = Random::new(1);
                let random = (0..100).map(|_| Self::of(random.next() >> (random.next() % 64)));
                distinct(powers.chain(tens).chain(random))
            }

            fn some() -> Vec<Self> {
                if $ty::BITS == 8 {
                    return Self::many();
                }
                let halves = [$ty::BITS / 2, $ty::BITS - 1].map(|bit| (1 as $ty) << bit);
                let near = |value: $ty| [-2_i8, -1, 0, 1].map(|by| value.wrapping_add(by as $ty));
                let small = [-10_i8, -7, -3, 0, 3, 7, 10].map(|small| small as $ty);
                // The greatest that can be squared.
                let root = ((Self::MAX as u64).isqrt()) as $ty;
                let least = [Self::MIN / 2, Self::MIN + 1, Self::MIN + 2, Self::MAX / 2, Self::MAX - 2];
                let mut random = Random::new(2);
                let random = (0..12).map(|_| Self::of(random.next() >> (random.next() % 64)));
                let edges = halves.into_iter().chain([0, root, root.wrapping_neg()]).flat_map(near);
                distinct(edges.chain(small).chain(least).chain(random))
            }

            fn few() -> Vec<Self> {
                let edges = [Self::MIN, Self::MIN + 1, Self::MAX - 1, Self::MAX, Self::MAX / 2];
                let small = [-100_i8, -2, -1, 0, 1, 2, 99].map(|small| small as $ty);
                let mut random = Random::new(3);
                let random = (0..8).map(|_| Self::of(random.next() >> (random.next() % 64)));
                distinct(edges.into_iter().chain(small).chain(random))
            }
        }
    )*};
}
integers!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, i8 as u8, i16 as u16, i32 as u32, i64 as u64);

/// `usize` and `isize` have 64 bits on a GPU, and on the hosts of the tests.
macro_rules! sizes {
    ($($ty:ident as $fixed:ident),*) => {$(
        impl Value for $ty {
            const NAME: &'static str = stringify!($ty);

            fn bits(self) -> u64 {
                self as u64
            }

            fn of(bits: u64) -> Self {
                bits as $ty
            }
        }

        impl Number for $ty {
            fn many() -> Vec<Self> {
                $fixed::many().into_iter().map(|value| value as $ty).collect()
            }

            fn some() -> Vec<Self> {
                $fixed::some().into_iter().map(|value| value as $ty).collect()
            }

            fn few() -> Vec<Self> {
                $fixed::few().into_iter().map(|value| value as $ty).collect()
            }
        }
    )*};
}
sizes!(usize as u64, isize as i64);

impl Value for bool {
    const NAME: &'static str = "bool";

    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn of(bits: u64) -> Self {
        bits != 0
    }
}

macro_rules! floats {
    ($($ty:ident $mantissa:literal),*) => {$(
        impl Value for $ty {
            const NAME: &'static str = stringify!($ty);

            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }

            fn of(bits: u64) -> Self {
                $ty::from_bits(bits as _)
            }
        }

        impl Number for $ty {
            fn many() -> Vec<Self> {
                // Where the integers end, and where fractions, and every integer, do.
                let powers = [0, 1, 7, 8, 15, 16, 22, 23, 24, 25, 31, 32, 51, 52, 53, 54, 62, 63, 64, 65];
                let powers = powers.map(|power: i32| (2 as $ty).powi(power));
                let near = powers.into_iter().flat_map(|power| {
                    let next = [power.next_down(), power, power.next_up()];
                    next.into_iter().chain([-0.5, 0.5, -1.0, 1.5].map(|by| power + by))
                });
                let tiny = [1, 2, 3].map(<$ty as Value>::of);
                let tiny = tiny.into_iter().chain([$ty::MIN_POSITIVE.next_down(), $ty::MIN_POSITIVE]);
                let halves = (0..12).map(|half| half as $ty / 2.0);
                let halves = halves.flat_map(|half| [half.next_down(), half, half.next_up()]);
                // For logarithms and their like, whose results are 0 at 1.
                let about_one = (1..$mantissa).flat_map(|power| {
                    let small = (0.5 as $ty).powi(power);
                    [small, 1.0 - small, 1.0 + small]
                });
                let great = (1..12).map(|power| $ty::MAX / (1000 as $ty).powi(power));
                let edges = [$ty::MAX, $ty::MAX / 2.0, $ty::INFINITY, $ty::NAN, $ty::EPSILON];
                let edges = edges.into_iter().chain([88.7, 103.9, 709.7, 744.4]);
                let mut random = Random::new(4);
                let any = (0..150).map(|_| <$ty as Value>::of(random.next()));
                let any: Vec<_> = any.collect();
                let moderate = (0..150).map(|_| (random.next() as $ty / u64::MAX as $ty - 0.5) * 40.0);
                let all = near.chain(tiny).chain(halves).chain(about_one).chain(great).chain(edges);
                let all = all.chain(any).chain(moderate).flat_map(|value| [value, -value]);
                distinct(all.map(quiet))
            }

            fn some() -> Vec<Self> {
                let edges = [
                    0.0, 1.0, $ty::EPSILON, 0.1, 0.5, 1.5, 2.0, 2.5, 3.0, 7.0, 10.0, 100.5, 1e10, 1e-10,
                    <$ty as Value>::of(1), $ty::MIN_POSITIVE.next_down(), $ty::MIN_POSITIVE, $ty::MAX,
                    $ty::MAX / 3.0, $ty::INFINITY, $ty::NAN, 1.0 + $ty::EPSILON, 1.0 - $ty::EPSILON / 2.0,
                    8388608.0, 16777217.0, 9007199254740992.0,
                ];
                let mut random = Random::new(5);
                let any: Vec<_> = (0..12).map(|_| <$ty as Value>::of(random.next())).collect();
                let moderate = (0..12).map(|_| random.next() as $ty / u64::MAX as $ty * 20.0);
                let all = edges.into_iter().chain(any).chain(moderate).flat_map(|value| [value, -value]);
                distinct(all.map(quiet))
            }

            fn few() -> Vec<Self> {
                let edges =
                    [0.0, 1.0, 0.1, 1.5, 3.0, 1.0 + $ty::EPSILON, 1e10, $ty::MAX, $ty::MIN_POSITIVE / 4.0,
                    $ty::INFINITY, $ty::NAN];
                let mut random = Random::new(6);
                let any: Vec<_> = (0..3).map(|_| <$ty as Value>::of(random.next())).collect();
                let moderate = (0..4).map(|_| random.next() as $ty / u64::MAX as $ty * 20.0);
                let all = edges.into_iter().chain(any).chain(moderate).flat_map(|value| [value, -value]);
                distinct(all.map(quiet))
            }
        }
    )*};
}
floats!(f32 24, f64 53);

/// The value, but for a NaN the one that arithmetic makes: what a signaling NaN does is promised nowhere.
fn quiet<T: Value + PartialEq>(value: T) -> T {
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    let is_nan = value != value;
    match T::NAME {
        "f32" if is_nan => T::of(value.bits() | 0x0040_0000),
        "f64" if is_nan => T::of(value.bits() | 0x0008_0000_0000_0000),
        _ => value,
    }
}
