//! Which buffers a device that shares the host's memory need not have: those that are an argument itself.
//!
//! On a CPU a buffer and the argument that is copied to it, or from it, may be the same memory. Then the copy is
//! left out. That is so where nothing can see the difference: the rules below look at every operation of the
//! plan, so that the answer is as constant as the plan is.

use super::{BufferKind, HostPlan, Memory, OperationKind, OperationPlan, Plan};

/// A copy between an argument and a buffer, by its index among the operations.
#[derive(Clone, Copy)]
struct Copy {
    index: usize,
    host: usize,
}

impl Plan {
    // Note 67: by what the plan's operations read and write.
    /// The argument that a ring's buffer can be, as an index into [`hosts`](Self::hosts); `None` if it needs
    /// memory of its own.
    ///
    /// - An argument of which a chunk sees items beside its own can be the buffer in chunks that see no item
    ///   beyond the first or the last one. Those are made, in memory of the buffer's own.
    /// - A copy of an `input` can be the input, if nothing else writes the buffer.
    /// - A buffer that is copied to an `output` can be the output, if it is the only one, in every chunk, and
    ///   nothing writes the buffer after that copy.
    /// - A buffer that an `inout` is copied to and from can be the `inout`, if nothing else is copied to or
    ///   from the `inout`, and nothing writes the buffer before the first of these copies or after the second.
    pub(crate) fn argument_of(&self, buffer: usize) -> Option<usize> {
        if self.buffers.get(buffer)?.kind != BufferKind::Ring {
            return None;
        }
        match self.copies_to(buffer)[..] {
            [up] if self.is_only_read(up.host) => {
                self.writers(buffer).all(|index| index == up.index).then_some(up.host)
            }
            [up] => self.is_changed_in_place(buffer, up).then_some(up.host),
            [] => self.is_written_in_place(buffer),
            _ => None,
        }
    }

    /// The buffers that can be an argument, in the order of their copies: the copy that is then left out, the
    /// buffer's name, and the argument.
    pub(super) fn left_out(&self) -> impl Iterator<Item = (usize, &'static str, &HostPlan)> {
        self.operations.iter().enumerate().filter_map(|(index, operation)| {
            let (OperationKind::Upload { host, buffer } | OperationKind::Download { host, buffer }) =
                operation.kind
            else {
                return None;
            };
            let is_same = self.argument_of(buffer) == Some(host);
            is_same.then(|| (index, self.buffers[buffer].name, &self.hosts[host]))
        })
    }

    /// Whether the `inout` that is copied to the buffer can be the buffer.
    fn is_changed_in_place(&self, buffer: usize, up: Copy) -> bool {
        let uses: Vec<_> = self.users(up.host).collect();
        let [first, down] = uses[..] else { return false };
        let is_back = matches!(self.operations[down].kind, OperationKind::Download { buffer: from, .. } if from == buffer);
        first == up.index
            && is_back
            && [first, down].into_iter().all(|copy| self.is_in_every_chunk(copy))
            && self.writers(buffer).all(|index| (first..down).contains(&index))
    }

    /// The output that a buffer without copies to it can be.
    fn is_written_in_place(&self, buffer: usize) -> Option<usize> {
        let alone = |down: &Copy| {
            self.users(down.host).eq([down.index])
                && self.is_in_every_chunk(down.index)
                && self.writers(buffer).all(|index| index < down.index)
        };
        self.copies_from(buffer).into_iter().find(alone).map(|down| down.host)
    }

    fn copies_to(&self, buffer: usize) -> Vec<Copy> {
        self.copies(|kind| match *kind {
            OperationKind::Upload { host, buffer: to } if to == buffer => Some(host),
            _ => None,
        })
    }

    fn copies_from(&self, buffer: usize) -> Vec<Copy> {
        self.copies(|kind| match *kind {
            OperationKind::Download { host, buffer: from } if from == buffer => Some(host),
            _ => None,
        })
    }

