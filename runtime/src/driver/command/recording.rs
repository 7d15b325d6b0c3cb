//! [`Recording`]: the commands of a graph and their order, before a driver makes a graph of them.
//!
//! It is made from [`Command`]s and gives them back. In between, everything lies in a few flat lists. So
//! recording a chunk allocates nothing once they have grown, and comparing two recordings is comparing
//! memory.

mod same;

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use super::Command;
use crate::base::tag::Tag;
use crate::driver::handles::{Access, DevicePtr, RawFunction};
use crate::driver::launch::{HostBodies, RawLaunch};

/// A part of one of a recording's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    start: u32,
    end: u32,
}

impl Part {
    /// The part from `start` to `end`, which is now the end of the list.
    fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One command of a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub tag: Tag,
    /// The part of the list `Recording::after` with the nodes that it comes after.
    after: Part,
    work: NodeWork,
}

/// The work of a node: a command without its pointers. Host memory is given by address.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NodeWork {
    /// No work. It keeps the place of a copy or fill of no bytes, which a graph cannot contain.
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
        /// A part of [`Recording::patterns`].
        pattern: Part,
        count: usize,
    },
    Launch {
        /// An index into [`Recording::kernels`].
        kernel: u32,
    },
}

/// A command on its way into a recording.
enum New<'a> {
    /// A copy, or nothing. This is all that there is to it.
    Whole(NodeWork),
    Fill {
        to: DevicePtr,
        pattern: &'a [u8],
        count: usize,
    },
    Launch(&'a RawLaunch<'a>),
}

impl<'a> New<'a> {
    /// The form of a command in a recording; `None` if no graph can contain it.
    #[inline(always)]
    fn of(command: &Command<'a>) -> Option<Self> {
        // A command with nothing to do has no memory either.
        let whole = |bytes, work| Self::Whole(if bytes == 0 { NodeWork::Nothing } else { work });
        // A node has addresses only. To make pointers of them again, it needs the provenance.
        match *command {
            Command::CopyToDevice { to, from, bytes } => {
                let from = from.expose_provenance();
                Some(whole(bytes, NodeWork::CopyToDevice { to, from, bytes }))
            }
            Command::CopyToHost { to, from, bytes } => {
                let to = to.expose_provenance();
                Some(whole(bytes, NodeWork::CopyToHost { to, from, bytes }))
            }
            Command::CopyOnDevice { to, from, bytes } => {
                Some(whole(bytes, NodeWork::CopyOnDevice { to, from, bytes }))
            }
            Command::Fill { .. } if command.is_nothing() => Some(Self::Whole(NodeWork::Nothing)),
            Command::Fill { to, pattern, count } => Some(Self::Fill { to, pattern, count }),
            Command::Launch(launch) => Some(Self::Launch(launch)),
            Command::CopyBetween { .. }
            | Command::CopyRows(_)
            | Command::Host { .. }
            | Command::Signal(_)
            | Command::Record(_)
            | Command::Wait(_)
            | Command::Collective(_)
            | Command::Graph { .. } => None,
        }
    }
}

/// A command that no graph can contain.
#[derive(Debug)]
pub(crate) struct NotInGraph;

/// A kernel launch in a graph.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    function: RawFunction,
    grid: [u32; 3],
    block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    shared: u32,
    /// A part of [`Recording::sizes`].
    params: Part,
    /// A part of [`Recording::words`], with its parameters one after another.
    words: Part,
    accesses: Part,
}

/// A part of a parameter's bytes. CUDA's vector types are aligned to 16 bytes at most.
type Word = u128;

/// Commands and their order. A node comes only after nodes that were recorded before it.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    nodes: Vec<Node>,
    after: Vec<u32>,
    /// The kernels are apart from the nodes, which are small without them.
    kernels: Vec<Kernel>,
    patterns: Vec<u8>,
    /// The sizes of the kernels' parameters, in bytes.
    sizes: Vec<usize>,
    /// The parameters' bytes, each parameter filled up to whole words with zeros.
    words: Vec<Word>,
    accesses: Vec<Access>,
}

impl Recording {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Forgets everything, but keeps the memory of the lists.
    pub(crate) fn clear(&mut self) {
        let Self { nodes, after, kernels, patterns, sizes, words, accesses } = self;
        nodes.clear();
        after.clear();
        kernels.clear();
        patterns.clear();
        sizes.clear();
        words.clear();
        accesses.clear();
    }

