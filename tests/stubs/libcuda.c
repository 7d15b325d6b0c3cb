/* A CUDA driver without a GPU: records what it is asked to do, and does the copies.
 *
 *     cc -shared -fPIC -pthread -o DIR/libcuda.so libcuda.c
 *     LD_LIBRARY_PATH=DIR THALWEG_RECORD=calls.txt program
 *
 * The record has one line for each call that creates, destroys, enqueues or waits; questions (names, attributes, free
 * memory) and the setting of the current context are left out. Objects have names in the order of their creation,
 * which no run changes: streams s1, s2, ...; events e1, ...; modules m1, ...; graphs g1, ..., their nodes n1, ... and
 * what is launched of them x1, ...; device memory d1, ...; page-locked memory h1, ..., and h1+64 for an address inside
 * it. A module's variable is device memory. A kernel goes by its own name, the legacy null stream by `null`. A call that fails ends in ` -> code`.
 *
 * Everything happens at once, at the call: copies copy, launches do nothing, waits return, host functions are called, on
 * a thread of their own. But a wait for a word of memory only holds up the next call that has to do with its stream.
 * Fresh memory is filled with a pattern, so that a test sees who relies on zeros. What a real driver would refuse is refused: a thread with
 * no current context, a handle that is not live, an address outside of any allocation. So is an asynchronous copy from
 * or to host memory that is not page-locked, which a real driver would do synchronously.
 *
 * record.h has the variables THALWEG_RECORD and THALWEG_FAIL. Also:
 * THALWEG_GPUS=n           how many devices there are; 1 if not set
 * THALWEG_MEMORY=bytes     memory of each device; 1 GiB if not set
 * THALWEG_DEAF=n           the n-th host function (from 1) and those that follow are never called
 * THALWEG_NO_MEMORY_WAIT=1 no device can wait for a word of memory
 * THALWEG_LATE_WRITES=1    a stream writes a word of memory when it is waited for, if that does not fail
 * THALWEG_CAPABILITY=n     compute capability of each device; 90 if not set
 * THALWEG_NO_COOPERATION=1 no device has cooperative launches
 * THALWEG_PARAMETERS=4,8   the sizes of every kernel's parameters; the driver cannot tell them if not set
 * THALWEG_WHICH=1          each line begins with the number of the calling thread's current device, `1| `
 * THALWEG_NO_PEERS=1       no device reaches another's memory
 * THALWEG_WRONG_PEERS=n    copies between devices are wrong: 1 where access to the peer is enabled, 2 everywhere
 * THALWEG_WHO=1            and with that of the thread, in the order of their first calls, `t2 `
 * THALWEG_QUESTIONS=1      the record has the questions about kernels, too
 * THALWEG_FAULT=place      a thread of each launch of a kernel in Rust fails there
 * THALWEG_NO_FAULT=n       but for the first n launches
 * THALWEG_NEEDED=n         and it leaves this number behind its place
 * THALWEG_GIVEN=n          and this one behind that
 *
 * Compiled with -DWRITE_VALUE streams can write words of memory.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>

#include "record.h"

#include <unistd.h>

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
    NOT_READY = 600,
    PEER_ACCESS_ALREADY_ENABLED = 704,
    PEER_ACCESS_NOT_ENABLED = 705,
    PEER_ACCESS_UNSUPPORTED = 217,
    NOT_SUPPORTED = 801,
};

static const struct { int code; const char *name, *description; } errors[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/* Attributes of a device, and of a function, by CUDA's numbers. */
enum {
    MAX_SHARED_PER_BLOCK = 8,
    MULTIPROCESSOR_COUNT = 16,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    MAX_SHARED_PER_BLOCK_OPTIN = 97,
    SAME_ADDRESS_IF_REGISTERED = 91, COOPERATIVE_LAUNCH = 95,
};
enum { MULTIPROCESSORS = 132, THREADS_PER_MULTIPROCESSOR = 2048, BLOCKS_PER_MULTIPROCESSOR = 32 };
enum {
    FUNCTION_MAX_THREADS = 0,
    FUNCTION_STATIC_SHARED = 1,
    FUNCTION_CLUSTER_WIDTH = 11,
    FUNCTION_CLUSTER_DEPTH = 13,
    FUNCTION_NON_PORTABLE_CLUSTER = 14,
};
enum { PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16 };

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
    unsigned cluster[3]; /* of 'f': the `__cluster_dims__` of its source, or 0 */
    int non_portable; /* of 'f': whether its clusters may be larger than the portable ones */
    const uint32_t *word; /* what 's' waits for, to be `value` or further on */
    uint32_t value;
    uint32_t *late; /* what 's' writes when it is waited for */
    uint32_t late_value;
    struct Object *graph; /* of 'n' and 'x'; of a 'd' that is a variable, and of 'f', its module */
    struct Node *work; /* of 'n'; of 'x' for each of the graph's nodes, in the order of their creation */
} Object;

/* The legacy null stream, which has a fixed handle. */
static Object null_stream = {.kind = 's', .live = 1};
#define LEGACY ((Object *)1)

/* What a node does: copies rows of bytes, writes words, or nothing (empty nodes, and kernels, whose threads may fail,
 * but for the one that copies). */
typedef struct Node {
    struct Node *next;
    const Object *node;
    char kind; /* 'c', 's', 'k' or 'e' */
    char to_kind, from_kind;
    uintptr_t to, from;
    size_t bytes, pitch, word, width, height;
    unsigned value;
    const Object *function;
} Node;

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
#ifdef THALWEG_SILENT
    return kind && handle;
