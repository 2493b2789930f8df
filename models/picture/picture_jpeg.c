/* picture_jpeg.c - JPEG through libjpeg-turbo.
 *
 * The slow integer transform and smooth upsampling are chosen by name: their pixels are the same
 * with and without vector instructions. Orientation tags are not looked at: the usual recipe of
 * evaluation does not, either.
 */
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

#include "emu/base/alloc.h"
#include "models/picture/picture_decode.h"

/* Every scan of a progressive file may go over all pixels; real files have about ten scans. */
enum { JPEG_SCANS_MAX = 256, JPEG_MEMORY_MAX = 1 << 30 };

/* State of one file, with everything that must survive a longjmp. */
struct jpeg_reader {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    uint64_t pixels_max;
    struct picture *p;
    uint8_t *row; /* owned; one row as the decoder gives it */
    enum emu_status status;
};

static struct jpeg_reader *reader_of(j_common_ptr d)
{
    return d->client_data;
}

static void give_up(j_common_ptr d)
{
    struct jpeg_reader *r = reader_of(d);
    char text[JMSG_LENGTH_MAX];

    d->err->format_message(d, text);
    r->status = FAIL(BAD_FILE, "%s", text);
    longjmp(r->back, 1);
}

/* Warnings after which the decoder makes pixels up; others (a version, a stray byte) are harmless.
 */
static int loses_pixels(int code)
{
    return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
           code == JWRN_MUST_RESYNC || code == JWRN_ARITH_BAD_CODE ||
           code == JWRN_BOGUS_PROGRESSION || code == JWRN_NOT_SEQUENTIAL;
}

static void on_message(j_common_ptr d, int level)
{
    if (level < 0 && loses_pixels(d->err->msg_code))
        give_up(d);
}

static void on_progress(j_common_ptr d)
{
    struct jpeg_reader *r = reader_of(d);

    if (!d->is_decompressor || r->d.input_scan_number <= JPEG_SCANS_MAX)
        return;
    r->status = FAIL(BAD_FILE, "more than %d scans", JPEG_SCANS_MAX);
    longjmp(r->back, 1);
}

/* ---- pixels ---- */

/* Files with Adobe's marker are inverted: 255 means no ink. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint32_t width, int inverted, uint8_t *rgb)
{
    for (uint32_t x = 0; x < width; x++, cmyk += 4, rgb += 3) {
        unsigned k = inverted ? cmyk[3] : 255u - cmyk[3];

        for (int i = 0; i < 3; i++) {
            unsigned ink = inverted ? cmyk[i] : 255u - cmyk[i];

            rgb[i] = (uint8_t)((ink * k + 127) / 255);
        }
    }
}

static void read_rows(struct jpeg_reader *r)
{
    struct jpeg_decompress_struct *d = &r->d;

    while (d->output_scanline < d->output_height) {
        uint8_t *to = r->p->rgb + (size_t)d->output_scanline * r->p->width * 3;
        JSAMPROW row = r->row ? r->row : to;

        if (jpeg_read_scanlines(d, &row, 1) == 1 && r->row)
            cmyk_to_rgb(r->row, r->p->width, d->saw_Adobe_marker, to);
    }
}

/* Returns where it cannot go on; r->status says why. */
static void decode(struct jpeg_reader *r, const uint8_t *data, size_t bytes)
{
    struct jpeg_decompress_struct *d = &r->d;

    jpeg_mem_src(d, data, bytes);
    jpeg_read_header(d, TRUE);
    r->status = picture_allocate(r->p, d->image_width, d->image_height, r->pixels_max);
    if (r->status != EMU_OK)
        return;
    if (d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK) {
        d->out_color_space = JCS_CMYK;
        r->row = emu_alloc(d->image_width, 4);
        if (!r->row) {
            r->status = FAIL(NO_MEMORY, "a row of pixels");
            return;
        }
    } else {
        d->out_color_space = JCS_RGB;
    }
    d->dct_method = JDCT_ISLOW;
    d->do_fancy_upsampling = TRUE;
    jpeg_start_decompress(d);
    read_rows(r);
    jpeg_finish_decompress(d);
}

/* A function of its own, so that r is defined after a longjmp. */
static void decode_guarded(struct jpeg_reader *r, const uint8_t *data, size_t bytes)
{
    if (setjmp(r->back))
        return;
    jpeg_create_decompress(&r->d);
    r->d.progress = &r->progress;
    r->d.mem->max_memory_to_use = JPEG_MEMORY_MAX;
    decode(r, data, bytes);
}

enum emu_status jpeg_decode(const uint8_t *data, size_t bytes, uint64_t pixels_max,
                            struct picture *p)
{
    struct jpeg_reader r = { .pixels_max = pixels_max, .p = p };

    r.d.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = give_up;
    r.errors.emit_message = on_message;
    r.progress.progress_monitor = on_progress;
    r.d.client_data = &r; /* jpeg_create_decompress() leaves it and err alone */
    decode_guarded(&r, data, bytes);
    jpeg_destroy_decompress(&r.d);
    ss_free(r.row);
    return r.status;
}