    /// Adds a command that comes after the nodes of `after`, and copies everything that it points to. Returns
    /// its index.
    ///
    /// # Errors
    /// No graph can contain it.
    ///
    /// # Safety
    /// Each parameter of a launch points to as many initialised bytes as its size says.
    pub(crate) unsafe fn push(
        &mut self,
        tag: Tag,
        after: &[u32],
        command: &Command<'_>,
    ) -> Result<u32, NotInGraph> {
        let work = match New::of(command).ok_or(NotInGraph)? {
            New::Whole(work) => work,
            New::Fill { to, pattern, count } => self.fill(to, pattern, count),
            // SAFETY: the caller's promise.
            New::Launch(launch) => unsafe { self.launch(launch) },
        };
        let start = self.after.len();
        // One by one, since there are only one or two.
        after.iter().for_each(|&before| self.after.push(before));
        let after = Part::new(start, self.after.len());
        self.nodes.push(Node { tag, after, work });
        Ok(self.nodes.len() as u32 - 1)
    }

    /// Becomes the first `len` nodes of another recording.
    pub(crate) fn begin_as(&mut self, other: &Self, len: usize) {
        self.clear();
        self.nodes.extend_from_slice(&other.nodes[..len]);
        let (mut kernels, mut patterns) = (0, 0);
        for node in &self.nodes {
            match node.work {
                NodeWork::Launch { kernel } => kernels = kernel as usize + 1,
                NodeWork::Fill { pattern, .. } => patterns = pattern.range().end,
                _ => {}
            }
        }
        self.kernels.extend_from_slice(&other.kernels[..kernels]);
        // The parts that belong to nodes lie in the nodes' order.
        let after = self.nodes.last().map_or(0, |node| node.after.range().end);
        self.after.extend_from_slice(&other.after[..after]);
        self.patterns.extend_from_slice(&other.patterns[..patterns]);
        if let Some(kernel) = self.kernels.last() {
            self.sizes.extend_from_slice(&other.sizes[..kernel.params.range().end]);
            self.words.extend_from_slice(&other.words[..kernel.words.range().end]);
            self.accesses.extend_from_slice(&other.accesses[..kernel.accesses.range().end]);
        }
    }

    /// A fill's work, with its pattern copied.
    fn fill(&mut self, to: DevicePtr, pattern: &[u8], count: usize) -> NodeWork {
        let start = self.patterns.len();
        self.patterns.extend_from_slice(pattern);
        NodeWork::Fill { to, pattern: Part::new(start, self.patterns.len()), count }
    }

    /// A launch's work, with its parameters copied.
    ///
    /// # Safety
    /// As [`push`](Self::push).
    unsafe fn launch(&mut self, launch: &RawLaunch<'_>) -> NodeWork {
        let &RawLaunch { function, grid, block, shared, params, sizes, accesses, .. } = launch;
        let (first_param, first_word) = (self.sizes.len(), self.words.len());
        let first_access = self.accesses.len();
        if sizes.iter().all(|&bytes| bytes == 4 || bytes == 8) {
            self.words.extend(params.iter().zip(sizes).map(|(&param, &bytes)| {
                // SAFETY: `param` has `bytes` initialised bytes, by the caller's promise.
                unsafe { if bytes == 4 { word::<4>(param.cast()) } else { word::<8>(param.cast()) } }
            }));
        } else {
            for (&param, &bytes) in params.iter().zip(sizes) {
                // SAFETY: as above.
                unsafe { self.push_value(param.cast(), bytes) };
            }
        }
        self.sizes.extend_from_slice(sizes);
        self.accesses.extend_from_slice(accesses);
        self.kernels.push(Kernel {
            function,
            grid,
            block,
            shared,
            params: Part::new(first_param, self.sizes.len()),
            words: Part::new(first_word, self.words.len()),
            accesses: Part::new(first_access, self.accesses.len()),
        });
        NodeWork::Launch { kernel: self.kernels.len() as u32 - 1 }
    }

