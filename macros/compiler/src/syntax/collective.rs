//! Operations that all ranks carry out together, and what users of MPI and NCCL write for them.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, Token};

use super::ast::{Addressed, Collective, CollectiveKind, Operands, Part, Reduction, ReductionKind};
use super::tokens::{at_end_of, expected, expression, helped, is_word, name};
use crate::diagnostics::similar;

/// The collective that begins here. A kernel may be called `reduce` too, but then a `<` or `:` follows.
pub(super) fn begins(input: ParseStream<'_>) -> Option<CollectiveKind> {
    let fork = input.fork();
    let word: Ident = fork.parse().ok()?;
    let other = fork.peek(Token![<]) || fork.peek(Token![::]) || fork.peek(Token![=]);
    CollectiveKind::ALL.into_iter().find(|kind| word == kind.keyword() && !other)
}

/// Parses all but the `;`. Each error says how such a collective is written.
pub(super) fn parse(input: ParseStream<'_>, kind: CollectiveKind) -> syn::Result<Collective<Part>> {
    let keyword = input.call(Ident::parse_any)?;
    let behind = input.fork();
    rest(input, keyword, kind).map_err(|error| match error.to_string().contains("\nhelp: ") {
        true => error,
        false => helped(&error, &format!("write `{}`", sample(kind, &behind))),
    })
}

fn rest(input: ParseStream<'_>, keyword: Ident, kind: CollectiveKind) -> syn::Result<Collective<Part>> {
    let (mut reduction, mut data, mut to) = (None, Operands::None, Addressed::All);
    if kind.reduces() {
        reduction = Some(self::reduction(input)?);
    }
    if kind != CollectiveKind::Barrier {
        let from = part(input, "the name of a device buffer")?;
        data = match kind.is_of_two() {
            false => Operands::One(from),
            true => {
                input.parse::<Token![->]>().map_err(|_| expected(input, "`->`"))?;
                Operands::Two(from, part(input, "the name of the destination")?)
            }
        };
    }
    match kind {
        CollectiveKind::Reduce | CollectiveKind::Gather => to = Addressed::Root(root(input, "to")?),
        CollectiveKind::Broadcast | CollectiveKind::Scatter => to = Addressed::Root(root(input, "from")?),
        CollectiveKind::Pass => to = ranks(input)?,
        CollectiveKind::Exchange => to = neighbours(input)?,
        _ => {}
    }
    if kind == CollectiveKind::Barrier && !input.peek(Token![;]) && !input.is_empty() {
        return Err(expected(input, "`;`"));
    }
    Ok(Collective { keyword, kind, reduction, data, to })
}

/// `sum`, `mean`, `min`, `max` or `product`
fn reduction(input: ParseStream<'_>) -> syn::Result<Reduction> {
    let error = expected(input, "`sum`, `mean`, `min`, `max` or `product`");
    let word = input.call(Ident::parse_any).map_err(|_| error.clone())?;
    let kind = ReductionKind::ALL.into_iter().find(|kind| word == kind.keyword());
    kind.map(|kind| Reduction { word, kind }).ok_or(error)
}

/// `name` or `name[range]`. A buffer has no `&` here.
fn part(input: ParseStream<'_>, what: &str) -> syn::Result<Part> {
    if input.peek(Token![&]) {
        let error = expected(input, what);
        input.parse::<Token![&]>()?;
        let mutable = if input.peek(Token![mut]) { "mut" } else { "" };
        return Err(helped(&error, &format!("remove `&{mutable}`")));
    }
    let name = name(input, what)?;
    if !input.peek(syn::token::Bracket) {
        return Ok(Part { name, range: None });
    }
    let content;
    syn::bracketed!(content in input);
    let range = expression(&content, "a range of elements").and_then(|range| match content.is_empty() {
        true => Ok(range),
        false => Err(expected(&content, "`]`")),
    });
    Ok(Part { name, range: Some(range.map_err(|error| at_end_of("the brackets", error))?) })
}

