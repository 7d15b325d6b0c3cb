/* A CUDA driver without a GPU: records what it is asked to do, and does the copies.
 *
 *     cc -shared -fPIC -pthread -o DIR/libcuda.so libcuda.c
 *     LD_LIBRARY_PATH=DIR THALWEG_RECORD=calls.txt program
 *
 * The record has one line for each call that creates, destroys, enqueues or waits; questions (names, attributes, free
 * memory) and the setting of the current context are left out. Objects have names in the order of their creation,
 * which no run changes: streams s1, s2, ...; events e1, ...; modules m1, ...; device memory d1, ...; page-locked
 * memory h1, ..., and h1+64 for an address inside it. A kernel goes by its own name. A call that fails ends in
 * ` -> code`.
 *
 * Everything happens at once, at the call: copies copy, launches do nothing, waits return. Fresh memory is filled
 * with a pattern, so that a test sees who relies on zeros. What a real driver would refuse is refused: a thread with
 * no current context, a handle that is not live, an address outside of any allocation. So is an asynchronous copy from
 * or to host memory that is not page-locked, which a real driver would do synchronously.
 *
 * record.h has the variables THALWEG_RECORD and THALWEG_FAIL. Also:
 * THALWEG_GPUS=n           how many devices there are; 1 if not set
 * THALWEG_MEMORY=bytes     memory of each device; 1 GiB if not set
 */
#include <stdarg.h>
#include <stdint.h>

#include "record.h"

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
};

