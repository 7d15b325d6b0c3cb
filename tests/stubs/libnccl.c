/* An NCCL for ranks that are threads of one process: records what it is asked to do, and carries it out in the memory of
 * the driver's stub, which is the host's.
 *
 *     cc -shared -fPIC -pthread -o DIR/libnccl.so libnccl.c
 *
 * Lines begin with the rank, `r0 `; streams and addresses have the names of the driver's stub, which is there already.
 * Types and reductions are NCCL's numbers. A call that fails ends in ` -> code`. Questions (the version, asynchronous
 * errors) are left out. What the library would refuse is refused: a communicator that is not live, or is in progress, a
 * thread with no current context, a configuration that is not filled in, memory that is not the device's.
 *
 * The communicators that are made first are nonblocking: a call returns at once, and the communicator is in progress
 * until all ranks have come. Each is split once, and the second one is blocking: a collective waits until all ranks have
 * come. Then it is carried out, all at once. Both have the flag that ends what waits, which an abort of either sets; an
 * abort during a call is refused. Elements of 16 bits are only moved, not reduced.
 *
 * record.h has the variables THALWEG_RECORD and THALWEG_FAIL. Also:
 * THALWEG_NCCL_VERSION=n   the version that it tells; 23007 if not set
 * THALWEG_NCCL_DELAY=ms    how long each call is in progress at least
 * THALWEG_NCCL_ALONE=1     a rank's connection is in progress for ever
 * THALWEG_NCCL_HANG=n      the n-th collective of each communicator (from 1) is enqueued, does nothing, and its stream goes
 *                          on only when the communicator is aborted
 * THALWEG_NCCL_ERROR=code  and from then on the communicator has this asynchronous error
 */
#define _GNU_SOURCE
#include <limits.h>
#include <time.h>

#include "library.h"

enum { SUCCESS = 0, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, IN_PROGRESS = 7 };
enum { MOST_RANKS = 8, MOST_WORLDS = 32, MOST_MESSAGES = 2 * MOST_RANKS };
enum { SUM = 0, PRODUCT = 1, MAX = 2, MIN = 3, AVERAGE = 4 };

typedef enum { NOTHING, CONNECT, ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, MESSAGES } Kind;

typedef struct { int peer, receives; char *at; size_t bytes; } Message;

/* What a rank is in. */
typedef struct {
    Kind kind;
    char *from, *to;
    size_t count;
    int type, reduction, root, messages;
    Message message[MOST_MESSAGES];
    struct timespec since;
} Work;

typedef struct { int number, ranks; struct Communicator *rank[MOST_RANKS]; } World;

typedef struct Communicator {
    Object object;
    World *world;
    int rank;
    Work work;
    unsigned long collectives;
    int error;
    int blocking;
    /* Whether a thread waits in a call of it. */
    int is_called;
    /* What is split off it, and its place, until all ranks have come. */
    struct Communicator *split, **place;
    /* It has the flag itself, or the one that it was split off. */
    uint32_t flag, *aborted;
} Communicator;

typedef struct { char internal[128]; } UniqueId;

typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking, cga, least, most;
    const char *net;
    int share;
} Config;

static World worlds[MOST_WORLDS];
static int ids;

/* The calling thread's group: its communicator and messages. */
static __thread int depth;
static __thread Communicator *grouped;
static __thread Work group;

static unsigned long from_environment(const char *name, unsigned long otherwise) {
    const char *value = getenv(name);
    return value ? strtoul(value, NULL, 10) : otherwise;
}

__attribute__((format(printf, 3, 4))) static int done(int code, const Communicator *comm, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    char rank[16] = "";
    if (comm) snprintf(rank, sizeof rank, "r%d ", comm->rank);
    if (code && code != IN_PROGRESS) record("%s%s -> %d", rank, line, code);
    else record("%s%s", rank, line);
    pthread_mutex_unlock(&lock);
    return code;
}

/* --- elements --- */