/// `to rank` or `from rank`
fn root(input: ParseStream<'_>, word: &str) -> syn::Result<Expr> {
    if !is_word(input, word) {
        return Err(expected(input, &format!("`{word}` and a rank")));
    }
    input.call(Ident::parse_any)?;
    expression(input, "a rank")
}

/// `from rank to rank`, of which one may be left out
fn ranks(input: ParseStream<'_>) -> syn::Result<Addressed> {
    if !is_word(input, "from") && !is_word(input, "to") {
        return Err(expected(input, "`from` or `to`, and a rank"));
    }
    let one = |word| is_word(input, word).then(|| root(input, word).map(Box::new)).transpose();
    let (from, to) = (one("from")?, one("to")?);
    if is_word(input, "from") {
        return Err(helped(&expected(input, "`;`"), "write `from` and its rank before `to`"));
    }
    Ok(Addressed::Ranks { from, to })
}

/// `: halo items` or `: halo items periodic`
fn neighbours(input: ParseStream<'_>) -> syn::Result<Addressed> {
    input.parse::<Token![:]>().map_err(|_| expected(input, "`:` and `halo`"))?;
    if !is_word(input, "halo") {
        return Err(expected(input, "`halo` and the items on each side"));
    }
    input.call(Ident::parse_any)?;
    let items = expression(input, "the items on each side")?;
    let periodic = is_word(input, "periodic");
    if periodic {
        input.call(Ident::parse_any)?;
    }
    Ok(Addressed::Neighbours { items, periodic })
}

/// The help for a word that other libraries have for a collective, or that is nearly the language's.
/// `behind` is what follows the word.
pub(super) fn meant(word: &str, behind: ParseStream<'_>) -> Option<String> {
    if behind.peek(Token![=]) {
        return None;
    }
    let Some(kind) = of_others(word) else {
        let meant = similar(word, CollectiveKind::ALL.map(CollectiveKind::keyword))?;
        return Some(format!("a similar keyword exists: `{meant}`"));
    };
    let sample = sample(kind, behind);
    Some(match kind {
        CollectiveKind::Pass => format!(
            "every rank sends and receives in one operation: write `{sample}`, with the rank that `rank` sends to"
        ),
        _ => format!("write `{sample}`"),
    })
}

/// The collective that a name of MPI, NCCL or `torch.distributed` stands for.
fn of_others(word: &str) -> Option<CollectiveKind> {
    let lower = word.to_lowercase();
    let name = lower.strip_prefix("nccl").or_else(|| lower.strip_prefix("mpi_")).unwrap_or(&lower);
    let name = name.replace('_', "");
    let begins = |text: &str| name.strip_prefix('i').unwrap_or(&name) == text || name == text;
    let any = |names: &[&str]| names.iter().any(|name| begins(name));
    let known: [(CollectiveKind, &[&str]); 11] = [
        (CollectiveKind::AllReduce, &["allreduce"]),
        (CollectiveKind::Reduce, &["reduce"]),
        (CollectiveKind::Broadcast, &["bcast", "broadcast"]),
        (CollectiveKind::AllGather, &["allgather", "allgatherv", "allgatherintotensor"]),
        (CollectiveKind::Gather, &["gather", "gatherv"]),
        (CollectiveKind::Scatter, &["scatter", "scatterv"]),
        (CollectiveKind::ReduceScatter, &["reducescatter", "reducescatterblock", "reducescattertensor"]),
        (CollectiveKind::AllToAll, &["alltoall", "alltoallv", "alltoallsingle"]),
        (CollectiveKind::Barrier, &["barrier"]),
        (CollectiveKind::Pass, &["send", "recv", "receive", "sendrecv", "ssend"]),
        (CollectiveKind::Exchange, &["halo", "haloexchange", "exchangehalo"]),
    ];
    known.into_iter().find(|(_, names)| any(names)).map(|(kind, _)| kind)
}

