/* An NVRTC that compiles nothing.
 *
 *     cc -shared -fPIC -pthread -o DIR/libnvrtc.so libnvrtc.c
 *
 * The image it makes is the source behind a line that the driver stub knows. A source with `#error` in it does not
 * compile; the log has the file and the line, as NVRTC's own has.
 *
 * record.h has the variables THALWEG_RECORD, where only compilations are recorded, and THALWEG_FAIL. Also:
 * THALWEG_NVRTC=n  its version is 13.n; 13.0 if not set
 */
#include "record.h"

enum { SUCCESS = 0, INVALID_PROGRAM = 4, INVALID_OPTION = 5, COMPILATION = 6 };

typedef int nvrtcResult;

typedef struct Program {
    char *name, *source, *image, *log;
    char *expressions; /* a line each */
} *nvrtcProgram;

static const int architectures[] = {75, 80, 86, 87, 89, 90, 100, 103, 120};

static nvrtcResult counted(const char *symbol) {
    pthread_mutex_lock(&lock);
    nvrtcResult code = fault(symbol);
    pthread_mutex_unlock(&lock);
    return code;
}

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *buffer = malloc((size_t)length + 1);
    if (!buffer) abort();
    va_start(arguments, format);
    vsnprintf(buffer, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return buffer;
}

const char *nvrtcGetErrorString(nvrtcResult code) {
    switch (code) {
    case SUCCESS: return "NVRTC_SUCCESS";
    case INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case COMPILATION: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR unknown";
    }
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
    const char *version = getenv("THALWEG_NVRTC");
    *major = 13;
    *minor = version ? atoi(version) : 0;
    return counted(__func__);
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    *count = sizeof architectures / sizeof *architectures;
    return counted(__func__);
}

nvrtcResult nvrtcGetSupportedArchs(int *known) {
    memcpy(known, architectures, sizeof architectures);
    return counted(__func__);
}

nvrtcResult nvrtcCreateProgram(
    nvrtcProgram *program, const char *source, const char *name, int header_count, const char *const *headers,
    const char *const *header_names
) {
    (void)header_count, (void)headers, (void)header_names;
    nvrtcResult code = counted(__func__);
    if (code) return code;
    *program = calloc(1, sizeof **program);
    if (!*program) abort();
    (*program)->name = text("%s", name ? name : "default_program");
    (*program)->source = text("%s", source);
    (*program)->log = text("%s", "");
    (*program)->expressions = text("%s", "");
    return SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    free((*program)->name);
    free((*program)->source);
    free((*program)->image);
    free((*program)->log);
    free((*program)->expressions);
    free(*program);
    *program = NULL;
    return counted(__func__);
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *expression) {
    char *longer = text("%s%s\n", program->expressions, expression);
    free(program->expressions);
    program->expressions = longer;
    return counted(__func__);
}

/* `_Z` and the expression, with `_` for whatever no name has. */
static void lower(char *name, size_t bytes, const char *expression) {
    snprintf(name, bytes, "_Z%.*s", (int)strcspn(expression, "\n"), expression);
    for (char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *at)) *at = '_';
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *expression, const char **name) {
    static __thread char lowered[256];
    nvrtcResult code = counted(__func__);
    if (!code && !program->image) code = INVALID_PROGRAM;
    lower(lowered, sizeof lowered, expression);
    *name = lowered;
    return code;
}

static void set_log(nvrtcProgram program, char *log) {
    free(program->log);
    program->log = log;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count, const char *const *options) {
    pthread_mutex_lock(&lock);
    nvrtcResult code = fault(__func__);
    const char *wrong = strstr(program->source, "#error");
    if (!code && wrong) {
        code = COMPILATION;
        int line = 1;
        for (const char *at = program->source; at < wrong; at++) line += *at == '\n';
        int length = (int)strcspn(wrong, "\n");
        const char *format = "%s(%d): error: %.*s\n\n1 error detected in the compilation of \"%s\".\n";
        set_log(program, text(format, program->name, line, length, wrong, program->name));
    }
    if (!code) program->image = text("stub image\n%s", program->source);
    /* The kernels of the instances. */
    for (const char *at = code ? "" : program->expressions; *at; at += strcspn(at, "\n") + 1) {
        char lowered[256];
        lower(lowered, sizeof lowered, at);
        char *longer = text("%s\n%s(", program->image, lowered);
        free(program->image);
        program->image = longer;
    }

    char line[512];
    int used = snprintf(line, sizeof line, "nvrtcCompileProgram %s", program->name);
    for (int i = 0; i < option_count && used < (int)sizeof line; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %s", options[i]);
    if (code) record("%s -> %d", line, code);
    else record("%s", line);
    pthread_mutex_unlock(&lock);
    return code;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes) {
    *bytes = strlen(program->log) + 1;
    return counted(__func__);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    strcpy(log, program->log);
    return counted(__func__);
}

static nvrtcResult image_bytes(const char *symbol, nvrtcProgram program, size_t *bytes) {
    nvrtcResult code = counted(symbol);
    if (!code && !program->image) code = INVALID_PROGRAM;
    if (!code) *bytes = strlen(program->image) + 1;
    return code;
}

static nvrtcResult image(const char *symbol, nvrtcProgram program, char *image) {
    nvrtcResult code = counted(symbol);
    if (!code && !program->image) code = INVALID_PROGRAM;
    if (!code) strcpy(image, program->image);
    return code;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) { return image_bytes(__func__, program, bytes); }

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) { return image(__func__, program, cubin); }

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes) { return image_bytes(__func__, program, bytes); }

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) { return image(__func__, program, ptx); }
