/* disk_cache.c - the folder of a cache; see disk_cache.h. */
#include "emu/base/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/base/alloc.h"

static const char magic[8] = "SSCACHE";

/* The first bytes of an entry. `sum` is the hash of two hashes: of the head (with a sum of zeros)
 * and the label, and of the body. */
struct disk_cache_head {
    char magic[8];
    struct hash128 key;
    char kind[DISK_CACHE_KIND_MAX];
    uint64_t body_bytes;
    struct hash128 sum;
};

enum { HEAD_BYTES = sizeof(struct disk_cache_head), BODY_AT = HEAD_BYTES + DISK_CACHE_LABEL_MAX };

_Static_assert(HEAD_BYTES == 64, "the head has no gaps");

static const uint64_t default_limit = 4000000000u;

/* ---- the folder ---- */

struct disk_cache disk_cache_none(void)
{
    return (struct disk_cache){ .folder = "" };
}

static uint64_t limit_of_environment(void)
{
    const char *text = getenv("SUPERSTEP_CACHE_MB");
    char *end;
    unsigned long long mega;

    if (!text || *text < '0' || *text > '9')
        return default_limit;
    mega = strtoull(text, &end, 10);
    return *end || mega > UINT64_MAX / 1000000 ? default_limit : mega * 1000000;
}

struct disk_cache disk_cache_of(const char *folder)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct disk_cache c = { .limit = limit_of_environment() };
    int n = 0;

    if (!folder)
        folder = getenv("SUPERSTEP_CACHE");
    if (folder)
        n = snprintf(c.folder, sizeof(c.folder), "%s", folder);
    else if (cache && cache[0] == '/') /* the XDG rules ignore any other */
        n = snprintf(c.folder, sizeof(c.folder), "%s/superstep", cache);
    else if (home && home[0] == '/')
        n = snprintf(c.folder, sizeof(c.folder), "%s/.cache/superstep", home);
    if (n >= (int)sizeof(c.folder))
        c.folder[0] = 0;
    return c;
}

/* Makes the folder and those above it that are missing. */
static int make_folder(const struct disk_cache *c)
{
    char path[sizeof(c->folder)];
    struct stat st;

    memcpy(path, c->folder, sizeof(path));
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    mkdir(path, 0700);
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Whether a key and a kind can be part of a file's name; out has room for any path. */
static void entry_path(const struct disk_cache *c, struct hash128 key, const char *kind,
                       char out[DISK_CACHE_PATH_MAX])
{
    char digits[33];

    hash128_text(key, digits);
    EMU_ASSERT(strlen(kind) < DISK_CACHE_KIND_MAX);
    snprintf(out, DISK_CACHE_PATH_MAX, "%s/%s.%s", c->folder, digits, kind);
}

/* ---- bytes of a file ---- */

static int read_all(int fd, void *to, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = read(fd, (uint8_t *)to + done, bytes - done);

        if (n <= 0 && errno != EINTR)
            return 0;
        done += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

static struct hash128 sum_of(const struct disk_cache_head *h, const char *label, const void *body)
{
    uint8_t front[BODY_AT];
    struct disk_cache_head blank = *h;
    struct hash128 part[2];

    blank.sum = (struct hash128){ 0, 0 };
    memcpy(front, &blank, HEAD_BYTES);
    memcpy(front + HEAD_BYTES, label, DISK_CACHE_LABEL_MAX);
    part[0] = hash128(front, sizeof(front));
    part[1] = hash128(body, h->body_bytes);
    return hash128(part, sizeof(part));
}

int disk_cache_hash_file(const char *path, struct hash128 *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd < 0)
        return 0;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return 0;
    *out = hash128(p, (size_t)st.st_size);
    munmap(p, (size_t)st.st_size);
    return 1;
}

int disk_cache_program(struct hash128 *out)
{
    return disk_cache_hash_file("/proc/self/exe", out);
}

/* ---- reading ---- */

static int is_entry(const struct disk_cache_head *h, const struct hash128 *key, const char *kind,
                    const char *label, const void *body, uint64_t bytes)
{
    char want[DISK_CACHE_KIND_MAX] = "";

    strncpy(want, kind, sizeof(want) - 1);
    return !memcmp(h->magic, magic, sizeof(magic)) && hash128_equal(h->key, *key) &&
           !memcmp(h->kind, want, sizeof(want)) && h->body_bytes == bytes &&
           !label[DISK_CACHE_LABEL_MAX - 1] && hash128_equal(h->sum, sum_of(h, label, body));
}

static int read_entry(int fd, const struct hash128 *key, const char *kind,
                      struct disk_cache_entry *e)
{
    struct disk_cache_head h;
    struct stat st;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < BODY_AT)
        return 0;
    e->bytes = (size_t)st.st_size - BODY_AT;
    e->file = emu_alloc((size_t)st.st_size, 1);
    if (!e->file || !read_all(fd, e->file, (size_t)st.st_size))
        return 0;
    e->body = e->file + BODY_AT;
    memcpy(&h, e->file, sizeof(h));
    memcpy(e->label, e->file + HEAD_BYTES, sizeof(e->label));
    return is_entry(&h, key, kind, e->label, e->body, e->bytes);
}

