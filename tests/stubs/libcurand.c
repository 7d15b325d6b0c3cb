/* A cuRAND that makes no numbers: records what it is asked to do.
 *
 *     cc -shared -fPIC -pthread -o DIR/libcurand.so libcurand.c
 *
 * Generators are g1, g2, ... in the order of their creation. Streams and addresses have the names of the driver's stub. Types and
 * orderings are cuRAND's numbers. What the library would refuse is refused: a generator that is not live, a thread with no current
 * context, an odd number of normally distributed numbers.
 *
 * record.h has the variables THALWEG_RECORD and THALWEG_FAIL.
 */
#include "library.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 101, LENGTH_NOT_MULTIPLE = 105, INITIALIZATION_FAILED = 203 };

/* Begins a call with a generator. */
static int begin(const char *symbol, Object *generator) {
    pthread_mutex_lock(&lock);
    int code = fault(symbol);
    if (code) return code;
    return has_context() && is_live(generator) ? SUCCESS : NOT_INITIALIZED;
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

int curandCreateGenerator(Object **generator, int type) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    if (!code && !has_context()) code = INITIALIZATION_FAILED;
    if (code) return done(code, "curandCreateGenerator %d", type);
    *generator = create();
    return done(code, "curandCreateGenerator g%u %d", (*generator)->number, type);
}

int curandDestroyGenerator(Object *generator) {
    int code = begin(__func__, generator);
    if (!code) generator->live = 0;
    return done(code, "curandDestroyGenerator g%u", generator->number);
}

int curandSetStream(Object *generator, void *stream) {
    return done(begin(__func__, generator), "curandSetStream g%u %s", generator->number, name('s', stream));
}

int curandSetGeneratorOrdering(Object *generator, int ordering) {
    return done(begin(__func__, generator), "curandSetGeneratorOrdering g%u %d", generator->number, ordering);
}

int curandSetPseudoRandomGeneratorSeed(Object *generator, unsigned long long seed) {
    return done(begin(__func__, generator), "curandSetPseudoRandomGeneratorSeed g%u %llu", generator->number, seed);
}

int curandSetGeneratorOffset(Object *generator, unsigned long long offset) {
    return done(begin(__func__, generator), "curandSetGeneratorOffset g%u %llu", generator->number, offset);
}

static int even(const char *symbol, Object *generator, const void *out, size_t len) {
    return done(begin(symbol, generator), "%s g%u %s %zu", symbol, generator->number, name('d', out), len);
}

int curandGenerate(Object *generator, unsigned *out, size_t len) { return even(__func__, generator, out, len); }
int curandGenerateUniform(Object *generator, float *out, size_t len) { return even(__func__, generator, out, len); }
int curandGenerateUniformDouble(Object *generator, double *out, size_t len) {
    return even(__func__, generator, out, len);
}

static int normal(const char *symbol, Object *generator, const void *out, size_t len, double mean, double deviation) {
    int code = begin(symbol, generator);
    if (!code && len % 2) code = LENGTH_NOT_MULTIPLE;
    return done(code, "%s g%u %s %zu mean=%g deviation=%g", symbol, generator->number, name('d', out), len, mean, deviation);
}

int curandGenerateNormal(Object *generator, float *out, size_t len, float mean, float deviation) {
    return normal(__func__, generator, out, len, mean, deviation);
}

int curandGenerateNormalDouble(Object *generator, double *out, size_t len, double mean, double deviation) {
    return normal(__func__, generator, out, len, mean, deviation);
}
