//! [`Recording`]: the operations of a graph and their order, before a driver makes a graph of them.
//!
//! Everything lies in a few flat lists, so that recording a chunk allocates nothing once they have grown, and comparing
//! two recordings is comparing memory.

use std::ffi::c_void;
use std::ops::Range;

use crate::driver::{Access, DevicePtr, RawFunction, RawLaunch, Tag};

/// A part of one of a recording's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    start: u32,
    end: u32,
}

impl Part {
    /// From `start` to the end of a list of `end`.
    fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One operation of a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub tag: Tag,
    /// Of the nodes that it comes after.
    after: Part,
    pub work: Work,
}

/// What a node does. Host memory is given by address.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// Nothing: keeps the place of a copy or fill of no bytes, which a graph cannot have.
    Nothing,
    CopyToDevice {
        to: DevicePtr,
        from: usize,
        bytes: usize,
    },
    CopyToHost {
        to: usize,
        from: DevicePtr,
        bytes: usize,
    },
    CopyOnDevice {
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    },
    Fill {
        to: DevicePtr,
        /// See [`Recording::pattern`].
        pattern: Part,
        count: usize,
    },
    Launch(Kernel),
}

/// A kernel launch in a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub function: RawFunction,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared: u32,
    /// Among [`Recording::sizes`].
    params: Part,
    /// Of its parameters, one after another.
    words: Part,
    accesses: Part,
}

/// A part of a parameter's bytes. CUDA's vector types are aligned to 16 bytes at most.
type Word = u128;

/// Operations and their order. A node comes after nodes recorded before it only.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    nodes: Vec<Node>,
    after: Vec<u32>,
    patterns: Vec<u8>,
    /// Of the kernels' parameters, in bytes.
    sizes: Vec<usize>,
    /// The parameters' bytes, each filled up to whole words with zeros.
    words: Vec<Word>,
    accesses: Vec<Access>,
}

impl Recording {
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Forgets everything, but for the memory it took.
    pub fn clear(&mut self) {
        let Self { nodes, after, patterns, sizes, words, accesses } = self;
        nodes.clear();
        after.clear();
        patterns.clear();
        sizes.clear();
        words.clear();
        accesses.clear();
    }

    /// Adds an operation that comes after those of `after`, and gives its index.
    pub fn push(&mut self, tag: Tag, after: &[u32], work: Work) -> u32 {
        let start = self.after.len();
        self.after.extend_from_slice(after);
        let after = Part::new(start, self.after.len());
        self.nodes.push(Node { tag, after, work });
        self.nodes.len() as u32 - 1
    }

    /// A fill's work, with its pattern copied.
    pub fn fill(&mut self, to: DevicePtr, pattern: &[u8], count: usize) -> Work {
        if pattern.is_empty() || count == 0 {
            return Work::Nothing;
        }
        let start = self.patterns.len();
        self.patterns.extend_from_slice(pattern);
        Work::Fill { to, pattern: Part::new(start, self.patterns.len()), count }
    }

    /// A launch's work, with its parameters copied.
    ///
    /// # Safety
    /// Each of `params` points to as many initialised bytes as `sizes` says.
    pub unsafe fn launch(&mut self, launch: &RawLaunch<'_>) -> Work {
        let &RawLaunch { function, grid, block, shared, ref params, sizes, accesses, .. } = launch;
        let (first_param, first_word) = (self.sizes.len(), self.words.len());
        let first_access = self.accesses.len();
        for (&param, &bytes) in params.iter().zip(sizes) {
            // SAFETY: `param` has `bytes` initialised bytes, says the caller.
            unsafe { self.push_value(param.cast(), bytes) };
        }
        self.sizes.extend_from_slice(sizes);
        self.accesses.extend_from_slice(accesses);
        Work::Launch(Kernel {
            function,
            grid,
            block,
            shared,
            params: Part::new(first_param, self.sizes.len()),
            words: Part::new(first_word, self.words.len()),
            accesses: Part::new(first_access, self.accesses.len()),
        })
    }

    /// Adds the words of a parameter. Most are a number or a pointer, for which no function need be called.
    ///
    /// # Safety
    /// `value` points to `bytes` initialised bytes.
    unsafe fn push_value(&mut self, value: *const u8, bytes: usize) {
        match bytes {
            // SAFETY: there are that many bytes.
            4 => self.words.push(unsafe { word::<4>(value) }),
            // SAFETY: as above.
            8 => self.words.push(unsafe { word::<8>(value) }),
            _ => {
                let start = self.words.len();
                self.words.resize(start + words_of(bytes), 0);
                let place = bytemuck::cast_slice_mut::<Word, u8>(&mut self.words[start..]);
                // SAFETY: `value` has that many bytes; `place` was made with room for them and is this recording's own.
                unsafe { place.as_mut_ptr().copy_from_nonoverlapping(value, bytes) };
            }
        }
    }

    /// The nodes that `node` comes directly after.
    pub fn after(&self, node: &Node) -> &[u32] {
        &self.after[node.after.range()]
    }

