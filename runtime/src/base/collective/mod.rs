//! Collective operations: what ranks do together with data that each of them has.

mod arithmetic;
mod number;
mod path;

pub(crate) use arithmetic::{combine, divide, neutral};
pub use number::Operands;
pub use number::{Average, Max, Mean, Min, Number, Product, Reduction, Sum};
pub(crate) use number::{Element, Reduce};
pub(crate) use path::{Path, time};

/// The kind of a collective operation, as a stage names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CollectiveKind {
    /// `all_reduce sum b;`: every rank gets the sum of all ranks' elements.
    AllReduce,
    /// `reduce sum b to root;`: one rank gets it.
    Reduce,
    /// `broadcast b from root;`: every rank gets one rank's elements.
    Broadcast,
    /// `all_gather a -> b;`: every rank gets all ranks' elements, one rank after another.
    AllGather,
    /// `gather a -> b to root;`: one rank gets them.
    Gather,
    /// `scatter a -> b from root;`: every rank gets a part of one rank's elements.
    Scatter,
    /// `reduce_scatter sum a -> b;`: every rank gets its part of the sum.
    ReduceScatter,
    /// `all_to_all a -> b;`: every rank gets a part from every rank.
    AllToAll,
    /// `barrier;`: no rank goes on before all have come.
    Barrier,
    /// `pass a -> b from … to …;`: every rank gets another rank's elements, or none.
    Pass,
    /// `exchange b: halo k;`: neighbours give each other their elements at the border.
    Exchange,
}

impl CollectiveKind {
    /// Whether one side has a part for each rank, so that ranks with other numbers of items would not know how long
    /// the others' parts are.
    pub(crate) fn has_parts(self) -> bool {
        match self {
            Self::AllGather | Self::Gather | Self::Scatter | Self::ReduceScatter | Self::AllToAll => true,
            Self::AllReduce
            | Self::Reduce
            | Self::Broadcast
            | Self::Barrier
            | Self::Pass
            | Self::Exchange => false,
        }
    }

    /// Whether it is about the ends of a buffer, which lie elsewhere on a rank with another number of items.
    pub(crate) fn has_ends(self) -> bool {
        self == Self::Exchange
    }
}
