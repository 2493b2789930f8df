/* safetensors_write.c - writes tensors as a safetensors file, beside its place first. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/weights/safetensors.h"

static json_t *tensor_json(const struct safetensor *t, uint64_t begin)
{
    json_t *shape = json_array();
    int bad = 0;

    for (unsigned i = 0; shape && i < t->rank; i++)
        bad |= json_array_append_new(shape, json_integer((json_int_t)t->shape[i]));
    if (bad || !shape) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_type_name(t->type), "shape",
                     shape, "data_offsets", (json_int_t)begin, (json_int_t)(begin + t->bytes));
}

/* The header's text, filled up with spaces so that the data begin at a multiple of 8; free() it. */
static char *header_text(const struct safetensor *t, size_t tensors, uint64_t *bytes)
{
    json_t *root = json_object();
    uint64_t at = 0;
    char *text = NULL, *padded;
    size_t n;
    int bad = !root;

    for (size_t i = 0; !bad && i < tensors; i++) {
        bad = json_object_set_new(root, t[i].name, tensor_json(&t[i], at));
        at += t[i].bytes;
    }
    if (!bad)
        text = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (!text)
        return NULL;
    n = strlen(text);
    *bytes = (n + 7) / 8 * 8;
    padded = realloc(text, (size_t)*bytes + 1);
    if (!padded) {
        free(text);
        return NULL;
    }
    memset(padded + n, ' ', (size_t)*bytes - n);
    return padded;
}

static int put(const char *header, uint64_t bytes, const struct safetensor *t, size_t tensors,
               FILE *f)
{
    uint8_t length[8];

    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bytes >> 8 * i);
    if (fwrite(length, 1, 8, f) != 8 || fwrite(header, 1, (size_t)bytes, f) != bytes)
        return -1;
    for (size_t i = 0; i < tensors; i++) {
        if (fwrite(t[i].data, 1, (size_t)t[i].bytes, f) != t[i].bytes)
            return -1;
    }
    return fflush(f);
}

/* Writes and closes f. */
static int put_and_close(const char *header, uint64_t bytes, const struct safetensor *t,
                         size_t tensors, FILE *f)
{
    int bad = put(header, bytes, t, tensors, f) ? errno : 0;

    return fclose(f) && !bad ? errno : bad;
}

/* A device or pipe must not be replaced by a file. */
static enum emu_status write_through(const char *header, uint64_t bytes, const struct safetensor *t,
                                     size_t tensors, const char *path)
{
    FILE *f = fopen(path, "wb");
    int bad = f ? put_and_close(header, bytes, t, tensors, f) : errno;

    return bad ? FAIL(IO, "%.200s: %s", path, strerror(bad)) : EMU_OK;
}

static enum emu_status write_beside(const char *header, uint64_t bytes, const struct safetensor *t,
                                    size_t tensors, const char *path)
{
    char part[PATH_MAX];
    int fd, bad;
    FILE *f;

    if ((size_t)snprintf(part, sizeof(part), "%s.%ld.part", path, (long)getpid()) >= sizeof(part))
        return FAIL(IO, "%.200s...: %s", path, strerror(ENAMETOOLONG));
    fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return FAIL(IO, "%.200s: %s", path, strerror(errno));
    }
    bad = put_and_close(header, bytes, t, tensors, f);
    if (!bad && rename(part, path))
        bad = errno;
    if (!bad)
        return EMU_OK;
    unlink(part);
    return FAIL(IO, "%.200s: %s", path, strerror(bad));
}

enum emu_status safetensors_write(const struct safetensor *t, size_t tensors, const char *path)
{
    uint64_t bytes = 0;
    char *header = header_text(t, tensors, &bytes);
    enum emu_status s;
    struct stat st;

    if (!header)
        return FAIL(NO_MEMORY, "%.200s: a header for %zu tensors", path, tensors);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        s = write_through(header, bytes, t, tensors, path);
    else
        s = write_beside(header, bytes, t, tensors, path);
    free(header);
    return s;
}
