/* test_api_arguments.c - functions of the library with what is not there: each answers with an
 * error or with nothing, and none crashes.
 *
 * Each call of api_calls.def is made in a process of its own, with numbers, tensors and names that
 * do not exist, and with handles that are NULL, as those are whose making has failed; then once
 * more on a graph and a network that there are.
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

#include "models/api/superstep.h"

struct handles {
    struct graph *g;
    struct compiled *compiled;
    struct session *session;
    struct run *run;
    struct image *image;
    struct interpreter *interpreter;
    struct nn *nn;
    struct ss_network *network;
    struct ss_training *training;
    struct manifest *manifest;
    struct record *record;
    const struct arch *arch;
    struct arch *own_arch;
    const struct codelet_library *library;
    struct tensor tensor;
    struct program program;
    struct activation activation; /* the sizes are those of the layers */
    struct conv_layer conv;
    struct pool_layer pool;
    struct group_norm_layer group_norm;
    struct norm_layer norm;
    struct row_loop loop;
    struct loop_rows rows;
    uint32_t number;
    const char *name;
    FILE *sink;
    void *out;
    char text[RUN_ENGINE_TEXT];
    _Alignas(16) char room[1 << 16], zeros[1 << 16];
};

enum { NO_STATUS = 100, NO_MESSAGE, NO_COMPLAINT };

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
#define LOOK(name, arguments) OTHER(name, arguments)
#include "tests/library/api_calls.def"
#undef STATUS
#undef OTHER
#undef LOOK

static const struct call {
    const char *name, *arguments;
    call_fn *fn;
    int looks;
} calls[] = {
#define STATUS(name, arguments) { #name, #arguments, call_##name, 0 },
#define OTHER(name, arguments)  { #name, #arguments, call_##name, 0 },
#define LOOK(name, arguments)   { #name, #arguments, call_##name, 1 },
#include "tests/library/api_calls.def"
#undef STATUS
#undef OTHER
#undef LOOK
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* Whether a call adds something to a graph of a tensor that is none of it. */
static int has_wrong_tensor(const struct call *c)
{
    static const char *const with[] = { "h->tensor", "h->activation", "h->loop", "h->rows" };

    for (unsigned k = 0; !c->looks && k < sizeof(with) / sizeof(with[0]); k++)
        if (strstr(c->arguments, with[k]))
            return strstr(c->arguments, "(h->g") || strstr(c->arguments, "(h->nn");
    return 0;
}

/* What the process of a call ends with: its status, NO_MESSAGE if an error says nothing, or
 * NO_COMPLAINT if a wrong tensor is no error of a graph that there is. */
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
        if (status != EMU_OK && status != NO_STATUS && !*ss_error())
            status = NO_MESSAGE;
        if (status == NO_STATUS && h->g && has_wrong_tensor(c) && ss_graph_status(h->g) == EMU_OK)
            status = NO_COMPLAINT;
        _exit(status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* Layers that would be right if there were a tensor. */
static void set_layers(struct handles *h)
{
    h->activation = (struct activation){ h->tensor, 1, CHANNEL_BLOCK, 2, 2 };
    h->conv = (struct conv_layer){ .out_c = CHANNEL_BLOCK,
                                   .groups = 1,
                                   .kernel_h = 1,
                                   .kernel_w = 1,
                                   .stride_h = 1,
                                   .stride_w = 1,
                                   .dilation_h = 1,
                                   .dilation_w = 1,
                                   .w = &h->tensor };
    h->pool = (struct pool_layer){ .kernel_h = 1,
                                   .kernel_w = 1,
                                   .stride_h = 1,
                                   .stride_w = 1,
                                   .dilation_h = 1,
                                   .dilation_w = 1,
                                   .out_h = 2,
                                   .out_w = 2 };
    h->group_norm = (struct group_norm_layer){
        .groups = 1, .eps = 1, .gamma = (const void *)h->zeros, .beta = (const void *)h->zeros
    };
    h->norm = (struct norm_layer){ .eps = 1, .gamma = h->tensor, .beta = h->tensor };
    h->loop = (struct row_loop){ 7, h->tensor };
    h->rows = (struct loop_rows){ h->tensor, h->tensor };
}

static struct handles *new_handles(void)
{
    struct handles *h = calloc(1, sizeof(*h));

    assert_non_null(h);
    h->tensor.view = UINT32_MAX;
    h->program.node = UINT32_MAX;
    set_layers(h);
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

        if (WIFEXITED(end) && WEXITSTATUS(end) <= NO_STATUS)
            continue;
        print_message("# %s: %s\n", calls[k].name,
                      !WIFEXITED(end)                  ? "a crash"
                      : WEXITSTATUS(end) == NO_MESSAGE ? "an error without a message"
                                                       : "no error of the graph");
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

/* The handles are there, the tensors are not. */
static void wrong_tensors_of_a_graph(void **state)
{
    struct handles *h = new_handles();
    unsigned wrong = 0;

    (void)state;
    assert_int_equal(ss_graph_new(ss_arch_preset("toy4"), &ss_kernel_library, &h->g), EMU_OK);
    h->program = ss_program_sequence(h->g);
    assert_int_equal(ss_nn_new(h->g, h->program, 0, &h->nn), EMU_OK);
    for (unsigned k = 0; k < CALLS; k++)
        wrong += (unsigned)has_wrong_tensor(&calls[k]);
    print_message("# %u functions with wrong tensors\n", wrong);
    assert_int_equal(crashes(h), 0);
    ss_nn_free(h->nn);
    ss_graph_free(h->g);
    free_handles(h);
}

/* The idiom of a program of one's own, with a name that is misspelled. */
static void a_misspelled_machine(void **state)
{
    struct graph *g = NULL;

    (void)state;
    assert_int_equal(ss_graph_new(ss_arch_preset("typo"), &ss_kernel_library, &g), EMU_BAD_MACHINE);
    assert_null(g);
    assert_non_null(strstr(ss_error(), "ss_arch_preset"));
    assert_int_equal(ss_graph_status(g), EMU_BAD_PROGRAM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there),
        cmocka_unit_test(wrong_tensors_of_a_graph),
        cmocka_unit_test(a_misspelled_machine),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
