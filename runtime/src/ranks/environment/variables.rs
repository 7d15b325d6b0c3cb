//! [`Variables`]: environment variables, with errors that name them.

use super::seat::MOST_RANKS;
use crate::base::error::RanksDetail;

/// The environment. A variable that is empty counts as not set.
pub(super) struct Variables<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
}

/// A variable that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// A number that a variable has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: usize,
    given: Given,
}

/// A rank and the number of ranks.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) rank: usize,
    pub(super) size: usize,
    /// The variable of the rank, for messages.
    pub(super) given: Given,
}

/// A rank on its host and the number of ranks there, as far as they are known.
pub(super) type Local = (Option<usize>, Option<usize>);

impl<'a> Variables<'a> {
    pub(super) fn new(get: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { get }
    }

    /// The first of these variables that is set.
    pub(super) fn text(&self, names: &[&'static str]) -> Option<Given> {
        names.iter().find_map(|&name| {
            let value = (self.get)(name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty()).map(|value| Given { name, value })
        })
    }

    /// The first of these variables that is set, as a number.
    pub(super) fn number(&self, names: &[&'static str]) -> Result<Option<Number>, RanksDetail> {
        let Some(given) = self.text(names) else { return Ok(None) };
        match given.value.parse() {
            Ok(value) => Ok(Some(Number { value, given })),
            Err(_) => Err(given.wrong("is no number")),
        }
    }

    /// A rank and the number of ranks: both or none.
    pub(super) fn pair(
        &self,
        rank: &[&'static str],
        size: &[&'static str],
    ) -> Result<Option<Pair>, RanksDetail> {
        match (self.number(rank)?, self.number(size)?) {
            (None, None) => Ok(None),
            (Some(rank), Some(size)) => {
                if size.value == 0 || size.value > MOST_RANKS {
                    let problem = format!("is no number of ranks: a world has 1 to {MOST_RANKS}");
                    return Err(size.given.wrong(&problem));
                }
                rank.below(&size)?;
                Ok(Some(Pair { rank: rank.value, size: size.value, given: rank.given }))
            }
            (Some(rank), None) => Err(rank.given.without(size)),
            (None, Some(size)) => Err(size.given.without(rank)),
        }
    }

    /// The rank among those of the host, and how many these are, as far as they are set.
    pub(super) fn local(
        &self,
        rank: &[&'static str],
        size: &[&'static str],
        world: &Pair,
    ) -> Result<Local, RanksDetail> {
        let (rank, size) = (self.number(rank)?, self.number(size)?);
        if let (Some(rank), Some(size)) = (&rank, &size) {
            rank.below(size)?;
        }
        if let Some(size) = size.as_ref().filter(|size| size.value > world.size) {
            return Err(size.given.wrong(&format!("is more than all ranks, which are {}", world.size)));
        }
        if let Some(rank) = rank.as_ref().filter(|rank| rank.value > world.rank) {
            let problem = format!("cannot be: `{}` has fewer ranks below it", world.given);
            return Err(rank.given.wrong(&problem));
        }
        Ok((rank.map(|number| number.value), size.map(|number| number.value)))
    }

    /// `MASTER_PORT`, as a port.
    pub(super) fn port(&self) -> Result<Option<u16>, RanksDetail> {
        let Some(number) = self.number(&["MASTER_PORT"])? else { return Ok(None) };
        match u16::try_from(number.value) {
            Ok(port) if port > 0 => Ok(Some(port)),
            _ => Err(number.given.wrong("is no port: ports are 1 to 65535")),
        }
    }

    /// `THALWEG_TOKEN`, or what the launcher has in its place.
    pub(super) fn token_or(&self, launchers: Option<String>) -> Option<String> {
        self.text(&["THALWEG_TOKEN"]).map(|given| given.value).or(launchers)
    }
}

impl Number {
    /// It is a rank, and below the number of ranks.
    fn below(&self, size: &Self) -> Result<(), RanksDetail> {
        if self.value < size.value {
            return Ok(());
        }
        let problem = format!("is not below `{}`: ranks count from 0", size.given);
        Err(self.given.wrong(&problem))
    }
}

impl Given {
    pub(super) fn wrong(&self, problem: &str) -> RanksDetail {
        RanksDetail::Variable { given: self.to_string(), problem: problem.to_owned() }
    }

    /// This is set, and none of the others is.
    pub(super) fn without(&self, others: &[&'static str]) -> RanksDetail {
        let missing = others.first().copied().unwrap_or_default();
        RanksDetail::Incomplete { given: self.to_string(), missing }
    }
}

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}
