//! The functions of CUDA's graphs.

use std::ffi::{c_uint, c_ulonglong};

use libloading::Library;

use super::api::error;
use super::sys::{self, CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUstream};
use super::table::{functions, symbol};
use crate::base::error::DriverError;
use crate::driver::DriverResult;

functions! {
    /// The functions of graphs, except those for kernels.
    struct Graphs, bindings super::sys, code CUresult;
    fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
    fn cuGraphDestroy(graph: CUgraph);
    fn cuGraphAddEmptyNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
    );
    fn cuGraphAddMemcpyNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        params: *const sys::CUDA_MEMCPY3D,
        context: CUcontext,
    );
    fn cuGraphAddMemsetNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        params: *const sys::CUDA_MEMSET_NODE_PARAMS,
        context: CUcontext,
    );
    fn cuGraphInstantiateWithFlags(executable: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    fn cuGraphExecDestroy(executable: CUgraphExec);
    fn cuGraphExecMemcpyNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const sys::CUDA_MEMCPY3D,
        context: CUcontext,
    );
    fn cuGraphExecMemsetNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const sys::CUDA_MEMSET_NODE_PARAMS,
        context: CUcontext,
    );
    fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream);
}

type AddKernelNode = unsafe extern "C" fn(
    *mut CUgraphNode,
    CUgraph,
    *const CUgraphNode,
    usize,
    *const sys::CUDA_KERNEL_NODE_PARAMS,
) -> u32;
type SetKernelNode =
    unsafe extern "C" fn(CUgraphExec, CUgraphNode, *const sys::CUDA_KERNEL_NODE_PARAMS) -> u32;

#[cfg(test)]
const _: () = {
    type Params = *const sys::CUDA_KERNEL_NODE_PARAMS;
    let _: unsafe fn(*mut CUgraphNode, CUgraph, *const CUgraphNode, usize, Params) -> sys::CUresult =
        sys::cuGraphAddKernelNode_v2;
    let _: unsafe fn(CUgraphExec, CUgraphNode, Params) -> sys::CUresult =
        sys::cuGraphExecKernelNodeSetParams_v2;
};

/// The functions for kernels of graphs, each with its name.
///
/// CUDA 12 has added two fields to the end of the parameters, and functions of a second version that read
/// them. A driver of CUDA 11 has the first version, which reads the fields before these.
pub(super) struct KernelNodes {
    add: (AddKernelNode, &'static str),
    set: (SetKernelNode, &'static str),
}

impl Graphs {
    #[cold]
    fn error(&self, function: &'static str, code: u32) -> Box<DriverError> {
        error(function, code)
    }
}

impl KernelNodes {
    /// Looks the functions up; the error is the name of the first that is missing.
    pub(super) fn find(library: &'static Library) -> Result<Self, &'static str> {
        let add = ["cuGraphAddKernelNode_v2", "cuGraphAddKernelNode"];
        let set = ["cuGraphExecKernelNodeSetParams_v2", "cuGraphExecKernelNodeSetParams"];
        Ok(Self {
            // SAFETY: both versions have this type, except the code, an enum there and its integer here. The
            // parameters of the first version are the beginning of the second's.
            add: unsafe { first_of(library, add) }.ok_or(add[0])?,
            // SAFETY: as above.
            set: unsafe { first_of(library, set) }.ok_or(set[0])?,
        })
    }

    /// Adds a kernel node.
    ///
    /// # Safety
    /// As `cuGraphAddKernelNode`.
    pub(super) unsafe fn add(
        &self,
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: &[CUgraphNode],
        params: &sys::CUDA_KERNEL_NODE_PARAMS,
    ) -> DriverResult<()> {
        let (add, name) = self.add;
        // SAFETY: the caller's promise; the library is never unloaded.
        succeeded(name, unsafe { add(node, graph, after.as_ptr(), after.len(), params) })
    }

    /// Changes a kernel node.
    ///
    /// # Safety
    /// As `cuGraphExecKernelNodeSetParams`.
    pub(super) unsafe fn set(
        &self,
        executable: CUgraphExec,
        node: CUgraphNode,
        params: &sys::CUDA_KERNEL_NODE_PARAMS,
    ) -> DriverResult<()> {
        let (set, name) = self.set;
        // SAFETY: as in `add`.
        succeeded(name, unsafe { set(executable, node, params) })
    }
}

/// The first of these functions that the library has, with its name.
///
/// # Safety
/// `T` is a function pointer type, that of all of them.
unsafe fn first_of<T: Copy>(
    library: &'static Library,
    names: [&'static str; 2],
) -> Option<(T, &'static str)> {
    // SAFETY: the caller's promise.
    names.into_iter().find_map(|name| Some((unsafe { symbol::<T>(library, name) }?, name)))
}

fn succeeded(function: &'static str, code: u32) -> DriverResult<()> {
    if code == 0 { Ok(()) } else { Err(error(function, code)) }
}
