//! Every rank carries out every collective, with the same ranks and parts: what decides that has the same value
//! on all of them.

use syn::Expr;

use super::uniform::{Doubt, Uniform, Why};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::resolve::{Addressed, BlockId, BlockKind, Collective, Operand, Program};

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    blocks(program, diagnostics);
    for (index, collective) in program.collectives() {
        let shown = &program.operations[index].text;
        parts(program, collective, diagnostics);
        addressed(program, shown, collective, diagnostics);
    }
}

/// The conditions and counts around collectives. Each is reported once, with the first collective in it.
fn blocks(program: &Program, diagnostics: &mut Diagnostics) {
    let mut seen: Vec<BlockId> = Vec::new();
    for (index, _) in program.collectives() {
        let operation = &program.operations[index];
        for block in program.within(operation.block) {
            let of = program.decided_by(block);
            if seen.contains(&of) {
                continue;
            }
            seen.push(of);
            let (decides, word, differs) = match &program.blocks[of.0].kind {
                BlockKind::If(condition) => (condition, "an `if`", "decide differently"),
                BlockKind::Repeat(times) => (times, "a `repeat`", "count differently"),
                BlockKind::Else(_) => continue,
            };
            let Some(doubt) = Uniform::new(program).doubt(decides) else { continue };
            let word = if of == block { word } else { "an `else`" };
            around(program, &operation.text, (word, differs), doubt, diagnostics);
        }
    }
}

/// Reports what may let a rank leave a collective out.
fn around(
    program: &Program,
    shown: &str,
    (word, differs): (&str, &str),
    doubt: Doubt,
    diagnostics: &mut Diagnostics,
) {
    const WAITS: &str = "a rank that leaves a collective out lets the others wait for ever";
    if doubt.why == Why::Rank {
        diagnostics
            .error("TW1002", doubt.at, format!("`{shown}` stands in {word} that depends on the rank"))
            .note("every rank carries out every collective")
            .note(WAITS)
            .help(
                "write it for all ranks, and say who gives or gets: `broadcast … from`, `reduce … to`, \
                 `gather … to`, `scatter … from` or `pass … from … to`",
            );
        return;
    }
    let error =
        diagnostics.error("TW1001", doubt.at, format!("`{shown}` stands in {word} that ranks may {differs}"));
    mend(program, &doubt.why, error.note(WAITS), BEFORE);
}

/// How a value of which nothing is known becomes the same on all ranks.
const BEFORE: &str = "name it in a `const` if the program fixes it; else compute it before `run`, and pass it as a `uniform param`";
/// The same for one that is evaluated for every rank.
const FOR_EACH: &str = "write it with operators, of `rank`, `world.size`, constants and `uniform param`s";

/// Adds why a value may differ, and how it becomes the same on all ranks. `unknown`: how, if nothing is known of it.
fn mend(program: &Program, why: &Why, error: &mut Diagnostic, unknown: &str) {
    match why {
        Why::Param(name) => {
            let param = program.params.iter().find(|param| param.name == *name);
            let ty = param.map(|param| crate::text::text(&param.ty)).unwrap_or_default();
            error.note(format!("each rank calls `run` with a `{name}` of its own")).help(format!(
                "declare it `uniform param {name}: {ty};`: ranks then agree on it in each run"
            ));
        }
        Why::Chunk => {
            let chunk = program.chunk.name.as_ref().map(ToString::to_string).unwrap_or_default();
            error
                .note("the chunks of two ranks have the same number, but may have other items")
                .help(format!("count chunks, `{chunk}.index`, or pass the value as a `uniform param`"));
        }
        Why::Unknown(what) => {
            error.note(format!("it is not known what {what} depends on")).help(unknown);
        }
        Why::Rank => {}
    }
}

/// Parts of buffers are the same on all ranks.
fn parts(program: &Program, collective: &Collective<Operand>, diagnostics: &mut Diagnostics) {
    let keyword = &collective.keyword;
    for Operand { name, range, .. } in collective.data.iter() {
        let Some(doubt) = range.as_ref().and_then(|range| Uniform::new(program).doubt(range)) else {
            continue;
        };
        let fact = format!("ranks may disagree on the part of `{name}` in this `{keyword}`");
        let error = disagreement(program, doubt, fact, BEFORE, diagnostics);
        if let Some(error) = error {
            error.help(
                "name the same part on all ranks; `scatter`, `gather` and `pass` move what differs by rank",
            );
        }
    }
}

/// Roots, numbers of items, and who passes to whom.
fn addressed(
    program: &Program,
    shown: &str,
    collective: &Collective<Operand>,
    diagnostics: &mut Diagnostics,
) {
    let (uniform, asking) = (Uniform::new(program), Uniform::asking(program));
    let of = |uniform: &Uniform<'_>, expr: &Expr| uniform.doubt(expr);
    let unknown = if let Addressed::Ranks { .. } = collective.to { FOR_EACH } else { BEFORE };
    let (doubts, fact, by_rank) = match &collective.to {
        Addressed::All => return,
        Addressed::Root(rank) => (
            vec![of(&uniform, rank)],
            format!("ranks may disagree on the root of `{shown}`"),
            "write the number of one rank; between ranks that differ, data go by `pass`",
        ),
        Addressed::Ranks { from, to } => (
            from.iter().chain(to).map(|rank| of(&asking, rank)).collect(),
            format!("ranks may disagree on who takes part in `{shown}`"),
            "write `rank`: the expression is evaluated for every rank, on each of them",
        ),
        Addressed::Neighbours { items, .. } => (
            vec![of(&uniform, items)],
            format!("ranks may disagree on the items of `{shown}`"),
            "write a number that is the same on all ranks",
        ),
    };
    for doubt in doubts.into_iter().flatten() {
        if let Some(error) = disagreement(program, doubt, fact.clone(), unknown, diagnostics) {
            error.help(by_rank);
        }
    }
}

/// Reports a value that may differ. Gives the error if it still needs its help, which depends on the operation.
fn disagreement<'d>(
    program: &Program,
    Doubt { at, why }: Doubt,
    fact: String,
    unknown: &str,
    diagnostics: &'d mut Diagnostics,
) -> Option<&'d mut Diagnostic> {
    let error = diagnostics
        .error("TW1007", at, fact)
        .note("ranks that do not say the same wait for each other for ever, or get the wrong data");
    match why {
        Why::Rank => Some(error.note("it depends on the rank that evaluates it")),
        _ => {
            mend(program, &why, error, unknown);
            None
        }
    }
}
