/* test_disk_cache.c - entries that are written and read; what is damaged in any byte, cut short or
 * of another key is none; the limit; folders that cannot be written; files of killed processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/base/disk_cache.h"

static char dir[] = "/tmp/test_disk_cache_XXXXXX";
static struct disk_cache cache;

static const struct hash128 key_a = { 1, 2 }, key_b = { 3, 4 };

static int setup(void **state)
{
    char folder[64];

    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(folder, sizeof(folder), "%s/a/b", dir); /* is made when it is needed */
    cache = disk_cache_of(folder);
    return 0;
}

static int teardown(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(alloc_live(), 0);
    return system(command);
}

static int empty(void **state)
{
    (void)state;
    return disk_cache_clear(&cache) != 0;
}

static enum emu_status put(const struct disk_cache *c, struct hash128 key, const char *text)
{
    struct disk_cache_writer w;

    TRY(disk_cache_begin(c, key, "test", text, &w));
    fputs(text, output_stream(w.out));
    return disk_cache_end(c, &w, EMU_OK);
}

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

static int holds(struct hash128 key, const char *text)
{
    struct disk_cache_entry e;
    int good = disk_cache_read(&cache, key, "test", &e);

    if (good)
        good = e.bytes == strlen(text) && !memcmp(e.body, text, e.bytes) && !strcmp(e.label, text);
    disk_cache_entry_free(&e);
    return good;
}

static void path_of(struct hash128 key, char out[DISK_CACHE_PATH_MAX])
{
    char digits[33];

    hash128_text(key, digits);
    snprintf(out, DISK_CACHE_PATH_MAX, "%s/%s.test", cache.folder, digits);
}

static size_t files(void)
{
    DIR *d = opendir(cache.folder);
    size_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n ? n - 2 : 0; /* . and .. */
}

static void test_read_what_was_written(void **state)
{
    (void)state;
    assert_false(holds(key_a, "one"));
    must(put(&cache, key_a, "one"));
    must(put(&cache, key_b, ""));
    assert_true(holds(key_a, "one"));
    assert_true(holds(key_b, ""));
    must(put(&cache, key_a, "another"));
    assert_true(holds(key_a, "another"));
    assert_int_equal(files(), 2);
}

/* One file under the name of another key, or of another kind, is none. */
static void test_other_key(void **state)
{
    char a[DISK_CACHE_PATH_MAX], b[DISK_CACHE_PATH_MAX];
    struct disk_cache_entry e;

    (void)state;
    must(put(&cache, key_a, "one"));
    path_of(key_a, a);
    path_of(key_b, b);
    assert_int_equal(rename(a, b), 0);
    assert_false(holds(key_b, "one"));
    must(put(&cache, key_a, "one"));
    memcpy(strrchr(b, '.'), ".rest", 5);
    assert_int_equal(link(a, b), 0);
    assert_false(disk_cache_read(&cache, key_b, "rest", &e));
}

/* Every byte of the file counts, and so does its length. */
static void test_damage(void **state)
{
    char path[DISK_CACHE_PATH_MAX];
    struct stat st;

    (void)state;
    must(put(&cache, key_a, "some text"));
    path_of(key_a, path);
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at++) {
        int fd = open(path, O_RDWR);
        uint8_t byte;

        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1 << at % 8;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_false(holds(key_a, "some text"));
        byte ^= 1 << at % 8;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
    }
    assert_true(holds(key_a, "some text"));
    for (off_t bytes = 0; bytes < st.st_size; bytes += 1 + bytes / 8) {
        must(put(&cache, key_a, "some text"));
        assert_int_equal(truncate(path, bytes), 0);
        assert_false(holds(key_a, "some text"));
    }
    must(put(&cache, key_a, "some text"));
    assert_int_equal(truncate(path, st.st_size + 1), 0);
    assert_false(holds(key_a, "some text"));
}