    /// Adds the words of a parameter.
    ///
    /// # Safety
    /// `value` points to `bytes` initialised bytes.
    unsafe fn push_value(&mut self, value: *const u8, bytes: usize) {
        let start = self.words.len();
        self.words.resize(start + words_of(bytes), 0);
        let place = bytemuck::cast_slice_mut::<Word, u8>(&mut self.words[start..]);
        // SAFETY: `value` has that many bytes; `place` was made with room for them and is this recording's
        // own.
        unsafe { place.as_mut_ptr().copy_from_nonoverlapping(value, bytes) };
    }

    /// The nodes that `node` comes directly after.
    pub(crate) fn after(&self, node: &Node) -> &[u32] {
        &self.after[node.after.range()]
    }

    /// Calls `view` with the command of a node; `None` if that does nothing. `params` is room for a launch's
    /// parameters.
    ///
    /// A launch's parameters point into this recording. Its host body comes with the launch of the graph.
    pub(crate) fn command<R>(
        &self,
        node: &Node,
        params: &mut Vec<*mut c_void>,
        view: impl FnOnce(Option<Command<'_>>) -> R,
    ) -> R {
        let NodeWork::Launch { kernel } = node.work else { return view(self.copy_or_fill(node.work)) };
        let kernel = self.kernel(kernel);
        let &Kernel { function, grid, block, shared, .. } = kernel;
        let sizes = &self.sizes[kernel.params.range()];
        let mut next = kernel.words.range().start;
        params.clear();
        params.extend(sizes.iter().map(|&bytes| {
            let value = &self.words[next..];
            next += words_of(bytes);
            value.as_ptr().cast_mut().cast::<c_void>()
        }));
        let (accesses, bodies) = (self.accesses(kernel), HostBodies::OfGraph);
        let launch = RawLaunch { function, grid, block, shared, params, sizes, accesses, bodies };
        view(Some(Command::Launch(&launch)))
    }

    /// A node's command, if it is a copy or a fill.
    fn copy_or_fill(&self, work: NodeWork) -> Option<Command<'_>> {
        Some(match work {
            NodeWork::Nothing | NodeWork::Launch { .. } => return None,
            NodeWork::CopyToDevice { to, from, bytes } => {
                Command::CopyToDevice { to, from: ptr::with_exposed_provenance(from), bytes }
            }
            NodeWork::CopyToHost { to, from, bytes } => {
                Command::CopyToHost { to: ptr::with_exposed_provenance_mut(to), from, bytes }
            }
            NodeWork::CopyOnDevice { to, from, bytes } => Command::CopyOnDevice { to, from, bytes },
            NodeWork::Fill { to, pattern, count } => {
                Command::Fill { to, pattern: self.pattern(pattern), count }
            }
        })
    }

    /// A launch's kernel.
    fn kernel(&self, kernel: u32) -> &Kernel {
        &self.kernels[kernel as usize]
    }

    /// The bytes that a fill repeats.
    fn pattern(&self, pattern: Part) -> &[u8] {
        &self.patterns[pattern.range()]
    }

    /// The memory that a kernel accesses.
    fn accesses(&self, kernel: &Kernel) -> &[Access] {
        &self.accesses[kernel.accesses.range()]
    }

    /// The sizes and the words of a kernel's parameters.
    fn params(&self, kernel: &Kernel) -> (&[usize], &[Word]) {
        (&self.sizes[kernel.params.range()], &self.words[kernel.words.range()])
    }

    /// The tag of each node.
    pub(crate) fn tags(&self) -> impl Iterator<Item = Tag> {
        self.nodes.iter().map(|node| node.tag)
    }

    /// Whether none of its nodes does anything.
    pub(crate) fn is_nothing(&self) -> bool {
        self.nodes.iter().all(|node| node.work == NodeWork::Nothing)
    }

    /// Whether a copy or fill uses memory in one of the ranges.
    pub(crate) fn uses_any(&self, ranges: &[Range<u64>]) -> bool {
        let commands = || self.nodes.iter().filter_map(|node| self.copy_or_fill(node.work));
        let within = |address: u64| ranges.iter().any(|range| range.contains(&address));
        !ranges.is_empty() && commands().any(|command| command.places().into_iter().flatten().any(within))
    }
}

/// The number of words that a parameter takes.
fn words_of(bytes: usize) -> usize {
    bytes.div_ceil(size_of::<Word>())
}

/// A word of `N` bytes, at most a word's size, filled up with zeros.
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
mod tests;
