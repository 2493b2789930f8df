/* test_feed.c - pictures in order on any number of threads, a queue of its length, every kind of
 * bad file, ends of all kinds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fixtures/picture_fixture.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "emu/base/alloc.h"
#include "models/feed/bad_files.h"
#include "models/feed/feed.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE * 3 };

#define RECIPE(side, shorter)                                                                      \
    {                                                                                              \
        .width = side, .height = side, .cover_width = shorter, .cover_height = shorter,            \
        .planes = 3                                                                                \
    }
static const struct feed_options plain = { .recipe = RECIPE(SIDE, SIDE * 8 / 7) };

static struct picture_feed *open_feed(const char *path, const struct feed_options *o)
{
    struct picture_feed *f;

    assert_int_equal(feed_open(&path, 1, o, &f), EMU_OK);
    return f;
}

/* Takes one picture, whose name must end so. */
static void expect_next(struct picture_feed *f, const char *ending, uint64_t number)
{
    uint8_t rgb[PIXELS];
    const char *name;
    uint64_t index;
    int more;

    assert_int_equal(feed_next(f, rgb, &name, &index, &more), EMU_OK);
    assert_int_equal(more, 1);
    assert_true(strlen(name) >= strlen(ending));
    assert_string_equal(name + strlen(name) - strlen(ending), ending);
    assert_int_equal(index, number);
}

static void expect_end(struct picture_feed *f)
{
    uint8_t rgb[PIXELS];
    const char *name;
    uint64_t index;
    int more = 1;

    assert_int_equal(feed_next(f, rgb, &name, &index, &more), EMU_OK);
    assert_int_equal(more, 0);
}

static void expect_bad(struct picture_feed *f, uint64_t i, const char *ending, const char *why)
{
    const char *name, *reason;

    assert_int_equal(feed_bad(f, i, &name, &reason), EMU_OK);
    assert_true(strlen(name) >= strlen(ending));
    assert_string_equal(name + strlen(name) - strlen(ending), ending);
    if (!strstr(reason, why))
        fail_msg("%s: '%s' does not say '%s'", name, reason, why);
}

/* The feed ends with an error that has this in its message. */
static void expect_nothing(const char *path, const char *why)
{
    struct picture_feed *f = open_feed(path, &plain);
    uint8_t rgb[PIXELS];
    const char *name;
    uint64_t index;
    int more;

    assert_int_equal(feed_next(f, rgb, &name, &index, &more), EMU_BAD_FILE);
    assert_int_equal(more, 0);
    if (!strstr(ss_error(), why))
        fail_msg("'%s' does not say '%s'", ss_error(), why);
    expect_end(f);
    feed_close(f);
}

/* ---- order ---- */

/* Pictures of very different sizes, so that later ones are decoded first. In order. */
static const char *const ordered[] = {
    "10.jpg", "2.PNG", "a/0.png", "a/b.jpg/x.JPG", "a/c.png", "a-b.jpeg", "z.jpg",
};

static void make_ordered(const struct test_folder *d)
{
    assert_int_equal(mkdir(path_in(d, "a"), 0777), 0);
    assert_int_equal(mkdir(path_in(d, "a/b.jpg"), 0777), 0);
    for (uint32_t i = 0; i < EMU_COUNT_OF(ordered); i++) {
        const char *path = path_in(d, "%s", ordered[i]);
        uint32_t side = i % 3 == 0 ? 700 : 9 + i;

        if (strcasestr(path, "png"))
            write_png(path, side, side + 20, i);
        else
            write_jpeg(path, side + 10, side, i);
    }
    write_bytes(path_in(d, "labels.txt"), "x", 1);
    write_bytes(path_in(d, "a/Makefile"), "x", 1);
}

/* All pixels of the cut, as `superstep run --image` makes it. */
static void expect_pixels(const char *path, const uint8_t *rgb)
{
    struct picture whole, cut;

    assert_int_equal(picture_read(path, &whole), EMU_OK);
    assert_int_equal(picture_crop(&whole, &plain.recipe, &cut), EMU_OK);
    assert_memory_equal(rgb, cut.rgb, PIXELS);
    picture_free(&whole);
    picture_free(&cut);
}

