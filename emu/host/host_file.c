/* host_file.c - the host's ends of streams: memory that is read or grows, and files.
 */
#include "emu/host/host_private.h"

#include <errno.h>
#include <string.h>

#include "emu/base/alloc.h"

/* --- sources --- */

enum emu_status host_source_open(struct host_source *s, const char *path)
{
    s->path = emu_strdup(path);
    if (!s->path)
        return FAIL(NO_MEMORY, "the name of a file");
    s->file = fopen(path, "rb");
    if (!s->file)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    return EMU_OK;
}

/* Up to n bytes from where the source stands; 0 at its end. */
static enum emu_status read_some(struct host_source *s, uint8_t *out, uint32_t n, uint32_t *got)
{
    if (!s->file) {
        uint64_t left = s->bytes - s->at;

        *got = left < n ? (uint32_t)left : n;
        if (*got)
            memcpy(out, s->data + s->at, *got);
        return EMU_OK;
    }
    errno = 0;
    *got = (uint32_t)fread(out, 1, n, s->file);
    if (*got < n && ferror(s->file))
        return FAIL(IO, "%s: %s", s->path, strerror(errno));
    return EMU_OK;
}

static enum emu_status start_over(struct host_source *s)
{
    s->at = 0;
    if (s->file && fseek(s->file, 0, SEEK_SET) != 0)
        return FAIL(IO, "%s: cannot start over: %s", s->path, strerror(errno));
    return EMU_OK;
}

enum emu_status host_source_read(struct host_source *s, uint8_t *out, uint32_t n,
                                 const struct host_moment *when)
{
    uint32_t got;

    if (s->fetch) {
        TRY(s->fetch(s->ctx, out, n, when));
        s->at += n;
        return EMU_OK;
    }
    for (;;) {
        TRY(read_some(s, out, n, &got));
        s->at += got;
        out += got;
        n -= got;
        if (!n)
            return EMU_OK;
        if (!s->repeat || !s->at) /* an empty source has nothing to repeat */
            return EMU_FAULT;
        TRY(start_over(s));
    }
}

void host_source_close(struct host_source *s)
{
    if (s->file)
        fclose(s->file);
    ss_free(s->path);
}

/* --- sinks --- */

enum emu_status host_sink_open(struct host_sink *s, const char *path)
{
    return output_open(path, &s->file);
}

static enum emu_status sink_room(struct host_sink *s, uint32_t n)
{
    size_t cap = 2 * (s->bytes + n);
    uint8_t *grown;

    if (n <= s->cap - s->bytes)
        return EMU_OK;
    grown = emu_realloc(s->data, cap, 1);
    if (!grown)
        return FAIL(NO_MEMORY, "%zu bytes that tiles have sent to the host", s->bytes + n);
    s->data = grown;
    s->cap = cap;
    return EMU_OK;
}

enum emu_status host_sink_write(struct host_sink *s, const uint8_t *data, uint32_t n,
                                const struct host_moment *when)
{
    if (s->store)
        return s->store(s->ctx, data, n, when);
    if (!s->file) {
        TRY(sink_room(s, n));
        memcpy(s->data + s->bytes, data, n);
        s->bytes += n;
        return EMU_OK;
    }
    errno = 0;
    if (fwrite(data, 1, n, output_stream(s->file)) != n)
        return FAIL(IO, "%s: %s", output_path(s->file), strerror(errno));
    return EMU_OK;
}

enum emu_status host_sink_flush(struct host_sink *s)
{
    if (!s->file)
        return EMU_OK;
    errno = 0;
    if (fflush(output_stream(s->file)) != 0)
        return FAIL(IO, "%s: %s", output_path(s->file), strerror(errno));
    if (ferror(output_stream(s->file))) /* an earlier write failed; its bytes are gone */
        return FAIL(IO, "%s: not everything could be written", output_path(s->file));
    return EMU_OK;
}

enum emu_status host_sink_commit(struct host_sink *s)
{
    return output_finish(&s->file, EMU_OK);
}

void host_sink_close(struct host_sink *s)
{
    output_discard(s->file);
    ss_free(s->data);
}
