/* A cuBLAS that computes nothing: records what it is asked to do.
 *
 *     cc -shared -fPIC -pthread -o DIR/libcublas.so libcublas.c
 *
 * Handles are b1, b2, ... in the order of their creation; streams and addresses have the names of the driver's stub, which
 * is there already. Types, operations and modes are cuBLAS's numbers. What the library would refuse is refused: a handle
 * that is not live, a thread with no current context. A call that fails ends in ` -> code`.
 *
 * record.h has the variables THALWEG_RECORD and THALWEG_FAIL. -DWITHOUT_GEMV makes a library that lacks a function.
 */
#include "library.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1 };

/* Begins a call with a handle. */
static int begin(const char *symbol, Object *handle) {
    pthread_mutex_lock(&lock);
    int code = fault(symbol);
    if (code) return code;
    return has_context() && is_live(handle) ? SUCCESS : NOT_INITIALIZED;
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

int cublasCreate_v2(Object **handle) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    if (!code && !has_context()) code = NOT_INITIALIZED;
    if (code) return done(code, "cublasCreate");
    *handle = create();
    return done(code, "cublasCreate b%u", (*handle)->number);
}

int cublasDestroy_v2(Object *handle) {
    int code = begin(__func__, handle);
    if (!code) handle->live = 0;
    return done(code, "cublasDestroy b%u", handle->number);
}

int cublasSetStream_v2(Object *handle, void *stream) {
    int code = begin(__func__, handle);
    return done(code, "cublasSetStream b%u %s", handle->number, name('s', stream));
}

int cublasSetWorkspace_v2(Object *handle, void *workspace, size_t bytes) {
    int code = begin(__func__, handle);
    return done(code, "cublasSetWorkspace b%u %s %zu", handle->number, name('d', workspace), bytes);
}

int cublasSetMathMode(Object *handle, int mode) {
    int code = begin(__func__, handle);
    return done(code, "cublasSetMathMode b%u %d", handle->number, mode);
}

/* A scale, of `double` if that is what the matrices are of. */
static double scale(const void *value, int type) {
    return type == 1 ? *(const double *)value : *(const float *)value;
}

int cublasGemmEx(
    Object *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type, int lda,
    const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc, int compute, int algorithm
) {
    int code = begin(__func__, handle);
    return done(
        code, "cublasGemmEx b%u op=%d,%d m=%d n=%d k=%d alpha=%g %s type=%d ld=%d %s type=%d ld=%d beta=%g %s type=%d ld=%d "
        "compute=%d algorithm=%d",
        handle->number, op_a, op_b, m, n, k, scale(alpha, c_type), name('d', a), a_type, lda, name('d', b), b_type, ldb,
        scale(beta, c_type), name('d', c), c_type, ldc, compute, algorithm
    );
}

int cublasGemmStridedBatchedEx(
    Object *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type, int lda,
    long long stride_a, const void *b, int b_type, int ldb, long long stride_b, const void *beta, void *c, int c_type,
    int ldc, long long stride_c, int count, int compute, int algorithm
) {
    int code = begin(__func__, handle);
    return done(
        code, "cublasGemmStridedBatchedEx b%u op=%d,%d m=%d n=%d k=%d alpha=%g %s type=%d ld=%d stride=%lld %s type=%d ld=%d "
        "stride=%lld beta=%g %s type=%d ld=%d stride=%lld count=%d compute=%d algorithm=%d",
        handle->number, op_a, op_b, m, n, k, scale(alpha, c_type), name('d', a), a_type, lda, stride_a, name('d', b),
        b_type, ldb, stride_b, scale(beta, c_type), name('d', c), c_type, ldc, stride_c, count, compute, algorithm
    );
}

#ifndef WITHOUT_GEMV
int cublasSgemv_v2(
    Object *handle, int op, int m, int n, const float *alpha, const float *a, int lda, const float *x, int x_step,
    const float *beta, float *y, int y_step
) {
    int code = begin(__func__, handle);
    return done(
        code, "cublasSgemv b%u op=%d m=%d n=%d alpha=%g %s ld=%d %s %d beta=%g %s %d", handle->number, op, m, n, *alpha,
        name('d', a), lda, name('d', x), x_step, *beta, name('d', y), y_step
    );
}
#endif

int cublasDgemv_v2(
    Object *handle, int op, int m, int n, const double *alpha, const double *a, int lda, const double *x, int x_step,
    const double *beta, double *y, int y_step
) {
    int code = begin(__func__, handle);
    return done(
        code, "cublasDgemv b%u op=%d m=%d n=%d alpha=%g %s ld=%d %s %d beta=%g %s %d", handle->number, op, m, n, *alpha,
        name('d', a), lda, name('d', x), x_step, *beta, name('d', y), y_step
    );
}

int cublasAxpyEx(
    Object *handle, int n, const void *alpha, int alpha_type, const void *x, int x_type, int x_step, void *y, int y_type,
    int y_step, int compute
) {
    int code = begin(__func__, handle);
    return done(
        code, "cublasAxpyEx b%u %d alpha=%g %s type=%d %d %s type=%d %d compute=%d", handle->number, n,
        scale(alpha, alpha_type), name('d', x), x_type, x_step, name('d', y), y_type, y_step, compute
    );
}

int cublasScalEx(Object *handle, int n, const void *alpha, int alpha_type, void *x, int x_type, int x_step, int compute) {
    int code = begin(__func__, handle);
    return done(
        code, "cublasScalEx b%u %d alpha=%g %s type=%d %d compute=%d", handle->number, n, scale(alpha, alpha_type),
        name('d', x), x_type, x_step, compute
    );
}
