/* cmd_machines.c - lists the built-in machines, prints one machine with units and sources, or as a
 * machine file. */
#include "emu/cli/emu_commands.h"

#include <stdio.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/cli/commands.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(LIST, set)
OPTION_READ(FLAG, json)

/* One line: name, what it is, and what users compare. */
static void print_summary(const struct arch *a)
{
    printf("%-6s %-18s tiles %4u  clock_mhz %4u  tile_kib %3u  f16_tflops %7.3f  f32_tflops %6.3f  "
           "memory_tb_s %6.3f  exchange_tb_s %6.3f\n",
           a->name, a->title, a->tiles, a->clock_mhz, a->mem_bytes / 1024,
           (double)ss_arch_f16_ops_per_s(a) / 1e12, (double)ss_arch_f32_ops_per_s(a) / 1e12,
           (double)ss_arch_mem_bytes_per_s(a) / 1e12,
           (double)ss_arch_exchange_bytes_per_s(a) / 1e12);
}

static enum emu_status print_machine(const struct arch *a, int json)
{
    char *text;

    if (!json) {
        ss_arch_print(a, stdout);
        return EMU_OK;
    }
    text = ss_arch_to_json(a);
    if (!text)
        return FAIL(NO_MEMORY, "writing machine %s as JSON", a->name);
    fputs(text, stdout);
    ss_free(text);
    return EMU_OK;
}

static enum emu_status print_presets(int json)
{
    if (json)
        fputs("[\n", stdout);
    for (size_t i = 0; i < ss_arch_preset_count(); i++) {
        const struct arch *a = ss_arch_preset(ss_arch_preset_name(i));

        if (!json) {
            print_summary(a);
            continue;
        }
        TRY(print_machine(a, 1));
        fputs(i + 1 < ss_arch_preset_count() ? ",\n" : "\n]\n", stdout);
    }
    return EMU_OK;
}

static enum emu_status answer(const struct request *q)
{
    const char *name = q->what ? q->what : option_machine(q);
    struct arch a;

    if (q->what && option_machine(q))
        return FAIL(USAGE, "one machine at a time: '%s' is one too many", option_machine(q));
    if (!name && option_set(q)->count)
        return FAIL(USAGE, "--set changes a machine, as in: machines mk2 --set tiles=736");
    if (!name)
        return print_presets(option_json(q));
    TRY(request_machine(q, name, &a));
    TRY(print_machine(&a, option_json(q)));
    if (option_json(q))
        fputc('\n', stdout);
    return EMU_OK;
}

int cmd_machines(const struct request *q)
{
    return answer(q) == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
