//! Worlds of some ranks of a world.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::members::Members;
use crate::base::error::{Error, RanksDetail, Result};

/// Worlds of threads that were made for ranks which have not taken them yet, by number.
static MADE: Mutex<BTreeMap<u32, Vec<Option<Arc<Members>>>>> = Mutex::new(BTreeMap::new());

/// The ranks that gave a colour, in their order, and the place of one of them.
struct Group {
    ranks: Vec<usize>,
    place: usize,
}

impl Members {
    /// The world of the ranks that give the same colour, in which they have the order of this one, and a number that
    /// they have in common where they are threads: the `number` of the first of them. All ranks of this world have to call it; a rank without a colour gets no world.
    ///
    /// # Errors
    /// A rank does not come, or is gone; the ranks of the new world do not meet.
    pub(crate) fn split(
        self: &Arc<Self>,
        colour: Option<u64>,
        number: u32,
    ) -> Result<Option<(Arc<Self>, u32)>> {
        let said = colour.map_or([0; 9], |colour| {
            let mut said = [1; 9];
            said[1..].copy_from_slice(&colour.to_le_bytes());
            said
        });
        let colours = self.gather("a split of the world", &said).wait()?;
        let group = colour.map(|_| self.group(&colours));
        // Those who lead a new world say how it is found.
        let leads = group.as_ref().is_some_and(|group| group.place == 0 && group.ranks.len() > 1);
        let way = if leads {
            self.lead(group.as_ref().map_or(0, |group| group.ranks.len()), number)
        } else {
            Ok(Vec::new())
        };
        let payload = match &way {
            Ok(way) => way.clone(),
            Err(_) => Vec::new(),
        };
        let ways = self.gather("the worlds of a split", &payload).wait()?;
        let leads_elsewhere = way?;
        let Some(Group { ranks, place }) = group else { return Ok(None) };
        if ranks.len() == 1 {
            return Ok(Some((Self::alone(), number)));
        }
        let way = if place == 0 { &leads_elsewhere } else { &ways[ranks[0]] };
        let refused = || {
            let why = format!("rank {} cannot lead a world of its own", ranks[0]);
            Error::from(RanksDetail::Disagree { why })
        };
        if !self.link().is_of_threads() {
            let seat = self.link().seat(&ranks, place, way).ok_or_else(refused)?;
            return Ok(Some((Self::meet(&seat, self.limits())?, number)));
        }
        let number = way.first_chunk().map(|number| u32::from_le_bytes(*number)).ok_or_else(refused)?;
        Ok(Some((taken(number, place).ok_or_else(refused)?, number)))
    }

    /// The ranks with this rank's colour.
    fn group(&self, colours: &[Vec<u8>]) -> Group {
        let own = &colours[self.rank()];
        let ranks: Vec<usize> = (0..self.size()).filter(|&rank| colours[rank] == *own).collect();
        let place = ranks.iter().position(|&rank| rank == self.rank()).unwrap_or(0);
        Group { ranks, place }
    }

    /// What the others need to find a world that this rank leads.
    fn lead(&self, size: usize, number: u32) -> Result<Vec<u8>> {
        if !self.link().is_of_threads() {
            return Ok(self.link().lead()?);
        }
        let members = Self::together(size, self.limits()).into_iter().map(Some).collect();
        MADE.lock().unwrap_or_else(PoisonError::into_inner).insert(number, members);
        Ok(number.to_le_bytes().to_vec())
    }
}

/// The membership of a rank in a world of threads.
fn taken(number: u32, place: usize) -> Option<Arc<Members>> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let members = made.get_mut(&number)?;
    let taken = members.get_mut(place)?.take();
    if members.iter().all(Option::is_none) {
        made.remove(&number);
    }
    taken
}
