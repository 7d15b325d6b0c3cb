//! Tiles and rows: parts of a parameter's data with a shape that a block has for itself.

use quote::ToTokens;
use syn::{Expr, ExprForLoop, ExprMethodCall, GenericArgument, Type};

use super::context::Owner;
use super::{Lower, Lowered, Reported};
use crate::groups::peel_expr;
use crate::rust_kernels::ir::{self, Block, Filled, Kind, LocalId, LoopId, Phase, Range};
use crate::rust_kernels::methods::Method;
use crate::rust_kernels::types::{Length, Number, Shape, Ty};
use crate::text::text;

/// What a kernel's signature has to say before its data have a shape.
const NO_SHAPE: &str = "a `Block<2>` or `Block<3>` has tiles and rows of its data, whose shape the launch says: `out y as [rows, columns]`";

/// What tiles and rows are, for errors.
pub(super) const TILES: &str =
    "a block writes its own tiles, which come from `block.tiles`, or its own rows, from `block.rows`";

impl Lower<'_> {
    /// `block.shape(y)`
    pub(super) fn shape(&mut self, call: &ExprMethodCall, of: &Expr) -> Lowered<(Kind, Ty)> {
        self.has_axes(call)?;
        let handle = self.handle(call, of)?;
        let usize = self.types.number(Number::Usize);
        let ty = self.types.add(Shape::Array(usize, Length(self.axes.to_string())));
        Ok((Kind::Method(Method::Shape, Box::new(handle), Vec::new()), ty))
    }

    /// `for at in block.tiles::<32, 32>(y)`, `for row in block.rows(y)`
    pub(super) fn for_parts(&mut self, of: &ExprForLoop) -> Lowered<Option<Kind>> {
        let Expr::MethodCall(call) = peel_expr(&of.expr) else { return Ok(None) };
        let is_tiles = call.method == "tiles";
        if !is_tiles && call.method != "rows" {
            return Ok(None);
        }
        let is_block = |at: ir::Expr| matches!(self.types.shape(at.ty), Shape::Block);
        if !self.position(&call.receiver).is_some_and(is_block) {
            return Ok(None);
        }
        self.outside_of_phases(call)?;
        self.has_axes(call)?;
        let block = text(&call.receiver);
        let [data] = &call.args.iter().collect::<Vec<_>>()[..] else {
            let what = format!("`{}` has other arguments", call.method);
            let generics = if is_tiles { "::<32, 32>" } else { "" };
            let help = format!("name the data: `{block}.{}{generics}(y)`", call.method);
            return Err(self.report(&call.method, "TW0911", &what, &[], &help));
        };
        let handle = self.handle(call, data)?;
        let shape = match is_tiles {
            true => self.sizes(call)?,
            false => Shape::Row,
        };
        let ty = self.types.add(shape);
        let name = self.loop_variable(&of.pat, ty)?;
        let (id, body) = self.loop_body(of)?;
        Ok(Some(if is_tiles {
            Kind::ForTiles(id, name, Box::new(handle), body)
        } else {
            self.for_rows(id, name, handle, body, call)
        }))
    }

    fn for_rows(
        &mut self,
        id: LoopId,
        name: LocalId,
        handle: ir::Expr,
        body: Block,
        call: &ExprMethodCall,
    ) -> Kind {
        let (usize, span) = (self.types.number(Number::Usize), call.method.span());
        let count = Kind::Method(Method::Rows, Box::new(handle), Vec::new());
        let range = Range {
            from: self.expr(Kind::Builtin("tw::block_number()"), usize, span),
            to: self.expr(count, usize, span),
            inclusive: false,
            reversed: false,
            step: Some(self.expr(Kind::Builtin("tw::blocks_of_grid()"), usize, span)),
            fits: false,
            // The other blocks have the rows between.
            unroll: None,
        };
        Kind::For(id, name, Box::new(range), body)
    }

    /// The type of a tile, whose sizes the user has written: `tiles::<32, 32>`.
    fn sizes(&mut self, call: &ExprMethodCall) -> Lowered<Shape> {
        let written = call.turbofish.iter().flat_map(|generics| &generics.args);
        let sizes: Vec<Expr> = written.filter_map(as_length).collect();
        let [rows, columns] = &sizes[..] else {
            let help = format!("write it: `{}.tiles::<32, 32>({})`", text(&call.receiver), text(&call.args));
            let what = "the size of these tiles must be written";
            return Err(self.report(
                &call.method,
                "TW0911",
                what,
                &["it is a number of rows, and of columns"],
                &help,
            ));
        };
        Ok(Shape::Tile(Length(self.length(rows)?), Length(self.length(columns)?)))
    }

    /// `y.tile(at)`, `y.row(row)`, which a block fills: the part, the places in it and its elements.
    pub(super) fn part_of_data(&mut self, place: &Expr) -> Lowered<Option<(Filled, Ty, Ty)>> {
        let Expr::MethodCall(call) = peel_expr(place) else { return Ok(None) };
        let handle = self.named(&call.receiver).map(|local| self.types.shape(self.locals[local.0].ty));
        let Some(&Shape::Elements { of, .. }) = handle else { return Ok(None) };
        let ([at], "tile" | "row") =
            (&call.args.iter().collect::<Vec<_>>()[..], call.method.to_string().as_str())
        else {
            return Ok(None);
        };
        self.has_axes(call)?;
        let handle = self.receiver(&call.receiver, true)?;
        let at = self.value(at)?;
        let usize = self.types.number(Number::Usize);
        let owner = match (self.types.shape(at.ty).clone(), call.method == "tile") {
            (Shape::Tile(Length(rows), Length(columns)), true) => Owner::Tiles(rows, columns),
            (Shape::Row, false) => Owner::Rows,
            (Shape::Reported, _) => return Err(Reported),
            (_, is_tile) => {
                let message = format!("`{}` may belong to another block", text(call));
                let (block, data) = (&self.index_name, text(&call.receiver));
                let help = match is_tile {
                    true => format!(
                        "take a tile of the block: `for at in {block}.tiles::<32, 32>({data}) {{ … }}`"
                    ),
                    false => format!("take a row of the block: `for row in {block}.rows({data}) {{ … }}`"),
                };
                return Err(self.report(&call.args[0], "TW0904", &message, &[TILES], &help));
            }
        };
        let is_row = owner == Owner::Rows;
        self.owned(call, &handle, owner)?;
        Ok(Some(match is_row {
            true => (Filled::Row(handle, at), usize, of),
            false => {
                let place = self.types.add(Shape::Array(usize, Length("2".to_owned())));
                (Filled::Tile(handle, at), place, of)
            }
        }))
    }

    /// `block.fill_parts(&mut y.tile(at), |t| …)`
    pub(super) fn fill_parts(&mut self, tile: &Expr, value: &Expr) -> Lowered<(Kind, Ty)> {
        let place = match tile {
            Expr::Reference(reference) if reference.mutability.is_some() => &*reference.expr,
            other => other,
        };
        match self.part_of_data(place)? {
            Some((tile @ Filled::Tile(..), _, of)) => {
                let (thread, part) = (self.types.add(Shape::Thread), self.types.fresh());
                let value = self.phase(value, &[thread], part)?;
                if let Some(element) = self.types.element(part).and_then(|row| self.types.element(row)) {
                    self.types.unify(element, of);
                }
                Ok((Kind::Phase(Box::new(Phase::FillParts(tile, value))), self.types.unit()))
            }
            _ => {
                let help = "pass a tile of the block: `&mut y.tile(at)`";
                Err(self.report(tile, "TW0911", "this is no tile", &["threads have parts of tiles"], help))
            }
        }
    }

    /// `at.part::<8, 8>(t)`
    pub(super) fn part_of_tile(&mut self, call: &ExprMethodCall, tile: ir::Expr) -> Lowered<(Kind, Ty)> {
        let is_thread = |at: ir::Expr| matches!(self.types.shape(at.ty), Shape::Thread);
        let passed = call.args.first().filter(|_| call.args.len() == 1);
        let of_thread = passed.and_then(|thread| self.position(thread)).is_some_and(is_thread);
        let written = call.turbofish.iter().flat_map(|generics| &generics.args);
        let sizes: Vec<Expr> = written.filter_map(as_length).collect();
        let ([down, across], true, Shape::Tile(rows, columns)) =
            (&sizes[..], of_thread, self.types.shape(tile.ty).clone())
        else {
            let what = "a part has a size, and belongs to a thread of a phase";
            let help = format!("write `{}.part::<8, 8>(t)`", text(&call.receiver));
            return Err(self.report(&call.method, "TW0911", what, &[], &help));
        };
        let sizes = [rows, columns, Length(self.length(down)?), Length(self.length(across)?)];
        Ok((Kind::PartOfTile(Box::new(tile)), self.types.add(Shape::Part(sizes))))
    }

    /// `part.row(i)` and `part.column(j)`
    pub(super) fn place_of_part(
        &mut self,
        axis: &'static str,
        part: ir::Expr,
        at: Vec<ir::Expr>,
    ) -> (Kind, Ty) {
        let usize = self.types.number(Number::Usize);
        at.iter().for_each(|at| self.types.unify(at.ty, usize));
        (Kind::Method(Method::PlaceOfPart(axis), Box::new(part), at), usize)
    }

    /// Refuses `y.tile(at)` and `y.row(row)` anywhere but in a `fill`.
    pub(super) fn part_alone(&mut self, call: &ExprMethodCall) -> Reported {
        let what = format!("`{}` is no value", text(call));
        let at = if call.method == "tile" { "[r, c]" } else { "c" };
        let help =
            format!("write all of it in a phase: `{}.fill(&mut {}, |{at}| …)`", self.index_name, text(call));
        self.report(call, "TW0911", &what, &["a block fills its tiles and rows"], &help)
    }

    /// The parameter whose data a method of the block is about.
    fn handle(&mut self, call: &ExprMethodCall, of: &Expr) -> Lowered {
        let name = match peel_expr(of) {
            Expr::Reference(reference) => &*reference.expr,
            other => other,
        };
        let local = self.named(name);
        match local.map(|local| self.types.shape(self.locals[local.0].ty)) {
            Some(Shape::Elements { .. }) => self.value(name),
            Some(Shape::Reported) => Err(Reported),
            _ => {
                let message = format!("`{}` has no shape that a launch says", text(of));
                let notes = ["of the parameters, those with `Own` and `Out` have one"];
                let help = format!("name one of them: `{}.{}(y)`", text(&call.receiver), call.method);
                Err(self.report(of, "TW0911", &message, &notes, &help))
            }
        }
    }

    /// Refuses tiles and rows in a kernel whose data have no shape.
    fn has_axes(&mut self, call: &ExprMethodCall) -> Lowered<()> {
        if self.axes > 1 {
            return Ok(());
        }
        let message = format!("`{}` needs data with a shape", call.method);
        let help = format!("write `{}: Block<2>`", self.index_name);
        Err(self.report(&call.method, "TW0911", &message, &[NO_SHAPE], &help))
    }

    /// Refuses what a kernel in blocks of several dimensions has not: one number for each thread or block.
    pub(super) fn has_numbers(&mut self, call: &ExprMethodCall) -> Lowered<()> {
        if self.axes == 1 {
            return Ok(());
        }
        let message = format!("`{}` is not for a grid of {} axes", call.method, self.axes);
        let notes = ["blocks and their threads have numbers in a grid of one axis, with `block: Block`"];
        let help = "take tiles or rows, and share them by `t.rank()`, `t.of_block(n)` and `block.threads()`";
        Err(self.report(&call.method, "TW0911", &message, &notes, help))
    }
}

/// A generic argument that is a length: a number, a block, or a constant, which looks like a type.
pub(super) fn as_length(argument: &GenericArgument) -> Option<Expr> {
    match argument {
        GenericArgument::Const(Expr::Block(block)) => match &block.block.stmts[..] {
            [syn::Stmt::Expr(length, None)] => Some(length.clone()),
            _ => None,
        },
        GenericArgument::Const(length) => Some(length.clone()),
        GenericArgument::Type(Type::Path(path)) => syn::parse2(path.to_token_stream()).ok(),
        _ => None,
    }
}
