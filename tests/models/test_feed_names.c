/* test_feed_names.c - directories that are read a part at a time, links that lead back, names that
 * are too long, lines of lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fixtures/picture_fixture.h"

#include <fcntl.h>

#include "emu/base/alloc.h"
#include "models/feed/feed_folder.h"
#include "models/feed/feed_names.h"

static atomic_int never;

static struct feed_names *open_names(const char *path, size_t held)
{
    struct feed_names *n;

    assert_int_equal(feed_names_open(&path, 1, &never, held, &n), EMU_OK);
    return n;
}

/* The next name; NULL at the end. *reason as it comes. */
static const char *next_name(struct feed_names *n, const char **reason)
{
    struct feed_name f;
    int more;

    assert_int_equal(feed_names_next(n, &f, &more), EMU_OK);
    *reason = NULL;
    if (!more)
        return NULL;
    *reason = f.reason;
    return f.name;
}

static void expect_name(struct feed_names *n, const char *name)
{
    const char *reason, *got = next_name(n, &reason);

    assert_non_null(got);
    assert_string_equal(got, name);
    if (reason)
        fail_msg("%s: %s", got, reason);
}

static void expect_reason(struct feed_names *n, const char *name, const char *why)
{
    const char *reason, *got = next_name(n, &reason);

    assert_non_null(got);
    assert_string_equal(got, name);
    assert_non_null(reason);
    if (!strstr(reason, why))
        fail_msg("'%s' does not say '%s'", reason, why);
}

static void expect_end(struct feed_names *n)
{
    const char *reason;

    assert_null(next_name(n, &reason));
    assert_null(next_name(n, &reason));
    feed_names_close(n);
}

static void make_file(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0666);

    assert_true(fd >= 0);
    close(fd);
}

/* ---- many names ---- */

enum { MANY = 20000 };

/* Names of one directory in order, with only `held` in memory. */
static void walk_many(const struct test_folder *d, size_t held, long blocks)
{
    long live = alloc_live(), most = 0;
    struct feed_names *n = open_names(d->path, held);

    for (unsigned i = 0; i < MANY; i++) {
        expect_name(n, path_in(d, "%05u.jpg", i));
        if (alloc_live() - live > most)
            most = alloc_live() - live;
    }
    assert_int_equal(feed_names_other(n), 0);
    expect_end(n);
    assert_in_range(most, 1, blocks);
    assert_int_equal(alloc_live(), live);
}

/* While a directory is read, at most twice the names that are wanted are held. */
static void check_room(const struct test_folder *d)
{
    struct folder f = { 0 };

    for (unsigned part = 0; part < 3; part++) {
        assert_int_equal(folder_read(&f, d->path, 1000), EMU_OK);
        assert_int_equal(f.count, 1000);
        assert_in_range(f.cap, 1000, 2048);
        assert_true(f.more);
    }
    folder_free(&f);
}

static void test_many(void **state)
{
    struct test_folder d;

    (void)state;
    folder_new(&d);
    /* Made in an order that has nothing to do with that of the names. */
    for (unsigned i = 0; i < MANY; i++)
        make_file(path_in(&d, "%05u.jpg", i * 7919 % MANY));
    check_room(&d);
    walk_many(&d, 1000, 510);
    walk_many(&d, FEED_NAMES_HELD, MANY + 10);
    folder_remove(&d);
}

/* Folders within folders, each with more names than may be held. */
static void make_tree(const char *path, unsigned deep)
{
    char sub[PATH_MAX];

    for (unsigned i = 0; i < 40; i++) {
        snprintf(sub, sizeof(sub), "%s/%02u.png", path, i);
        make_file(sub);
    }
    for (unsigned i = 0; deep && i < 3; i++) {
        snprintf(sub, sizeof(sub), "%s/%02u", path, 10 * i);
        assert_int_equal(mkdir(sub, 0777), 0);
        make_tree(sub, deep - 1);
    }
}

static void expect_tree(struct feed_names *n, const char *path, unsigned deep)
{
    char sub[PATH_MAX];

    for (unsigned i = 0; i < 40; i++) {
        snprintf(sub, sizeof(sub), "%s/%02u", path, i);
        if (deep && i % 10 == 0 && i < 30)
            expect_tree(n, sub, deep - 1);
        snprintf(sub, sizeof(sub), "%s/%02u.png", path, i);
        expect_name(n, sub);
    }
}

static void test_tree(void **state)
{
    static const size_t held[] = { 0, 40, 100, FEED_NAMES_HELD };
    struct test_folder d;

    (void)state;
    folder_new(&d);
    make_tree(d.path, 3);
    for (unsigned i = 0; i < EMU_COUNT_OF(held); i++) {
        struct feed_names *n = open_names(d.path, held[i]);

        expect_tree(n, d.path, 3);
        expect_end(n);
    }
    folder_remove(&d);
}

