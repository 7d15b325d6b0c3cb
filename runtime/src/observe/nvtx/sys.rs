//! Declarations of NVTX 3's `nvToolsExt.h`.

use crate::backends::cuda::bindings::bindings;

bindings! {
    from cudarc::nvtx::sys;
    handle nvtxDomainHandle_t = nvtxDomainRegistration;
    handle nvtxStringHandle_t = nvtxStringRegistration;
    enum nvtxColorType_t: u32 {
        NVTX_COLOR_ARGB = 1,
    }
    enum nvtxMessageType_t: u32 {
        NVTX_MESSAGE_TYPE_ASCII = 1,
    }
    enum nvtxPayloadType_t: u32 {
        NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    }
    struct nvtxEventAttributes_t {
        version: u16,
        size: u16,
        category: u32,
        colorType: i32,
        color: u32,
        payloadType: i32,
        reserved0: i32,
        payload: nvtxEventAttributes_v2_payload_t,
        messageType: i32,
        message: nvtxMessageValue_t,
    }
    layout nvtxEventAttributes_v2_payload_t;
    layout nvtxMessageValue_t;
    also {
        /// The union's member that is used, which is as large as any.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub union nvtxEventAttributes_v2_payload_t {
            pub ullValue: u64,
        }

        /// The union's member that is used, and one as large as any.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub union nvtxMessageValue_t {
            pub ascii: *const c_char,
            registered: nvtxStringHandle_t,
        }
    }
}
