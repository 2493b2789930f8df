/* front.c - the front door: finds out what `run`, `compile` or `lab` was given, and hands it to the
 * floor that runs such things.
 *
 * A name of a network, of a program or of a manifest of the lab wins over a file of that name; a
 * path with a slash is always a file.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/output_file.h"
#include "emu/cli/emu_commands.h"
#include "emu/cli/look_file.h"
#include "models/ask/model_request.h"
#include "models/cli/commands_models.h"
#include "models/run/model_run.h"
#include "models/keep/net_image.h"
#include "models/ask/network_choice.h"
#include "models/ask/onnx_request.h"
#include "models/sweep/cmd_sweep.h"
#include "programs/cli/cmd_exercise.h"
#include "programs/cli/cmd_lab.h"
#include "programs/cli/cmd_lesson.h"
#include "programs/cli/graph_program.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(LIST, define)
OPTION_READ(TEXT, chart)

const struct named_program *const *const front_programs[] = { ss_lab_programs, NULL };

/* ---- what it is ---- */

/* All that run, compile and step take. */
#define THINGS (THING_FILES | THING_PROGRAM | THING_NETWORK | THING_ONNX)

static int is_compile(const struct request *q)
{
    return (q->command->uses & USE_COMPILE) != 0;
}

static void found(struct request *q, const char *what, use_set thing)
{
    q->what = what;
    q->use = is_compile(q) ? thing << USE_COMPILE_SHIFT : thing | (q->command->uses & USE_STEP);
}

/* A manifest of the lab; `file` keeps its path. */
static enum emu_status look_manifest(struct request *q, const char *name)
{
    char path[PATH_MAX];

    if (!lab_find_manifest(name, path, sizeof(path)))
        return EMU_OK;
    q->path = emu_strdup(path);
    if (!q->path)
        return FAIL(NO_MEMORY, "a path");
    found(q, name, THING_MANIFEST);
    return EMU_OK;
}

static void look_program(struct request *q, const char *name)
{
    q->known = program_find(name, front_programs);
    if (q->known)
        found(q, name, THING_PROGRAM);
}

/* A name that nothing has: the answer is about networks, which most people mean. */
static enum emu_status refuse_name(const char *name)
{
    struct nearest meant = { .word = name, .n = strlen(name) };

    net_nearest(&meant);
    return FAIL(USAGE, "no file and no program '%.200s';%s superstep --help lists all names", name,
                lab_hint(&meant).text);
}

/* Sets q->use when one of the candidates is a name. */
static enum emu_status look_names(struct request *q, const struct option_list *candidates)
{
    for (size_t i = 0; i < candidates->count && !q->use; i++) {
        if (network_find(candidates->item[i]))
            found(q, candidates->item[i], THING_NETWORK);
        else
            look_program(q, candidates->item[i]);
    }
    return EMU_OK;
}

static enum emu_status look(struct request *q, const struct option_list *candidates)
{
    static const struct look_kind kinds[] = { { THING_ONNX, onnx_is_file }, { 0, NULL } };
    const char *first = candidates->count ? candidates->item[0] : NULL;
    use_set thing = 0;

    TRY(look_names(q, candidates));
    if (q->use || !first)
        return EMU_OK;
    TRY(look_manifest(q, first));
    if (q->use)
        return EMU_OK;
    if (strcmp(first, "-") && !strpbrk(first, "./") && access(first, F_OK))
        return refuse_name(first);
    TRY(look_file(q, first, kinds, &thing));
    if (graph_program_is(q)) {
        q->known = &graph_program;
        thing = THING_PROGRAM;
    }
    if (thing == USE_CASE) {
        q->use = USE_CASE;
        if (q->command->uses & USE_STEP)
            return FAIL(USAGE, "%s is a case, for one tile: superstep tile --trace i --case FILE",
                        first);
        return is_compile(q)
                   ? FAIL(USAGE, "%s is a case, which has no image: superstep run FILE", first)
                   : EMU_OK;
    }
    found(q, first, thing);
    if (is_compile(q) && thing == THING_IMAGE)
        return FAIL(USAGE, "%s is an image already", first);
    return EMU_OK;
}

/* A file that is swept as it is: a manifest, or an image. */
static enum emu_status look_swept_file(struct request *q, const char *path)
{
    static const struct look_kind none[] = { { 0, NULL } };
    use_set thing = 0;

    if (strcmp(path, "-") && !strpbrk(path, "./") && access(path, F_OK))
        return EMU_OK;
    TRY(look_file(q, path, none, &thing));
    if (thing & ~(THING_MANIFEST | THING_IMAGE))
        return FAIL(USAGE, "%s: %s are not swept, but networks, programs, manifests and images",
                    path, thing & THING_SOURCE ? "source files" : "cases");
    found(q, path, thing);
    return EMU_OK;
}

/* What is swept: a network, a graph or an ONNX file, a manifest or an image. */
static enum emu_status look_sweep(struct request *q, const struct option_list *candidates)
{
    const char *first = candidates->count ? candidates->item[0] : NULL;
    struct nearest meant = { .word = first, .n = first ? strlen(first) : 0 };

