//! What leaves loops and blocks with labels: `break` and `continue`, and `goto` where another loop is between.

use super::super::ir::{Block, Expr, LoopId};
use super::{Emitter, Sink};

/// A loop around, or a block with a label.
pub(super) struct Around {
    id: LoopId,
    is_block: bool,
    /// Where its value goes.
    sink: Sink,
    /// The C++ label behind it, if something goes there.
    end: Option<String>,
    /// The C++ label at the end of its body, if something goes there.
    next: Option<String>,
}

impl Emitter<'_> {
    /// Enters a loop.
    pub(super) fn enter(&mut self, id: LoopId, sink: &Sink) {
        let of = &self.function.loops[id.0];
        let next = of.is_continued.then(|| format!("next_of_{}", of.label));
        let next = next.map(|next| self.temporary(&next));
        self.around.push(Around { id, is_block: false, sink: sink.clone(), end: None, next });
    }

    /// The body of a loop that was entered, and the loop's end.
    pub(super) fn turn(&mut self, body: &Block) {
        let next = self.around.last().and_then(|around| around.next.clone());
        match next {
            None => self.inside(body, &Sink::Drop),
            Some(next) => {
                self.depth += 1;
                // C++ allows no jump past the declarations of the block that the label is in.
                self.write("{");
                self.inside(body, &Sink::Drop);
                self.write("}");
                self.write(&format!("{next}:;"));
                self.depth -= 1;
            }
        }
        self.write("}");
        self.leave();
    }

    /// Leaves what was entered: C++ goes on here where something jumps over its end.
    fn leave(&mut self) {
        if let Some(Around { end: Some(end), .. }) = self.around.pop() {
            self.write(&format!("{end}:;"));
        }
    }

    /// `'a: { … }`
    pub(super) fn labelled(&mut self, id: LoopId, block: &Block, sink: &Sink) {
        self.around.push(Around { id, is_block: true, sink: sink.clone(), end: None, next: None });
        self.write("{");
        self.inside(block, sink);
        self.write("}");
        self.leave();
    }

    pub(super) fn break_of(&mut self, id: LoopId, value: Option<&Expr>) {
        let Some(place) = self.around.iter().rposition(|around| around.id == id) else { return };
        if let Some(value) = value {
            let sink = self.around[place].sink.clone();
            self.deliver(value, &sink);
            if let Sink::Return = sink {
                return;
            }
        }
        if self.innermost() == Some(place) {
            return self.write("break;");
        }
        let end = match &self.around[place].end {
            Some(end) => end.clone(),
            None => {
                let label = format!("end_of_{}", self.function.loops[id.0].label);
                let end = self.temporary(&label);
                self.around[place].end = Some(end.clone());
                end
            }
        };
        self.write(&format!("goto {end};"));
    }

    pub(super) fn continue_of(&mut self, id: LoopId) {
        let place = self.around.iter().rposition(|around| around.id == id);
        let next = place.and_then(|place| self.around[place].next.clone());
        match next {
            Some(next) if self.innermost() != place => self.write(&format!("goto {next};")),
            _ => self.write("continue;"),
        }
    }

    /// The loop that C++'s `break` leaves.
    fn innermost(&self) -> Option<usize> {
        self.around.iter().rposition(|around| !around.is_block)
    }
}
