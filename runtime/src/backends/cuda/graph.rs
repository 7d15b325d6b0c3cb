//! Graphs of explicit nodes.

use std::ffi::c_void;
use std::ptr;

use super::api::{Api, NOT_SUPPORTED, error};
use super::fill::{self, Word};
use super::launch::{function_handle, has_attributes, too_old};
use super::small_copy::SmallCopy;
use super::sys::{self, CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUmemorytype, CUstream};
use crate::base::error::DriverError;
use crate::driver::command::recording::Recording;
use crate::driver::{Command, DevicePtr, DriverResult, RawFunction, RawGraph, RawLaunch, RawNode};

/// `CUDA_ERROR_INVALID_VALUE`
const INVALID_VALUE: u32 = 1;
/// `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`
const UPDATE_FAILURE: u32 = 910;

fn graph_handle(graph: &RawGraph) -> CUgraph {
    ptr::with_exposed_provenance_mut(graph.graph as usize)
}

fn executable_handle(graph: &RawGraph) -> CUgraphExec {
    ptr::with_exposed_provenance_mut(graph.executable as usize)
}

/// A graph that is destroyed unless it becomes a [`RawGraph`].
struct Building<'a> {
    api: &'a Api,
    graph: CUgraph,
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        if let Ok((graphs, _)) = self.api.graphs() {
            // SAFETY: the graph is live, and destroyed here only.
            let _ = unsafe { graphs.cuGraphDestroy(self.graph) };
        }
    }
}

/// Makes a graph of the nodes, ready to be launched. `copier`: the kernel for small copies, if there is one.
///
/// # Safety
/// The context is current, and the kernels are live functions of it that have the parameters recorded.
pub(super) unsafe fn build(
    api: &Api,
    context: CUcontext,
    copier: Option<RawFunction>,
    nodes: &Recording,
) -> DriverResult<RawGraph> {
    let (graphs, _) = api.graphs()?;
    let mut graph = ptr::null_mut();
    // SAFETY: `graph` is a place for the result; there are no flags.
    unsafe { graphs.cuGraphCreate(&mut graph, 0)? };
    let building = Building { api, graph };
    let mut handles: Vec<CUgraphNode> = Vec::with_capacity(nodes.len());
    let mut made = Vec::with_capacity(nodes.len());
    let (mut after, mut params) = (Vec::new(), Vec::new());
    for node in nodes.nodes() {
        after.clear();
        after.extend(nodes.after(node).iter().map(|&before| handles[before as usize]));
        let added = nodes.command(node, &mut params, |command| {
            let work = Params::new(command, copier)?;
            // SAFETY: the graph and the nodes before are live; the rest is the caller's promise.
            let handle = unsafe { add(api, context, graph, &after, &work)? };
            handles.push(handle);
            Ok(RawNode {
                handle: handle.expose_provenance() as u64,
                copier: copier.filter(|_| matches!(work, Params::SmallCopy(..))),
            })
        });
        made.push(added.map_err(|mut error: Box<DriverError>| {
            error.tag = Some((node.tag.operation, node.tag.chunk));
            error
        })?);
    }
    let mut executable = ptr::null_mut();
    // SAFETY: `executable` is a place for the result, and the graph is live; there are no flags.
    unsafe { graphs.cuGraphInstantiateWithFlags(&mut executable, graph, 0)? };
    // The graph goes with the executable one, whose nodes are known by this graph's.
    std::mem::forget(building);
    Ok(RawGraph {
        graph: graph.expose_provenance() as u64,
        executable: executable.expose_provenance() as u64,
        nodes: made,
        ..RawGraph::default()
    })
}

/// # Safety
/// As [`build`]; the graph is live, and so are the nodes of `after`, which are its own.
unsafe fn add(
    api: &Api,
    context: CUcontext,
    graph: CUgraph,
    after: &[CUgraphNode],
    work: &Params<'_>,
) -> DriverResult<CUgraphNode> {
    let (graphs, kernels) = api.graphs()?;
    let (first, count) = (after.as_ptr(), after.len());
    let mut handle = ptr::null_mut();
    match work {
        Params::Empty => {
            // SAFETY: `handle` is a place for the result, and the driver reads `after` before it returns.
            unsafe { graphs.cuGraphAddEmptyNode(&mut handle, graph, first, count)? };
        }
        Params::Copy(params) => {
            // SAFETY: as above, and the driver reads `params` before it returns too; the addresses are used
            // by a launch only.
            unsafe { graphs.cuGraphAddMemcpyNode(&mut handle, graph, first, count, params, context)? };
        }
        Params::Memsets(memsets) => {
            let mut words = Vec::with_capacity(memsets.len());
            for params in memsets {
                // SAFETY: as above.
                unsafe { graphs.cuGraphAddMemsetNode(&mut handle, graph, first, count, params, context)? };
                words.push(handle);
            }
            if words.len() != 1 {
                // SAFETY: as above; everything after the fill comes after all of its words.
                unsafe { graphs.cuGraphAddEmptyNode(&mut handle, graph, words.as_ptr(), words.len())? };
            }
        }
        Params::Kernel(launch) => {
            // SAFETY: as above; the parameters are the kernel's, which the driver copies before it returns.
            unsafe { kernels.add(&mut handle, graph, after, &launched(launch))? };
            if has_attributes(&launch.function) {
                // SAFETY: the node was just made, for this function.
                unsafe { api.attributed().map_err(too_old)?.set_on_node(handle, &launch.function)? };
            }
        }
        Params::SmallCopy(copier, copy) => {
            // SAFETY: as above; the arguments are as many and as large as this kernel's parameters.
            unsafe { kernels.add(&mut handle, graph, after, &copying(*copier, copy, &copy.arguments()))? };
        }
    }
    Ok(handle)
}