    TRY(look_names(q, candidates));
    for (size_t i = 0; i < candidates->count && !q->use; i++) {
        if (onnx_is_named(candidates->item[i]))
            found(q, candidates->item[i], THING_ONNX);
    }
    if (!q->use && first)
        TRY(look_manifest(q, first));
    if (!q->use && first)
        TRY(look_swept_file(q, first));
    q->use <<= USE_SWEEP_SHIFT;
    if (q->use || !first)
        return EMU_OK;
    net_nearest(&meant);
    return FAIL(USAGE,
                "no network, no program and no file that is swept: '%.200s';%s superstep "
                "--help lists all names",
                first, lab_hint(&meant).text);
}

static enum emu_status look_lab(struct request *q, const struct option_list *candidates)
{
    int exercise = candidates->count && lab_is_exercise(candidates->item[0]);
    struct nearest meant = { .n = 0 };

    q->use = candidates->count && !exercise ? 0 : USE_LAB;
    if (exercise)
        q->what = candidates->item[0];
    for (size_t i = 0; i < candidates->count && !q->use; i++)
        look_program(q, candidates->item[i]);
    if (!q->use)
        TRY(look_manifest(q, candidates->item[0]));
    if (q->use)
        return EMU_OK;
    meant.word = candidates->item[0];
    meant.n = strlen(meant.word);
    for (size_t i = 0; lab_word(i); i++)
        nearest_try(&meant, lab_word(i));
    return FAIL(USAGE, "no program '%s';%s `superstep lab` lists them", meant.word,
                lab_hint(&meant).text);
}

/* Of what was named. */
static void print_parameters(const struct request *q, FILE *f)
{
    if (q->known)
        program_print_parameters(q, f);
    else if (q->use & (THING_MANIFEST | THING_MANIFEST << USE_COMPILE_SHIFT |
                       THING_MANIFEST << USE_SWEEP_SHIFT))
        lab_print_parameters(q->what, q->path, f);
}

/* ---- who runs it ---- */

/* A chart that cannot be written is found before the work. */
static enum emu_status check_chart(const struct request *q)
{
    struct output_file *chart;

    if (!option_chart(q) || !(q->use & (THING_MANIFEST | THING_PROGRAM)))
        return EMU_OK;
    TRY(output_not_input(option_chart(q), q->path ? q->path : q->what));
    TRY(output_open(option_chart(q), &chart));
    output_discard(chart);
    return EMU_OK;
}

/* A -D without a value; its value may be the argument that is one too many. */
static const char *cut_define(const struct request *q)
{
    for (size_t i = 0; i < option_define(q)->count; i++) {
        if (!strchr(option_define(q)->item[i], '='))
            return option_define(q)->item[i];
    }
    return NULL;
}

static int run(const struct request *q)
{
    static const struct image_hooks networks = { net_image_before, net_image_after, lesson_of_run };
    static const use_set models = THING_NETWORK | THING_ONNX;

    if (q->use == USE_LAB)
        return q->what ? lab_exercise(q) : lab_list(q);
    if (q->argument.count > 1 && cut_define(q)) {
        (void)FAIL(USAGE, "-D %s: expected NAME=VALUE in one word", cut_define(q));
        return request_failed(q, NULL);
    }
    if (q->argument.count > 1) {
        (void)FAIL(USAGE, "one program at a time: '%s' is one too many", q->argument.item[1]);
        return request_failed(q, NULL);
    }
    if (q->use == USE_CASE)
        return cmd_tile(q);
    if (check_chart(q) != EMU_OK)
        return request_failed(q, NULL);
    if (q->use & (models | models << USE_COMPILE_SHIFT))
        return model_run(q);
    if (q->use & (THING_PROGRAM | THING_PROGRAM << USE_COMPILE_SHIFT))
        return program_run(q);
    return is_compile(q) ? compile_file(q) : run_file(q, &networks);
}

