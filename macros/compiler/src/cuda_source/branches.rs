//! The branches of `#if`s that a line is in, and the ways to choose one branch of each `#if`.

use std::cell::{Cell, RefCell};

/// The branches of the `#if`s in all files of a source.
#[derive(Debug, Default)]
pub(crate) struct Branches {
    parts: Vec<Part>,
    /// Files that are included, and where: file and line.
    included: Vec<(usize, (usize, usize))>,
}

/// The lines between two directives of one `#if`.
#[derive(Debug)]
struct Part {
    file: usize,
    /// The lines of the directives.
    first: usize,
    last: usize,
    /// The conditions: `#if`s with the same ones decide the same.
    group: String,
    branch: usize,
    /// How many branches its group has, with one for none of them.
    branches: usize,
}

/// A group of `#if`s, and the index of one branch.
pub(super) type Place<'a> = (&'a str, usize);

impl Branches {
    /// Adds an `#if` whose directives, up to `#endif`, are on these lines.
    pub(super) fn add(&mut self, file: usize, conditions: &[String], lines: &[usize]) {
        let only = match conditions {
            [only] => Some(only),
            [only, last] if last.is_empty() => Some(only),
            _ => None,
        };
        let opposite = only.and_then(|only| negated(only));
        let is_swapped = opposite.is_some();
        let ends_in_else = conditions.last().is_some_and(String::is_empty);
        let branches = if only.is_some() { 2 } else { conditions.len() + usize::from(!ends_in_else) };
        let group = opposite.or_else(|| Some(positive(only?))).unwrap_or_else(|| conditions.join("|"));
        for (branch, ends) in lines.windows(2).enumerate() {
            let branch = if is_swapped { 1 - branch } else { branch };
            self.parts.push(Part {
                file,
                first: ends[0],
                last: ends[1],
                group: group.clone(),
                branch,
                branches,
            });
        }
    }

    pub(super) fn include(&mut self, file: usize, from: (usize, usize)) {
        self.included.push((file, from));
    }

    /// The branches that a line is in, and another line around it is not, outermost first.
    pub(super) fn inside(&self, line: (usize, usize), outer: (usize, usize)) -> Vec<Place<'_>> {
        let outer = self.around(outer.0, outer.1);
        let mut inside = self.around(line.0, line.1);
        inside.retain(|place| !outer.contains(place));
        inside.reverse();
        inside
    }

    /// All branches of a group.
    fn options(&self, group: &str) -> Vec<usize> {
        let of_group = self.parts.iter().filter(|part| part.group == group);
        (0..of_group.map(|part| part.branches).max().unwrap_or_default()).collect()
    }

    /// The branches that a line is in, in any file.
    pub(crate) fn around(&self, file: usize, line: usize) -> Vec<Place<'_>> {
        let mut found = Vec::new();
        let mut at = Some((file, line));
        // A file is included once.
        for _ in 0..=self.included.len() {
            let Some((file, line)) = at else { break };
            let here = self.parts.iter().filter(|part| part.file == file);
            let here = here.filter(|part| part.first < line && line < part.last);
            found.extend(here.map(|part| (part.group.as_str(), part.branch)));
            at = self.included.iter().find(|(other, _)| *other == file).map(|(_, from)| *from);
        }
        found
    }
}

/// The `X` of `ifndef X` and `if !defined(X)`.
fn negated(condition: &str) -> Option<String> {
    let name = match condition.strip_prefix("ifndef ") {
        Some(name) => name,
        None => defined(condition.strip_prefix("if !")?)?,
    };
    Some(name.to_owned())
}

/// `X` for `ifdef X` and `if defined(X)`; else the condition as it is.
fn positive(condition: &str) -> String {
    let name = condition.strip_prefix("ifdef ").or_else(|| defined(condition.strip_prefix("if ")?));
    name.unwrap_or(condition).to_owned()
}

/// The `X` of `defined(X)` alone.
fn defined(condition: &str) -> Option<&str> {
    let name = condition.trim_start().strip_prefix("defined")?.trim();
    let name = name.strip_prefix('(').and_then(|name| name.strip_suffix(')')).unwrap_or(name).trim();
    name.chars().all(super::lexer::is_word).then_some(name)
}

/// One way to choose among what branches define.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    made: RefCell<Vec<Choice>>,
    /// Whether a name has no definition in what was chosen.
    contradict: Cell<bool>,
    /// Whether nothing is chosen, so that names with several definitions are unknown.
    none: bool,
}