#endif
    if (handle == LEGACY) return kind == 's';
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
    while (object->work) {
        Node *node = object->work;
        object->work = node->next;
        free(node);
    }
    free(object->memory);
    object->memory = NULL;
}

/* A name for the record: `d1+4096`. The buffer is one of a few that take turns, enough for one line. */
static const char *name_of(char kind, uintptr_t address) {
#ifdef THALWEG_SILENT
    return kind && address ? "" : "?";
#endif
    static char buffers[4][32];
    static unsigned turn;
    char *buffer = buffers[turn++ % 4];
    if (kind == 's' && address == (uintptr_t)LEGACY) return "null";
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

static int device_at_hand(void) { return current ? (int)(current - contexts) : -1; }

/* Ends a call: writes its line and gives its code on. */
__attribute__((format(printf, 2, 3))) static CUresult done(CUresult code, const char *format, ...) {
#ifdef THALWEG_SILENT
    pthread_mutex_unlock(&lock);
    return code;
#endif
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    static unsigned threads;
    static __thread unsigned thread;
    if (!thread) thread = ++threads;
    char which[32] = "";
    size_t length = 0;
    if (getenv("THALWEG_WHO")) length = (size_t)snprintf(which, sizeof which, "t%u ", thread);
    if (getenv("THALWEG_WHICH")) snprintf(which + length, sizeof which - length, "%d| ", device_at_hand());
    if (code) record("%s%s -> %d", which, line, code);
    else record("%s%s", which, line);
    pthread_mutex_unlock(&lock);
    return code;
}

static CUresult done_quietly(CUresult code) {
    pthread_mutex_unlock(&lock);
    return code;
}

/* Ends a question about a kernel. */
static CUresult asked(CUresult code, const char *call, const Object *function) {
    const char *name = code == INVALID_HANDLE ? "f?" : function->name;
    if (getenv("THALWEG_QUESTIONS")) return done(code, "%s %s", call, name);
    return done_quietly(code);
}

/* A real driver may let nobody in while it waits for a device, which may wait for a host function: none may come here. */
static void begin(void) {
#ifdef THALWEG_SILENT
    pthread_mutex_lock(&lock);
    return;
#endif
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (!strcmp(name, "thalweg-host")) {
        fputs("a host function has called the driver\n", stderr);
        abort();
    }
    pthread_mutex_lock(&lock);
}

/* For stubs of other libraries: writes the name of a stream or an address ('s', 'd') to `name`, of 32 bytes. Gives whether
 * the thread has a current context. */
int thalweg_stub_name(char kind, uintptr_t handle, char *name) {
    begin();
    snprintf(name, 32, "%s", handle ? name_of(kind, handle) : "-");
    int ready = current && current->retained;
    done_quietly(SUCCESS);
    return ready;
}

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

CUresult cuDriverGetVersion(int *version) {
    *version = 12080;
    return SUCCESS;
}

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
    case MULTIPROCESSOR_COUNT: *value = MULTIPROCESSORS; break;
    case COMPUTE_CAPABILITY_MAJOR: *value = (int)from_environment("THALWEG_CAPABILITY", 90) / 10; break;
    case COMPUTE_CAPABILITY_MINOR: *value = (int)from_environment("THALWEG_CAPABILITY", 90) % 10; break;
    case SAME_ADDRESS_IF_REGISTERED: *value = !from_environment("THALWEG_OTHER_ADDRESSES", 0); break;
    case COOPERATIVE_LAUNCH: *value = !from_environment("THALWEG_NO_COOPERATION", 0); break;
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

CUresult cuCtxGetCurrent(Context **context) {
    begin();
    CUresult code = fault(__func__);
    if (!code) *context = current;
    return done_quietly(code);
}

CUresult cuCtxGetDevice(CUdevice *device) {
    begin();
    CUresult code = ready(__func__);
    if (!code) *device = (CUdevice)(current - contexts);
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

CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    begin();
    CUresult code = ready(__func__);
    if (!code && (!memory || !bytes)) code = INVALID_VALUE;
    return done(code, "cuMemHostRegister %zu flags=%u", bytes, flags);
}

CUresult cuMemHostUnregister(void *memory) {
    begin();
    CUresult code = ready(__func__);
    if (!code && !memory) code = INVALID_VALUE;
    return done(code, "cuMemHostUnregister");
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

/* Waits for what the stream waits for. Other threads go on meanwhile. */
static void settle(Object *stream) {
    enum { MOST_TENTHS_OF_A_MILLISECOND = 200000 };
    for (int i = 0; stream->word; i++) {
        if ((int32_t)(__atomic_load_n(stream->word, __ATOMIC_ACQUIRE) - stream->value) >= 0) {
            stream->word = NULL;
            return;
        }
        if (i == MOST_TENTHS_OF_A_MILLISECOND) {
            fprintf(stderr, "a stream waits for ever\n");
            abort();
        }
        pthread_mutex_unlock(&lock);
        usleep(100);
        pthread_mutex_lock(&lock);
    }
}

/* For stubs of other libraries: the stream goes on once `word` is `value` or beyond it. */
void thalweg_stub_hold(Object *stream, const uint32_t *word, uint32_t value) {
    begin();
    Object *object = stream == LEGACY ? &null_stream : stream;
    object->word = word;
    object->value = value;
    done_quietly(SUCCESS);
}

static CUresult with(const char *symbol, char kind, const void *handle) {
    CUresult code = ready(symbol);
    if (code) return code;
    if (!is_live(kind, handle)) return INVALID_HANDLE;
    if (kind == 's') settle(handle == LEGACY ? &null_stream : (Object *)handle);
    return SUCCESS;
}

CUresult cuStreamDestroy_v2(Object *stream) {
    begin();
    const char *name = NAME('s', stream);
    /* A stream with work left may be destroyed. */
    CUresult code = ready(__func__);
    if (!code && (stream == LEGACY || !is_live('s', stream))) code = INVALID_HANDLE;
    if (!code) release(stream);
    return done(code, "cuStreamDestroy %s", name);
}

CUresult cuStreamSynchronize(Object *stream) {
    begin();
    CUresult code = with(__func__, 's', stream);
    Object *object = stream == LEGACY ? &null_stream : stream;
    if (!code && object->late) {
        __atomic_store_n(object->late, object->late_value, __ATOMIC_RELEASE);
        object->late = NULL;
    }
    return done(code, "cuStreamSynchronize %s", NAME('s', stream));
}

CUresult cuStreamQuery(Object *stream) {
    begin();
    return done(with(__func__, 's', stream), "cuStreamQuery %s", NAME('s', stream));
}

CUresult cuCtxSynchronize(void) {
    begin();
    return done(ready(__func__), "cuCtxSynchronize");
}

CUresult cuStreamWaitEvent(Object *stream, Object *event, unsigned flags) {
    begin();
    CUresult code = with(__func__, 's', stream);
    if (!code && !is_live('e', event)) code = INVALID_HANDLE;
    if (!code && flags) code = INVALID_VALUE;
    code = done(code, "cuStreamWaitEvent %s %s", NAME('s', stream), NAME('e', event));
    /* A stream whose queue is full keeps its caller so many milliseconds, and nobody else. */
    usleep((useconds_t)(1000 * from_environment("THALWEG_FULL", 0)));
    return code;
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
    CUresult code = with(__func__, 's', stream);
    if (!code && !is_live('e', event)) code = INVALID_HANDLE;
    return done(code, "cuEventRecord %s %s", NAME('e', event), NAME('s', stream));
}

CUresult cuEventSynchronize(Object *event) {
    begin();
    return done(with(__func__, 'e', event), "cuEventSynchronize %s", NAME('e', event));
}

CUresult cuEventQuery(Object *event) {
    static uint32_t asked; /* of so many answers about one is that the device is not done, without a pattern */
    begin();
    CUresult code = with(__func__, 'e', event);
    unsigned long every = from_environment("THALWEG_BUSY", 0);
    if (!code && every && (asked++ * 2654435761u >> 16) % every == 0) code = NOT_READY;
    return done(code, "cuEventQuery %s", NAME('e', event));
}

CUresult cuEventElapsedTime(float *milliseconds, Object *from, Object *to) {
    begin();
    CUresult code = with(__func__, 'e', from);
    if (!code && !is_live('e', to)) code = INVALID_HANDLE;
    *milliseconds = 0;
    return done(code, "cuEventElapsedTime %s %s", NAME('e', from), NAME('e', to));
}

/* --- host functions --- */

typedef struct { void (*function)(void *); void *argument; } HostFunction;

static void *call(void *host) {
    HostFunction *it = host;
    it->function(it->argument);
    return NULL;
}

CUresult cuLaunchHostFunc(Object *stream, void (*function)(void *), void *argument) {
    static unsigned long functions;
    begin();
    CUresult code = with(__func__, 's', stream);
    if (!code && !function) code = INVALID_VALUE;
    HostFunction host = {function, argument};
    int deaf = !code && ++functions >= from_environment("THALWEG_DEAF", ~0ul);
    code = done(code, "cuLaunchHostFunc %s", NAME('s', stream));
    if (code || deaf) return code;
    pthread_t thread;
    if (pthread_create(&thread, NULL, call, &host)) abort();
    pthread_join(thread, NULL);
    return code;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags) {
    begin();
    CUresult code = ready(__func__);
    if (!code && (flags || !holding('h', (uintptr_t)host, 1))) code = INVALID_VALUE;
    if (!code) *device = (uintptr_t)host;
    return done_quietly(code);
}

/* Only `at least`, the flags' default. */
CUresult cuStreamWaitValue32_v2(Object *stream, CUdeviceptr at, uint32_t value, unsigned flags) {
    begin();
    CUresult code = with(__func__, 's', stream);
    if (!code && from_environment("THALWEG_NO_MEMORY_WAIT", 0)) code = NOT_SUPPORTED;
    if (!code && (flags || at % 4 || !holding('h', (uintptr_t)at, 4))) code = INVALID_VALUE;
    if (!code) {
        Object *object = stream == LEGACY ? &null_stream : stream;
        object->word = (const uint32_t *)(uintptr_t)at;
        object->value = value;
    }
    return done(
        code, "cuStreamWaitValue32 %s %s %u", NAME('s', stream), name_of('h', (uintptr_t)at), value
    );
}

#ifdef WRITE_VALUE
CUresult cuStreamWriteValue32_v2(Object *stream, CUdeviceptr at, uint32_t value, unsigned flags) {
    begin();
    CUresult code = with(__func__, 's', stream);
    if (!code && (flags || at % 4 || !holding('h', (uintptr_t)at, 4))) code = INVALID_VALUE;
    uint32_t *word = (uint32_t *)(uintptr_t)at;
    Object *object = stream == LEGACY ? &null_stream : stream;
    if (!code && from_environment("THALWEG_LATE_WRITES", 0)) object->late = word, object->late_value = value;
    else if (!code) __atomic_store_n(word, value, __ATOMIC_RELEASE);
    return done(
        code, "cuStreamWriteValue32 %s %s %u", NAME('s', stream), name_of('h', (uintptr_t)at), value
    );
}
#endif

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

/* From any host memory. */
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    begin();
    CUresult code = ready(__func__);
    if (!code && !holding('d', (uintptr_t)to, bytes)) code = INVALID_VALUE;
    if (!code) memcpy((void *)(uintptr_t)to, from, bytes);
    return done(code, "cuMemcpyHtoD %s %zu", name_of('d', (uintptr_t)to), bytes);
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

/* Access is enabled from a context to its peer. */
static int reaches[MOST_GPUS][MOST_GPUS];

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    begin();
    CUresult code = of_device(__func__, device);
    if (!code) code = of_device(__func__, peer);
    if (!code) *can = device != peer && !from_environment("THALWEG_NO_PEERS", 0);
    return done_quietly(code);
}

static CUresult change_peer(const char *symbol, Context *peer, unsigned flags, int enable) {
    CUresult code = ready(symbol);
    if (!code && (flags || !peer || !peer->retained || peer == current)) code = INVALID_CONTEXT;
    int *reached = code ? NULL : &reaches[current - contexts][peer - contexts];
    if (!code && from_environment("THALWEG_NO_PEERS", 0)) code = PEER_ACCESS_UNSUPPORTED;
    if (!code && *reached == enable) code = enable ? PEER_ACCESS_ALREADY_ENABLED : PEER_ACCESS_NOT_ENABLED;
    if (!code) *reached = enable;
    return done(code, "%s %d %d", symbol, device_at_hand(), peer ? (int)(peer - contexts) : -1);
}

CUresult cuCtxEnablePeerAccess(Context *peer, unsigned flags) {
    begin();
    return change_peer(__func__, peer, flags, 1);
}

CUresult cuCtxDisablePeerAccess(Context *peer) {
    begin();
    return change_peer(__func__, peer, 0, 0);
}

CUresult cuMemcpyPeerAsync(
    CUdeviceptr to, Context *to_context, CUdeviceptr from, Context *from_context, size_t bytes, Object *stream
) {
    begin();
    CUresult code = with(__func__, 's', stream);
    Object *target = holding('d', (uintptr_t)to, bytes), *source = holding('d', (uintptr_t)from, bytes);
    if (!code && (!target || !source)) code = INVALID_VALUE;
    if (!code && (target->device != to_context - contexts || source->device != from_context - contexts))
        code = INVALID_CONTEXT;
    if (!code) memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    unsigned long wrong = from_environment("THALWEG_WRONG_PEERS", 0);
    if (!code && bytes && (wrong == 2 || (wrong == 1 && reaches[source->device][target->device])))
        *((char *)(uintptr_t)to + bytes / 2) ^= 1;
    return done(
        code, "cuMemcpyPeerAsync %s %s %zu %s", name_of('d', (uintptr_t)to), name_of('d', (uintptr_t)from), bytes,
        NAME('s', stream)
    );
}

typedef struct {
    size_t x, y;
    int type; /* 1 on the host, 2 on the device */
    void *host;
    CUdeviceptr device;
    void *array;
    size_t pitch;
} Side;

typedef struct { Side from, to; size_t width, height; } Copy2D;

CUresult cuMemcpy2DAsync_v2(const Copy2D *it, Object *stream) {
    begin();
    CUresult code = with(__func__, 's', stream);
    const Side *sides[] = {&it->from, &it->to};
    char *at[2];
    for (int i = 0; i < 2; i++) {
        int on_host = sides[i]->type == 1;
        uintptr_t start = on_host ? (uintptr_t)sides[i]->host : sides[i]->device;
        size_t bytes = sides[i]->pitch * (it->height - 1) + it->width;
        if (!code && (sides[i]->pitch < it->width || !holding(on_host ? 'h' : 'd', start, bytes)))
            code = INVALID_VALUE;
        at[i] = (char *)start;
    }
    for (size_t row = 0; !code && row < it->height; row++)
        memcpy(at[1] + row * it->to.pitch, at[0] + row * it->from.pitch, it->width);
    return done(code, "cuMemcpy2DAsync %zux%zu %s", it->width, it->height, NAME('s', stream));
}

/* `count` words of `word` bytes, each `pitch` bytes after the one before. */
static CUresult set(
    const char *symbol, uintptr_t to, size_t pitch, unsigned value, size_t word, size_t count, Object *stream
) {
    CUresult code = with(symbol, 's', stream);
    if (!code && count && (to % word || !holding('d', to, pitch * (count - 1) + word))) code = INVALID_VALUE;
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

/* The image is PTX, or what the NVRTC stub makes: a line `stub image`, then the source. The options are a buffer for what
 * is wrong, and its size. */
CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, const int *options, void **values) {
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };
    begin();
    CUresult code = ready(__func__);
    if (!code && (count != 2 || options[0] != ERROR_LOG || options[1] != ERROR_LOG_BYTES)) code = INVALID_VALUE;
    if (!code && strncmp(image, "stub image\n", 11) && !strstr(image, ".version")) code = INVALID_IMAGE;
    if (code && count) snprintf(values[0], (size_t)values[1], "%s", strstr(image, ".version") ? "stub: no good PTX" : "");
    if (code) return done(code, "cuModuleLoadDataEx");
    Object *object = create('m');
    object->memory = strdup(image);
    if (!object->memory) abort();
    *module = object;
    return done(code, "cuModuleLoadDataEx m%u", object->number);
}

