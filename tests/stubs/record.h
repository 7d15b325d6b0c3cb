/* What both stubs share: the record of calls, and faults on request.
 *
 * THALWEG_RECORD=path          where the record goes, one line a call, appended; standard output if not set
 * THALWEG_FAIL=symbol:code:n   the n-th call of `symbol` (from 1) does nothing and returns `code`; `n+` stands for the
 *                              n-th and all that follow; several are separated by commas. The `_v2` of a symbol's
 *                              name may be left out.
 */
#ifndef THALWEG_RECORD_H
#define THALWEG_RECORD_H

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Taken by each entry point for all of its work, so that lines stand in the order of the calls' effects. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes one line, or nothing in a stub that is built with THALWEG_SILENT. The caller holds the lock. */
__attribute__((format(printf, 1, 2))) static void record(const char *format, ...) {
#ifdef THALWEG_SILENT
    (void)format;
    return;
#endif
    static FILE *out;
    if (!out) {
        const char *path = getenv("THALWEG_RECORD");
        out = path ? fopen(path, "a") : stdout;
        if (!out) {
            perror(path);
            abort();
        }
    }
    va_list arguments;
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    fputc('\n', out);
    fflush(out);
}

static size_t length_without_version(const char *symbol, size_t length) {
    return length > 3 && !strncmp(symbol + length - 3, "_v2", 3) ? length - 3 : length;
}

/* Counts a call of `symbol` and gives the code that it is to fail with, or 0. The caller holds the lock. */
static int fault(const char *symbol) {
#ifdef THALWEG_SILENT
    (void)symbol;
    return 0;
#endif
    enum { MOST = 128 };
    static struct { const char *symbol; unsigned long calls; } counts[MOST];
    const char *wish = getenv("THALWEG_FAIL");
    if (!wish) return 0;

    int slot = 0;
    while (slot < MOST && counts[slot].symbol && strcmp(counts[slot].symbol, symbol)) slot++;
    if (slot == MOST) return 0;
    counts[slot].symbol = symbol;
    unsigned long call = ++counts[slot].calls;

    size_t length = length_without_version(symbol, strlen(symbol));
    for (; *wish; wish += strcspn(wish, ","), wish += *wish == ',') {
        size_t wished = strcspn(wish, ":,");
        if (wish[wished] != ':') continue;
        if (length_without_version(wish, wished) != length || strncmp(wish, symbol, length)) continue;
        char *rest;
        int code = (int)strtol(wish + wished + 1, &rest, 10);
        unsigned long nth = *rest == ':' ? strtoul(rest + 1, &rest, 10) : 1;
        if (call == nth || (*rest == '+' && call > nth)) return code;
    }
    return 0;
}

#endif