static size_t size_of(int type) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type >= 0 && type < 10 ? sizes[type] : 0;
}

#define COMBINE(type) \
    for (size_t i = 0; i < count; i++) { \
        type *a = (type *)into + i, b = ((const type *)other)[i]; \
        *a = reduction == PRODUCT ? *a * b : reduction == MAX ? (b > *a ? b : *a) : \
            reduction == MIN ? (b < *a ? b : *a) : *a + b; \
    }

static void combine(char *into, const char *other, size_t count, int type, int reduction) {
    switch (type) {
    case 0: COMBINE(int8_t) break;
    case 1: COMBINE(uint8_t) break;
    case 2: COMBINE(int32_t) break;
    case 3: COMBINE(uint32_t) break;
    case 4: COMBINE(int64_t) break;
    case 5: COMBINE(uint64_t) break;
    case 7: COMBINE(float) break;
    case 8: COMBINE(double) break;
    }
}

static void divide(char *into, size_t count, int type, int ranks) {
    for (size_t i = 0; i < count; i++) {
        if (type == 7) ((float *)into)[i] /= (float)ranks;
        if (type == 8) ((double *)into)[i] /= ranks;
    }
}

/* The reduced elements of all ranks, from `skipped` elements on. */
static char *reduced(const World *world, size_t skipped, size_t count) {
    const Work *first = &world->rank[0]->work;
    size_t bytes = count * size_of(first->type), start = skipped * size_of(first->type);
    char *into = malloc(bytes + 1);
    if (!into) abort();
    memcpy(into, first->from + start, bytes);
    for (int rank = 1; rank < world->ranks; rank++)
        combine(into, world->rank[rank]->work.from + start, count, first->type, first->reduction);
    if (first->reduction == AVERAGE) divide(into, count, first->type, world->ranks);
    return into;
}

/* --- what all ranks have come to --- */

static void send_messages(World *world) {
    for (int from = 0; from < world->ranks; from++) {
        Work *sender = &world->rank[from]->work;
        int taken[MOST_RANKS] = {0};
        for (int i = 0; i < sender->messages; i++) {
            Message *sent = &sender->message[i];
            if (sent->receives) continue;
            Work *receiver = &world->rank[sent->peer]->work;
            int nth = taken[sent->peer]++;
            for (int j = 0; j < receiver->messages; j++) {
                Message *received = &receiver->message[j];
                if (!received->receives || received->peer != from || nth--) continue;
                if (received->bytes != sent->bytes) abort();
                memmove(received->at, sent->at, sent->bytes);
                break;
            }
        }
    }
}

static void carry_out(World *world) {
    Work *first = &world->rank[0]->work;
    size_t bytes = first->count * size_of(first->type);
    if (first->kind == ALL_REDUCE || first->kind == REDUCE) {
        char *all = reduced(world, 0, first->count);
        for (int rank = 0; rank < world->ranks; rank++)
            if (first->kind == ALL_REDUCE || rank == first->root) memcpy(world->rank[rank]->work.to, all, bytes);
        free(all);
    } else if (first->kind == BROADCAST) {
        for (int rank = 0; rank < world->ranks; rank++)
            memmove(world->rank[rank]->work.to, world->rank[first->root]->work.from, bytes);
    } else if (first->kind == ALL_GATHER) {
        for (int rank = 0; rank < world->ranks; rank++)
            for (int from = 0; from < world->ranks; from++)
                memmove(world->rank[rank]->work.to + from * bytes, world->rank[from]->work.from, bytes);
    } else if (first->kind == REDUCE_SCATTER) {
        for (int rank = 0; rank < world->ranks; rank++) {
            char *part = reduced(world, (size_t)rank * first->count, first->count);
            memcpy(world->rank[rank]->work.to, part, bytes);
            free(part);
        }
    } else if (first->kind == MESSAGES) {
        send_messages(world);
    } else if (first->kind == CONNECT) {
        for (int rank = 0; rank < world->ranks; rank++) {
            Communicator *comm = world->rank[rank];
            if (comm->place) *comm->place = comm->split;
            comm->place = NULL;
        }
    }
    for (int rank = 0; rank < world->ranks; rank++) world->rank[rank]->work.kind = NOTHING;
}