CUresult cuModuleUnload(Object *module) {
    begin();
    const char *name = NAME('m', module);
    CUresult code = with(__func__, 'm', module);
    for (Object *o = objects; !code && o; o = o->older)
        if (o->kind == 'd' && o->live && o->graph == module) release(o);
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
        object->graph = module;
        snprintf(object->name, sizeof object->name, "%s", name);
        for (const char *at = module->memory; (at = strstr(at, "__cluster_dims__(")); at++) {
            unsigned n[3];
            char of[64];
            int read = sscanf(at, "__cluster_dims__(%u, %u, %u) %63[^ (]", n, n + 1, n + 2, of);
            if (read == 4 && !strcmp(of, name)) memcpy(object->cluster, n, sizeof n);
        }
        *function = object;
    }
    return done(code, "cuModuleGetFunction %s %s", NAME('m', module), name);
}

/* A variable `float name[n]`, or the address of the word for the faults of a kernel in Rust. */
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, Object *module, const char *name) {
    begin();
    CUresult code = with(__func__, 'm', module);
    int is_word = !strcmp(name, "thalweg_fault");
    char declaration[128];
    snprintf(declaration, sizeof declaration, is_word ? "u32* %s;" : "float %s[", name);
    const char *found = code ? NULL : strstr(module->memory, declaration);
    if (!code && !found) code = NOT_FOUND;
    if (code) return done(code, "cuModuleGetGlobal %s %s", NAME('m', module), name);
    *bytes = is_word ? sizeof(CUdeviceptr) : 4 * strtoul(found + strlen(declaration), NULL, 10);
    Object *object = allocate('d', *bytes, 0xcc);
    if (!object) abort();
    object->graph = module;
    *address = (uintptr_t)object->memory;
    return done(code, "cuModuleGetGlobal m%u %s d%u %zu", module->number, name, object->number, *bytes);
}