/* Sets how many seconds ago an entry was used. */
static void set_age(struct hash128 key, long seconds)
{
    char path[DISK_CACHE_PATH_MAX];
    struct timespec t[2];

    clock_gettime(CLOCK_REALTIME, &t[0]);
    t[0].tv_sec -= seconds;
    t[1] = t[0];
    path_of(key, path);
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void test_limit(void **state)
{
    struct disk_cache small = cache;

    (void)state;
    small.limit = 4000; /* three entries of some 1,100 bytes */
    for (uint64_t i = 0; i < 3; i++) {
        must(put(&small, (struct hash128){ i, 0 }, "text"));
        set_age((struct hash128){ i, 0 }, 100 - (long)i);
    }
    assert_true(holds((struct hash128){ 0, 0 }, "text")); /* now 1 is the oldest */
    must(put(&small, (struct hash128){ 3, 0 }, "text"));
    assert_int_equal(files(), 3);
    assert_false(holds((struct hash128){ 1, 0 }, "text"));
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(holds((struct hash128){ i, 0 }, "text"), i != 1);
    small.limit = 100; /* not even the new one */
    must(put(&small, key_a, "text"));
    assert_int_equal(files(), 0);
}

static void test_list(void **state)
{
    struct disk_cache_item *item;
    char path[DISK_CACHE_PATH_MAX];
    size_t n;

    (void)state;
    must(disk_cache_list(&cache, &item, &n));
    assert_int_equal(n, 0);
    assert_null(item);
    must(put(&cache, key_a, "one"));
    must(put(&cache, key_b, "two"));
    set_age(key_b, 7);
    path_of(key_a, path);
    memcpy(strrchr(path, '.'), ".MINE", 5); /* a file of somebody else stays */
    close(open(path, O_CREAT | O_WRONLY, 0600));
    must(disk_cache_list(&cache, &item, &n));
    assert_int_equal(n, 2);
    assert_string_equal(item[0].label, "one");
    assert_string_equal(item[1].label, "two");
    assert_string_equal(item[0].name, "00000000000000020000000000000001.test");
    ss_free(item);
    assert_int_equal(disk_cache_clear(&cache), 0);
    assert_int_equal(files(), 1);
    unlink(path);
}

/* What a killed process leaves goes away with the next entry; what a living one writes stays. */
static void test_leftovers(void **state)
{
    struct disk_cache_writer w;
    struct disk_cache_entry e;
    pid_t child = fork();
    int status;

    (void)state;
    if (!child) {
        if (disk_cache_begin(&cache, key_a, "test", "half", &w) != EMU_OK)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(files(), 1);
    assert_false(holds(key_a, "half"));
    must(disk_cache_begin(&cache, key_b, "test", "half", &w)); /* of this process */
    assert_int_equal(files(), 1);
    must(put(&cache, key_a, "whole"));
    assert_int_equal(files(), 2);
    must(disk_cache_end(&cache, &w, EMU_OK));
    assert_true(holds(key_a, "whole"));
    assert_true(disk_cache_read(&cache, key_b, "test", &e));
    assert_string_equal(e.label, "half");
    disk_cache_entry_free(&e);
    assert_int_equal(files(), 2);
}

/* A disk that is full, a folder that is a file, or none at all: an error, and nothing left. */
static void test_no_room(void **state)
{
    static const struct rlimit few = { 1500, RLIM_INFINITY };
    struct disk_cache none = disk_cache_none(), file = cache;
    char text[2000];
    struct rlimit before;

    (void)state;
    assert_int_equal(put(&none, key_a, "one"), EMU_IO);
    snprintf(file.folder, sizeof(file.folder), "/dev/null/x");
    assert_int_equal(put(&file, key_a, "one"), EMU_IO);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &few);
    assert_int_equal(put(&cache, key_a, text), EMU_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(files(), 0);
    assert_false(holds(key_a, text));
}

static void test_folder(void **state)
{
    (void)state;
    setenv("HOME", "/home/me", 1);
    setenv("XDG_CACHE_HOME", "/tmp/xdg", 1);
    setenv("SUPERSTEP_CACHE", "/tmp/mine", 1);
    setenv("SUPERSTEP_CACHE_MB", "7", 1);
    assert_string_equal(disk_cache_of("/tmp/given").folder, "/tmp/given");
    assert_string_equal(disk_cache_of("").folder, "");
    assert_string_equal(disk_cache_of(NULL).folder, "/tmp/mine");
    assert_int_equal(disk_cache_of(NULL).limit, 7000000);
    setenv("SUPERSTEP_CACHE", "", 1);
    setenv("SUPERSTEP_CACHE_MB", "7x", 1);
    assert_string_equal(disk_cache_of(NULL).folder, "");
    assert_true(disk_cache_of(NULL).limit == 4000000000u);
    unsetenv("SUPERSTEP_CACHE");
    assert_string_equal(disk_cache_of(NULL).folder, "/tmp/xdg/superstep");
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    assert_string_equal(disk_cache_of(NULL).folder, "/home/me/.cache/superstep");
    unsetenv("HOME");
    assert_string_equal(disk_cache_of(NULL).folder, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_read_what_was_written, empty),
        cmocka_unit_test_setup(test_other_key, empty),
        cmocka_unit_test_setup(test_damage, empty),
        cmocka_unit_test_setup(test_limit, empty),
        cmocka_unit_test_setup(test_list, empty),
        cmocka_unit_test_setup(test_leftovers, empty),
        cmocka_unit_test_setup(test_no_room, empty),
        cmocka_unit_test(test_folder),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
