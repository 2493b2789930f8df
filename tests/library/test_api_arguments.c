/* test_api_arguments.c - functions of the library with what is not there: each answers with an
 * error or with nothing, and none crashes.
 *
 * Each call of api_calls.def is made in a process of its own, with handles that are NULL, as those
 * are whose making has failed, and with numbers, tensors and names that do not exist.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/superstep.h"

struct handles {
    struct graph *g;
    struct compiled *compiled;
    struct session *session;
    struct run *run;
    struct image *image;
    struct interpreter *interpreter;
    struct nn *nn;
    struct manifest *manifest;
    struct record *record;
    const struct arch *arch;
    struct arch *own_arch;
    const struct codelet_library *library;
    struct tensor tensor;
    struct program program;
    uint32_t number;
    const char *name;
    FILE *sink;
    void *out;
    char text[RUN_ENGINE_TEXT];
    _Alignas(16) char room[1 << 16], zeros[1 << 16];
};

enum { NO_STATUS = 100, NO_MESSAGE };

/* The status of a call, or NO_STATUS. */
typedef int call_fn(struct handles *h);

#define STATUS(name, arguments)                                                                    \
    static int call_##name(struct handles *h)                                                      \
    {                                                                                              \
        (void)h;                                                                                   \
        return name arguments;                                                                     \
    }
#define OTHER(name, arguments)                                                                     \
    static int call_##name(struct handles *h)                                                      \
    {                                                                                              \
        (void)h;                                                                                   \
        (void)name arguments;                                                                      \
        return NO_STATUS;                                                                          \
    }
#include "tests/library/api_calls.def"
#undef STATUS
#undef OTHER

static const struct call {
    const char *name;
    call_fn *fn;
} calls[] = {
#define STATUS(name, arguments) { #name, call_##name },
#define OTHER(name, arguments)  { #name, call_##name },
#include "tests/library/api_calls.def"
#undef STATUS
#undef OTHER
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* What the process of a call ends with: its status, or NO_MESSAGE if an error says nothing. */
static int end_of(const struct call *c, struct handles *h)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        for (unsigned k = 0; k < sizeof(deadly) / sizeof(deadly[0]); k++)
            signal(deadly[k], SIG_DFL); /* cmocka's would go on with the tests */
        alarm(60);
        status = c->fn(h);
        if (status != EMU_OK && status != NO_STATUS && !*emu_error())
            status = NO_MESSAGE;
        _exit(status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static struct handles *new_handles(void)
{
    struct handles *h = calloc(1, sizeof(*h));

    assert_non_null(h);
    h->tensor.view = UINT32_MAX;
    h->number = 77;
    h->name = "no such name";
    h->sink = fopen("/dev/null", "w");
    assert_non_null(h->sink);
    return h;
}

static void free_handles(struct handles *h)
{
    fclose(h->sink);
    free(h);
}

static unsigned crashes(struct handles *h)
{
    unsigned bad = 0;

    for (unsigned k = 0; k < CALLS; k++) {
        int end = end_of(&calls[k], h);

        if (WIFEXITED(end) && WEXITSTATUS(end) != NO_MESSAGE)
            continue;
        print_message("# %s: %s\n", calls[k].name,
                      WIFEXITED(end) ? "an error without a message" : "a crash");
        bad++;
    }
    return bad;
}

static void nothing_is_there(void **state)
{
    struct handles *h = new_handles();
    unsigned wrong = 0;

    (void)state;
    assert_int_equal(crashes(h), 0);
    for (unsigned k = 0; k < CALLS; k++) {
        if (WEXITSTATUS(end_of(&calls[k], h)) == EMU_OK) {
            print_message("# %s: no error\n", calls[k].name);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    print_message("# %u functions\n", (unsigned)CALLS);
    free_handles(h);
}

/* The idiom of a program of one's own, with a name that is misspelled. */
static void a_misspelled_machine(void **state)
{
    struct graph *g = NULL;

    (void)state;
    assert_int_equal(graph_new(arch_preset("typo"), &kernel_library, &g), EMU_BAD_MACHINE);
    assert_null(g);
    assert_non_null(strstr(emu_error(), "arch_preset"));
    assert_int_equal(graph_status(g), EMU_BAD_PROGRAM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there),
        cmocka_unit_test(a_misspelled_machine),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