CUresult cuFuncGetParamInfo(Object *function, size_t index, size_t *offset, size_t *bytes) {
    begin();
    CUresult code = with(__func__, 'f', function);
    const char *sizes = getenv("THALWEG_PARAMETERS");
    if (!code && !sizes) code = NOT_SUPPORTED;
    *offset = 0;
    for (; !code && *sizes && index; index--) {
        sizes += strcspn(sizes, ",");
        sizes += *sizes == ',';
    }
    if (!code && !*sizes) code = INVALID_VALUE;
    if (!code) *bytes = strtoul(sizes, NULL, 10);
    return asked(code, "cuFuncGetParamInfo", function);
}

CUresult cuFuncGetParamCount(Object *function, size_t *count) {
    begin();
    CUresult code = with(__func__, 'f', function);
    const char *sizes = getenv("THALWEG_PARAMETERS");
    if (!code && !sizes) code = NOT_SUPPORTED;
    *count = sizes && *sizes;
    for (; !code && *sizes; sizes++) *count += *sizes == ',';
    return asked(code, "cuFuncGetParamCount", function);
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
    default:
        if (attribute < FUNCTION_CLUSTER_WIDTH || attribute > FUNCTION_CLUSTER_DEPTH) code = INVALID_VALUE;
        else *value = (int)function->cluster[attribute - FUNCTION_CLUSTER_WIDTH];
    }
    return asked(code, "cuFuncGetAttribute", function);
}

