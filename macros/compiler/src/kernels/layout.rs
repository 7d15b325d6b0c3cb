//! What a type of the source is, through its typedefs, and how it lies in memory.

use super::ctype::{Base, CType, Primitive, Scalar, vector};
use super::declarations::Declarations;
use super::declarator::Declarator;
use super::lexer::Token;
use super::record::{Definition, Record, What};

/// Size and alignment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) size: u64,
    pub(super) align: u64,
}

/// A type of the source as far as it is known.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// As the source spells it, and what it is in the end.
    pub(super) base: Base,
    pub(super) layout: Option<Layout>,
    /// Where it is defined, file and line, if it is a struct of the source.
    pub(super) defined: Option<(usize, usize)>,
    /// A field that is a pointer.
    pub(super) pointer: Option<String>,
    /// Whether a typedef makes it `const`.
    pub(super) constant: bool,
}

/// The type of a parameter, its typedefs resolved.
#[derive(Debug, Clone)]
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
pub(super) fn resolve(declarations: &Declarations, namespace: &[String], ty: &CType) -> Resolved {
    let mut types = Types { declarations, steps: STEPS };
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
                Found::Array { constant, layout, .. } => array(pointee, constant, layout),
            };
            Resolved::Pointer { constant: *constant || known.constant, pointee: known }
        }
    }
}

/// The element of a variable: of an array, what it holds in the end.
pub(super) fn element(declarations: &Declarations, namespace: &[String], variable: &Declarator) -> Known {
    let mut types = Types { declarations, steps: STEPS };
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
    namespace: &[String],
    variable: &Declarator,
) -> Option<u64> {
    let mut types = Types { declarations, steps: STEPS };
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
    let base = Base { text, scalar: Scalar::Compound };
    Known { base, layout: Some(ADDRESS), defined: None, pointer: None, constant: false }
}

/// An array in memory that a typedef names: an array of Rust, or one number after the other.
fn array(named: &Base, constant: bool, layout: Option<Layout>) -> Known {
    let base = Base { text: named.text.clone(), scalar: Scalar::Unknown };
    Known { base, layout, defined: None, pointer: None, constant }
}

/// What one of the language's or CUDA's own types is.
pub(super) fn builtin(base: &Base) -> Option<Layout> {
    let text = base.text.trim_start_matches("::");
    match base.scalar {
        Scalar::Is(primitive) | Scalar::Enum(primitive) => {
            Some(Layout { size: primitive.size(), align: primitive.size() })
        }
        Scalar::Char => Some(Layout { size: 1, align: 1 }),
        Scalar::Compound | Scalar::Unknown if text == "dim3" => Some(Layout { size: 12, align: 4 }),
        Scalar::Compound | Scalar::Unknown => {
            let (element, count) = vector(text)?;
            let size = element.size() * count;
            // Those of three have the alignment of one.
            let align = if count == 3 { element.size() } else { size.min(16) };
            Some(Layout { size, align })
        }
    }
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
    declarations: &'a Declarations,
    steps: usize,
}