/// Changes the work of nodes of a graph to that in `nodes`. `false` if the driver cannot, after which some
/// have changed.
///
/// # Safety
/// As [`build`]; the graph is live and was built from a recording of the same topology.
pub(super) unsafe fn update(
    api: &Api,
    context: CUcontext,
    graph: &RawGraph,
    nodes: &Recording,
    changed: &[u32],
) -> DriverResult<bool> {
    let mut params = Vec::new();
    for &index in changed {
        let node = &nodes.nodes()[index as usize];
        let made = &graph.nodes[index as usize];
        let is_set = |command: Option<Command<'_>>| {
            let Some(work) = Params::changed(command, made.copier)? else { return Ok(false) };
            let handle = ptr::with_exposed_provenance_mut(made.handle as usize);
            // SAFETY: the caller's promise.
            unsafe { set(api, context, graph, handle, &work) }
        };
        match nodes.command(node, &mut params, is_set) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            // Each release can change more. If a node cannot be changed, the graph is built anew, and if the
            // node itself is wrong, that reports it.
            Err(error) if matches!(error.code, INVALID_VALUE | UPDATE_FAILURE) => return Ok(false),
            Err(mut error) => {
                error.tag = Some((node.tag.operation, node.tag.chunk));
                return Err(error);
            }
        }
    }
    Ok(true)
}

/// # Safety
/// As [`update`]; the node is the graph's.
unsafe fn set(
    api: &Api,
    context: CUcontext,
    graph: &RawGraph,
    handle: CUgraphNode,
    work: &Params<'_>,
) -> DriverResult<bool> {
    let (graphs, kernels) = api.graphs()?;
    let executable = executable_handle(graph);
    match work {
        Params::Empty => {}
        Params::Copy(params) => {
            // SAFETY: both handles are live, and the driver reads `params` before it returns. Launches that
            // are under way are not affected.
            unsafe { graphs.cuGraphExecMemcpyNodeSetParams(executable, handle, params, context)? };
        }
        Params::Memsets(memsets) => {
            // A memset of one of several words has two dimensions, and cannot be changed.
            let [params] = &memsets[..] else { return Ok(false) };
            // SAFETY: as above.
            unsafe { graphs.cuGraphExecMemsetNodeSetParams(executable, handle, params, context)? };
        }
        // The node's attributes stay: `Recording::can_replace` has seen that they are the same.
        // SAFETY: as above.
        Params::Kernel(launch) => unsafe { kernels.set(executable, handle, &launched(launch))? },
        Params::SmallCopy(copier, copy) => {
            // SAFETY: as above; the arguments are as many and as large as this kernel's parameters.
            unsafe { kernels.set(executable, handle, &copying(*copier, copy, &copy.arguments()))? };
        }
    }
    Ok(true)
}

/// # Safety
/// The graph and the stream are live, and what the graph accesses stays allocated until it has run.
pub(super) unsafe fn launch(api: &Api, graph: &RawGraph, stream: CUstream) -> DriverResult<()> {
    let (graphs, _) = api.graphs()?;
    // SAFETY: the caller's promise.
    unsafe { graphs.cuGraphLaunch(executable_handle(graph), stream) }
}

/// # Safety
/// The graph is live, and no launch of it is under way.
pub(super) unsafe fn destroy(api: &Api, graph: &RawGraph) -> DriverResult<()> {
    let (graphs, _) = api.graphs()?;
    // SAFETY: the caller's promise.
    let executable = unsafe { graphs.cuGraphExecDestroy(executable_handle(graph)) };
    // SAFETY: the caller's promise.
    let described = unsafe { graphs.cuGraphDestroy(graph_handle(graph)) };
    executable.and(described)
}

/// The parameters of a node.
enum Params<'a> {
    Empty,
    Copy(sys::CUDA_MEMCPY3D),
    Memsets(Vec<sys::CUDA_MEMSET_NODE_PARAMS>),
    Kernel(&'a RawLaunch<'a>),
    /// A copy by the kernel for small ones.
    SmallCopy(RawFunction, SmallCopy),
}