CUresult cuFuncSetAttribute(Object *function, int attribute, int value) {
    begin();
    CUresult code = with(__func__, 'f', function);
    const char *name = code == INVALID_HANDLE ? "f?" : function->name;
    if (!code && attribute == FUNCTION_NON_PORTABLE_CLUSTER) function->non_portable = value;
    return done(code, "cuFuncSetAttribute %s %d %d", name, attribute, value);
}

/* As CUDA has them. */
typedef struct {
    int id;
    char pad[4];
    union {
        char all[64];
        int cooperative;
        unsigned cluster[3];
    } value;
} Attribute;

typedef struct {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    Object *stream;
    const Attribute *attributes;
    unsigned count;
} Config;

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

/* Words of a line: ` cluster=(2, 1, 1)`. */
static const char *attribute_text(int id, const void *value) {
    static char text[64];
    const unsigned *n = value;
    if (id == ATTRIBUTE_CLUSTER) snprintf(text, sizeof text, " cluster=(%u, %u, %u)", n[0], n[1], n[2]);
    else if (id == ATTRIBUTE_COOPERATIVE) snprintf(text, sizeof text, " cooperative=%u", *n);
    else snprintf(text, sizeof text, " attribute %d", id);
    return text;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Object *function, int block, size_t shared) {
    begin();
    CUresult code = with(__func__, 'f', function);
    (void)shared;
    if (!code && block < 1) code = INVALID_VALUE;
    if (!code) *blocks = THREADS_PER_MULTIPROCESSOR / block;
    if (!code && *blocks > BLOCKS_PER_MULTIPROCESSOR) *blocks = BLOCKS_PER_MULTIPROCESSOR;
    return asked(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor", function);
}

CUresult cuOccupancyMaxPotentialClusterSize(int *blocks, Object *function, const Config *config) {
    begin();
    CUresult code = with(__func__, 'f', function);
    if (!code && config->count) code = INVALID_VALUE;
    if (!code) *blocks = function->non_portable ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    return asked(code, "cuOccupancyMaxPotentialClusterSize", function);
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, Object *function, const Config *config) {
    begin();
    CUresult code = with(__func__, 'f', function);
    if (!code && (config->count != 1 || config->attributes->id != ATTRIBUTE_CLUSTER)) code = INVALID_VALUE;
    const unsigned *cluster = code ? NULL : config->attributes->value.cluster;
    if (!code) *clusters = (int)(MULTIPROCESSORS / (cluster[0] * cluster[1] * cluster[2]));
    return asked(code, "cuOccupancyMaxActiveClusters", function);
}

CUresult cuLaunchKernelEx(const Config *config, Object *function, void **params, void **extra) {
    begin();
    CUresult code = with(__func__, 'f', function);
    const char *name = code == INVALID_HANDLE ? "f?" : function->name;
    if (!code && !is_live('s', config->stream)) code = INVALID_HANDLE;
    if (!code && (!params || extra)) code = INVALID_VALUE;
    char attributes[128] = "";
    for (unsigned i = 0; i < config->count; i++) {
        const Attribute *attribute = config->attributes + i;
        strncat(attributes, attribute_text(attribute->id, &attribute->value), sizeof attributes - strlen(attributes) - 1);
    }
    return done(
        code, "cuLaunchKernelEx %s <<<(%u, %u, %u), (%u, %u, %u), %u, %s>>>%s", name, config->grid_x, config->grid_y,
        config->grid_z, config->block_x, config->block_y, config->block_z, config->shared, NAME('s', config->stream),
        attributes
    );
}

/* A thread of a kernel in Rust fails, and leaves its place in the module's word. */
static void fail(const Object *function) {
    static unsigned long launches;
    uint32_t place = (uint32_t)from_environment("THALWEG_FAULT", 0);
    if (++launches <= from_environment("THALWEG_NO_FAULT", 0)) return;
    for (Object *o = objects; place && o; o = o->older) {
        if (o->kind != 'd' || !o->live || o->graph != function->graph) continue;
        uint32_t *word = *(uint32_t **)o->memory;
        if (o->bytes != sizeof word || !holding('h', (uintptr_t)word, 12)) continue;
        __atomic_store_n(word + 1, (uint32_t)from_environment("THALWEG_NEEDED", 0), __ATOMIC_RELAXED);
        __atomic_store_n(word + 2, (uint32_t)from_environment("THALWEG_GIVEN", 0), __ATOMIC_RELAXED);
        __atomic_store_n(word, place, __ATOMIC_RELEASE);
    }
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
    if (!code) fail(function);
    return done(
        code, "cuLaunchKernel %s <<<(%u, %u, %u), (%u, %u, %u), %u, %s>>>", name, grid_x, grid_y, grid_z, block_x,
        block_y, block_z, shared, NAME('s', stream)
    );
}

/* --- graphs --- */

/* As CUDA has them. */
typedef struct {
    size_t from_x, from_y, from_z, from_lod;
    int from_type;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array, *reserved0;
    size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
    int to_type;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array, *reserved1;
    size_t to_pitch, to_height, width, height, depth;
} Copy3D;

typedef struct {
    CUdeviceptr to;
    size_t pitch;
    unsigned value, word;
    size_t width, height;
} Memset;

typedef struct {
    Object *function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    void **params, **extra;
    void *kernel, *context;
} Launch;

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 };

