//! The types of a source, through their typedefs, and their layout in memory.

use std::rc::Rc;

use super::branches::Choices;
use super::ctype::{Base, CType, Primitive, Scalar};
use super::declarations::Declarations;
use super::declarator::Declarator;
use super::known::{ADDRESS, Known, Layout, address, array, builtin, numbers};
use super::names::{Meaning, Names};
use super::record::{Definition, What};
use super::templates;
use super::toolkit_types;

/// The type of a parameter, its typedefs resolved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Resolved {
    Value(Known),
    Pointer { pointee: Known, constant: bool },
    Reference,
    Function,
    Opaque,
}

/// How many definitions deep a type may be; a circular type is deeper.
const DEPTH: usize = 32;
/// How many definitions one type may go through.
const STEPS: usize = 2000;

/// Looks a type of a parameter up from within `namespace`.
pub(crate) fn resolve(
    declarations: &Declarations,
    choices: &Choices,
    namespace: &[String],
    ty: &CType,
) -> Resolved {
    let mut types = Types { names: Names { declarations, choices }, steps: STEPS };
    match ty {
        CType::Opaque => Resolved::Opaque,
        CType::Function => Resolved::Function,
        CType::Reference(_) => Resolved::Reference,
        CType::Value(base) => match types.known(base, namespace, DEPTH) {
            Found::Type(known)
                if known.is_any() && templates::may_be_a_pointer(&declarations.templates, &base.text) =>
            {
                Resolved::Opaque
            }
            Found::Type(known) => Resolved::Value(Known { base: respelt(base, &known), ..known }),
            Found::Pointer { pointee, constant } | Found::Array { element: pointee, constant, .. } => {
                Resolved::Pointer { pointee, constant }
            }
            Found::Function => Resolved::Function,
        },
        CType::Pointer { pointee, constant } => {
            let known = match types.known(pointee, namespace, DEPTH) {
                Found::Type(known) => Known { base: respelt(pointee, &known), ..known },
                Found::Pointer { .. } | Found::Function => address(pointee.text.clone()),
                Found::Array { element, constant, layout } => array(pointee, &element, constant, layout),
            };
            Resolved::Pointer { constant: *constant || known.constant, pointee: known }
        }
    }
}

/// The element of a variable: for an array, the type that it holds in the end.
pub(crate) fn element(
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
        Found::Pointer { .. } | Found::Function => address(variable.base.text.clone()),
    }
}

/// The bytes of a variable, where plain text tells.
pub(crate) fn size_of_variable(
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
        Found::Pointer { .. } | Found::Function => ADDRESS,
    };
    types.array(layout, &variable.bounds).map(|whole| whole.size)
}

fn respelt(written: &Base, known: &Known) -> Base {
    Base { text: written.text.clone(), scalar: known.base.scalar }
}

/// The type that a name stands for.
pub(super) enum Found {
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
    /// A typedef of a pointer to one.
    Function,
}

pub(super) struct Types<'a> {
    pub(super) names: Names<'a>,
    steps: usize,
}

impl<'a> Types<'a> {
    pub(super) fn known(&mut self, base: &Base, namespace: &[String], depth: usize) -> Found {
        let unknown = |scalar| Found::Type(Known::named(&base.text, scalar));
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.checked_sub(1)) else {
            return unknown(Scalar::Unknown);
        };
        self.steps = steps;
        let own = builtin(base);
        // CUDA's own headers may be among the files. Their types are known better than they can be read.
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
                if let Some(found) = self.member(base, namespace, depth) {
                    return found;
                }
                let known =
                    Known { layout: own, numbers: numbers(base), ..Known::named(&base.text, base.scalar) };
                return Found::Type(match own {
                    Some(_) => known,
                    None => toolkit_types::known(&base.text)
                        .unwrap_or(Known { is_nowhere: self.names.is_nowhere(&base.text), ..known }),
                });
            }
        };
        let place = (definition.file, definition.line);
        self.what(base, &definition.what, place, &definition.namespace, depth)
    }

    /// The type that a path through structs leads to: `Traits::Real`, `Vec<float>::Type`, `Vec<float>`.
    fn member(&mut self, base: &Base, namespace: &[String], depth: usize) -> Option<Found> {
        if !base.text.contains(['<', ':']) {
            return None;
        }
        let path = templates::path(base.text.trim_start_matches("::"))?;
        // The first that is a struct.
        let names: Vec<_> = path.iter().map(|(name, _)| name.as_str()).collect();
        let template = path.iter().position(|(_, arguments)| arguments.is_some());
        let (mut what, place, namespace, inside) = match template {
            Some(at) => {
                let arguments = path[at].1.as_ref()?;
                let templates = &self.names.declarations.templates;
                let (found, what) = templates::instance(templates, namespace, &names[..=at], arguments)?;
                (Rc::new(what), (found.file, found.line), &found.namespace, at + 1)
            }
            None => {
                let (last, outer) = names.split_last()?;
                let Meaning::Defined(found) = self.names.find(&outer.join("::"), namespace)? else {
                    return None;
                };
                let What::Record(record) = &found.what else { return None };
                let types = &record.members.as_ref()?.types;
                let (_, what) = types.iter().find(|(name, _)| name == last)?;
                (Rc::clone(what), (found.file, found.line), &found.namespace, path.len())
            }
        };
        for (name, arguments) in &path[inside..] {
            let What::Record(record) = &*what else { return None };
            let types = &record.members.as_ref()?.types;
            let (_, inner) = types.iter().find(|(other, _)| other == name && arguments.is_none())?;
            what = Rc::clone(inner);
        }
        Some(self.what(base, &what, place, namespace, depth))
    }

    /// The type of a name that is defined at `place`, or in a struct that is.
    pub(super) fn what(
        &mut self,
        base: &Base,
        what: &What,
        place: (usize, usize),
        namespace: &[String],
        depth: usize,
    ) -> Found {
        let unknown = || Found::Type(Known::named(&base.text, Scalar::Unknown));
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.checked_sub(1)) else {
            return unknown();
        };
        self.steps = steps;
        match what {
            What::Alias(alias) => self.alias(alias, namespace, depth),
            What::Function => Found::Function,
            What::Enum(underlying) => {
                let integer = match underlying {
                    None => Some(Primitive::U32),
                    Some(base) => match self.known(base, namespace, depth) {
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
                known.defined = Some(place);
                known.is_union = record.is_union;
                self.record(record, place, namespace, depth, &mut known);
                Found::Type(known)
            }
            What::Unknown => unknown(),
        }
    }

    /// The type that a typedef stands for.
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
                Found::Pointer { .. } | Found::Function => Found::Type(pointer(alias.base.text.clone())),
            },
            ([], bounds @ [_, ..]) => {
                let element = match self.known(&alias.base, namespace, depth) {
                    Found::Type(known) => Known { base: respelt(&alias.base, &known), ..known },
                    Found::Array { element, constant, layout } => {
                        array(&alias.base, &element, constant, layout)
                    }
                    Found::Pointer { .. } | Found::Function => pointer(alias.base.text.clone()),
                };
                let layout = element.layout.and_then(|layout| self.array(layout, bounds));
                Found::Array { constant: alias.constant || element.constant, element, layout }
            }
            _ => Found::Type(Known { layout: None, ..pointer(alias.base.text.clone() + "*") }),
        }
    }
}
