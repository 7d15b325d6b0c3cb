//! The known facts about a type: its name, its numbers, its layout in memory.

use super::ctype::{Base, Scalar, vector};

/// Size and alignment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) size: u64,
    pub(crate) align: u64,
}

/// The numbers that a type is made of, if it is one number or several of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) scalar: Scalar,
    pub(crate) count: u64,
}

/// A type of the source as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    /// The type as the source spells it, and the kind that it has in the end.
    pub(crate) base: Base,
    pub(crate) layout: Option<Layout>,
    pub(crate) numbers: Option<Numbers>,
    /// Where it is defined, file and line, if it is a struct of the source.
    pub(crate) defined: Option<(usize, usize)>,
    /// Whether it is a struct of the toolkit's headers.
    pub(crate) is_toolkits: bool,
    pub(crate) is_union: bool,
    /// Whether it is an array that a typedef names.
    pub(crate) is_array: bool,
    /// Whether none of the files that could define it does.
    pub(crate) is_nowhere: bool,
    /// A field that is a pointer.
    pub(crate) pointer: Option<String>,
    /// Whether a typedef makes it `const`.
    pub(super) constant: bool,
}

impl Known {
    /// Whether only its name is known.
    pub(super) fn is_any(&self) -> bool {
        *self == Self::named(&self.base.text, Scalar::Unknown)
    }

    /// A type with this name, about which nothing else is known.
    pub(super) fn named(text: &str, scalar: Scalar) -> Self {
        Self {
            base: Base { text: text.to_owned(), scalar },
            layout: None,
            numbers: None,
            defined: None,
            is_toolkits: false,
            is_union: false,
            is_array: false,
            is_nowhere: false,
            pointer: None,
            constant: false,
        }
    }
}

/// A pointer in memory.
pub(super) const ADDRESS: Layout = Layout { size: 8, align: 8 };

/// A pointer in memory.
pub(super) fn address(text: String) -> Known {
    Known { layout: Some(ADDRESS), ..Known::named(&text, Scalar::Compound) }
}

/// An array in memory that a typedef names: an array of Rust, or one number after the other.
pub(super) fn array(named: &Base, element: &Known, constant: bool, layout: Option<Layout>) -> Known {
    let count = element.layout.zip(layout).and_then(|(one, whole)| whole.size.checked_div(one.size));
    let numbers = element.numbers.zip(count);
    let numbers =
        numbers.map(|(numbers, count)| Numbers { count: numbers.count.saturating_mul(count), ..numbers });
    Known { layout, numbers, constant, is_array: true, ..Known::named(&named.text, Scalar::Unknown) }
}

/// The numbers that one of the language's or CUDA's own types is made of.
pub(super) fn numbers(base: &Base) -> Option<Numbers> {
    match base.scalar {
        Scalar::Is(_) | Scalar::Enum(_) | Scalar::Char => Some(Numbers { scalar: base.scalar, count: 1 }),
        Scalar::Compound | Scalar::Unknown => {
            let (element, count) = vector(base.text.trim_start_matches("::"))?;
            Some(Numbers { scalar: Scalar::Is(element), count })
        }
    }
}

/// How one of the language's or CUDA's own types lies in memory.
pub(super) fn builtin(base: &Base) -> Option<Layout> {
    let numbers = numbers(base)?;
    let element = numbers.scalar.size()?;
    let size = element * numbers.count;
    // Vectors of three have the alignment of one element.
    let align = match numbers.count {
        3 => element,
        _ if base.text.ends_with("_32a") => 32,
        _ => size.min(16),
    };
    Some(Layout { size, align })
}
