/* A cuDNN that computes nothing: records what it is asked to do.
 *
 *     cc -shared -fPIC -pthread -o DIR/libcudnn.so libcudnn.c
 *
 * Handles and descriptors are n1, n2, ... in the order of their creation. Streams and addresses have the names of the driver's stub.
 * Types, modes and algorithms are cuDNN's numbers. What the library would refuse is refused: a handle or descriptor that is not live, a
 * thread with no current context, a workspace that is too small. The algorithm 1 takes 4 KiB for each image, and the stub has it not
 * for dilated filters; 0 takes nothing.
 *
 * record.h has the variables THALWEG_RECORD and THALWEG_FAIL.
 */
#include "library.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1001, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };

/* What was last set. */
static int images, dilated;

const char *cudnnGetErrorString(int code) {
    switch (code) {
    case NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    default: return "CUDNN_STATUS_EXECUTION_FAILED";
    }
}

/* Begins a call with a handle or a descriptor. */
static int begin(const char *symbol, Object *object) {
    pthread_mutex_lock(&lock);
    int code = fault(symbol);
    if (code) return code;
    return has_context() && is_live(object) ? SUCCESS : NOT_INITIALIZED;
}

__attribute__((format(printf, 2, 3))) static int done(int code, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (code) record("%s -> %d", line, code);
    else record("%s", line);
    pthread_mutex_unlock(&lock);
    return code;
}

static int make(const char *symbol, Object **object) {
    pthread_mutex_lock(&lock);
    int code = fault(symbol);
    if (!code && !has_context()) code = NOT_INITIALIZED;
    if (code) return done(code, "%s", symbol);
    *object = create();
    return done(code, "%s n%u", symbol, (*object)->number);
}

static int destroy(const char *symbol, Object *object) {
    int code = begin(symbol, object);
    if (!code) object->live = 0;
    return done(code, "%s n%u", symbol, object->number);
}

int cudnnCreate(Object **o) { return make(__func__, o); }
int cudnnDestroy(Object *o) { return destroy(__func__, o); }
int cudnnCreateTensorDescriptor(Object **o) { return make(__func__, o); }
int cudnnDestroyTensorDescriptor(Object *o) { return destroy(__func__, o); }
int cudnnCreateFilterDescriptor(Object **o) { return make(__func__, o); }
int cudnnDestroyFilterDescriptor(Object *o) { return destroy(__func__, o); }
int cudnnCreateConvolutionDescriptor(Object **o) { return make(__func__, o); }
int cudnnDestroyConvolutionDescriptor(Object *o) { return destroy(__func__, o); }
int cudnnCreateActivationDescriptor(Object **o) { return make(__func__, o); }
int cudnnDestroyActivationDescriptor(Object *o) { return destroy(__func__, o); }

int cudnnSetStream(Object *handle, void *stream) {
    return done(begin(__func__, handle), "cudnnSetStream n%u %s", handle->number, name('s', stream));
}

int cudnnSetTensor4dDescriptor(Object *tensor, int format, int type, int n, int c, int h, int w) {
    images = n;
    int code = begin(__func__, tensor);
    return done(code, "cudnnSetTensor4dDescriptor n%u format=%d type=%d %dx%dx%dx%d", tensor->number, format, type, n, c, h, w);
}

int cudnnSetFilter4dDescriptor(Object *filter, int type, int format, int k, int c, int h, int w) {
    int code = begin(__func__, filter);
    return done(code, "cudnnSetFilter4dDescriptor n%u format=%d type=%d %dx%dx%dx%d", filter->number, format, type, k, c, h, w);
}

int cudnnSetConvolution2dDescriptor(
    Object *convolution, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int mode, int type
) {
    dilated = dilation_h > 1 || dilation_w > 1;
    return done(
        begin(__func__, convolution),
        "cudnnSetConvolution2dDescriptor n%u padding=%d,%d stride=%d,%d dilation=%d,%d mode=%d type=%d", convolution->number,
        pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, mode, type
    );
}