    /// The bytes that a fill repeats.
    pub fn pattern(&self, pattern: Part) -> &[u8] {
        &self.patterns[pattern.range()]
    }

    /// What a kernel may touch.
    pub fn accesses(&self, kernel: &Kernel) -> &[Access] {
        &self.accesses[kernel.accesses.range()]
    }

    /// Where a kernel's parameters are, as `cuLaunchKernel` takes them; valid as long as the recording is unchanged.
    pub fn param_pointers(&self, kernel: &Kernel) -> Vec<*mut c_void> {
        let mut next = kernel.words.range().start;
        let pointer = |&bytes: &usize| {
            let value = &self.words[next..];
            next += words_of(bytes);
            value.as_ptr().cast_mut().cast()
        };
        self.sizes[kernel.params.range()].iter().map(pointer).collect()
    }

    /// The sizes and the words of a kernel's parameters.
    fn params(&self, kernel: &Kernel) -> (&[usize], &[Word]) {
        (&self.sizes[kernel.params.range()], &self.words[kernel.words.range()])
    }

    /// Whether a copy or fill uses memory in one of the ranges.
    pub fn uses_any(&self, ranges: &[Range<u64>]) -> bool {
        let within = |address: u64| ranges.iter().any(|range| range.contains(&address));
        let uses = |node: &Node| match node.work {
            Work::CopyToDevice { to, from, .. } => within(to.0) || within(from as u64),
            Work::CopyToHost { to, from, .. } => within(to as u64) || within(from.0),
            Work::CopyOnDevice { to, from, .. } => within(to.0) || within(from.0),
            Work::Fill { to, .. } => within(to.0),
            Work::Nothing | Work::Launch(_) => false,
        };
        !ranges.is_empty() && self.nodes.iter().any(uses)
    }