static const struct { int code; const char *name, *description; } errors[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/* Attributes of a device, and of a function, by CUDA's numbers. */
enum {
    MAX_SHARED_PER_BLOCK = 8,
    MULTIPROCESSOR_COUNT = 16,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    MAX_SHARED_PER_BLOCK_OPTIN = 97,
};
enum { FUNCTION_MAX_THREADS = 0, FUNCTION_STATIC_SHARED = 1 };

enum { MOST_GPUS = 8, LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

/* An object, or an allocation. They stay in the list when they are dead, so that no name is given twice. */
typedef struct Object {
    struct Object *older;
    char kind; /* as in its name; 'f' for a kernel */
    unsigned number;
    int live;
    int device;
    char *memory; /* of 'd' and 'h'; the image of 'm' */
    size_t bytes;
    char name[64]; /* of 'f' */
} Object;

typedef struct { int retained; } Context;

static Object *objects;
static Context contexts[MOST_GPUS];
static int initialised;
static __thread Context *current;

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;

static unsigned long from_environment(const char *name, unsigned long otherwise) {
    const char *value = getenv(name);
    return value ? strtoul(value, NULL, 10) : otherwise;
}

static int gpus(void) {
    unsigned long count = from_environment("THALWEG_GPUS", 1);
    return count < MOST_GPUS ? (int)count : MOST_GPUS;
}

static size_t memory_of_a_gpu(void) { return from_environment("THALWEG_MEMORY", 1ul << 30); }

static int device_of(const Context *context) { return (int)(context - contexts); }

static size_t free_memory(int device) {
    size_t used = 0;
    for (Object *o = objects; o; o = o->older)
        if (o->kind == 'd' && o->live && o->device == device) used += o->bytes;
    size_t total = memory_of_a_gpu();
    return used < total ? total - used : 0;
}

static Object *create(char kind) {
    Object *object = calloc(1, sizeof *object);
    if (!object) abort();
    object->kind = kind;
    object->live = 1;
    object->device = device_of(current);
    object->number = 1;
    for (Object *o = objects; o; o = o->older)
        if (o->kind == kind && o->number >= object->number) object->number = o->number + 1;
    object->older = objects;
    objects = object;
    return object;
}

static int is_live(char kind, const void *handle) {
    for (Object *o = objects; o; o = o->older)
        if (o == handle) return o->kind == kind && o->live;
    return 0;
}

static Object *allocate(char kind, size_t bytes, int pattern) {
    size_t pages = (bytes + 4095) / 4096 * 4096;
    char *memory = aligned_alloc(4096, pages);
    if (!memory) return NULL;
    memset(memory, pattern, pages);
    Object *object = create(kind);
    object->memory = memory;
    object->bytes = bytes;
    return object;
}

/* The live allocation that holds all these bytes. */
static Object *holding(char kind, uintptr_t address, size_t bytes) {
    for (Object *o = objects; o; o = o->older) {
        if (o->kind != kind || !o->live) continue;
        uintptr_t start = (uintptr_t)o->memory;
        if (address >= start && address - start <= o->bytes && bytes <= o->bytes - (address - start)) return o;
    }
    return NULL;
}

static void release(Object *object) {
    object->live = 0;
    free(object->memory);
    object->memory = NULL;
}

/* A name for the record: `d1+4096`. The buffer is one of a few that take turns, enough for one line. */
static const char *name_of(char kind, uintptr_t address) {
    static char buffers[4][32];
    static unsigned turn;
    char *buffer = buffers[turn++ % 4];
    for (Object *o = objects; o; o = o->older) {
        if (o->kind != kind) continue;
        uintptr_t start = kind == 'd' || kind == 'h' ? (uintptr_t)o->memory : (uintptr_t)o;
        if (o->live && address == start) {
            snprintf(buffer, sizeof buffers[0], "%c%u", kind, o->number);
            return buffer;
        }
        if (o->live && o->memory && address > start && address - start <= o->bytes) {
            snprintf(buffer, sizeof buffers[0], "%c%u+%zu", kind, o->number, (size_t)(address - start));
            return buffer;
        }
    }
    snprintf(buffer, sizeof buffers[0], "%c?", kind);
    return buffer;
}

#define NAME(kind, handle) name_of(kind, (uintptr_t)(handle))

/* What every call but the first few needs. */
static CUresult ready(const char *symbol) {
    int code = fault(symbol);
    if (code) return code;
    if (!initialised) return NOT_INITIALIZED;
    if (!current || !current->retained) return INVALID_CONTEXT;
    return SUCCESS;
}

/* Ends a call: writes its line and gives its code on. */
__attribute__((format(printf, 2, 3))) static CUresult done(CUresult code, const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (code) record("%s -> %d", line, code);
    else record("%s", line);
    pthread_mutex_unlock(&lock);
    return code;
}

static CUresult done_quietly(CUresult code) {
    pthread_mutex_unlock(&lock);
    return code;
}

static void begin(void) { pthread_mutex_lock(&lock); }

/* --- the driver and its errors --- */

CUresult cuInit(unsigned flags) {
    begin();
    CUresult code = fault(__func__);
    if (!code && flags) code = INVALID_VALUE;
    if (!code && !gpus()) code = NO_DEVICE;
    if (!code) initialised = 1;
    return done(code, "cuInit");
}

static CUresult error_text(CUresult error, const char **text, int description) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == error) {
            *text = description ? errors[i].description : errors[i].name;
            return SUCCESS;
        }
    }
    *text = NULL;
    return INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **text) { return error_text(error, text, 0); }

CUresult cuGetErrorString(CUresult error, const char **text) { return error_text(error, text, 1); }

/* --- devices --- */

CUresult cuDeviceGetCount(int *count) {
    begin();
    CUresult code = fault(__func__);
    if (!code && !initialised) code = NOT_INITIALIZED;
    if (!code) *count = gpus();
    return done_quietly(code);
}

