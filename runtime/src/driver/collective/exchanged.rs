//! Collectives where device memory is the host's: ranks send each other messages.

use std::sync::Arc;

use super::{Message, RawCollective, Shared, combine_all};
use crate::base::collective::{Operands, Reduce, combine, divide};
use crate::driver::handles::DevicePtr;

/// Messages from a rank to other ranks.
pub(crate) type Sends<'a> = [(usize, &'a [u8])];

/// Messages to a rank from other ranks.
pub(crate) type Receives<'a> = [(usize, &'a mut [u8])];

/// The way from a rank to all others.
pub(crate) trait Exchange: Send + Sync {
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends and receives, all at once, and returns when all of it is over.
    ///
    /// # Errors
    /// A rank is gone, or does something else; the text says so.
    fn exchange(&self, sends: &Sends<'_>, receives: &mut Receives<'_>) -> Result<(), String>;
}

/// Carries out this rank's part of a collective, and waits for the others.
///
/// # Errors
/// Those of [`Exchange::exchange`].
///
/// # Safety
/// The memory of the collective is the host's, with its provenance exposed and all bytes initialised. It stays until
/// this returns, and nothing else uses it meanwhile.
pub(crate) unsafe fn carry_out(collective: &RawCollective, by: &Arc<dyn Exchange>) -> Result<(), String> {
    let by = Ranks { by: &**by };
    match &collective.work {
        &Shared::AllReduce { at, bytes, operands } => {
            // SAFETY: the caller's promise, here and below.
            let own = unsafe { memory(at, bytes) };
            by.reduce(own, operands)?;
            by.broadcast(own, 0)
        }
        &Shared::Reduce { at, bytes, operands, root } => {
            // SAFETY: as above.
            let own = unsafe { memory(at, bytes) };
            // Only the root's memory changes.
            let mut combined = own.to_vec();
            by.reduce(&mut combined, operands)?;
            match (by.rank(), root) {
                (0, 0) => own.copy_from_slice(&combined),
                (0, _) => by.send(root, &combined)?,
                (rank, _) if rank == root => by.receive(0, own)?,
                _ => {}
            }
            Ok(())
        }
        // SAFETY: as above.
        &Shared::Broadcast { at, bytes, root } => by.broadcast(unsafe { memory(at, bytes) }, root),
        // Nothing has no parts to receive.
        &Shared::AllGather { bytes: 0, .. } => Ok(()),
        &Shared::AllGather { from, to, bytes } => {
            // SAFETY: as above; a collective's ranges do not overlap.
            let (from, to) = unsafe { (memory(from, bytes), memory(to, bytes * by.size())) };
            let sends: Vec<_> = by.others().map(|rank| (rank, &*from)).collect();
            let mut parts: Vec<_> = to.chunks_mut(bytes.max(1)).collect();
            if let Some(own) = parts.get_mut(by.rank()) {
                own.copy_from_slice(from);
            }
            let receives = parts.into_iter().enumerate().filter(|(rank, _)| *rank != by.rank());
            by.by.exchange(&sends, &mut receives.collect::<Vec<_>>())
        }
        &Shared::ReduceScatter { from, to, bytes, parts, operands } => {
            // SAFETY: as above.
            let (from, to) = unsafe { (memory(from, bytes * parts), memory(to, bytes)) };
            let part = |rank: usize| &from[rank * bytes..][..bytes];
            let sends: Vec<_> = by.others().map(|rank| (rank, part(rank))).collect();
            let mut all = vec![vec![0; bytes]; by.size()];
            all[by.rank()].copy_from_slice(part(by.rank()));
            let receives = all.iter_mut().map(Vec::as_mut_slice).enumerate();
            let receives = receives.filter(|(rank, _)| *rank != by.rank());
            by.by.exchange(&sends, &mut receives.collect::<Vec<_>>())?;
            to.copy_from_slice(&combine_all(operands, all));
            Ok(())
        }
        // SAFETY: as above.
        Shared::Messages { sends, receives } => unsafe { by.messages(sends, receives) },
        Shared::Barrier => {
            by.reduce(&mut [0], Operands::ANY)?;
            by.broadcast(&mut [0], 0)
        }
    }
}

/// # Safety
/// Those of [`carry_out`].
unsafe fn memory<'a>(at: DevicePtr, bytes: usize) -> &'a mut [u8] {
    if bytes == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(at.host(), bytes) }
}

/// The ranks of a collective.
struct Ranks<'e> {
    by: &'e dyn Exchange,
}