/* Files that come and go while their directory is read in parts. */
static void test_changes(void **state)
{
    struct test_folder d;
    struct feed_names *n;

    (void)state;
    folder_new(&d);
    for (unsigned i = 0; i < 60; i++)
        make_file(path_in(&d, "%02u.jpg", i));
    n = open_names(d.path, 0); /* 16 at a time */
    for (unsigned i = 0; i < 5; i++)
        expect_name(n, path_in(&d, "%02u.jpg", i));
    make_file(path_in(&d, "00a.jpg"));
    make_file(path_in(&d, "30a.jpg"));
    assert_int_equal(unlink(path_in(&d, "15.jpg")), 0); /* where the next part goes on */
    assert_int_equal(unlink(path_in(&d, "40.jpg")), 0);
    for (unsigned i = 5; i < 60; i++) {
        if (i != 40)
            expect_name(n, path_in(&d, "%02u.jpg", i));
        if (i == 30)
            expect_name(n, path_in(&d, "30a.jpg"));
    }
    expect_end(n);
    folder_remove(&d);
}

/* ---- odd directories ---- */

static void test_loops(void **state)
{
    struct test_folder d;
    struct feed_names *n;

    (void)state;
    folder_new(&d);
    assert_int_equal(mkdir(path_in(&d, "a"), 0777), 0);
    assert_int_equal(mkdir(path_in(&d, "b"), 0777), 0);
    make_file(path_in(&d, "a/x.jpg"));
    make_file(path_in(&d, "b/y.jpg"));
    assert_int_equal(symlink("../b", path_in(&d, "a/b")), 0);
    assert_int_equal(symlink("../a", path_in(&d, "b/a")), 0);
    assert_int_equal(symlink(".", path_in(&d, "c")), 0);
    n = open_names(d.path, FEED_NAMES_HELD);
    expect_reason(n, path_in(&d, "a/b/a/"), "a loop of links");
    expect_name(n, path_in(&d, "a/b/y.jpg"));
    expect_name(n, path_in(&d, "a/x.jpg"));
    expect_reason(n, path_in(&d, "b/a/b/"), "a loop of links");
    expect_name(n, path_in(&d, "b/a/x.jpg"));
    expect_name(n, path_in(&d, "b/y.jpg"));
    expect_reason(n, path_in(&d, "c/"), "a loop of links");
    expect_end(n);
    folder_remove(&d);
}

static void test_deep(void **state)
{
    char path[PATH_MAX], reached[PATH_MAX];
    struct test_folder d;
    struct feed_names *n;
    const char *reason, *name;

    (void)state;
    folder_new(&d);
    strcpy(path, d.path);
    for (unsigned i = 0; i < FEED_NAMES_DEEP + 5; i++) {
        strcat(path, "/d");
        assert_int_equal(mkdir(path, 0777), 0);
    }
    make_file(path_in(&d, "d/x.png"));
    n = open_names(d.path, FEED_NAMES_HELD);
    name = next_name(n, &reason);
    assert_non_null(strstr(reason, "directories deep"));
    snprintf(reached, sizeof(reached), "%s", name);
    assert_int_equal(strlen(reached), strlen(d.path) + 2 * FEED_NAMES_DEEP);
    expect_name(n, path_in(&d, "d/x.png"));
    expect_end(n);
    folder_remove(&d);
}

/* A directory whose path is longer than the system takes in one piece. */
static void test_long_path(void **state)
{
    char part[NAME_MAX + 1] = { 0 };
    int home = open(".", O_RDONLY | O_DIRECTORY);
    struct test_folder d;
    struct feed_names *n;
    const char *reason, *name;

    (void)state;
    memset(part, 'n', NAME_MAX);
    folder_new(&d);
    assert_int_equal(chdir(d.path), 0);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(mkdir(part, 0777), 0);
        assert_int_equal(chdir(part), 0);
        make_file("x.png");
    }
    assert_int_equal(fchdir(home), 0);
    close(home);
    n = open_names(d.path, FEED_NAMES_HELD);
    name = next_name(n, &reason);
    assert_true(strlen(name) >= PATH_MAX && strlen(name) <= PATH_MAX + NAME_MAX + 1);
    assert_non_null(strstr(reason, "a path of more than 4095 bytes"));
    for (int i = 0; i < 15; i++) {
        name = next_name(n, &reason);
        assert_non_null(name);
        assert_string_equal(name + strlen(name) - 7, "n/x.png");
        assert_null(reason);
    }
    expect_end(n);
    folder_remove(&d);
}