static CUresult of_device(const char *symbol, CUdevice device) {
    CUresult code = fault(symbol);
    if (code) return code;
    if (!initialised) return NOT_INITIALIZED;
    return device >= 0 && device < gpus() ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *device, int index) {
    begin();
    CUresult code = of_device(__func__, index);
    if (!code) *device = index;
    return done_quietly(code);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    begin();
    CUresult code = of_device(__func__, device);
    if (!code) snprintf(name, (size_t)bytes, "recording stub");
    return done_quietly(code);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    begin();
    CUresult code = of_device(__func__, device);
    if (!code) *bytes = memory_of_a_gpu();
    return done_quietly(code);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    begin();
    CUresult code = of_device(__func__, device);
    if (code) return done_quietly(code);
    switch (attribute) {
    case MAX_SHARED_PER_BLOCK: *value = 48 << 10; break;
    case MULTIPROCESSOR_COUNT: *value = 132; break;
    case COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case MAX_SHARED_PER_BLOCK_OPTIN: *value = 227 << 10; break;
    default: code = INVALID_VALUE;
    }
    return done_quietly(code);
}

/* --- contexts --- */

CUresult cuDevicePrimaryCtxRetain(Context **context, CUdevice device) {
    begin();
    CUresult code = of_device(__func__, device);
    if (!code) {
        *context = &contexts[device];
        (*context)->retained++;
    }
    return done(code, "cuDevicePrimaryCtxRetain %d", device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    begin();
    CUresult code = of_device(__func__, device);
    if (!code && !contexts[device].retained) code = INVALID_CONTEXT;
    if (!code) contexts[device].retained--;
    return done(code, "cuDevicePrimaryCtxRelease %d", device);
}

CUresult cuCtxSetCurrent(Context *context) {
    begin();
    CUresult code = fault(__func__);
    if (!code && context && !context->retained) code = INVALID_CONTEXT;
    if (!code) current = context;
    return done_quietly(code);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    begin();
    CUresult code = ready(__func__);
    if (!code) {
        *least = LEAST_PRIORITY;
        *greatest = GREATEST_PRIORITY;
    }
    return done_quietly(code);
}

/* --- memory --- */

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    begin();
    CUresult code = ready(__func__);
    if (!code) {
        *free_bytes = free_memory(device_of(current));
        *total = memory_of_a_gpu();
    }
    return done_quietly(code);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    begin();
    CUresult code = ready(__func__);
    if (!code && !bytes) code = INVALID_VALUE;
    if (!code && bytes > free_memory(device_of(current))) code = OUT_OF_MEMORY;
    Object *object = code ? NULL : allocate('d', bytes, 0xdd);
    if (!code && !object) code = OUT_OF_MEMORY;
    if (code) return done(code, "cuMemAlloc %zu", bytes);
    *address = (uintptr_t)object->memory;
    return done(code, "cuMemAlloc d%u %zu", object->number, bytes);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    begin();
    const char *name = NAME('d', address);
    CUresult code = ready(__func__);
    Object *object = holding('d', (uintptr_t)address, 1);
    if (!code && (!object || (uintptr_t)object->memory != address)) code = INVALID_VALUE;
    if (!code) release(object);
    return done(code, "cuMemFree %s", name);
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    begin();
    CUresult code = ready(__func__);
    if (!code && !bytes) code = INVALID_VALUE;
    Object *object = code ? NULL : allocate('h', bytes, 0xaa);
    if (!code && !object) code = OUT_OF_MEMORY;
    if (code) return done(code, "cuMemHostAlloc %zu flags=%u", bytes, flags);
    *memory = object->memory;
    return done(code, "cuMemHostAlloc h%u %zu flags=%u", object->number, bytes, flags);
}

CUresult cuMemFreeHost(void *memory) {
    begin();
    const char *name = NAME('h', memory);
    CUresult code = ready(__func__);
    Object *object = holding('h', (uintptr_t)memory, 1);
    if (!code && (!object || object->memory != memory)) code = INVALID_VALUE;
    if (!code) release(object);
    return done(code, "cuMemFreeHost %s", name);
}

/* --- streams and events --- */

CUresult cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    begin();
    CUresult code = ready(__func__);
    if (code) return done(code, "cuStreamCreateWithPriority flags=%u priority=%d", flags, priority);
    Object *object = create('s');
    *stream = object;
    return done(code, "cuStreamCreateWithPriority s%u flags=%u priority=%d", object->number, flags, priority);
}

