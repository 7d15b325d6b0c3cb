//! What NVRTC has in `nvrtc.h`.

use crate::backends::cuda::bindings::bindings;

bindings! {
    from cudarc::nvrtc::sys;
    handle nvrtcProgram = _nvrtcProgram;
}
