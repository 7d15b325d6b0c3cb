//! Random expressions, in which ranks may differ or not.

use super::expr::{CONSTANTS, Expr, OF_NUMBERS, binary, field, method, name, number};
use super::pipeline::Pipeline;
use super::random::Random;

/// What kind of expression is asked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// A condition, and not a number.
    pub truth: bool,
    /// Whether ranks may differ in it by its form.
    pub doubtful: bool,
    /// Whether each rank evaluates it for all.
    pub in_pass: bool,
}

pub struct Values<'r> {
    pub random: &'r mut Random,
    pub pipeline: &'r Pipeline,
}

impl Values<'_> {
    pub fn value(&mut self, wanted: Wanted) -> Expr {
        let level = 1 + self.random.below(2);
        if wanted.truth { self.truth(level, wanted) } else { self.number(level, wanted) }
    }

    /// Which of two parts is the doubtful one.
    fn divided(&mut self, wanted: Wanted) -> [Wanted; 2] {
        let of = |doubtful| Wanted { doubtful: wanted.doubtful && doubtful, ..wanted };
        let first = self.random.chance(50);
        [of(first), of(!first)]
    }

    fn truth(&mut self, level: usize, wanted: Wanted) -> Expr {
        if level == 0 {
            return self.least(wanted);
        }
        let [first, second] = self.divided(wanted);
        match self.random.below(14) {
            0 | 1 => {
                let op = *self.random.pick(&["&&", "||"]);
                binary(self.truth(level - 1, first), op, self.truth(level - 1, second))
            }
            2 => Expr::Prefix('!', Box::new(self.truth(level - 1, wanted))),
            3 => {
                let of = self.number(level - 1, wanted);
                let by = number(2 + self.random.below(2) as i64);
                method(of, "is_multiple_of", vec![by])
            }
            4 => {
                let of = self.number(level - 1, wanted);
                let ends = [self.random.below(3), 2 + self.random.below(4)];
                let ends = ends.map(|end| Some(Box::new(number(end as i64))));
                let [from, to] = ends;
                let range = Expr::Range(from, to, self.random.chance(50));
                method(range, "contains", vec![Expr::Prefix('&', Box::new(of))])
            }
            5 => self.least(wanted),
            6 => {
                let op = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                binary(self.number(level - 1, first), op, self.number(level - 1, second))
            }
            _ => {
                let op = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                binary(self.number(level - 1, wanted), op, number(1 + self.random.below(3) as i64))
            }
        }
    }

    /// A condition that is not made of others.
    fn least(&mut self, wanted: Wanted) -> Expr {
        let uniform = !wanted.doubtful;
        let params = self.pipeline.params.iter().filter(|param| param.truth && param.uniform == uniform);
        let params: Vec<_> = params.map(|param| param.name.clone()).collect();
        if !params.is_empty() && self.random.chance(70) {
            return name(self.random.pick::<String>(&params));
        }
        if wanted.doubtful {
            let number = self.doubtful(wanted);
            let than = Expr::Number(1 + self.random.below(2) as i64);
            return binary(number, self.random.pick::<&str>(&[">", "<", "=="]), than);
        }
        match self.random.below(16) {
            0 => Expr::Truth(false),
            1 => Expr::Truth(true),
            2 | 3 => name("ON"),
            _ => {
                let left = self.uniform(wanted);
                binary(
                    left,
                    self.random.pick::<&str>(&["<", ">=", "!="]),
                    number(1 + self.random.below(2) as i64),
                )
            }
        }
    }

    fn number(&mut self, level: usize, wanted: Wanted) -> Expr {
        if level == 0 || self.random.chance(30) {
            return if wanted.doubtful { self.doubtful(wanted) } else { self.uniform(wanted) };
        }
        let [first, second] = self.divided(wanted);
        match self.random.below(12) {
            0..5 => {
                let op = *self.random.pick(&["+", "+", "+", "+", "-", "*", "*", "&", "|", "^"]);
                binary(self.number(level - 1, first), op, self.number(level - 1, second))
            }
            5 => {
                let by = number(2 + self.random.below(2) as i64);
                binary(self.number(level - 1, wanted), self.random.pick::<&str>(&["%", "%", "/", ">>"]), by)
            }
            6 => {
                let known = *self.random.pick(&["min", "max", "saturating_sub", "abs_diff"]);
                method(self.number(level - 1, first), known, vec![self.number(level - 1, second)])
            }
            7 => method(self.number(level - 1, wanted), "count_ones", Vec::new()),
            8 => Expr::Cast(Box::new(self.number(level - 1, wanted))),
            9 => {
                let condition = self.truth(level - 1, first);
                let then = self.number(level - 1, second);
                let otherwise = binary(then.clone(), "+", number(1));
                Expr::Choice(Box::new([condition, then, otherwise]))
            }
            10 => {
                let first = self.uniform(wanted);
                let all = vec![binary(first.clone(), "+", number(1)), first];
                Expr::Pick(all, Box::new(self.number(level - 1, wanted)))
            }
            _ if wanted.in_pass => {
                let condition = self.truth(level - 1, first);
                method(condition, "then_some", vec![self.number(level - 1, second)])
            }
            _ => self.number(level - 1, wanted),
        }
    }

    /// A number that is the same on all ranks.
    fn uniform(&mut self, wanted: Wanted) -> Expr {
        let has_world = self.pipeline.names().has_world();
        let params = self.pipeline.params.iter().filter(|param| !param.truth && param.uniform);
        let params: Vec<_> = params.map(|param| param.name.clone()).collect();
        match self.random.below(10) {
            0..3 if wanted.in_pass => name("rank"),
            0..4 if !params.is_empty() => name(self.random.pick::<String>(&params)),
            4 | 5 if has_world => field("world", "size"),
            6 => {
                let constants: Vec<_> = CONSTANTS.iter().filter(|(name, _)| *name != "ON").collect();
                name(self.random.pick(&constants).0)
            }
            9 => number(1 + self.random.below(3) as i64),
            _ => field(&self.pipeline.chunk, "index"),
        }
    }

    /// A number in which ranks may differ by its form.
    fn doubtful(&mut self, wanted: Wanted) -> Expr {
        let names = self.pipeline.names();
        let has_world = names.has_world();
        let declares_rank = names.params.iter().any(|(name, _)| name == "rank");
        let params = self.pipeline.params.iter().filter(|param| !param.truth && !param.uniform);
        let params: Vec<_> = params.map(|param| param.name.clone()).collect();
        // In a `pass`, `rank` is no parameter.
        let params: Vec<_> = params.into_iter().filter(|name| !wanted.in_pass || name != "rank").collect();
        match self.random.below(40) {
            0..18 if !params.is_empty() => name(self.random.pick::<String>(&params)),
            18..26 if has_world => field("world", "rank"),
            26 | 27 if !wanted.in_pass && !declares_rank => name("rank"),
            28 => {
                // Always the same, though no form says so.
                let other = self.uniform(wanted);
                let len = field(&self.pipeline.chunk, "len");
                let none = binary(len.clone(), "-", len);
                if self.random.chance(50) { binary(none, "+", other) } else { none }
            }
            30 | 31 => Expr::Call("ask".to_owned(), vec![self.uniform(wanted)]),
            29 => self.unknown(wanted),
            32 | 33 => Expr::Macro("ask".to_owned()),
            34 | 35 => field(&self.pipeline.chunk, "start"),
            _ => field(&self.pipeline.chunk, "len"),
        }
    }

    /// What is the same on all ranks, although nothing is known of its form.
    fn unknown(&mut self, wanted: Wanted) -> Expr {
        let of = self.uniform(wanted);
        let params = self.pipeline.params.iter().filter(|param| !param.truth);
        let params: Vec<_> =
            params.map(|param| param.name.clone()).filter(|name| name != "rank" && name != "world").collect();
        match self.random.below(3) {
            0 if !params.is_empty() => field(self.random.pick::<String>(&params), "many"),
            1 if !params.is_empty() => Expr::Prefix('*', Box::new(name(self.random.pick::<String>(&params)))),
            _ => {
                let unknown = *self.random.pick(&["turned", "rotate_left", "len", "get"]);
                assert!(!OF_NUMBERS.contains(&unknown), "it is no method of numbers");
                method(of, unknown, Vec::new())
            }
        }
    }
}
