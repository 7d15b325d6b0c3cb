//! Expressions of a wanted type.
//!
//! `evident` asks for an expression whose type rustc knows from itself alone: what a method is called on, or `as`
//! converts.

use super::generator::{Access, Constant, Device, Generator, Text, binds};
use super::types::{NUMBERS, Number, Ty};

impl Generator {
    pub fn expression(&mut self, ty: &Ty, depth: usize, evident: bool) -> Text {
        self.count("expressions");
        if depth == 0 {
            return self.leaf(ty, evident);
        }
        match self.weighted(&[10, 54, 14, 8, 8, 6]) {
            0 => self.leaf(ty, evident),
            1 => match ty {
                Ty::Number(number) => self.of_number(*number, depth, evident),
                Ty::Bool => self.of_bool(depth),
                Ty::Tuple(parts) => self.tuple(parts, depth, evident),
                Ty::Array(of, length) => self.array(of, *length, depth, evident),
                Ty::Half(half) => self.of_half(*half, depth),
                Ty::Struct(of) => self.struct_value(of, depth),
            },
            2 => self.element(ty, depth).unwrap_or_else(|| self.leaf(ty, evident)),
            3 => self.if_value(ty, depth, evident),
            4 => self.match_value(ty, depth, evident),
            _ => {
                self.count("a block as a value");
                let text = self.value_block(ty, depth, evident);
                Text::new(text, binds::BLOCK)
            }
        }
    }

    /// The text as an operand that others follow.
    fn left(&mut self, ty: &Ty, depth: usize, evident: bool, within: u8) -> String {
        self.expression(ty, depth, evident).within(within)
    }

    /// The text as an operand: blocks are sometimes without parentheses.
    fn operand(&mut self, ty: &Ty, depth: usize, evident: bool, within: u8) -> String {
        let operand = self.expression(ty, depth, evident);
        if operand.binds == binds::BLOCK && within >= binds::PRODUCT && self.chance(40) {
            return operand.text;
        }
        operand.within(within)
    }

    pub fn leaf(&mut self, ty: &Ty, evident: bool) -> Text {
        let readable = self.readable(ty);
        if !readable.is_empty() && self.chance(75) {
            return self.pick(&readable);
        }
        match ty {
            Ty::Number(number) => {
                if *number == Number::Usize && self.chance(40) {
                    return self.usize_leaf(evident);
                }
                if self.chance(6) { self.constant(*number) } else { self.literal(*number, evident) }
            }
            Ty::Bool => Text::atom(self.pick(&["true", "false"])),
            Ty::Tuple(parts) => self.tuple(parts, 0, evident),
            Ty::Array(of, length) => self.array(of, *length, 0, evident),
            Ty::Half(half) => self.half_leaf(*half),
            Ty::Struct(of) => self.struct_value(of, 0),
        }
    }

    fn usize_leaf(&mut self, evident: bool) -> Text {
        let index = self.visible().find(|(_, variable)| variable.access == Access::Index);
        let index = index.map(|(_, variable)| variable.name.clone());
        let slices = self.slices();
        match (index, self.below(3)) {
            (Some(index), 0 | 1) if self.dimensions == 1 => {
                self.count("`get` of an index");
                Text::atom(format!("{index}.get()"))
            }
            (Some(index), 0 | 1) => {
                self.count("`get` of an index of several dimensions");
                let axis = self.below(self.dimensions);
                Text::atom(format!("{index}.get()[{axis}]"))
            }
            (_, 2) if !slices.is_empty() => {
                self.count("`len`");
                let (name, _) = self.pick(&slices);
                Text::atom(format!("{name}.len()"))
            }
            _ => self.literal(Number::Usize, evident),
        }
    }

    fn of_number(&mut self, number: Number, depth: usize, evident: bool) -> Text {
        let float = number.is_float();
        if self.chance(12)
            && let Some(text) = self.number_of_atomic(number)
        {
            return text;
        }
        if self.chance(12)
            && let Some(text) = self.number_of_half(number, depth)
        {
            return text;
        }
        match self.weighted(&[38, 8, 16, 26, if float { 0 } else { 8 }, 4]) {
            0 => self.arithmetic(number, depth, evident),
            1 => self.unary(number, depth, evident),
            2 => self.cast(number, depth),
            3 => self.method(number, depth),
            4 => self.shift(number, depth, evident),
            _ => self.conversion(number, depth),
        }
    }