static void check_order(const struct test_folder *d, unsigned threads, unsigned queue)
{
    struct feed_options o = plain;
    uint8_t rgb[PIXELS];
    struct picture_feed *f;
    const char *name;
    uint64_t index;
    int more;

    o.threads = threads;
    o.queue = queue;
    f = open_feed(d->path, &o);
    for (unsigned i = 0; i < EMU_COUNT_OF(ordered); i++) {
        assert_int_equal(feed_next(f, rgb, &name, &index, &more), EMU_OK);
        assert_int_equal(more, 1);
        assert_int_equal(index, i);
        assert_string_equal(name, path_in(d, "%s", ordered[i]));
        expect_pixels(name, rgb);
    }
    expect_end(f);
    expect_end(f);
    assert_int_equal(feed_count(f).good, EMU_COUNT_OF(ordered));
    assert_int_equal(feed_count(f).bad, 0);
    assert_int_equal(feed_count(f).other, 2);
    feed_close(f);
}

static void test_order(void **state)
{
    static const unsigned threads[] = { 1, 2, 7, 0 }, queue[] = { 1, 3, 0 };
    long live = alloc_live();
    struct test_folder d;

    (void)state;
    folder_new(&d);
    make_ordered(&d);
    for (unsigned i = 0; i < EMU_COUNT_OF(threads); i++)
        for (unsigned k = 0; k < EMU_COUNT_OF(queue); k++)
            check_order(&d, threads[i], queue[k]);
    assert_int_equal(alloc_live(), live);
    folder_remove(&d);
}

/* Counts of other names belong to the part that was passed, whatever was named ahead. */
static void test_counts_in_order(void **state)
{
    struct test_folder d;
    struct picture_feed *f;

    (void)state;
    folder_new(&d);
    make_ordered(&d);
    write_bytes(path_in(&d, "3.txt"), "x", 1);
    f = open_feed(d.path, &plain);
    expect_next(f, "10.jpg", 0);
    expect_next(f, "2.PNG", 1);
    assert_int_equal(feed_count(f).other, 0);
    expect_next(f, "a/0.png", 2);
    assert_int_equal(feed_count(f).other, 1);
    feed_close(f);
    folder_remove(&d);
}

/* ---- the queue ---- */

static void wait_ms(long ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

static void test_queue(void **state)
{
    struct feed_options o = plain;
    struct test_folder d;
    struct picture_feed *f;

    (void)state;
    folder_new(&d);
    for (uint32_t i = 0; i < 40; i++)
        write_png(path_in(&d, "%02u.png", i), 20, 20, i);
    o.threads = 3;
    o.queue = 5;
    f = open_feed(d.path, &o);
    for (int i = 0; i < 2000 && feed_count(f).ahead < 5; i++)
        wait_ms(1);
    wait_ms(20);
    assert_int_equal(feed_count(f).ahead, 5);
    for (uint32_t i = 0; i < 40; i++) {
        expect_next(f, path_in(&d, "%02u.png", i), i);
        assert_in_range(feed_count(f).ahead, 0, 5);
    }
    expect_end(f);
    assert_int_equal(feed_count(f).ahead, 0);
    feed_close(f);
    folder_remove(&d);
}

static void write_list(const char *path, const char *name, uint32_t lines)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (uint32_t i = 0; i < lines; i++)
        fprintf(f, "%s\n", name);
    assert_int_equal(fclose(f), 0);
}

/* "@FOLDER/list", for feed_open(). */
static const char *list_in(const struct test_folder *d)
{
    static char path[128];

    snprintf(path, sizeof(path), "@%s/list", d->path);
    return path;
}

/* Blocks of memory at the fullest moment of a run over a list of `lines` names, all of one file.
 */
static long most_blocks(const struct test_folder *d, uint32_t lines)
{
    struct feed_options o = plain;
    uint8_t rgb[PIXELS];
    long live = alloc_live(), most = 0;
    const char *name;
    uint64_t index;
    struct picture_feed *f;
    int more = 1;

    write_list(path_in(d, "list"), path_in(d, "tiny.png"), lines);
    o.threads = 2;
    o.queue = 8;
    f = open_feed(list_in(d), &o);
    while (more) {
        assert_int_equal(feed_next(f, rgb, &name, &index, &more), EMU_OK);
        if (alloc_live() - live > most)
            most = alloc_live() - live;
    }
    assert_int_equal(feed_count(f).good, lines);
    feed_close(f);
    return most;
}

