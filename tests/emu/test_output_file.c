/* test_output_file.c - outputs that are opened early and replace their target late: what is in the
 * folder after a commit, a discard, a full disk, a signal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/base/output_file.h"

static char dir[] = "/tmp/test_output_XXXXXX";
static char path[64], other[64];

static unsigned files_in_dir(void)
{
    unsigned n = 0;
    DIR *d = opendir(dir);

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2; /* . and .. */
}

static void write_text(const char *where, const char *text)
{
    FILE *f = fopen(where, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void assert_text(const char *where, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(where, "r");

    assert_non_null(f);
    got[fread(got, 1, sizeof(got) - 1, f)] = 0;
    fclose(f);
    assert_string_equal(got, text);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/out", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
    return 0;
}

static int empty(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(dir);
}

static struct output_file *opened(const char *where)
{
    struct output_file *o;

    if (output_open(where, &o) != EMU_OK)
        fail_msg("%s", ss_error());
    return o;
}

static void test_the_old_file_stays_until_the_commit(void **state)
{
    struct output_file *o;
    struct stat st;

    (void)state;
    write_text(path, "old");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink(path, other), 0);
    for (int pass = 0; pass < 2; pass++) {
        o = opened(other);
        assert_string_equal(output_path(o), other);
        fputs("new", output_stream(o));
        assert_int_equal(files_in_dir(), 3);
        assert_text(path, "old");
        if (pass == 0)
            output_discard(o);
        else
            assert_int_equal(output_commit(o), EMU_OK);
        assert_int_equal(files_in_dir(), 2);
    }
    assert_text(path, "new");
    assert_int_equal(lstat(other, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(alloc_live(), 0);
}

static void test_no_output(void **state)
{
    struct output_file *o;

    (void)state;
    assert_int_equal(output_open(NULL, &o), EMU_OK);
    assert_null(o);
    assert_null(output_stream(o));
    output_discard(o);
    assert_int_equal(output_commit(o), EMU_OK);
    assert_int_equal(output_finish(&o, EMU_FAULT), EMU_FAULT);
}

static void test_bad_paths_are_refused_at_once(void **state)
{
    const char *bad[] = { "/nonexistent/x", dir, "" };
    struct output_file *o;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        assert_int_equal(output_open(bad[i], &o), EMU_IO);
        assert_null(o);
        assert_non_null(strstr(ss_error(), bad[i]));
    }
    assert_int_equal(files_in_dir(), 0);
}

/* A failure of another step keeps its status, and the output goes. */
static void test_end_follows_the_work(void **state)
{
    struct output_file *o = opened(path);

    (void)state;
    assert_int_equal(output_end(o, EMU_BAD_FILE), EMU_BAD_FILE);
    assert_int_equal(files_in_dir(), 0);
    o = opened(path);
    assert_int_equal(output_finish(&o, EMU_OK), EMU_OK);
    assert_null(o);
    assert_text(path, "");
}

static void test_full_disks(void **state)
{
    struct rlimit old, small = { 3000, 3000 };
    struct output_file *o;

    (void)state;
    write_text(path, "old");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    o = opened(path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 10000; i++)
        fputs("0123456789", output_stream(o));
    assert_int_equal(output_commit(o), EMU_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(ss_error(), path));
    assert_non_null(strstr(ss_error(), "File too large")); /* also when a later write went well */
    assert_text(path, "old");
    assert_int_equal(files_in_dir(), 1);
    o = opened("/dev/full");
    for (int i = 0; i < 100000; i++)
        fputs("x", output_stream(o));
    assert_int_equal(output_commit(o), EMU_IO);
    assert_non_null(strstr(ss_error(), "No space left"));
}

/* Runs a child that ends by a signal while it writes. */
static void child(int signal_number)
{
    struct output_file *o;

    signal(signal_number, SIG_DFL);
    if (output_open(path, &o) != EMU_OK)
        _exit(1);
    fputs("half", output_stream(o));
    fflush(output_stream(o));
    raise(signal_number);
    _exit(0);
}

static void test_signals_leave_nothing(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGABRT };

    (void)state;
    write_text(path, "old");
    for (size_t i = 0; i < EMU_COUNT_OF(signals); i++) {
        pid_t pid = fork();
        int status;

        if (!pid)
            child(signals[i]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_int_equal(files_in_dir(), 1);
        assert_text(path, "old");
    }
}

/* Opened anew it would be overwritten from its start. */
static void test_standard_output_that_is_a_file(void **state)
{
    struct output_file *o;
    int kept = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    (void)state;
    fflush(stdout);
    assert_true(kept >= 0 && fd >= 0);
    assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(write(STDOUT_FILENO, "before ", 7), 7);
    o = opened("/dev/stdout");
    fputs("middle ", output_stream(o));
    assert_int_equal(output_commit(o), EMU_OK);
    assert_int_equal(write(STDOUT_FILENO, "after", 5), 5);
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    close(kept);
    close(fd);
    assert_text(path, "before middle after");
    assert_int_equal(files_in_dir(), 1);
}

static void test_output_is_not_input(void **state)
{
    (void)state;
    write_text(path, "x");
    assert_int_equal(link(path, other), 0);
    assert_int_equal(output_not_input(path, path), EMU_USAGE);
    assert_int_equal(output_not_input(other, path), EMU_USAGE);
    assert_non_null(strstr(ss_error(), other));
    unlink(other);
    write_text(other, "x");
    assert_int_equal(output_not_input(other, path), EMU_OK);
    assert_int_equal(output_not_input(NULL, path), EMU_OK);
    assert_int_equal(output_not_input(path, NULL), EMU_OK);
    assert_int_equal(output_not_input("/dev/null", "/dev/null"), EMU_OK);
}

static void test_allocations(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct output_file *o;
        enum emu_status s;

        alloc_test_fail_at(n);
        s = output_open(path, &o);
        alloc_test_fail_at(-1);
        if (s == EMU_OK) {
            assert_true(n > 2);
            output_discard(o);
            break;
        }
        assert_int_equal(s, EMU_NO_MEMORY);
        assert_int_equal(files_in_dir(), 0);
    }
    assert_int_equal(alloc_live(), 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, empty)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_old_file_stays_until_the_commit),
        TEST(test_no_output),
        TEST(test_bad_paths_are_refused_at_once),
        TEST(test_end_follows_the_work),
        TEST(test_full_disks),
        TEST(test_signals_leave_nothing),
        TEST(test_standard_output_that_is_a_file),
        TEST(test_output_is_not_input),
        TEST(test_allocations),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
