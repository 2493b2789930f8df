/* test_picture.c - JPEG and PNG of every kind, made here through the libraries; damaged files; the
 * cut against checksums of Pillow 9.4 with torchvision's arithmetic; normalisation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>

#include "emu/base/alloc.h"
#include "models/picture/picture.h"

enum { WIDTH = 157, HEIGHT = 91, ROW_MAX = WIDTH * 8 };

/* A file in memory. */
struct file {
    uint8_t *data; /* owned, by malloc */
    size_t bytes;
};

static void file_free(struct file *f)
{
    free(f->data);
    memset(f, 0, sizeof(*f));
}

/* ---- encoders ---- */

/* Sample c of pixel x, y: smooth, so that JPEG keeps it within a few steps. */
static uint8_t sample(uint32_t x, uint32_t y, unsigned c)
{
    return (uint8_t)(40 + (c + 1) * x / 3 + (3 - c) * y / 2);
}

static struct file make_jpeg(int components, J_COLOR_SPACE space, int progressive)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct file f = { 0 };
    unsigned long bytes = 0;
    uint8_t row[ROW_MAX];
    JSAMPROW rows = row;

    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &f.data, &bytes);
    c.image_width = WIDTH;
    c.image_height = HEIGHT;
    c.input_components = components;
    c.in_color_space = space;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 97, TRUE);
    if (progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++)
            for (int k = 0; k < components; k++)
                row[x * (uint32_t)components + (uint32_t)k] = sample(x, y, (unsigned)k);
        jpeg_write_scanlines(&c, &rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    f.bytes = bytes;
    return f;
}

static void append(png_structp png, png_bytep data, size_t bytes)
{
    struct file *f = png_get_io_ptr(png);

    f->data = realloc(f->data, f->bytes + bytes);
    memcpy(f->data + f->bytes, data, bytes);
    f->bytes += bytes;
}

/* Fills one row of a PNG in its own format. */
typedef void fill_row(uint32_t y, uint8_t *row);

static struct file make_png(int depth, int type, int interlace, fill_row *fill)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    struct file f = { 0 };
    uint8_t row[HEIGHT][ROW_MAX];
    png_bytep rows[HEIGHT];

    png_set_write_fn(png, &f, append, NULL);
    png_set_IHDR(png, info, WIDTH, HEIGHT, depth, type, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (type == PNG_COLOR_TYPE_PALETTE) {
        static const png_color colours[] = { { 1, 2, 3 }, { 200, 100, 50 }, { 7, 250, 90 } };
        static const uint8_t alpha[] = { 255, 255, 0 };

        png_set_PLTE(png, info, colours, 3);
        png_set_tRNS(png, info, alpha, 3, NULL);
    }
    png_write_info(png, info);
    for (uint32_t y = 0; y < HEIGHT; y++) {
        memset(row[y], 0, ROW_MAX);
        fill(y, row[y]);
        rows[y] = row[y];
    }
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return f;
}

static void fill_rgb(uint32_t y, uint8_t *row)
{
    for (uint32_t x = 0; x < WIDTH; x++)
        for (unsigned c = 0; c < 3; c++)
            row[3 * x + c] = sample(x, y, c);
}

static void fill_grey(uint32_t y, uint8_t *row)
{
    for (uint32_t x = 0; x < WIDTH; x++)
        row[x] = sample(x, y, 0);
}

static void fill_bits(uint32_t y, uint8_t *row)
{
    for (uint32_t x = 0; x < WIDTH; x++)
        if ((x + y) % 3 == 0)
            row[x / 8] |= (uint8_t)(0x80 >> x % 8);
}

static void fill_wide(uint32_t y, uint8_t *row)
{
    for (uint32_t x = 0; x < WIDTH; x++)
        for (unsigned c = 0; c < 3; c++) {
            row[6 * x + 2 * c] = sample(x, y, c);
            row[6 * x + 2 * c + 1] = sample(x, y, c); /* 257 times the 8-bit value */
        }
}

static void fill_palette(uint32_t y, uint8_t *row)
{
    for (uint32_t x = 0; x < WIDTH; x++)
        row[x] = (uint8_t)((x + y) % 3);
}

static void fill_alpha(uint32_t y, uint8_t *row)
{
    for (uint32_t x = 0; x < WIDTH; x++) {
        for (unsigned c = 0; c < 3; c++)
            row[4 * x + c] = sample(x, y, c);
        row[4 * x + 3] = (uint8_t)(x % 3 == 0 ? 0 : x % 3 == 1 ? 255 : 128);
    }
}

/* ---- decoding ---- */