/* Words of a line: ` after n1 n2`. */
static const char *after_text(Object **after, size_t count) {
    static char text[160];
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s n%u", i ? "" : " after", after[i]->number);
    return text;
}

static CUresult adding(const char *symbol, Object *graph, Object **after, size_t count) {
    CUresult code = with(symbol, 'g', graph);
    for (size_t i = 0; !code && i < count; i++) {
        if (!is_live('n', after[i]) || after[i]->graph != graph) code = INVALID_VALUE;
        for (size_t j = 0; j < i; j++)
            if (after[i] == after[j]) code = INVALID_VALUE;
    }
    return code;
}

static Object *add_node(Object *graph, Node work) {
    Object *object = create('n');
    object->graph = graph;
    object->work = malloc(sizeof work);
    if (!object->work) abort();
    work.node = object;
    work.next = NULL;
    *object->work = work;
    return object;
}

/* Plain rows only: one row of bytes from one place to another. */
static CUresult copy_work(const Copy3D *copy, Node *work) {
    memset(work, 0, sizeof *work);
    work->kind = 'c';
    work->to_kind = copy->to_type == MEMORY_DEVICE ? 'd' : 'h';
    work->from_kind = copy->from_type == MEMORY_DEVICE ? 'd' : 'h';
    work->to = copy->to_type == MEMORY_DEVICE ? (uintptr_t)copy->to_device : (uintptr_t)copy->to_host;
    work->from = copy->from_type == MEMORY_DEVICE ? (uintptr_t)copy->from_device : (uintptr_t)copy->from_host;
    work->bytes = copy->width;
    int plain = copy->height == 1 && copy->depth == 1 && !copy->from_x && !copy->to_x && copy->width;
    if (!plain || !holding(work->to_kind, work->to, work->bytes)) return INVALID_VALUE;
    return holding(work->from_kind, work->from, work->bytes) ? SUCCESS : INVALID_VALUE;
}

