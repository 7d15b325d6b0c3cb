//! Bytes of all ranks, brought to rank 0.

use super::World;
use crate::base::error::Result;

/// The most bytes that a rank sends at once. Rank 0 has memory for so many more than have come from a rank.
const PIECE: usize = 1 << 20;

impl World {
    /// Brings the bytes of each rank to rank 0, which gets them in the order of ranks; others get nothing. They go
    /// directly to rank 0 and may be more than those of an agreement, in which all ranks get what each of them says.
    /// `lengths`: what all ranks have agreed on.
    ///
    /// # Errors
    /// A rank does not come within the limit, or is gone.
    pub(crate) fn collect(&self, own: Vec<u8>, lengths: &[u64]) -> Result<Vec<Vec<u8>>> {
        self.aside(|members| {
            if self.rank() > 0 {
                let mut pieces = own.chunks(PIECE);
                return pieces
                    .try_for_each(|piece| members.exchange(&[(0, piece)], &mut []))
                    .map(|()| Vec::new());
            }
            let mut all = vec![Vec::new(); lengths.len()];
            if let Some(first) = all.first_mut() {
                *first = own;
            }
            loop {
                let wanted = all.iter().zip(lengths).enumerate().skip(1);
                let wanted = wanted.map(|(rank, (bytes, length))| {
                    let missing = length.saturating_sub(bytes.len() as u64);
                    (rank, usize::try_from(missing).unwrap_or(PIECE).min(PIECE))
                });
                let mut pieces: Vec<(usize, Vec<u8>)> = wanted
                    .filter(|(_, bytes)| *bytes > 0)
                    .map(|(rank, bytes)| (rank, vec![0; bytes]))
                    .collect();
                if pieces.is_empty() {
                    return Ok(all);
                }
                let mut receives: Vec<_> =
                    pieces.iter_mut().map(|(rank, piece)| (*rank, piece.as_mut_slice())).collect();
                members.exchange(&[], &mut receives)?;
                pieces.iter().for_each(|(rank, piece)| all[*rank].extend_from_slice(piece));
            }
        })
    }
}
