/* bench_feed.c - pictures per second and core: a JPEG of 1 megapixel decoded, resized and cut for
 * EfficientNet-B4, and the whole feed with one thread and with all cores. Medians.
 */
#include <inttypes.h>
#include <omp.h>

#include "models/feed/feed.h"
#include "tests/fixtures/bench_rows.h"
#include "tests/fixtures/picture_fixture.h"

enum { WIDTH = 1200, HEIGHT = 834, SIDE = 380, GRAIN = 5, RUNS = 15, FILES = 48, FEED_RUNS = 5 };

static const double CROP = 0.922;

static void must(enum emu_status s)
{
    if (s == EMU_OK)
        return;
    fprintf(stderr, "bench_feed: %s\n", ss_error());
    exit(1);
}

/* Decoding and resizing of one file in memory, by CPU time. */
static void measure_steps(const char *path)
{
    const struct picture_recipe recipe = picture_recipe_of_share(SIDE, SIDE, CROP);
    double decode[RUNS], crop[RUNS];
    char *data;
    size_t bytes = read_file(path, &data);

    for (int i = 0; i < RUNS; i++) {
        double start = bench_seconds(CLOCK_THREAD_CPUTIME_ID), between;
        struct picture whole, cut;

        must(picture_read_bytes(data, bytes, path, &whole));
        between = bench_seconds(CLOCK_THREAD_CPUTIME_ID);
        must(picture_crop(&whole, &recipe, &cut));
        decode[i] = between - start;
        crop[i] = bench_seconds(CLOCK_THREAD_CPUTIME_ID) - between;
        picture_free(&whole);
        picture_free(&cut);
    }
    free(data);
    bench_row("ms", 1e3 * bench_median(decode, RUNS), "JPEG of %d x %d: decode", WIDTH, HEIGHT);
    bench_row("ms", 1e3 * bench_median(crop, RUNS), "JPEG of %d x %d: resize and cut", WIDTH,
              HEIGHT);
}

/* All pictures of a folder through a feed: wall time of one, CPU time of one. */
static void measure_feed(const char *folder, unsigned threads)
{
    struct feed_options o = { .recipe = picture_recipe_of_share(SIDE, SIDE, CROP),
                              .threads = threads };
    double wall[FEED_RUNS], cpu[FEED_RUNS];
    uint8_t *rgb = malloc((size_t)SIDE * SIDE * 3);

    for (int i = 0; i < FEED_RUNS; i++) {
        double start = bench_seconds(CLOCK_MONOTONIC),
               start_cpu = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
        const char *name;
        uint64_t index;
        struct picture_feed *f;
        int more = 1;

        must(feed_open(&folder, 1, &o, &f));
        while (more)
            must(feed_next(f, rgb, &name, &index, &more));
        wall[i] = (bench_seconds(CLOCK_MONOTONIC) - start) / FILES;
        cpu[i] = (bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start_cpu) / FILES;
        feed_close(f);
    }
    free(rgb);
    bench_row("ms", 1e3 * bench_median(wall, FEED_RUNS), "feed, %u threads: a picture, wall",
              threads);
    bench_row("ms", 1e3 * bench_median(cpu, FEED_RUNS), "feed, %u threads: a picture, CPU",
              threads);
}

int main(void)
{
    struct test_folder d;

    folder_new(&d);
    for (unsigned i = 0; i < FILES; i++)
        write_grainy_jpeg(path_in(&d, "%02u.jpg", i), WIDTH, HEIGHT, i, GRAIN);
    measure_steps(path_in(&d, "00.jpg"));
    measure_feed(d.path, 1);
    if (omp_get_num_procs() > 1)
        measure_feed(d.path, (unsigned)omp_get_num_procs());
    folder_remove(&d);
    return 0;
}