impl<'a> Types<'a> {
    fn known(&mut self, base: &Base, namespace: &[String], depth: usize) -> Found {
        let unknown = |scalar| {
            let base = Base { text: base.text.clone(), scalar };
            Found::Type(Known { base, layout: None, defined: None, pointer: None, constant: false })
        };
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.checked_sub(1)) else {
            return unknown(Scalar::Unknown);
        };
        self.steps = steps;
        let own = builtin(base);
        // CUDA's own headers may be among the files, and what they define is known better than they can be read.
        let is_better = |found: &&Definition| own.is_none() || matches!(found.what, What::Alias(_));
        let Some(definition) = self.find(&base.text, namespace).filter(is_better) else {
            let Found::Type(known) = unknown(base.scalar) else { return unknown(base.scalar) };
            return match own {
                Some(_) => Found::Type(Known { layout: own, ..known }),
                None => self.macro_type(&base.text, namespace, depth).unwrap_or(Found::Type(known)),
            };
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
                let Found::Type(known) = unknown(integer.map_or(Scalar::Unknown, Scalar::Enum)) else {
                    return unknown(Scalar::Unknown);
                };
                Found::Type(Known { layout: builtin(&known.base), ..known })
            }
            What::Record(record) => {
                let base = Base { text: base.text.clone(), scalar: Scalar::Unknown };
                let defined = Some((definition.file, definition.line));
                let (layout, pointer) = self.record(record, &definition.namespace, depth);
                Found::Type(Known { base, layout, defined, pointer, constant: false })
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
                Found::Array { constant, layout, .. } => {
                    let constant = constant || alias.constant;
                    Found::Pointer { pointee: array(&alias.base, constant, layout), constant }
                }
                Found::Pointer { .. } => Found::Type(pointer(alias.base.text.clone())),
            },
            ([], bounds @ [_, ..]) => {
                let element = match self.known(&alias.base, namespace, depth) {
                    Found::Type(known) => Known { base: respelt(&alias.base, &known), ..known },
                    Found::Array { constant, layout, .. } => array(&alias.base, constant, layout),
                    Found::Pointer { .. } => pointer(alias.base.text.clone()),
                };
                let layout = element.layout.and_then(|layout| self.array(layout, bounds));
                Found::Array { constant: alias.constant || element.constant, element, layout }
            }
            _ => Found::Type(Known { layout: None, ..pointer(alias.base.text.clone() + "*") }),
        }
    }

    /// `#define REAL float`
    fn macro_type(&mut self, name: &str, namespace: &[String], depth: usize) -> Option<Found> {
        let body = self.declarations.constants.get(name)?;
        let declarator = super::declarator::declarator(body).filter(|found| found.name.is_none())?;
        Some(self.alias(&declarator, namespace, depth))
    }

    /// The one definition of a name, looked up from the inside to the outside.
    fn find(&self, text: &str, namespace: &[String]) -> Option<&'a Definition> {
        let (absolute, text) = match text.strip_prefix("::") {
            Some(text) => (true, text),
            None => (false, text),
        };
        let mut path: Vec<&str> = text.split("::").collect();
        let name = path.pop()?;
        let outermost = if absolute { 0 } else { namespace.len() };
        for outer in (0..=outermost).rev() {
            let wanted = || namespace[..outer].iter().map(String::as_str).chain(path.iter().copied());
            let mut found = self.declarations.definitions.iter().filter(|definition| {
                definition.name == name && definition.namespace.iter().map(String::as_str).eq(wanted())
            });
            let Some(first) = found.next() else { continue };
            // Under `#if` there may be several.
            return found.all(|other| other.what == first.what).then_some(first).or(Some(&UNKNOWN));
        }
        None
    }

    /// The layout by C's rules, and a field that is a pointer.
    fn record(
        &mut self,
        record: &Record,
        namespace: &[String],
        depth: usize,
    ) -> (Option<Layout>, Option<String>) {
        let mut pointer = None;
        let layout = self.lay_out(record, namespace, depth, &mut pointer);
        (layout.filter(|_| !self.declarations.packs), pointer)
    }

    /// An array with these bounds of elements of this layout.
    fn array(&self, element: Layout, bounds: &[Vec<Token>]) -> Option<Layout> {
        let count = |bound| u64::try_from(self.declarations.constants.evaluate(bound)?).ok();
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
        pointer: &mut Option<String>,
    ) -> Option<Layout> {
        let mut whole = Some(Layout { size: 0, align: 1 });
        for field in record.fields.as_ref()? {
            let mut known = match (&field.pointers[..], self.known(&field.base, namespace, depth)) {
                ([], Found::Type(known)) => known,
                ([], Found::Array { element, constant, layout }) => {
                    Known { pointer: element.pointer, ..array(&field.base, constant, layout) }
                }
                _ => {
                    let text = "*".repeat(field.pointers.len());
                    let known = address(format!("{}{text}", field.base.text));
                    let name = field.name.as_deref().unwrap_or_default();
                    let field = Some(format!("{} {name}", known.base.text));
                    Known { pointer: field, ..known }
                }
            };
            if pointer.is_none() {
                *pointer = known.pointer.take();
            }
            // A pointer may come behind what is not known.
            whole =
                whole.and_then(|whole| self.with_field(whole, known.layout?, &field.bounds, record.is_union));
        }
        let mut whole = whole?;
        if let Some(align) = &record.align {
            let align = u64::try_from(self.declarations.constants.evaluate(align)?).ok()?;
            whole.align = whole.align.max(align.is_power_of_two().then_some(align)?);
        }
        // A struct without fields has one byte in C++ and none in Rust.
        whole.size = whole.size.checked_next_multiple_of(whole.align).filter(|&size| size > 0)?;
        Some(whole)
    }
}

/// What several definitions of one name are.
static UNKNOWN: Definition =
    Definition { name: String::new(), namespace: Vec::new(), file: 0, line: 0, what: What::Unknown };