/* An end of the name decides, in any case of letters; names that hide or have only an end, too. */
static void test_other(void **state)
{
    static const char *const name[] = { ".jpg", "a.JpEg", "b.jpg.txt", "c.jpgx", "d", "e.pnG" };
    struct test_folder d;
    struct feed_names *n;

    (void)state;
    folder_new(&d);
    for (unsigned i = 0; i < EMU_COUNT_OF(name); i++)
        make_file(path_in(&d, "%s", name[i]));
    n = open_names(path_in(&d, "/"), FEED_NAMES_HELD);
    expect_name(n, path_in(&d, "/.jpg"));
    expect_name(n, path_in(&d, "/a.JpEg"));
    assert_int_equal(feed_names_other(n), 0);
    expect_name(n, path_in(&d, "/e.pnG"));
    assert_int_equal(feed_names_other(n), 3);
    assert_string_equal(feed_names_other_first(n), path_in(&d, "/b.jpg.txt"));
    expect_end(n);
    folder_remove(&d);
}

/* ---- lists ---- */

static struct feed_names *open_list(const struct test_folder *d, const void *text, size_t bytes)
{
    char path[128];

    write_bytes(path_in(d, "list"), text, bytes);
    snprintf(path, sizeof(path), "@%s/list", d->path);
    return open_names(path, FEED_NAMES_HELD);
}

static void test_lines(void **state)
{
    static const char text[] = "one.jpg\n\n\r\n two .gif \r\n-\n@x\nnu\0ll\nlast\r";
    struct test_folder d;
    struct feed_names *n;

    (void)state;
    folder_new(&d);
    n = open_list(&d, text, sizeof(text) - 1);
    expect_name(n, "one.jpg");
    expect_name(n, " two .gif "); /* what a list names is tried, whatever its name */
    expect_name(n, "-");
    expect_name(n, "@x");
    expect_reason(n, "nu", "line 7");
    expect_name(n, "last");
    expect_end(n);
    expect_end(open_list(&d, "", 0));
    expect_end(open_list(&d, "\n\n", 2));
    folder_remove(&d);
}

static void test_long_lines(void **state)
{
    enum { LONG = 3 << 14 };
    char *text = malloc(LONG + 4 * PATH_MAX), *at = text;
    const char *reason, *name;
    struct test_folder d;
    struct feed_names *n;

    (void)state;
    folder_new(&d);
    memset(text, 'a', LONG + 4 * PATH_MAX);
    *(at += PATH_MAX - 1) = '\n'; /* just short enough */
    *(at += PATH_MAX + 1) = '\n'; /* one byte too long */
    *(at += LONG) = '\n';
    strcpy(at + 1, "end");
    n = open_list(&d, text, (size_t)(at + 4 - text));
    name = next_name(n, &reason);
    assert_int_equal(strlen(name), PATH_MAX - 1);
    assert_null(reason);
    for (int line = 2; line < 4; line++) {
        name = next_name(n, &reason);
        assert_int_equal(strlen(name), PATH_MAX - 1);
        assert_int_equal(strncmp(reason, line == 2 ? "line 2 of @/" : "line 3 of @/", 12), 0);
    }
    expect_name(n, "end");
    expect_end(n);
    free(text);
    folder_remove(&d);
}

/* Files and folders in a list; a list that has gone when its turn comes. */
static void test_arguments(void **state)
{
    struct test_folder d;
    struct feed_names *n;
    char list[2][128];
    const char *path[4] = { NULL, list[0], list[1], "last" };

    (void)state;
    folder_new(&d);
    assert_int_equal(mkdir(path_in(&d, "a"), 0777), 0);
    make_file(path_in(&d, "a/x.jpg"));
    make_file(path_in(&d, "a/y.jpg"));
    write_bytes(path_in(&d, "list0"), path_in(&d, "a"), strlen(path_in(&d, "a")));
    make_file(path_in(&d, "list1"));
    for (int i = 0; i < 2; i++)
        snprintf(list[i], sizeof(list[i]), "@%s/list%d", d.path, i);
    path[0] = path_in(&d, "a/x.jpg");
    assert_int_equal(feed_names_open(path, 4, &never, FEED_NAMES_HELD, &n), EMU_OK);
    assert_int_equal(unlink(path_in(&d, "list1")), 0);
    expect_name(n, path_in(&d, "a/x.jpg"));
    expect_name(n, path_in(&d, "a/x.jpg"));
    expect_name(n, path_in(&d, "a/y.jpg"));
    expect_reason(n, list[1], "No such file");
    expect_name(n, "last");
    expect_end(n);
    folder_remove(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),       cmocka_unit_test(test_tree),
        cmocka_unit_test(test_changes),    cmocka_unit_test(test_loops),
        cmocka_unit_test(test_deep),       cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_other),      cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines), cmocka_unit_test(test_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