static void test_memory(void **state)
{
    struct test_folder d;

    (void)state;
    folder_new(&d);
    write_png(path_in(&d, "tiny.png"), 2, 2, 1);
    assert_in_range(most_blocks(&d, 20000), 1, 60); /* 8 slots of 3, 2 threads, and what is fixed */
    folder_remove(&d);
}

/* ---- bad files ---- */

static void put_be32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* The beginning of a PNG that says it is 30000 x 30000. */
static void write_bomb(const char *path)
{
    uint8_t png[33] = {
        0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'
    };
    uint32_t crc = 0xffffffffu;

    put_be32(png + 16, 30000);
    put_be32(png + 20, 30000);
    png[24] = 8;
    png[25] = 2;
    for (int i = 12; i < 29; i++) {
        crc ^= png[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    put_be32(png + 29, ~crc);
    write_bytes(path, png, sizeof(png));
}

static void write_truncated(const struct test_folder *d, const char *from, const char *to)
{
    char *data;
    size_t n = read_file(path_in(d, "%s", from), &data);

    write_bytes(path_in(d, "%s", to), data, n / 2);
    free(data);
}

static void make_socket(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    close(fd);
}

static void make_bad(const struct test_folder *d)
{
    uint8_t garbage[5000];

    for (size_t i = 0; i < sizeof(garbage); i++)
        garbage[i] = (uint8_t)(i * i >> 3);
    write_jpeg(path_in(d, "00.jpg"), 50, 40, 0);
    write_png(path_in(d, "05.png"), 50, 40, 1);
    write_jpeg(path_in(d, "99.jpg"), 50, 40, 2);
    assert_int_equal(symlink("nowhere", path_in(d, "01.jpg")), 0);
    assert_int_equal(mkdir(path_in(d, "02.jpg"), 0777), 0);
    assert_int_equal(symlink("..", path_in(d, "02.jpg/up")), 0);
    assert_int_equal(mkfifo(path_in(d, "03.jpg"), 0666), 0);
    write_bytes(path_in(d, "04.jpg"), "", 0);
    write_truncated(d, "00.jpg", "06.jpg");
    write_truncated(d, "05.png", "07.png");
    write_bytes(path_in(d, "08.jpg"), garbage, sizeof(garbage));
    write_bomb(path_in(d, "09.png"));
    write_jpeg(path_in(d, "10.jpg"), 300, 300, 3);
    assert_int_equal(symlink("11.jpg", path_in(d, "11.jpg")), 0);
    make_socket(path_in(d, "12.jpg"));
    assert_int_equal(symlink("/dev/zero", path_in(d, "13.jpg")), 0);
    assert_int_equal(symlink("nowhere", path_in(d, "14")), 0);
    write_bytes(path_in(d, "15.jpg"), garbage, 1);
    assert_int_equal(truncate(path_in(d, "15.jpg"), 3 << 20), 0);
}

/* Name and what the reason says, in order; the numbers of the good ones are between. */
static const char *const bad[][2] = {
    { "01.jpg", "a link to a file that does not exist" },
    { "02.jpg/up/", "a loop of links" },
    { "03.jpg", "a pipe, not a file" },
    { "04.jpg", "an empty file" },
    { "06.jpg", "remature end" },
    { "07.png", "ends too early" },
    { "08.jpg", "neither a JPEG nor a PNG" },
    { "09.png", "a picture of 30000 x 30000; at most 16384 x 16384" },
    { "10.jpg", "a picture of 300 x 300; at most 10000 pixels" },
    { "11.jpg", "ymbolic links" },
    { "12.jpg", "a socket, not a file" },
    { "13.jpg", "a device, not a file" },
    { "14", "a link to a file that does not exist" },
    { "15.jpg", "3145728 bytes; at most" },
};

static void check_bad(const struct test_folder *d, unsigned threads)
{
    struct feed_options o = plain;
    struct picture_feed *f;
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);

    o.threads = threads;
    o.pixels_max = 10000;
    f = open_feed(d->path, &o);
    expect_next(f, "00.jpg", 0);
    assert_int_equal(feed_count(f).bad, 0);
    expect_next(f, "05.png", 5);
    expect_next(f, "99.jpg", 16);
    expect_end(f);
    assert_int_equal(feed_count(f).bad, EMU_COUNT_OF(bad));
    for (unsigned i = 0; i < EMU_COUNT_OF(bad); i++)
        expect_bad(f, i, bad[i][0], bad[i][1]);
    assert_int_equal(feed_report(f, to), EMU_OK);
    assert_int_equal(fclose(to), 0);
    assert_non_null(strstr(text, "14 of 17 pictures are bad"));
    for (unsigned i = 0; i < EMU_COUNT_OF(bad); i++)
        assert_non_null(strstr(text, path_in(d, "%s: ", bad[i][0])));
    free(text);
    feed_close(f);
}

static void test_bad(void **state)
{
    long live = alloc_live();
    struct test_folder d;

    (void)state;
    folder_new(&d);
    make_bad(&d);
    check_bad(&d, 1);
    check_bad(&d, 2);
    check_bad(&d, 7);
    assert_int_equal(alloc_live(), live);
    folder_remove(&d);
}

/* More bad files than are held in memory: none is lost, and the report has all in order. */
static void test_many_bad(void **state)
{
    enum { MANY = 9000 };
    struct test_folder d;
    struct picture_feed *f;
    FILE *list;
    const char *at;
    char *text = NULL;
    size_t bytes = 0;

    (void)state;
    folder_new(&d);
    write_png(path_in(&d, "good.png"), 2, 2, 1);
    list = fopen(path_in(&d, "list"), "w");
    for (unsigned i = 0; i < MANY; i++)
        fprintf(list, "missing/%05u\n", i);
    fprintf(list, "%s", path_in(&d, "good.png"));
    assert_int_equal(fclose(list), 0);
    f = open_feed(list_in(&d), &plain);
    expect_next(f, "good.png", MANY);
    expect_end(f);
    assert_int_equal(feed_count(f).bad, MANY);
    expect_bad(f, MANY - 1, "/08999", "No such file");
    expect_bad(f, 5000, "/05000", "No such file");
    expect_bad(f, 17, "/00017", "No such file");
    list = open_memstream(&text, &bytes);
    assert_int_equal(feed_report(f, list), EMU_OK);
    assert_int_equal(fclose(list), 0);
    at = strchr(text, '\n');
    for (unsigned i = 0; i < MANY; i++) {
        char line[64];

        snprintf(line, sizeof(line), "\n  missing/%05u: ", i);
        assert_int_equal(strncmp(at, line, strlen(line)), 0);
        at = strchr(at + 1, '\n');
    }
    assert_int_equal(at[1], 0);
    free(text);
    feed_close(f);
    folder_remove(&d);
}

static void add_numbers(struct bad_files *b, unsigned end)
{
    for (unsigned i = (unsigned)b->count; i < end; i++) {
        char name[16], reason[16];

        sprintf(name, "n%u", i);
        sprintf(reason, "r%u", i);
        assert_int_equal(bad_files_add(b, name, reason), EMU_OK);
    }
}

static void expect_number(struct bad_files *b, unsigned i)
{
    const char *name, *reason;
    char text[16];

    assert_int_equal(bad_files_get(b, i, &name, &reason), EMU_OK);
    sprintf(text, "n%u", i);
    assert_string_equal(name, text);
    sprintf(text, "r%u", i);
    assert_string_equal(reason, text);
}

/* Reading and adding in turns. */
static void test_bad_in_turns(void **state)
{
    struct bad_files *b = emu_alloc(1, sizeof(*b));
    long live = alloc_live() - 1;

    (void)state;
    add_numbers(b, BAD_FILES_HELD + 100);
    expect_number(b, BAD_FILES_HELD - 1);
    for (unsigned i = 0; i < 100; i += 10) {
        expect_number(b, BAD_FILES_HELD + i);
        add_numbers(b, BAD_FILES_HELD + 100 + i);
        expect_number(b, BAD_FILES_HELD + i + 1);
        expect_number(b, BAD_FILES_HELD + 99 - i);
        expect_number(b, BAD_FILES_HELD);
    }
    expect_number(b, BAD_FILES_HELD + 189);
    bad_files_free(b);
    ss_free(b);
    assert_int_equal(alloc_live(), live);
}

/* Control characters of a name do not reach the terminal. */
static void test_report_names(void **state)
{
    struct test_folder d;
    struct picture_feed *f;
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);

    (void)state;
    folder_new(&d);
    write_png(path_in(&d, "good.png"), 2, 2, 1);
    write_bytes(path_in(&d, "a\n\x1b[31m\xff\xc3\xa4.png"), "", 0);
    write_bytes(path_in(&d, "b\r.txt"), "", 0);
    f = open_feed(d.path, &plain);
    expect_next(f, "good.png", 1);
    expect_end(f);
    assert_int_equal(feed_report(f, to), EMU_OK);
    assert_int_equal(fclose(to), 0);
    assert_non_null(strstr(text, "/a\\x0a\\x1b[31m\\xff\xc3\xa4.png: an empty file\n"));
    assert_non_null(strstr(text, "1 not tried, as their names"));
    assert_non_null(strstr(text, "/b\\x0d.txt\n"));
    free(text);
    feed_close(f);
    folder_remove(&d);
}

