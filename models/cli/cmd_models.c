/* cmd_models.c - `superstep models`: the networks that are known by name, the layers of one, and
 * its weights as a file. */
#include <inttypes.h>
#include <stdio.h>

#include "emu/base/fail.h"
#include "emu/base/output_file.h"
#include "emu/cli/commands.h"
#include "emu/job/run_image.h"
#include "emu/cli/emu_commands.h"
#include "models/ask/model_request.h"
#include "models/cli/commands_models.h"
#include "models/cli/models_graph.h"
#include "models/onnx/onnx.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/ask/network_choice.h"
#include "models/ask/onnx_request.h"
#include "models/stream/cmd_stream.h"
#include "models/train/cmd_evaluate.h"
#include "models/train/cmd_train.h"
#include "models/validate/validate.h"
#include "models/weights/calibrate.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, stage)
OPTION_READ(LIST, dim)
OPTION_READ(LIST, outputs)
OPTION_READ(TEXT, weights)
OPTION_READ(WORD, precision)

/* ---- the list ---- */

static void print_network(const struct net *n, const char *text)
{
    printf("%-20s %11" PRIu64 " %12.1f %10u  %s\n", n->name, net_params(n),
           (double)op_graph_macs(n->graph) / n->batch / 1e6, n->resolution, text);
}

static json_t *network_json(const struct net *n, const char *text)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:s}", "name", n->name, "parameters",
                     (json_int_t)net_params(n), "macs_per_input",
                     (json_int_t)(op_graph_macs(n->graph) / n->batch), "resolution",
                     (json_int_t)n->resolution, "text", text);
}

/* list: NULL: a line for each instead. */
static enum emu_status each_network(const struct request *q, json_t *list)
{
    const struct network_choice c = network_choice_of(q);

    for (unsigned i = 0; net_name(i); i++) {
        struct net *n;
        int good = 1;

        TRY(net_new(net_name(i), &c.net, &n));
        if (list)
            good = !json_array_append_new(list, network_json(n, net_text(i)));
        else
            print_network(n, net_text(i));
        net_free(n);
        if (!good)
            return FAIL(NO_MEMORY, "the answer");
    }
    return EMU_OK;
}

/* Takes over the list; NULL: out of memory. */
static enum emu_status print_list(json_t *list)
{
    if (!list)
        return FAIL(NO_MEMORY, "the answer");
    ss_run_print_json(list, stdout);
    json_decref(list);
    return EMU_OK;
}

static enum emu_status list_networks(const struct request *q)
{
    json_t *list = option_json(q) ? json_array() : NULL;
    enum emu_status s;

    if (option_output(q) || option_weights(q))
        return FAIL(USAGE, "weights of which network?");
    if (request_has(q, OPTION_dim) || request_has(q, OPTION_outputs))
        return FAIL(USAGE, "dimensions or outputs of which file?");
    if (request_has(q, OPTION_precision))
        return FAIL(USAGE, "the precision of which network?");
    if (option_stage(q))
        return FAIL(USAGE, "a stage of which network?");
    if (!option_json(q))
        printf("%-20s %11s %12s %10s  %s\n", "network", "parameters", "M mult-adds", "resolution",
               "what");
    s = each_network(q, list);
    if (s == EMU_OK && option_json(q))
        return print_list(list);
    json_decref(list);
    return s;
}

/* ---- one ---- */

static enum emu_status make_weights(const struct request *q, const struct net *n, struct weights *w)
{
    if (option_weights(q))
        return weights_read(w, n, option_weights(q), stderr);
    weights_seed(w, n, network_choice_of(q).seed);
    fprintf(stderr, "measuring the statistics of %d pictures\n", CALIBRATION_PICTURES);
    return weights_calibrate(w, n, CALIBRATION_PICTURES);
}

static enum emu_status write_onnx(struct net *n, const struct weights *w,
                                  const struct output_file *out)
{
    weights_attach(w, n);
    TRY(pass_spell(n->graph));
    return onnx_write(n->graph, output_stream(out));
}