    fn copies(&self, host: impl Fn(&OperationKind) -> Option<usize>) -> Vec<Copy> {
        let operations = self.operations.iter().enumerate();
        operations.filter_map(|(index, of)| Some(Copy { index, host: host(&of.kind)? })).collect()
    }

    /// Whether the pipeline never writes the argument.
    fn is_only_read(&self, host: usize) -> bool {
        !self.hosts[host].writes
    }

    /// The operations that use an argument.
    fn users(&self, host: usize) -> impl Iterator<Item = usize> {
        self.accesses(Memory::Host(host), |_| true)
    }

    /// The operations that write a buffer.
    fn writers(&self, buffer: usize) -> impl Iterator<Item = usize> {
        self.accesses(Memory::Buffer(buffer), |writes| writes)
    }

    fn accesses(&self, memory: Memory, wanted: fn(bool) -> bool) -> impl Iterator<Item = usize> {
        let has = move |operation: &OperationPlan| {
            operation.accesses.iter().any(|access| access.memory == memory && wanted(access.writes))
        };
        self.operations
            .iter()
            .enumerate()
            .filter(move |(_, operation)| has(operation))
            .map(|(index, _)| index)
    }

    /// Whether each chunk has the operation, once.
    fn is_in_every_chunk(&self, index: usize) -> bool {
        let operation = &self.operations[index];
        !operation.conditional && operation.repeat.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::plan::{AccessPlan, BufferPlan, HostPlan, Plan};

    /// An operation, as these tests write it.
    #[derive(Debug, Clone, Copy)]
    enum Of {
        /// Host to buffer.
        Up(usize, usize),
        /// Buffer to host.
        Down(usize, usize),
        /// Reads the first buffer and writes the second.
        Kernel(usize, usize),
        /// The same, in an `if`.
        Maybe(&'static Of),
        /// The same, in a `repeat`.
        Again(&'static Of),
    }

    fn operation(of: Of) -> OperationPlan {
        let access = |memory, reads, writes| AccessPlan { memory, reads, writes };
        let (kind, accesses) = match of {
            Of::Up(host, buffer) => (
                OperationKind::Upload { host, buffer },
                [access(Memory::Host(host), true, false), access(Memory::Buffer(buffer), false, true)],
            ),
            Of::Down(buffer, host) => (
                OperationKind::Download { host, buffer },
                [access(Memory::Host(host), false, true), access(Memory::Buffer(buffer), true, false)],
            ),
            Of::Kernel(from, to) => (
                OperationKind::Launch { kernel: "k" },
                [access(Memory::Buffer(from), true, false), access(Memory::Buffer(to), false, true)],
            ),
            Of::Maybe(of) => return OperationPlan { conditional: true, ..operation(*of) },
            Of::Again(of) => return OperationPlan { repeat: Some(0), ..operation(*of) },
        };
        OperationPlan {
            stage: 0,
            stream: 0,
            text: "",
            kind,
            conditional: false,
            repeat: None,
            accesses: accesses.to_vec().leak(),
            line: 1,
            column: 1,
        }
    }

    /// What each of three buffers can be: argument 0 is an `input`, 1 an `output` and 2 an `inout`.
    fn places(operations: &[Of]) -> [Option<usize>; 3] {
        let host = |reads, writes| HostPlan { name: "", reads, writes, halo: false, line: 1, column: 1 };
        let buffer = BufferPlan { name: "", kind: BufferKind::Ring, line: 1, column: 1 };
        let plan = Plan {
            pipeline: "P",
            file: "p.rs",
            line: 1,
            column: 1,
            streams: &[],
            stages: &[],
            hosts: vec![host(true, false), host(false, true), host(true, true)].leak(),
            buffers: vec![buffer; 3].leak(),
            operations: operations.iter().copied().map(operation).collect::<Vec<_>>().leak(),
            events: &[],
            waits: &[],
        };
        [0, 1, 2].map(|buffer| plan.argument_of(buffer))
    }

    const INPUT: Option<usize> = Some(0);
    const OUTPUT: Option<usize> = Some(1);
    const INOUT: Option<usize> = Some(2);

    #[test]
    fn what_is_only_read_or_written_or_changed_is_the_argument() {
        use Of::{Down, Kernel, Up};
        assert_eq!(places(&[Up(0, 0), Kernel(0, 1), Down(1, 1)]), [INPUT, OUTPUT, None]);
        assert_eq!(places(&[Up(0, 0), Up(2, 2), Kernel(0, 2), Down(2, 2)]), [INPUT, None, INOUT]);
        // Two buffers may be one input, since neither is written.
        assert_eq!(places(&[Up(0, 0), Up(0, 1), Kernel(0, 2), Down(2, 1)]), [INPUT, INPUT, OUTPUT]);
        // A result may be read on.
        assert_eq!(places(&[Kernel(0, 1), Down(1, 1), Kernel(1, 2)]), [None, OUTPUT, None]);
    }

    #[test]
    fn what_is_overwritten_has_memory_of_its_own() {
        use Of::{Down, Kernel, Up};
        // The kernel would write the input.
        assert_eq!(places(&[Up(0, 0), Kernel(1, 0), Down(0, 1)]), [None; 3]);
        // What comes after the copy would be in the output.
        assert_eq!(places(&[Kernel(0, 1), Down(1, 1), Kernel(0, 1)]), [None; 3]);
        assert_eq!(places(&[Up(2, 2), Kernel(0, 2), Down(2, 2), Kernel(0, 2)]), [None; 3]);
        assert_eq!(places(&[Kernel(0, 2), Up(2, 2), Kernel(0, 2), Down(2, 2)]), [None; 3]);
        // The buffer has two arguments.
        assert_eq!(places(&[Up(0, 0), Kernel(0, 1), Up(2, 0), Kernel(0, 1)]), [None; 3]);
    }

    #[test]
    fn an_argument_that_others_copy_too_is_not_a_buffer() {
        use Of::{Down, Kernel, Up};
        // The second buffer's copy would come after the first one's kernel has changed the argument.
        assert_eq!(places(&[Up(2, 0), Kernel(1, 0), Up(2, 2), Down(0, 2)]), [None; 3]);
        // What the kernel reads would change under it.
        assert_eq!(places(&[Up(2, 0), Kernel(0, 1), Down(1, 2)]), [None; 3]);
        assert_eq!(places(&[Up(2, 0), Kernel(0, 0)]), [None; 3]);
        // The last copy wins.
        assert_eq!(places(&[Kernel(0, 1), Down(1, 1), Kernel(0, 2), Down(2, 1)]), [None; 3]);
        assert_eq!(places(&[Kernel(0, 1), Down(1, 1), Down(1, 1)]), [None; 3]);
    }

    #[test]
    fn a_copy_that_not_every_chunk_makes_is_made() {
        use Of::{Again, Down, Kernel, Maybe, Up};
        assert_eq!(places(&[Kernel(0, 1), Maybe(&Down(1, 1))]), [None; 3]);
        assert_eq!(places(&[Kernel(0, 1), Again(&Down(1, 1))]), [None; 3]);
        assert_eq!(places(&[Maybe(&Up(2, 2)), Kernel(0, 2), Down(2, 2)]), [None; 3]);
        assert_eq!(places(&[Up(2, 2), Kernel(0, 2), Maybe(&Down(2, 2))]), [None; 3]);
        assert_eq!(places(&[Again(&Up(2, 2)), Kernel(0, 2), Down(2, 2)]), [None; 3]);
        // What is only read is the same whether it is copied, and how often.
        assert_eq!(places(&[Maybe(&Up(0, 0)), Kernel(0, 1), Down(1, 1)]), [INPUT, OUTPUT, None]);
        assert_eq!(places(&[Again(&Up(0, 0)), Kernel(0, 1), Down(1, 1)]), [INPUT, OUTPUT, None]);
    }
}
