/* cmd_machines.c - lists the built-in machines, prints one machine with units and sources, or as a
 * machine file. */
#include "emu/cli/cmd_machines.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/cli/command_line.h"
#include "emu/cli/commands.h"
#include "emu/cli/machine_choice.h"

struct request {
    struct machine_choice machine; /* no name: all presets */
    int json;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &r->machine;
        return 0;
    case 'j':
        r->json = 1;
        return 0;
    case ARGP_KEY_ARG:
        if (r->machine.name) {
            argp_error(state, "one machine at a time: '%s' is one too many", arg);
            return EINVAL;
        }
        r->machine.name = arg;
        return 0;
    case ARGP_KEY_END:
        if (!r->machine.name && r->machine.sets) {
            argp_error(state,
                       "--set needs a machine to change, as in: machines mk2 --set tiles=736");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    { "json", 'j', NULL, 0, "print a machine file (without a machine: a list of them)", 0 },
    { 0 },
};

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 }, { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "[NAME|FILE]",
    .doc =
        "List the built-in machines, or print every field of one with value, unit, certainty and "
        "source.\vA machine file is a JSON object: {\"base\": \"mk2\", \"name\": \"half\", "
        "\"tiles\": 736}. Write one with --json, edit it, and pass it wherever a machine is "
        "expected.",
};

/* One line: name, what it is, and what users compare. */
static void print_summary(const struct arch *a)
{
    printf("%-6s %-18s tiles %4u  clock_mhz %4u  tile_kib %3u  f16_tflops %7.3f  f32_tflops %6.3f  "
           "memory_tb_s %6.3f  exchange_tb_s %6.3f\n",
           a->name, a->title, a->tiles, a->clock_mhz, a->mem_bytes / 1024,
           (double)arch_f16_ops_per_s(a) / 1e12, (double)arch_f32_ops_per_s(a) / 1e12,
           (double)arch_mem_bytes_per_s(a) / 1e12, (double)arch_exchange_bytes_per_s(a) / 1e12);
}

static enum emu_status print_machine(const struct arch *a, int json)
{
    char *text;

    if (!json) {
        arch_print(a, stdout);
        return EMU_OK;
    }
    text = arch_to_json(a);
    if (!text)
        return FAIL(NO_MEMORY, "writing machine %s as JSON", a->name);
    fputs(text, stdout);
    emu_free(text);
    return EMU_OK;
}

static enum emu_status print_presets(int json)
{
    if (json)
        fputs("[\n", stdout);
    for (size_t i = 0; i < arch_preset_count(); i++) {
        const struct arch *a = arch_preset(arch_preset_name(i));

        if (!json) {
            print_summary(a);
            continue;
        }
        TRY(print_machine(a, 1));
        fputs(i + 1 < arch_preset_count() ? ",\n" : "\n]\n", stdout);
    }
    return EMU_OK;
}

static enum emu_status answer(const struct request *r)
{
    struct arch a;

    if (!r->machine.name)
        return print_presets(r->json);
    TRY(machine_choice_arch(&r->machine, r->machine.name, &a));
    TRY(print_machine(&a, r->json));
    if (r->json)
        fputc('\n', stdout);
    return EMU_OK;
}

int cmd_machines(int argc, char **argv)
{
    struct request r = { 0 };
    error_t bad;

    bad = command_line_parse(&parser, argc, argv, &r);
    if (bad) {
        fprintf(stderr, "machines: %s\n", strerror(bad));
        return EXIT_BAD;
    }
    if (answer(&r) != EMU_OK) {
        fprintf(stderr, "machines: %s\n", emu_error());
        return EXIT_BAD;
    }
    return EXIT_RAN;
}