    fn arithmetic(&mut self, number: Number, depth: usize, evident: bool) -> Text {
        const OPERATORS: &[(&str, u8, &str)] = &[
            ("+", binds::SUM, "+"),
            ("-", binds::SUM, "-"),
            ("*", binds::PRODUCT, "*"),
            ("/", binds::PRODUCT, "/"),
            ("%", binds::PRODUCT, "%"),
            ("&", binds::BIT_AND, "&"),
            ("|", binds::BIT_OR, "|"),
            ("^", binds::BIT_XOR, "^"),
        ];
        let weights: &[usize] = match (number.is_float(), number.is_signed() || self.wild) {
            (true, _) => &[30, 30, 30, 12, 6, 0, 0, 0],
            (false, true) => &[20, 20, 12, 8, 12, 8, 8, 8],
            // Differences of unsigned integers are often below 0.
            (false, false) => &[24, 5, 8, 8, 16, 10, 10, 10],
        };
        let (symbol, level, counted) = OPERATORS[self.weighted(weights)];
        self.count(counted);
        let ty = Ty::Number(number);
        let right_is_evident = evident && self.chance(25);
        let foreign = if self.chance(5) { self.foreign(&ty) } else { None };
        // Its type follows from the other side.
        let right_is_evident = right_is_evident || foreign.is_some();
        let left = match foreign {
            Some(foreign) => foreign.within(level),
            None => self.left(&ty, depth - 1, evident && !right_is_evident, level),
        };
        let right = match symbol {
            "/" | "%" if !number.is_float() => self.divisor(number, depth - 1, right_is_evident, level - 1),
            _ => self.operand(&ty, depth - 1, right_is_evident, level - 1),
        };
        // A reference is an operand, too.
        let right = match self.reference_to(&ty) {
            Some(reference) if self.chance(3) && !evident => {
                self.count("a reference as an operand");
                reference
            }
            _ => right,
        };
        let space = if self.chance(2) { self.line() } else { " ".to_owned() };
        Text {
            ends_in_type: ends_in_type(&right),
            ..Text::new(format!("{left}{space}{symbol} {right}"), level)
        }
    }

    /// Most often not 0.
    fn divisor(&mut self, number: Number, depth: usize, evident: bool, level: u8) -> String {
        let ty = Ty::Number(number);
        match self.weighted(&[55, 25, 20]) {
            0 => {
                let suffix = if evident { number.name() } else { "" };
                format!("{}{suffix}", 1 + self.below(20))
            }
            1 => {
                let operand = self.left(&ty, depth, evident, binds::BIT_OR);
                format!("({operand} | 1)")
            }
            _ => self.operand(&ty, depth, evident, level),
        }
    }

    fn reference_to(&mut self, ty: &Ty) -> Option<String> {
        let references =
            self.visible().filter(|(_, variable)| variable.access == Access::Ref && variable.ty == *ty);
        let references: Vec<_> = references.map(|(_, variable)| variable.name.clone()).collect();
        if references.is_empty() { None } else { Some(self.pick(&references)) }
    }

    fn shift(&mut self, number: Number, depth: usize, evident: bool) -> Text {
        let symbol = self.pick(&["<<", ">>"]);
        self.count(if symbol == "<<" { "<<" } else { ">>" });
        let left = self.expression(&Ty::Number(number), depth - 1, evident);
        // `x as u8 << 1` would begin the generics of a type.
        let left = if left.ends_in_type || ends_in_type(&left.text) {
            format!("({})", left.text)
        } else {
            left.within(binds::SHIFT)
        };
        let by = self.shift_distance(number, depth - 1);
        Text { ends_in_type: ends_in_type(&by), ..Text::new(format!("{left} {symbol} {by}"), binds::SHIFT) }
    }

