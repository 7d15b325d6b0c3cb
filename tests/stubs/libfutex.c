/* Counts how often threads wait for a mutex of Rust's that another thread has.
 *
 *     cc -shared -fPIC -o libfutex.so libfutex.c
 *     LD_PRELOAD=./libfutex.so program
 *
 * Rust's standard library waits through `syscall`, which this library stands in front of. The C library waits by
 * itself, and is not counted: neither is this stub's own lock, nor the end of a thread. A mutex is waited for while its
 * word is 2; a parked thread and a condition variable have other words.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CONTENDED = 2 };

static atomic_ulong contended;

/* The number of waits so far, in all threads. */
unsigned long thalweg_contended_locks(void) { return contended; }

long syscall(long number, ...) {
    typedef long Syscall(long, long, long, long, long, long, long);
    static Syscall *_Atomic real;
    if (!real) real = (Syscall *)dlsym(RTLD_NEXT, "syscall");
    long given[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) given[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_futex) {
        int operation = (int)given[1] & FUTEX_CMD_MASK;
        int waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
        if (waits && (int)given[2] == CONTENDED) contended++;
    }
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