/* ---- ends ---- */

static void test_nothing(void **state)
{
    long live = alloc_live();
    struct test_folder d;
    struct picture_feed *f;
    const char *paths[2] = { "x", "@/nowhere/list" };

    (void)state;
    folder_new(&d);
    expect_nothing(d.path, "empty directories");
    expect_nothing("/nowhere/at.jpg",
                   "no good picture, 1 bad; the first: /nowhere/at.jpg: No such");
    write_bytes(path_in(&d, "x.gif"), "x", 1);
    expect_nothing(d.path, ".png; the first is ");
    write_bytes(path_in(&d, "x.jpg"), "x", 1);
    expect_nothing(d.path, "x.jpg: neither a JPEG nor a PNG");
    assert_int_equal(feed_open(paths, 0, &plain, &f), EMU_USAGE);
    assert_null(f);
    assert_int_equal(feed_open(paths, 2, &plain, &f), EMU_IO);
    assert_non_null(strstr(ss_error(), "/nowhere/list"));
    paths[1] = "@/tmp";
    assert_int_equal(feed_open(paths, 2, &plain, &f), EMU_IO);
    assert_non_null(strstr(ss_error(), "a directory, not a list"));
    assert_int_equal(alloc_live(), live);
    folder_remove(&d);
}

static void test_options(void **state)
{
    static const struct feed_options wrong[] = {
        { .recipe = RECIPE(0, 9) },
        { .recipe = RECIPE(PICTURE_SIDE_MAX + 1, PICTURE_SIDE_MAX + 2) },
        { .recipe = RECIPE(8, 7) },
        { .recipe = RECIPE(8, 1000) },
        { .recipe = RECIPE(8, 8), .threads = FEED_THREADS_MAX + 1 },
        { .recipe = RECIPE(8, 8), .queue = FEED_QUEUE_MAX + 1 },
    };
    const char *path = "/tmp";
    struct picture_feed *f;

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(wrong); i++) {
        assert_int_equal(feed_open(&path, 1, &wrong[i], &f), EMU_USAGE);
        assert_null(f);
    }
}