    /// Most often within the type, and of any type.
    pub fn shift_distance(&mut self, number: Number, depth: usize) -> String {
        let bits = number.bits() as usize;
        match self.weighted(&[50, 35, 15]) {
            0 => self.below(bits).to_string(),
            1 => {
                let of = self.integer();
                self.count("a shift by a number of another type");
                let by = self.left(&Ty::Number(of), depth, true, binds::BIT_AND);
                format!("({by} & 7)")
            }
            _ => {
                let of = self.integer();
                self.operand(&Ty::Number(of), depth, true, binds::SHIFT - 1)
            }
        }
    }

    fn unary(&mut self, number: Number, depth: usize, evident: bool) -> Text {
        let ty = Ty::Number(number);
        let symbol = match (number.is_float(), number.is_signed()) {
            (true, _) => "-",
            (false, true) => self.pick(&["-", "!"]),
            (false, false) => "!",
        };
        self.count(if symbol == "-" { "unary -" } else { "unary !" });
        // Of a literal, the type must be that of a number with a sign.
        let operand = self.expression(&ty, depth - 1, evident);
        Text::new(format!("{symbol}{}", operand.within(binds::UNARY)), binds::UNARY)
    }

    fn cast(&mut self, number: Number, depth: usize) -> Text {
        let from = if self.chance(12) && !number.is_float() {
            self.count("as: of a bool");
            Ty::Bool
        } else {
            let from = self.number();
            self.count(match (from.is_float(), number.is_float()) {
                (false, false) => "as: integer to integer",
                (true, false) => "as: float to integer",
                (false, true) => "as: integer to float",
                (true, true) => "as: float to float",
            });
            Ty::Number(from)
        };
        let operand = match self.foreign(&from) {
            Some(foreign) if self.chance(15) => self.of_foreign(foreign, &from),
            _ => self.expression(&from, depth - 1, true),
        };
        let text = format!("{} as {number}", operand.within(binds::CAST), number = number.name());
        Text { ends_in_type: true, ..Text::new(text, binds::CAST) }
    }

    /// A value whose type rustc alone knows: a constant of the module, or a call of a function.
    pub fn foreign(&mut self, ty: &Ty) -> Option<Text> {
        let mut constants = Vec::new();
        for Constant { name, ty: of } in self.constants.clone() {
            match &of {
                of if of == ty => constants.push(name),
                Ty::Array(one, length) if **one == *ty => {
                    let at = self.index(&length.to_string(), 1);
                    constants.push(format!("{name}[{at}]"));
                }
                Ty::Struct(of) => {
                    let fields = of.fields.iter().filter(|(_, field)| field == ty);
                    constants.extend(fields.map(|(field, _)| format!("{name}.{field}")));
                }
                _ => {}
            }
        }
        let devices: Vec<_> = self.devices.iter().filter(|device| device.result == *ty).cloned().collect();
        if !devices.is_empty() && self.chance(40) {
            let device = self.pick(&devices);
            return self.call_of(&device).map(Text::atom);
        }
        if constants.is_empty() {
            return None;
        }
        self.count("a constant of the module");
        Some(Text::atom(self.pick(&constants)))
    }

    /// Perhaps an operation on such values alone.
    fn of_foreign(&mut self, foreign: Text, ty: &Ty) -> Text {
        let Ty::Number(number) = ty else { return foreign };
        match (self.below(4), self.foreign(ty)) {
            (0, Some(other)) => {
                self.count("an operation whose type rustc alone knows");
                let symbol = self.pick(match number.is_float() {
                    true => &["+", "-", "*", "/", "%"],
                    false => &["+", "*", "/", "%", "&", "|", "^"],
                });
                Text::atom(format!("({} {symbol} {})", foreign.text, other.text))
            }
            (1, _) => {
                self.count("a method of what rustc alone knows");
                let name = match (number.is_float(), number.is_signed()) {
                    (true, _) => self.pick(&["abs", "signum", "floor", "sqrt"]),
                    (false, true) => self.pick(&["abs", "signum", "unsigned_abs", "wrapping_neg"]),
                    (false, false) => self.pick(&["count_ones", "reverse_bits", "isqrt"]),
                };
                Text::atom(format!("{}.{name}()", foreign.text))
            }
            (2, _) if !number.is_float() => {
                self.count("unary ! of what rustc alone knows");
                Text::new(format!("!{}", foreign.text), binds::UNARY)
            }
            _ => foreign,
        }
    }

