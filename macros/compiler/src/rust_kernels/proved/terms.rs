//! Numbers that do not change, and what is known of their order.

use super::super::ir::{Binary, LocalId};
use super::super::types::Number;
use super::sums::Sum;

/// A natural number that does not change as long as the names in it are in scope. Two equal terms are the
/// same number wherever both were computed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Term {
    Integer(u128),
    /// A local that is not assigned: a number, or the number of an `Index`.
    Local(LocalId),
    /// A constant, or what the launch gives a thread, by its text in C++.
    Named(String),
    /// The length of a slice, an `Own` or an `Out`, whose name is not assigned.
    Length(LocalId),
    /// The length along an axis of an `Own` or an `Out` with several.
    Axis(LocalId, usize),
    /// The number along an axis of an `Index` with several. Of a tile, the axes are the item, the rows and the columns.
    Place(LocalId, usize),
    /// An operator of this type: a sum may have wrapped, and is the same one if it is computed again.
    Operator(Binary, Number, Box<Term>, Box<Term>),
    /// `a.min(b)`
    Least(Box<Term>, Box<Term>),
    /// A length of numbers and so many more, which is less than 2^64: no memory has 2^63 bytes.
    Beyond(LocalId, u64),
}

/// The parts of the largest term: a `let` names a term, and terms of terms could grow without an end.
const LARGEST: usize = 16;

/// How often one proof may ask for another.
const DEPTH: usize = 3;

impl Term {
    fn size(&self) -> usize {
        match self {
            Self::Operator(_, _, a, b) | Self::Least(a, b) => 1 + a.size() + b.size(),
            _ => 1,
        }
    }

    /// The term, if it is no larger than terms may be.
    pub(super) fn of_a_size(self) -> Option<Self> {
        (self.size() <= LARGEST).then_some(self)
    }
}

/// `less < more`, or `less <= more`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) less: Term,
    pub(super) more: Term,
    pub(super) strict: bool,
}

impl Fact {
    pub(super) fn below(less: Term, more: Term) -> Self {
        Self { less, more, strict: true }
    }

    pub(super) fn at_most(less: Term, more: Term) -> Self {
        Self { less, more, strict: false }
    }

    /// Whether the greater term is more than `term`, if it is known to be no less.
    fn leads_from(&self, term: &Term) -> Option<bool> {
        if let Some(step) = step(term, &self.less) {
            return Some(step || self.strict);
        }
        // What is more than `n` is at least `n + 1`, and what is more than anything is at least 1.
        match (term, &self.less) {
            (Term::Integer(n), Term::Integer(less)) if self.strict && less.checked_add(1) == Some(*n) => {
                Some(false)
            }
            (Term::Integer(1), _) if self.strict => Some(false),
            _ => None,
        }
    }
}

/// What holds at a place of a function.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) all: Vec<Fact>,
    /// Sums that are not below 0, in the whole function.
    pub(super) sums: Vec<Sum>,
}

impl Facts {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Forgets all facts but so many.
    pub(super) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    pub(super) fn add(&mut self, fact: Fact) {
        if !self.all.contains(&fact) {
            self.all.push(fact);
        }
    }

    /// Whether `a < b` follows.
    pub(super) fn is_below(&self, a: &Term, b: &Term) -> bool {
        self.follows(a, b, true, DEPTH)
    }

    /// Whether `a <= b` follows.
    pub(super) fn is_at_most(&self, a: &Term, b: &Term) -> bool {
        self.follows(a, b, false, DEPTH)
    }

    /// What launches check of sums of products.
    pub(super) fn add_sum(&mut self, sum: Sum) {
        self.sums.push(sum);
    }