static struct picture read_good(struct file *f)
{
    struct picture p;

    assert_int_equal(picture_read_bytes(f->data, f->bytes, "made", &p), EMU_OK);
    assert_int_equal(p.width, WIDTH);
    assert_int_equal(p.height, HEIGHT);
    file_free(f);
    return p;
}

static const uint8_t *pixel(const struct picture *p, uint32_t x, uint32_t y)
{
    return p->rgb + ((size_t)y * p->width + x) * 3;
}

/* Every sample within `slack` of expected(x, y, c). */
typedef int expected_sample(uint32_t x, uint32_t y, unsigned c);

static void check_pixels(struct file f, expected_sample *expected, int slack)
{
    long live = alloc_live();
    struct picture p = read_good(&f);

    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++)
            for (unsigned c = 0; c < 3; c++)
                assert_in_range(pixel(&p, x, y)[c] - expected(x, y, c) + slack, 0, 2 * slack);
    picture_free(&p);
    assert_int_equal(alloc_live(), live);
}

static int expect_rgb(uint32_t x, uint32_t y, unsigned c)
{
    return sample(x, y, c);
}

static int expect_grey(uint32_t x, uint32_t y, unsigned c)
{
    (void)c;
    return sample(x, y, 0);
}

static int expect_bits(uint32_t x, uint32_t y, unsigned c)
{
    (void)c;
    return (x + y) % 3 == 0 ? 255 : 0;
}

static int expect_palette(uint32_t x, uint32_t y, unsigned c)
{
    static const int colour[3][3] = { { 1, 2, 3 }, { 200, 100, 50 }, { 0, 0, 0 } };

    return colour[(x + y) % 3][c];
}

static int expect_alpha(uint32_t x, uint32_t y, unsigned c)
{
    int v = sample(x, y, c);

    return x % 3 == 0 ? 0 : x % 3 == 1 ? v : (v * 128 + 127) / 255;
}

/* Ink: the file holds 255 for none, and the test writes the samples as they are. */
static int expect_cmyk(uint32_t x, uint32_t y, unsigned c)
{
    return sample(x, y, c) * sample(x, y, 3) / 255;
}

static void test_jpeg(void **state)
{
    (void)state;
    check_pixels(make_jpeg(3, JCS_RGB, 0), expect_rgb, 6);
    check_pixels(make_jpeg(3, JCS_RGB, 1), expect_rgb, 6);
    check_pixels(make_jpeg(1, JCS_GRAYSCALE, 0), expect_grey, 3);
    check_pixels(make_jpeg(4, JCS_CMYK, 0), expect_cmyk, 4);
}

static void test_png(void **state)
{
    (void)state;
    for (int interlace = 0; interlace < 2; interlace++) {
        check_pixels(make_png(8, PNG_COLOR_TYPE_RGB, interlace, fill_rgb), expect_rgb, 0);
        check_pixels(make_png(8, PNG_COLOR_TYPE_GRAY, interlace, fill_grey), expect_grey, 0);
        check_pixels(make_png(1, PNG_COLOR_TYPE_GRAY, interlace, fill_bits), expect_bits, 0);
        check_pixels(make_png(16, PNG_COLOR_TYPE_RGB, interlace, fill_wide), expect_rgb, 0);
        check_pixels(make_png(8, PNG_COLOR_TYPE_PALETTE, interlace, fill_palette), expect_palette,
                     0);
        check_pixels(make_png(8, PNG_COLOR_TYPE_RGB_ALPHA, interlace, fill_alpha), expect_alpha, 1);
    }
}

/* ---- bad files ---- */

static void expect_bad(const void *data, size_t bytes)
{
    long live = alloc_live();
    struct picture p;

    assert_int_equal(picture_read_bytes(data, bytes, "bad.file", &p), EMU_BAD_FILE);
    assert_int_equal(strncmp(ss_error(), "bad.file: ", 10), 0);
    assert_null(strchr(ss_error(), '\n'));
    assert_null(p.rgb);
    assert_int_equal(alloc_live(), live);
}

static void refuse_prefixes(struct file f, size_t whole)
{
    for (size_t n = 0; n < f.bytes - whole; n = n < 700 ? n + 1 : n + 97)
        expect_bad(f.data, n);
    file_free(&f);
}

static void test_truncated(void **state)
{
    (void)state;
    refuse_prefixes(make_jpeg(3, JCS_RGB, 0), 2);
    refuse_prefixes(make_jpeg(3, JCS_RGB, 1), 2);
    refuse_prefixes(make_png(8, PNG_COLOR_TYPE_RGB, 0, fill_rgb), 0);
    refuse_prefixes(make_png(8, PNG_COLOR_TYPE_RGB, 1, fill_rgb), 0);
}

