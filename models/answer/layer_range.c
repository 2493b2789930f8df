/* layer_range.c - adds up the ranges of steps by the rows that are billed for them, and prints
 * them.
 */
#include "models/answer/layer_range.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/base/json_text.h"
#include "programs/compiler/report/count_text.h"

/* A magnitude of f16, which is a number. */
static double magnitude(uint16_t bits)
{
    struct fp_env env = { 0 };
    uint32_t word = fp_f16_to_f32(bits, &env);
    float f;

    memcpy(&f, &word, sizeof(f));
    return (double)f;
}

enum emu_status layer_ranges_new(const struct layer_cycles *k, const struct session *s,
                                 struct layer_range **out)
{
    size_t steps;

    *out = NULL;
    if (!ss_session_ranges(s, &steps))
        return EMU_OK;
    *out = emu_alloc(k->rows, sizeof(**out));
    return *out ? EMU_OK : FAIL(NO_MEMORY, "ranges of %u layers", k->rows);
}

void layer_ranges_add(const struct layer_cycles *k, const struct session *s, unsigned chip,
                      struct layer_range *out)
{
    size_t steps;
    const struct session_range *step = ss_session_chip_ranges(s, chip, &steps);

    EMU_ASSERT(steps == k->steps);
    for (size_t i = 0; i < steps; i++) {
        struct layer_range *to = &out[k->step[i].row];

        to->numbers += step[i].numbers;
        to->saturated += step[i].saturated;
        to->largest = fmax(to->largest, magnitude(step[i].largest));
    }
}

void layer_ranges_print(const struct layer_cycles *k, const struct layer_range *range, FILE *f)
{
    struct layer_range all = { .numbers = 0 };

    fprintf(f,
            "\nRanges: f16 numbers that codelets left in memory; it holds 65504\n%-32s %-24s %12s "
            "%14s %12s\n",
            "layer", "op", "largest", "numbers", "saturated");
    for (uint32_t i = 0; i < k->rows; i++) {
        const struct layer_range *r = &range[i];

        if (!r->numbers)
            continue;
        fprintf(f, "%-32s %-24s %12.6g %14s %12s\n", k->text[i].name, k->text[i].op, r->largest,
                count_text(r->numbers).at, count_text(r->saturated).at);
        all.largest = fmax(all.largest, r->largest);
        all.saturated += r->saturated;
    }
    fprintf(f, "largest of all %.6g, %.2g %% of the range; %s saturated\n", all.largest,
            100 * all.largest / 65504, count_text(all.saturated).at);
}

json_t *layer_ranges_json(const struct layer_cycles *k, const struct layer_range *range)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < k->rows; i++) {
        const struct layer_range *r = &range[i];

        if (r->numbers)
            json_array_append_new(
                list, json_pack("{s:o, s:s, s:f, s:I, s:I}", "name", json_text(k->text[i].name),
                                "op", k->text[i].op, "largest", r->largest, "numbers",
                                (json_int_t)r->numbers, "saturated", (json_int_t)r->saturated));
    }
    return list;
}
