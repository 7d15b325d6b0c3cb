/* A cuBLASLt that computes nothing: records what it is asked to do.
 *
 *     cc -shared -fPIC -pthread -o DIR/libcublasLt.so libcublasLt.c
 *
 * All objects are o1, o2, ... in the order of their creation: handles, descriptions, layouts and preferences. The rest is as
 * in libcublas.c. What has been set of a description or a preference is written by its number, a pointer by its name.
 * THALWEG_NO_ALGORITHM=1: there is no algorithm for any product.
 */
#include "library.h"

enum { SUCCESS = 0, INVALID_VALUE = 7 };
enum { DESCRIPTION_BIAS_POINTER = 8 };

/* As cuBLASLt declares it. */
typedef struct { uint64_t data[8]; } Algorithm;
typedef struct {
    Algorithm algorithm;
    size_t workspace;
    uint32_t state;
    float waves;
    int reserved[4];
} Result;

static int begin(const char *symbol) {
    pthread_mutex_lock(&lock);
    return fault(symbol);
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

static int destroy(const char *symbol, Object *object) {
    int code = begin(symbol);
    if (!code && !is_live(object)) code = INVALID_VALUE;
    if (!code) object->live = 0;
    return done(code, "%s o%u", symbol, object->number);
}

static int set(const char *symbol, Object *object, int attribute, const void *value, size_t bytes, int is_pointer) {
    int code = begin(symbol);
    if (!code && !is_live(object)) code = INVALID_VALUE;
    if (is_pointer) return done(code, "%s o%u %d %s", symbol, object->number, attribute, name('d', *(void *const *)value));
    uint64_t number = bytes == 8 ? *(const uint64_t *)value : *(const uint32_t *)value;
    return done(code, "%s o%u %d %llu", symbol, object->number, attribute, (unsigned long long)number);
}

int cublasLtCreate(Object **handle) {
    int code = begin(__func__);
    if (!code && !has_context()) code = INVALID_VALUE;
    if (code) return done(code, "cublasLtCreate");
    *handle = create();
    return done(code, "cublasLtCreate o%u", (*handle)->number);
}

int cublasLtDestroy(Object *handle) { return destroy(__func__, handle); }

int cublasLtMatmulDescCreate(Object **description, int compute, int scale) {
    int code = begin(__func__);
    if (!code) *description = create();
    return done(code, "cublasLtMatmulDescCreate o%u compute=%d scale=%d", objects->number, compute, scale);
}

int cublasLtMatmulDescDestroy(Object *description) { return destroy(__func__, description); }

int cublasLtMatmulDescSetAttribute(Object *description, int attribute, const void *value, size_t bytes) {
    return set(__func__, description, attribute, value, bytes, attribute == DESCRIPTION_BIAS_POINTER);
}

int cublasLtMatrixLayoutCreate(Object **layout, int type, uint64_t rows, uint64_t columns, int64_t ld) {
    int code = begin(__func__);
    if (!code) *layout = create();
    return done(
        code, "cublasLtMatrixLayoutCreate o%u type=%d %llu x %llu ld=%lld", objects->number, type,
        (unsigned long long)rows, (unsigned long long)columns, (long long)ld
    );
}

int cublasLtMatrixLayoutDestroy(Object *layout) { return destroy(__func__, layout); }

int cublasLtMatmulPreferenceCreate(Object **preference) {
    int code = begin(__func__);
    if (!code) *preference = create();
    return done(code, "cublasLtMatmulPreferenceCreate o%u", objects->number);
}

int cublasLtMatmulPreferenceDestroy(Object *preference) { return destroy(__func__, preference); }

int cublasLtMatmulPreferenceSetAttribute(Object *preference, int attribute, const void *value, size_t bytes) {
    return set(__func__, preference, attribute, value, bytes, 0);
}

int cublasLtMatmulAlgoGetHeuristic(
    Object *handle, Object *description, Object *a, Object *b, Object *c, Object *d, Object *preference, int wanted,
    Result *results, int *found
) {
    int code = begin(__func__);
    int live = is_live(handle) && is_live(description) && is_live(a) && is_live(b) && is_live(c) && is_live(d) &&
               is_live(preference);
    if (!code && (!live || wanted < 1)) code = INVALID_VALUE;
    const char *none = getenv("THALWEG_NO_ALGORITHM");
    if (!code) *found = none ? 0 : 1;
    if (!code && !none) {
        memset(results, 0, sizeof *results);
        results->algorithm.data[0] = 42;
        /* No code that there is: whoever takes it for one of an enum's is wrong. */
        results->state = 12345;
    }
    return done(
        code, "cublasLtMatmulAlgoGetHeuristic o%u o%u o%u o%u o%u o%u o%u", handle->number, description->number, a->number,
        b->number, c->number, d->number, preference->number
    );
}

int cublasLtMatmul(
    Object *handle, Object *description, const float *alpha, const void *a, Object *a_layout, const void *b,
    Object *b_layout, const float *beta, const void *c, Object *c_layout, void *d, Object *d_layout,
    const Algorithm *algorithm, void *workspace, size_t bytes, void *stream
) {
    int code = begin(__func__);
    int live = is_live(handle) && is_live(description) && is_live(a_layout) && is_live(b_layout) && is_live(c_layout) &&
               is_live(d_layout) && has_context();
    if (!code && (!live || algorithm->data[0] != 42)) code = INVALID_VALUE;
    return done(
        code, "cublasLtMatmul o%u o%u alpha=%g %s o%u %s o%u beta=%g %s o%u %s o%u %s %zu %s", handle->number,
        description->number, *alpha, name('d', a), a_layout->number, name('d', b), b_layout->number, *beta, name('d', c),
        c_layout->number, name('d', d), d_layout->number, name('d', workspace), bytes, name('s', stream)
    );
}