static void test_damaged(void **state)
{
    struct file f = make_png(8, PNG_COLOR_TYPE_RGB, 0, fill_rgb);

    (void)state;
    f.data[f.bytes / 2] ^= 0x10;
    expect_bad(f.data, f.bytes);
    file_free(&f);
    f = make_jpeg(3, JCS_RGB, 0);
    for (size_t i = 0; i + 8 < f.bytes; i++)
        if (f.data[i] == 0xff && f.data[i + 1] == 0xc0)
            f.data[i + 5] = f.data[i + 6] = 0xff; /* 65535 rows */
    expect_bad(f.data, f.bytes);
    file_free(&f);
    f = make_jpeg(3, JCS_RGB, 0);
    f.data[f.bytes / 2] = 0xff; /* a marker among the pixels: the rest of them is missing */
    f.data[f.bytes / 2 + 1] = 0xd9;
    expect_bad(f.data, f.bytes);
    file_free(&f);
    expect_bad("GIF89a and so on", 16);
    expect_bad("", 0);
}

static void test_files(void **state)
{
    struct file f = make_png(8, PNG_COLOR_TYPE_RGB, 0, fill_rgb);
    char path[] = "/tmp/test_picture_XXXXXX";
    int fd = mkstemp(path);
    struct picture p;

    (void)state;
    assert_true(fd >= 0 && write(fd, f.data, f.bytes) == (ssize_t)f.bytes && !close(fd));
    assert_int_equal(picture_read(path, &p), EMU_OK);
    assert_int_equal(pixel(&p, 5, 6)[1], sample(5, 6, 1));
    picture_free(&p);
    unlink(path);
    file_free(&f);
    assert_int_equal(picture_read(path, &p), EMU_IO);
    assert_non_null(strstr(ss_error(), path));
    assert_int_equal(picture_read("/tmp", &p), EMU_IO);
}

/* Every allocation fails once. */
static enum emu_status cut_share(const struct picture *p, uint32_t side, double share,
                                 struct picture *out)
{
    const struct picture_recipe r = picture_recipe_of_share(side, side, share);

    return picture_crop(p, &r, out);
}

static void test_no_memory(void **state)
{
    struct file f[] = { make_jpeg(4, JCS_CMYK, 0), make_png(8, PNG_COLOR_TYPE_RGB, 0, fill_rgb) };
    struct picture p, cut;

    (void)state;
    for (int i = 0; i < 2; i++) {
        long live = alloc_live();

        for (long nth = 0; nth < 2; nth++) {
            alloc_test_fail_at(nth);
            assert_int_equal(picture_read_bytes(f[i].data, f[i].bytes, "made", &p), EMU_NO_MEMORY);
            alloc_test_fail_at(-1);
            assert_int_equal(alloc_live(), live);
        }
        p = read_good(&f[i]);
        for (long nth = 0; nth < 11; nth++) {
            alloc_test_fail_at(nth);
            assert_int_equal(cut_share(&p, 20, 0.9, &cut), EMU_NO_MEMORY);
            alloc_test_fail_at(-1);
            assert_null(cut.rgb);
            assert_int_equal(alloc_live(), live + 1);
        }
        picture_free(&p);
    }
}

/* ---- cut and normalisation ---- */

static uint32_t fnv(const struct picture *p)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < (size_t)p->width * p->height * 3; i++)
        h = (h ^ p->rgb[i]) * 16777619u;
    return h;
}

static struct picture make_picture(uint32_t width, uint32_t height)
{
    struct picture p = { width, height, emu_alloc((size_t)width * height, 3) };

    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint8_t *at = p.rgb + ((size_t)y * width + x) * 3;

            at[0] = (uint8_t)(x * 7 + y * 13);
            at[1] = (uint8_t)(x * x + 3 * y);
            at[2] = (uint8_t)(x * y * 5);
        }
    return p;
}

/* The same pixels through Pillow 9.4 (resize to side / crop, BICUBIC; crop), hashed. */
static void test_crop_pillow(void **state)
{
    struct picture p = make_picture(WIDTH, HEIGHT), cut;

    (void)state;
    assert_int_equal(cut_share(&p, 32, 0.9, &cut), EMU_OK); /* shrinks; odd margins */
    assert_int_equal(fnv(&cut), 0xf3382105u);
    picture_free(&cut);
    assert_int_equal(cut_share(&p, 150, 0.6, &cut), EMU_OK); /* grows */
    assert_int_equal(fnv(&cut), 0x17ca1a1bu);
    picture_free(&cut);
    picture_free(&p);
}

