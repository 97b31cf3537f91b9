// A library for LD_PRELOAD that makes one call of a process fail.
//
//     FAIL_CALL=write FAIL_AT=3 FAIL_ERRNO=28 LD_PRELOAD=./failing_calls.so rematlas solve ...
//
// FAIL_CALL: open, write, fsync, rename, mmap or malloc. Calls of open, write and fsync count only for
// regular files that the process writes. FAIL_AT: the number of the call that fails, from 1. FAIL_REPORT: a
// file that is made when the call fails. If it does not exist, the process did not make so many calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long count;
static const char* call;
static const char* report;
static long fail_at;
static int error;

__attribute__((constructor)) static void begin(void) {
    const char* at = getenv("FAIL_AT");
    const char* number = getenv("FAIL_ERRNO");
    report = getenv("FAIL_REPORT");
    fail_at = at ? atol(at) : 0;
    error = number ? atoi(number) : ENOSPC;
    call = getenv("FAIL_CALL");
    unsetenv("LD_PRELOAD");  // no call fails in child processes
}

static int (*next_open(void))(const char*, int, ...) {
    return (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open64");
}

/// Counts this call of the function. Says whether it must fail.
static int fails(const char* name) {
    if (!call || fail_at == 0 || strcmp(call, name) != 0) return 0;
    if (atomic_fetch_add(&count, 1) + 1 != fail_at) return 0;
    if (report) {
        const int fd = next_open()(report, O_WRONLY | O_CREAT, 0600);
        if (fd >= 0) close(fd);
    }
    errno = error;
    return 1;
}

static int is_regular(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    if ((flags & O_ACCMODE) != O_RDONLY && fails("open")) return -1;
    return next_open()(path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));

int mkostemp(char* template, int flags) {
    if (fails("open")) return -1;
    return ((int (*)(char*, int))dlsym(RTLD_NEXT, "mkostemp"))(template, flags);
}

ssize_t write(int fd, const void* bytes, size_t size) {
    if (is_regular(fd) && fails("write")) return -1;
    return ((ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write"))(fd, bytes, size);
}

int fsync(int fd) {
    if (fails("fsync")) return -1;
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int rename(const char* from, const char* to) {
    if (fails("rename")) return -1;
    return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}

void* mmap(void* place, size_t length, int protection, int flags, int fd, off_t offset) {
    if (fails("mmap")) return MAP_FAILED;
    return ((void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap"))(place, length, protection,
                                                                                    flags, fd, offset);
}

extern void* __libc_malloc(size_t);

void* malloc(size_t size) {
    if (fails("malloc")) return NULL;
    return __libc_malloc(size);
}
