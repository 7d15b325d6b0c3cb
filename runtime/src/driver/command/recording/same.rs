//! Comparisons of two recordings, or of a recording and the command that comes next.

use std::ffi::c_void;

use super::{Kernel, New, Node, NodeWork, Recording, Word, words_of};
use crate::driver::{Access, Command, RawFunction, RawLaunch, Tag, fill_word};

impl Recording {
    /// Whether the node of this index is such a command, that is, what [`push`](Self::push) would make of it.
    ///
    /// # Safety
    /// As [`push`](Self::push).
    #[inline(always)]
    pub(crate) unsafe fn has(&self, index: usize, tag: Tag, after: &[u32], command: &Command<'_>) -> bool {
        let Some(node) = self.nodes.get(index) else { return false };
        let known = self.after(node);
        // One by one, since there are only one or two.
        let same_order =
            known.len() == after.len() && known.iter().zip(after).all(|(known, node)| known == node);
        if node.tag != tag || !same_order {
            return false;
        }
        match (New::of(command), node.work) {
            (Some(New::Whole(work)), known) => work == known,
            (
                Some(New::Fill { to, pattern, count }),
                NodeWork::Fill { to: known_to, pattern: known_pattern, count: known_count },
            ) => (to, pattern, count) == (known_to, self.pattern(known_pattern), known_count),
            // SAFETY: the caller's promise.
            (Some(New::Launch(launch)), NodeWork::Launch { kernel }) => unsafe {
                self.is_launch(kernel, launch)
            },
            (Some(New::Fill { .. } | New::Launch(_)) | None, _) => false,
        }
    }

    /// # Safety
    /// As [`launch`](Self::launch).
    #[inline]
    unsafe fn is_launch(&self, kernel: u32, launch: &RawLaunch<'_>) -> bool {
        let kernel = self.kernel(kernel);
        let &RawLaunch { function, grid, block, shared, params, sizes, accesses, .. } = launch;
        let same = |(known, access): (&Access, &Access)| {
            (known.ptr, known.bytes, known.write) == (access.ptr, access.bytes, access.write)
        };
        let known = self.accesses(kernel);
        (kernel.function.handle, kernel.shared) == (function.handle, shared)
            && (kernel.grid, kernel.block) == (grid, block)
            // SAFETY: the caller's promise.
            && unsafe { self.has_params(kernel, params, sizes) }
            && known.len() == accesses.len()
            && known.iter().zip(accesses).all(same)
    }

    /// Whether the kernel's parameters are these.
    ///
    /// # Safety
    /// Each of `params` points to as many initialised bytes as `sizes` says.
    unsafe fn has_params(&self, kernel: &Kernel, params: &[*mut c_void], sizes: &[usize]) -> bool {
        let (known_sizes, words) = self.params(kernel);
        if known_sizes.len() != sizes.len() {
            return false;
        }
        if words.len() != sizes.len() {
            // SAFETY: the caller's promise.
            return known_sizes == sizes && unsafe { are_values(words, params, sizes) };
        }
        // Each parameter takes one word.
        let mut known = known_sizes.iter().zip(words);
        params.iter().zip(sizes).all(|(&param, &bytes)| {
            let Some((&known, &word)) = known.next() else { return false };
            known == bytes
                && match bytes {
                    // SAFETY: there are that many bytes.
                    4 => word == unsafe { super::word::<4>(param.cast()) },
                    // SAFETY: as above.
                    8 => word == unsafe { super::word::<8>(param.cast()) },
                    // SAFETY: the caller's promise.
                    _ => unsafe { are_values(&[word], &[param], &[bytes]) },
                }
        })
    }

