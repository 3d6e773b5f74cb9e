/* Preloaded into a process, and told from Python what to do:
 * - make the n-th system call or allocation of a kind fail (faults_arm, faults_disarm), or
 * - write down what is written to the files of a folder, in order (journal_begin, journal_mark, journal_end). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

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

/* -- the journal: records of type, length of the path, offset, length of the data; then path and data -- */

static int journal = -1;
static char watched[4096];
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void note(char type, const char *path, uint64_t offset, const void *data, uint64_t length) {
    struct __attribute__((packed)) { char type; uint32_t path; uint64_t offset, length; } head = {type, strlen(path), offset, length};
    pthread_mutex_lock(&one_at_a_time);
    (void)!NEXT(write)(journal, &head, sizeof head);
    (void)!NEXT(write)(journal, path, head.path);
    if (length) (void)!NEXT(write)(journal, data, length);
    pthread_mutex_unlock(&one_at_a_time);
}

static int is_watched(const char *path) { return journal >= 0 && !strncmp(path, watched, strlen(watched)); }

static int watched_fd(int fd, char *path) {
    char link[64];
    if (journal < 0 || fd == journal) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, 4095);
    if (n <= 0) return 0;
    path[n] = 0;
    return is_watched(path);
}

void journal_begin(const char *folder, const char *file) {
    strncpy(watched, folder, sizeof watched - 1);
    journal = NEXT(open)(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
}
void journal_mark(uint64_t number) { note('M', "", number, NULL, 0); }
void journal_end(void) { close(journal); journal = -1; }

#define NOTED(call, type, offset, data, length)               \
    do {                                                      \
        char path[4096];                                      \
        int seen = watched_fd(fd, path);                      \
        __typeof__(call) result = (call);                     \
        if (seen && result >= 0) note(type, path, offset, data, length); \
        return result;                                        \
    } while (0)

ssize_t write(int fd, const void *b, size_t n) {
    if (fd > 2 && fails(WRITE)) return -1;
    if (journal < 0) return NEXT(write)(fd, b, n);
    uint64_t at = lseek(fd, 0, SEEK_CUR);
    NOTED(NEXT(write)(fd, b, n), 'W', at, b, result);
}
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) {
    if (fails(WRITE)) return -1;
    NOTED(NEXT(pwrite)(fd, b, n, o), 'W', o, b, result);
}
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) {
    if (fails(WRITE)) return -1;
    NOTED(NEXT(pwrite64)(fd, b, n, o), 'W', o, b, result);
}
ssize_t read(int fd, void *b, size_t n) { return fd > 2 && fails(READ) ? -1 : NEXT(read)(fd, b, n); }
ssize_t pread(int fd, void *b, size_t n, off_t o) { return fails(READ) ? -1 : NEXT(pread)(fd, b, n, o); }
ssize_t pread64(int fd, void *b, size_t n, off64_t o) { return fails(READ) ? -1 : NEXT(pread64)(fd, b, n, o); }
int fsync(int fd) {
    if (fails(SYNC)) return -1;
    NOTED(NEXT(fsync)(fd), 'S', 0, NULL, 0);
}
int fdatasync(int fd) {
    if (fails(SYNC)) return -1;
    NOTED(NEXT(fdatasync)(fd), 'S', 0, NULL, 0);
}
int ftruncate(int fd, off_t n) {
    if (fails(TRUNCATE)) return -1;
    NOTED(NEXT(ftruncate)(fd, n), 'T', n, NULL, 0);
}
int ftruncate64(int fd, off64_t n) {
    if (fails(TRUNCATE)) return -1;
    NOTED(NEXT(ftruncate64)(fd, n), 'T', n, NULL, 0);
}
int rename(const char *a, const char *b) {
    if (fails(RENAME)) return -1;
    int result = NEXT(rename)(a, b);
    if (result == 0 && is_watched(a)) note('R', a, 0, b, strlen(b));
    return result;
}
int unlink(const char *p) {
    if (fails(UNLINK)) return -1;
    int result = NEXT(unlink)(p);
    if (result == 0 && is_watched(p)) note('U', p, 0, NULL, 0);
    return result;
}
int unlinkat(int fd, const char *name, int flags) {
    char path[4096];
    int seen = watched_fd(fd, path), result = NEXT(unlinkat)(fd, name, flags);
    if (result == 0 && seen) {
        strncat(path, "/", sizeof path - strlen(path) - 1);
        strncat(path, name, sizeof path - strlen(path) - 1);
        note(flags ? 'D' : 'U', path, 0, NULL, 0);
    }
    return result;
}
int rmdir(const char *p) {
    int result = NEXT(rmdir)(p);
    if (result == 0 && is_watched(p)) note('D', p, 0, NULL, 0);
    return result;
}
int mkdir(const char *p, mode_t m) {
    if (fails(OPEN)) return -1;
    int result = ((int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"))(p, m);
    if (result == 0 && is_watched(p)) note('F', p, 0, NULL, 0);
    return result;
}

#define OPENER(name)                                                        \
    int name(const char *path, int flags, ...) {                            \
        va_list rest;                                                       \
        va_start(rest, flags);                                              \
        mode_t mode = va_arg(rest, mode_t);                                 \
        va_end(rest);                                                       \
        if (fails(OPEN)) return -1;                                         \
        int made = (flags & O_CREAT) && access(path, F_OK);                 \
        int result = NEXT(name)(path, flags, mode);                         \
        if (result >= 0 && is_watched(path)) {                              \
            if (made) note('C', path, 0, NULL, 0);                          \
            else if (flags & O_TRUNC) note('T', path, 0, NULL, 0);          \
        }                                                                   \
        return result;                                                      \
    }
OPENER(open)
OPENER(open64)

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void *malloc(size_t n) { return n >= smallest && fails(ALLOCATE) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return n * m >= smallest && fails(ALLOCATE) ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return n >= smallest && fails(ALLOCATE) ? NULL : __libc_realloc(p, n); }
