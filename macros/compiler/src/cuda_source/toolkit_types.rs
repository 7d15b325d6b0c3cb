//! Types that headers of the CUDA toolkit define, where a source does not.

use super::ctype::{Primitive, Scalar};
use super::known::{Known, Layout, Numbers};

/// The description of one of the toolkit's types. Sizes and alignments are those of CUDA 13.0's headers.
pub(super) fn known(name: &str) -> Option<Known> {
    let short = name.trim_start_matches("::");
    if let Some((scalar, count)) = numbers(short) {
        let mut known = Known::named(name, if count == 1 { scalar } else { Scalar::Compound });
        let size = scalar.size()?;
        known.numbers = Some(Numbers { scalar, count });
        // Pairs are aligned to more, as the beginning of a buffer always is.
        known.layout = Some(Layout { size: size * count, align: size });
        return Some(known);
    }
    let pointer = pointer(short);
    let (size, align) = match pointer == Some(short) {
        true => (8, 8),
        false if is_tag(short) => (1, 1),
        false => layout(short)?,
    };
    let mut known = Known::named(name, Scalar::Compound);
    known.layout = Some(Layout { size, align });
    known.is_toolkits = true;
    known.pointer = pointer.map(str::to_owned);
    Some(known)
}

/// The kind and the count of the numbers in a type that is made of numbers of one kind.
fn numbers(name: &str) -> Option<(Scalar, u64)> {
    use Primitive::*;
    let (primitive, count) = match name {
        "cufftReal" => (F32, 1),
        "cufftDoubleReal" => (F64, 1),
        "cufftHandle" => (I32, 1),
        "cudaGraphConditionalHandle" => (U64, 1),
        "__nv_fp8_storage_t" | "__nv_fp8_e4m3" | "__nv_fp8_e5m2" | "__nv_fp8_e8m0" | "__nv_fp6_e2m3"
        | "__nv_fp6_e3m2" | "__nv_fp4_e2m1" | "__nv_fp4x2_e2m1" => (U8, 1),
        "__half_raw"
        | "__nv_bfloat16_raw"
        | "__nv_fp8x2_storage_t"
        | "__nv_fp8x2_e4m3"
        | "__nv_fp8x2_e5m2"
        | "__nv_fp8x2_e8m0"
        | "__nv_fp6x2_e2m3"
        | "__nv_fp6x2_e3m2"
        | "__nv_fp4x4_e2m1" => (U16, 1),
        "__nv_fp8x4_storage_t"
        | "__nv_fp8x4_e4m3"
        | "__nv_fp8x4_e5m2"
        | "__nv_fp8x4_e8m0"
        | "__nv_fp6x4_e2m3"
        | "__nv_fp6x4_e3m2" => (U32, 1),
        "cuComplex" | "cuFloatComplex" | "cufftComplex" => (F32, 2),
        "cuDoubleComplex" | "cufftDoubleComplex" => (F64, 2),
        "cudaError_t" | "cudaError" | "curandStatus_t" | "cudaMemcpyKind" => {
            return Some((Scalar::Enum(U32), 1));
        }
        _ => return None,
    };
    Some((Scalar::Is(primitive), count))
}

/// The pointer in a type, or the type itself if it is one.
fn pointer(name: &str) -> Option<&str> {
    match name {
        "cudaPitchedPtr" => Some("void* ptr"),
        "curandStateMtgp32" | "curandStateMtgp32_t" => Some("mtgp32_kernel_params_t* k"),
        "cudaStream_t"
        | "cudaEvent_t"
        | "cudaArray_t"
        | "cudaArray_const_t"
        | "cudaMipmappedArray_t"
        | "cudaGraph_t"
        | "cudaGraphExec_t"
        | "cudaMemPool_t"
        | "CUstream"
        | "CUevent"
        | "CUarray"
        | "CUcontext"
        | "CUfunction"
        | "CUmodule"
        | "curandGenerator_t"
        | "curandDiscreteDistribution_t" => Some(name),
        _ => None,
    }
}

/// Whether it is one of C++'s structs without fields, which have a byte.
fn is_tag(name: &str) -> bool {
    let name = name.strip_prefix("cuda::").unwrap_or(name);
    let name = name.strip_prefix("std::").map(|name| name.split_once('<').map_or(name, |(name, _)| name));
    matches!(name, Some("bool_constant" | "integral_constant" | "true_type" | "false_type"))
}

/// Size and alignment of a struct, or of an integer that Rust has none for here.
fn layout(name: &str) -> Option<(u64, u64)> {
    Some(match name {
        "curandState"
        | "curandState_t"
        | "curandStateXORWOW"
        | "curandStateXORWOW_t"
        | "curandStateMRG32k3a"
        | "curandStateMRG32k3a_t" => (48, 8),
        "curandStatePhilox4_32_10" | "curandStatePhilox4_32_10_t" => (64, 16),
        "curandStateSobol32"
        | "curandStateSobol32_t"
        | "curandStateScrambledSobol32"
        | "curandStateScrambledSobol32_t" => (140, 4),
        "curandStateSobol64"
        | "curandStateSobol64_t"
        | "curandStateScrambledSobol64"
        | "curandStateScrambledSobol64_t" => (536, 8),
        "curandStateMtgp32" | "curandStateMtgp32_t" => (4112, 8),
        "mtgp32_kernel_params" | "mtgp32_kernel_params_t" => (40804, 4),
        "curandDirectionVectors32_t" => (128, 4),
        "curandDirectionVectors64_t" => (512, 8),
        "cudaExtent" | "cudaPos" => (24, 8),
        "cudaPitchedPtr" => (32, 8),
        "cudaChannelFormatDesc" => (20, 4),
        "__int128_t" | "__uint128_t" => (16, 16),
        _ => return None,
    })
}

/// Whether a name that no file defines may be one of the toolkit's or of C's.
pub(super) fn may_have(name: &str) -> bool {
    #[rustfmt::skip]
    const BEGINNINGS: [&str; 14] = [
        "cuda", "cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "CU", "mtgp32", "nv", "NV", "__", "int_",
        "uint_",
    ];
    #[rustfmt::skip]
    const OTHERS: [&str; 12] = [
        "FILE", "div_t", "ldiv_t", "lldiv_t", "va_list", "jmp_buf", "max_align_t", "nullptr_t", "wint_t", "mbstate_t",
        "surfaceReference", "textureReference",
    ];
    // `cuComplex`
    let is_drivers = name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    is_drivers || BEGINNINGS.iter().any(|begin| name.starts_with(begin)) || OTHERS.contains(&name)
}