    /// The nodes that differ from those of another recording; `None` if they are not of the same kinds in the
    /// same order, so that a graph of one cannot become one of the other.
    pub(crate) fn changes(&self, other: &Self) -> Option<Vec<u32>> {
        // The parts follow one another in their lists. Each part is the same if the lists are, and if it is
        // as long.
        if self.len() != other.len() || self.after != other.after {
            return None;
        }
        let same_params = self.sizes == other.sizes && self.words == other.words;
        let mut changed = Vec::new();
        for (index, (mine, theirs)) in self.nodes.iter().zip(&other.nodes).enumerate() {
            let same_kind = std::mem::discriminant(&mine.work) == std::mem::discriminant(&theirs.work);
            if mine.after != theirs.after || !same_kind {
                return None;
            }
            if !self.same_work(mine, other, theirs, same_params) {
                changed.push(index as u32);
            }
        }
        Some(changed)
    }

    /// Whether a graph of `other` can become one of this by changing these nodes. This is not known for a
    /// fill of more than one word, since the number of its memsets depends on the pattern. Clusters and
    /// cooperation are fixed for a node: it can launch another kernel only if neither kernel has any.
    pub(crate) fn can_replace(&self, other: &Self, changed: &[u32]) -> bool {
        let same_blocks = |mine: &Node, theirs: &Node| match (mine.work, theirs.work) {
            (NodeWork::Launch { kernel: mine }, NodeWork::Launch { kernel: theirs }) => {
                let (mine, theirs) = (self.kernel(mine), other.kernel(theirs));
                let plain = |function: RawFunction| function.cluster.is_none() && !function.cooperative;
                mine.function.handle == theirs.function.handle
                    || plain(mine.function) && plain(theirs.function)
            }
            _ => true,
        };
        let one_word = |recording: &Self, node: &Node| match node.work {
            // A fill of one word is one memset, whatever the pattern.
            NodeWork::Fill { pattern, .. } => {
                let bytes = recording.pattern(pattern).len();
                bytes == fill_word(bytes)
            }
            _ => true,
        };
        let mut changed = changed.iter().map(|&index| index as usize);
        changed.all(|index| {
            let (mine, theirs) = (&self.nodes[index], &other.nodes[index]);
            one_word(self, mine) && one_word(other, theirs) && same_blocks(mine, theirs)
        })
    }

    /// Whether both nodes have the same work. `same_params` says that the kernels of both recordings have the
    /// same parameters, one after another.
    fn same_work(&self, mine: &Node, other: &Self, theirs: &Node, same_params: bool) -> bool {
        match (&mine.work, &theirs.work) {
            (
                NodeWork::Fill { to, pattern, count },
                NodeWork::Fill { to: other_to, pattern: other_pattern, count: other_count },
            ) => {
                (to, self.pattern(*pattern), count) == (other_to, other.pattern(*other_pattern), other_count)
            }
            (&NodeWork::Launch { kernel }, &NodeWork::Launch { kernel: other_kernel }) => {
                let (kernel, other_kernel) = (self.kernel(kernel), other.kernel(other_kernel));
                let configuration = |k: &Kernel| (k.function.handle, k.grid, k.block, k.shared);
                configuration(kernel) == configuration(other_kernel)
                    && (same_params && kernel.params == other_kernel.params
                        || self.params(kernel) == other.params(other_kernel))
            }
            (mine, theirs) => mine == theirs,
        }
    }
}

/// Whether these words equal the parameters.
///
/// # Safety
/// Each of `params` points to as many initialised bytes as `sizes` says.
#[cold]
unsafe fn are_values(mut words: &[Word], params: &[*mut c_void], sizes: &[usize]) -> bool {
    params.iter().zip(sizes).all(|(&param, &bytes)| {
        let Some((known, rest)) = words.split_at_checked(words_of(bytes)) else { return false };
        words = rest;
        // SAFETY: `param` has `bytes` initialised bytes, by the caller's promise; if there are none, it may
        // point anywhere.
        bytes == 0
            || bytemuck::cast_slice::<Word, u8>(known)[..bytes]
                == *unsafe { std::slice::from_raw_parts(param.cast::<u8>(), bytes) }
    })
}