int cudnnSetConvolutionGroupCount(Object *convolution, int groups) {
    return done(begin(__func__, convolution), "cudnnSetConvolutionGroupCount n%u %d", convolution->number, groups);
}

int cudnnSetConvolutionMathType(Object *convolution, int math) {
    return done(begin(__func__, convolution), "cudnnSetConvolutionMathType n%u %d", convolution->number, math);
}

static size_t workspace_of(int algorithm) { return algorithm == 1 ? 4096 * (size_t)images : 0; }

int cudnnGetConvolutionForwardWorkspaceSize(
    Object *handle, Object *x, Object *w, Object *convolution, Object *y, int algorithm, size_t *bytes
) {
    int code = begin(__func__, handle);
    if (!code && !(is_live(x) && is_live(w) && is_live(convolution) && is_live(y))) code = BAD_PARAM;
    if (!code && algorithm == 1 && dilated) code = NOT_SUPPORTED;
    if (!code) *bytes = workspace_of(algorithm);
    return done(code, "cudnnGetConvolutionForwardWorkspaceSize n%u algorithm=%d", handle->number, algorithm);
}

int cudnnConvolutionForward(
    Object *handle, const float *alpha, Object *x_descriptor, const void *x, Object *w_descriptor, const void *w,
    Object *convolution, int algorithm, void *workspace, size_t bytes, const float *beta, Object *y_descriptor, void *y
) {
    int code = begin(__func__, handle);
    int live = is_live(x_descriptor) && is_live(w_descriptor) && is_live(convolution) && is_live(y_descriptor);
    if (!code && (!live || bytes < workspace_of(algorithm))) code = BAD_PARAM;
    return done(
        code, "cudnnConvolutionForward n%u alpha=%g %s %s algorithm=%d workspace=%s,%zu beta=%g %s", handle->number, *alpha,
        name('d', x), name('d', w), algorithm, name('d', workspace), bytes, *beta, name('d', y)
    );
}

int cudnnSetActivationDescriptor(Object *activation, int mode, int nan, double coefficient) {
    return done(
        begin(__func__, activation), "cudnnSetActivationDescriptor n%u mode=%d nan=%d %g", activation->number, mode, nan, coefficient
    );
}

int cudnnActivationForward(
    Object *handle, Object *activation, const float *alpha, Object *x_descriptor, const void *x, const float *beta,
    Object *y_descriptor, void *y
) {
    int code = begin(__func__, handle);
    if (!code && !(is_live(activation) && is_live(x_descriptor) && is_live(y_descriptor))) code = BAD_PARAM;
    return done(
        code, "cudnnActivationForward n%u alpha=%g %s beta=%g %s", handle->number, *alpha, name('d', x), *beta, name('d', y)
    );
}

int cudnnAddTensor(
    Object *handle, const float *alpha, Object *a_descriptor, const void *a, const float *beta, Object *c_descriptor, void *c
) {
    int code = begin(__func__, handle);
    if (!code && !(is_live(a_descriptor) && is_live(c_descriptor))) code = BAD_PARAM;
    return done(code, "cudnnAddTensor n%u alpha=%g %s beta=%g %s", handle->number, *alpha, name('d', a), *beta, name('d', c));
}

int cudnnSoftmaxForward(
    Object *handle, int algorithm, int mode, const float *alpha, Object *x_descriptor, const void *x, const float *beta,
    Object *y_descriptor, void *y
) {
    int code = begin(__func__, handle);
    if (!code && !(is_live(x_descriptor) && is_live(y_descriptor))) code = BAD_PARAM;
    return done(
        code, "cudnnSoftmaxForward n%u algorithm=%d mode=%d alpha=%g %s beta=%g %s", handle->number, algorithm, mode, *alpha,
        name('d', x), *beta, name('d', y)
    );
}