static int is_late(const Work *work) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long passed = (now.tv_sec - work->since.tv_sec) * 1000 + (now.tv_nsec - work->since.tv_nsec) / 1000000;
    return passed < (long)from_environment("THALWEG_NCCL_DELAY", 0);
}

/* Goes on once all ranks are in the same. */
static void meet(World *world) {
    for (int rank = 0; rank < world->ranks; rank++) {
        const Communicator *comm = world->rank[rank];
        if (!comm || !comm->object.live || comm->work.kind == NOTHING || is_late(&comm->work)) return;
        if (comm->work.kind == CONNECT && getenv("THALWEG_NCCL_ALONE")) return;
        if (comm->work.kind != world->rank[0]->work.kind || comm->work.count != world->rank[0]->work.count) return;
    }
    carry_out(world);
}

/* --- calls --- */

static int is_communicator(const Communicator *comm) { return comm && is_live(&comm->object); }

/* Begins a call with a communicator. */
static int begin(const char *symbol, Communicator *comm) {
    pthread_mutex_lock(&lock);
    int code = fault(symbol);
    if (code) return code;
    if (!is_communicator(comm)) return INVALID_ARGUMENT;
    return comm->work.kind == NOTHING ? SUCCESS : INVALID_USAGE;
}

static int is_memory(const char *name) { return strcmp(name, "d?"); }

static void hold(void *stream, const uint32_t *word) {
    void *driver = dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
    void (*hold_stream)(void *, const uint32_t *, uint32_t) = NULL;
    if (driver) hold_stream = (void (*)(void *, const uint32_t *, uint32_t))dlsym(driver, "thalweg_stub_hold");
    if (!hold_stream) abort();
    hold_stream(stream, word, 1);
}

/* Enqueues a collective, and gives the code of the call. */
static int enqueue(Communicator *comm, const Work *work, void *stream) {
    comm->collectives++;
    if (comm->collectives == from_environment("THALWEG_NCCL_HANG", 0)) {
        comm->error = (int)from_environment("THALWEG_NCCL_ERROR", SUCCESS);
        hold(stream, comm->aborted);
        return SUCCESS;
    }
    comm->work = *work;
    clock_gettime(CLOCK_MONOTONIC, &comm->work.since);
    if (!comm->blocking) return IN_PROGRESS;
    comm->is_called = 1;
    meet(comm->world);
    while (comm->work.kind != NOTHING && !__atomic_load_n(comm->aborted, __ATOMIC_ACQUIRE)) {
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        pthread_mutex_lock(&lock);
        meet(comm->world);
    }
    comm->is_called = 0;
    return comm->work.kind == NOTHING ? SUCCESS : INTERNAL_ERROR;
}

static Work work_of(Kind kind, const void *from, void *to, size_t count, int type) {
    return (Work){.kind = kind, .from = (char *)(uintptr_t)from, .to = to, .count = count, .type = type};
}

int ncclGetVersion(int *version) {
    *version = (int)from_environment("THALWEG_NCCL_VERSION", 23007);
    return SUCCESS;
}

int ncclGetUniqueId(UniqueId *id) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    memset(id, 0, sizeof *id);
    int number = ++ids;
    memcpy(id->internal, &number, sizeof number);
    return done(code, NULL, "ncclGetUniqueId");
}

static World *world_of(int number, int ranks) {
    for (int i = 0; i < MOST_WORLDS; i++) {
        if (worlds[i].number == number) return &worlds[i];
        if (worlds[i].number) continue;
        worlds[i].number = number;
        worlds[i].ranks = ranks;
        return &worlds[i];
    }
    abort();
}

static int is_filled_in(const Config *config) {
    return config->magic == 0xcafebeef && config->size == sizeof *config && config->version == 21800 &&
        config->cga == INT_MIN && config->least == INT_MIN && config->most == INT_MIN && !config->net;
}

