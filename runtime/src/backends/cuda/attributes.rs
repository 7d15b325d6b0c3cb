//! Launches with attributes: clusters, and blocks that wait for each other.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use libloading::Library;

use super::launch::function_handle;
use super::sys::{
    self, CUfunction, CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue, CUlaunchAttribute,
    CUlaunchAttributeID as Id, CUlaunchAttributeValue, CUlaunchConfig, CUstream,
};
use super::table::functions;
use crate::base::error::DriverError;
use crate::base::threads::Grid;
use crate::driver::{DriverResult, RawFunction};

functions! {
    /// The functions that CUDA drivers have since 11.8, for devices with clusters.
    struct Functions, bindings super::sys, code CUresult;
    fn cuLaunchKernelEx(
        config: *const CUlaunchConfig,
        function: CUfunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn cuGraphKernelNodeSetAttribute(
        node: CUgraphNode,
        attribute: CUkernelNodeAttrID,
        value: *const CUkernelNodeAttrValue,
    );
    fn cuOccupancyMaxPotentialClusterSize(
        blocks: *mut c_int,
        function: CUfunction,
        config: *const CUlaunchConfig,
    );
    fn cuOccupancyMaxActiveClusters(
        clusters: *mut c_int,
        function: CUfunction,
        config: *const CUlaunchConfig,
    );
}

impl Functions {
    #[cold]
    fn error(&self, function: &'static str, code: u32) -> Box<DriverError> {
        super::api::error(function, code)
    }
}

/// The functions that launch with attributes.
pub(super) struct Attributed(Functions);

impl Attributed {
    /// Looks the functions up; the error is the name of the first that is missing.
    pub(super) fn find(library: &'static Library) -> Result<Self, &'static str> {
        Functions::find(library).map(Self)
    }

    /// Launches a kernel with its attributes.
    ///
    /// # Safety
    /// As `cuLaunchKernel`.
    pub(super) unsafe fn launch(
        &self,
        function: &RawFunction,
        launch: Grid,
        stream: CUstream,
        params: &[*mut c_void],
    ) -> DriverResult<()> {
        let mut attributes = attributes(function);
        let config = config(launch, stream, &mut attributes);
        let handle = function_handle(*function);
        // SAFETY: the attributes outlive the call, which only reads the list of parameters; the rest is the
        // caller's promise.
        unsafe { self.0.cuLaunchKernelEx(&config, handle, params.as_ptr().cast_mut(), ptr::null_mut()) }
    }

    /// Gives a kernel's node its attributes, before the graph is made executable.
    ///
    /// # Safety
    /// The node is live and launches this function.
    pub(super) unsafe fn set_on_node(&self, node: CUgraphNode, function: &RawFunction) -> DriverResult<()> {
        for attribute in attributes(function) {
            // SAFETY: the driver reads the value before it returns; the node is the caller's promise.
            unsafe { self.0.cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value)? };
        }
        Ok(())
    }

    /// The largest number of blocks that a cluster may have.
    ///
    /// # Safety
    /// The function is live and its context current.
    pub(super) unsafe fn largest_cluster(&self, function: &RawFunction, launch: Grid) -> DriverResult<u32> {
        let config = config(launch, ptr::null_mut(), &mut []);
        let (mut blocks, function) = (0, function_handle(*function));
        // SAFETY: `blocks` is a place for the result; the function is the caller's promise.
        unsafe { self.0.cuOccupancyMaxPotentialClusterSize(&mut blocks, function, &config)? };
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// The number of clusters that can be on the device at once.
    ///
    /// # Safety
    /// The function is live and its context current.
    pub(super) unsafe fn resident_clusters(&self, function: &RawFunction, launch: Grid) -> DriverResult<u64> {
        let mut attributes: Vec<_> =
            function.cluster.map(|cluster| clustered(cluster.blocks)).into_iter().collect();
        let config = config(launch, ptr::null_mut(), &mut attributes);
        let (mut clusters, handle) = (0, function_handle(*function));
        // SAFETY: `clusters` is a place for the result; the function is the caller's promise.
        unsafe { self.0.cuOccupancyMaxActiveClusters(&mut clusters, handle, &config)? };
        Ok(u64::try_from(clusters).unwrap_or(0))
    }
}

/// The attributes that a launch of the function needs besides its configuration.
pub(super) fn attributes(function: &RawFunction) -> Vec<CUlaunchAttribute> {
    let cluster = function.cluster.filter(|cluster| !cluster.in_source);
    let cooperative = function.cooperative.then(|| {
        let value = CUlaunchAttributeValue { cooperative: 1 };
        attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value)
    });
    cluster.map(|cluster| clustered(cluster.blocks)).into_iter().chain(cooperative).collect()
}

fn clustered([x, y, z]: [u32; 3]) -> CUlaunchAttribute {
    let dimension = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
    let value = CUlaunchAttributeValue { clusterDim: dimension };
    attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value)
}

fn attribute(id: Id, value: CUlaunchAttributeValue) -> CUlaunchAttribute {
    CUlaunchAttribute { id, pad: [0; 4], value }
}

/// The configuration points to `attributes`.
fn config(launch: Grid, stream: CUstream, attributes: &mut [CUlaunchAttribute]) -> CUlaunchConfig {
    let Grid { grid_dim: grid, block_dim: block, shared } = launch;
    CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: shared,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as c_uint,
    }
}