static CUresult with(const char *symbol, char kind, const void *handle) {
    CUresult code = ready(symbol);
    return code || is_live(kind, handle) ? code : INVALID_HANDLE;
}

CUresult cuStreamDestroy_v2(Object *stream) {
    begin();
    const char *name = NAME('s', stream);
    CUresult code = with(__func__, 's', stream);
    if (!code) release(stream);
    return done(code, "cuStreamDestroy %s", name);
}

CUresult cuStreamSynchronize(Object *stream) {
    begin();
    return done(with(__func__, 's', stream), "cuStreamSynchronize %s", NAME('s', stream));
}

CUresult cuStreamWaitEvent(Object *stream, Object *event, unsigned flags) {
    begin();
    CUresult code = with(__func__, 's', stream);
    if (!code && !is_live('e', event)) code = INVALID_HANDLE;
    if (!code && flags) code = INVALID_VALUE;
    return done(code, "cuStreamWaitEvent %s %s", NAME('s', stream), NAME('e', event));
}

CUresult cuEventCreate(void **event, unsigned flags) {
    begin();
    CUresult code = ready(__func__);
    if (code) return done(code, "cuEventCreate flags=%u", flags);
    Object *object = create('e');
    *event = object;
    return done(code, "cuEventCreate e%u flags=%u", object->number, flags);
}

CUresult cuEventDestroy_v2(Object *event) {
    begin();
    const char *name = NAME('e', event);
    CUresult code = with(__func__, 'e', event);
    if (!code) release(event);
    return done(code, "cuEventDestroy %s", name);
}

CUresult cuEventRecord(Object *event, Object *stream) {
    begin();
    CUresult code = with(__func__, 'e', event);
    if (!code && !is_live('s', stream)) code = INVALID_HANDLE;
    return done(code, "cuEventRecord %s %s", NAME('e', event), NAME('s', stream));
}

CUresult cuEventSynchronize(Object *event) {
    begin();
    return done(with(__func__, 'e', event), "cuEventSynchronize %s", NAME('e', event));
}

/* --- copies --- */

