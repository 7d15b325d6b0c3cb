//! [`RustSource`]: what the macros write of a function, and how the parts become one text.

use std::fmt::{self, Write};
use std::ptr;

use super::fault::KernelFault;
use super::given::TooLittle;
use super::types::{RustType, StructLayout};

/// Finds the source of a function that another calls. It is called when the sources are joined: constants
/// that named each other, of functions that call each other, would have no end.
#[doc(hidden)]
pub type Callee = &'static (dyn Fn() -> &'static RustSource + Send + Sync);

/// The type of a constant, and its value in C++, which only rustc knows.
#[doc(hidden)]
pub type Define = fn() -> (&'static RustType, String);

// Note 61: the parts are joined when the program runs.
/// A function or a struct in CUDA C++, but for what only rustc knows.
#[doc(hidden)]
pub struct RustSource {
    /// Its name in C++.
    pub name: &'static str,
    /// The Rust file.
    pub file: &'static str,
    pub text: RustText,
    /// The constants that it names, and what defines each.
    pub constants: &'static [(&'static str, Define)],
    /// The types that only rustc knows, under the names that it gives them.
    pub types: &'static [(&'static str, &'static RustType)],
    /// The functions that it calls, under the names by which it calls them.
    pub callees: &'static [(&'static str, Callee)],
    /// The layout of a struct.
    pub layout: Option<StructLayout>,
}

/// The text of a function, and the line of the Rust file that each of its lines comes from. A line of 0 comes
/// from the line before.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct RustText {
    pub text: &'static str,
    pub lines: &'static [u32],
}

/// What `#[device]` writes beside a function, under the function's name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a function that kernels can call",
    label = "expected a function with `#[device]`"
)]
pub trait DeviceFunction {
    const SOURCE: &'static RustSource;
}

/// Whether a `#[device]` function, or one that it calls, names an order of memory other than `Relaxed`. rustc looks at
/// what has a parameter once it is asked alone: of functions that call each other it says one error.
#[doc(hidden)]
pub trait Orders<Asked> {
    const IS_ORDERED: bool;
}

/// What `#[device(T in [f32, f64])]` writes beside a function for each of its types `T`, a tuple. Of `const N: usize`
/// it has arrays of as many `()`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not for the types `{T}`",
    label = "a value of another type",
    note = "the function is for the types of its `#[device(…)]`: add this one there, or convert the values"
)]
pub trait ForTypes<T> {
    /// The function's own type.
    type Function;
    const FUNCTION: Self::Function;
    const SOURCE: &'static RustSource;
}

/// A `#[device]` function whose parameters have one type each.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "[TW0903]: the type of this literal must be written",
    label = "`{Self}` is for several types",
    note = "a GPU calls the function of the argument's type, which the macro cannot see",
    note = "write it, such as `2.0_f32`"
)]
pub trait ForOneType {}

/// Asks rustc whether the function is for one type.
#[doc(hidden)]
pub fn for_one_type<F: ForOneType>() {}

/// Rust's numbers, slices and arrays, in C++.
const HEADERS: [&str; 13] = [
    include_str!("numbers.cuh"),
    include_str!("integers.cuh"),
    include_str!("floats.cuh"),
    include_str!("operators.cuh"),
    include_str!("halves.cuh"),
    include_str!("memory.cuh"),
    include_str!("atomics.cuh"),
    include_str!("blocks.cuh"),
    include_str!("warps.cuh"),
    include_str!("scans.cuh"),
    include_str!("fetched.cuh"),
    include_str!("dynamic.cuh"),
    include_str!("tiles.cuh"),
];

/// The variable of a kernel's module that holds the address of the word for faults.
pub(crate) const FAULT_VARIABLE: &str = "thalweg_fault";

/// A thread that fails leaves its place in a word of the host's memory, and ends. The device goes on, and the
/// run is reported as failed. One for whose block the launch has too little shared memory leaves two more numbers.
const FAULT: &str = r#"#ifdef __CUDACC_RTC__
extern "C" { __constant__ volatile u32* thalweg_fault; }
static __device__ __forceinline__ void tw::fault(u32 place) {
    *thalweg_fault = place;
    // NVRTC 13.0 must not be told that what follows is unreachable: it then drops iterations of loops.
    asm volatile("exit;");
}
static __device__ __forceinline__ void tw::too_little(u32 line, u32 needed, u32 given) {
    thalweg_fault[1] = needed;
    thalweg_fault[2] = given;
    fault(0xfffu << 20 | line);
}
#else
static inline void tw::fault(u32 place) { faulted(place); }
static inline void tw::too_little(u32 line, u32, u32) { fault(0xfffu << 20 | line); }
#endif
"#;

/// The bits of a place that are the line. The others count the functions that the kernel calls.
const LINE_BITS: u32 = 20;

/// In place of a function, of which no kernel has so many: the launch has too little shared memory for a line of the
/// kernel.
const TOO_LITTLE: u32 = 0xfff;

