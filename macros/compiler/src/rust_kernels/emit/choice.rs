//! `match`.

use super::super::ir::{Arm, Expr, Test};
use super::{Emitter, Sink};

impl Emitter<'_> {
    pub(super) fn choice(&mut self, value: &Expr, arms: &[Arm], sink: &Sink) {
        let text = self.operand(value);
        // As an operand, and by itself.
        let (name, alone) = if text.stable {
            (text.atom(), text.text)
        } else {
            let name = self.temporary("of");
            self.write(&format!("const auto {name} = {};", text.text));
            (name.clone(), name)
        };
        // Each arm is in the `else` of the one before, since a guard may need statements.
        let mut open = 0;
        // rustc refuses a `match` with a value that no arm without a guard takes, so the last of these takes all
        // that is left.
        let last = arms.iter().rposition(|arm| arm.guard.is_none());
        for (index, arm) in arms.iter().enumerate() {
            if let Some(local) = arm.name {
                let (ty, cpp) = self.declared(local);
                self.write(&format!("{ty} {cpp} = {name};"));
            }
            let test = match &arm.guard {
                Some(guard) => {
                    let test = self.test(&arm.test, &name);
                    Some(self.guarded(test, guard))
                }
                None if last == Some(index) => None,
                None => self.test(&arm.test, &name),
            };
            match test {
                Some(test) => {
                    let test = if test == name { &alone } else { &test };
                    self.write(&format!("if ({test}) {{"));
                    self.depth += 1;
                    self.deliver(&arm.body, sink);
                    self.depth -= 1;
                    self.write("} else {");
                    self.depth += 1;
                    open += 1;
                }
                None => {
                    self.deliver(&arm.body, sink);
                    break;
                }
            }
        }
        for _ in 0..open {
            self.depth -= 1;
            self.write("}");
        }
    }

    /// The comparison of an arm's pattern and its guard, which is evaluated only if the pattern matches.
    fn guarded(&mut self, test: Option<String>, guard: &Expr) -> String {
        let Some(test) = test else { return self.operand(guard).text };
        let before = self.lines.len();
        self.depth += 1;
        let guard = self.operand(guard);
        self.depth -= 1;
        if self.lines.len() == before {
            return format!("({test}) && {}", guard.within(13));
        }
        let after = self.lines.split_off(before);
        let name = self.temporary("holds");
        self.write(&format!("bool {name} = {test};"));
        self.write(&format!("if ({name}) {{"));
        self.lines.extend(after);
        self.depth += 1;
        self.write(&format!("{name} = {};", guard.text));
        self.depth -= 1;
        self.write("}");
        name
    }

    /// The comparison of a pattern; `None` if it always matches.
    fn test(&mut self, test: &Test, name: &str) -> Option<String> {
        match test {
            Test::Always => None,
            Test::Equal(value) => {
                let value = self.operand(value);
                Some(match &*value.text {
                    "true" => name.to_owned(),
                    "false" => format!("!{name}"),
                    _ => format!("{name} == {}", value.within(8)),
                })
            }
            Test::Within(from, to, inclusive) => {
                let from = from.as_ref().map(|from| format!("{name} >= {}", self.operand(from).within(8)));
                let symbol = if *inclusive { "<=" } else { "<" };
                let to = to.as_ref().map(|to| format!("{name} {symbol} {}", self.operand(to).within(8)));
                let both: Vec<_> = [from, to].into_iter().flatten().collect();
                (!both.is_empty()).then(|| both.join(" && "))
            }
            Test::Any(cases) => {
                let tests: Option<Vec<_>> = cases.iter().map(|case| self.test(case, name)).collect();
                let tests = tests?;
                Some(match &tests[..] {
                    [one] => one.clone(),
                    several => several.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" || "),
                })
            }
        }
    }
}
