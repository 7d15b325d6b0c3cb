//! What a type of the source is, through its typedefs, and how it lies in memory.

use super::branches::Choices;
use super::ctype::{Base, CType, Primitive, Scalar, vector};
use super::declarations::Declarations;
use super::declarator::Declarator;
use super::lexer::Token;
use super::names::{Meaning, Names};
use super::record::{Definition, Record, What};
use super::toolkit_types;

/// Size and alignment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) size: u64,
    pub(super) align: u64,
}

/// What a type is made of, if that is one number or several equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) scalar: Scalar,
    pub(super) count: u64,
}

/// A type of the source as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    /// As the source spells it, and what it is in the end.
    pub(super) base: Base,
    pub(super) layout: Option<Layout>,
    pub(super) numbers: Option<Numbers>,
    /// Where it is defined, file and line, if it is a struct of the source.
    pub(super) defined: Option<(usize, usize)>,
    /// Whether it is a struct of the toolkit's headers.
    pub(super) is_toolkits: bool,
    pub(super) is_union: bool,
    /// Whether it is an array that a typedef names.
    pub(super) is_array: bool,
    /// Whether no file defines it that could.
    pub(super) is_nowhere: bool,
    /// A field that is a pointer.
    pub(super) pointer: Option<String>,
    /// Whether a typedef makes it `const`.
    pub(super) constant: bool,
}

impl Known {
    /// A type of which nothing else is known.
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

/// The type of a parameter, its typedefs resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolved {
    Value(Known),
    Pointer { pointee: Known, constant: bool },
    Reference,
    Opaque,
}

/// How many definitions deep a type may be; a type in a circle is deeper.
const DEPTH: usize = 32;
/// How many definitions one type may go through.
const STEPS: usize = 2000;

/// Looks a type of a parameter up from within `namespace`.
pub(super) fn resolve(
    declarations: &Declarations,
    choices: &Choices,
    namespace: &[String],
    ty: &CType,
) -> Resolved {
    let mut types = Types { names: Names { declarations, choices }, steps: STEPS };
    match ty {
        CType::Opaque => Resolved::Opaque,
        CType::Reference(_) => Resolved::Reference,
        CType::Value(base) => match types.known(base, namespace, DEPTH) {
            Found::Type(known) => Resolved::Value(Known { base: respelt(base, &known), ..known }),
            Found::Pointer { pointee, constant } | Found::Array { element: pointee, constant, .. } => {
                Resolved::Pointer { pointee, constant }
            }
        },
        CType::Pointer { pointee, constant } => {
            let known = match types.known(pointee, namespace, DEPTH) {
                Found::Type(known) => Known { base: respelt(pointee, &known), ..known },
                Found::Pointer { .. } => address(pointee.text.clone()),
                Found::Array { element, constant, layout } => array(pointee, &element, constant, layout),
            };
            Resolved::Pointer { constant: *constant || known.constant, pointee: known }
        }
    }
}

/// The element of a variable: of an array, what it holds in the end.
pub(super) fn element(
    declarations: &Declarations,
    choices: &Choices,
    namespace: &[String],
    variable: &Declarator,
) -> Known {
    let mut types = Types { names: Names { declarations, choices }, steps: STEPS };
    if !variable.pointers.is_empty() {
        return address(variable.base.text.clone() + &"*".repeat(variable.pointers.len()));
    }
    match types.known(&variable.base, namespace, DEPTH) {
        Found::Type(known) => Known { base: respelt(&variable.base, &known), ..known },
        Found::Array { element, .. } => element,
        Found::Pointer { .. } => address(variable.base.text.clone()),
    }
}

/// The bytes of a variable, where plain text tells.
pub(super) fn size_of_variable(
    declarations: &Declarations,
    choices: &Choices,
    namespace: &[String],
    variable: &Declarator,
) -> Option<u64> {
    let mut types = Types { names: Names { declarations, choices }, steps: STEPS };
    let layout = match types.known(&variable.base, namespace, DEPTH) {
        _ if !variable.pointers.is_empty() => ADDRESS,
        Found::Type(known) => known.layout?,
        Found::Array { layout, .. } => layout?,
        Found::Pointer { .. } => ADDRESS,
    };
    types.array(layout, &variable.bounds).map(|whole| whole.size)
}

fn respelt(written: &Base, known: &Known) -> Base {
    Base { text: written.text.clone(), scalar: known.base.scalar }
}

const ADDRESS: Layout = Layout { size: 8, align: 8 };

/// A pointer in memory.
fn address(text: String) -> Known {
    Known { layout: Some(ADDRESS), ..Known::named(&text, Scalar::Compound) }
}