    /// Looks for a chain of facts from one term up to the other, of which one is strict if it has to be.
    fn follows(&self, from: &Term, to: &Term, strict: bool, depth: usize) -> bool {
        // Each term that is known to be no less than `from`, and whether it is known to be more.
        let mut reached = vec![(from.clone(), false)];
        let mut next = 0;
        while let Some((term, more)) = reached.get(next).cloned() {
            next += 1;
            if let Some(step) = step(&term, to)
                && (more || step || !strict)
            {
                return true;
            }
            let facts = self.all.iter().filter_map(|fact| Some((fact.more.clone(), fact.leads_from(&term)?)));
            let all: Vec<_> = facts.chain(self.by_itself(&term, depth)).collect();
            for (term, step) in all {
                let found = (term, more || step);
                // A strict chain is worth as much as one that is not.
                if !reached.iter().any(|(term, more)| *term == found.0 && (*more || !found.1)) {
                    reached.push(found);
                }
            }
        }
        false
    }

    /// What is no less than a term by its operator, and whether it is more.
    fn by_itself(&self, term: &Term, depth: usize) -> Vec<(Term, bool)> {
        match term {
            Term::Least(a, b) | Term::Operator(Binary::And, _, a, b) => {
                vec![((**a).clone(), false), ((**b).clone(), false)]
            }
            // A division by 0 has ended the thread.
            Term::Operator(Binary::Remainder, _, a, b) => vec![((**a).clone(), false), ((**b).clone(), true)],
            Term::Operator(Binary::Divide | Binary::ShiftRight, _, a, _) => vec![((**a).clone(), false)],
            // It has not wrapped if what is taken away was there.
            Term::Operator(Binary::Subtract, _, a, b)
                if depth > 0 && self.follows(b, a, false, depth - 1) =>
            {
                vec![((**a).clone(), self.follows(&Term::Integer(0), b, true, depth - 1))]
            }
            // If it has wrapped, it is even less than the sum that has not.
            Term::Operator(Binary::Add, _, a, b) if depth > 0 => match (&**a, &**b) {
                (Term::Integer(more), of) | (of, Term::Integer(more)) => self.beyond(of, *more, depth - 1),
                _ => Vec::new(),
            },
            Term::Length(_) if depth > 0 => self.beyond(term, 0, depth - 1),
            _ => Vec::new(),
        }
    }

    /// The sums of a length and an integer, of which something is known, that are no less than `term` and so many `more`,
    /// because `term` is no more than the length. And whether they are more.
    fn beyond(&self, term: &Term, more: u128, depth: usize) -> Vec<(Term, bool)> {
        let known = self.all.iter().filter_map(|fact| {
            let Term::Beyond(of, beyond) = fact.less else { return None };
            let follows = |strict| self.follows(term, &Term::Length(of), strict, depth);
            // What is less than the length is at most one less.
            let most = match (follows(true), follows(false)) {
                (true, _) => u128::from(beyond) + 1,
                (false, true) => u128::from(beyond),
                (false, false) => return None,
            };
            (more <= most).then(|| (fact.less.clone(), more < most))
        });
        known.collect()
    }
}