int disk_cache_read(const struct disk_cache *c, struct hash128 key, const char *kind,
                    struct disk_cache_entry *out)
{
    char path[DISK_CACHE_PATH_MAX];
    int fd, good;

    memset(out, 0, sizeof(*out));
    if (!c->folder[0])
        return 0;
    entry_path(c, key, kind, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    good = read_entry(fd, &key, kind, out);
    if (good)
        futimens(fd, NULL); /* not allowed in a folder of others: then it only looks older */
    else
        disk_cache_entry_free(out);
    close(fd);
    return good;
}

void disk_cache_entry_free(struct disk_cache_entry *e)
{
    ss_free(e->file);
    memset(e, 0, sizeof(*e));
}

/* ---- the list ---- */

/* Whether this is the name of an entry: 32 hex digits, a dot, lower case letters. */
static int is_entry_name(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef"), kind;

    if (digits != 32 || name[32] != '.')
        return 0;
    kind = strspn(name + 33, "abcdefghijklmnopqrstuvwxyz");
    return kind && kind < DISK_CACHE_KIND_MAX && !name[33 + kind];
}

/* The process that left this file of an entry that was not finished ("NAME.PID-N.tmp"); 0: it is
 * none. */
static long temporary_of(const char *name)
{
    char kind[DISK_CACHE_KIND_MAX];
    int end = 0;
    long pid = 0;

    if (strspn(name, "0123456789abcdef") != 32 ||
        sscanf(name + 32, ".%15[a-z].%ld-%*d.tmp%n", kind, &pid, &end) != 2)
        return 0;
    return end && !name[32 + end] ? pid : 0;
}

static void read_label(int folder, struct disk_cache_item *item)
{
    int fd = openat(folder, item->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint8_t front[BODY_AT];

    if (fd >= 0 && read_all(fd, front, sizeof(front)) && !memcmp(front, magic, sizeof(magic)) &&
        !front[BODY_AT - 1])
        memcpy(item->label, front + HEAD_BYTES, sizeof(item->label));
    if (fd >= 0)
        close(fd);
}

static int used_last_first(const void *a, const void *b)
{
    const struct disk_cache_item *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? 1 : -1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* The entries of an open folder, in any order. Files that others remove meanwhile are left out. */
static enum emu_status collect(DIR *d, int labels, struct disk_cache_item **out, size_t *n)
{
    size_t cap = 0;
    struct dirent *e;

    while ((e = readdir(d))) {
        struct disk_cache_item *item;
        struct stat st;

        if (!is_entry_name(e->d_name) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode))
            continue;
        TRY(emu_grow((void **)out, *n, &cap, sizeof(**out)));
        item = &(*out)[(*n)++];
        *item = (struct disk_cache_item){ .bytes = (uint64_t)st.st_size, .used = st.st_mtim };
        memcpy(item->name, e->d_name, strlen(e->d_name)); /* is_entry_name() limits it */
        if (labels)
            read_label(dirfd(d), item);
    }
    return EMU_OK;
}

static enum emu_status list(const struct disk_cache *c, int labels, struct disk_cache_item **out,
                            size_t *n)
{
    DIR *d = c->folder[0] ? opendir(c->folder) : NULL;
    enum emu_status s;

    *out = NULL;
    *n = 0;
    if (!d)
        return EMU_OK;
    s = collect(d, labels, out, n);
    closedir(d);
    if (*n)
        qsort(*out, *n, sizeof(**out), used_last_first);
    return s;
}

enum emu_status disk_cache_list(const struct disk_cache *c, struct disk_cache_item **out, size_t *n)
{
    return list(c, 1, out, n);
}

/* ---- removing ---- */

/* Removes what processes that are gone left unfinished; with all set, every entry, too. Returns how
 * many of these files are still there. */
static size_t sweep(const struct disk_cache *c, int all)
{
    DIR *d = c->folder[0] ? opendir(c->folder) : NULL;
    size_t left = 0;
    struct dirent *e;

    while (d && (e = readdir(d))) {
        long pid = temporary_of(e->d_name);
        int dead = pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH;

        if (dead || (all && is_entry_name(e->d_name)))
            left += unlinkat(dirfd(d), e->d_name, 0) && errno != ENOENT;
    }
    if (d)
        closedir(d);
    return left;
}

size_t disk_cache_clear(const struct disk_cache *c)
{
    return sweep(c, 1);
}

/* Removes those that were used longest ago until the others fit. */
static void make_room(const struct disk_cache *c)
{
    struct disk_cache_item *item;
    uint64_t sum = 0;
    size_t n;

    if (list(c, 0, &item, &n) == EMU_OK) {
        for (size_t i = 0; i < n; i++) {
            char path[DISK_CACHE_PATH_MAX];

            sum += item[i].bytes;
            if (sum <= c->limit)
                continue;
            sum -= item[i].bytes;
            snprintf(path, sizeof(path), "%s/%s", c->folder, item[i].name);
            unlink(path);
        }
    }
    ss_free(item);
}

/* ---- writing ---- */

/* Computes the head from what stands in the file, and writes it. */
static enum emu_status write_head(struct disk_cache_writer *w)
{
    FILE *f = output_stream(w->out);
    struct disk_cache_head h = { .key = w->key };
    uint8_t *all = MAP_FAILED, front[BODY_AT];
    struct stat st;
    int good = !fflush(f) && !fstat(output_fd(w->out), &st) && st.st_size >= BODY_AT;

    if (good)
        all = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, output_fd(w->out), 0);
    if (all == MAP_FAILED)
        return FAIL(IO, "%.200s: %s", output_path(w->out), strerror(errno));
    memcpy(h.magic, magic, sizeof(magic));
    memcpy(h.kind, w->kind, sizeof(h.kind));
    h.body_bytes = (uint64_t)st.st_size - BODY_AT;
    h.sum = sum_of(&h, w->label, all + BODY_AT);
    munmap(all, (size_t)st.st_size);
    memcpy(front, &h, HEAD_BYTES);
    memcpy(front + HEAD_BYTES, w->label, sizeof(w->label));
    if (pwrite(output_fd(w->out), front, sizeof(front), 0) != sizeof(front))
        return FAIL(IO, "%.200s: %s", output_path(w->out), strerror(errno));
    return EMU_OK;
}

static enum emu_status close_entry(struct disk_cache_writer *w, enum emu_status s)
{
    if (s == EMU_OK)
        s = write_head(w);
    s = output_finish(&w->out, s);
    sigaction(SIGXFSZ, &w->before, NULL);
    return s;
}

static enum emu_status open_entry(const struct disk_cache *c, struct hash128 key, const char *kind,
                                  const char *label, struct disk_cache_writer *w)
{
    static const struct sigaction ignore = { .sa_handler = SIG_IGN };
    static const uint8_t front[BODY_AT];
    char path[DISK_CACHE_PATH_MAX];

    memset(w, 0, sizeof(*w));
    if (!c->folder[0])
        return FAIL(IO, "there is no cache");
    if (!make_folder(c))
        return FAIL(IO, "%.200s: %s", c->folder, strerror(errno));
    entry_path(c, key, kind, path);
    w->key = key;
    snprintf(w->kind, sizeof(w->kind), "%s", kind);
    snprintf(w->label, sizeof(w->label), "%s", label);
    TRY(output_open(path, &w->out));
    sigaction(SIGXFSZ, &ignore, &w->before);
    fwrite(front, sizeof(front), 1, output_stream(w->out));
    if (!fflush(output_stream(w->out)))
        return EMU_OK;
    return close_entry(w, FAIL(IO, "%.200s: %s", path, strerror(errno)));
}

enum emu_status disk_cache_begin(const struct disk_cache *c, struct hash128 key, const char *kind,
                                 const char *label, struct disk_cache_writer *w)
{
    sweep(c, 0);
    return open_entry(c, key, kind, label, w);
}

enum emu_status disk_cache_end(const struct disk_cache *c, struct disk_cache_writer *w,
                               enum emu_status s)
{
    s = close_entry(w, s);
    if (s == EMU_OK)
        make_room(c);
    return s;
}

enum emu_status disk_cache_keep(const struct disk_cache *c, struct hash128 key, const char *kind,
                                const char *label, const void *body, size_t bytes)
{
    char path[DISK_CACHE_PATH_MAX];
    struct disk_cache_writer w;

    entry_path(c, key, kind, path);
    if (c->folder[0] && !access(path, F_OK))
        return EMU_OK;
    TRY(open_entry(c, key, kind, label, &w));
    fwrite(body, 1, bytes, output_stream(w.out));
    return close_entry(&w, EMU_OK);
}

void disk_cache_tidy(const struct disk_cache *c)
{
    sweep(c, 0);
    make_room(c);
}
