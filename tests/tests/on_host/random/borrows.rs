//! Parts of slices, and references to variables.

use super::generator::{Access, Generator, Level, binds};
use super::scope::root;
use super::types::{Number, Ty};

impl Generator {
    /// `&x[from..to]`
    pub fn part_of_a_slice(&mut self) -> String {
        let mut whole: Vec<_> =
            self.slices().into_iter().map(|(name, of)| (name.clone(), format!("{name}.len()"), of)).collect();
        for (_, variable) in self.visible() {
            if let (Access::Value, false, Ty::Array(of, length)) =
                (variable.access, variable.mutable, &variable.ty)
            {
                whole.push((variable.name.clone(), length.to_string(), (**of).clone()));
            }
        }
        if whole.is_empty() {
            return self.let_value();
        }
        let (slice, length, of) = self.pick(&whole);
        self.count("a part of a slice");
        let usize = Ty::Number(Number::Usize);
        let bound = |this: &mut Self| match this.chance(70) {
            true => {
                let bound = this.expression(&usize, 1, true).within(binds::PRODUCT);
                format!("({bound} % {length})")
            }
            false => this.below(6).to_string(),
        };
        let range = match self.below(6) {
            0 => "..".to_owned(),
            1 => format!("{}..", bound(self)),
            2 => format!("..{}", bound(self)),
            3 => format!("..={}", bound(self)),
            4 => {
                let first = self.below(3);
                format!("{first}..{}", first + self.below(4))
            }
            _ => format!("{}..{}", self.below(3), bound(self)),
        };
        let name = self.own_name("s");
        self.declare(&name, of, false, Access::Slice);
        format!("let {name} = &{slice}[{range}];")
    }

    /// `let r = &x`, and a variable that is changed through `&mut`.
    pub fn reference(&mut self) -> String {
        let types = self.writable_types();
        // Outside of phases nothing is changed through a reference.
        if types.is_empty() || self.level == Level::Block || self.chance(40) {
            let ty = self.simple();
            let readable: Vec<_> =
                self.readable(&ty).into_iter().filter(|place| place.binds == binds::ATOM).collect();
            let immutable: Vec<_> = readable
                .into_iter()
                .filter(|place| {
                    let root = root(&place.text);
                    self.visible().any(|(_, v)| v.name == root && !v.mutable && v.access == Access::Value)
                })
                .collect();
            if immutable.is_empty() {
                return self.let_value();
            }
            self.count("a reference");
            let place = self.pick(&immutable).text;
            let name = self.own_name("r");
            self.declare(&name, ty, false, Access::Ref);
            return format!("let {name} = &{place};");
        }
        let ty = self.pick(&types);
        let places: Vec<_> =
            self.writable(&ty).into_iter().filter(|place| place.binds == binds::ATOM).collect();
        if places.is_empty() {
            return self.let_value();
        }
        self.count("a reference that writes");
        let place = self.pick(&places).text;
        let name = self.own_name("w");
        self.scoped(|this| {
            // Only the reference reads and writes it.
            this.hide(&place);
            this.declare(&name, ty, true, Access::RefMut);
            this.indent += 1;
            let mut text = format!("{{{0}let {name} = &mut {place};", this.line());
            for _ in 0..=this.below(2) {
                text += &this.line();
                text += &this.assignment();
            }
            this.indent -= 1;
            text + &this.line() + "}"
        })
    }
}
