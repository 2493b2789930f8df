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
    enum emu_status s;

    EMU_ASSERT(f);
    s = case_load(r);
    if (s == EMU_OK) {
        case_execute(r);
        s = case_compare(r, &differences, &total);
    }
    if (s != EMU_OK) { /* an expression of a memory that divides by zero */
        EMU_ASSERT(!strncmp(ss_error(), "fuzz:", 5));
        fclose(f);
        free(text);
        return;
    }
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
    const struct manifest_options o = { .machine = "toy4", .no_files = 1, .raw = 1 };
    struct case_options options = { .check = size & 1 };
    struct manifest *m;
    struct case_run *r;

    if (ss_manifest_read_text((const char *)data, size, "fuzz", &o, &m) != EMU_OK) {
        EMU_ASSERT(!m && ss_error()[0]);
        EMU_ASSERT(alloc_live() == 0);
        return 0;
    }
    if (m->tile_case && !m->program->sources) {
        if (m->max_cycles > FEW_CYCLES)
            m->max_cycles = FEW_CYCLES;
        if (case_build(m, &options, &r) == EMU_OK) {
            run_and_print(r);
            case_run_free(r);
        }
    }
    ss_manifest_free(m);
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}