    /// A call of a function, if there is something for each of its parameters.
    pub fn call_of(&mut self, device: &Device) -> Option<String> {
        let mut arguments = Vec::new();
        for (ty, is_slice) in &device.parameters {
            if *is_slice {
                let slices: Vec<_> = self.slices().into_iter().filter(|(_, of)| of == ty).collect();
                if slices.is_empty() {
                    return None;
                }
                let slice = self.pick(&slices).0;
                arguments.push(self.as_slice(&slice));
            } else {
                arguments.push(self.expression(ty, 2, true).text);
            }
        }
        self.count("a call of a function");
        Some(format!("{}({})", device.name, arguments.join(", ")))
    }

    /// `u64::from(x)`, `f32::from_bits(x)`, `i32::wrapping_add(x, y)`
    fn conversion(&mut self, number: Number, depth: usize) -> Text {
        let name = number.name();
        if number.is_float() && self.chance(30) {
            self.count("`from_bits`");
            let bits = if number == Number::F32 { Number::U32 } else { Number::U64 };
            let argument = self.expression(&Ty::Number(bits), depth - 1, false);
            return Text::atom(format!("{name}::from_bits({})", argument.text));
        }
        let narrower: Vec<_> =
            NUMBERS.iter().map(|(other, _)| *other).filter(|other| number.is_from(*other)).collect();
        if !narrower.is_empty() && self.chance(60) {
            self.count("`from`");
            let from = self.pick(&narrower);
            let argument = self.expression(&Ty::Number(from), depth - 1, true);
            return Text::atom(format!("{name}::from({})", argument.text));
        }
        self.count("a method as a function");
        let ty = Ty::Number(number);
        let [a, b] = [(); 2].map(|()| self.expression(&ty, depth - 1, false).text);
        match number.is_float() {
            true => Text::atom(format!("{name}::{}({a}, {b})", self.pick(&["div_euclid", "rem_euclid"]))),
            false => {
                let method = self.pick(&["wrapping_add", "wrapping_mul", "min", "max", "saturating_sub"]);
                Text::atom(format!("{name}::{method}({a}, {b})"))
            }
        }
    }

    pub fn of_bool(&mut self, depth: usize) -> Text {
        if self.chance(10)
            && let Some(text) = self.bool_of_half(depth)
        {
            return text;
        }
        match self.weighted(&[46, 14, 14, 8, 8, 10]) {
            0 => self.comparison(depth),
            1 => self.both(depth, "&&", binds::AND),
            2 => self.both(depth, "||", binds::OR),
            3 => {
                self.count("! of a bool");
                let of = self.expression(&Ty::Bool, depth - 1, true);
                Text::new(format!("!{}", of.within(binds::UNARY)), binds::UNARY)
            }
            4 => {
                let (symbol, level, counted) = self.pick(&[
                    ("&", binds::BIT_AND, "& of bools"),
                    ("|", binds::BIT_OR, "| of bools"),
                    ("^", binds::BIT_XOR, "^ of bools"),
                ]);
                self.count(counted);
                let left = self.left(&Ty::Bool, depth - 1, true, level);
                let right = self.operand(&Ty::Bool, depth - 1, true, level - 1);
                Text::new(format!("{left} {symbol} {right}"), level)
            }
            _ => self.bool_method(depth),
        }
    }

    fn both(&mut self, depth: usize, symbol: &'static str, level: u8) -> Text {
        self.count(symbol);
        let left = self.expression(&Ty::Bool, depth - 1, true).within(level);
        let right = self.operand(&Ty::Bool, depth - 1, true, level - 1);
        let space = if self.chance(3) { self.line() } else { " ".to_owned() };
        Text::new(format!("{left}{space}{symbol} {right}"), level)
    }

