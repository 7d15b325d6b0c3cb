/* A tool of NVTX 3, which writes down every range that is pushed and popped.
 *
 * By THALWEG_FAIL the tool does not want to start (InitializeInjectionNvtx2), or does not take a function (nvtxDomainRangePop).
 */
#include "record.h"

#include <stdint.h>

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
} attributes_t;

typedef struct {
    size_t bytes;
    int (*module)(int module, void ****table, unsigned *functions);
} callbacks_t;

typedef struct {
    size_t bytes;
    uint32_t version, reserved;
    void (*set_version_of_tool)(uint32_t);
} version_t;

enum { CALLBACKS = 1, VERSION = 3, CORE_2 = 5, PUSH = 4, POP = 5, CREATE_DOMAIN = 12, MODULES = 7 };

static __thread int depth;

static void *create_domain(const char *name) {
    pthread_mutex_lock(&lock);
    record("domain %s", name);
    pthread_mutex_unlock(&lock);
    return &depth;
}

static int push(void *domain, const attributes_t *range) {
    (void)domain;
    pthread_mutex_lock(&lock);
    if (range->version != 3 || range->size != sizeof *range || range->message_type != 1) abort();
    if (range->payload_type == 1) {
        record("%*s%s (%llu)", 2 * depth, "", range->message, (unsigned long long)range->payload);
    } else {
        record("%*s%s", 2 * depth, "", range->message);
    }
    pthread_mutex_unlock(&lock);
    return depth++;
}

static int pop(void *domain) {
    (void)domain;
    if (!depth) abort();
    depth--;
    pthread_mutex_lock(&lock);
    record("%*spop", 2 * depth, "");
    pthread_mutex_unlock(&lock);
    return depth;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
    if (fault("InitializeInjectionNvtx2")) return 0;
    const version_t *version = export_table(VERSION);
    if (version->bytes != sizeof *version || version->version != 3 || export_table(99)) abort();
    version->set_version_of_tool(3);

    const callbacks_t *callbacks = export_table(CALLBACKS);
    if (callbacks->bytes != sizeof *callbacks) abort();
    void ***table = NULL;
    unsigned functions = 0;
    if (callbacks->module(0, &table, &functions) || callbacks->module(MODULES, &table, &functions)) abort();
    /* As tools do, every place of every module: the first is none, and each of the others is one. */
    for (int module = 1; module < MODULES; module++) {
        if (callbacks->module(module, &table, &functions) != 1 || !functions || table[0] || table[functions]) abort();
        for (unsigned function = 1; function < functions; function++) *table[function] = NULL;
    }
    if (!callbacks->module(CORE_2, &table, &functions) || functions != 16) abort();
    *table[CREATE_DOMAIN] = (void *)create_domain;
    *table[PUSH] = (void *)push;
    if (!fault("nvtxDomainRangePop")) *table[POP] = (void *)pop;
    return 1;
}