/// An array in memory that a typedef names: an array of Rust, or one number after the other.
fn array(named: &Base, element: &Known, constant: bool, layout: Option<Layout>) -> Known {
    let count = element.layout.zip(layout).and_then(|(one, whole)| whole.size.checked_div(one.size));
    let numbers = element.numbers.zip(count);
    let numbers =
        numbers.map(|(numbers, count)| Numbers { count: numbers.count.saturating_mul(count), ..numbers });
    Known { layout, numbers, constant, is_array: true, ..Known::named(&named.text, Scalar::Unknown) }
}

/// What one of the language's or CUDA's own types is made of.
fn numbers(base: &Base) -> Option<Numbers> {
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
    // Those of three have the alignment of one.
    let align = match numbers.count {
        3 => element,
        _ if base.text.ends_with("_32a") => 32,
        _ => size.min(16),
    };
    Some(Layout { size, align })
}

enum Found {
    Type(Known),
    /// A typedef of one.
    Pointer {
        pointee: Known,
        constant: bool,
    },
    /// A typedef of one, which as a parameter is a pointer to its elements.
    Array {
        element: Known,
        constant: bool,
        layout: Option<Layout>,
    },
}

struct Types<'a> {
    names: Names<'a>,
    steps: usize,
}

impl<'a> Types<'a> {
    fn known(&mut self, base: &Base, namespace: &[String], depth: usize) -> Found {
        let unknown = |scalar| Found::Type(Known::named(&base.text, scalar));
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.checked_sub(1)) else {
            return unknown(Scalar::Unknown);
        };
        self.steps = steps;
        let own = builtin(base);
        // CUDA's own headers may be among the files, and what they define is known better than they can be read.
        let is_better = |found: &Meaning<'_>| {
            own.is_none()
                || !matches!(
                    found,
                    Meaning::Defined(Definition { what: What::Record(_) | What::Enum(_), .. })
                )
        };
        let definition = match self.names.find(&base.text, namespace) {
            Some(found) if is_better(&found) => match found {
                Meaning::Defined(definition) => definition,
                Meaning::Macro(declarator) => return self.alias(&declarator, namespace, depth),
                Meaning::Unknown => return unknown(base.scalar),
            },
            _ => {
                let known =
                    Known { layout: own, numbers: numbers(base), ..Known::named(&base.text, base.scalar) };
                return Found::Type(match own {
                    Some(_) => known,
                    None => toolkit_types::known(&base.text)
                        .unwrap_or(Known { is_nowhere: self.names.is_nowhere(&base.text), ..known }),
                });
            }
        };
        match &definition.what {
            What::Alias(alias) => self.alias(alias, &definition.namespace, depth),
            What::Enum(underlying) => {
                let integer = match underlying {
                    None => Some(Primitive::U32),
                    Some(base) => match self.known(base, &definition.namespace, depth) {
                        Found::Type(Known { base: Base { scalar: Scalar::Is(integer), .. }, .. }) => {
                            Some(integer)
                        }
                        Found::Type(Known { base: Base { scalar: Scalar::Char, .. }, .. }) => {
                            Some(Primitive::I8)
                        }
                        _ => None,
                    },
                };
                let known = Known::named(&base.text, integer.map_or(Scalar::Unknown, Scalar::Enum));
                Found::Type(Known { layout: builtin(&known.base), numbers: numbers(&known.base), ..known })
            }
            What::Record(record) => {
                let mut known = Known::named(&base.text, Scalar::Unknown);
                known.defined = Some((definition.file, definition.line));
                known.is_union = record.is_union;
                self.record(record, &definition.namespace, depth, &mut known);
                Found::Type(known)
            }
            What::Unknown => unknown(Scalar::Unknown),
        }
    }

    /// What a typedef stands for.
    fn alias(&mut self, alias: &Declarator, namespace: &[String], depth: usize) -> Found {
        // It is a pointer, wherever it is found.
        let pointer = |text: String| Known { pointer: Some(text.clone()), ..address(text) };
        match (&alias.pointers[..], &alias.bounds[..]) {
            ([], []) if !alias.reference => match self.known(&alias.base, namespace, depth) {
                Found::Type(known) => {
                    Found::Type(Known { constant: known.constant || alias.constant, ..known })
                }
                other => other,
            },
            ([_], []) => match self.known(&alias.base, namespace, depth) {
                Found::Type(known) => {
                    let pointee = Known { base: respelt(&alias.base, &known), ..known };
                    Found::Pointer { constant: alias.constant || pointee.constant, pointee }
                }
                Found::Array { element, constant, layout } => {
                    let constant = constant || alias.constant;
                    Found::Pointer { pointee: array(&alias.base, &element, constant, layout), constant }
                }
                Found::Pointer { .. } => Found::Type(pointer(alias.base.text.clone())),
            },
            ([], bounds @ [_, ..]) => {
                let element = match self.known(&alias.base, namespace, depth) {
                    Found::Type(known) => Known { base: respelt(&alias.base, &known), ..known },
                    Found::Array { element, constant, layout } => {
                        array(&alias.base, &element, constant, layout)
                    }
                    Found::Pointer { .. } => pointer(alias.base.text.clone()),
                };
                let layout = element.layout.and_then(|layout| self.array(layout, bounds));
                Found::Array { constant: alias.constant || element.constant, element, layout }
            }
            _ => Found::Type(Known { layout: None, ..pointer(alias.base.text.clone() + "*") }),
        }
    }

    /// The layout by C's rules, what it is made of, and a field that is a pointer.
    fn record(&mut self, record: &Record, namespace: &[String], depth: usize, known: &mut Known) {
        let mut parts = Parts { pointer: None, numbers: None, is_mixed: record.is_union };
        let layout = self.lay_out(record, namespace, depth, &mut parts);
        known.pointer = parts.pointer;
        known.layout = layout.filter(|_| !self.names.declarations.packs);
        let whole = |numbers: &Numbers| {
            let size = numbers.scalar.size().and_then(|size| size.checked_mul(numbers.count));
            size.is_some() && size == known.layout.map(|layout| layout.size)
        };
        known.numbers = parts.numbers.filter(|numbers| !parts.is_mixed && whole(numbers));
    }

    /// An array with these bounds of elements of this layout.
    fn array(&self, element: Layout, bounds: &[Vec<Token>]) -> Option<Layout> {
        let count = |bound| u64::try_from(self.names.declarations.constants.evaluate(bound)?).ok();
        let size = bounds.iter().try_fold(element.size, |size, bound| size.checked_mul(count(bound)?))?;
        Some(Layout { size, ..element })
    }

    /// A struct with one field more, of this layout or an array of it.
    fn with_field(
        &self,
        mut whole: Layout,
        field: Layout,
        bounds: &[Vec<Token>],
        is_union: bool,
    ) -> Option<Layout> {
        let field = self.array(field, bounds)?;
        let offset = if is_union { 0 } else { whole.size.checked_next_multiple_of(field.align)? };
        whole.size = whole.size.max(offset.checked_add(field.size)?);
        whole.align = whole.align.max(field.align);
        Some(whole)
    }

    fn lay_out(
        &mut self,
        record: &Record,
        namespace: &[String],
        depth: usize,
        parts: &mut Parts,
    ) -> Option<Layout> {
        let mut whole = Some(Layout { size: 0, align: 1 });
        for field in record.fields.as_ref()? {
            let mut known = match (&field.pointers[..], self.known(&field.base, namespace, depth)) {
                ([], Found::Type(known)) => known,
                ([], Found::Array { element, constant, layout }) => Known {
                    pointer: element.pointer.clone(),
                    ..array(&field.base, &element, constant, layout)
                },
                _ => {
                    let text = "*".repeat(field.pointers.len());
                    let known = address(format!("{}{text}", field.base.text));
                    let name = field.name.as_deref().unwrap_or_default();
                    let field = Some(format!("{} {name}", known.base.text));
                    Known { pointer: field, ..known }
                }
            };
            if parts.pointer.is_none() {
                parts.pointer = known.pointer.take();
            }
            parts.add(known.numbers, self.array(Layout { size: 1, align: 1 }, &field.bounds));
            // A pointer may come behind what is not known.
            whole =
                whole.and_then(|whole| self.with_field(whole, known.layout?, &field.bounds, record.is_union));
        }
        let mut whole = whole?;
        if let Some(align) = &record.align {
            let align = u64::try_from(self.names.declarations.constants.evaluate(align)?).ok()?;
            whole.align = whole.align.max(align.is_power_of_two().then_some(align)?);
        }
        // A struct without fields has one byte in C++ and none in Rust.
        whole.size = whole.size.checked_next_multiple_of(whole.align).filter(|&size| size > 0)?;
        Some(whole)
    }
}

/// What is found out of a struct's fields.
struct Parts {
    pointer: Option<String>,
    numbers: Option<Numbers>,
    /// Whether it is made of several things.
    is_mixed: bool,
}

impl Parts {
    /// Adds a field, of which there are as many as the layout has bytes.
    fn add(&mut self, field: Option<Numbers>, bounds: Option<Layout>) {
        let (Some(field), Some(bounds)) = (field, bounds) else {
            self.is_mixed = true;
            return;
        };
        let count = field.count.saturating_mul(bounds.size);
        match &mut self.numbers {
            None => self.numbers = Some(Numbers { count, ..field }),
            Some(numbers) if numbers.scalar == field.scalar => {
                numbers.count = numbers.count.saturating_add(count);
            }
            Some(_) => self.is_mixed = true,
        }
    }
}
