/* A cuFFT that computes nothing: records what it is asked to do.
 *
 *     cc -shared -fPIC -pthread -o DIR/libcufft.so libcufft.c
 *
 * Plans are p1, p2, ... in the order of their creation, and each wants a kibibyte of work area for each of its transforms. Streams and
 * addresses have the names of the driver's stub. Types are cuFFT's numbers. What the library would refuse is refused: a plan that is
 * not live or not made, a thread with no current context, a transform without a work area.
 *
 * record.h has the variables THALWEG_RECORD and THALWEG_FAIL.
 */
#include "library.h"

enum { SUCCESS = 0, INVALID_PLAN = 1, SETUP_FAILED = 7, NO_WORKSPACE = 13, MOST = 256 };

static struct { int made, has_work; } plans[MOST];

/* A plan is the number of an object. */
static Object *object_of(int plan) {
    for (Object *o = objects; o; o = o->older)
        if ((int)o->number == plan) return o;
    return NULL;
}

/* Begins a call with a plan. */
static int begin(const char *symbol, int plan) {
    pthread_mutex_lock(&lock);
    int code = fault(symbol);
    if (code) return code;
    if (!has_context()) return SETUP_FAILED;
    return plan > 0 && plan < MOST && is_live(object_of(plan)) ? SUCCESS : INVALID_PLAN;
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

int cufftCreate(int *plan) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    if (!code && !has_context()) code = SETUP_FAILED;
    if (code) return done(code, "cufftCreate");
    *plan = (int)create()->number;
    return done(code, "cufftCreate p%d", *plan);
}

int cufftDestroy(int plan) {
    int code = begin(__func__, plan);
    if (!code) object_of(plan)->live = 0;
    return done(code, "cufftDestroy p%d", plan);
}

int cufftSetAutoAllocation(int plan, int allocate) {
    return done(begin(__func__, plan), "cufftSetAutoAllocation p%d %d", plan, allocate);
}

int cufftMakePlanMany64(
    int plan, int rank, long long *sizes, long long *in_embedding, long long in_stride, long long in_distance,
    long long *out_embedding, long long out_stride, long long out_distance, int type, long long batch, size_t *work
) {
    (void)in_stride, (void)in_distance, (void)out_stride, (void)out_distance;
    int code = begin(__func__, plan);
    char all[96] = "";
    for (int i = 0; i < rank && i < 3; i++) {
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s%lld", i ? "x" : "", sizes[i]);
    }
    if (!code) {
        plans[plan].made = 1;
        *work = 1024 * (size_t)batch;
    }
    const char *layout = in_embedding || out_embedding ? "embedded" : "packed";
    return done(code, "cufftMakePlanMany64 p%d %s type=%d batch=%lld %s", plan, all, type, batch, layout);
}

int cufftSetStream(int plan, void *stream) {
    return done(begin(__func__, plan), "cufftSetStream p%d %s", plan, name('s', stream));
}

int cufftSetWorkArea(int plan, void *work) {
    int code = begin(__func__, plan);
    if (!code) plans[plan].has_work = work != NULL;
    return done(code, "cufftSetWorkArea p%d %s", plan, name('d', work));
}

static int execute(const char *symbol, int plan, const void *from, const void *to, const char *direction) {
    int code = begin(symbol, plan);
    if (!code && !plans[plan].made) code = INVALID_PLAN;
    if (!code && !plans[plan].has_work) code = NO_WORKSPACE;
    return done(code, "%s p%d %s %s%s", symbol, plan, name('d', from), name('d', to), direction);
}

int cufftExecC2C(int plan, void *from, void *to, int direction) {
    return execute(__func__, plan, from, to, direction < 0 ? " forward" : " inverse");
}

int cufftExecZ2Z(int plan, void *from, void *to, int direction) {
    return execute(__func__, plan, from, to, direction < 0 ? " forward" : " inverse");
}

int cufftExecR2C(int plan, void *from, void *to) { return execute(__func__, plan, from, to, ""); }
int cufftExecC2R(int plan, void *from, void *to) { return execute(__func__, plan, from, to, ""); }
int cufftExecD2Z(int plan, void *from, void *to) { return execute(__func__, plan, from, to, ""); }
int cufftExecZ2D(int plan, void *from, void *to) { return execute(__func__, plan, from, to, ""); }
