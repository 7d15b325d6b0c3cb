//! Loops over tiles and rows, which a block fills.

use super::super::generator::{Access, Generator, Return};
use super::super::types::{Number, Ty};
use super::{Handle, Owner};

const USIZE: Ty = Ty::Number(Number::Usize);

impl Generator {
    /// `for at in block.tiles::<4, 8>(y) { … }`, `for row in block.rows(y) { … }`
    pub fn for_parts(&mut self, depth: usize) -> Option<String> {
        let handles: Vec<_> = self
            .handles
            .iter()
            .filter(|handle| matches!(handle.owner, Owner::Tiles | Owner::Rows))
            .cloned()
            .collect();
        if handles.is_empty() {
            return None;
        }
        let handle = self.pick(&handles);
        let (name, own) = (handle.name.clone(), self.own_name("p"));
        self.indent += 1;
        let text = self.scoped(|this| {
            let fields: &[&str] =
                if handle.owner == Owner::Tiles { &["item", "top", "left"] } else { &["get"] };
            for field in fields {
                this.declare(&format!("{own}.{field}()"), USIZE, false, Access::Kept);
            }
            this.loops += 1;
            let mut text = String::new();
            for _ in 0..this.below(3) {
                text += &this.line();
                text += &this.statement(depth - 1);
            }
            text += &this.line();
            text += &this.fill_part(&handle, &own);
            this.loops -= 1;
            text
        });
        self.indent -= 1;
        let over = match handle.owner {
            Owner::Tiles => {
                self.count("for: tiles");
                let sizes = &self.tiles.as_ref().expect("it has tiles").written;
                format!("block.tiles::<{sizes}>({name})")
            }
            _ => {
                self.count("for: rows");
                format!("block.rows({name})")
            }
        };
        Some(format!("for {own} in {over} {{{text}{}}}", self.line()))
    }

    /// `block.fill(&mut y.tile(at), |[r, c]| …);`
    fn fill_part(&mut self, handle: &Handle, own: &str) -> String {
        let is_tile = handle.owner == Owner::Tiles;
        let parts = self.tiles.as_ref().and_then(|tiles| tiles.parts);
        if let (true, Some(parts)) = (is_tile && self.chance(60), parts) {
            return self.fill_parts(handle, own, parts);
        }
        self.count(if is_tile { "fill of a tile" } else { "fill of a row" });
        let closure = self.phase(false, Return::Value(handle.ty.clone()), None, |this, _| {
            let place = this.place_of_element(is_tile);
            format!("|{place}| {}", this.phase_value(&handle.ty, false))
        });
        let part = if is_tile { "tile" } else { "row" };
        format!("block.fill(&mut {}.{part}({own}), {closure});", handle.name)
    }

    /// `block.fill_parts(&mut y.tile(at), |t| …);`
    fn fill_parts(&mut self, handle: &Handle, own: &str, [down, across]: [usize; 2]) -> String {
        self.count("fill_parts");
        let whole = Ty::array(Ty::array(handle.ty.clone(), across), down);
        let line = self.line();
        self.indent += 1;
        let closure = self.phase(true, Return::Value(whole), None, |this, thread| {
            let inner = this.line();
            let start = this.expression(&handle.ty, 1, true).text;
            let [part, values, i, j] = ["p", "w", "i", "j"].map(|begin| this.own_name(begin));
            let value = this.scoped(|this| {
                this.declare(&format!("{part}.row({i})"), USIZE, false, Access::Kept);
                this.declare(&format!("{part}.column({j})"), USIZE, false, Access::Kept);
                this.expression(&handle.ty, 2, false).text
            });
            format!(
                "|{thread}| {{{inner}let {part} = {own}.part::<{down}, {across}>({thread});{inner}\
                 let mut {values} = [[{start}; {across}]; {down}];{inner}\
                 for {i} in 0..{down} {{ for {j} in 0..{across} {{ {values}[{i}][{j}] = {value}; }} }}{inner}\
                 {values}{line}}}"
            )
        });
        self.indent -= 1;
        format!("block.fill_parts(&mut {}.tile({own}), {closure});", handle.name)
    }
}
