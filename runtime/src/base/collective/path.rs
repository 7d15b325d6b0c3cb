//! How long a collective takes on links of given rates, for the simulation and for predictions.

use super::CollectiveKind;

/// What a collective's data go through: the slowest link between neighbours of a ring of all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Path {
    /// Bytes a nanosecond in each direction.
    pub(crate) rate: f64,
    /// Nanoseconds until a message arrives.
    pub(crate) latency: f64,
}

/// The time of a collective, in nanoseconds, if `bytes` is what each rank gives: by a ring or by a tree, whichever is
/// faster, as NCCL chooses.
///
/// A ring of n ranks sends 2(n - 1)/n of the bytes of an `all_reduce` in 2(n - 1) steps. A tree sends all of them up
/// and down, in 2 log2(n) steps ("Massively scale your deep learning training with NCCL 2.4", NVIDIA, 2019).
pub(crate) fn time(kind: CollectiveKind, bytes: usize, ranks: usize, Path { rate, latency }: Path) -> f64 {
    if ranks < 2 {
        return 0.0;
    }
    let (n, bytes) = (ranks as f64, bytes as f64);
    let along = |steps: f64, sent: f64| steps * latency + sent / rate;
    let levels = n.log2().ceil();
    match kind {
        CollectiveKind::AllReduce => {
            let ring = along(2.0 * (n - 1.0), 2.0 * bytes * (n - 1.0) / n);
            ring.min(along(2.0 * levels, 2.0 * bytes))
        }
        CollectiveKind::Reduce | CollectiveKind::Broadcast => {
            along(n - 1.0, bytes).min(along(levels, levels * bytes))
        }
        // What each rank gives goes to all others.
        CollectiveKind::AllGather | CollectiveKind::Gather => along(n - 1.0, bytes * (n - 1.0)),
        // What each rank gives has a part for each rank.
        CollectiveKind::ReduceScatter | CollectiveKind::Scatter | CollectiveKind::AllToAll => {
            along(n - 1.0, bytes * (n - 1.0) / n)
        }
        CollectiveKind::Barrier => 2.0 * levels * latency,
        CollectiveKind::Pass | CollectiveKind::Exchange => along(1.0, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path { rate: 100.0, latency: 1000.0 };

    #[test]
    fn large_reductions_go_round_and_small_ones_up_and_down() {
        let all_reduce = |bytes, ranks| time(CollectiveKind::AllReduce, bytes, ranks, PATH);
        // 2 x 7/8 of 80 MB at 100 bytes a nanosecond, and 14 steps.
        assert_eq!(all_reduce(80_000_000, 8), 1_400_000.0 + 14_000.0);
        // Six steps, and 8 bytes there and back.
        assert_eq!(all_reduce(8, 8), 6_000.0 + 0.16);
        assert_eq!(all_reduce(1 << 20, 1), 0.0, "a world of one sends nothing");
    }

    #[test]
    fn every_kind_takes_time_among_several() {
        let kinds = [
            CollectiveKind::Reduce,
            CollectiveKind::Broadcast,
            CollectiveKind::AllGather,
            CollectiveKind::Gather,
            CollectiveKind::Scatter,
            CollectiveKind::ReduceScatter,
            CollectiveKind::AllToAll,
            CollectiveKind::Barrier,
            CollectiveKind::Pass,
            CollectiveKind::Exchange,
        ];
        for kind in kinds {
            let (two, four) = (time(kind, 4096, 2, PATH), time(kind, 4096, 4, PATH));
            assert!(two >= PATH.latency && four >= two, "{kind:?}");
        }
    }
}