const struct command front_commands[] = {
    { .name = "run",
      .help = "run a program: a manifest, a case, a source file, an image or a name",
      .uses = THINGS | USE_CASE,
      .others = THINGS << USE_COMPILE_SHIFT,
      .run = run,
      .examples = "  superstep run net.onnx\n"
                  "  superstep run resnet-50 --image cat.jpg --html resnet.html\n"
                  "  superstep run matmul -D m=256 --machine toy64 --steps\n",
      .names = NAMES_NETWORKS | NAMES_PROGRAMS,
      .noun = "one program",
      .min = 1,
      .max = 1,
      .args = "NETWORK|PROGRAM|FILE.onnx|FILE.graph|FILE.json|FILE.img|FILE.S|-",
      .doc =
          "Run a program on a whole machine: a network or a program that `superstep --help` "
          "lists, a network in an ONNX file or a graph file (compiled first), a manifest, a case, "
          "which is for "
          "one tile, an image, or a "
          "source file, which runs on all tiles from its label main on; - reads one of these "
          "files from standard input. "
          "`superstep run WHAT --help` says what WHAT takes.\v"
          "Exit status: 0 ran and met its expectations, 1 fault, deadlock, wrong results, reports "
          "of --check or too little memory, 2 bad usage or bad file, 3 stopped at --max-cycles.",
      .look = look,
      .is_parameter = program_is_parameter,
      .print_parameters = print_parameters },
    { .name = "compile",
      .help = "write the image of a manifest, a source file or a name",
      .uses = THINGS << USE_COMPILE_SHIFT,
      .others = THINGS,
      .run = run,
      .examples = "  superstep compile net.onnx -o net.img\n"
                  "  superstep compile resnet-50 --report -o resnet.img\n",
      .names = NAMES_NETWORKS | NAMES_PROGRAMS,
      .noun = "one program",
      .min = 1,
      .max = 1,
      .args = "NETWORK|PROGRAM|FILE.onnx|FILE.graph|FILE.bsp.json|FILE.S|- -o FILE.img",
      .doc = "Compile or assemble a whole-machine program and write its image. `superstep compile "
             "WHAT --help` says what WHAT takes.\v"
             "Exit status: 0, 1 too little memory, 2 bad usage or bad file.",
      .look = look,
      .is_parameter = program_is_parameter,
      .print_parameters = print_parameters },
    { .name = "step",
      .help = "step through a program: supersteps, bundles, registers, memory; forwards and back",
      .uses = THINGS | USE_STEP,
      .run = run,
      .examples = "  superstep step ring\n"
                  "  superstep step net.onnx --script commands.txt\n",
      .names = NAMES_NETWORKS | NAMES_PROGRAMS,
      .noun = "one program",
      .min = 1,
      .max = 1,
      .args = "NETWORK|PROGRAM|FILE.onnx|FILE.graph|FILE.bsp.json|FILE.img|FILE.S",
      .doc = "Step through a program that `superstep run` would run: to a superstep, a layer, a "
             "cycle, an instruction, a fault; by supersteps, phases and bundles, forwards and "
             "back; with registers, memory, code, breakpoints, and who wrote what. `help` at its "
             "prompt lists the commands; docs/step.md explains them. Files that a run would write "
             "are not written.\v"
             "Exit status: 0, 2 bad usage or bad file, or a command in a script or a pipe that was "
             "wrong.",
      .look = look,
      .is_parameter = program_is_parameter,
      .print_parameters = print_parameters },
    { .name = "lab",
      .help = "list the programs of the lab, run one by its name, or check an exercise",
      .uses = THINGS | USE_LAB,
      .run = run,
      .examples = "  superstep lab ring\n"
                  "  superstep lab exercise 1 -o send.S\n"
                  "  superstep lab check 1 send.S\n",
      .names = NAMES_PROGRAMS,
      .words = "exercise check solution source",
      .noun = "one program",
      .max = 3,
      .args = "[NAME | exercise [N] | check N FILE.S | solution N | source NAME]",
      .doc =
          "Without a name: list the programs of the lab. With one: run it as a lesson, or say "
          "what its mistake is; `superstep lab NAME --help` says what it takes, docs/lab.md what "
          "each program shows. `exercise` lists the exercises, `exercise N` prints one and -o "
          "writes its unfinished file, `check N FILE.S` says whether a file does what is asked, "
          "`solution N` prints a right answer, `source NAME` the assembly of a program. "
          "docs/course.md is a course.",
      .look = look_lab,
      .is_parameter = program_is_parameter,
      .print_parameters = print_parameters },
    { .name = "sweep",
      .help = "run a network or a program on many machines and with many options",
      .uses = (THING_PROGRAM | THING_NETWORK | THING_ONNX | THING_MANIFEST | THING_IMAGE)
              << USE_SWEEP_SHIFT,
      .run = cmd_sweep,
      .examples =
          "  superstep sweep resnet-50 --vary batch=1,2,4 -o sweep.db\n"
          "  superstep sweep matmul -D m=256 -D k=256 --vary n=64,128 -o m.db\n"
          "  superstep sweep halo --vary chips=2,4,8 --vary link_latency_ns=100,500 -o h.db\n"
          "  superstep report sweep.db --html sweep.html\n",
      .names = NAMES_NETWORKS | NAMES_PROGRAMS,
      .noun = "one program",
      .min = 1,
      .max = 1,
      .args = "NETWORK|PROGRAM|FILE.onnx|FILE.bsp.json|FILE.img --vary NAME=V1,V2,.. -o FILE.db",
      .doc =
          "Compile and run a network or a program for all combinations of fields of the machine, "
          "options and parameters; keep the results in a database, which the same command "
          "completes when it was stopped. `superstep report FILE.db` prints it again. "
          "docs/sweep.md says what can be varied.\v"
          "Exit status: 0 all points are done (also those that do not fit or fault), 2 bad "
          "usage, bad file or an error of the host, 3 points are left.",
      .look = look_sweep,
      .is_parameter = program_is_parameter,
      .print_parameters = print_parameters },
    { .name = NULL },
};