static void test_crop_edges(void **state)
{
    struct picture p = make_picture(3, 2000), cut;

    (void)state;
    assert_int_equal(cut_share(&p, 3, 1, &cut), EMU_OK); /* nothing to resize: the centre */
    assert_memory_equal(cut.rgb, pixel(&p, 0, 998), 27);
    picture_free(&cut);
    assert_int_equal(cut_share(&p, 60, 1, &cut), EMU_OK);
    assert_int_equal(cut.width, 60);
    picture_free(&cut);
    assert_int_equal(cut_share(&p, 0, 1, &cut), EMU_USAGE);
    assert_int_equal(cut_share(&p, 10, 0.005, &cut), EMU_USAGE);
    assert_int_equal(cut_share(&p, 10, 1.5, &cut), EMU_USAGE);
    assert_null(cut.rgb);
    picture_free(&p);
    p = make_picture(1, 1);
    assert_int_equal(cut_share(&p, 7, 0.875, &cut), EMU_OK);
    assert_int_equal(pixel(&cut, 6, 6)[2], 0);
    picture_free(&cut);
    picture_free(&p);
}

/* A picture that keeps its size is cut only. */
static void test_not_resized(void **state)
{
    struct picture p = make_picture(9, 7), cut;
    struct picture_recipe r = picture_recipe_of_share(3, 3, 1);
    char text[RECIPE_TEXT];

    (void)state;
    r.cover_width = r.cover_height = 0;
    assert_int_equal(picture_crop(&p, &r, &cut), EMU_OK);
    for (unsigned y = 0; y < 3; y++)
        assert_memory_equal(pixel(&cut, 0, y), pixel(&p, 3, 2 + y), 9);
    picture_free(&cut);
    assert_string_equal(picture_recipe_text(&r, text), "not resized, middle 3 x 3 (as chosen)");
    r.width = r.height = 8;
    assert_int_equal(picture_crop(&p, &r, &cut), EMU_BAD_FILE);
    assert_non_null(strstr(ss_error(), "9 x 7 pixels"));
    picture_free(&p);
}

/* As PIL 9.4: Image.resize((41, 24), BILINEAR), the middle 20 x 20. */
static void test_bilinear_pillow(void **state)
{
    struct picture p = make_picture(WIDTH, HEIGHT), cut;
    const struct picture_recipe r = { .width = 20,
                                      .height = 20,
                                      .cover_width = 24,
                                      .cover_height = 24,
                                      .planes = 3,
                                      .filter = FILTER_BILINEAR };

    (void)state;
    assert_int_equal(picture_crop(&p, &r, &cut), EMU_OK);
    assert_int_equal(fnv(&cut), 0x9be8c5fdu);
    picture_free(&cut);
    picture_free(&p);
}

/* Families of weights were measured with pictures of their own. */
static void test_recipes(void **state)
{
    static const struct {
        const char *net, *family, *text;
        uint32_t resolution;
    } row[] = {
        { "efficientnet-b4", "torchvision",
          "shorter side to 384 (bicubic), middle 380 x 380 (torchvision's)", 0 },
        { "efficientnet-b4", "timm", "shorter side to 412 (bicubic), middle 380 x 380 (timm's)",
          0 },
        { "efficientnet-b4", NULL,
          "shorter side to 412 (bicubic), middle 380 x 380 (its publication's)", 0 },
        { "efficientnet-b4", "torchvision",
          "shorter side to 97 (bicubic), middle 96 x 96 (torchvision's)", 96 },
        { "efficientnet-b2", "torchvision",
          "shorter side to 260 (bicubic), middle 260 x 260 (torchvision's)", 0 },
        { "resnet-50", "torchvision",
          "shorter side to 256 (bilinear), middle 224 x 224 (torchvision's)", 0 },
    };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        const struct net_options o = { .resolution = row[k].resolution };
        char text[RECIPE_TEXT];
        struct picture_recipe r;
        struct net *n;

        assert_int_equal(net_new(row[k].net, &o, &n), EMU_OK);
        r = picture_recipe_of(n, row[k].family);
        assert_string_equal(picture_recipe_text(&r, text), row[k].text);
        assert_int_equal(picture_recipe_check(&r), EMU_OK);
        net_free(n);
    }
}