static CUresult copy(
    const char *symbol, char to_kind, uintptr_t to, char from_kind, uintptr_t from, size_t bytes, Object *stream
) {
    CUresult code = with(symbol, 's', stream);
    if (!code && (!holding(to_kind, to, bytes) || !holding(from_kind, from, bytes))) code = INVALID_VALUE;
    if (!code) memmove((void *)to, (const void *)from, bytes);
    int length = (int)length_without_version(symbol, strlen(symbol));
    return done(
        code, "%.*s %s %s %zu %s", length, symbol, name_of(to_kind, to), name_of(from_kind, from), bytes,
        NAME('s', stream)
    );
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, Object *stream) {
    begin();
    return copy(__func__, 'd', (uintptr_t)to, 'h', (uintptr_t)from, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, Object *stream) {
    begin();
    return copy(__func__, 'h', (uintptr_t)to, 'd', (uintptr_t)from, bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, Object *stream) {
    begin();
    return copy(__func__, 'd', (uintptr_t)to, 'd', (uintptr_t)from, bytes, stream);
}

/* `count` words of `word` bytes, each `pitch` bytes after the one before. */
static CUresult set(
    const char *symbol, uintptr_t to, size_t pitch, unsigned value, size_t word, size_t count, Object *stream
) {
    CUresult code = with(symbol, 's', stream);
    if (!code && count && !holding('d', to, pitch * (count - 1) + word)) code = INVALID_VALUE;
    for (size_t i = 0; !code && i < count; i++) memcpy((char *)to + i * pitch, &value, word);
    return done(
        code, "%s %s %zu %x %zu %s", symbol, name_of('d', to), pitch, value, count, NAME('s', stream)
    );
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, Object *stream) {
    begin();
    return set(__func__, (uintptr_t)to, 1, value, 1, count, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, Object *stream) {
    begin();
    return set(__func__, (uintptr_t)to, 2, value, 2, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, Object *stream) {
    begin();
    return set(__func__, (uintptr_t)to, 4, value, 4, count, stream);
}

/* Rows of one word, which is all that the backend asks for. */
CUresult cuMemsetD2D8Async(
    CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, Object *stream
) {
    begin();
    return set(__func__, (uintptr_t)to, pitch, value, 1, width == 1 ? height : 0, stream);
}

CUresult cuMemsetD2D16Async(
    CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, Object *stream
) {
    begin();
    return set(__func__, (uintptr_t)to, pitch, value, 2, width == 1 ? height : 0, stream);
}

CUresult cuMemsetD2D32Async(
    CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, Object *stream
) {
    begin();
    return set(__func__, (uintptr_t)to, pitch, value, 4, width == 1 ? height : 0, stream);
}

/* --- modules and kernels --- */

/* The image is what the NVRTC stub makes: a line `stub image`, then the source. */
CUresult cuModuleLoadData(void **module, const void *image) {
    begin();
    CUresult code = ready(__func__);
    if (!code && strncmp(image, "stub image\n", 11)) code = INVALID_IMAGE;
    if (code) return done(code, "cuModuleLoadData");
    Object *object = create('m');
    object->memory = strdup(image);
    if (!object->memory) abort();
    *module = object;
    return done(code, "cuModuleLoadData m%u", object->number);
}

CUresult cuModuleUnload(Object *module) {
    begin();
    const char *name = NAME('m', module);
    CUresult code = with(__func__, 'm', module);
    if (!code) release(module);
    return done(code, "cuModuleUnload %s", name);
}

/* Whether the source has `name` followed by a parenthesis. */
static int has_kernel(const char *source, const char *name) {
    size_t length = strlen(name);
    for (const char *at = source; (at = strstr(at, name)); at += length) {
        char before = at[-1], after = at[length + strspn(at + length, " \n")];
        if (strchr(" \n*", before) && after == '(') return 1;
    }
    return 0;
}

CUresult cuModuleGetFunction(void **function, Object *module, const char *name) {
    begin();
    CUresult code = with(__func__, 'm', module);
    if (!code && !has_kernel(module->memory + 10, name)) code = NOT_FOUND;
    if (!code) {
        Object *object = create('f');
        snprintf(object->name, sizeof object->name, "%s", name);
        *function = object;
    }
    return done(code, "cuModuleGetFunction %s %s", NAME('m', module), name);
}

CUresult cuFuncLoad(Object *function) {
    begin();
    CUresult code = with(__func__, 'f', function);
    return done(code, "cuFuncLoad %s", code == INVALID_HANDLE ? "f?" : function->name);
}

CUresult cuFuncGetAttribute(int *value, int attribute, Object *function) {
    begin();
    CUresult code = with(__func__, 'f', function);
    if (code) return done_quietly(code);
    switch (attribute) {
    case FUNCTION_MAX_THREADS: *value = 1024; break;
    case FUNCTION_STATIC_SHARED: *value = 0; break;
    default: code = INVALID_VALUE;
    }
    return done_quietly(code);
}

CUresult cuFuncSetAttribute(Object *function, int attribute, int value) {
    begin();
    CUresult code = with(__func__, 'f', function);
    const char *name = code == INVALID_HANDLE ? "f?" : function->name;
    return done(code, "cuFuncSetAttribute %s %d %d", name, attribute, value);
}

CUresult cuLaunchKernel(
    Object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
    unsigned block_z, unsigned shared, Object *stream, void **params, void **extra
) {
    begin();
    CUresult code = with(__func__, 'f', function);
    const char *name = code == INVALID_HANDLE ? "f?" : function->name;
    if (!code && !is_live('s', stream)) code = INVALID_HANDLE;
    if (!code && (!params || extra)) code = INVALID_VALUE;
    return done(
        code, "cuLaunchKernel %s <<<(%u, %u, %u), (%u, %u, %u), %u, %s>>>", name, grid_x, grid_y, grid_z, block_x,
        block_y, block_z, shared, NAME('s', stream)
    );
}