static enum emu_status handle_weights(const struct request *q, struct net *n)
{
    struct output_file *out;
    struct weights *w;
    enum emu_status s;

    TRY(output_not_input(option_output(q), option_weights(q)));
    TRY(weights_new(n, &w));
    s = output_open(option_output(q), &out);
    if (s == EMU_OK)
        s = make_weights(q, n, w);
    if (s == EMU_OK && w->names)
        printf("%s: all %u tensors are there, named as %s names them\n", option_weights(q),
               w->params, w->names);
    if (s == EMU_OK && out)
        s = onnx_is_named(option_output(q)) ? write_onnx(n, w, out) : weights_write_to(w, out);
    s = output_end(out, s);
    weights_free(w);
    return s;
}

static enum emu_status one_network(const struct request *q)
{
    const struct network_choice c = network_choice_of(q);
    int weights = !option_stage(q) && (option_weights(q) || option_output(q));
    enum emu_status s = EMU_OK;
    struct net *n;

    if (request_has(q, OPTION_dim) || request_has(q, OPTION_outputs))
        return FAIL(USAGE, "--dim and --outputs are for ONNX files, and %s is none", q->what);
    if (option_json(q) && weights)
        return FAIL(USAGE, "--json with --weights or --output is for ONNX files, and %s is none",
                    q->what);
    TRY(net_new(q->what, &c.net, &n));
    if (weights)
        s = handle_weights(q, n);
    net_free(n);
    return s != EMU_OK || weights ? s : models_show(q);
}

static int cmd_models(const struct request *q)
{
    enum emu_status s = !q->what                 ? list_networks(q)
                        : onnx_is_meant(q->what) ? models_show(q)
                                                 : one_network(q);

    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}

static int cmd_operators(const struct request *q)
{
    enum emu_status s = option_json(q) ? print_list(op_table_json()) : op_table_print(stdout);

    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}

enum { ANY = 1 << 30 };

