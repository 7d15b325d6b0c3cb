//! Sums of products as the host computes them in a condition, where a number may be too large for its type.

use super::super::ir::Binary;
use super::sums::Sum;
use super::terms::Term;

/// An expression of numbers, as a condition of the host has it, with what is known of its size.
#[derive(Debug, Clone)]
pub(super) struct Exact {
    pub(super) sum: Sum,
    /// The largest number that it can be, if that is known.
    pub(super) most: Option<u128>,
    /// The bits of its type; `None` of a literal that has the type of what stands beside it.
    pub(super) bits: Option<u32>,
}

impl Exact {
    pub(super) fn of(term: &Term, most: u128, bits: Option<u32>) -> Option<Self> {
        Some(Self { sum: Sum::of(term)?, most: Some(most), bits })
    }

    /// The largest number of its type, and whether it is sure to have none that is larger.
    fn fits(most: Option<u128>, bits: Option<u32>) -> bool {
        most.is_some_and(|most| bits.is_some_and(|bits| most <= greatest(bits)))
    }

    /// The number in a type of so many bits, if that is its type. A literal that the type does not hold is another number,
    /// if rustc is told to let it wrap.
    fn of_type(self, bits: u32) -> Option<Self> {
        let is_of_it = match self.bits {
            Some(own) => own == bits,
            None => Self::fits(self.most, Some(bits)),
        };
        is_of_it.then_some(Self { bits: Some(bits), ..self })
    }

    /// A sum or a product that has not wrapped, or that has become the greatest number if `saturates`.
    pub(super) fn operator(self, op: Binary, other: Self, saturates: bool) -> Option<Self> {
        let bits = self.bits.or(other.bits);
        let (left, right) = (self.of_type(bits?)?, other.of_type(bits?)?);
        let both = left.most.zip(right.most);
        let (sum, most) = match op {
            Binary::Add => (left.sum.plus(&right.sum, 1)?, both.and_then(|(a, b)| a.checked_add(b))),
            Binary::Multiply => (left.sum.times(&right.sum)?, both.and_then(|(a, b)| a.checked_mul(b))),
            _ => return None,
        };
        let most = most.filter(|most| Self::fits(Some(*most), bits));
        // What is not sure to fit may be more than the number that there is, which then is the greatest of its type.
        (saturates || most.is_some()).then_some(Self { sum, most, bits })
    }

    /// The same number in a type that has it.
    pub(super) fn cast(self, bits: u32) -> Option<Self> {
        let from = self.bits.unwrap_or(31);
        (Self::fits(self.most, Some(from)) && Self::fits(self.most, Some(bits)))
            .then_some(Self { bits: Some(bits), ..self })
    }

    /// The sum that is not below 0 if the first is no more than the second, or less than it.
    pub(super) fn at_most(self, other: Self, strict: bool) -> Option<Sum> {
        let bits = self.bits.or(other.bits)?;
        let (less, more) = (self.of_type(bits)?, other.of_type(bits)?);
        // The greatest number of the type stands for what is larger: nothing that is less than it is no less.
        let other_is_less = more.most.is_some_and(|most| most < greatest(bits));
        let is_exact = Self::fits(less.most, Some(bits));
        if !Self::fits(more.most, Some(bits)) || !(is_exact || other_is_less) {
            return None;
        }
        more.sum.plus(&less.sum, -1)?.plus(&Sum::integer(i128::from(strict))?, -1)
    }
}

fn greatest(bits: u32) -> u128 {
    u128::MAX >> (128 - bits.clamp(1, 128))
}

#[cfg(test)]
mod tests {
    use super::super::super::ir::LocalId;
    use super::*;

    #[test]
    fn what_saturates_is_exact_only_below_something() {
        let of = |id: usize, bits: u32| {
            Exact::of(&Term::Local(LocalId(id)), u128::MAX >> (128 - bits), Some(bits)).expect("a number")
        };
        let product = |saturates| of(0, 64).operator(Binary::Multiply, of(1, 64), saturates);
        assert!(product(false).is_none());
        let saturated = product(true).expect("it saturates");
        assert!(saturated.clone().at_most(of(2, 64), false).is_none(), "both may be the greatest number");
        let length =
            Exact::of(&Term::Length(LocalId(2)), u128::from(u64::MAX >> 1), Some(64)).expect("a length");
        assert!(saturated.clone().at_most(length.clone(), false).is_some());
        assert!(length.clone().at_most(saturated.clone(), false).is_none(), "the product may be larger");
        assert!(saturated.cast(128).is_none());
        let wide =
            of(0, 64).cast(128).and_then(|a| a.operator(Binary::Multiply, of(1, 64).cast(128)?, false));
        assert!(
            wide.is_some_and(|wide| wide.at_most(of(2, 64).cast(128).expect("a number"), false).is_some())
        );
        // rustc may be told that `300` is `44` where it is a `u8`, and the number after `u64::MAX` is 0.
        let literal = |value| Exact::of(&Term::Integer(value), value, None).expect("a literal");
        assert!(of(0, 8).operator(Binary::Add, literal(255), true).is_some());
        assert!(of(0, 8).operator(Binary::Add, literal(300), true).is_none());
        assert!(literal(9).at_most(length.clone(), false).is_some());
        assert!(literal(1 << 64).at_most(length, false).is_none());
        assert!(of(0, 64).cast(32).is_none() && of(0, 32).at_most(of(1, 64), false).is_none());
    }
}
