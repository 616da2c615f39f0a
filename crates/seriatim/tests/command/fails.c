/* A library that is put before the C library and lets the n-th call of a kind fail, once.
 *
 * FAIL_KIND is open, read, write, sync or allocate, FAIL_AT says which call, counted from 0. If that call never comes, nothing
 * happens. FAIL_NOTE names a file that is made when it does. Only files that the program opened by name count, and
 * standard input and output: what a thread looks up in /proc by the clock would make the count another one every time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *kind, *note;
static long at = -1;
static atomic_long calls;
static atomic_bool counted[1024] = {[0] = 1, [1] = 1};

static int fails(const char *this_kind)
{
    if (!kind || strcmp(kind, this_kind) != 0 || atomic_fetch_add(&calls, 1) != at)
        return 0;
    if (note)
        syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, note, O_CREAT | O_WRONLY, 0600));
    return 1;
}

static int counts(int file)
{
    return file >= 0 && file < 1024 && counted[file];
}

/* The next definition of a function; the search for it may itself allocate. */
#define NEXT(name) \
    static __typeof__(name) *next; \
    if (!next) \
        next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("FAIL_AT");
    at = number ? atol(number) : -1;
    note = getenv("FAIL_NOTE");
    kind = getenv("FAIL_KIND");
    /* Programs that this one starts are not meant. */
    unsetenv("LD_PRELOAD");
}

static int is_ours(const char *path)
{
    return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0;
}

static int opened(int file, const char *path)
{
    if (file >= 0 && file < 1024)
        counted[file] = is_ours(path);
    return file;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        int mode = va_arg(rest, int); \
        va_end(rest); \
        if (is_ours(path) && fails("open")) { \
            errno = EMFILE; \
            return -1; \
        } \
        return opened(syscall(SYS_openat, AT_FDCWD, path, flags, mode), path); \
    }
OPEN(open)
OPEN(open64)

#define READ(name, parameters, arguments) \
    ssize_t name parameters \
    { \
        NEXT(name); \
        if (counts(file) && fails("read")) { \
            errno = EIO; \
            return -1; \
        } \
        return next arguments; \
    }
READ(read, (int file, void *to, size_t length), (file, to, length))
READ(pread64, (int file, void *to, size_t length, off64_t from), (file, to, length, from))
READ(readv, (int file, const struct iovec *to, int pieces), (file, to, pieces))

#define WRITE(name, parameters, arguments) \
    ssize_t name parameters \
    { \
        NEXT(name); \
        if (counts(file) && fails("write")) { \
            errno = ENOSPC; \
            return -1; \
        } \
        return next arguments; \
    }
WRITE(write, (int file, const void *from, size_t length), (file, from, length))
WRITE(pwrite64, (int file, const void *from, size_t length, off64_t to), (file, from, length, to))
WRITE(writev, (int file, const struct iovec *from, int pieces), (file, from, pieces))

#define SYNC(name, parameters, arguments) \
    int name parameters \
    { \
        NEXT(name); \
        if (counts(file) && fails("sync")) { \
            errno = EIO; \
            return -1; \
        } \
        return next arguments; \
    }
SYNC(fsync, (int file), (file))
SYNC(fdatasync, (int file), (file))
SYNC(ftruncate64, (int file, off64_t length), (file, length))

/* The C library's own names: dlsym would allocate on the way to them. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int refused(void)
{
    if (!fails("allocate"))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return refused() ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **to, size_t alignment, size_t size)
{
    *to = refused() ? NULL : __libc_memalign(alignment, size);
    return *to ? 0 : ENOMEM;
}
