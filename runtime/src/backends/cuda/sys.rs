//! The parts of `cuda.h` of CUDA's driver that are used.

use super::bindings::bindings;

bindings! {
    from cudarc::driver::sys;
    handle CUcontext = CUctx_st;
    handle CUmodule = CUmod_st;
    handle CUfunction = CUfunc_st;
    handle CUkernel = CUkern_st;
    handle CUarray = CUarray_st;
    handle CUstream = CUstream_st;
    handle CUevent = CUevent_st;
    handle CUgraph = CUgraph_st;
    handle CUgraphExec = CUgraphExec_st;
    handle CUgraphNode = CUgraphNode_st;
    type CUdevice = c_int;
    type CUdeviceptr = c_ulonglong;
    type CUhostFn = Option<unsafe extern "C" fn(*mut c_void)>;
    type CUkernelNodeAttrID = CUlaunchAttributeID;
    type CUkernelNodeAttrValue = CUlaunchAttributeValue;
    const CU_MEMHOSTALLOC_PORTABLE = 1;
    const CU_MEMHOSTALLOC_DEVICEMAP = 2;
    const CU_MEMHOSTALLOC_WRITECOMBINED = 4;
    const CU_MEMHOSTREGISTER_PORTABLE = 1;
    const CU_MEMHOSTREGISTER_DEVICEMAP = 2;
    enum CUmemorytype: u32 {
        CU_MEMORYTYPE_HOST = 1,
        CU_MEMORYTYPE_DEVICE = 2,
    }
    enum CUstream_flags_enum: u32 {
        CU_STREAM_DEFAULT = 0,
        CU_STREAM_NON_BLOCKING = 1,
    }
    enum CUevent_flags_enum: u32 {
        CU_EVENT_DEFAULT = 0,
        CU_EVENT_DISABLE_TIMING = 2,
    }
    enum CUstreamWaitValue_flags_enum: u32 {
        CU_STREAM_WAIT_VALUE_GEQ = 0,
    }
    enum CUstreamWriteValue_flags_enum: u32 {
        CU_STREAM_WRITE_VALUE_DEFAULT = 0,
    }
    enum CUlaunchAttributeID: u32 {
        CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    }
    enum CUdevice_attribute: u32 {
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
        CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
        CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
        CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
        CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
        CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    }
    enum CUfunction_attribute: u32 {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12,
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
    }
    enum CUjit_option: u32 {
        CU_JIT_ERROR_LOG_BUFFER = 5,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }
    struct CUDA_MEMCPY2D {
        srcXInBytes: usize,
        srcY: usize,
        srcMemoryType: CUmemorytype,
        srcHost: *const c_void,
        srcDevice: CUdeviceptr,
        srcArray: CUarray,
        srcPitch: usize,
        dstXInBytes: usize,
        dstY: usize,
        dstMemoryType: CUmemorytype,
        dstHost: *mut c_void,
        dstDevice: CUdeviceptr,
        dstArray: CUarray,
        dstPitch: usize,
        WidthInBytes: usize,
        Height: usize,
    }
    struct CUDA_MEMCPY3D {
        srcXInBytes: usize,
        srcY: usize,
        srcZ: usize,
        srcLOD: usize,
        srcMemoryType: CUmemorytype,
        srcHost: *const c_void,
        srcDevice: CUdeviceptr,
        srcArray: CUarray,
        reserved0: *mut c_void,
        srcPitch: usize,
        srcHeight: usize,
        dstXInBytes: usize,
        dstY: usize,
        dstZ: usize,
        dstLOD: usize,
        dstMemoryType: CUmemorytype,
        dstHost: *mut c_void,
        dstDevice: CUdeviceptr,
        dstArray: CUarray,
        reserved1: *mut c_void,
        dstPitch: usize,
        dstHeight: usize,
        WidthInBytes: usize,
        Height: usize,
        Depth: usize,
    }
    struct CUDA_MEMSET_NODE_PARAMS {
        dst: CUdeviceptr,
        pitch: usize,
        value: c_uint,
        elementSize: c_uint,
        width: usize,
        height: usize,
    }
    struct CUDA_KERNEL_NODE_PARAMS {
        func: CUfunction,
        gridDimX: c_uint,
        gridDimY: c_uint,
        gridDimZ: c_uint,
        blockDimX: c_uint,
        blockDimY: c_uint,
        blockDimZ: c_uint,
        sharedMemBytes: c_uint,
        kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
        kern: CUkernel,
        ctx: CUcontext,
    }
    struct CUlaunchAttribute {
        id: CUlaunchAttributeID,
        pad: [c_char; 4],
        value: CUlaunchAttributeValue,
    }
    struct CUlaunchConfig {
        gridDimX: c_uint,
        gridDimY: c_uint,
        gridDimZ: c_uint,
        blockDimX: c_uint,
        blockDimY: c_uint,
        blockDimZ: c_uint,
        sharedMemBytes: c_uint,
        hStream: CUstream,
        attrs: *mut CUlaunchAttribute,
        numAttrs: c_uint,
    }
    struct CUlaunchAttributeValue_union__bindgen_ty_1 {
        x: c_uint,
        y: c_uint,
        z: c_uint,
    }
    layout CUlaunchAttributeValue;
    also {
        /// The used members of the union, and its size.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub union CUlaunchAttributeValue {
            words: [u64; 8],
            pub cooperative: c_int,
            pub clusterDim: CUlaunchAttributeValue_union__bindgen_ty_1,
        }
    }
}