impl fmt::Debug for RustSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RustSource")
            .field("name", &self.name)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl RustSource {
    /// The source of a function with errors, which is never joined.
    pub const fn none(name: &'static str) -> Self {
        let text = RustText { text: "", lines: &[] };
        Self { name, file: "", text, constants: &[], types: &[], callees: &[], layout: None }
    }

    /// The whole program: the headers, the structs and functions that the kernel calls, and the kernel.
    pub fn joined(&'static self) -> String {
        let mut program = String::from("#line 1 \"thalweg.cuh\"\n");
        for header in HEADERS {
            // The numbers' header includes C's functions where no GPU's are built in, for which tests care.
            for line in header.lines().filter(|line| !line.starts_with("#include")) {
                program.push_str(line);
                program.push('\n');
            }
        }
        program.push_str(FAULT);
        let order = self.order();
        for (number, source) in order.iter().enumerate() {
            source.write(number, &order, &mut program);
        }
        program
    }

    /// What a thread that has failed left in the word for faults, and the two numbers behind it.
    pub(crate) fn fault(&'static self, place: u32, [needed, given]: [u32; 2]) -> KernelFault {
        let (function, line) = (place >> LINE_BITS, place & ((1 << LINE_BITS) - 1));
        if function == TOO_LITTLE {
            return KernelFault::of_shared((self.file.to_owned(), line), &TooLittle { needed, given });
        }
        let order = self.order();
        let source = order.iter().rev().nth(function as usize);
        KernelFault::of_line(source.map(|source| (source.file.to_owned(), line)))
    }

    /// The functions in the order in which they are written: each after those that it calls, so that the
    /// kernel is the last.
    fn order(&'static self) -> Vec<&'static Self> {
        let mut order = Vec::new();
        self.collect(&mut order);
        order
    }

    /// Adds the structs that this one names and the functions that it calls, and then this one, each once.
    fn collect(&'static self, order: &mut Vec<&'static Self>) {
        if order.iter().any(|known| ptr::eq(*known, self)) {
            return;
        }
        let constants = self.constants.iter().map(|(_, define)| define().0);
        let types = self.types.iter().map(|(_, ty)| *ty).chain(constants);
        types.filter_map(RustType::source).for_each(|source| source.collect(order));
        for (_, callee) in self.callees {
            callee().collect(order);
        }
        order.push(self);
    }

    /// Whether it stands for those of several types, which it calls.
    fn is_for_types(&self) -> bool {
        self.text.text.is_empty() && !self.callees.is_empty()
    }

    /// Whether it has constants.
    fn is_template(&self) -> bool {
        self.text.text.starts_with("template")
    }

    /// Writes the function or struct in a namespace of its own, so that names of different places do not meet.
    fn write(&'static self, number: usize, order: &[&'static Self], program: &mut String) {
        let mut line = |text: &str| {
            program.push_str(text);
            program.push('\n');
        };
        line(&format!("namespace in_rust_{number} {{"));
        let from_last = order.len() - 1 - number;
        if from_last > 0 && self.layout.is_none() && !self.is_for_types() {
            line(&format!("TW_FN u32 line(u32 line) {{ return {from_last}u << {LINE_BITS} | line; }}"));
        }
        let place = |source: &'static Self| {
            order.iter().position(|known| ptr::eq(*known, source)).unwrap_or_default()
        };
        for (alias, ty) in self.types {
            line(&format!("using {alias} = {};", ty.in_cpp(&place)));
        }
        for (alias, callee) in self.callees {
            let callee = callee();
            let of = place(callee);
            let name = callee.name;
            if *alias == name {
                line(&format!("using in_rust_{of}::{name};"));
            } else if callee.is_for_types() {
                // One for all types has no address, either.
                let constants = match callee.callees.iter().any(|(_, of)| of().is_template()) {
                    true => ("auto... N, ", "<N...>"),
                    false => ("", ""),
                };
                let (declared, passed) = constants;
                line(&format!(
                    "template <{declared}class... T> TW_FN auto {alias}(T... x) {{ return in_rust_{of}::{name}{passed}(x...); }}"
                ));
            } else if callee.is_template() {
                // One for all constants has no address.
                line(&format!(
                    "template <auto... N, class... T> TW_FN auto {alias}(T... x) {{ return in_rust_{of}::{name}<N...>(x...); }}"
                ));
            } else {
                line(&format!("static constexpr auto {alias} = in_rust_{of}::{name};"));
            }
        }
        for (name, define) in self.constants {
            let (ty, value) = define();
            line(&format!("constexpr {} {name} = {value};", ty.in_cpp(&place)));
        }
        let mut expected = 0;
        for (index, text) in self.text.text.lines().enumerate() {
            let from = self.text.lines.get(index).copied().unwrap_or_default();
            if from != 0 && from != expected {
                let _ = writeln!(program, "#line {from} {:?}", self.file);
                expected = from;
            }
            program.push_str(text);
            program.push('\n');
            expected += 1;
        }
        if let Some(layout) = &self.layout {
            program.push_str(&layout.assertions(self.name));
        }
        let _ = writeln!(program, "}}  // namespace in_rust_{number}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_not_told_that_the_place_after_a_fault_is_unreachable() {
        assert!(FAULT.contains(r#"asm volatile("exit;");"#));
        assert!(!FAULT.contains("__builtin_unreachable"));
    }
}
