//! Worlds of some of a world's ranks.

use super::{World, next_number};
use crate::base::error::Result;

impl World {
    /// The world of the ranks that give the same colour, in the same order. All ranks have to call it. A rank that gives
    /// no colour gets no world.
    ///
    /// ```
    /// use thalweg::sim::{MachineModel, ranks};
    ///
    /// // Two worlds of two ranks: those with even numbers, and those with odd ones.
    /// let all = ranks(MachineModel::h200(4), |world| {
    ///     let half = world.split(Some(world.rank() as u64 % 2))?.expect("it has a colour");
    ///     half.all_gather(world.rank() as u64)
    /// });
    /// assert_eq!(all[2].as_ref().unwrap(), &[0, 2]);
    /// assert_eq!(all[3].as_ref().unwrap(), &[1, 3]);
    /// ```
    ///
    /// # Errors
    /// A rank does not come, or is gone; the ranks of the new world do not meet.
    pub fn split(&self, colour: Option<u64>) -> Result<Option<Self>> {
        let number = next_number();
        let split = self.aside(|members| members.split(colour, number));
        // The device stays that of the rank in the world that is split.
        let before = self.place_on_host();
        Ok(split?.map(|(members, number)| Self::of_part(members, number, self.0.own.clone(), before)))
    }
}
