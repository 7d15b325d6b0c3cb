//! The functions of cuDNN.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::sys::{
    cudaStream_t, cudnnActivationDescriptor_t, cudnnActivationMode_t, cudnnConvolutionDescriptor_t,
    cudnnConvolutionFwdAlgo_t, cudnnConvolutionMode_t, cudnnDataType_t, cudnnFilterDescriptor_t,
    cudnnHandle_t, cudnnMathType_t, cudnnNanPropagation_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
    cudnnTensorDescriptor_t, cudnnTensorFormat_t,
};
use crate::table::{functions, symbol};
use crate::{Library, of_library};

static LIBRARY: Library =
    Library::new("cuDNN", "cudnn", [9, 9, 8], "nvidia-cudnn-cu13` or `nvidia-cudnn-cu12");

functions! {
    /// The functions that cuDNN 8 and 9 have with the same signatures.
    struct Functions, bindings super::sys, code cudnnStatus_t;
    fn cudnnCreate(handle: *mut cudnnHandle_t);
    fn cudnnDestroy(handle: cudnnHandle_t);
    fn cudnnSetStream(handle: cudnnHandle_t, stream: cudaStream_t);
    fn cudnnCreateTensorDescriptor(tensor: *mut cudnnTensorDescriptor_t);
    fn cudnnDestroyTensorDescriptor(tensor: cudnnTensorDescriptor_t);
    fn cudnnSetTensor4dDescriptor(
        tensor: cudnnTensorDescriptor_t,
        format: cudnnTensorFormat_t,
        element: cudnnDataType_t,
        n: c_int,
        c: c_int,
        h: c_int,
        w: c_int,
    );
    fn cudnnCreateFilterDescriptor(filter: *mut cudnnFilterDescriptor_t);
    fn cudnnDestroyFilterDescriptor(filter: cudnnFilterDescriptor_t);
    fn cudnnSetFilter4dDescriptor(
        filter: cudnnFilterDescriptor_t,
        element: cudnnDataType_t,
        format: cudnnTensorFormat_t,
        k: c_int,
        c: c_int,
        h: c_int,
        w: c_int,
    );
    fn cudnnCreateConvolutionDescriptor(convolution: *mut cudnnConvolutionDescriptor_t);
    fn cudnnDestroyConvolutionDescriptor(convolution: cudnnConvolutionDescriptor_t);
    fn cudnnSetConvolution2dDescriptor(
        convolution: cudnnConvolutionDescriptor_t,
        pad_h: c_int,
        pad_w: c_int,
        stride_h: c_int,
        stride_w: c_int,
        dilation_h: c_int,
        dilation_w: c_int,
        mode: cudnnConvolutionMode_t,
        compute: cudnnDataType_t,
    );
    fn cudnnSetConvolutionGroupCount(convolution: cudnnConvolutionDescriptor_t, groups: c_int);
    fn cudnnSetConvolutionMathType(convolution: cudnnConvolutionDescriptor_t, math: cudnnMathType_t);
    fn cudnnGetConvolutionForwardWorkspaceSize(
        handle: cudnnHandle_t,
        x: cudnnTensorDescriptor_t,
        w: cudnnFilterDescriptor_t,
        convolution: cudnnConvolutionDescriptor_t,
        y: cudnnTensorDescriptor_t,
        algorithm: cudnnConvolutionFwdAlgo_t,
        bytes: *mut usize,
    );
    fn cudnnConvolutionForward(
        handle: cudnnHandle_t,
        alpha: *const c_void,
        x_descriptor: cudnnTensorDescriptor_t,
        x: *const c_void,
        w_descriptor: cudnnFilterDescriptor_t,
        w: *const c_void,
        convolution: cudnnConvolutionDescriptor_t,
        algorithm: cudnnConvolutionFwdAlgo_t,
        workspace: *mut c_void,
        workspace_bytes: usize,
        beta: *const c_void,
        y_descriptor: cudnnTensorDescriptor_t,
        y: *mut c_void,
    );
    fn cudnnCreateActivationDescriptor(activation: *mut cudnnActivationDescriptor_t);
    fn cudnnDestroyActivationDescriptor(activation: cudnnActivationDescriptor_t);
    fn cudnnSetActivationDescriptor(
        activation: cudnnActivationDescriptor_t,
        mode: cudnnActivationMode_t,
        nan: cudnnNanPropagation_t,
        coefficient: f64,
    );
    fn cudnnActivationForward(
        handle: cudnnHandle_t,
        activation: cudnnActivationDescriptor_t,
        alpha: *const c_void,
        x_descriptor: cudnnTensorDescriptor_t,
        x: *const c_void,
        beta: *const c_void,
        y_descriptor: cudnnTensorDescriptor_t,
        y: *mut c_void,
    );
    fn cudnnAddTensor(
        handle: cudnnHandle_t,
        alpha: *const c_void,
        a_descriptor: cudnnTensorDescriptor_t,
        a: *const c_void,
        beta: *const c_void,
        c_descriptor: cudnnTensorDescriptor_t,
        c: *mut c_void,
    );
    fn cudnnSoftmaxForward(
        handle: cudnnHandle_t,
        algorithm: cudnnSoftmaxAlgorithm_t,
        mode: cudnnSoftmaxMode_t,
        alpha: *const c_void,
        x_descriptor: cudnnTensorDescriptor_t,
        x: *const c_void,
        beta: *const c_void,
        y_descriptor: cudnnTensorDescriptor_t,
        y: *mut c_void,
    );
}

of_library!(Functions, LIBRARY, status);

/// The name of a `cudnnStatus_t`.
fn status(code: u32) -> &'static str {
    name_of(code).unwrap_or("an unknown status")
}

/// cuDNN's own name for one of its codes, which were numbered anew in version 9.
fn name_of(code: u32) -> Option<&'static str> {
    type ErrorString = unsafe extern "C" fn(u32) -> *const c_char;
    let library = LIBRARY.get().ok()?;
    // SAFETY: the type is the header's, except for the code, which is an enum there and its underlying
    // integer here.
    let describe = unsafe { symbol::<ErrorString>(library, "cudnnGetErrorString") }?;
    // SAFETY: the function takes any code.
    let text = unsafe { describe(code) };
    if text.is_null() {
        return None;
    }
    // SAFETY: the text is not null, and a NUL-terminated string of the library, which is never unloaded.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}