impl Ranks<'_> {
    fn rank(&self) -> usize {
        self.by.rank()
    }

    fn size(&self) -> usize {
        self.by.size()
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let own = self.rank();
        (0..self.size()).filter(move |rank| *rank != own)
    }

    fn send(&self, to: usize, data: &[u8]) -> Result<(), String> {
        self.by.exchange(&[(to, data)], &mut [])
    }

    fn receive(&self, from: usize, data: &mut [u8]) -> Result<(), String> {
        self.by.exchange(&[], &mut [(from, data)])
    }

    /// Rank 0 gets the reduced elements: neighbours are combined first, then pairs of neighbours, in the order of
    /// [`combine_all`]. What the others have afterwards is of no use.
    fn reduce(&self, own: &mut [u8], Operands { reduce, element }: Operands) -> Result<(), String> {
        let (rank, size) = (self.rank(), self.size());
        let mut other = vec![0; own.len()];
        let mut apart = 1;
        while apart < size {
            if rank % (2 * apart) == apart {
                return self.send(rank - apart, own);
            }
            if rank + apart < size {
                self.receive(rank + apart, &mut other)?;
                combine(reduce, element, own, &other);
            }
            apart *= 2;
        }
        if reduce == Reduce::Mean {
            divide(element, own, size);
        }
        Ok(())
    }

    /// Everyone gets the root's, along a tree: in each step, those who have it send it on.
    fn broadcast(&self, own: &mut [u8], root: usize) -> Result<(), String> {
        let size = self.size();
        let from_root = (self.rank() + size - root) % size;
        let real = |number: usize| (number + root) % size;
        let mut reached = 1;
        while reached < size {
            if (reached..2 * reached).contains(&from_root) {
                self.receive(real(from_root - reached), own)?;
            } else if from_root < reached && from_root + reached < size {
                self.send(real(from_root + reached), own)?;
            }
            reached *= 2;
        }
        Ok(())
    }

    /// # Safety
    /// Those of [`carry_out`].
    unsafe fn messages(&self, sends: &[Message], receives: &[Message]) -> Result<(), String> {
        // What is sent is copied first, since a rank may receive into memory that it also sends.
        // SAFETY: the caller's promise.
        let copied =
            |message: &Message| (message.rank, unsafe { memory(message.at, message.bytes) }.to_vec());
        let copied: Vec<(usize, Vec<u8>)> = sends.iter().map(copied).collect();
        let is_own = |rank: usize| rank == self.rank();
        let (to_itself, outside): (Vec<_>, Vec<_>) = copied.iter().partition(|(rank, _)| is_own(*rank));
        let sends: Vec<_> = outside.iter().map(|(rank, data)| (*rank, data.as_slice())).collect();
        // SAFETY: the caller's promise; what a rank receives does not overlap.
        let place = |message: &Message| (message.rank, unsafe { memory(message.at, message.bytes) });
        let (from_itself, mut receives): (Vec<_>, Vec<_>) =
            receives.iter().map(place).partition(|(rank, _)| is_own(*rank));
        for ((_, data), (_, place)) in to_itself.iter().zip(from_itself) {
            if data.len() != place.len() {
                return Err(format!(
                    "a rank sends itself {} bytes, and receives {}",
                    data.len(),
                    place.len()
                ));
            }
            place.copy_from_slice(data);
        }
        self.by.exchange(&sends, &mut receives)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Condvar, Mutex};
    use std::thread;

    use super::*;
    use crate::base::collective::{CollectiveKind, Element};
    use crate::driver::collective::RawCommunicator;

    /// Messages between threads: from, to and the bytes, in order.
    #[derive(Default)]
    struct Post {
        messages: Mutex<VecDeque<(usize, usize, Vec<u8>)>>,
        changed: Condvar,
    }

    struct Clerk {
        rank: usize,
        size: usize,
        post: Arc<Post>,
    }

    impl Exchange for Clerk {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.size
        }

        fn exchange(&self, sends: &Sends<'_>, receives: &mut Receives<'_>) -> Result<(), String> {
            let mut messages = self.post.messages.lock().unwrap();
            messages.extend(sends.iter().map(|(to, data)| (self.rank, *to, data.to_vec())));
            self.post.changed.notify_all();
            for (from, place) in receives {
                let is_next =
                    |message: &(usize, usize, Vec<u8>)| (message.0, message.1) == (*from, self.rank);
                let data = loop {
                    if let Some(at) = messages.iter().position(is_next) {
                        break messages.remove(at).unwrap().2;
                    }
                    messages = self.post.changed.wait(messages).unwrap();
                };
                assert_eq!(data.len(), place.len());
                place.copy_from_slice(&data);
            }
            Ok(())
        }
    }

    const SUM: Operands = Operands { reduce: Reduce::Sum, element: Element::F32 };

    /// Lets `size` ranks carry out what `work` makes of each one's memory, and returns their memory.
    fn carried_out(
        size: usize,
        len: usize,
        work: impl Fn(usize, DevicePtr) -> Shared + Send + Sync + Copy + 'static,
    ) -> Vec<Vec<f32>> {
        let post = Arc::new(Post::default());
        let rank = |rank: usize| {
            let by: Arc<dyn Exchange> = Arc::new(Clerk { rank, size, post: Arc::clone(&post) });
            thread::spawn(move || {
                // Numbers whose sum depends on its order.
                let mut own: Vec<f32> =
                    (0..len).map(|n| (1.0 + n as f32 / 3.0) * 1.1_f32.powi(7 * rank as i32)).collect();
                let at = DevicePtr(own.as_mut_ptr().expose_provenance() as u64);
                let collective = RawCollective {
                    communicator: RawCommunicator(0),
                    kind: CollectiveKind::AllReduce,
                    text: "all_reduce sum x",
                    line: 1,
                    work: work(rank, at),
                    accesses: Vec::new(),
                };
                // SAFETY: the memory is this thread's own, and stays.
                unsafe { carry_out(&collective, &by) }.unwrap();
                own
            })
        };
        let threads: Vec<_> = (0..size).map(rank).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    fn given(size: usize, len: usize) -> Vec<Vec<f32>> {
        carried_out(size, len, |_, _| Shared::Barrier)
    }

    fn bytes_of(all: &[Vec<f32>]) -> Vec<Vec<u8>> {
        all.iter().map(|own| bytemuck::cast_slice(own).to_vec()).collect()
    }

    #[test]
    fn all_ranks_get_the_same_bits_whatever_their_number() {
        for size in 1..=9 {
            let reduced = carried_out(size, 5, |_, at| Shared::AllReduce { at, bytes: 20, operands: SUM });
            let expected = combine_all(SUM, bytes_of(&given(size, 5)));
            assert!(bytes_of(&reduced).iter().all(|own| *own == expected), "{size} ranks");
        }
    }

    #[test]
    fn only_the_root_changes() {
        for root in 0..5 {
            let before = given(5, 3);
            let after = carried_out(5, 3, move |_, at| Shared::Reduce { at, bytes: 12, operands: SUM, root });
            for (rank, (before, after)) in before.iter().zip(&after).enumerate() {
                assert_eq!(before == after, rank != root, "rank {rank}, root {root}");
            }
            assert_eq!(bytes_of(&after)[root], combine_all(SUM, bytes_of(&before)));
        }
    }

    #[test]
    fn everyone_gets_the_roots() {
        for (size, root) in [(1, 0), (2, 1), (3, 2), (7, 4), (8, 0)] {
            let after = carried_out(size, 4, move |_, at| Shared::Broadcast { at, bytes: 16, root });
            assert!(after.iter().all(|own| *own == given(size, 4)[root]), "{size} ranks, root {root}");
        }
    }

    #[test]
    fn parts_go_to_their_ranks() {
        // The first element of each rank goes to all, into the rest.
        let gathered = carried_out(3, 4, |_, at| Shared::AllGather { from: at, to: at.offset(4), bytes: 4 });
        let before = given(3, 4);
        let firsts: Vec<f32> = before.iter().map(|own| own[0]).collect();
        assert!(gathered.iter().all(|own| own[1..] == firsts));
        // The first three elements are a part for each rank.
        let scattered = carried_out(3, 4, |_, at| Shared::ReduceScatter {
            from: at,
            to: at.offset(12),
            bytes: 4,
            parts: 3,
            operands: SUM,
        });
        for (rank, own) in scattered.iter().enumerate() {
            let parts = before.iter().map(|other| bytemuck::bytes_of(&other[rank]).to_vec()).collect();
            assert_eq!(bytemuck::bytes_of(&own[3]), combine_all(SUM, parts), "rank {rank}");
        }
        // A ring: each first element goes to the next rank, and the last one to the rank itself.
        let passed = carried_out(3, 4, |rank, at| Shared::Messages {
            sends: vec![
                Message { rank: (rank + 1) % 3, at, bytes: 4 },
                Message { rank, at: at.offset(12), bytes: 4 },
            ],
            receives: vec![
                Message { rank: (rank + 2) % 3, at: at.offset(4), bytes: 4 },
                Message { rank, at: at.offset(8), bytes: 4 },
            ],
        });
        for rank in 0..3 {
            let expected = [before[rank][0], before[(rank + 2) % 3][0], before[rank][3], before[rank][3]];
            assert_eq!(passed[rank], expected, "rank {rank}");
        }
    }
}