    pub fn comparison(&mut self, depth: usize) -> Text {
        let ty = if self.chance(6) { Ty::Bool } else { Ty::Number(self.number()) };
        let symbol = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
        self.count(symbol);
        let left = self.expression(&ty, depth - 1, true);
        let left = if left.ends_in_type || ends_in_type(&left.text) {
            format!("({})", left.text)
        } else {
            left.within(binds::COMPARE - 1)
        };
        let right = self.operand(&ty, depth - 1, false, binds::COMPARE - 1);
        Text::new(format!("{left} {symbol} {right}"), binds::COMPARE)
    }

    fn tuple(&mut self, parts: &[Ty], depth: usize, evident: bool) -> Text {
        self.count("a tuple");
        let parts: Vec<_> =
            parts.iter().map(|part| self.expression(part, depth.saturating_sub(1), evident).text).collect();
        Text::atom(format!("({})", parts.join(", ")))
    }

    fn array(&mut self, of: &Ty, length: usize, depth: usize, evident: bool) -> Text {
        let depth = depth.saturating_sub(1);
        if self.chance(35) {
            self.count("an array of one value");
            return Text::atom(format!("[{}; {length}]", self.expression(of, depth, evident).text));
        }
        self.count("an array");
        let parts: Vec<_> = (0..length).map(|_| self.expression(of, depth, evident).text).collect();
        Text::atom(format!("[{}]", parts.join(", ")))
    }

    /// An element at a computed place, or a part of a value.
    fn element(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        if self.chance(50)
            && let Some(element) = self.shared_element(ty)
        {
            return Some(element);
        }
        let mut from: Vec<(String, String)> = Vec::new();
        for (name, of) in self.slices() {
            if of == *ty {
                from.push((name.clone(), format!("{name}.len()")));
            }
        }
        for length in 1..=4_usize {
            for array in self.readable(&Ty::Array(Box::new(ty.clone()), length)) {
                from.push((array.within(binds::ATOM), length.to_string()));
            }
        }
        if from.is_empty() {
            return None;
        }
        let (name, length) = self.pick(&from);
        self.count("an element");
        // A private variable is borrowed by `m[t]`, and not changed meanwhile.
        let index = match name.contains('[') {
            true => self.while_frozen(|this| this.index(&length, depth - 1)),
            false => self.index(&length, depth - 1),
        };
        Some(Text::atom(format!("{name}[{index}]")))
    }

    /// A place, most often below the length.
    pub fn index(&mut self, length: &str, depth: usize) -> String {
        let usize = Ty::Number(Number::Usize);
        let index = self.visible().find(|(_, variable)| variable.access == Access::Index);
        let index = index.map(|(_, variable)| variable.name.clone());
        match (self.weighted(&[50, 20, 15, 15]), index) {
            (0, _) => self.number_below(length, depth),
            (1, Some(index)) if self.dimensions == 1 && length.ends_with("len()") => {
                self.count("an element at the thread's index");
                index
            }
            (2, _) => self.expression(&usize, depth, false).text,
            _ => self.below(3).to_string(),
        }
    }

    /// A `usize` below the length, if that is not 0.
    pub fn number_below(&mut self, length: &str, depth: usize) -> String {
        let at = self.left(&Ty::Number(Number::Usize), depth, true, binds::PRODUCT);
        format!("{at} % {length}")
    }

    /// A float whose NaN, if it is one, has the same bits everywhere: nothing has computed it.
    pub fn plain_float(&mut self, number: Number, depth: usize) -> Text {
        let wanted = Ty::Number(number);
        let slices: Vec<_> = self.slices().into_iter().filter(|(_, of)| *of == wanted).collect();
        if !slices.is_empty() && self.chance(60) {
            let (name, _) = self.pick(&slices);
            let index = self.index(&format!("{name}.len()"), depth.saturating_sub(1));
            return Text::atom(format!("{name}[{index}]"));
        }
        let of = self.integer();
        let operand = self.expression(&Ty::Number(of), depth.saturating_sub(1), true);
        Text::atom(format!("({} as {})", operand.within(binds::CAST), number.name()))
    }
}

/// Whether what follows `as` is the last word, as in `a + b as u8`.
pub fn ends_in_type(text: &str) -> bool {
    let end = text.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    NUMBERS.iter().any(|(_, name)| *name == end) && text.trim_end_matches(end).ends_with("as ")
}
