//! What an operation uses: buffers, host data, and the user's expressions.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Expr, ExprPath};

use super::program::{BufferId, CallArgument, HostId, Mode, Operand, Operation, OperationKind};
use crate::syntax::{Collective, Operands};

/// One use of a device buffer by an operation.
pub struct BufferUse<'p> {
    pub buffer: BufferId,
    pub mode: Mode,
    /// The tokens that name it there.
    pub at: &'p dyn ToTokens,
}

impl Collective<Operand> {
    /// The buffers it uses. What is written in part keeps the rest of what it held.
    fn uses(&self) -> Vec<BufferUse<'_>> {
        fn used(operand: &Operand, mode: Mode) -> BufferUse<'_> {
            BufferUse { buffer: operand.buffer, mode, at: &operand.name }
        }
        match &self.data {
            Operands::None => Vec::new(),
            Operands::One(operand) => vec![used(operand, Mode::ReadWrite)],
            Operands::Two(from, to) => {
                let written = if to.range.is_some() { Mode::ReadWrite } else { Mode::Write };
                vec![used(from, Mode::Read), used(to, written)]
            }
        }
    }
}

impl Operation {
    /// The device buffers it uses, in the order in which they are written.
    pub fn buffers(&self) -> Vec<BufferUse<'_>> {
        fn copied<'p>(buffer: BufferId, mode: Mode, at: &'p Ident) -> BufferUse<'p> {
            BufferUse { buffer, mode, at }
        }
        match &self.kind {
            OperationKind::Upload { to, names, .. } => vec![copied(*to, Mode::Write, &names.to)],
            OperationKind::Download { from, names, .. } => vec![copied(*from, Mode::Read, &names.from)],
            OperationKind::CopyBuffer { from, to, names } => {
                vec![copied(*from, Mode::Read, &names.from), copied(*to, Mode::Write, &names.to)]
            }
            OperationKind::Fill(fill) => vec![copied(fill.buffer, Mode::Write, &fill.name)],
            OperationKind::Launch(_) | OperationKind::Call(_) | OperationKind::Host(_) => self
                .args()
                .iter()
                .filter_map(|arg| match arg {
                    CallArgument::Buffer { buffer, mode, written } => {
                        Some(BufferUse { buffer: *buffer, mode: *mode, at: written })
                    }
                    CallArgument::Scalar(_) => None,
                })
                .collect(),
            OperationKind::Then(_) => Vec::new(),
            OperationKind::Collective(collective) => collective.uses(),
        }
    }

    /// The arguments between its parentheses, if it has any.
    pub fn args(&self) -> &[CallArgument] {
        match &self.kind {
            OperationKind::Launch(launch) => &launch.args,
            OperationKind::Call(invocation) | OperationKind::Host(invocation) => &invocation.args,
            OperationKind::Upload { .. }
            | OperationKind::Download { .. }
            | OperationKind::CopyBuffer { .. }
            | OperationKind::Fill(_)
            | OperationKind::Then(_)
            | OperationKind::Collective(_) => &[],
        }
    }

    /// The kernel, routine or function that it names.
    pub fn path(&self) -> Option<&ExprPath> {
        match &self.kind {
            OperationKind::Launch(launch) => Some(&launch.kernel),
            OperationKind::Call(invocation) | OperationKind::Host(invocation) => Some(&invocation.path),
            OperationKind::Upload { .. }
            | OperationKind::Download { .. }
            | OperationKind::CopyBuffer { .. }
            | OperationKind::Fill(_)
            | OperationKind::Then(_)
            | OperationKind::Collective(_) => None,
        }
    }

    /// The host data it uses, and whether it writes it.
    pub fn host(&self) -> Option<(HostId, Mode)> {
        match self.kind {
            OperationKind::Upload { from, .. } => Some((from, Mode::Read)),
            OperationKind::Download { to, .. } => Some((to, Mode::Write)),
            OperationKind::CopyBuffer { .. }
            | OperationKind::Fill(_)
            | OperationKind::Launch(_)
            | OperationKind::Call(_)
            | OperationKind::Host(_)
            | OperationKind::Then(_)
            | OperationKind::Collective(_) => None,
        }
    }

    /// The shapes that a launch gives its buffers.
    fn shapes(&self) -> impl Iterator<Item = &Expr> {
        self.args()
            .iter()
            .flat_map(|argument| match argument {
                CallArgument::Buffer { written, .. } => written.shape().map(|(_, shape)| &shape.elems),
                CallArgument::Scalar(_) => None,
            })
            .flatten()
    }

    /// The user's expressions in it that are values: those that it fills with or passes. A callback is code,
    /// and no value.
    pub fn values(&self) -> Vec<&Expr> {
        fn passed(argument: &CallArgument) -> Option<&Expr> {
            match argument {
                CallArgument::Scalar(expr) => Some(expr),
                CallArgument::Buffer { .. } => None,
            }
        }
        match &self.kind {
            OperationKind::Upload { .. }
            | OperationKind::Download { .. }
            | OperationKind::CopyBuffer { .. } => Vec::new(),
            OperationKind::Fill(fill) => vec![&fill.value],
            OperationKind::Launch(_) | OperationKind::Call(_) | OperationKind::Host(_) => {
                self.args().iter().filter_map(passed).collect()
            }
            OperationKind::Then(_) => Vec::new(),
            OperationKind::Collective(collective) => {
                let ranges = collective.data.iter().filter_map(|operand| operand.range.as_ref());
                ranges.chain(collective.to.exprs()).collect()
            }
        }
    }

    /// All of the user's expressions in it: its [values](Self::values), and a launch's configuration and shapes.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut expressions = Vec::new();
        if let OperationKind::Launch(launch) = &self.kind {
            expressions.extend([&launch.grid, &launch.block]);
            expressions.extend(&launch.shared);
        }
        expressions.extend(self.values());
        expressions.extend(self.shapes());
        expressions
    }
}