static Communicator *new_communicator(World *world, int rank) {
    Communicator *made = (Communicator *)create_of(sizeof *made);
    made->world = world;
    made->rank = rank;
    world->rank[rank] = made;
    return made;
}

static void begin_to_connect(Communicator *comm) {
    comm->work.kind = CONNECT;
    clock_gettime(CLOCK_MONOTONIC, &comm->work.since);
}

int ncclCommInitRankConfig(Communicator **comm, int ranks, UniqueId id, int rank, const Config *config) {
    pthread_mutex_lock(&lock);
    int number, code = fault(__func__);
    memcpy(&number, id.internal, sizeof number);
    if (!code && (!has_context() || !is_filled_in(config) || !number || number > ids)) code = INVALID_ARGUMENT;
    if (!code && (ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks)) code = INVALID_ARGUMENT;
    if (!code && (config->blocking || config->share != 1)) code = INVALID_USAGE;
    if (code) return done(code, NULL, "ncclCommInitRankConfig %d of %d", rank, ranks);
    Communicator *made = new_communicator(world_of(number, ranks), rank);
    made->aborted = &made->flag;
    begin_to_connect(made);
    *comm = made;
    return done(IN_PROGRESS, made, "ncclCommInitRankConfig of %d", ranks);
}

int ncclCommSplit(Communicator *comm, int color, int key, Communicator **made, const Config *config) {
    int code = begin(__func__, comm);
    if (!code && (!is_filled_in(config) || color || key != comm->rank || comm->split)) code = INVALID_ARGUMENT;
    if (!code && (!has_context() || config->blocking != 1 || config->share != INT_MIN)) code = INVALID_USAGE;
    if (!code) {
        comm->split = new_communicator(world_of(MOST_WORLDS + comm->world->number, comm->world->ranks), comm->rank);
        comm->split->blocking = 1;
        comm->split->aborted = comm->aborted;
        comm->place = made;
        begin_to_connect(comm);
        code = IN_PROGRESS;
    }
    return done(code, comm, "ncclCommSplit");
}

int ncclCommGetAsyncError(Communicator *comm, int *error) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    if (!code && !is_communicator(comm)) code = INVALID_ARGUMENT;
    if (!code) {
        meet(comm->world);
        *error = comm->error ? comm->error : comm->work.kind == NOTHING ? SUCCESS : IN_PROGRESS;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int end(const char *symbol, Communicator *comm) {
    int code = begin(symbol, comm);
    if (!code && (comm->error || !has_context())) code = INVALID_USAGE;
    return code;
}

int ncclCommFinalize(Communicator *comm) {
    return done(end(__func__, comm), comm, "ncclCommFinalize");
}

int ncclCommDestroy(Communicator *comm) {
    int code = end(__func__, comm);
    if (!code) comm->object.live = 0;
    return done(code, comm, "ncclCommDestroy");
}

int ncclCommAbort(Communicator *comm) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    if (!code && !is_communicator(comm)) code = INVALID_ARGUMENT;
    if (!code && (comm->is_called || !has_context())) code = INVALID_USAGE;
    if (!code) comm->object.live = 0;
    code = done(code, comm, "ncclCommAbort");
    if (!code) __atomic_store_n(comm->aborted, 1, __ATOMIC_RELEASE);
    return code;
}

const char *ncclGetErrorString(int code) {
    return code == 2 ? "unhandled system error" : code == 6 ? "remote process exited or there was a network error" :
        "invalid argument or usage";
}

const char *ncclGetLastError(const Communicator *comm) {
    (void)comm;
    return "";
}

int ncclGroupStart(void) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    if (!code && !depth++) {
        grouped = NULL;
        memset(&group, 0, sizeof group);
    }
    /* The line is written with the first message, which says whose group it is. */
    if (code) return done(code, NULL, "ncclGroupStart");
    pthread_mutex_unlock(&lock);
    return code;
}