#[derive(Debug)]
struct Choice {
    group: String,
    options: Vec<usize>,
    /// An index of `options`.
    picked: usize,
}

// Note 47: beyond this nothing is assumed.
/// The most ways that are tried; where there are more, one more way takes nothing for known.
const MOST: usize = 64;

/// The results of `see` for each way to choose, for an item that is in these branches itself.
pub(crate) fn each_way<T>(around: &[Place<'_>], see: impl Fn(&Choices) -> T) -> Vec<T> {
    let fixed =
        |&(group, branch): &Place<'_>| Choice { group: group.to_owned(), options: vec![branch], picked: 0 };
    let made = RefCell::new(around.iter().map(fixed).collect());
    let mut choices = Choices { made, ..Choices::default() };
    let mut found = Vec::new();
    for _ in 0..MOST {
        let seen = see(&choices);
        if !choices.contradict.take() {
            found.push(seen);
        }
        if !choices.advance() {
            if found.is_empty() {
                break;
            }
            return found;
        }
    }
    found.push(see(&Choices { none: true, ..Choices::default() }));
    found
}

impl Choices {
    /// Goes on to the next way; false after the last.
    fn advance(&mut self) -> bool {
        let made = self.made.get_mut();
        while let Some(last) = made.last_mut() {
            if last.picked + 1 < last.options.len() {
                last.picked += 1;
                return true;
            }
            made.pop();
        }
        false
    }

    /// Chooses one of several definitions, whose places and equalities are known. `None` if the choice is
    /// unknown.
    pub(super) fn choose(
        &self,
        name: &str,
        places: &[Vec<Place<'_>>],
        same: impl Fn(usize, usize) -> bool,
    ) -> Option<usize> {
        if self.none {
            let mut others = 1..places.len();
            return others.all(|other| same(0, other)).then_some(0);
        }
        loop {
            let left: Vec<usize> = (0..places.len()).filter(|&at| self.admits(&places[at])).collect();
            let Some(&first) = left.first() else {
                self.contradict.set(true);
                return None;
            };
            if left.iter().all(|&other| same(first, other)) {
                return Some(first);
            }
            // The outermost `#if` that tells some of them apart.
            let inside = left.iter().flat_map(|&at| places[at].iter().rev());
            let several = inside.map(|(group, _)| (*group, branches(group, &left, places)));
            match several.into_iter().find(|(_, branches)| branches.len() > 1) {
                Some((group, options)) => drop(self.pick(group, options)),
                None => {
                    let mut distinct: Vec<usize> = Vec::new();
                    for at in left {
                        if !distinct.iter().any(|&other| same(other, at)) {
                            distinct.push(at);
                        }
                    }
                    return Some(self.pick(&format!("the name {name}"), distinct));
                }
            }
        }
    }

    /// Whether the code in these branches, outermost first, is there. `None` if that is not chosen.
    pub(super) fn takes(&self, places: &[Place<'_>], sides: &Branches) -> Option<bool> {
        for (group, branch) in places {
            if self.none {
                return None;
            }
            if self.pick(group, sides.options(group)) != *branch {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The choices that were made.
    pub(super) fn made(&self) -> Vec<(String, usize)> {
        self.made.borrow().iter().map(|one| (one.group.clone(), one.options[one.picked])).collect()
    }

    /// Whether the code in these branches is there.
    fn admits(&self, places: &[Place<'_>]) -> bool {
        let made = self.made.borrow();
        places.iter().all(|(group, branch)| {
            made.iter()
                .filter(|choice| choice.group == *group)
                .all(|choice| choice.options.get(choice.picked) == Some(branch))
        })
    }

    fn pick(&self, group: &str, options: Vec<usize>) -> usize {
        let mut made = self.made.borrow_mut();
        let known = made.iter().find(|choice| choice.group == group);
        let picked = known.map(|choice| choice.options[choice.picked]).unwrap_or(options[0]);
        if known.is_none() {
            made.push(Choice { group: group.to_owned(), options, picked: 0 });
        }
        picked
    }
}

/// The branches of a group that these definitions are in.
fn branches(group: &str, left: &[usize], places: &[Vec<Place<'_>>]) -> Vec<usize> {
    let all = left.iter().flat_map(|&at| &places[at]);
    let mut branches: Vec<usize> =
        all.filter(|(other, _)| *other == group).map(|(_, branch)| *branch).collect();
    branches.sort_unstable();
    branches.dedup();
    branches
}
