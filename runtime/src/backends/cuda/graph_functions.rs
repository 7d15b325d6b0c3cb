//! The functions of CUDA's graphs.

use std::ffi::{c_uint, c_ulonglong};

use cudarc::driver::sys::{self, CUcontext, CUgraph, CUgraphExec, CUgraphNode, CUstream};

use super::api::error;
use super::table::functions;
use crate::base::error::DriverError;
use crate::driver::DriverResult;

functions! {
    /// Graphs, but for their kernels.
    struct Graphs, bindings sys, code CUresult;
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

#[cfg(any(feature = "cuda-12", feature = "cuda-13"))]
functions! {
    /// The kernels of graphs, whose parameters have grown with CUDA 12.
    struct KernelNodes, bindings sys, code CUresult;
    fn cuGraphAddKernelNode_v2(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        params: *const sys::CUDA_KERNEL_NODE_PARAMS,
    );
    fn cuGraphExecKernelNodeSetParams_v2(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const sys::CUDA_KERNEL_NODE_PARAMS,
    );
}

#[cfg(not(any(feature = "cuda-12", feature = "cuda-13")))]
functions! {
    /// The kernels of graphs.
    struct KernelNodes, bindings sys, code CUresult;
    fn cuGraphAddKernelNode(
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        params: *const sys::CUDA_KERNEL_NODE_PARAMS,
    );
    fn cuGraphExecKernelNodeSetParams(
        executable: CUgraphExec,
        node: CUgraphNode,
        params: *const sys::CUDA_KERNEL_NODE_PARAMS,
    );
}

impl Graphs {
    #[cold]
    fn error(&self, function: &'static str, code: u32) -> DriverError {
        error(function, code)
    }
}

impl KernelNodes {
    #[cold]
    fn error(&self, function: &'static str, code: u32) -> DriverError {
        error(function, code)
    }

    /// Adds a kernel node, by the function of the release that the bindings are for.
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
        let (first, count) = (after.as_ptr(), after.len());
        // SAFETY: the caller's promise.
        #[cfg(any(feature = "cuda-12", feature = "cuda-13"))]
        return unsafe { self.cuGraphAddKernelNode_v2(node, graph, first, count, params) };
        // SAFETY: the caller's promise.
        #[cfg(not(any(feature = "cuda-12", feature = "cuda-13")))]
        return unsafe { self.cuGraphAddKernelNode(node, graph, first, count, params) };
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
        // SAFETY: the caller's promise.
        #[cfg(any(feature = "cuda-12", feature = "cuda-13"))]
        return unsafe { self.cuGraphExecKernelNodeSetParams_v2(executable, node, params) };
        // SAFETY: the caller's promise.
        #[cfg(not(any(feature = "cuda-12", feature = "cuda-13")))]
        return unsafe { self.cuGraphExecKernelNodeSetParams(executable, node, params) };
    }
}
