/* What the stubs of libraries share: objects that are made and destroyed, and the names that the driver's stub has given. */
#ifndef THALWEG_LIBRARY_H
#define THALWEG_LIBRARY_H

#include <dlfcn.h>
#include <stdint.h>

#include "record.h"

/* A handle or another object. They stay in the list when they are dead, so that no name is given twice. */
typedef struct Object {
    struct Object *older;
    unsigned number;
    int live;
} Object;

static Object *objects;

/* An object of so many bytes, which begin with an `Object`. */
static Object *create_of(size_t bytes) {
    Object *object = calloc(1, bytes);
    if (!object) abort();
    object->live = 1;
    object->number = objects ? objects->number + 1 : 1;
    object->older = objects;
    return objects = object;
}

#define create() create_of(sizeof(Object))

static int is_live(const Object *handle) {
    for (Object *o = objects; o; o = o->older)
        if (o == handle) return o->live;
    return 0;
}

/* The name of a stream or an address, and whether a context is current: what the driver's stub says. */
static int of_driver(char kind, const void *handle, char *name) {
    static int (*ask)(char, uintptr_t, char *);
    if (!ask) {
        void *driver = dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
        if (driver) ask = (int (*)(char, uintptr_t, char *))dlsym(driver, "thalweg_stub_name");
        if (!ask) abort();
    }
    return ask(kind, (uintptr_t)handle, name);
}

static int has_context(void) {
    char name[32];
    return of_driver('s', NULL, name);
}

/* A name in one of a few buffers that take turns, enough for one line. */
static const char *name(char kind, const void *handle) {
    static char buffers[8][32];
    static unsigned turn;
    char *buffer = buffers[turn++ % 8];
    of_driver(kind, handle, buffer);
    return buffer;
}

#endif