impl<'a> Params<'a> {
    /// The parameters of a new node. `copier`: the kernel for small copies.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    fn new(command: Option<Command<'a>>, copier: Option<RawFunction>) -> DriverResult<Self> {
        let small = |copier| Some(Self::SmallCopy(copier, SmallCopy::new(command.as_ref()?)?));
        match copier.and_then(small) {
            Some(copy) => Ok(copy),
            None => Self::of(command),
        }
    }

    /// The parameters of a node that had others. `copier`: the kernel that it is, if it was a small copy. `None` if
    /// that is no kernel for this copy.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    fn changed(command: Option<Command<'a>>, copier: Option<RawFunction>) -> DriverResult<Option<Self>> {
        match copier {
            Some(copier) => {
                Ok(command.as_ref().and_then(SmallCopy::kept).map(|copy| Self::SmallCopy(copier, copy)))
            }
            None => Self::of(command).map(Some),
        }
    }

    /// The parameters of a command's node.
    ///
    /// # Errors
    /// The command cannot be a node, so it is in no recording.
    fn of(command: Option<Command<'a>>) -> DriverResult<Self> {
        let Some(command) = command else { return Ok(Self::Empty) };
        Ok(match command {
            Command::CopyToDevice { to, from, bytes } => {
                Self::Copy(copied(End::Device(to), End::Host(from.cast_mut().cast()), bytes))
            }
            Command::CopyToHost { to, from, bytes } => {
                Self::Copy(copied(End::Host(to.cast()), End::Device(from), bytes))
            }
            Command::CopyOnDevice { to, from, bytes } => {
                Self::Copy(copied(End::Device(to), End::Device(from), bytes))
            }
            Command::Fill { to, pattern, count } => Self::Memsets(memsets(to, pattern, count)),
            Command::Launch(launch) => Self::Kernel(launch),
            Command::CopyBetween { .. }
            | Command::CopyRows(_)
            | Command::Host { .. }
            | Command::Signal(_)
            | Command::Record(_)
            | Command::Wait(_)
            | Command::Collective(_)
            | Command::Graph { .. } => return Err(error(command.call(), NOT_SUPPORTED)),
        })
    }
}

/// One side of a copy.
enum End {
    Host(*mut c_void),
    Device(DevicePtr),
}

/// A copy as a row of bytes.
fn copied(to: End, from: End, bytes: usize) -> sys::CUDA_MEMCPY3D {
    let parts = |end| match end {
        End::Host(ptr) => (CUmemorytype::CU_MEMORYTYPE_HOST, ptr, 0),
        End::Device(DevicePtr(address)) => (CUmemorytype::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), address),
    };
    let ((from_type, from_host, from_device), (to_type, to_host, to_device)) = (parts(from), parts(to));
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from_type,
        srcHost: from_host,
        srcDevice: from_device,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        // With one row there is no next one, however long the row is, and a pitch may be at most 2 GiB.
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to_type,
        dstHost: to_host,
        dstDevice: to_device,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
    }
}

/// The memsets of a fill, the same as those of [`fill::fill`].
fn memsets(to: DevicePtr, pattern: &[u8], count: usize) -> Vec<sys::CUDA_MEMSET_NODE_PARAMS> {
    let (words, repeated) = fill::distinct(pattern);
    let memset = |to: u64, word: Word, [pitch, width, height]: [usize; 3]| sys::CUDA_MEMSET_NODE_PARAMS {
        dst: to,
        pitch,
        value: word.value(),
        elementSize: word.bytes() as u32,
        width,
        height,
    };
    if let [word] = words[..] {
        return vec![memset(to.0, word, [0, count * repeated, 1])];
    }
    let place = |(index, word): (usize, Word)| {
        memset(to.offset(index * word.bytes()).0, word, [pattern.len(), 1, count])
    };
    words.into_iter().enumerate().map(place).collect()
}

/// The parameters of a launch.
fn launched(launch: &RawLaunch<'_>) -> sys::CUDA_KERNEL_NODE_PARAMS {
    node(launch.function, (launch.grid, launch.block, launch.shared), launch.params)
}

/// The parameters of a launch of the kernel for small copies.
fn copying(
    copier: RawFunction,
    copy: &SmallCopy,
    arguments: &[*mut c_void; 3],
) -> sys::CUDA_KERNEL_NODE_PARAMS {
    node(copier, ([copy.blocks(), 1, 1], [copy.threads(), 1, 1], 0), arguments)
}

/// The parameters of a launch of a grid of blocks with so many bytes of shared memory. The driver writes nothing to the
/// list of arguments.
fn node(
    function: RawFunction,
    ([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared): ([u32; 3], [u32; 3], u32),
    arguments: &[*mut c_void],
) -> sys::CUDA_KERNEL_NODE_PARAMS {
    sys::CUDA_KERNEL_NODE_PARAMS {
        func: function_handle(function),
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: shared,
        kernelParams: arguments.as_ptr().cast_mut(),
        extra: ptr::null_mut(),
        // The function is loaded. It is no `CUkernel`, which would need a context.
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}
