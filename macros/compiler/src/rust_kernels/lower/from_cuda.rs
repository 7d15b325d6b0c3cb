//! What those write who know CUDA C++: its names, its functions and its barrier. The help says what a kernel
//! in Rust has in their place.

use syn::{Expr, ExprCall, ExprMethodCall, ExprPath, GenericArgument, Ident, PathArguments, Type};

use super::context::{Level, Meaning};
use super::phases::is_method_of_block;
use super::{Lower, Lowered};
use crate::groups::peel_expr;
use crate::rust_kernels::ir::LocalId;
use crate::rust_kernels::types::Shape;
use crate::text::text;

/// What runs the code, as far as it decides what is written in place of CUDA's names.
enum Runs {
    /// A thread that has an index with so many axes.
    Thread(usize),
    /// All threads of a block.
    Block,
    /// A thread of a block, under this name.
    Phase(String),
    /// A `#[device]` function.
    Function,
}

impl Lower<'_> {
    /// Refuses `threadIdx` and its like.
    pub(super) fn no_name_of_cuda(&mut self, name: &Ident) -> Lowered<()> {
        let text = name.to_string();
        if !["threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"].contains(&text.as_str()) {
            return Ok(());
        }
        let help = match (text.as_str(), self.runs()) {
            ("warpSize", _) => "write `32`".to_owned(),
            (_, Runs::Function) => "take what the function needs as a parameter: `i: usize`".to_owned(),
            (_, Runs::Thread(axes)) => {
                let index = match axes {
                    1 => format!("`{}.get()`", self.index_name),
                    2 => format!("`let [row, column] = {}.get();`", self.index_name),
                    _ => format!("`let [item, row, column] = {}.get();`", self.index_name),
                };
                format!(
                    "write {index}, the thread's place in the data; a kernel that begins with `block: Block` has \
                     numbers of blocks and of their threads"
                )
            }
            ("blockDim", _) => format!("write `{}.threads()`", self.index_name),
            ("threadIdx", Runs::Block) => {
                format!("write `t.rank()` in a phase: `{}.each(|t| …)`", self.index_name)
            }
            ("threadIdx", Runs::Phase(t)) if self.axes > 1 => format!("write `{t}.rank()`"),
            ("threadIdx", Runs::Phase(t)) => {
                format!(
                    "write `{t}.rank()` for the thread's number in its block, or `{t}.index()` for its index in \
                     the data"
                )
            }
            (_, _) if self.axes > 1 => {
                format!(
                    "go over the block's own tiles: `for at in {}.tiles::<32, 32>(y) {{ … }}`",
                    self.index_name
                )
            }
            ("blockIdx", _) => format!("write `{}.index()`", self.index_name),
            _ => format!("write `{}.blocks()`", self.index_name),
        };
        Err(self.absent(name, &format!("`{text}`"), &help))
    }

    /// Refuses `__syncthreads` and its like.
    pub(super) fn no_function_of_cuda(&mut self, name: &Ident) -> Lowered<()> {
        let text = name.to_string();
        let is_atomic = text.strip_prefix("atomic").is_some_and(|rest| rest.starts_with(char::is_uppercase));
        let block = match self.runs() {
            Runs::Block | Runs::Phase(_) => self.index_name.clone(),
            Runs::Thread(_) | Runs::Function => "block".to_owned(),
        };
        if text.starts_with("__syncthreads") {
            let notes = [AFTER_PHASES];
            let help = self.no_barrier_help();
            return Err(self.absent_since(name, &format!("`{text}`"), &notes, &help));
        }
        let help = match text.as_str() {
            "__syncwarp" => {
                "leave it out: the phases of warps, such as `block.shuffle`, wait by themselves".to_owned()
            }
            "__ldg" => "write `x[i]`: what a `&[T]` holds is read in this way".to_owned(),
            _ if text.starts_with("__shfl") => {
                format!(
                    "write a phase of warps: `{block}.shuffle(|t| …, |t| lane)`, `{block}.shuffle_down(|t| …, by)`"
                )
            }
            _ if text.starts_with("__ballot") => format!("write a phase of warps: `{block}.ballot(|t| …)`"),
            _ if is_atomic => {
                "take the data as `&[AtomicU32]` or its like, and write `counts[i].fetch_add(1, Relaxed)`"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        Err(self.absent(name, &format!("`{text}`"), &help))
    }

    /// Refuses what a `Block` has where there is none: `i.shared::<…>()`, or a `block` that is no parameter.
    pub(super) fn no_block(&mut self, call: &ExprMethodCall) -> Lowered<()> {
        let method = call.method.to_string();
        let (Level::Thread, true, Expr::Path(path)) =
            (self.level, is_method_of_block(&method), peel_expr(&call.receiver))
        else {
            return Ok(());
        };
        let Some(name) = path.path.get_ident() else { return Ok(()) };
        let shape = self.find(name).map(|local| self.types.shape(self.locals[local.0].ty));
        match (shape, self.runs()) {
            (None, Runs::Function) if name == "block" => {
                let notes = ["a function with `#[device]` is called by each thread by itself"];
                let help = "write the phases in the kernel, and pass the function what it needs";
                Err(self.report(name, "TW0301", "cannot find `block` in this function", &notes, help))
            }
            (None, Runs::Thread(_)) if name == "block" => {
                let help = format!("begin the kernel with `block: Block`, in place of `{}`", self.index_name);
                Err(self.report(name, "TW0301", "cannot find `block` in this function", &[ALONE], &help))
            }
            (Some(Shape::Index(_)), _) => {
                let message = format!("`{method}` is a method of a `Block`, and `{name}` is an `Index`");
                let help = format!(
                    "begin the kernel with `block: Block`, in place of `{name}`; in a phase of it, `t.index()` is \
                     the thread's `Index`"
                );
                Err(self.report(&call.method, "TW0908", &message, &[ALONE], &help))
            }
            _ => Ok(()),
        }
    }

    /// Refuses `shared::<[f32; 32]>()` without a block before it.
    pub(super) fn no_shared_alone(&mut self, call: &ExprCall, path: &ExprPath) -> Lowered<()> {
        let is_array = |argument: &GenericArgument| matches!(argument, GenericArgument::Type(Type::Array(_)));
        let (Some(last), None) = (path.path.segments.last(), path.path.segments.get(1)) else {
            return Ok(());
        };
        let PathArguments::AngleBracketed(generics) = &last.arguments else { return Ok(()) };
        let name = last.ident.to_string();
        if !generics.args.first().is_some_and(is_array) || !is_method_of_block(&name) {
            return Ok(());
        }
        let message = format!("`{name}` is a method of a `Block`");
        let written = text(call);
        let help = match self.runs() {
            Runs::Thread(_) => format!(
                "begin the kernel with `block: Block`, in place of `{}`, and write `block.{written}`",
                self.index_name
            ),
            Runs::Block | Runs::Phase(_) => format!("write `{}.{written}`", self.index_name),
            Runs::Function => "write it in the kernel, and pass the function what it needs".to_owned(),
        };
        Err(self.report(&last.ident, "TW0908", &message, &[], &help))
    }

    /// Refuses `block.sync()`, under the names that a barrier has elsewhere.
    pub(super) fn no_barrier(&mut self, call: &ExprMethodCall) -> Lowered<()> {
        let name = call.method.to_string();
        if !["sync", "barrier", "synchronize", "sync_threads", "syncthreads", "wait"].contains(&name.as_str())
        {
            return Ok(());
        }
        let message = format!("the method `{name}` of a `Block` is not in the language of kernels");
        let help = self.no_barrier_help();
        Err(self.report(&call.method, "TW0908", &message, &[AFTER_PHASES], &help))
    }

    fn no_barrier_help(&self) -> String {
        match self.runs() {
            Runs::Thread(_) => {
                format!(
                    "begin the kernel with `block: Block`, in place of `{}`, and write phases",
                    self.index_name
                )
            }
            Runs::Block => "leave it out".to_owned(),
            Runs::Phase(t) => {
                format!("end the phase here, and begin the next one: `{}.each(|{t}| …)`", self.index_name)
            }
            Runs::Function => "write the phases in the kernel that calls the function".to_owned(),
        }
    }

    fn runs(&self) -> Runs {
        match self.level {
            Level::Block => Runs::Block,
            Level::Phase(_) | Level::Closure(_) => Runs::Phase(self.thread_name()),
            Level::Thread => match self.locals.first().map(|first| self.types.shape(first.ty)) {
                Some(Shape::Index(axes)) => Runs::Thread(*axes),
                _ => Runs::Function,
            },
        }
    }

    /// The name of the thread of the phase.
    pub(super) fn thread_name(&self) -> String {
        let is_thread = |local: LocalId| matches!(self.types.shape(self.locals[local.0].ty), Shape::Thread);
        let thread = self.scope.iter().rev().find_map(|(name, meaning)| match meaning {
            Meaning::Local(local) if is_thread(*local) => Some(name.text.clone()),
            _ => None,
        });
        thread.unwrap_or_else(|| "t".to_owned())
    }
}

const AFTER_PHASES: &str =
    "a barrier stands after each phase of a block: no thread begins the next before all have ended this one";

const ALONE: &str = "a thread that has an `Index` works alone: it has no shared memory, and no phases";
