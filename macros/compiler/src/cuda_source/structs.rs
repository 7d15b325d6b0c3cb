//! How the structs of the source lie in memory, by C's rules.

use super::ctype::{Primitive, Scalar};
use super::known::{Known, Layout, Numbers, address, array};
use super::layout::{Found, Types};
use super::lexer::Token;
use super::record::Record;

impl Types<'_> {
    /// The layout by C's rules, the numbers that it is made of, and a field that is a pointer.
    pub(super) fn record(
        &mut self,
        record: &Record,
        place: (usize, usize),
        namespace: &[String],
        depth: usize,
        known: &mut Known,
    ) {
        let mut parts = Parts { pointer: None, numbers: None, is_mixed: record.is_union };
        let layout = self.lay_out(record, place, namespace, depth, &mut parts);
        known.pointer = parts.pointer;
        known.layout = layout.filter(|_| !self.names.declarations.packs);
        // A struct without fields has one byte.
        if record.members.as_ref().is_some_and(|members| members.fields.is_empty()) {
            parts.numbers = Some(Numbers { scalar: Scalar::Is(Primitive::U8), count: 1 });
        }
        let whole = |numbers: &Numbers| {
            let size = numbers.scalar.size().and_then(|size| size.checked_mul(numbers.count));
            size.is_some() && size == known.layout.map(|layout| layout.size)
        };
        known.numbers = parts.numbers.filter(|numbers| !parts.is_mixed && whole(numbers));
    }

    /// An array with these bounds of elements of this layout.
    pub(super) fn array(&self, element: Layout, bounds: &[Vec<Token>]) -> Option<Layout> {
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
        place: (usize, usize),
        namespace: &[String],
        depth: usize,
        parts: &mut Parts,
    ) -> Option<Layout> {
        let mut whole = Some(Layout { size: 0, align: 1 });
        let sides = &self.names.declarations.sides;
        for field in &record.members.as_ref()?.fields {
            let [first, last] =
                [field.lines.0, field.lines.1].map(|line| sides.inside((field.file, line), place));
            match self.names.choices.takes(&first, sides).filter(|_| first == last) {
                Some(true) => {}
                Some(false) => continue,
                None => whole = None,
            }
            let found = match &field.own {
                Some(what) => self.what(&field.declarator.base, what, place, namespace, depth),
                None => self.known(&field.declarator.base, namespace, depth),
            };
            let field = &field.declarator;
            let mut known = match (&field.pointers[..], found) {
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
        // A struct without fields has one byte in C++.
        whole.size = whole.size.max(1).checked_next_multiple_of(whole.align)?;
        Some(whole)
    }
}

/// The findings about a struct's fields.
struct Parts {
    pointer: Option<String>,
    numbers: Option<Numbers>,
    /// Whether it is made of several things.
    is_mixed: bool,
}

impl Parts {
    /// Adds as many equal fields as the layout has bytes.
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
