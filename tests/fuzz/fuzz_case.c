/* fuzz_case.c - any bytes as a case file: refused with a message, or laid out, run for a few cycles
 * in checking mode, compared and printed as JSON. Sources and machines are not read from files. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/case_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FEW_CYCLES = 3000 };

static void run_and_print(struct case_run *r)
{
    json_t *differences, *answer;
    json_error_t error;
    uint64_t total;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    EMU_ASSERT(f);
    if (case_load(r) != EMU_OK) { /* an expression of a memory that divides by zero */
        EMU_ASSERT(!strncmp(emu_error(), "fuzz:", 5));
        fclose(f);
        free(text);
        return;
    }
    case_execute(r);
    EMU_ASSERT(case_compare(r, &differences, &total) == EMU_OK);
    EMU_ASSERT(case_print(r, differences, total, f) == EMU_OK);
    fclose(f);
    answer = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    EMU_ASSERT(answer);
    json_decref(answer);
    json_decref(differences);
    free(text); /* allocated by open_memstream */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct case_options options = { .machine = "toy4", .raw = 1, .check = size & 1 };
    struct tile_case *c;
    struct case_run *r;

    if (case_read_text((const char *)data, size, "fuzz", &c) != EMU_OK) {
        EMU_ASSERT(!strncmp(emu_error(), "fuzz:", 5));
        EMU_ASSERT(alloc_live() == 0);
        return 0;
    }
    if (!c->program.sources) {
        if (c->max_cycles > FEW_CYCLES)
            c->max_cycles = FEW_CYCLES;
        if (case_build(c, &options, &r) == EMU_OK) {
            run_and_print(r);
            case_run_free(r);
        }
    }
    case_free(c);
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}
