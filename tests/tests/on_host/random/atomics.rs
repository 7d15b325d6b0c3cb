//! Atomics, whose results depend on no order of threads: those of one thread alone, those to which all threads do
//! the same kind of thing, and those that nobody changes in this phase.

use super::generator::{Access, Generator, Text};
use super::types::{Number, Ty};

/// An atomic, or an array of them.
#[derive(Debug, Clone)]
pub struct Atomic {
    /// How it is named.
    pub place: String,
    pub number: Number,
    /// The length, in Rust, of an array.
    pub length: Option<String>,
    pub mode: Mode,
}

/// What may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is one thread's alone.
    Own,
    /// These, in any order, have the same outcome.
    Common(&'static [&'static str]),
    /// Nobody changes it.
    Read,
}

/// What may be done in any order.
const COMMON: [&[&str]; 6] = [
    &["fetch_add", "fetch_sub"],
    &["fetch_and"],
    &["fetch_or"],
    &["fetch_xor"],
    &["fetch_min"],
    &["fetch_max"],
];

/// The name of the type.
pub fn name(number: Number) -> String {
    format!("Atomic{}", number.name().to_uppercase())
}

impl Generator {
    pub fn atomic_number(&mut self, with_floats: bool) -> Number {
        let numbers = [Number::U32, Number::I32, Number::U64, Number::I64, Number::F32, Number::F64];
        let count = if with_floats { 6 } else { 4 };
        self.pick(&numbers[..count])
    }

    pub fn common(&mut self) -> Mode {
        Mode::Common(self.pick(&COMMON))
    }

    fn order(&mut self, orders: &[&str]) -> String {
        let order = if self.chance(60) { "Relaxed" } else { self.pick(orders) };
        if self.chance(20) { format!("Ordering::{order}") } else { order.to_owned() }
    }

    fn of_load(&mut self) -> String {
        self.order(&["Acquire", "SeqCst"])
    }

    fn of_store(&mut self) -> String {
        self.order(&["Release", "SeqCst"])
    }

    fn of_both(&mut self) -> String {
        self.order(&["Acquire", "Release", "AcqRel", "SeqCst"])
    }

    fn place(&mut self, atomic: &Atomic) -> String {
        match &atomic.length {
            Some(length) => format!("{}[{}]", atomic.place, self.number_below(length, 1)),
            None => atomic.place.clone(),
        }
    }

    /// A statement with an atomic, if there is one.
    pub fn atomic_statement(&mut self, depth: usize) -> Option<String> {
        let atomics: Vec<_> =
            self.atomics.iter().filter(|atomic| atomic.mode != Mode::Read).cloned().collect();
        if atomics.is_empty() {
            return None;
        }
        let atomic = self.pick(&atomics);
        let ty = Ty::Number(atomic.number);
        Some(match atomic.mode {
            Mode::Common(methods) => {
                self.count("an atomic of all threads");
                let place = self.place(&atomic);
                let value = self.expression(&ty, 2, false).text;
                // No thread knows how many others came before.
                format!("{place}.{}({value}, {});", self.pick(methods), self.of_both())
            }
            _ if self.chance(50) || atomic.number.is_float() => {
                self.count("an atomic that is stored");
                let place = self.place(&atomic);
                format!("{place}.store({}, {});", self.expression(&ty, 2, false).text, self.of_store())
            }
            _ => self.exchange(&atomic, depth),
        })
    }

    /// A statement with `compare_exchange` of the thread's own atomic.
    fn exchange(&mut self, atomic: &Atomic, depth: usize) -> String {
        self.count("compare_exchange");
        let (place, ty) = (self.place(atomic), Ty::Number(atomic.number));
        // Most often it succeeds.
        let expected = match self.chance(60) {
            true => format!("{place}.load(Relaxed)"),
            false => self.expression(&ty, 1, false).text,
        };
        let value = self.expression(&ty, 1, false).text;
        let call = format!("compare_exchange({expected}, {value}, {}, {})", self.of_both(), self.of_load());
        let (name, line) = (self.own_name("x"), self.line());
        let block = |this: &mut Self, name: &str| {
            this.scoped(|this| {
                this.declare(name, ty.clone(), false, Access::Value);
                this.block(depth.saturating_sub(1), 1)
            })
        };
        match self.below(5) {
            0 => {
                let variant = self.pick(&["Ok", "Err"]);
                let then = block(self, &name);
                format!("if let {variant}({name}) = {place}.{call} {then}")
            }
            1 => {
                let leave = self.leaving();
                let variant = self.pick(&["Ok", "Err"]);
                self.declare(&name, ty, false, Access::Value);
                format!("let {variant}({name}) = {place}.{call} else {{ {leave} }};")
            }
            2 => {
                // At the second time it is known what is there, as nothing changes it meanwhile.
                let atomics = std::mem::take(&mut self.atomics);
                let next = self.while_frozen(|this| {
                    this.scoped(|this| {
                        this.declare(&name, ty.clone(), false, Access::Kept);
                        this.expression(&ty, 1, false).text
                    })
                });
                self.atomics = atomics;
                format!(
                    "let mut {name} = 0;{line}while let Err(now) = {place}.compare_exchange({name}, {next}, Relaxed, \
                     Relaxed) {{ {name} = now; }}"
                )
            }
            3 => {
                self.count("match of compare_exchange");
                let [first, second] = [(); 2].map(|()| block(self, &name));
                let [a, b] = self.pick(&[["Ok", "Err"], ["Err", "Ok"]]);
                format!(
                    "match {place}.{call} {{{line}    {a}({name}) => {first}{line}    {b}({name}) => {second}{line}}}"
                )
            }
            _ => {
                self.declare(&name, Ty::Bool, false, Access::Value);
                let test = self.pick(&["is_ok", "is_err"]);
                format!("let {name} = {place}.{call}.{test}();")
            }
        }
    }

    /// A number that an atomic gives, if one may be asked.
    pub fn number_of_atomic(&mut self, number: Number) -> Option<Text> {
        let atomics: Vec<_> = self
            .atomics
            .iter()
            .filter(|atomic| atomic.number == number && !matches!(atomic.mode, Mode::Common(_)))
            .cloned()
            .collect();
        if atomics.is_empty() {
            return None;
        }
        let atomic = self.pick(&atomics);
        self.count("the value of an atomic");
        let place = self.place(&atomic);
        if atomic.mode == Mode::Read || self.chance(35) {
            return Some(Text::atom(format!("{place}.load({})", self.of_load())));
        }
        let methods: &[&str] = match number.is_float() {
            true => &["swap", "fetch_add", "fetch_sub"],
            false => &[
                "swap",
                "fetch_add",
                "fetch_sub",
                "fetch_and",
                "fetch_or",
                "fetch_xor",
                "fetch_min",
                "fetch_max",
            ],
        };
        let method = self.pick(methods);
        let value = self.expression(&Ty::Number(number), 1, false);
        Some(Text::atom(format!("{place}.{method}({}, {})", value.text, self.of_both())))
    }
}
