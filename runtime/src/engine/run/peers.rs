//! The ranks that the two sides of a `pass` name.

/// The rank that each rank names in a `pass`, if it names one.
#[derive(Debug)]
pub struct EachRank<F>(Option<F>);

/// The ranks that an expression names, one for each rank.
pub fn everyone<P: Peer, F: Fn(usize) -> P>(of: F) -> EachRank<F> {
    EachRank(Some(of))
}

/// The side of a `pass` that follows from the other one.
pub fn nobody() -> EachRank<fn(usize) -> usize> {
    EachRank(None)
}

/// A rank, or none: what an expression of `pass` may give.
pub trait Peer {
    #[doc(hidden)]
    fn rank(self) -> Option<usize>;
}

impl Peer for usize {
    fn rank(self) -> Option<usize> {
        Some(self)
    }
}

impl Peer for Option<usize> {
    fn rank(self) -> Option<usize> {
        self
    }
}

impl<P: Peer, F: Fn(usize) -> P> EachRank<F> {
    /// The ranks that the ranks of a world of this size name.
    pub(super) fn all(&self, size: usize) -> Option<Vec<Option<usize>>> {
        let of = self.0.as_ref()?;
        Some((0..size).map(|rank| of(rank).rank()).collect())
    }
}

/// The ranks from which all ranks receive, and those to which they send, if the two fit.
pub(super) fn matched(
    of: Option<Vec<Option<usize>>>,
    towards: Option<Vec<Option<usize>>>,
    size: usize,
) -> Result<[Vec<Option<usize>>; 2], String> {
    let inverse = |all: &[Option<usize>], word: &str| {
        let mut inverse = vec![None; size];
        for (rank, other) in all.iter().enumerate() {
            let Some(other) = *other else { continue };
            let Some(place) = inverse.get_mut(other) else {
                return Err(format!("rank {rank} names rank {other}, but there are {size} ranks"));
            };
            if let Some(first) = place.replace(rank) {
                return Err(format!("ranks {first} and {rank} both pass {word} rank {other}"));
            }
        }
        Ok(inverse)
    };
    match (of, towards) {
        (Some(of), None) => {
            let towards = inverse(&of, "from")?;
            Ok([of, towards])
        }
        (None, Some(towards)) => {
            let of = inverse(&towards, "to")?;
            Ok([of, towards])
        }
        (Some(of), Some(towards)) => {
            let expected = inverse(&towards, "to")?;
            inverse(&of, "from")?;
            match (0..size).find(|&rank| of[rank] != expected[rank]) {
                None => Ok([of, towards]),
                Some(rank) => {
                    let named = |rank: Option<usize>| rank.map_or("none".to_owned(), |rank| rank.to_string());
                    Err(format!(
                        "rank {rank} receives from {}, but {} sends to it",
                        named(of[rank]),
                        named(expected[rank])
                    ))
                }
            }
        }
        (None, None) => Err("neither side names a rank".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(size: usize, by: usize) -> Vec<Option<usize>> {
        (0..size).map(|rank| Some((rank + by) % size)).collect()
    }

    #[test]
    fn one_side_of_a_pass_follows_from_the_other() {
        assert_eq!(matched(None, Some(ring(4, 1)), 4), Ok([ring(4, 3), ring(4, 1)]));
        assert_eq!(matched(Some(ring(4, 3)), None, 4), Ok([ring(4, 3), ring(4, 1)]));
        assert_eq!(matched(Some(ring(4, 3)), Some(ring(4, 1)), 4), Ok([ring(4, 3), ring(4, 1)]));
        let line = vec![Some(1), Some(2), None];
        assert_eq!(matched(None, Some(line.clone()), 3), Ok([vec![None, Some(0), Some(1)], line]));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let why = |of, towards| matched(of, towards, 3).unwrap_err();
        assert_eq!(why(None, Some(vec![Some(1), Some(1), None])), "ranks 0 and 1 both pass to rank 1");
        assert_eq!(why(Some(vec![Some(2), Some(2), None]), None), "ranks 0 and 1 both pass from rank 2");
        assert_eq!(why(None, Some(vec![Some(3), None, None])), "rank 0 names rank 3, but there are 3 ranks");
        assert_eq!(why(Some(ring(3, 1)), Some(ring(3, 1))), "rank 0 receives from 1, but 2 sends to it");
        assert_eq!(why(None, None), "neither side names a rank");
    }
}