    /// The nodes that differ from those of another recording; `None` if they are not of the same kinds in the same order,
    /// so that a graph of one cannot become one of the other.
    pub fn changes(&self, other: &Self) -> Option<Vec<u32>> {
        // The lists lie one after another: each is the same if all are, and each is as long.
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

    /// Whether a graph of `other` can become one of this by changing these nodes. Of a fill with more than one word that is
    /// not known: how many memsets it takes depends on the pattern. Clusters and cooperation are the node's for good: it
    /// can launch another kernel only if neither has any.
    pub fn can_replace(&self, other: &Self, changed: &[u32]) -> bool {
        let same_blocks = |mine: &Node, theirs: &Node| match (mine.work, theirs.work) {
            (Work::Launch(mine), Work::Launch(theirs)) => {
                let plain = |function: RawFunction| function.cluster.is_none() && !function.cooperative;
                mine.function.handle == theirs.function.handle
                    || plain(mine.function) && plain(theirs.function)
            }
            _ => true,
        };
        let one_word = |recording: &Self, node: &Node| match node.work {
            Work::Fill { pattern, .. } => matches!(recording.pattern(pattern).len(), 1 | 2 | 4),
            _ => true,
        };
        let mut changed = changed.iter().map(|&index| index as usize);
        changed.all(|index| {
            let (mine, theirs) = (&self.nodes[index], &other.nodes[index]);
            one_word(self, mine) && one_word(other, theirs) && same_blocks(mine, theirs)
        })
    }

    /// `same_params`: the kernels of both have the same parameters, one after another.
    fn same_work(&self, mine: &Node, other: &Self, theirs: &Node, same_params: bool) -> bool {
        match (&mine.work, &theirs.work) {
            (Work::Nothing, Work::Nothing) => true,
            (
                Work::CopyToDevice { to, from, bytes },
                Work::CopyToDevice { to: other_to, from: other_from, bytes: other_bytes },
            ) => (to, from, bytes) == (other_to, other_from, other_bytes),
            (
                Work::CopyToHost { to, from, bytes },
                Work::CopyToHost { to: other_to, from: other_from, bytes: other_bytes },
            ) => (to, from, bytes) == (other_to, other_from, other_bytes),
            (
                Work::CopyOnDevice { to, from, bytes },
                Work::CopyOnDevice { to: other_to, from: other_from, bytes: other_bytes },
            ) => (to, from, bytes) == (other_to, other_from, other_bytes),
            (
                Work::Fill { to, pattern, count },
                Work::Fill { to: other_to, pattern: other_pattern, count: other_count },
            ) => {
                (to, self.pattern(*pattern), count) == (other_to, other.pattern(*other_pattern), other_count)
            }
            (Work::Launch(kernel), Work::Launch(other_kernel)) => {
                let configuration = |k: &Kernel| (k.function.handle, k.grid, k.block, k.shared);
                configuration(kernel) == configuration(other_kernel)
                    && (same_params && kernel.params == other_kernel.params
                        || self.params(kernel) == other.params(other_kernel))
            }
            _ => false,
        }
    }
}

/// How many words a parameter takes.
fn words_of(bytes: usize) -> usize {
    bytes.div_ceil(size_of::<Word>())
}

/// `N` bytes, at most a word's, filled up with zeros.
///
/// # Safety
/// `value` points to that many initialised bytes.
unsafe fn word<const N: usize>(value: *const u8) -> Word {
    let mut bytes = [0; size_of::<Word>()];
    // SAFETY: the caller's promise; bytes are aligned anywhere.
    bytes[..N].copy_from_slice(unsafe { &*value.cast::<[u8; N]>() });
    Word::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Tag = Tag { operation: 0, chunk: 0 };

    fn copy(bytes: usize) -> Work {
        Work::CopyToDevice { to: DevicePtr(256), from: 64, bytes }
    }

    fn launch(recording: &mut Recording, number: u32, pair: (u64, u64)) -> Work {
        let function = RawFunction::plain(7, 1, 0);
        let pair = [pair.0, pair.1];
        let mut params = [(&raw const number).cast_mut().cast(), (&raw const pair).cast_mut().cast()];
        let launch = RawLaunch {
            function,
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            params: &mut params,
            sizes: &[4, 16],
            accesses: &[],
            host: &|| Box::new(|| {}),
        };
        // SAFETY: the parameters are alive and of these sizes.
        unsafe { recording.launch(&launch) }
    }

    /// A copy, a fill and a launch that comes after both.
    fn recorded(bytes: usize, pattern: &[u8], number: u32, pair: (u64, u64)) -> Recording {
        let mut recording = Recording::default();
        let a = recording.push(TAG, &[], copy(bytes));
        let fill = recording.fill(DevicePtr(512), pattern, 3);
        let b = recording.push(TAG, &[], fill);
        let launch = launch(&mut recording, number, pair);
        recording.push(TAG, &[a, b], launch);
        recording
    }

    fn changes(new: &Recording, old: &Recording) -> Vec<u32> {
        new.changes(old).expect("the same topology")
    }

    #[test]
    fn memory_that_copies_and_fills_use() {
        let recording = recorded(10, &[1, 2], 3, (4, 5));
        for (range, uses) in
            [(0..64, false), (64..65, true), (200..257, true), (300..512, false), (512..513, true)]
        {
            assert_eq!(recording.uses_any(std::slice::from_ref(&range)), uses, "{range:?}");
        }
        assert!(!recording.uses_any(&[]));
    }

    #[test]
    fn a_fill_of_several_words_is_not_changed() {
        let first = recorded(10, &[1, 2], 3, (4, 5));
        let can = |first: &Recording, second: Recording| second.can_replace(first, &changes(&second, first));
        assert!(can(&first, recorded(11, &[1, 3], 4, (5, 4))));
        assert!(!can(&first, recorded(10, &[1, 2, 3], 3, (4, 5))));
        assert!(!can(&recorded(10, &[1; 6], 3, (4, 5)), recorded(10, &[2; 6], 3, (4, 5))));
    }

    #[test]
    fn what_differs_is_found() {
        let first = recorded(10, &[1, 2], 3, (4, 5));
        let differing = |second: Recording| {
            assert_eq!(first.changes(&second), second.changes(&first));
            changes(&second, &first)
        };
        assert_eq!(differing(recorded(10, &[1, 2], 3, (4, 5))), []);
        assert_eq!(differing(recorded(11, &[1, 2], 3, (4, 5))), [0]);
        assert_eq!(differing(recorded(10, &[1, 2, 3, 4], 3, (4, 5))), [1]);
        assert_eq!(differing(recorded(10, &[1, 2], 4, (4, 5))), [2]);
        assert_eq!(differing(recorded(10, &[1, 2], 3, (4, 6))), [2]);
        assert_eq!(differing(recorded(9, &[3], 4, (0, 0))), [0, 1, 2]);
    }

    #[test]
    fn another_order_or_kind_is_another_topology() {
        let first = recorded(10, &[1, 2], 3, (4, 5));
        // A fill of nothing has nothing to do.
        assert_eq!(first.changes(&recorded(10, &[], 3, (4, 5))), None);
        let mut chained = Recording::default();
        let a = chained.push(TAG, &[], copy(10));
        let fill = chained.fill(DevicePtr(512), &[1, 2], 3);
        let b = chained.push(TAG, &[a], fill);
        assert_eq!(first.changes(&chained), None);
        let launch = launch(&mut chained, 3, (4, 5));
        chained.push(TAG, &[b], launch);
        assert_eq!(first.changes(&chained), None);
    }

    #[test]
    fn parameters_are_copied() {
        let recording = recorded(10, &[1, 2], 3, (4, 5));
        let node = recording.nodes()[2];
        assert_eq!(recording.after(&node), [0, 1]);
        let Work::Launch(kernel) = node.work else { panic!("{node:?}") };
        let pointers = recording.param_pointers(&kernel);
        // SAFETY: they point to values of these types.
        let values = unsafe { (*pointers[0].cast::<u32>(), *pointers[1].cast::<[u64; 2]>()) };
        assert_eq!(values, (3, [4, 5]));
    }
}