/// A collective as it is written, with the names that stand here.
fn sample(kind: CollectiveKind, behind: ParseStream<'_>) -> String {
    let mut words = Vec::new();
    let until = |token: &TokenTree| !matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
    let tokens = behind.fork().parse::<TokenStream>().unwrap_or_default();
    gather(tokens.into_iter().take_while(until).collect(), &mut words);
    let reduction = words.iter().find_map(|word| reduction_of(word));
    let reduction = reduction.unwrap_or(ReductionKind::Sum).keyword();
    let mut names = words.iter().filter(|word| !is_of_the_language(word));
    let (from, to) = (names.next(), names.next());
    let (from, to) = match kind.is_of_two() {
        true => (from.map_or("a", String::as_str), to.map_or("b", String::as_str)),
        false => (from.map_or("b", String::as_str), ""),
    };
    let keyword = kind.keyword();
    match kind {
        CollectiveKind::AllReduce => format!("{keyword} {reduction} {from}"),
        CollectiveKind::Reduce => format!("{keyword} {reduction} {from} to 0"),
        CollectiveKind::Broadcast => format!("{keyword} {from} from 0"),
        CollectiveKind::AllGather | CollectiveKind::AllToAll => format!("{keyword} {from} -> {to}"),
        CollectiveKind::Gather => format!("{keyword} {from} -> {to} to 0"),
        CollectiveKind::Scatter => format!("{keyword} {from} -> {to} from 0"),
        CollectiveKind::ReduceScatter => format!("{keyword} {reduction} {from} -> {to}"),
        CollectiveKind::Barrier => keyword.to_owned(),
        CollectiveKind::Pass => format!("{keyword} {from} -> {to} to (rank + 1) % world.size"),
        CollectiveKind::Exchange => format!("{keyword} {from}: halo 1"),
    }
}

/// The words of an operation, those between parentheses too.
fn gather(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => words.push(word.to_string()),
            TokenTree::Group(group)
                if matches!(group.delimiter(), Delimiter::Parenthesis | Delimiter::None) =>
            {
                gather(group.stream(), words);
            }
            _ => {}
        }
    }
}

/// The reduction that a word names, also as other libraries do.
fn reduction_of(word: &str) -> Option<ReductionKind> {
    let lower = word.to_lowercase();
    let name = lower.strip_prefix("nccl").or_else(|| lower.strip_prefix("mpi_")).unwrap_or(&lower);
    Some(match name {
        "sum" | "add" => ReductionKind::Sum,
        "mean" | "avg" | "average" => ReductionKind::Mean,
        "min" | "minimum" => ReductionKind::Min,
        "max" | "maximum" => ReductionKind::Max,
        "product" | "prod" | "mul" => ReductionKind::Product,
        _ => return None,
    })
}

/// Whether a word is no buffer's name in an operation.
fn is_of_the_language(word: &str) -> bool {
    reduction_of(word).is_some()
        || ["from", "to", "into", "halo", "periodic", "rank", "root", "world", "mut"].contains(&word)
}

impl CollectiveKind {
    /// Whether it makes one of the elements of all ranks.
    pub fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::Reduce | Self::ReduceScatter)
    }

    /// Whether it reads one buffer and writes another.
    pub fn is_of_two(self) -> bool {
        use CollectiveKind::{AllGather, AllToAll, Gather, Pass, ReduceScatter, Scatter};
        matches!(self, AllGather | Gather | Scatter | ReduceScatter | AllToAll | Pass)
    }

    /// Whether it makes one buffer of those of all ranks.
    pub fn gathers(self) -> bool {
        matches!(self, Self::AllGather | Self::Gather)
    }

    /// Whether its source says which shape its destination has, so that it can declare it.
    pub fn declares(self) -> bool {
        self.is_of_two() && !matches!(self, Self::Scatter | Self::ReduceScatter)
    }
}
