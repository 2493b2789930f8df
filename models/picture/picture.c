/* picture.c - finds out what a file is, and hands its bytes to the decoder. */
#include "models/picture/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "models/picture/picture_decode.h"

static const uint8_t jpeg_start[] = { 0xff, 0xd8, 0xff };
static const uint8_t png_start[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };

static int begins_with(const uint8_t *data, size_t bytes, const uint8_t *start, size_t n)
{
    return bytes >= n && !memcmp(data, start, n);
}

enum emu_status picture_check_size(uint32_t width, uint32_t height, uint64_t pixels_max)
{
    if (!width || !height || width > PICTURE_SIDE_MAX || height > PICTURE_SIDE_MAX)
        return FAIL(BAD_FILE, "a picture of %u x %u; at most %d x %d can be read", width, height,
                    PICTURE_SIDE_MAX, PICTURE_SIDE_MAX);
    if ((uint64_t)width * height > pixels_max)
        return FAIL(BAD_FILE, "a picture of %u x %u; at most %" PRIu64 " pixels are read", width,
                    height, pixels_max);
    return EMU_OK;
}

enum emu_status picture_allocate(struct picture *p, uint32_t width, uint32_t height,
                                 uint64_t pixels_max)
{
    TRY(picture_check_size(width, height, pixels_max));
    p->width = width;
    p->height = height;
    p->rgb = emu_alloc((size_t)width * height, 3);
    return p->rgb ? EMU_OK : FAIL(NO_MEMORY, "%u x %u pixels", width, height);
}

void picture_free(struct picture *p)
{
    ss_free(p->rgb);
    memset(p, 0, sizeof(*p));
}

enum emu_status picture_decode(const void *data, size_t bytes, uint64_t pixels_max,
                               struct picture *out)
{
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    if (begins_with(data, bytes, jpeg_start, sizeof(jpeg_start)))
        s = jpeg_decode(data, bytes, pixels_max, out);
    else if (begins_with(data, bytes, png_start, sizeof(png_start)))
        s = png_decode(data, bytes, pixels_max, out);
    else
        s = FAIL(BAD_FILE, "neither a JPEG nor a PNG");
    if (s != EMU_OK)
        picture_free(out);
    return s;
}

enum emu_status picture_read_bytes(const void *data, size_t bytes, const char *name,
                                   struct picture *out)
{
    enum emu_status s = picture_decode(data, bytes, UINT64_MAX, out);

    return s == EMU_OK ? s : ss_fail(s, "%s: %s", name, ss_error());
}

/* ---- files ---- */

enum { FILE_BYTES_MAX = 1 << 30, READ_BYTES = 1 << 16 };

/* Reads all bytes up to the end; f may be a pipe. */
static enum emu_status read_all(FILE *f, const char *path, uint8_t **data, size_t *bytes)
{
    size_t cap = 0;

    *data = NULL;
    for (*bytes = 0;;) {
        size_t got;

        if (cap - *bytes < READ_BYTES) {
            uint8_t *grown;

            cap = 2 * cap + READ_BYTES;
            grown = emu_realloc(*data, cap, 1);
            if (!grown)
                return FAIL(NO_MEMORY, "%s: %zu bytes", path, cap);
            *data = grown;
        }
        got = fread(*data + *bytes, 1, READ_BYTES, f);
        *bytes += got;
        if (ferror(f))
            return FAIL(IO, "%s: %s", path, strerror(errno));
        if (!got)
            return EMU_OK;
        if (*bytes > FILE_BYTES_MAX)
            return FAIL(BAD_FILE, "%s: larger than 1 GiB", path);
    }
}

enum emu_status picture_read(const char *path, struct picture *out)
{
    FILE *f = embedded_fopen(path);
    uint8_t *data = NULL;
    size_t bytes = 0;
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    if (!f)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    s = read_all(f, path, &data, &bytes);
    fclose(f);
    if (s == EMU_OK)
        s = picture_read_bytes(data, bytes, path, out);
    ss_free(data);
    return s;
}
