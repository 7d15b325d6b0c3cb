//! What those write in a kernel in Rust who know CUDA C++: one error, whose help depends on what runs the code.

use thalweg_compiler::rust_kernels::Role;

use crate::rust_kernels::error_of;

/// What runs the statements.
#[derive(Debug, Clone, Copy)]
enum Runs {
    Index,
    Index2,
    Block,
    Phase,
    Block2,
    Phase2,
    Function,
}

impl Runs {
    /// The one error of a function with such a statement.
    #[track_caller]
    fn error(self, statement: &str) -> String {
        let own = "y: &mut Own<[f32]>";
        let (role, function) = match self {
            Self::Index => (Role::Kernel, format!("fn k(i: Index, {own}) {{ {statement} }}")),
            Self::Index2 => (Role::Kernel, format!("fn k(at: Index<2>, {own}) {{ {statement} }}")),
            Self::Block => (Role::Kernel, format!("fn k(b: Block, {own}) {{ {statement} }}")),
            Self::Phase => {
                (Role::Kernel, format!("fn k(b: Block, {own}) {{ b.each(|u| {{ {statement} }}); }}"))
            }
            Self::Block2 => (Role::Kernel, format!("fn k(b: Block<2>, {own}) {{ {statement} }}")),
            Self::Phase2 => {
                (Role::Kernel, format!("fn k(b: Block<2>, {own}) {{ b.each(|u| {{ {statement} }}); }}"))
            }
            Self::Function => (Role::Device, format!("fn f(n: usize) {{ {statement} }}")),
        };
        error_of(role, "", &function)
    }
}

#[test]
fn names_of_cuda_are_named_with_what_to_write() {
    use Runs::{Block, Block2, Function, Index, Index2, Phase, Phase2};
    for (runs, name, help) in [
        (Index, "threadIdx", "write `i.get()`, the thread's place in the data; a kernel that begins with"),
        (Index, "blockIdx", "write `i.get()`"),
        (Index2, "blockDim", "write `let [row, column] = at.get();`"),
        (Index, "warpSize", "write `32`"),
        (Block, "threadIdx", "write `t.rank()` in a phase: `b.each(|t| …)`"),
        (Block, "blockIdx", "write `b.index()`"),
        (Block, "blockDim", "write `b.threads()`"),
        (Block, "gridDim", "write `b.blocks()`"),
        (Phase, "threadIdx", "write `u.rank()` for the thread's number in its block, or `u.index()`"),
        (Phase, "gridDim", "write `b.blocks()`"),
        (Block2, "blockIdx", "go over the block's own tiles: `for at in b.tiles::<32, 32>(y) { … }`"),
        (Phase2, "threadIdx", "write `u.rank()`"),
        (Phase2, "blockDim", "write `b.threads()`"),
        (Function, "blockIdx", "take what the function needs as a parameter: `i: usize`"),
    ] {
        let said = runs.error(&format!("let v = {name}.x;"));
        let fact = format!("[TW0901]: `{name}` is not in the language of kernels\nhelp: {help}");
        assert!(said.starts_with(&fact), "{runs:?}: {said}");
    }
}

#[test]
fn functions_of_cuda_are_named_with_what_to_write() {
    use Runs::{Block, Function, Index, Phase};
    for (runs, call, name, help) in [
        (Index, "__syncthreads();", "__syncthreads", "begin the kernel with `block: Block`, in place of `i`"),
        (Block, "__syncthreads();", "__syncthreads", "leave it out"),
        (
            Phase,
            "__syncthreads_or(1);",
            "__syncthreads_or",
            "end the phase here, and begin the next one: `b.each(",
        ),
        (Function, "__syncthreads();", "__syncthreads", "write the phases in the kernel that calls"),
        (Index, "atomicAdd(&x, 1);", "atomicAdd", "take the data as `&[AtomicU32]`"),
        (
            Phase,
            "let v = __shfl_down_sync(7, 1.0, 2);",
            "__shfl_down_sync",
            "write a phase of warps: `b.shuffle(",
        ),
        (Block, "__ballot_sync(7, 1);", "__ballot_sync", "write a phase of warps: `b.ballot(|t| …)`"),
        (Phase, "__syncwarp();", "__syncwarp", "leave it out"),
        (Index, "let v = __ldg(&x);", "__ldg", "write `x[i]`"),
    ] {
        let said = runs.error(call);
        let fact = format!("[TW0901]: `{name}` is not in the language of kernels\n");
        assert!(said.starts_with(&fact) && said.contains(&format!("\nhelp: {help}")), "{runs:?}: {said}");
    }
    // A function of the user's may have a name that only begins so.
    let function = "fn k(i: Index, y: &mut Own<[f32]>) { atomics(1.0_f32); let v = threads; }";
    let expanded = thalweg_compiler::rust_kernels::expand(
        Role::Kernel,
        crate::declared::tokens(""),
        crate::declared::tokens(function),
    );
    assert!(crate::emitted::errors(expanded).is_empty());
}

#[test]
fn a_block_is_asked_for_where_there_is_none() {
    use Runs::{Block, Function, Index, Phase};
    for (runs, statement, fact, help) in [
        (
            Index,
            "let t = i.shared::<[f32; 4]>();",
            "TW0908]: `shared` is a method of a `Block`, and `i` is an",
            "begin",
        ),
        (
            Index,
            "i.each(|t| {});",
            "TW0908]: `each` is a method of a `Block`",
            "begin the kernel with `block: Block`",
        ),
        (
            Index,
            "block.each(|t| {});",
            "TW0301]: cannot find `block`",
            "begin the kernel with `block: Block`",
        ),
        (Function, "block.each(|t| {});", "TW0301]: cannot find `block`", "write the phases in the kernel"),
        (Block, "b.sync();", "TW0908]: the method `sync` of a `Block`", "leave it out"),
        (Phase, "b.barrier();", "TW0908]: the method `barrier` of a `Block`", "end the phase here"),
    ] {
        let said = runs.error(statement);
        assert!(said.starts_with(&format!("[{fact}")), "{runs:?}: {said}");
        assert!(said.contains(&format!("\nhelp: {help}")), "{runs:?}: {said}");
    }
}

#[test]
fn an_element_of_ones_own_has_no_index() {
    let hides = "let Some(y) = y.get_mut(i) else { return };";
    for (body, fact, notes) in [
        (format!("{hides} y[3] = 1.0;"), "`y[3]` has an index, but `y` is one `f32`", 2),
        (format!("{hides} y[i] += 1.0;"), "`y[i]` has an index, but `y` is one `f32`", 2),
        (format!("{hides} let v = y[0] + 1.0;"), "`y[0]` has an index, but `y` is one `f32`", 2),
        (
            "let Some(own) = y.get_mut(i) else { return }; own[0] = 1.0;".to_owned(),
            "`own[0]` has an index, but `own` is one `f32`",
            1,
        ),
    ] {
        let said = Runs::Index.error(&body);
        assert!(said.starts_with(&format!("[TW0904]: {fact}\n")), "{said}");
        assert!(said.contains("\nhelp: write `*"), "{said}");
        assert_eq!(said.matches("\nnote: ").count(), notes, "{said}");
    }
}