static void test_skip(void **state)
{
    struct feed_options o = plain;
    struct test_folder d;
    struct picture_feed *f;
    const char *path = d.path;

    (void)state;
    folder_new(&d);
    make_ordered(&d);
    o.skip = 5;
    f = open_feed(d.path, &o);
    assert_string_equal(feed_skipped(f), path_in(&d, "%s", ordered[4]));
    expect_next(f, ordered[5], 5);
    expect_next(f, ordered[6], 6);
    expect_end(f);
    feed_close(f);
    o.skip = EMU_COUNT_OF(ordered); /* all done: no failure */
    f = open_feed(d.path, &o);
    expect_end(f);
    feed_close(f);
    o.skip++;
    assert_int_equal(feed_open(&path, 1, &o, &f), EMU_BAD_FILE);
    f = open_feed(d.path, &plain);
    assert_null(feed_skipped(f));
    feed_close(f);
    folder_remove(&d);
}

static void test_stop(void **state)
{
    struct test_folder d;
    struct picture_feed *f;

    (void)state;
    folder_new(&d);
    for (uint32_t i = 0; i < 20; i++)
        write_png(path_in(&d, "%02u.png", i), 20, 20, i);
    f = open_feed(d.path, &plain);
    expect_next(f, "00.png", 0);
    feed_stop(f);
    expect_end(f);
    expect_end(f);
    assert_int_equal(feed_count(f).good, 1);
    feed_close(f);
    f = open_feed(d.path, &plain); /* before the first one: no failure */
    feed_stop(f);
    expect_end(f);
    feed_close(f);
    feed_close(open_feed(d.path, &plain)); /* at once */
    feed_close(NULL);
    folder_remove(&d);
}

