//! A seed and an order that all ranks agree on.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

use super::World;
use crate::base::error::Result;

impl World {
    /// A random number below 2^63 that all ranks get: rank 0 draws it. All ranks have to call it.
    ///
    /// It is for [`shuffled`](Self::shuffled), for random numbers of kernels, and for weights at the start. Keep it with a
    /// checkpoint, to go on in the same order. It is no secret.
    ///
    /// ```
    /// use thalweg::sim::{MachineModel, ranks};
    ///
    /// let seeds = ranks(MachineModel::h200(2), |world| world.seed().expect("all are there"));
    /// assert_eq!(seeds[0], seeds[1]);
    /// ```
    ///
    /// # Errors
    /// A rank does not come within the limit, does something else, or is gone.
    pub fn seed(&self) -> Result<u64> {
        let own = if self.rank() == 0 { drawn() } else { 0 };
        let all = self.gather("a seed", &own.to_le_bytes())?;
        let first = all.first().and_then(|bytes| bytes.as_slice().try_into().ok());
        Ok(first.map_or(own, u64::from_le_bytes))
    }

    /// This rank's share of the numbers below `items`, in an order that is random, but the same for the same seed: on
    /// every machine, and in all versions. All ranks work out the same order of all numbers, and each takes the part that
    /// [`part`](Self::part) gives it, so every number is on one rank. Nothing is sent.
    ///
    /// An epoch has a seed of its own, such as `seed + epoch`. To read the parts of a file in this order, see
    /// [`source::read_parts`](crate::io::source::read_parts).
    ///
    /// ```
    /// use thalweg::World;
    ///
    /// assert_eq!(World::alone().shuffled(8, 7), [7, 4, 6, 1, 2, 5, 0, 3]);
    ///
    /// let mut all: Vec<_> = World::together(3).iter().flat_map(|world| world.shuffled(8, 7)).collect();
    /// assert_eq!(all, World::alone().shuffled(8, 7));
    /// all.sort();
    /// assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7]);
    /// ```
    ///
    /// The whole order is in memory for a moment, 8 bytes for each number: shuffle blocks of a large file, not its bytes.
    pub fn shuffled(&self, items: usize, seed: u64) -> Vec<usize> {
        let mut all = order(items, seed);
        all.truncate(self.part(items).end);
        all.drain(..self.part(items).start);
        all.shrink_to_fit();
        all
    }
}

/// A number that nobody has seen. `seed + epoch` stays below 2^64.
fn drawn() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // A forked process has the same keys.
    RandomState::new().hash_one((std::process::id(), now)) >> 1
}

/// The numbers below `items` in the order of Fisher and Yates, from the last place to the first.
fn order(items: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items).collect();
    let mut random = Random(seed);
    for place in (1..items).rev() {
        order.swap(place, random.up_to(place as u64) as usize);
    }
    order
}

/// SplitMix64.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `most`, each as likely as any other: the high half of a product. Low halves below
    /// `2^64 % n` belong to numbers that would come once too often, and are drawn again.
    ///
    /// Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
    fn up_to(&mut self, most: u64) -> u64 {
        let Some(n) = most.checked_add(1) else { return self.next() };
        let surplus = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next()) * u128::from(n);
            if product as u64 >= surplus {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, drawn, order};
    use crate::world::World;

    /// The numbers of the published generator.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = Random(1_234_567);
        let first = [random.next(), random.next(), random.next()];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    /// No version may change these.
    #[test]
    fn orders_remain() {
        for (items, seed, expected) in [
            (0, 7, &[][..]),
            (1, 7, &[0]),
            (2, 1, &[0, 1]),
            (8, 7, &[7, 4, 6, 1, 2, 5, 0, 3]),
            (8, 8, &[3, 5, 1, 0, 2, 6, 7, 4]),
            (10, u64::MAX, &[6, 7, 0, 3, 5, 4, 2, 1, 9, 8]),
        ] {
            assert_eq!(order(items, seed), expected, "{items} items, seed {seed}");
        }
        assert_eq!(order(1_000_000, 42)[..6], [570570, 13980, 646652, 868937, 453908, 535267]);
    }

    #[test]
    fn each_number_is_on_one_rank() {
        for items in [0, 1, 2, 3, 4, 7, 100] {
            for size in [1, 2, 3, 4, 7] {
                let worlds = World::together(size);
                let shares: Vec<_> = worlds.iter().map(|world| world.shuffled(items, 5)).collect();
                for (world, share) in worlds.iter().zip(&shares) {
                    assert_eq!(share.len(), world.part(items).len(), "{items} items, {size} ranks");
                }
                let mut all = shares.concat();
                assert_eq!(all, order(items, 5));
                all.sort_unstable();
                assert_eq!(all, (0..items).collect::<Vec<_>>(), "{items} items, {size} ranks");
            }
        }
    }

    /// All orders of four come equally often.
    #[test]
    fn no_order_is_preferred() {
        let mut seen = std::collections::BTreeMap::<_, u32>::new();
        for seed in 0..24_000 {
            *seen.entry(order(4, seed)).or_default() += 1;
        }
        assert_eq!(seen.len(), 24);
        assert!(seen.values().all(|times| (850..1150).contains(times)), "{seen:?}");
    }

    #[test]
    fn a_bound_takes_all_of_its_numbers() {
        let mut random = Random(3);
        assert!((0..100).all(|_| random.up_to(0) == 0));
        // Nearly half of what is drawn for this bound is drawn again.
        let half = (0..1000).filter(|_| random.up_to(1 << 63) < 1 << 62).count();
        assert!((400..600).contains(&half), "{half}");
        random.up_to(u64::MAX);
    }

    #[test]
    fn seeds_differ_and_leave_room_for_epochs() {
        let (one, other) = (drawn(), drawn());
        assert_ne!(one, other);
        assert!(one < 1 << 63 && other < 1 << 63);
    }

    #[test]
    fn all_ranks_get_the_seed_of_rank_0() {
        let worlds = World::together(3);
        let seeds: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = worlds.iter().map(|world| scope.spawn(|| world.seed().unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(seeds.iter().all(|seed| *seed == seeds[0]), "{seeds:?}");
        assert_ne!(World::alone().seed().unwrap(), World::alone().seed().unwrap());
    }

    #[test]
    fn a_rank_that_does_something_else_is_named() {
        let worlds = World::together(2);
        let errors = std::thread::scope(|scope| {
            let seed = scope.spawn(|| worlds[0].seed().unwrap_err().to_string());
            let barrier = scope.spawn(|| worlds[1].barrier().unwrap_err().to_string());
            [seed.join().unwrap(), barrier.join().unwrap()]
        });
        for error in errors {
            assert!(error.contains("`a seed`") && error.contains("`a barrier`"), "{error}");
        }
    }
}