/* A cut that is no square: the picture keeps its form and covers it. */
static void test_oblong(void **state)
{
    static const struct {
        uint32_t width, height, cut_width, cut_height;
        double share;
        uint32_t left, top; /* of the cut, in a picture that keeps its size */
    } row[] = { { 12, 6, 6, 6, 1, 3, 0 },
                { 12, 6, 12, 3, 1, 0, 2 },
                { 6, 12, 3, 12, 1, 2, 0 },
                { 16, 9, 8, 4, 0.5, 4, 2 },
                { 9, 16, 8, 2, 1, 0, 6 } };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(row); k++) {
        struct picture p = make_picture(row[k].width, row[k].height), cut;
        struct picture_recipe r =
            picture_recipe_of_share(row[k].cut_width, row[k].cut_height, row[k].share);

        assert_int_equal(picture_crop(&p, &r, &cut), EMU_OK);
        assert_int_equal(cut.width, row[k].cut_width);
        assert_int_equal(cut.height, row[k].cut_height);
        if (row[k].width == 9) { /* resized to 8 x 14 */
            picture_free(&cut);
            picture_free(&p);
            continue;
        }
        for (unsigned y = 0; y < cut.height; y++)
            assert_memory_equal(pixel(&cut, 0, y), pixel(&p, row[k].left, row[k].top + y),
                                3 * (size_t)cut.width);
        picture_free(&cut);
        picture_free(&p);
    }
}

/* All of a picture, whatever its form: what a picture of the same size is left as. */
static void test_whole(void **state)
{
    struct picture p = make_picture(9, 7), same, other;
    struct picture_recipe r = picture_recipe_of_share(9, 7, 0.5);
    char text[RECIPE_TEXT];

    (void)state;
    r.whole = 1;
    assert_int_equal(picture_crop(&p, &r, &same), EMU_OK);
    assert_memory_equal(same.rgb, p.rgb, (size_t)9 * 7 * 3);
    r.width = r.height = 20; /* more than the picture has, and another form */
    assert_int_equal(picture_crop(&p, &r, &other), EMU_OK);
    assert_int_equal(other.width, 20);
    assert_string_equal(picture_recipe_text(&r, text),
                        "all of a picture, resized (bicubic) to 20 x 20 (as chosen)");
    picture_free(&other);
    picture_free(&same);
    picture_free(&p);
}

static void test_channels(void **state)
{
    struct picture p = make_picture(4, 3);
    struct picture_recipe r = picture_recipe_of_share(4, 3, 1), gray = r;
    float rgb[36], bgr[36], one[12];
    char text[RECIPE_TEXT];

    (void)state;
    r.bytes = 1;
    picture_normalise(&p, &r, rgb);
    r.channels = PICTURE_BGR;
    picture_normalise(&p, &r, bgr);
    picture_recipe_gray(&gray);
    picture_normalise(&p, &gray, one);
    for (int i = 0; i < 12; i++) {
        double mean = (p.rgb[3 * i] + p.rgb[3 * i + 1] + p.rgb[3 * i + 2]) / 3.0 / 255 * 2 - 1;

        for (int c = 0; c < 3; c++) {
            assert_true(rgb[12 * c + i] == p.rgb[3 * i + c]);
            assert_true(bgr[12 * c + i] == p.rgb[3 * i + 2 - c]);
        }
        assert_true(one[i] - mean < 1e-6 && mean - one[i] < 1e-6);
    }
    assert_string_equal(picture_recipe_text(&gray, text),
                        "resized to cover 4 x 3 (bicubic), middle 4 x 3 (as chosen); gray, mean "
                        "0.5, deviation 0.5");
    assert_string_equal(picture_normal_text(&r, text), "bgr, as bytes");
    gray.channels = PICTURE_BGR;
    assert_int_equal(picture_recipe_check(&gray), EMU_USAGE);
    picture_free(&p);
}

static void test_normalise(void **state)
{
    struct picture_recipe n = picture_recipe_of_share(8, 8, 1);
    struct picture p = make_picture(4, 3);
    float out[36];

    (void)state;
    picture_normalise(&p, &n, out);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 12; i++) {
            double want = (p.rgb[3 * i + c] / 255.0 - n.mean[c]) / n.std[c];

            assert_true(out[12 * c + i] - want < 1e-6 && want - out[12 * c + i] < 1e-6);
        }
    picture_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jpeg),        cmocka_unit_test(test_png),
        cmocka_unit_test(test_truncated),   cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_files),       cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_crop_pillow), cmocka_unit_test(test_crop_edges),
        cmocka_unit_test(test_not_resized), cmocka_unit_test(test_bilinear_pillow),
        cmocka_unit_test(test_recipes),     cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_oblong),      cmocka_unit_test(test_whole),
        cmocka_unit_test(test_channels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
