/* picture_files.h - files of pictures for tests, and a folder to put them in. */
#ifndef TESTS_PICTURE_FILES_H
#define TESTS_PICTURE_FILES_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>

#include "emu/base/prng.h"
#include "models/picture/picture.h"

/* A folder of its own, in memory where that can be, which is removed with all that is in it. */
struct test_folder {
    char path[64];
};

static inline void folder_new(struct test_folder *d)
{
    strcpy(d->path, access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    strcat(d->path, "/superstep_test_XXXXXX");
    EMU_ASSERT(mkdtemp(d->path));
}

static inline void folder_remove(struct test_folder *d)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", d->path);
    EMU_ASSERT(system(command) == 0);
}

/* "FOLDER/name" with the values put in; valid until the next call but seven. */
static inline const char *EMU_PRINTF(2, 3)
    path_in(const struct test_folder *d, const char *fmt, ...)
{
    static char ring[8][PATH_MAX];
    static unsigned next;
    char *p = ring[next++ % 8];
    int n = snprintf(p, PATH_MAX, "%s/", d->path);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p + n, (size_t)(PATH_MAX - n), fmt, ap);
    va_end(ap);
    return p;
}

static inline void write_bytes(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");

    EMU_ASSERT(f);
    EMU_ASSERT(fwrite(data, 1, bytes, f) == bytes);
    EMU_ASSERT(fclose(f) == 0);
}

/* Bytes of the file; *data, with a zero behind them: free() it. */
static inline size_t read_file(const char *path, char **data)
{
    FILE *f = fopen(path, "rb");
    struct stat st;

    EMU_ASSERT(f);
    EMU_ASSERT(fstat(fileno(f), &st) == 0);
    *data = calloc(1, (size_t)st.st_size + 1);
    EMU_ASSERT(fread(*data, 1, (size_t)st.st_size + 1, f) == (size_t)st.st_size);
    fclose(f);
    return (size_t)st.st_size;
}

/* A smooth picture that another seed makes another one. */
static inline void fill_row(uint8_t *row, uint32_t width, uint32_t y, uint32_t seed)
{
    for (uint32_t x = 0; x < width; x++)
        for (uint32_t c = 0; c < 3; c++)
            row[3 * x + c] = (uint8_t)(seed * 37 + c * 50 + (x * (c + 1) + y * (3 - c)) / 4);
}

/* grain: of noise on top, which makes a file as large as that of a photograph; 0: none. */
static inline void add_grain(uint8_t *row, uint32_t width, int grain, struct prng *noise)
{
    for (uint32_t x = 0; grain && x < 3 * width; x++) {
        int v = row[x] + prng_grand(noise) * grain / 32;

        row[x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

static inline void write_grainy_jpeg(const char *path, uint32_t width, uint32_t height,
                                     uint32_t seed, int grain)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t *row = malloc((size_t)width * 3);
    FILE *f = fopen(path, "wb");
    struct prng noise;

    EMU_ASSERT(row && f);
    prng_seed(&noise, seed);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = width;
    c.image_height = height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    jpeg_start_compress(&c, TRUE);
    for (uint32_t y = 0; y < height; y++) {
        fill_row(row, width, y, seed);
        add_grain(row, width, grain, &noise);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    EMU_ASSERT(fclose(f) == 0);
    free(row);
}

static inline void write_jpeg(const char *path, uint32_t width, uint32_t height, uint32_t seed)
{
    write_grainy_jpeg(path, width, height, seed, 0);
}

static inline void write_png(const char *path, uint32_t width, uint32_t height, uint32_t seed)
{
    png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
    uint8_t *rgb = malloc((size_t)width * height * 3);

    image.width = width;
    image.height = height;
    for (uint32_t y = 0; y < height; y++)
        fill_row(rgb + (size_t)y * width * 3, width, y, seed);
    EMU_ASSERT(png_image_write_to_file(&image, path, 0, rgb, 0, NULL) == 1);
    free(rgb);
}

#endif
