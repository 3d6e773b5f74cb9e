/* Make the n-th system call or allocation of a kind fail: preloaded into a process, armed and disarmed from Python. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

enum { NOTHING, WRITE, SYNC, OPEN, RENAME, TRUNCATE, UNLINK, READ, ALLOCATE };

static volatile int armed_kind = NOTHING, countdown = 0, sticky = 0, code = 0, hits = 0;
static volatile size_t smallest = 0;

void faults_arm(int kind, int nth, int every_later, int error, size_t least) {
    hits = 0, countdown = nth, sticky = every_later, code = error, smallest = least;
    armed_kind = kind;
}

int faults_disarm(void) { armed_kind = NOTHING; return hits; }

static int fails(int kind) {
    if (kind != armed_kind || countdown <= 0) return 0;
    int left = __sync_sub_and_fetch(&countdown, 1);
    if (left > 0) return 0;
    if (sticky) countdown = 1;
    hits++;
    errno = code;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *b, size_t n) { return fd > 2 && fails(WRITE) ? -1 : NEXT(write)(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { return fails(WRITE) ? -1 : NEXT(pwrite)(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { return fails(WRITE) ? -1 : NEXT(pwrite64)(fd, b, n, o); }
ssize_t read(int fd, void *b, size_t n) { return fd > 2 && fails(READ) ? -1 : NEXT(read)(fd, b, n); }
ssize_t pread(int fd, void *b, size_t n, off_t o) { return fails(READ) ? -1 : NEXT(pread)(fd, b, n, o); }
ssize_t pread64(int fd, void *b, size_t n, off64_t o) { return fails(READ) ? -1 : NEXT(pread64)(fd, b, n, o); }
int fsync(int fd) { return fails(SYNC) ? -1 : NEXT(fsync)(fd); }
int fdatasync(int fd) { return fails(SYNC) ? -1 : NEXT(fdatasync)(fd); }
int rename(const char *a, const char *b) { return fails(RENAME) ? -1 : NEXT(rename)(a, b); }
int ftruncate(int fd, off_t n) { return fails(TRUNCATE) ? -1 : NEXT(ftruncate)(fd, n); }
int ftruncate64(int fd, off64_t n) { return fails(TRUNCATE) ? -1 : NEXT(ftruncate64)(fd, n); }
int unlink(const char *p) { return fails(UNLINK) ? -1 : NEXT(unlink)(p); }
int mkdir(const char *p, mode_t m) { return fails(OPEN) ? -1 : ((int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"))(p, m); }

#define OPENER(name)                                                        \
    int name(const char *path, int flags, ...) {                            \
        va_list rest;                                                       \
        va_start(rest, flags);                                              \
        mode_t mode = va_arg(rest, mode_t);                                 \
        va_end(rest);                                                       \
        return fails(OPEN) ? -1 : NEXT(name)(path, flags, mode);            \
    }
OPENER(open)
OPENER(open64)

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void *malloc(size_t n) { return n >= smallest && fails(ALLOCATE) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return n * m >= smallest && fails(ALLOCATE) ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return n >= smallest && fails(ALLOCATE) ? NULL : __libc_realloc(p, n); }