/* The stream of the calling thread's group. */
static __thread void *grouped_on;

int ncclGroupEnd(void) {
    pthread_mutex_lock(&lock);
    int code = fault(__func__);
    if (!depth) code = INVALID_USAGE;
    else depth--;
    group.kind = MESSAGES;
    if (!code && !depth && grouped) code = enqueue(grouped, &group, grouped_on);
    return done(code, grouped, "ncclGroupEnd");
}

static int message(const char *symbol, int receives, char *at, size_t count, int type, int peer, Communicator *comm, void *stream) {
    int code = begin(symbol, comm);
    if (!code && !has_context()) code = INVALID_USAGE;
    if (!code && (!depth || (grouped && grouped != comm))) code = INVALID_USAGE;
    if (!code && (peer < 0 || peer >= comm->world->ranks || !is_memory(name('d', at)))) code = INVALID_ARGUMENT;
    if (!code && group.messages == MOST_MESSAGES) abort();
    if (!code) {
        if (!grouped) record("r%d ncclGroupStart", comm->rank);
        grouped = comm;
        grouped_on = stream;
        group.message[group.messages++] = (Message){peer, receives, at, count * size_of(type)};
    }
    return done(code, comm, "%s %s %zu type=%d %d %s", symbol, name('d', at), count, type, peer, name('s', stream));
}

int ncclSend(const void *from, size_t count, int type, int peer, Communicator *comm, void *stream) {
    return message(__func__, 0, (char *)(uintptr_t)from, count, type, peer, comm, stream);
}

int ncclRecv(void *to, size_t count, int type, int peer, Communicator *comm, void *stream) {
    return message(__func__, 1, to, count, type, peer, comm, stream);
}

/* A collective, of which `what` is the part of the line that only this kind has. */
static int collective(const char *symbol, Communicator *comm, const Work *work, void *stream, const char *what) {
    int code = begin(symbol, comm);
    if (!code && (!has_context() || depth)) code = INVALID_USAGE;
    if (!code && (!size_of(work->type) || !is_memory(name('d', work->from)) || !is_memory(name('d', work->to))))
        code = INVALID_ARGUMENT;
    if (!code && (work->root < 0 || work->root >= comm->world->ranks)) code = INVALID_ARGUMENT;
    if (!code) code = enqueue(comm, work, stream);
    return done(
        code, comm, "%s %s %s %zu type=%d%s %s", symbol, name('d', work->from), name('d', work->to), work->count, work->type,
        what, name('s', stream)
    );
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int reduction, Communicator *comm, void *stream) {
    Work work = work_of(ALL_REDUCE, from, to, count, type);
    char what[32];
    snprintf(what, sizeof what, " op=%d", work.reduction = reduction);
    return collective(__func__, comm, &work, stream, what);
}

int ncclReduce(
    const void *from, void *to, size_t count, int type, int reduction, int root, Communicator *comm, void *stream
) {
    Work work = work_of(REDUCE, from, to, count, type);
    char what[48];
    snprintf(what, sizeof what, " op=%d root=%d", work.reduction = reduction, work.root = root);
    return collective(__func__, comm, &work, stream, what);
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, Communicator *comm, void *stream) {
    Work work = work_of(BROADCAST, from, to, count, type);
    char what[32];
    snprintf(what, sizeof what, " root=%d", work.root = root);
    return collective(__func__, comm, &work, stream, what);
}

int ncclAllGather(const void *from, void *to, size_t count, int type, Communicator *comm, void *stream) {
    Work work = work_of(ALL_GATHER, from, to, count, type);
    return collective(__func__, comm, &work, stream, "");
}

int ncclReduceScatter(
    const void *from, void *to, size_t count, int type, int reduction, Communicator *comm, void *stream
) {
    Work work = work_of(REDUCE_SCATTER, from, to, count, type);
    char what[32];
    snprintf(what, sizeof what, " op=%d", work.reduction = reduction);
    return collective(__func__, comm, &work, stream, what);
}
