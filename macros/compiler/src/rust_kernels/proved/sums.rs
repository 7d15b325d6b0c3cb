//! Sums of products of natural numbers, which tell that an index of several dimensions is within its bounds.
//!
//! An index such as `row * columns + column` is computed modulo a power of two. Written out as a sum of products it is
//! an integer without bounds, and the machine's number is this integer modulo that power. So it is no more than the
//! integer, if that is not below 0: whether a part of the computation has wrapped does not matter.
//!
//! What is known is a list of sums that are not below 0. To show that a sum is not below 0 either, one of them, times
//! a product of natural numbers, is taken away from it, until nothing is left that is taken away: what remains is then
//! not below 0, and the sum was no less.

use std::collections::BTreeMap;

use super::super::ir::Binary;
use super::terms::Term;

/// An integer without bounds: products of natural numbers that do not change, and how often each is there. The empty
/// product is 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sum(BTreeMap<Vec<Term>, i128>);

/// How many sums a proof may look at, how many products a sum may have, and how many factors a product.
const TRIED: usize = 200;
const PRODUCTS: usize = 24;
const FACTORS: usize = 5;

impl Sum {
    /// A number by itself.
    pub(super) fn of(term: &Term) -> Option<Self> {
        match term {
            Term::Integer(value) => Self::integer(i128::try_from(*value).ok()?),
            Term::Beyond(of, more) => {
                Self::of(&Term::Length(*of))?.plus(&Self::integer(i128::from(*more))?, 1)
            }
            _ => Some(Self([(vec![term.clone()], 1)].into())),
        }
    }

    pub(super) fn integer(value: i128) -> Option<Self> {
        Some(Self(if value == 0 { BTreeMap::new() } else { [(Vec::new(), value)].into() }))
    }

    /// The sum, and another one so many times; `None` if it is too large.
    pub(super) fn plus(&self, other: &Self, times: i128) -> Option<Self> {
        let mut parts = self.0.clone();
        for (product, count) in &other.0 {
            let part = parts.entry(product.clone()).or_insert(0);
            *part = part.checked_add(count.checked_mul(times)?)?;
        }
        parts.retain(|_, count| *count != 0);
        (parts.len() <= PRODUCTS).then_some(Self(parts))
    }

    pub(super) fn times(&self, other: &Self) -> Option<Self> {
        let mut result = Self::default();
        for (product, count) in &other.0 {
            result = result.plus(&self.times_product(product)?, *count)?;
        }
        Some(result)
    }

    fn times_product(&self, factors: &[Term]) -> Option<Self> {
        let mut parts = BTreeMap::new();
        for (product, count) in &self.0 {
            let mut product = [product, factors].concat();
            product.sort();
            if product.len() > FACTORS {
                return None;
            }
            parts.insert(product, *count);
        }
        Some(Self(parts))
    }

    /// Operators on numbers of so many bits, written out. The machine's number is this one modulo a power of two.
    /// What was computed with another number of bits stays as it is, and so does what is to be kept.
    fn written_out(term: &Term, bits: u32, is_kept: &impl Fn(&Term) -> bool) -> Option<Self> {
        match term {
            Term::Operator(op, number, a, b) if number.bits() == bits && !is_kept(term) => {
                let part = |term| Self::written_out(term, bits, is_kept);
                let parts = || Some((part(a)?, part(b)?));
                match op {
                    Binary::Add => parts().and_then(|(a, b)| a.plus(&b, 1)),
                    Binary::Subtract => parts().and_then(|(a, b)| a.plus(&b, -1)),
                    Binary::Multiply => parts().and_then(|(a, b)| a.times(&b)),
                    _ => Self::of(term),
                }
            }
            _ => Self::of(term),
        }
    }

    /// The index as it is written out, but for the operators that are to be kept.
    pub(super) fn index(term: &Term, is_kept: impl Fn(&Term) -> bool) -> Option<Self> {
        match term {
            Term::Operator(_, number, ..) => Self::written_out(term, number.bits(), &is_kept),
            _ => Self::of(term),
        }
    }

    /// A number that is no less than the term: its sum and products, which may have wrapped, as if they had not. A
    /// difference that has wrapped is more than what it is written out.
    pub(super) fn no_less_than(term: &Term) -> Option<Self> {
        let written_out = Self::index(term, |_| false)?;
        if written_out.is_natural() { Some(written_out) } else { Self::of(term) }
    }

    /// Whether nothing is taken away in it, so that it is not below 0.
    pub(super) fn is_natural(&self) -> bool {
        self.0.values().all(|count| *count > 0)
    }

    /// The same with 0 in place of a number.
    pub(super) fn without(&self, zero: &Term) -> Self {
        let parts = self.0.iter().filter(|(product, _)| !product.contains(zero));
        Self(parts.map(|(product, count)| (product.clone(), *count)).collect())
    }