static CUresult memset_work(const Memset *set, Node *work) {
    memset(work, 0, sizeof *work);
    work->kind = 's';
    work->to = (uintptr_t)set->to;
    work->pitch = set->pitch;
    work->word = set->word;
    work->width = set->width;
    work->height = set->height;
    work->value = set->value;
    if (!set->width || !set->height || set->to % set->word) return INVALID_VALUE;
    size_t bytes = (set->height - 1) * set->pitch + set->width * set->word;
    return holding('d', work->to, bytes) ? SUCCESS : INVALID_VALUE;
}

CUresult cuGraphCreate(void **graph, unsigned flags) {
    begin();
    CUresult code = ready(__func__);
    if (!code && flags) code = INVALID_VALUE;
    if (code) return done(code, "cuGraphCreate");
    Object *object = create('g');
    *graph = object;
    return done(code, "cuGraphCreate g%u", object->number);
}

CUresult cuGraphDestroy(Object *graph) {
    begin();
    const char *name = NAME('g', graph);
    CUresult code = with(__func__, 'g', graph);
    for (Object *o = objects; !code && o; o = o->older)
        if (o->kind == 'n' && o->live && o->graph == graph) release(o);
    if (!code) release(graph);
    return done(code, "cuGraphDestroy %s", name);
}

CUresult cuGraphAddEmptyNode(void **node, Object *graph, Object **after, size_t count) {
    begin();
    CUresult code = adding(__func__, graph, after, count);
    if (code) return done(code, "cuGraphAddEmptyNode %s", NAME('g', graph));
    Object *object = add_node(graph, (Node){.kind = 'e'});
    *node = object;
    return done(code, "cuGraphAddEmptyNode g%u n%u%s", graph->number, object->number, after_text(after, count));
}

CUresult cuGraphAddMemcpyNode(
    void **node, Object *graph, Object **after, size_t count, const Copy3D *params, Context *context
) {
    begin();
    Node work;
    CUresult code = adding(__func__, graph, after, count);
    if (!code && context != current) code = INVALID_CONTEXT;
    if (!code) code = copy_work(params, &work);
    if (code) return done(code, "cuGraphAddMemcpyNode %s", NAME('g', graph));
    Object *object = add_node(graph, work);
    *node = object;
    return done(
        code, "cuGraphAddMemcpyNode g%u n%u %s %s %zu%s", graph->number, object->number,
        name_of(work.to_kind, work.to), name_of(work.from_kind, work.from), work.bytes, after_text(after, count)
    );
}

CUresult cuGraphAddMemsetNode(
    void **node, Object *graph, Object **after, size_t count, const Memset *params, Context *context
) {
    begin();
    Node work;
    CUresult code = adding(__func__, graph, after, count);
    if (!code && context != current) code = INVALID_CONTEXT;
    if (!code) code = memset_work(params, &work);
    if (code) return done(code, "cuGraphAddMemsetNode %s", NAME('g', graph));
    Object *object = add_node(graph, work);
    *node = object;
    return done(
        code, "cuGraphAddMemsetNode g%u n%u %s %x of %zu, %zu x %zu every %zu%s", graph->number, object->number,
        name_of('d', work.to), work.value, work.word, work.width, work.height, work.pitch, after_text(after, count)
    );
}

/* What a kernel's node does: nothing, unless it is the kernel for small copies, whose threads must be as many as its
 * widest accesses, in one step. */
static CUresult kernel_work(const Launch *launch, Node *work) {
    *work = (Node){.kind = 'k', .function = launch->function};
    if (!is_live('f', launch->function)) return INVALID_HANDLE;
    if (!launch->params || launch->extra || launch->kernel) return INVALID_VALUE;
    if (strcmp(launch->function->name, "thalweg_copy")) return SUCCESS;
    work->to = *(uintptr_t *)launch->params[0];
    work->from = *(uintptr_t *)launch->params[1];
    work->bytes = *(uint64_t *)launch->params[2];
    int to_device = holding('d', work->to, work->bytes) != NULL, from_device = holding('d', work->from, work->bytes) != NULL;
    work->to_kind = to_device ? 'd' : 'h';
    work->from_kind = from_device ? 'd' : 'h';
    uintptr_t places = work->to | work->from;
    size_t wide = places % 4 ? 1 : places % 16 ? 4 : 16, accesses = (work->bytes + wide - 1) / wide;
    int even = launch->grid_x == (accesses + launch->block_x - 1) / launch->block_x;
    int flat = launch->grid_y * launch->grid_z * launch->block_y * launch->block_z == 1 && !launch->shared;
    int held = (to_device || holding('h', work->to, work->bytes)) && (from_device || holding('h', work->from, work->bytes));
    return work->bytes && even && flat && held ? SUCCESS : INVALID_VALUE;
}

/* Words of a line: `saxpy <<<(4, 1, 1), (256, 1, 1), 0>>>` or `thalweg_copy d1 h1 4000`. */
static const char *kernel_text(const Launch *launch, const Node *work) {
    static char text[160];
    const char *name = launch->function->name;
    if (work->bytes) {
        const char *to = name_of(work->to_kind, work->to), *from = name_of(work->from_kind, work->from);
        snprintf(text, sizeof text, "%s %s %s %zu", name, to, from, work->bytes);
    } else {
        snprintf(
            text, sizeof text, "%s <<<(%u, %u, %u), (%u, %u, %u), %u>>>", name, launch->grid_x, launch->grid_y,
            launch->grid_z, launch->block_x, launch->block_y, launch->block_z, launch->shared
        );
    }
    return text;
}