/* Names from stdin, which stays open: pictures come as soon as they are named, and stopping does
 * not wait for more names. */
static void test_stdin(void **state)
{
    int saved = dup(STDIN_FILENO), ends[2];
    struct test_folder d;
    struct picture_feed *f;

    (void)state;
    folder_new(&d);
    write_png(path_in(&d, "1.png"), 20, 20, 1);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    f = open_feed("-", &plain);
    assert_true(dprintf(ends[1], "%s\n%s", path_in(&d, "1.png"), d.path) > 0);
    expect_next(f, "1.png", 0);
    assert_true(dprintf(ends[1], "\n") > 0); /* the end of the line */
    expect_next(f, "1.png", 1);
    wait_ms(20); /* a thread waits for the next name */
    feed_stop(f);
    expect_end(f);
    feed_close(f);
    f = open_feed("-", &plain);
    assert_true(dprintf(ends[1], "%s", path_in(&d, "1.png")) > 0);
    close(ends[1]); /* without an end of the line */
    expect_next(f, "1.png", 0);
    expect_end(f);
    feed_close(f);
    dup2(saved, STDIN_FILENO);
    close(saved);
    folder_remove(&d);
}

/* One run in which allocation number nth fails. */
static enum emu_status run_without(const char *path, long nth)
{
    struct feed_options o = plain;
    long live = alloc_live();
    uint8_t rgb[PIXELS];
    enum emu_status s;
    const char *name;
    struct picture_feed *f;
    uint64_t index;
    int more = 1;

    o.threads = 1;
    alloc_test_fail_at(nth);
    s = feed_open(&path, 1, &o, &f);
    while (s == EMU_OK && more)
        s = feed_next(f, rgb, &name, &index, &more);
    alloc_test_fail_at(-1);
    if (f)
        expect_end(f);
    feed_close(f);
    assert_int_equal(alloc_live(), live);
    return s;
}

/* Each allocation fails once: an error, no leak, no wait for ever. */
static void test_no_memory(void **state)
{
    enum emu_status s = EMU_NO_MEMORY;
    struct test_folder d;
    long nth = 0;

    (void)state;
    folder_new(&d);
    for (uint32_t i = 0; i < 5; i++)
        write_png(path_in(&d, "%u.png", i), 9, 20, i);
    write_bytes(path_in(&d, "labels.txt"), "x", 1);
    write_bytes(path_in(&d, "bad.jpg"), "x", 1);
    for (; s == EMU_NO_MEMORY; nth++)
        s = run_without(d.path, nth);
    assert_int_equal(s, EMU_OK);
    assert_true(nth > 60); /* as many allocations there are at least */
    folder_remove(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),        cmocka_unit_test(test_counts_in_order),
        cmocka_unit_test(test_queue),        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_bad),          cmocka_unit_test(test_many_bad),
        cmocka_unit_test(test_bad_in_turns), cmocka_unit_test(test_report_names),
        cmocka_unit_test(test_nothing),      cmocka_unit_test(test_options),
        cmocka_unit_test(test_skip),         cmocka_unit_test(test_stop),
        cmocka_unit_test(test_stdin),        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