    /// The numbers in it.
    pub(super) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.0.keys().flatten()
    }

    /// Whether it is not below 0, if none of these is.
    pub(super) fn follows_from(self, known: &[Self]) -> bool {
        let mut found = vec![self];
        let mut next = 0;
        while let Some(sum) = found.get(next).cloned() {
            next += 1;
            if sum.is_natural() {
                return true;
            }
            for less in sum.reduced(known) {
                if !found.contains(&less) && found.len() < TRIED {
                    found.push(less);
                }
            }
        }
        false
    }

    /// Sums that are no more than this one, in which one of the largest products that are taken away is not any more.
    fn reduced(&self, known: &[Self]) -> Vec<Self> {
        let negative = || self.0.iter().filter(|(_, count)| **count < 0);
        let largest = negative().map(|(product, _)| product.len()).max();
        let largest = negative().filter(|(product, _)| Some(product.len()) == largest);
        let mut all = Vec::new();
        for (product, count) in largest {
            for known in known {
                for (part, taken) in known.0.iter().filter(|(_, count)| **count < 0) {
                    // `-1` is a part of many sums, and says nothing of products.
                    if part.is_empty() != product.is_empty() || count.checked_rem(*taken) != Some(0) {
                        continue;
                    }
                    let Some(others) = divided(product, part) else { continue };
                    let less =
                        known.times_product(&others).and_then(|known| self.plus(&known, -(count / taken)));
                    all.extend(less);
                }
            }
        }
        all
    }
}

/// The factors of a product that are not those of another one; `None` if it does not have them all.
fn divided(product: &[Term], by: &[Term]) -> Option<Vec<Term>> {
    let mut left = product.to_vec();
    for factor in by {
        let place = left.iter().position(|other| other == factor)?;
        left.remove(place);
    }
    Some(left)
}

/// What a number's own operator says of it: sums that are not below 0.
pub(super) fn of_operator(term: &Term) -> Vec<Sum> {
    let less = |more: &Term, less: &Term, one: i128| {
        Sum::of(more)?.plus(&Sum::of(less)?, -1)?.plus(&Sum::integer(one)?, -1)
    };
    let all = match term {
        Term::Least(a, b) | Term::Operator(Binary::And, _, a, b) => vec![less(a, term, 0), less(b, term, 0)],
        // A division by 0 has ended the thread.
        Term::Operator(Binary::Remainder, _, a, b) => vec![less(a, term, 0), less(b, term, 1)],
        Term::Operator(Binary::Divide, _, a, b) => {
            let whole = || Sum::of(term)?.times(&Sum::of(b)?);
            let rest = || Sum::of(a)?.plus(&whole()?, -1);
            let missing = || Sum::of(b)?.plus(&rest()?, -1)?.plus(&Sum::integer(1)?, -1);
            vec![rest(), missing(), less(a, term, 0)]
        }
        Term::Operator(Binary::ShiftRight, _, a, _) => vec![less(a, term, 0)],
        _ => Vec::new(),
    };
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::ir::LocalId;
    use super::super::super::types::Number;
    use super::*;

    fn number(id: usize) -> Sum {
        Sum::of(&Term::Local(LocalId(id))).expect("a sum")
    }

    fn less(more: &Sum, less: &Sum, one: i128) -> Sum {
        more.plus(less, -1).and_then(|sum| sum.plus(&Sum::integer(one)?, -1)).expect("a sum")
    }

    #[test]
    fn a_sum_follows_from_bounds_of_its_factors() {
        let [row, rows, column, columns, length] = [0, 1, 2, 3, 4].map(number);
        let times = |a: &Sum, b: &Sum| a.times(b).expect("a sum");
        let index = times(&row, &columns).plus(&column, 1).expect("a sum");
        let known =
            [less(&rows, &row, 1), less(&columns, &column, 1), less(&length, &times(&rows, &columns), 0)];
        assert!(less(&length, &index, 1).follows_from(&known));
        assert!(!less(&length, &index, 2).follows_from(&known));
        for left_out in 0..3 {
            let known: Vec<_> = known
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != left_out)
                .map(|(_, sum)| sum.clone())
                .collect();
            assert!(!less(&length, &index, 1).follows_from(&known), "{left_out}");
        }
        // Nothing says that a number that is taken away is small.
        assert!(!less(&row, &column, 0).follows_from(&known));
        assert!(Sum::default().follows_from(&[]) && !Sum::integer(-1).expect("a sum").follows_from(&[]));
    }

    #[test]
    fn a_search_ends() {
        let all: Vec<_> = (0..12).map(number).collect();
        // Each is more than all others, so that there are many ways, and none of them leads anywhere.
        let known: Vec<_> = all.iter().flat_map(|a| all.iter().map(|b| less(a, b, 0))).collect();
        let sum = all[1..].iter().fold(Sum::default(), |sum, a| sum.plus(a, -1).expect("a sum"));
        assert!(!sum.follows_from(&known));
    }

    #[test]
    fn what_is_too_large_is_no_sum() {
        let a = number(0);
        let powers = (0..10).try_fold(Sum::integer(1).expect("a sum"), |power, _| power.times(&a));
        assert_eq!(powers, None);
        let most = Sum::integer(i128::MAX).expect("a sum");
        assert_eq!(most.plus(&most, 1), None);
        assert_eq!(Sum::of(&Term::Integer(u128::MAX)), None);
        let many = (0..40).try_fold(Sum::default(), |sum, id| sum.plus(&number(id), 1));
        assert_eq!(many, None);
    }

    #[test]
    fn operators_of_other_widths_stay() {
        let [a, b] = [0, 1].map(|id| Box::new(Term::Local(LocalId(id))));
        let product = Term::Operator(Binary::Multiply, Number::U32, a.clone(), b.clone());
        let sum = Term::Operator(Binary::Add, Number::Usize, Box::new(product.clone()), b);
        let written_out = Sum::index(&sum, |_| false).expect("a sum");
        assert!(written_out.terms().any(|term| *term == product));
        assert!(Sum::index(&product, |_| false).expect("a sum").terms().all(|term| *term != product));
    }
}