/// Whether the second term is more than the first, if it is known without any fact to be no less.
fn step(from: &Term, to: &Term) -> Option<bool> {
    match (from, to) {
        (Term::Integer(from), Term::Integer(to)) => (from <= to).then_some(from < to),
        // All terms are natural numbers.
        (Term::Integer(0), _) => Some(false),
        _ => (from == to).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(id: usize) -> Term {
        Term::Local(LocalId(id))
    }

    fn operator(op: Binary, a: Term, b: Term) -> Term {
        Term::Operator(op, Number::Usize, Box::new(a), Box::new(b))
    }

    #[test]
    fn facts_follow_from_each_other() {
        let [a, b, c, d] = [0, 1, 2, 3].map(local);
        let mut facts = Facts::default();
        facts.add(Fact::at_most(a.clone(), b.clone()));
        facts.add(Fact::below(b.clone(), c.clone()));
        facts.add(Fact::at_most(c.clone(), d.clone()));
        facts.add(Fact::at_most(d.clone(), c.clone()));
        assert!(facts.is_below(&a, &d) && facts.is_at_most(&a, &b) && facts.is_at_most(&d, &c));
        assert!(!facts.is_below(&a, &b) && !facts.is_at_most(&c, &b) && !facts.is_below(&c, &d));
        assert!(facts.is_below(&Term::Integer(0), &c), "it is more than `b`, which is at least 0");
        assert!(!facts.is_below(&Term::Integer(0), &b) && !facts.is_below(&Term::Integer(1), &c));
        facts.truncate(1);
        assert!(!facts.is_below(&b, &c));
    }

    #[test]
    fn integers_are_in_their_order() {
        let facts = Facts::default();
        let [three, four] = [3, 4].map(Term::Integer);
        assert!(facts.is_below(&three, &four) && facts.is_at_most(&four, &four));
        assert!(!facts.is_below(&four, &four) && !facts.is_at_most(&four, &three));
        let mut facts = Facts::default();
        facts.add(Fact::at_most(Term::Integer(5), local(0)));
        assert!(facts.is_below(&four, &local(0)) && !facts.is_below(&Term::Integer(5), &local(0)));
    }

    #[test]
    fn sums_are_bounded_by_what_lies_beyond_a_length() {
        let [i, j, x] = [0, 1, 2].map(local);
        let (y, beyond) = (Term::Length(LocalId(3)), Term::Beyond(LocalId(3), 4));
        let plus = |a: &Term, more| operator(Binary::Add, a.clone(), Term::Integer(more));
        let mut facts = Facts::default();
        facts.add(Fact::below(i.clone(), y.clone()));
        facts.add(Fact::at_most(j.clone(), y.clone()));
        assert!(!facts.is_at_most(&plus(&i, 4), &x));
        facts.add(Fact::at_most(beyond, x.clone()));
        for more in 0..7 {
            for (term, most) in [(&i, 5), (&j, 4)] {
                assert_eq!(facts.is_at_most(&plus(term, more), &x), more <= most, "{term:?} + {more}");
                assert_eq!(facts.is_below(&plus(term, more), &x), more < most, "{term:?} + {more}");
            }
            let turned = operator(Binary::Add, Term::Integer(more), i.clone());
            assert_eq!(facts.is_below(&turned, &x), more < 5, "{more}");
        }
        assert!(facts.is_below(&i, &x) && facts.is_below(&y, &x) && facts.is_at_most(&plus(&y, 4), &x));
        assert!(!facts.is_at_most(&plus(&y, 5), &x) && !facts.is_below(&plus(&y, 4), &x));
        // Of another number nothing is known, nor of another operator.
        assert!(!facts.is_at_most(&plus(&local(4), 1), &x));
        assert!(!facts.is_at_most(&operator(Binary::Multiply, i.clone(), Term::Integer(2)), &x));
        assert!(!facts.is_at_most(&operator(Binary::Add, i.clone(), i), &x));
    }

    #[test]
    fn operators_bound_their_results() {
        let (a, b, eight) = (local(0), local(1), Term::Integer(8));
        let mut facts = Facts::default();
        assert!(facts.is_below(&operator(Binary::Remainder, a.clone(), b.clone()), &b));
        let masked = operator(Binary::And, a.clone(), Term::Integer(7));
        assert!(facts.is_below(&masked, &eight) && facts.is_at_most(&masked, &a));
        assert!(!facts.is_below(&operator(Binary::And, a.clone(), eight.clone()), &eight));
        assert!(facts.is_at_most(&operator(Binary::Divide, a.clone(), b.clone()), &a));
        // Sums and products may have wrapped, and so may differences.
        let one = Term::Integer(1);
        for op in [Binary::Add, Binary::Multiply, Binary::ShiftLeft, Binary::Subtract] {
            let result = operator(op, a.clone(), one.clone());
            assert!(!facts.is_at_most(&result, &a) && !facts.is_at_most(&a, &result), "{op:?}");
        }
        facts.add(Fact::below(Term::Integer(0), a.clone()));
        assert!(!facts.is_at_most(&operator(Binary::Subtract, a.clone(), b.clone()), &a));
        facts.add(Fact::at_most(Term::Integer(1), a.clone()));
        assert!(facts.is_below(&operator(Binary::Subtract, a.clone(), one), &a));
    }
}