CUresult cuGraphAddKernelNode_v2(void **node, Object *graph, Object **after, size_t count, const Launch *params) {
    begin();
    CUresult code = adding(__func__, graph, after, count);
    Node work;
    if (!code) code = kernel_work(params, &work);
    if (code) return done(code, "cuGraphAddKernelNode %s", NAME('g', graph));
    Object *object = add_node(graph, work);
    *node = object;
    return done(
        code, "cuGraphAddKernelNode g%u n%u %s%s", graph->number, object->number, kernel_text(params, &work),
        after_text(after, count)
    );
}

CUresult cuGraphKernelNodeSetAttribute(Object *node, int id, const void *value) {
    begin();
    CUresult code = with(__func__, 'n', node);
    if (!code && node->work->kind != 'k') code = INVALID_VALUE;
    return done(code, "cuGraphKernelNodeSetAttribute %s%s", NAME('n', node), attribute_text(id, value));
}

CUresult cuGraphInstantiateWithFlags(void **executable, Object *graph, unsigned long long flags) {
    begin();
    CUresult code = with(__func__, 'g', graph);
    if (!code && flags) code = INVALID_VALUE;
    if (code) return done(code, "cuGraphInstantiateWithFlags %s", NAME('g', graph));
    Object *object = create('x');
    object->graph = graph;
    /* The list of objects has the latest first: each goes before those that come after it. */
    for (Object *o = objects; o; o = o->older) {
        if (o->kind != 'n' || !o->live || o->graph != graph) continue;
        Node *node = malloc(sizeof *node);
        if (!node) abort();
        *node = *o->work;
        node->next = object->work;
        object->work = node;
    }
    *executable = object;
    return done(code, "cuGraphInstantiateWithFlags x%u g%u", object->number, graph->number);
}

CUresult cuGraphExecDestroy(Object *executable) {
    begin();
    const char *name = NAME('x', executable);
    CUresult code = with(__func__, 'x', executable);
    if (!code) release(executable);
    return done(code, "cuGraphExecDestroy %s", name);
}

/* The executable's copy of a node of this kind. */
static CUresult node_of(const char *symbol, Object *executable, const Object *node, char kind, Node **found) {
    CUresult code = with(symbol, 'x', executable);
    if (code) return code;
    for (*found = executable->work; *found; *found = (*found)->next)
        if ((*found)->node == node) return is_live('n', node) && (*found)->kind == kind ? SUCCESS : INVALID_VALUE;
    return INVALID_VALUE;
}

static void change(Node *node, Node work) {
    work.next = node->next;
    work.node = node->node;
    *node = work;
}

CUresult cuGraphExecMemcpyNodeSetParams(Object *executable, Object *node, const Copy3D *params, Context *context) {
    begin();
    Node *found, work;
    CUresult code = node_of(__func__, executable, node, 'c', &found);
    if (!code && context != current) code = INVALID_CONTEXT;
    if (!code) code = copy_work(params, &work);
    if (code) return done(code, "cuGraphExecMemcpyNodeSetParams %s %s", NAME('x', executable), NAME('n', node));
    change(found, work);
    return done(
        code, "cuGraphExecMemcpyNodeSetParams x%u n%u %s %s %zu", executable->number, node->number,
        name_of(work.to_kind, work.to), name_of(work.from_kind, work.from), work.bytes
    );
}

/* Of one row only, as the real one. */
CUresult cuGraphExecMemsetNodeSetParams(Object *executable, Object *node, const Memset *params, Context *context) {
    begin();
    Node *found, work;
    CUresult code = node_of(__func__, executable, node, 's', &found);
    if (!code && context != current) code = INVALID_CONTEXT;
    if (!code) code = memset_work(params, &work);
    if (!code && (work.height > 1 || found->height > 1)) code = INVALID_VALUE;
    if (code) return done(code, "cuGraphExecMemsetNodeSetParams %s %s", NAME('x', executable), NAME('n', node));
    change(found, work);
    return done(
        code, "cuGraphExecMemsetNodeSetParams x%u n%u %s %x of %zu, %zu", executable->number, node->number,
        name_of('d', work.to), work.value, work.word, work.width
    );
}

CUresult cuGraphExecKernelNodeSetParams_v2(Object *executable, Object *node, const Launch *params) {
    begin();
    Node *found, work;
    CUresult code = node_of(__func__, executable, node, 'k', &found);
    if (!code) code = kernel_work(params, &work);
    if (code) return done(code, "cuGraphExecKernelNodeSetParams %s %s", NAME('x', executable), NAME('n', node));
    change(found, work);
    return done(
        code, "cuGraphExecKernelNodeSetParams x%u n%u %s", executable->number, node->number, kernel_text(params, &work)
    );
}

CUresult cuGraphLaunch(Object *executable, Object *stream) {
    begin();
    CUresult code = with(__func__, 'x', executable);
    if (!code && !is_live('s', stream)) code = INVALID_HANDLE;
    for (Node *node = code ? NULL : executable->work; node; node = node->next) {
        if (node->kind == 'c' || node->bytes) {
            int held = holding(node->to_kind, node->to, node->bytes) && holding(node->from_kind, node->from, node->bytes);
            if (!held) code = INVALID_VALUE;
            else memmove((void *)node->to, (const void *)node->from, node->bytes);
        }
        for (size_t row = 0; node->kind == 's' && row < node->height; row++)
            for (size_t i = 0; i < node->width; i++)
                memcpy((char *)node->to + row * node->pitch + i * node->word, &node->value, node->word);
        if (node->kind == 'k' && !node->bytes) fail(node->function);
    }
    return done(code, "cuGraphLaunch %s %s", NAME('x', executable), NAME('s', stream));
}
