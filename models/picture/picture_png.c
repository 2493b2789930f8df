/* picture_png.c - PNG through libpng: every depth and colour type becomes 8-bit RGB, transparent
 * pixels lie over black, gamma is not looked at.
 */
#include <png.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/picture/picture_decode.h"

enum { PNG_CHUNK_BYTES_MAX = 8 << 20 };
enum { SIZE_AT = 16 }; /* width and height, after the signature and the head of the first chunk */

/* State of one file, with everything that must survive a longjmp. */
struct png_reader {
    png_structp png;
    png_infop info;
    const uint8_t *at;
    size_t left;
    uint64_t pixels_max;
    struct picture *p;
    png_bytep *row; /* owned; rows of p */
    enum emu_status status;
};

static void PNGCBAPI on_error(png_structp png, png_const_charp text)
{
    struct png_reader *r = png_get_error_ptr(png);

    r->status = FAIL(BAD_FILE, "%s", text);
    png_longjmp(png, 1);
}

static void PNGCBAPI on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void PNGCBAPI read_bytes(png_structp png, png_bytep out, size_t bytes)
{
    struct png_reader *r = png_get_io_ptr(png);

    if (bytes > r->left)
        png_error(png, "the file ends too early");
    memcpy(out, r->at, bytes);
    r->at += bytes;
    r->left -= bytes;
}

static void ask_for_rgb(struct png_reader *r)
{
    static const png_color_16 black = { 0 };

    png_set_expand(r->png);
    png_set_gray_to_rgb(r->png);
    png_set_background(r->png, &black, PNG_BACKGROUND_GAMMA_SCREEN, 0, 1.0);
    png_set_scale_16(r->png);
    png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
}

/* Returns where it cannot go on; r->status says why. */
static void decode(struct png_reader *r)
{
    uint32_t width, height;

    png_set_read_fn(r->png, r, read_bytes);
    png_set_user_limits(r->png, PICTURE_SIDE_MAX, PICTURE_SIDE_MAX);
    png_set_chunk_malloc_max(r->png, PNG_CHUNK_BYTES_MAX);
    png_read_info(r->png, r->info);
    width = png_get_image_width(r->png, r->info);
    height = png_get_image_height(r->png, r->info);
    r->status = picture_allocate(r->p, width, height, r->pixels_max);
    if (r->status != EMU_OK)
        return;
    ask_for_rgb(r);
    if (png_get_rowbytes(r->png, r->info) != (size_t)width * 3)
        png_error(r->png, "pixels that are not RGB");
    r->row = emu_alloc(height, sizeof(*r->row));
    if (!r->row) {
        r->status = FAIL(NO_MEMORY, "%u rows", height);
        return;
    }
    for (uint32_t y = 0; y < height; y++)
        r->row[y] = r->p->rgb + (size_t)y * width * 3;
    png_read_image(r->png, r->row);
    png_read_end(r->png, NULL);
}

/* A function of its own, so that r is defined after a longjmp. */
static void decode_guarded(struct png_reader *r)
{
    if (!setjmp(png_jmpbuf(r->png)))
        decode(r);
}

enum emu_status png_decode(const uint8_t *data, size_t bytes, uint64_t pixels_max,
                           struct picture *p)
{
    struct png_reader r = { .at = data, .left = bytes, .pixels_max = pixels_max, .p = p };

    /* The size comes first in a PNG: checked here, because the library would only call the header
     * invalid. */
    if (bytes >= SIZE_AT + 8)
        TRY(picture_check_size(png_get_uint_32(data + SIZE_AT), png_get_uint_32(data + SIZE_AT + 4),
                               pixels_max));
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
    if (r.png)
        r.info = png_create_info_struct(r.png);
    if (!r.info)
        r.status = FAIL(NO_MEMORY, "a PNG decoder");
    else
        decode_guarded(&r);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    ss_free(r.row);
    return r.status;
}
