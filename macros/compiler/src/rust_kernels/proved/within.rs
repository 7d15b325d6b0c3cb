//! Indices that sums of products show to be within their bounds.

use super::super::ir::Binary;
use super::sums::{self, Sum};
use super::terms::{Fact, Facts, Term};

impl Facts {
    /// Whether an index is known to be less than a length: by the order of terms, or by that of sums of products.
    pub(super) fn is_within(&self, index: &Term, length: &Term) -> bool {
        if self.is_below(index, length) {
            return true;
        }
        let more = |less: Sum| Sum::of(length)?.plus(&less, -1)?.plus(&Sum::integer(1)?, -1);
        let follows = |sum: Sum| {
            let known = self.known_of([&sum]);
            sum.follows_from(&known)
        };
        // A quotient is less than what its dividend is less than so many divisors of.
        if let Term::Operator(Binary::Divide, _, a, b) = index {
            let more =
                || Sum::of(length)?.times(&Sum::of(b)?)?.plus(&Sum::of(a)?, -1)?.plus(&Sum::integer(1)?, -1);
            return more().is_some_and(follows);
        }
        // If a product is taken away, the machine's number may have wrapped.
        let is_within =
            |index: Sum| (index.is_natural() || follows(index.clone())) && more(index).is_some_and(follows);
        // What is known of an operator's result is no fact of its operands.
        let is_kept = |term: &Term| self.all.iter().any(|fact| fact.less == *term);
        let kept = || Sum::index(index, is_kept).is_some_and(is_within);
        Sum::index(index, |_| false).is_some_and(is_within) || kept()
    }

    /// Whether a number is known to be more than 0: by the order of terms, or since a product with it is more than
    /// something.
    pub(super) fn is_more_than_0(&self, term: &Term) -> bool {
        if self.is_below(&Term::Integer(0), term) {
            return true;
        }
        // If it were 0, then -1 would not be below 0.
        let Some(less) = Sum::integer(-1) else { return false };
        let of_it = |sum: &&Sum| sum.terms().any(|of| of == term);
        let known: Vec<_> = self.known_of(self.sums.iter().filter(of_it));
        let known: Vec<_> = known.iter().map(|sum| sum.without(term)).collect();
        less.follows_from(&known)
    }

    /// The sums that are known not to be below 0.
    fn known_of<'a>(&self, sums: impl IntoIterator<Item = &'a Sum>) -> Vec<Sum> {
        let more = |fact: &Fact| {
            let less = Sum::of(&fact.less)?.plus(&Sum::integer(i128::from(fact.strict))?, 1)?;
            Sum::no_less_than(&fact.more)?.plus(&less, -1)
        };
        let mut known: Vec<_> = self.all.iter().filter_map(more).chain(self.sums.iter().cloned()).collect();
        // The numbers that sums name may have operators of their own.
        let mut named: Vec<Term> = Vec::new();
        let mut note = |sum: &Sum| {
            for term in sum.terms() {
                if !named.contains(term) {
                    named.push(term.clone());
                }
            }
        };
        known.iter().for_each(&mut note);
        sums.into_iter().for_each(&mut note);
        known.extend(named.iter().flat_map(sums::of_operator));
        known
    }
}
