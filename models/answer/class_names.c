/* class_names.c - lines of a text as names; what a terminal or JSON could not show is refused. */
#include "models/answer/class_names.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/name_text.h"
#include "models/feed/feed_file.h"

enum { FILE_BYTES_MAX = 64 << 20 };

/* Whether text[0 .. n), with a zero after it, can be a name. */
static int is_name(const char *text, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if ((unsigned char)text[k] < ' ' || text[k] == 0x7f)
            return 0;
    }
    return name_is_utf8(text);
}

static uint32_t count_lines(const char *text, size_t bytes)
{
    uint32_t lines = 0;

    for (size_t k = 0; k < bytes; k++)
        lines += text[k] == '\n';
    return lines + (bytes && text[bytes - 1] != '\n');
}

/* Cuts the text into its lines. */
static enum emu_status cut(char *text, size_t bytes, const char *path, struct class_names *out)
{
    char *end = text + bytes;

    for (char *at = text; at < end;) {
        char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
        size_t n;

        stop = stop ? stop : end;
        stop -= stop > at && stop[-1] == '\r';
        *stop = '\0';
        n = (size_t)(stop - at);
        if (!n || !is_name(at, n))
            return FAIL(BAD_FILE, "%s:%" PRIu32 ": expected the name of a class in UTF-8%s", path,
                        out->count + 1, n ? "" : ", got an empty line");
        out->name[out->count++] = at;
        at = next;
    }
    return EMU_OK;
}

static enum emu_status take(const void *data, size_t bytes, const char *path, uint32_t classes,
                            struct class_names *out)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of the byte order, as some editors write it */
    size_t skipped = bytes >= 3 && !memcmp(data, mark, 3) ? 3 : 0;

    out->text = emu_alloc(bytes + 1, 1);
    if (!out->text)
        return FAIL(NO_MEMORY, "%s", path);
    memcpy(out->text, (const char *)data + skipped, bytes - skipped);
    bytes -= skipped;
    out->name = emu_alloc((size_t)count_lines(out->text, bytes) + 1, sizeof(*out->name));
    if (!out->name)
        return FAIL(NO_MEMORY, "%s", path);
    TRY(cut(out->text, bytes, path, out));
    return out->count == classes
               ? EMU_OK
               : FAIL(BAD_FILE, "%s: %" PRIu32 " names, but the network has %" PRIu32 " classes",
                      path, out->count, classes);
}

enum emu_status class_names_take(const void *data, size_t bytes, const char *path, uint32_t classes,
                                 struct class_names *out)
{
    enum emu_status s;

    *out = (struct class_names){ .text = NULL };
    s = take(data, bytes, path, classes, out);
    if (s != EMU_OK)
        class_names_free(out);
    return s;
}

enum emu_status class_names_read(const char *path, uint32_t classes, struct class_names *out)
{
    uint8_t *data;
    size_t bytes;
    enum emu_status s = feed_file_bytes(path, FILE_BYTES_MAX, &data, &bytes);

    *out = (struct class_names){ .text = NULL };
    if (s != EMU_OK)
        return ss_fail(s, "%s: %s", path, ss_error());
    s = class_names_take(data, bytes, path, classes, out);
    ss_free(data);
    return s;
}

void class_names_free(struct class_names *c)
{
    ss_free(c->text);
    ss_free(c->name);
    *c = (struct class_names){ .text = NULL };
}

const char *class_name(const struct class_names *c, uint32_t class)
{
    return c && class < c->count ? c->name[class] : "";
}
