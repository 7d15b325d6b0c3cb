//! Copies of rows that are a pitch apart.

use super::sys::{CUDA_MEMCPY2D, CUmemorytype};
use crate::driver::{DevicePtr, Rows, RowsBetween};

/// The parameters of `cuMemcpy2DAsync`.
pub(super) fn copy(rows: &Rows) -> CUDA_MEMCPY2D {
    let &Rows { between, width, height, from_pitch, to_pitch } = rows;
    let mut copy = blank();
    (copy.WidthInBytes, copy.Height, copy.srcPitch, copy.dstPitch) = (width, height, from_pitch, to_pitch);
    match between {
        RowsBetween::HostAndDevice { to, from } => {
            copy.srcHost = from.cast();
            (copy.srcMemoryType, copy.dstMemoryType) = (HOST, DEVICE);
            copy.dstDevice = to.0;
        }
        RowsBetween::DeviceAndHost { to, from } => {
            copy.dstHost = to.cast();
            (copy.srcMemoryType, copy.dstMemoryType) = (DEVICE, HOST);
            copy.srcDevice = from.0;
        }
        RowsBetween::OnDevice { to: DevicePtr(to), from: DevicePtr(from) } => {
            (copy.srcDevice, copy.dstDevice) = (from, to);
        }
    }
    copy
}

const HOST: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_HOST;
const DEVICE: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_DEVICE;

fn blank() -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: DEVICE,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: DEVICE,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: std::ptr::null_mut(),
        dstPitch: 0,
        WidthInBytes: 0,
        Height: 0,
    }
}
