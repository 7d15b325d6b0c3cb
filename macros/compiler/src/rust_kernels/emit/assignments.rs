//! Assignments.

use super::super::ir::{Binary, Expr, Kind};
use super::super::types::{Number, Shape};
use super::faults::order_shows;
use super::{Emitter, Sink, Value};

/// The operators that C++ may write as `a += b`, and how loosely they bind.
const PLAIN: [(&str, u8); 8] =
    [("+", 6), ("-", 6), ("*", 5), ("/", 5), ("%", 5), ("&", 11), ("|", 13), ("^", 12)];

impl Emitter<'_> {
    pub(super) fn assign(&mut self, place: &Expr, value: &Expr) {
        if let Kind::If(..) | Kind::Match(..) = value.kind
            && let Kind::Local(local) = place.kind
        {
            let name = self.local(local).cpp.clone();
            return self.deliver(value, &Sink::Variable(name));
        }
        let mut text = self.value(value);
        let before = self.lines.len();
        let place = self.value(place);
        if self.lines.len() > before {
            self.keep_before(before, &mut text);
        }
        self.write(&format!("{} = {};", place.text, text.text));
    }

    /// Keeps a value in a constant before the lines that were written since: Rust evaluates what is assigned
    /// before the place.
    fn keep_before(&mut self, before: usize, value: &mut Value) {
        if !value.stable {
            let name = self.temporary("kept");
            self.insert(before, vec![format!("const auto {name} = {};", value.text)]);
            *value = Value::stable(name);
        }
    }

    pub(super) fn assign_parts(&mut self, places: &Expr, value: &Expr) {
        let whole = self.temporary("whole");
        let text = self.value(value).text;
        self.write(&format!("const auto {whole} = {text};"));
        self.assign_part(places, &whole);
    }

    /// Writes a C++ value to a place, or its parts to the places of a tuple or an array.
    fn assign_part(&mut self, place: &Expr, text: &str) {
        match &place.kind {
            Kind::Tuple(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.assign_part(part, &format!("{text}._{index}"));
                }
            }
            Kind::Array(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.assign_part(part, &format!("{text}.a[{index}]"));
                }
            }
            // `_`
            Kind::Unit => {}
            _ => {
                let place = self.value(place);
                self.write(&format!("{} = {text};", place.text));
            }
        }
    }

    /// `place += value`, by any operator.
    pub(super) fn assign_combined(&mut self, op: Binary, place: &Expr, value: &Expr, line: usize) {
        let (place_text, value_text) = match self.is_of_a_trait(place, value) {
            true => self.place_and_value(place, value),
            false => {
                // Once, before the place, which it may change.
                let (mut value_text, of_value) = self.with_faults(|emitter| emitter.operand_once(value));
                let before = self.lines.len();
                let (place_text, of_place) = self.with_faults(|emitter| emitter.value(place));
                if self.lines.len() > before || order_shows(&of_value, &of_place) {
                    self.keep_before(before, &mut value_text);
                }
                (place_text, value_text)
            }
        };
        let combined = self.binary(op, (&place_text, place), (&value_text, value), line);
        let short = PLAIN.iter().find(|(symbol, binds)| {
            let (left, right) = (place_text.within(*binds), value_text.within(binds - 1));
            combined.binds == *binds && combined.text == format!("{left} {symbol} {right}")
        });
        match short {
            Some((symbol, _)) => {
                self.write(&format!("{} {symbol}= {};", place_text.text, value_text.text));
            }
            None => self.write(&format!("{} = {};", place_text.text, combined.text)),
        }
    }

    /// Whether the operator is a trait's method for rustc, which evaluates the place before the value: that of a
    /// half, or one by a reference.
    fn is_of_a_trait(&self, place: &Expr, value: &Expr) -> bool {
        self.types.as_number(place.ty).is_some_and(Number::is_half)
            || matches!(self.types.shape(value.ty), Shape::Ref(..))
    }

    /// A place, and then a value. A place that what the value needs may change is kept by a reference.
    fn place_and_value(&mut self, place: &Expr, value: &Expr) -> (Value, Value) {
        let (mut place_text, of_place) = self.with_faults(|emitter| emitter.value(place));
        let before = self.lines.len();
        let (value_text, of_value) = self.with_faults(|emitter| emitter.operand_once(value));
        let changes = self.lines.len() > before && !self.is_place(place) || order_shows(&of_place, &of_value);
        if changes {
            let name = self.temporary("place");
            self.insert(before, vec![format!("auto& {name} = {};", place_text.text)]);
            place_text = Value::of(name);
        }
        (place_text, value_text)
    }

    /// An operand, whose effects happen once.
    fn operand_once(&mut self, value: &Expr) -> Value {
        self.operands([value]).remove(0)
    }
}