const struct command model_commands[] = {
    { .name = "cache",
      .help = "list what is kept between runs, or clear it",
      .uses = USE_CACHE,
      .run = cmd_cache,
      .examples = "  superstep cache\n"
                  "  superstep cache --clear\n",
      .doc = "List what is kept between runs: compiled networks, and statistics of seeded weights. "
             "The folder is that of --cache, $SUPERSTEP_CACHE, $XDG_CACHE_HOME/superstep or "
             "$HOME/.cache/superstep, in this order.\v"
             "It holds at most $SUPERSTEP_CACHE_MB million bytes (default 4000): what was not used "
             "for the longest time goes first. All of it may be removed at any time." },
    { .name = "models",
      .help = "list the networks, print one or an ONNX file, check or write weights",
      .uses = USE_MODELS,
      .run = cmd_models,
      .examples = "  superstep models\n"
                  "  superstep models net.onnx\n"
                  "  superstep models net.onnx --json | jq '.nodes | max_by(.macs)'\n"
                  "  superstep models resnet-50 -o resnet.safetensors\n",
      .names = NAMES_NETWORKS,
      .noun = "one network",
      .max = 1,
      .args = "[NAME|FILE.onnx]",
      .doc = "List the networks that are known by name, or print the layers of one with their "
             "multiply-adds and bytes. Of an ONNX file print the operators that are left after "
             "folding and fusing; or, if some cannot run, which and why, as `superstep run` "
             "would.\v"
             "Exit status: 0, or 2 for bad usage or a bad file." },
    { .name = "operators",
      .help = "list the operators of ONNX files that are known",
      .uses = USE_OPERATORS,
      .run = cmd_operators,
      .examples = "  superstep operators\n"
                  "  superstep operators | grep -i conv\n"
                  "  superstep operators --json | jq '.[].name'\n",
      .doc = "List the operators of ONNX files that are known: versions, family, attributes.\v"
             "Exit status: 0." },
    { .name = "stream",
      .help = "run a stream of pictures through a network, with IO tiles",
      .uses = USE_STREAM,
      .run = cmd_stream,
      .examples = "  superstep stream resnet-50 photos -o results.csv\n"
                  "  superstep stream net.onnx a.jpg b.png\n"
                  "  superstep stream efficientnet-b0 photos -b 4 --engine timing\n",
      .names = NAMES_NETWORKS,
      .noun = "one network",
      .min = 1,
      .max = ANY,
      .args = "NETWORK|FILE.onnx [PICTURE|DIRECTORY|@LIST|-]...",
      .doc =
          "Run a stream of pictures through a network: IO tiles fetch the next batches while the "
          "other tiles compute. Every batch is executed. Without pictures those of Superstep "
          "are taken in turn.\v"
          "Exit status: 0 ran, 1 fault or too little memory, 2 bad usage or file, too few IO "
          "tiles, or no result at all, 3 some pictures or results are missing: bad files, an "
          "interrupt (what was done is kept), a full disk." },
    { .name = "train",
      .help = "train a network on pictures with labels, on the emulated machine",
      .uses = USE_TRAIN,
      .run = cmd_train,
      .examples = "  superstep train net.onnx --data digits -o trained.safetensors\n"
                  "  superstep train resnet-50 --data photos -b 8 --curve loss.svg\n"
                  "  superstep train resnet-50 --engine timing\n",
      .names = NAMES_NETWORKS,
      .noun = "one network",
      .min = 1,
      .max = 1,
      .args = "NETWORK|FILE.onnx --data DIR",
      .doc =
          "Train a network, by name or from an ONNX file: every step, forward, backward and "
          "update, is executed on the emulated machine, where parameters stay from step to step. "
          "With --engine timing: cycles and memory of one step, without data.\v"
          "Exit status: 0 ran, 1 fault, a loss that is no number, or too little memory, 2 bad "
          "usage or file, 3 some pictures were left out, or an interrupt (what was done is "
          "kept)." },
    { .name = "evaluate",
      .help = "say how good a network is on pictures with labels",
      .uses = USE_EVALUATE,
      .run = cmd_evaluate,
      .examples = "  superstep evaluate net.onnx -w trained.safetensors --data digits\n"
                  "  superstep evaluate resnet-50 -w resnet.safetensors --data photos\n",
      .names = NAMES_NETWORKS,
      .noun = "one network",
      .min = 1,
      .max = 1,
      .args = "NETWORK|FILE.onnx -w FILE --data DIR",
      .doc =
          "Score pictures with labels on the emulated machine, prepared as in the evaluations of a "
          "training: accuracy, loss, and what each class was taken for.\v"
          "Exit status: 0 ran, 1 fault or too little memory, 2 bad usage or file, 3 some pictures "
          "were left out, or an interrupt (what was scored is told)." },
    { .name = "validate",
      .help = "compare what is executed here with what silicon and the vendor's tools do",
      .uses = USE_VALIDATE,
      .run = cmd_validate,
      .examples = "  superstep validate\n"
                  "  superstep validate --json > validate.json\n",
      .doc = "Measure every figure that is published of such a chip and can be found here, and "
             "print both, how far they are apart, and what would explain it.\v"
             "Exit status: 0, 1 if a program of the table faulted, 2 bad usage or file." },
    { .name = "completion",
      .help = "print what lets bash or zsh complete a command line of superstep",
      .run = cmd_completion,
      .examples =
          "  superstep completion bash > ~/.local/share/bash-completion/completions/superstep\n"
          "  superstep completion zsh > ~/.zfunc/_superstep\n",
      .words = "bash zsh",
      .noun = "one shell",
      .min = 1,
      .max = 1,
      .args = "bash|zsh",
      .doc = "Print the completion of a shell: commands, options and their words, names of "
             "networks, programs and machines. `make install` puts both in their places.\v"
             "Exit status: 0, or 2 for bad usage." },
    { .name = NULL },
};
