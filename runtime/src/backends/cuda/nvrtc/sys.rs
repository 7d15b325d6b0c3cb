//! The parts of `nvrtc.h` that are used.

use crate::backends::cuda::bindings::bindings;

bindings! {
    from cudarc::nvrtc::sys;
    handle nvrtcProgram = _nvrtcProgram;
}
